"""Ragged rows: offsets, masks, and the arrays that encoders of many vectors give."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from askew.errors import EmbeddingError
from askew.linalg.fixed import BoolArray, IntArray

__all__ = ["as_mask", "number_differs", "plain_array", "running_count", "shape_differs", "token_places"]


def plain_array(value: Any, where: object = None) -> npt.NDArray[Any]:
    """A numpy array of what may be a tensor on some device, of a type that numpy lacks, under a gradient."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = value.float() if "bfloat16" in str(value.dtype) else value
        return np.asarray(value.numpy())
    try:
        return np.asarray(value)
    except ValueError as error:
        raise EmbeddingError(
            f"the rows do not form an array ({error})", where=where, remedy="Give rows of one length"
        ) from None


def as_mask(value: npt.ArrayLike, shape: tuple[int, ...], where: object) -> BoolArray:
    """A mask of true and false, checked against the shape that it must have.

    Raises:
        EmbeddingError: another shape, or other values than true, false, 1 and 0.
    """
    mask = plain_array(value, where)
    if mask.shape != shape:
        raise shape_differs("mask", mask.shape, shape, where)
    if mask.dtype.kind not in "biuf" or not np.all((mask == 0) | (mask == 1)):
        raise EmbeddingError("the mask holds other values than true and false", where=where, remedy="Give 1 or 0")
    return mask.astype(bool)


def token_places(offsets: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Where the tokens of some items lie, one after another, and the offsets among these: (t,) and (r + 1,).

    >>> [part.tolist() for part in token_places(np.array([0, 2, 5]), np.array([1, 0]))]
    [[2, 3, 4, 0, 1], [0, 3, 5]]
    """
    lengths = offsets[rows + 1] - offsets[rows]
    within = running_count(lengths)
    return np.arange(within[-1]) + np.repeat(offsets[rows] - within[:-1], lengths), within


def running_count(lengths: npt.ArrayLike) -> IntArray:
    """Offsets of items of some lengths: (m,) → (m + 1,).

    >>> running_count([2, 1]).tolist()
    [0, 2, 3]
    """
    counts = np.asarray(lengths, dtype=np.int64)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def number_differs(what: str, ids: int, where: object) -> EmbeddingError:
    """The error for items that are not as many as their ids."""
    return EmbeddingError(f"there are {ids:,} ids for {what}", where=where, remedy="Give one id an item, in order")


def shape_differs(what: str, held: tuple[int, ...], wanted: tuple[int, ...], where: object) -> EmbeddingError:
    """The error for masks or weights that do not fit their tokens."""
    return EmbeddingError(
        f"the shape of the {what} is {held}, and that of the tokens {wanted}", where=where, remedy="Fit them"
    )
