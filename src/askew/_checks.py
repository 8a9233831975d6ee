"""Questions about arguments that are asked everywhere: is it a number, a whole one, a list of something?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from askew.errors import ParameterError

__all__ = ["as_numbers", "check_count", "check_kind", "check_progress", "check_seed", "is_number", "is_whole", "listed"]

# Characters of a thing that a message repeats.
_SHOWN = 40


def is_whole(value: object) -> bool:
    """Whether it is a whole number, of Python's or numpy's kind.

    >>> is_whole(3), is_whole(3.0), is_whole(True)
    (True, False, False)
    """
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether it is a real number, of Python's or numpy's kind; NaN and infinities are.

    >>> is_number(3), is_number(np.float32(3)), is_number("3"), is_number(True)
    (True, True, False, False)
    """
    return is_whole(value) or isinstance(value, float | np.floating)


def listed(values: object) -> tuple[Any, ...]:
    """The items of what can be gone through; none of what cannot.

    >>> listed([1, 2]), listed(None)
    ((1, 2), ())
    """
    return tuple(values) if isinstance(values, Iterable) else ()


def check_count(value: object, what: str, *, least: int, where: str, remedy: str | None = None) -> None:
    """Raise ParameterError unless a number of things is whole and large enough.

    >>> check_count(2.5, "folds", least=2, where="folds")
    Traceback (most recent call last):
    ...
    askew.errors.ParameterError: folds: 2.5 folds were asked for. Ask for a whole number of 2 or more.
    """
    if not is_whole(value) or value < least:  # type: ignore[operator]
        raise ParameterError(
            f"{value!r} {what} were asked for",
            where=where,
            remedy=remedy or f"Ask for a whole number of {least} or more",
        )


def check_kind(value: object, kinds: type | tuple[type, ...], where: str, remedy: str) -> None:
    """Raise ParameterError for a thing of another kind than is asked for.

    >>> check_kind("adapter", dict, "adapter", "Give what askew.load returns")
    Traceback (most recent call last):
    ...
    askew.errors.ParameterError: adapter: it is 'adapter', a str. Give what askew.load returns.
    """
    if not isinstance(value, kinds):
        said = repr(value)
        shown = f"{said}, a" if len(said) <= _SHOWN and "\n" not in said else "a"
        raise ParameterError(f"it is {shown} {type(value).__name__}", where=where, remedy=remedy)


def check_seed(seed: object) -> None:
    """Raise ParameterError unless it is a whole number from 0 on.

    >>> check_seed(None)
    Traceback (most recent call last):
    ...
    askew.errors.ParameterError: seed: the seed is None. Give a whole number, 0 or more.
    """
    if not is_whole(seed) or seed < 0:  # type: ignore[operator]
        raise ParameterError(f"the seed is {seed!r}", where="seed", remedy="Give a whole number, 0 or more")


def check_progress(progress: object) -> None:
    """Raise ParameterError unless it is None or can be called.

    >>> check_progress(3)
    Traceback (most recent call last):
    ...
    askew.errors.ParameterError: progress: it cannot be called. Give a function of the steps done and to do, or None.
    """
    if progress is not None and not callable(progress):
        raise ParameterError(
            "it cannot be called", where="progress", remedy="Give a function of the steps done and to do, or None"
        )


def as_numbers(values: object, where: str) -> npt.NDArray[np.float64]:
    """Numbers as a float64 array; ParameterError for anything else.

    >>> as_numbers([1, 2.5], "counts").tolist()
    [1.0, 2.5]
    """
    try:
        given = np.asarray(values)
    except ValueError:  # ragged
        given = np.empty(0, dtype=object)
    if given.dtype.kind not in "fiu":
        raise ParameterError(f"{values!r} holds what is no number", where=where, remedy="Give numbers")
    return given.astype(np.float64)
