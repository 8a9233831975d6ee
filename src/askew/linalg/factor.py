"""Factorisations with fixed signs, of matrices and of products kept in factors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg

from askew.linalg.fixed import Float64Array, FloatArray

__all__ = ["SVD", "factored_svd", "svd", "symmetric_eigen"]


class SVD(NamedTuple):
    """A = left · diag(values) · rightᵀ, values descending; left (p, r), values (r,), right (q, r)."""

    left: Float64Array
    values: Float64Array
    right: Float64Array


def svd(matrix: FloatArray) -> SVD:
    """Thin singular value decomposition; the largest entry of each left vector is positive.

    Args:
        matrix: (p, q), finite.

    >>> svd(np.array([[0.0, -2.0], [1.0, 0.0]])).values.tolist()
    [2.0, 1.0]
    """
    left, values, right = scipy.linalg.svd(np.asarray(matrix, dtype=np.float64), full_matrices=False)
    return _fix_signs(left, values, right.T)


def factored_svd(left: FloatArray, right: FloatArray) -> SVD:
    """The decomposition of left · rightᵀ, without forming it: O((p + q) r² + r³).

    Args:
        left: (p, r).
        right: (q, r).

    >>> factored_svd(np.array([[3.0], [4.0]]), np.array([[2.0]])).values.tolist()
    [10.0]
    """
    left_basis, left_factor = scipy.linalg.qr(np.asarray(left, dtype=np.float64), mode="economic")
    right_basis, right_factor = scipy.linalg.qr(np.asarray(right, dtype=np.float64), mode="economic")
    inner = svd(left_factor @ right_factor.T)
    return _fix_signs(left_basis @ inner.left, inner.values, right_basis @ inner.right)


def symmetric_eigen(matrix: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Eigenvalues, descending, and vectors of a symmetric matrix; largest entries positive.

    Args:
        matrix: (p, p); only its lower triangle is read.

    Returns:
        values: (p,) descending.
        vectors: (p, p), one a column.
    """
    values, vectors = scipy.linalg.eigh(matrix, driver="evd")
    values, vectors = values[::-1], vectors[:, ::-1]
    return values, vectors * _signs(vectors)


def _fix_signs(left: Float64Array, values: Float64Array, right: Float64Array) -> SVD:
    signs = _signs(left)
    return SVD(left * signs, values, right * signs)


def _signs(vectors: Float64Array) -> Float64Array:
    """+1 or -1 a column, so that the entry of largest size (the first of equals) becomes positive."""
    if not vectors.size:
        return np.ones(vectors.shape[1])
    sizes = np.abs(vectors)
    # Entries that are equal but for rounding are equal.
    peaks = np.argmax(sizes >= (1 - 1e-9) * sizes.max(axis=0), axis=0)
    return np.where(vectors[peaks, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
