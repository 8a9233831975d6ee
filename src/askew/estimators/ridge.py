"""Ridge regression to a prior: closed form, every strength from one factorisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew.estimators.labels import Labels
from askew.estimators.paths import STRENGTHS, Family, Path, check_strengths
from askew.linalg import one_thread, symmetric_eigen
from askew.linalg.fixed import Float64Array
from askew.operators import Term

__all__ = ["Ridge"]


@dataclass(frozen=True)
class Ridge:
    """Regress queries onto their relevant documents, pulled towards the prior M0.

    Minimises over M in the family, with ȳ_i the mean of query i's relevant documents weighted by
    their grades,

        (1/n) Σ_i ‖Mᵀx_i - ȳ_i‖² + λ ‖M - M0‖²_F,

    so that λ is per unit of total weight and carries from a fold to the full fit. With residuals
    R = Ȳ - X M0 the dual solution is Δ = Xᵀ(XXᵀ + nλI)⁻¹R = (XᵀX + nλI)⁻¹XᵀR: whichever of the two Gram
    matrices is smaller is decomposed once, and every λ is a rescaling by its eigenvalues. The shared
    solution solves GΔ + ΔG + 2nλΔ = XᵀR + RᵀX, G = XᵀX = V diag(e) Vᵀ, which in the basis V is an
    entry-wise division by e_a + e_b + 2nλ. (Several relevant documents leave the same minimiser as
    their weighted mean: the weights of a query sum to 1, and the spread about the mean does not
    depend on M.)

    Cost: O(nd·min(n, d)) once, then O(d²·min(n, d)) a strength; d_query ≠ d_document is as good.

    Args:
        family: ``"dual"`` (any Δ) or ``"shared"`` (M0 + Δ symmetric and positive semi-definite).
        strengths: the λ to try, ascending, positive.
        ranks: bounds on the rank of Δ to try at each; None for none.

    Raises:
        ParameterError: a strength or a rank is not positive, or none is given.

    Source: Hoerl and Kennard, "Ridge regression", Technometrics 12, 1970, with a non-zero prior mean.
    """

    family: Family = "dual"
    strengths: tuple[float, ...] = STRENGTHS
    ranks: tuple[int | None, ...] = (None,)
    name: str = "ridge"

    def __post_init__(self) -> None:
        check_strengths(self.strengths, self.ranks)

    def path(self, labels: Labels, prior: Term) -> Path:
        """Fit at every setting, from one factorisation.

        Args:
            labels: n queries; none gives the prior back.
            prior: M0; for the shared family symmetric and positive semi-definite.
        """
        residuals = labels.mean_positives() - prior.left_apply(labels.queries)
        with one_thread():
            if self.family == "shared":
                return self._shared(labels.queries, residuals, prior)
            return self._dual(labels.queries, residuals)

    def _dual(self, queries: Float64Array, residuals: Float64Array) -> Path:
        count, width = queries.shape
        if count < width:
            values, vectors = symmetric_eigen(queries @ queries.T)
            roots = np.sqrt(np.maximum(values, 1e-12 * max(1, count)))
            basis, loadings = queries.T @ (vectors / roots), (vectors * roots).T @ residuals
        else:
            values, basis = symmetric_eigen(queries.T @ queries)
            loadings = basis.T @ (queries.T @ residuals)
        pulls = (max(count, 1) * strength for strength in self.strengths)
        found = (loadings / (np.maximum(values, 0.0) + pull)[:, None] for pull in pulls)
        return Path.dual(self.strengths, self.ranks, basis, found)

    def _shared(self, queries: Float64Array, residuals: Float64Array, prior: Term) -> Path:
        values, basis = symmetric_eigen(queries.T @ queries)
        cross = basis.T @ (queries.T @ residuals) @ basis
        cross, sums = cross + cross.T, np.maximum(values[:, None] + values[None, :], 0.0)
        pulls = (2 * max(len(queries), 1) * strength for strength in self.strengths)
        found = (basis @ (cross / (sums + pull)) @ basis.T for pull in pulls)
        return Path.shared(self.strengths, self.ranks, prior, found)
