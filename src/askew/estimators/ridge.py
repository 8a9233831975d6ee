"""Ridge regression to a prior: closed form, every strength from one factorisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew.estimators.labels import Labels
from askew.estimators.paths import STRENGTHS, Family, Path, check_settings, check_shared, span
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
    R = Ȳ - X M0 the dual solution is Δ = (XᵀX + nλI)⁻¹XᵀR, and the shared one solves
    GΔ + ΔG + 2nλΔ = XᵀR + RᵀX with G = XᵀX. In the axes V of G = V diag(e) Vᵀ, decomposed once, the
    first is a division of rows by e_a + nλ and the second of entries by e_a + e_b + 2nλ. By the
    representer argument Δ lies in the span of X, or, if shared, of X and R: where that is smaller
    than d, all is done in it. (Several relevant documents leave the same minimiser as their weighted
    mean: the weights of a query sum to 1, and the spread about the mean does not depend on M.)

    Cost: O(nd·min(n, d)) once, then O(d·min(n, d)²) a strength for the shared family and its
    projections, O(d·min(n, d)) for the dual; d_query ≠ d_document is as good for the dual.

    Args:
        family: ``"dual"`` (any Δ) or ``"shared"`` (M0 + Δ symmetric and positive semi-definite).
        strengths: the λ to try, ascending, positive.
        ranks: bounds on the rank of Δ to try at each; None for none.

    Raises:
        ParameterError: a strength or a rank is not positive, or none is given.

    Source: Hoerl and Kennard, "Ridge regression", Technometrics 12, 1970, with a non-zero prior mean.

    >>> from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
    >>> from askew.estimators.paths import Setting
    >>> from askew.operators import Identity
    >>> x, turned = np.eye(3), np.eye(3)[[1, 0, 2]]  # relevant to the first query is what looks like the second
    >>> task = Dataset(EmbeddingSet("abc", x), EmbeddingSet("abc", turned), Qrels({i: {i: 1} for i in "abc"}))
    >>> labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(3))
    >>> path = Ridge("shared", strengths=(0.01,)).path(labels, Identity(3))
    >>> path.at(Setting(0.01)).to_dense().round(1).tolist()
    [[-0.5, 0.5, 0.0], [0.5, -0.5, 0.0], [0.0, 0.0, 0.0]]
    """

    family: Family = "dual"
    strengths: tuple[float, ...] = STRENGTHS
    ranks: tuple[int | None, ...] = (None,)
    name: str = "ridge"

    def __post_init__(self) -> None:
        check_settings(self.family, self.strengths, self.ranks)

    def path(self, labels: Labels, prior: Term) -> Path:
        """Fit at every setting, from one factorisation.

        Args:
            labels: n queries; none gives the prior back.
            prior: M0; for the shared family symmetric and positive semi-definite.
        """
        if self.family == "shared":
            check_shared(prior, self.ranks)
        residuals = labels.mean_positives() - prior.left_apply(labels.queries)
        with one_thread():
            if self.family == "shared":
                return self._shared(labels.queries, residuals, prior)
            return self._dual(labels.queries, residuals)

    def _dual(self, queries: Float64Array, residuals: Float64Array) -> Path:
        values, basis, inside = _principal(queries, span(queries))
        loadings = inside.T @ residuals
        pulls = (max(len(queries), 1) * strength for strength in self.strengths)
        found = (loadings / (values + pull)[:, None] for pull in pulls)
        return Path.dual(self.strengths, self.ranks, basis, found)

    def _shared(self, queries: Float64Array, residuals: Float64Array, prior: Term) -> Path:
        values, basis, inside = _principal(queries, span(np.vstack([queries, residuals])))
        cross = inside.T @ (residuals @ basis)
        cross += cross.T.copy()
        pulls = (2 * max(len(queries), 1) * strength for strength in self.strengths)
        found = (cross / (values[:, None] + values + pull) for pull in pulls)
        return Path.shared(self.strengths, self.ranks, basis, found, prior)


def _principal(queries: Float64Array, within: Float64Array | None) -> tuple[Float64Array, Float64Array, Float64Array]:
    """Principal axes of the queries in a subspace: eigenvalues (r,), axes (d, r), coordinates (n, r)."""
    held = queries if within is None else queries @ within
    values, vectors = symmetric_eigen(held.T @ held)
    return np.maximum(values, 0.0), vectors if within is None else within @ vectors, held @ vectors
