"""Ridge regression to a prior: closed form, every strength from one factorisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askew.errors import ParameterError
from askew.estimators.labels import Labels
from askew.linalg import FloatArray, one_thread, symmetric_eigen
from askew.linalg.fixed import Float64Array
from askew.operators import Dense, Factored, Term

__all__ = ["STRENGTHS", "Ridge", "RidgePath"]

#: Three strengths a decade, from one that fits 1,000 labels closely to one that all but keeps the prior.
STRENGTHS: tuple[float, ...] = tuple(float(f"{10 ** (power / 3):.3g}") for power in range(-9, 4))


@dataclass(frozen=True)
class Ridge:
    """Regress queries onto their relevant documents, pulled towards the prior M0.

    Minimises over M, with ȳ_i the mean of query i's relevant documents weighted by their grades,

        (1/n) Σ_i ‖Mᵀx_i - ȳ_i‖² + λ ‖M - M0‖²_F,

    so that λ is per unit of total weight and carries from a fold to the full fit. With residuals
    R = Ȳ - X M0 the solution is Δ = Xᵀ(XXᵀ + nλI)⁻¹R = (XᵀX + nλI)⁻¹XᵀR: whichever of the two Gram
    matrices is smaller is decomposed once, and every λ is a rescaling of its eigenvalues. (Several
    relevant documents leave the same minimiser as their weighted mean: the weights of a query sum to
    1, and the spread about the mean does not depend on M.)

    Cost: O(nd·min(n, d)) once, then O(nd) a strength; d_query ≠ d_document is as good.

    Args:
        strengths: the λ to try, ascending, positive.

    Raises:
        ParameterError: a strength is not positive, or none is given.

    Source: Hoerl and Kennard, "Ridge regression", Technometrics 12, 1970, with a non-zero prior mean.
    """

    strengths: tuple[float, ...] = STRENGTHS
    name: str = "ridge"

    def __post_init__(self) -> None:
        if not self.strengths or not all(0 < strength < np.inf for strength in self.strengths):
            raise ParameterError(
                f"the strengths {self.strengths} are not all positive numbers",
                where="strengths",
                remedy="Give numbers between 0.001 and 10",
            )

    def path(self, labels: Labels, prior: Term) -> RidgePath:
        """Factorise once for all strengths.

        Args:
            labels: n queries; none gives the prior back.
            prior: M0.
        """
        residuals = labels.mean_positives() - prior.left_apply(labels.queries)
        return RidgePath.prepare(labels.queries, residuals, self.strengths)


@dataclass(frozen=True, eq=False)
class RidgePath:
    """Δ(λ) = basis · diag(1 / (eigenvalues + nλ)) · loadings, for every λ.

    Attributes:
        strengths: S values of λ.
        weight: n, the total weight.
        basis: (d_query, r), r ≤ min(n, d_query).
        eigenvalues: (r,) of the Gram matrix.
        loadings: (r, d_document).
    """

    strengths: tuple[float, ...]
    weight: float
    basis: Float64Array
    eigenvalues: Float64Array
    loadings: Float64Array

    @classmethod
    def prepare(cls, queries: Float64Array, residuals: Float64Array, strengths: Sequence[float]) -> RidgePath:
        """Decompose the smaller Gram matrix.

        Args:
            queries: (n, d_query).
            residuals: (n, d_document), what the prior leaves of the targets.
            strengths: S values of λ.

        >>> path = RidgePath.prepare(np.array([[1.0]]), np.array([[3.0]]), [2.0])
        >>> path.at(2.0).to_dense().tolist()
        [[1.0]]
        """
        count, width = queries.shape
        with one_thread():
            if count < width:
                eigenvalues, vectors = symmetric_eigen(queries @ queries.T)
                basis, loadings = queries.T @ vectors, vectors.T @ residuals
            else:
                eigenvalues, basis = symmetric_eigen(queries.T @ queries)
                loadings = basis.T @ (queries.T @ residuals)
        return cls(tuple(strengths), float(count), basis, np.maximum(eigenvalues, 0.0), loadings)

    def at(self, strength: float) -> Term:
        """Δ at one strength, float32, in factors where that is smaller."""
        left = self.basis * self._shrinkage(strength)
        rank, (rows, columns) = left.shape[1], (left.shape[0], self.loadings.shape[1])
        if rank * (rows + columns) < rows * columns:
            return Factored(left.astype(np.float32), np.ascontiguousarray(self.loadings.T, dtype=np.float32))
        with one_thread():
            return Dense((left @ self.loadings).astype(np.float32))

    def corrections(self, queries: FloatArray) -> Float64Array:
        """Δ(λ)ᵀx for every strength at once: (n, d_query) → (S, n, d_document)."""
        with one_thread():
            seen = np.asarray(queries, dtype=np.float64) @ self.basis
            scaled = np.stack([seen * self._shrinkage(strength) for strength in self.strengths])
            return np.asarray(scaled @ self.loadings)

    def _shrinkage(self, strength: float) -> Float64Array:
        return np.asarray(1.0 / (self.eigenvalues + max(self.weight, 1.0) * strength))
