"""Shares of a task's queries, as ERA's protocol takes them: so many to learn from, a tenth to stop by, half to test."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from askew._checks import is_number, is_whole
from askew.errors import LabelError, ParameterError

__all__ = ["Shares", "take_shares"]

_TEST, _VALIDATION, _FEWEST = 0.5, 0.1, 4


@dataclass(frozen=True)
class Shares:
    """Disjoint parts of a task's queries; the last two are the same for every amount of training.

    Attributes:
        train: the first of them, at least one.
        validation: a tenth, at least one.
        test: half.
    """

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def take_shares(ids: Iterable[str], *, train: float, seed: int = 42) -> Shares:
    """Shuffle queries, and take the last half to test, a tenth before it to validate, and the first to train.

    Args:
        ids: queries, in any order; they are sorted first, so that the order of a file is no part of the draw.
        train: a share of all queries below 1 (the paper: 0.05 to 0.4), or a whole number of them.
        seed: of the shuffle; the paper's is 42.

    Raises:
        LabelError: there are fewer than 4 queries.
        ParameterError: more training queries are asked for than are left, or none.

    Source: ERA, arXiv 2604.03403. Its code shuffles in the order of its file; sizes are cut to whole numbers as there.

    >>> parts = take_shares([f"q{row}" for row in range(20)], train=0.4)
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (8, 2, 10)
    """
    order = sorted(ids)
    if len(order) < _FEWEST:
        raise LabelError(f"{len(order)} queries cannot be parted in three", remedy=f"Give {_FEWEST} or more")
    random.Random(seed).shuffle(order)  # noqa: S311 - the protocol's own generator
    tested = int(_TEST * len(order))
    judging = max(1, int(_VALIDATION * len(order)))
    left = len(order) - tested - judging
    if not is_number(train) or not train > 0:
        raise ParameterError(
            f"{train!r} of the queries were to train", where="train", remedy="Give a share, or a count"
        )
    count = int(train) if is_whole(train) or train >= 1 else max(1, int(train * len(order)))
    if count > left:
        raise ParameterError(
            f"{count:,} training queries were asked for, and {left:,} of {len(order):,} are left beside those that "
            "validate and test",
            where="train",
            remedy="Ask for fewer",
        )
    return Shares(tuple(order[:count]), tuple(order[left : left + judging]), tuple(order[left + judging :]))
