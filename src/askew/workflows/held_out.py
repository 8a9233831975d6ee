"""Held out: how well each family's closed-form fit ranks, as a correction of the base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew.adapters.adapter import Similarity
from askew.data import Dataset, TwoWayFolds
from askew.errors import LabelError
from askew.estimators import Labels, Mining
from askew.geometry import RelevanceRows, Selection, closed_form_scores, held_out_ranking
from askew.geometry.halving import side_by_side
from askew.linalg import factored_svd
from askew.linalg.fixed import Float64Array, IntArray
from askew.operators import Factored, Identity
from askew.workflows.coordinates import Coordinates
from askew.workflows.footing import prior_of, rank_score
from askew.workflows.relevance import rows_of

__all__ = ["STEPS", "HeldOutRanking", "rank_held_out"]

#: Sizes of the step from the base, largest singular value of the correction; the base is the identity.
STEPS = (0.03, 0.1, 0.3, 1.0)
# Negatives mined a query, of which the hardest that a fold leaves is taken.
_SPARE = 4


@dataclass(frozen=True, eq=False)
class HeldOutRanking:
    """Held-out nDCG@10 on documents that were not relevant to a fitting query.

    Attributes:
        base: mean of the prior alone.
        shared: (K,) means of the shared fits, at K ranks.
        dual: (K,) of the dual ones.
        correction: whether the fits are corrections of the base; where there is none they stand alone.
    """

    base: float
    shared: Float64Array
    dual: Float64Array
    correction: bool

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**self.__dict__, "shared": self.shared.tolist(), "dual": self.dual.tolist()}


def rank_held_out(
    dataset: Dataset,
    at: Coordinates,
    *,
    ranks: tuple[int, ...],
    similarity: Similarity = "dot",
    folds: int = 5,
    by_document: bool = False,
    seed: int = 0,
    workers: int = 1,
) -> tuple[tuple[Selection, ...], HeldOutRanking]:
    """Compare shared and dual by the nDCG@10 of queries that were held out, each family with a step of its own.

    A moment of rank r that stands alone forgets nearly all that an encoder knows. So where there is a base the
    fit is a step from it, M = I + η Δ/‖Δ‖₂ with Δ the family's projection (which may take weight away in the
    shared one too), and η is chosen for each family and rank by the queries of the other folds: one step for
    both would compare shrinkage, not geometry. Folds are two-way, as those of `fit`: queries and relevant
    documents are held out together, and what a fit has seen leaves ranking, judgements and ideal.

    Args:
        dataset: the corpus and the judgements.
        at: n rows.
        ranks: K ranks.
        similarity: as the index scores.
        folds: at least 2.
        by_document: errors from groups that share no document.
        seed: of the hashes.
        workers: folds that run side by side; no result depends on it.

    Returns:
        K selections, and the means behind them.

    Raises:
        LabelError: all relevant documents fall into one fold, such as those of one document.
    """
    ranker = _Ranker(dataset, at, ranks, similarity, folds, seed)
    base, shared, dual = ranker.values(workers)

    def scores(_: IntArray, held: IntArray) -> tuple[Float64Array, Float64Array]:
        return shared[held], dual[held]

    found = held_out_ranking(at.rows, scores, ranks=ranks, folds=folds, by_document=by_document, seed=seed)
    return found, HeldOutRanking(float(base.mean()), shared.mean(axis=0), dual.mean(axis=0), at.has_base)


class _Ranker:
    """Measures every step of both families at every rank in every fold."""

    def __init__(
        self,
        dataset: Dataset,
        at: Coordinates,
        ranks: tuple[int, ...],
        similarity: Similarity,
        folds: int,
        seed: int,
    ) -> None:
        self._dataset, self._at, self._ranks = dataset, at, ranks
        self._steps = STEPS if at.has_base else (1.0,)
        self._labels = Labels.build(
            dataset,
            TwoWayFolds.build(dataset, count=folds, seed=seed),
            prior=Identity(at.rows.shape[0]),
            similarity=similarity,
            mining=Mining("top", 0 if at.residual else _SPARE),
            seed=seed,
        )
        self._folds = np.unique(self._labels.query_fold).tolist()
        if len(self._folds) < 2:
            raise LabelError(
                f"the relevant documents of {len(self._labels)} labelled queries cannot be held out apart",
                where=dataset.name,
                remedy="Label queries with other relevant documents",
            )
        self._base = prior_of(dataset).left_apply(self._labels.queries)
        self._score = rank_score(dataset, self._labels.query_ids, similarity=similarity)

    def values(self, workers: int) -> tuple[Float64Array, Float64Array, Float64Array]:
        """nDCG@10 of the base (n,), and of shared and dual (n, K), each at the step that other folds prefer."""
        fold, count = self._labels.query_fold, len(self._labels)
        base = np.zeros(count)
        every = np.zeros((len(self._steps), 2, count, len(self._ranks)))
        for number, (plain, found) in zip(self._folds, side_by_side(self._fold, self._folds, workers), strict=True):
            base[fold == number] = plain
            every[:, :, fold == number] = found
        best = np.zeros((2, count, len(self._ranks)))
        for number in self._folds:
            held = fold == number
            step = np.argmax(every[:, :, ~held].mean(axis=2), axis=0)  # (2, K), the smaller of equals
            best[:, held] = np.take_along_axis(every[:, :, held], step[None, :, None, :], axis=0)[0]
        return base, best[0], best[1]

    def _fold(self, number: int) -> tuple[Float64Array, Float64Array]:
        """Of the queries of a fold: (h,) of the base, and (steps, 2, h, K) of both families."""
        held = np.flatnonzero(self._labels.query_fold == number)
        fitting = self._labels.holding_out(self._labels.query_fold == number, self._labels.item_fold == number)
        seen = fitting.seen_rows
        base = self._ndcg(self._base[held], held, seen)
        if not len(fitting):
            return base, np.broadcast_to(base[:, None], (len(self._steps), 2, len(held), len(self._ranks)))
        rows = self._whitened(rows_of(fitting, self._dataset, residual=self._at.residual))
        parts = []
        for step in self._steps:
            scores = closed_form_scores(rows, self._stepping(step, seen), ranks=self._ranks)
            parts.append(np.stack(scores(np.arange(len(rows)), held)))
        return base, np.stack(parts)

    def _whitened(self, rows: RelevanceRows) -> RelevanceRows:
        return self._at.correcting(self._at.whitening.rows(rows))

    def _stepping(self, step: float, seen: IntArray) -> Callable[[Factored, IntArray], Float64Array]:
        def score(operator: Factored, rows: IntArray) -> Float64Array:
            raw = self._at.whitening.raw(operator)
            moved = raw.left_apply(self._labels.queries[rows])
            if self._at.has_base:
                size = factored_svd(raw.left, raw.right)[1].max(initial=0.0)
                moved = self._base[rows] + (step / size if size > 0 else 0.0) * moved
            return self._ndcg(moved, rows, seen)

        return score

    def _ndcg(self, adapted: Any, rows: IntArray, seen: IntArray) -> Float64Array:
        return np.asarray(self._score(np.asarray(adapted, dtype=np.float32), rows, seen)[0])
