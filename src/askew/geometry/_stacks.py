"""Checks and factorisations of one matrix or of a stack of them, with fixed signs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askew._checks import is_number
from askew.errors import DimensionError, InputError, ParameterError
from askew.linalg.fixed import Float64Array

__all__ = [
    "Singular",
    "checked",
    "checked_rank",
    "eigen",
    "energy",
    "rounding",
    "singular",
    "skew_part",
    "symmetric_part",
    "transposed",
]


class Singular(NamedTuple):
    """M = left · diag(values) · rightᵀ, values descending; left (..., p, m), values (..., m), right (..., q, m)."""

    left: Float64Array
    values: Float64Array
    right: Float64Array


def checked(matrix: npt.ArrayLike, *, square: bool = False, name: str = "matrix") -> Float64Array:
    """A matrix, or a stack of them, as float64.

    Args:
        matrix: (..., p, q).
        square: ask for p = q.
        name: what the message calls it.

    Raises:
        DimensionError: not two dimensions or more, an empty matrix, or not square where it must be.
        InputError: entries that are no real numbers, not finite, or so large that their squares are not.
    """
    try:
        given = np.asarray(matrix)
    except ValueError:  # rows of different lengths
        raise DimensionError(f"the {name} has rows of different lengths") from None
    if given.ndim < 2 or 0 in given.shape[-2:]:
        raise DimensionError(f"the {name} has shape {given.shape}", remedy="Give (p, q), or a stack (..., p, q)")
    if square and given.shape[-1] != given.shape[-2]:
        raise DimensionError(
            f"the {name} has shape {given.shape}, and one that is not square has no symmetric part",
            remedy="Use the dual family, or map both sides to one dimension first",
        )
    if given.dtype.kind not in "fiub":
        raise InputError(f"the {name} has dtype {given.dtype.name}", remedy="Give real numbers")
    dense = given.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        size = energy(dense)
    if not np.all(np.isfinite(size)):
        raise InputError(
            f"the {name} holds NaN or infinite values, or the squares of its entries overflow",
            remedy="Check how it was made, and scale it to entries of ordinary size",
        )
    return dense


def checked_rank(rank: int) -> int:
    """Raise ParameterError unless a rank is a whole number of at least 1."""
    if not is_number(rank) or not 1 <= rank < np.inf or int(rank) != rank:
        raise ParameterError(f"a matrix of rank {rank!r} was asked for", where="rank", remedy="Give 1 or more")
    return int(rank)


def transposed(stack: Float64Array) -> Float64Array:
    """The last two axes exchanged."""
    return np.swapaxes(stack, -1, -2)


def symmetric_part(stack: Float64Array) -> Float64Array:
    """(M + Mᵀ)/2."""
    return np.asarray((stack + transposed(stack)) / 2)


def skew_part(stack: Float64Array) -> Float64Array:
    """(M - Mᵀ)/2."""
    return np.asarray((stack - transposed(stack)) / 2)


def energy(stack: Float64Array) -> Float64Array:
    """‖M‖²_F: (..., p, q) → (...)."""
    return np.asarray(np.sum(np.square(stack), axis=(-2, -1)))


def rounding(stack: Float64Array) -> Float64Array:
    """(...) what a zero singular value or eigenvalue may measure, by rounding alone."""
    return np.asarray(max(stack.shape[-2:]) * np.finfo(np.float64).eps * np.sqrt(energy(stack)))


def eigen(symmetric: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Eigenvalues (..., p), descending, and vectors (..., p, p), one a column, largest entries positive."""
    values, vectors = np.linalg.eigh(symmetric)
    vectors = vectors[..., ::-1]
    return values[..., ::-1], vectors * _signs(vectors)


def singular(stack: Float64Array) -> Singular:
    """The thin singular value decomposition; the largest entry of each left vector is positive."""
    left, values, right = np.linalg.svd(stack, full_matrices=False)
    signs = _signs(left)
    return Singular(left * signs, values, transposed(right) * signs)


def _signs(vectors: Float64Array) -> Float64Array:
    """(..., 1, m) of +1 and -1, as in `linalg`: the entry of largest size, the first of equals, is positive."""
    sizes = np.abs(vectors)
    peaks = np.argmax(sizes >= (1 - 1e-9) * sizes.max(axis=-2, keepdims=True), axis=-2)
    return np.where(np.take_along_axis(vectors, peaks[..., None, :], axis=-2) < 0, -1.0, 1.0)
