"""Softmax regression to a prior: convex, one optimum, found by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from askew._checks import is_number, is_whole
from askew.errors import ParameterError
from askew.estimators.contrast import Contrast
from askew.estimators.descent import optima
from askew.estimators.labels import Labels
from askew.estimators.paths import Family, Path, check_settings, check_shared, span
from askew.linalg import one_thread
from askew.linalg.fixed import Float32Array, Float64Array
from askew.operators import Term

__all__ = ["Softmax"]


# Half decades: between two of them the ranking hardly moves, and each is a solve.
_STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# Below it scores over the temperature leave float32's grid.
_COLDEST = 1e-4


@dataclass(frozen=True)
class Softmax:
    """Make each relevant document outscore negatives, pulled towards the prior M0.

    Minimises over Δ in the family, with scores s_ij = x_iᵀ(M0 + Δ)y_j, weights w_ij of the query's
    relevant documents that sum to 1, and its negatives N_i,

        (1/n) Σ_i Σ_j w_ij [log(e^{s_ij/τ} + Σ_{k∈N_i} e^{s_ik/τ}) - s_ij/τ] + λ ‖Δ‖²_F.

    N_i are the query's own mined negatives and at most `shared` documents common to all queries,
    drawn by hash from relevant documents and negatives; a query's relevant documents and their copies
    are never among them. Without a normalisation of Mᵀx the loss is a sum of log-sum-exps of
    functions linear in Δ, so it is convex, and with the pull strictly so: one optimum, no seed,
    no learning rate. By the representer argument Δ = Xᵀ(·), so for n < d_query the dual family is
    solved in n · d_document unknowns; a symmetric Δ lies in the span of the n queries and the
    u documents in use, so for n + u < d the shared family is solved in (n + u)².

    Cost of a step: O(n·d_document·(min(n, d_query) + h + shared)) float32; three to ten steps a
    strength, each started at the stronger one before it.

    Args:
        family: ``"dual"`` (any Δ) or ``"shared"`` (M0 + Δ symmetric and positive semi-definite: fitted
            over symmetric Δ, and projected onto the cone where the optimum leaves it).
        strengths: the λ to try, ascending, positive.
        ranks: bounds on the rank of Δ to try at each; None for none.
        temperature: τ.
        own: mined negatives a query, h.
        shared: documents common to all queries.

    Raises:
        ParameterError: a number is out of its range.

    Source: the softmax (InfoNCE) loss of van den Oord, Li and Vinyals, 2018, over a bilinear score.

    >>> from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
    >>> from askew.estimators.paths import Setting
    >>> from askew.operators import Identity
    >>> x, turned = np.eye(3), np.eye(3)[[1, 0, 2]]  # relevant to the first query is what looks like the second
    >>> task = Dataset(EmbeddingSet("abc", x), EmbeddingSet("abc", turned), Qrels({i: {i: 1} for i in "abc"}))
    >>> labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(3))
    >>> found = Softmax("dual", strengths=(0.01,)).path(labels, Identity(3)).at(Setting(0.01)).to_dense()
    >>> found[0, :2].round(1).tolist()  # the first query turns to what is relevant to it
    [-0.6, 0.6]
    """

    family: Family = "dual"
    strengths: tuple[float, ...] = _STRENGTHS
    ranks: tuple[int | None, ...] = (None,)
    temperature: float = 0.025
    own: int = 16
    shared: int = 4096
    name: str = "softmax"

    def __post_init__(self) -> None:
        check_settings(self.family, self.strengths, self.ranks)
        whole = is_whole(self.own) and is_whole(self.shared)
        warm = is_number(self.temperature) and _COLDEST <= self.temperature < np.inf
        if not warm or not whole or self.own < 0 or self.shared < 0:
            raise ParameterError(
                f"temperature {self.temperature!r}, {self.own!r} own and {self.shared!r} shared negatives",
                remedy=f"Give a temperature of {_COLDEST:g} or more, and whole counts of 0 or more",
            )

    def path(self, labels: Labels, prior: Term) -> Path:
        """Fit at every setting, from the strongest pull to the weakest.

        Args:
            labels: n queries with their negatives; none gives the prior back.
            prior: M0; for the shared family symmetric and positive semi-definite.
        """
        if self.family == "shared":
            check_shared(prior, self.ranks)
        with one_thread():
            contrast = Contrast.build(labels, prior, own=self.own, shared=self.shared, temperature=self.temperature)
            if self.family == "shared":
                basis = span(np.vstack([labels.queries, labels.items[contrast.used]]))
                found = self._solve(contrast.within(basis), _inside(labels.queries, basis), _symmetrised)
                return Path.shared(self.strengths, self.ranks, basis, found, prior)
            basis = span(labels.queries)
            found = self._solve(contrast, _inside(labels.queries, basis), lambda gradient: gradient)
            return Path.dual(self.strengths, self.ranks, basis, found)

    def _solve(
        self, contrast: Contrast, queries: Float32Array, restrict: Callable[[Float32Array], Float32Array]
    ) -> list[Float32Array]:
        """Optima in the order of `strengths`: matrices Z with scores queries · Z · documents."""
        start = np.zeros((queries.shape[1], contrast.width), dtype=np.float32)
        if len(queries) == 0:
            return [start] * len(self.strengths)

        def loss(matrix: Float32Array) -> tuple[float, Float32Array]:
            value, slope = contrast.loss(queries @ matrix)
            return value, restrict(queries.T @ slope)

        order = np.argsort(self.strengths)[::-1].tolist()
        found = dict(zip(order, optima(loss, [self.strengths[place] for place in order], start), strict=True))
        return [found[place] for place in range(len(self.strengths))]


def _symmetrised(gradient: Float32Array) -> Float32Array:
    return np.asarray((gradient + gradient.T) / np.float32(2))


def _inside(rows: Float64Array, basis: Float64Array | None) -> Float32Array:
    return np.asarray(rows if basis is None else rows @ basis, dtype=np.float32)
