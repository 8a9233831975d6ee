"""Token ids or token states of many texts, and batches of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from askew.data.ragged import running_count, token_places
from askew.errors import InputError, counted
from askew.linalg.fixed import BoolArray, IntArray

__all__ = ["Ragged"]


class Ragged:
    """What an encoder of tokens takes, for n texts: an id a token, or a state a token.

    Args:
        values: (T,) integers, or (T, h) float states, of all texts in order.
        offsets: (n + 1,) integers from 0 to T: text i has the tokens ``offsets[i]:offsets[i + 1]``.
        limit: the most tokens that are kept of a text.
        source: what to call it in messages.

    Raises:
        InputError: the offsets do not span the values, or a text has no token.

    >>> held = Ragged.of_lists([[7, 8], [9]])
    >>> held.batch(np.array([0, 1]))
    (array([[7, 8],
           [9, 0]]), array([[ True,  True],
           [ True, False]]))
    >>> Ragged.of_lists([[7, 8], [9]], limit=1).cut
    1
    """

    def __init__(
        self, values: npt.NDArray[Any], offsets: IntArray, *, limit: int | None = None, source: object = "texts"
    ) -> None:
        held = np.asarray(offsets, dtype=np.int64)
        if held.ndim != 1 or not len(held) or held[0] != 0 or held[-1] != len(values):
            raise InputError(
                f"the offsets do not span the {len(values):,} tokens",
                where=source,
                remedy="Give the running count of tokens, from 0",
            )
        empty = np.flatnonzero(np.diff(held) <= 0)
        if len(empty):
            raise InputError(
                f"{counted(len(empty), 'text has', 'texts have')} no token, the first in row {empty[0]}",
                where=source,
                remedy="Leave such texts out",
            )
        self.values, self.offsets, self.limit = values, held, limit

    @classmethod
    def of_lists(cls, lists: Iterable[Any], *, limit: int | None = None, source: object = "texts") -> Ragged:
        """From a sequence of ids, or an array (tokens, h) of states, a text."""
        rows = [np.asarray(row) for row in lists]
        values = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
        return cls(values, running_count([len(row) for row in rows]), limit=limit, source=source)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> IntArray:
        """(n,) tokens of each text, as far as they are kept."""
        found = np.diff(self.offsets)
        return found if self.limit is None else np.minimum(found, self.limit)

    @property
    def cut(self) -> int:
        """How many texts have more tokens than are kept."""
        return 0 if self.limit is None else int(np.sum(np.diff(self.offsets) > self.limit))

    def take(self, rows: IntArray) -> Ragged:
        """Some of the texts."""
        places, offsets = token_places(self.offsets, rows)
        return Ragged(self.values[places], offsets, limit=self.limit)

    def batch(self, rows: IntArray) -> tuple[npt.NDArray[Any], BoolArray]:
        """(b, L) ids or (b, L, h) states of some texts, 0 where a text has ended, and (b, L) where it has not."""
        lengths = self.lengths[rows]
        mask = np.arange(lengths.max(initial=1)) < lengths[:, None]
        places = np.where(mask, self.offsets[rows][:, None] + np.arange(mask.shape[1]), 0)
        held = self.values[places]
        return np.where(mask.reshape(mask.shape + (1,) * (held.ndim - 2)), held, 0).astype(held.dtype), mask
