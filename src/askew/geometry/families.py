"""The matrix of a family that is nearest to a given one, in factors.

The families of bilinear scores xᵀ M y of rank r, by what the two sides may differ in:

    shared      M = PᵀP            symmetric, positive semi-definite        one projection for both sides
    symmetric   M = Σ ± u uᵀ       symmetric                                one projection, and signs
    dual        M = AᵀB            any                                      a projection for each side

Source: "When Does Dense Retrieval Need Asymmetric Geometry? A Bias-Variance Theory of Shared and Dual
Projections" (arXiv 2609.32488), Theorem 1; for dual, Eckart and Young, Psychometrika 1, 1936. What lies
between shared and dual is in `partial`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew.errors import DimensionError
from askew.geometry._stacks import (
    checked,
    checked_rank,
    eigen,
    energy,
    rounding,
    singular,
    skew_part,
    symmetric_part,
    transposed,
)
from askew.linalg.fixed import BoolArray, Float64Array, IntArray
from askew.operators import BilinearOperator, Factored, Projections, Zero

__all__ = ["Nearest", "nearest_dual", "nearest_shared", "nearest_symmetric", "padded"]


@dataclass(frozen=True, eq=False)
class Nearest:
    """The matrix of a family that is nearest to a target M*, or a stack of them: M = queryᵀ · document.

    Attributes:
        query: (..., r, d_query) the projection A of queries.
        document: (..., r, d_document) the projection B of documents; the same rows as A in what is shared.
        error: (...) ‖M* - M‖²_F.
        tied: how many rows, from the first, are one on both sides, but for a sign: r for shared and symmetric, 0
            for dual.
        settled: False where a descent stopped at its limit and not at a minimum.
    """

    query: Float64Array
    document: Float64Array
    error: Float64Array
    tied: int
    settled: bool = True

    def to_dense(self) -> Float64Array:
        """M: (..., d_query, d_document)."""
        return transposed(self.query) @ self.document

    @property
    def rank(self) -> IntArray:
        """(...) rows that are not zero; below r where the target has too few directions."""
        return np.asarray(np.sum(np.any(self.query != 0, axis=-1), axis=-1))

    def projections(self) -> Projections:
        """The two maps to deploy.

        Raises:
            DimensionError: it is a stack.
        """
        if self.query.ndim != 2:
            raise DimensionError(
                f"a stack of {self.query.shape[:-2]} matrices was asked for one pair of projections",
                remedy="Project one matrix",
            )
        return Projections(self.query, self.document)

    def operator(self) -> BilinearOperator:
        """M as an operator over a zero prior, in factors.

        Raises:
            DimensionError: it is a stack.
        """
        query, document = self.projections()
        return BilinearOperator(Zero(query.shape[1], document.shape[1]), Factored(query.T, document.T))


def nearest_dual(matrix: npt.ArrayLike, rank: int) -> Nearest:
    """The nearest matrix of rank at most r: A = Σ^½Uᵀ, B = Σ^½Vᵀ of the r largest singular values.

    Where the r-th and the next singular value are equal, several matrices are equally near; the one of the
    vectors that LAPACK lists first is given.

    Args:
        matrix: M*, (..., d_query, d_document).
        rank: r, at least 1; rows beyond the rank of M* are zero.

    Raises:
        DimensionError: M* is no matrix.
        InputError: M* is not finite.
        ParameterError: the rank is below 1.

    >>> found = nearest_dual([[0.0, 2.0], [1.0, 0.0]], 1)
    >>> found.to_dense().round(12).tolist(), float(found.error)
    ([[0.0, 2.0], [0.0, 0.0]], 1.0)
    """
    target, rows = checked(matrix), checked_rank(rank)
    left, values, right = singular(target)
    kept = np.arange(values.shape[-1]) < rows
    values_kept = np.where(values > rounding(target)[..., None], values, 0.0)[..., :rows]
    root = np.sqrt(values_kept)[..., None, :]
    error = np.sum(np.where(kept, 0.0, values) ** 2, axis=-1)
    return Nearest(
        padded(transposed(left[..., :rows] * root), rows), padded(transposed(right[..., :rows] * root), rows), error, 0
    )


def nearest_shared(matrix: npt.ArrayLike, rank: int) -> Nearest:
    """The nearest PᵀP of rank at most r: the at most r largest strictly positive eigenvalues of the symmetric part.

    A target without any (purely skew, negative definite, zero) gives P = 0. An eigenvalue counts as positive
    where it exceeds what rounding makes of zero. Where the r-th and the next eigenvalue are equal, several
    matrices are equally near; the one of the vectors that LAPACK lists first is given.

    Args:
        matrix: M*, (..., p, p).
        rank: r, at least 1; rows beyond the number of positive eigenvalues are zero.

    Raises:
        DimensionError: M* is no square matrix.
        InputError: M* is not finite.
        ParameterError: the rank is below 1.

    >>> found = nearest_shared([[3.0, 1.0], [-1.0, -2.0]], 2)
    >>> found.query.tolist(), float(found.error)  # skew energy 2, and (-2)² of the negative eigenvalue
    ([[1.7320508075688772, 0.0], [0.0, 0.0]], 6.0)
    """
    target, rows = checked(matrix, square=True), checked_rank(rank)
    values, vectors = eigen(symmetric_part(target))
    kept = (values > rounding(target)[..., None]) & (np.arange(values.shape[-1]) < rows)
    root = np.sqrt(np.where(kept, values, 0.0)[..., :rows])
    shared = padded(transposed(vectors[..., :rows] * root[..., None, :]), rows)
    return Nearest(shared, shared, _left_out(target, values, kept), rows)


def nearest_symmetric(matrix: npt.ArrayLike, rank: int) -> Nearest:
    """The nearest symmetric matrix of rank at most r: the r eigenvalues of the symmetric part of largest size.

    The documents' projection is the queries', with the sign of the eigenvalue on each row. Of a positive and a
    negative eigenvalue of exactly one size the positive is kept.

    Args:
        matrix: M*, (..., p, p).
        rank: r, at least 1.

    Raises:
        DimensionError: M* is no square matrix.
        InputError: M* is not finite.
        ParameterError: the rank is below 1.

    >>> nearest_symmetric([[3.0, 1.0], [-1.0, -4.0]], 1).to_dense().round(12).tolist()
    [[0.0, 0.0], [0.0, -4.0]]
    """
    target, rows = checked(matrix, square=True), checked_rank(rank)
    values, vectors = eigen(symmetric_part(target))
    order = np.argsort(-np.abs(values), axis=-1, kind="stable")  # descending values: of equal sizes, positive first
    values = np.take_along_axis(values, order, axis=-1)
    vectors = np.take_along_axis(vectors, order[..., None, :], axis=-1)
    kept = (np.abs(values) > rounding(target)[..., None]) & (np.arange(values.shape[-1]) < rows)
    held = np.where(kept, values, 0.0)[..., :rows]
    query = transposed(vectors[..., :rows] * np.sqrt(np.abs(held))[..., None, :])
    document = query * np.sign(held)[..., :, None]
    return Nearest(padded(query, rows), padded(document, rows), _left_out(target, values, kept), rows)


def padded(rows: Float64Array, count: int) -> Float64Array:
    """(..., count, p): the rows, and zeros after them."""
    missing = count - rows.shape[-2]
    if missing <= 0:
        return rows
    return np.concatenate([rows, np.zeros((*rows.shape[:-2], missing, rows.shape[-1]))], axis=-2)


def _left_out(target: Float64Array, values: Float64Array, kept: BoolArray) -> Float64Array:
    """The squared distance of a symmetric matrix of some eigenvalues: the skew energy and the others' squares."""
    return np.asarray(energy(skew_part(target)) + np.sum(np.where(kept, 0.0, values) ** 2, axis=-1))
