"""What memory is worth, and its baseline, which an adapter has to be worth more than: the nearest past query.

Look up the most similar past query. If its cosine is at least a threshold, its relevant documents come
first (by grade, then in the base's order), and the base's ranking follows. No geometry is learned: this is
memory, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew.adapters import Adapter
from askew.adapters.adapter import Similarity
from askew.data import Dataset, Finding, Run, tie_rank
from askew.estimators import Choice, Labels
from askew.estimators.evidence import cautious, standard_error
from askew.evaluation import GainTable, compare, evaluate
from askew.linalg import FloatArray, top_k
from askew.linalg.fixed import Float64Array, IntArray
from askew.operators import Term
from askew.retrieval import PastQueries, put_first
from askew.workflows.assess import MEASURES, Assessment, base_of, depth_for

__all__ = ["NEAREST", "THRESHOLDS", "NearestPast", "assess_nearest", "choose_nearest", "outdone", "worth_remembering"]

#: What to call the baseline.
NEAREST = "nearest past query"
#: The least cosine of a look-up; None never looks up. Of equally good ones the first is chosen.
THRESHOLDS: tuple[float | None, ...] = (None, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
_CUTOFF = 10
# Standard errors that a gain has to exceed where it was picked on the queries that it is measured on.
_CLEAR = 2.0


@dataclass(frozen=True, eq=False)
class NearestPast:
    """The baseline, its threshold chosen on training queries alone.

    Attributes:
        threshold: least cosine; None if looking up never paid.
        means: threshold → cross-fitted mean nDCG@10; None stands for the base.
        gain: mean gain over the base, each fold under the threshold that the other folds choose.
        standard_error: of the gain, over queries.
        past: all training queries and their relevant documents.
    """

    threshold: float | None
    means: Mapping[float | None, float]
    gain: float
    standard_error: float
    past: PastQueries

    def __str__(self) -> str:
        if self.threshold is None:
            return f"the {NEAREST}, which gains nothing"
        return (
            f"the {NEAREST}, from a cosine of {self.threshold:g}, gains {self.gain:+.4f} "
            f"(standard error {self.standard_error:.4f})"
        )

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "threshold": self.threshold,
            "gain": self.gain,
            "standard_error": self.standard_error,
            "thresholds": [{"threshold": threshold, "mean": mean} for threshold, mean in self.means.items()],
        }


def choose_nearest(dataset: Dataset, labels: Labels, prior: Term, *, similarity: Similarity = "dot") -> NearestPast:
    """Choose the threshold by nDCG@10, cross-fitted over the plain folds of training queries.

    Args:
        dataset: m documents and the judgements.
        labels: n training queries.
        prior: M0, which the base ranks by.
        similarity: ``"dot"`` or ``"cosine"``.
    """
    cosine = similarity == "cosine"
    past = _past(labels)
    searched = prior.left_apply(labels.queries)
    base = _base_rows(searched, dataset, cosine, _CUTOFF)
    gains = GainTable.build(dataset.qrels, labels.query_ids, dataset.documents.ids)
    scores = np.empty((len(THRESHOLDS), len(labels)))
    for fold in np.unique(labels.plain_fold):
        held = labels.plain_fold == fold
        others = past.only(~held)
        row, near = others.nearest(labels.queries[held])
        answers = others.answers(row, searched[held], dataset.documents, cosine=cosine)
        for place, threshold in enumerate(THRESHOLDS):
            ranked = put_first(base[held], _at_least(answers, near, threshold))
            scores[place, held] = gains.ndcg(np.flatnonzero(held), ranked, k=_CUTOFF)
    nested = _nested(scores, labels.plain_fold) - scores[0]
    means = scores.mean(axis=1)
    error = float(nested.std(ddof=1) / np.sqrt(len(nested))) if len(nested) > 1 else 0.0
    table = {threshold: float(mean) for threshold, mean in zip(THRESHOLDS, means, strict=True)}
    return NearestPast(THRESHOLDS[_best(means)], table, float(nested.mean()), error, past)


def assess_nearest(
    nearest: NearestPast,
    dataset: Dataset,
    adapter: Adapter,
    *,
    measures: Sequence[str] = MEASURES,
    seed: int = 0,
) -> Assessment:
    """Compare the baseline with the base on judged queries, over all documents.

    Args:
        nearest: the baseline.
        dataset: judged queries over the corpus of its training.
        adapter: whose base it is.
        measures: names that ir-measures knows.
        seed: of the resampling.
    """
    queries = dataset.queries.take([query for query in dataset.qrels.queries if query in dataset.queries])
    cosine = adapter.similarity == "cosine"
    searched = base_of(adapter).apply(queries).matrix
    base = _base_rows(searched, dataset, cosine, depth_for(measures))
    row, near = nearest.past.nearest(queries.matrix)
    answers = nearest.past.answers(row, searched, dataset.documents, cosine=cosine)
    ranked = put_first(base, _at_least(answers, near, nearest.threshold))
    # Only the order counts: falling whole scores keep it whatever reads the run.
    falling = np.tile(np.arange(base.shape[1], 0, -1, dtype=np.float64), (len(base), 1))
    runs = [
        Run.from_rows(queries.ids, dataset.documents.ids, rows, falling, name=name)
        for name, rows in (("base", base), (NEAREST, ranked))
    ]
    before, after = (evaluate(run, dataset.qrels, measures) for run in runs)
    comparisons = tuple(compare(before, after, measure, seed=seed) for measure in before.values)
    return Assessment(before, after, comparisons, *runs)


def outdone(nearest: NearestPast, gain: float, queries: int) -> tuple[Finding, ...]:
    """A warning where memory without geometry, which is simpler, does better than an adapter.

    Args:
        nearest: the baseline.
        gain: the adapter's nested cross-fitted gain.
        queries: how many both are measured on.
    """
    if nearest.gain <= max(gain, 0.0):
        return ()
    return (
        Finding(
            "nearest-past-query",
            "warning",
            f"putting the documents of the most similar past query first gains {nearest.gain:+.4f} nDCG@{_CUTOFF} on "
            f"the training queries, and the adapter {gain:+.4f}",
            queries,
            remedy="For traffic that recurs, look past queries up first",
        ),
    )


def worth_remembering(choice: Choice) -> tuple[Finding, ...]:
    """A note where a base is kept for fresh traffic, and traffic that comes back to labelled documents would gain.

    Told is the cross-fitted gain, over all documents, of what would be chosen for such traffic. It is picked on the
    queries that it is measured on, so it has to exceed two standard errors.

    Args:
        choice: what a fit chose, with evidence for both kinds of traffic.
    """
    record = next((record for record in choice.evidence if record.regime == "recurring"), None)
    if record is None or choice.traffic > 0 or choice.verdict.decision == "adapt":
        return ()
    row = int(np.argmax(cautious(record.steady)))
    gains = record.gains()[row]
    gain, error = float(gains.mean()), standard_error(gains)
    if gain <= _CLEAR * error:
        return ()
    return (
        Finding(
            "memory-gains",
            "note",
            f"the verdict is for documents that no label has named; over all documents {choice.candidates[row]} gains "
            f"{gain:+.4f} nDCG@{_CUTOFF} (standard error {error:.4f}, picked on the same queries)",
            len(gains),
            remedy="If your users come back to the documents of past labels, fit for that: --traffic recurring, or "
            "the share of it",
        ),
    )


def _past(labels: Labels) -> PastQueries:
    return PastQueries(
        labels.queries,
        tie_rank(labels.query_ids),
        np.searchsorted(labels.pair_query, np.arange(len(labels) + 1)),
        labels.item_row[labels.pair_item],
        labels.pair_weight,
    )


def _base_rows(searched: FloatArray, dataset: Dataset, cosine: bool, depth: int) -> IntArray:
    documents = dataset.documents
    rows, _ = top_k(
        searched,
        documents.matrix,
        k=depth,
        tie_rank=documents.tie_rank,
        cosine=cosine,
        document_norms=documents.norms,
    )
    return rows


def _at_least(answers: IntArray, near: Float64Array, threshold: float | None) -> IntArray:
    """Answers of the past queries that are near enough; -1 in the place of the others."""
    used = np.zeros(len(near), dtype=bool) if threshold is None else near >= threshold
    return np.where(used[:, None], answers, -1)


def _nested(scores: Float64Array, fold: IntArray) -> Float64Array:
    """(n,) the score of each query under the threshold that is best on the other folds."""
    chosen = np.empty(scores.shape[1])
    for outer in np.unique(fold):
        held = fold == outer
        others = scores[:, ~held].mean(axis=1) if not held.all() else np.zeros(len(scores))
        chosen[held] = scores[_best(others), held]
    return chosen


def _best(means: Float64Array) -> int:
    # Sums over queries differ in their last bits between thresholds that rank alike.
    return int(np.flatnonzero(means >= means.max() - 1e-12)[0])
