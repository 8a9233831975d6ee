"""Softmax regression to a prior: convex, one optimum, found by L-BFGS."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew.errors import ParameterError
from askew.estimators.contrast import Contrast
from askew.estimators.labels import Labels
from askew.estimators.paths import Family, Path, check_strengths
from askew.linalg import one_thread, symmetric_eigen
from askew.linalg.fixed import Float64Array
from askew.operators import Term

__all__ = ["Softmax"]

Float32Array = npt.NDArray[np.float32]

# Half decades: between two of them the ranking hardly moves, and each is a solve.
_STRENGTHS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# Relative decrease of the objective at which L-BFGS stops: rankings are the same as at 1e-7.
_TOLERANCE = 1e-5
_MOST_STEPS = 200


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
    solved in n · d_document unknowns.

    Cost of a step: O(n·d_document·(min(n, d_query) + h + shared)) float32; about ten steps a strength,
    each started at the stronger one before it.

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

    Source: the softmax (InfoNCE) loss of van den Oord, Li and Vinyals, 2018, over a bilinear score;
    L-BFGS of Liu and Nocedal, Mathematical Programming 45, 1989, as scipy has it.
    """

    family: Family = "dual"
    strengths: tuple[float, ...] = _STRENGTHS
    ranks: tuple[int | None, ...] = (None,)
    temperature: float = 0.05
    own: int = 8
    shared: int = 1024
    name: str = "softmax"

    def __post_init__(self) -> None:
        check_strengths(self.strengths, self.ranks)
        if not self.temperature > 0 or self.own < 0 or self.shared < 0:
            raise ParameterError(
                f"temperature {self.temperature}, {self.own} own and {self.shared} shared negatives",
                remedy="Give a positive temperature, and counts of 0 or more",
            )

    def path(self, labels: Labels, prior: Term) -> Path:
        """Fit at every setting, from the strongest pull to the weakest.

        Args:
            labels: n queries with their negatives; none gives the prior back.
            prior: M0; for the shared family symmetric and positive semi-definite.
        """
        with one_thread():
            contrast = Contrast.build(labels, prior, own=self.own, shared=self.shared, temperature=self.temperature)
            queries = labels.queries
            if self.family == "shared":
                found = self._solve(contrast, queries.astype(np.float32), _symmetrised)
                return Path.shared(self.strengths, self.ranks, prior, found)
            basis = _row_space(queries)
            found = self._solve(contrast, (queries @ basis).astype(np.float32), lambda gradient: gradient)
            return Path.dual(self.strengths, self.ranks, basis, found)

    def _solve(
        self, contrast: Contrast, queries: Float32Array, restrict: Callable[[Float64Array], Float64Array]
    ) -> list[Float32Array]:
        """Optima in the order of `strengths`: matrices Z with scores queries · Z · items."""
        shape = (queries.shape[1], contrast.width)
        if len(queries) == 0:
            return [np.zeros(shape, dtype=np.float32) for _ in self.strengths]
        order = np.argsort(self.strengths)[::-1]
        found: dict[int, Float32Array] = {}
        for place, solution in zip(order, self._descend(contrast, queries, restrict, order), strict=True):
            found[int(place)] = solution.astype(np.float32)
        return [found[place] for place in range(len(self.strengths))]

    def _descend(
        self,
        contrast: Contrast,
        queries: Float32Array,
        restrict: Callable[[Float64Array], Float64Array],
        order: npt.NDArray[np.intp],
    ) -> Iterator[Float64Array]:
        from scipy.optimize import minimize  # noqa: PLC0415 - half a second to import: only once it is needed

        shape = (queries.shape[1], contrast.width)
        current = np.zeros(shape)
        for place in order:
            pull = self.strengths[place]

            def objective(flat: Float64Array, pull: float = pull) -> tuple[float, Float64Array]:
                matrix = flat.reshape(shape)
                value, slope = contrast.loss(queries @ matrix.astype(np.float32))
                gradient = restrict((queries.T @ slope).astype(np.float64))
                return value + pull * float(np.sum(matrix * matrix)), (gradient + 2 * pull * matrix).ravel()

            result = minimize(
                objective,
                current.ravel(),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": _MOST_STEPS, "ftol": _TOLERANCE, "gtol": 0.0},
            )
            current = result.x.reshape(shape)
            yield current


def _symmetrised(gradient: Float64Array) -> Float64Array:
    return (gradient + gradient.T) / 2


def _row_space(queries: Float64Array) -> Float64Array:
    """(d, r) an orthonormal basis that holds every query: the identity unless n < d."""
    count, width = queries.shape
    if count >= width:
        return np.eye(width)
    values, vectors = symmetric_eigen(queries @ queries.T)
    kept = values > 1e-9 * values.max(initial=0.0)
    return np.asarray(queries.T @ (vectors[:, kept] / np.sqrt(values[kept])))
