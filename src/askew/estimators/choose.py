"""The cross-fit engine: which candidate, and whether it is worth anything, from training queries alone.

Everything is scored on queries *and* relevant documents that no fit has seen (`TwoWayFolds`): the
relevant documents of the fitting queries leave ranking, judgements and ideal. One loop over the sets of
held-out folds serves both levels of nested cross-fitting: the fit that leaves out folds f and g scores g
for the choice made without f, and f for the choice made without g.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from askew.estimators.labels import Labels
from askew.linalg import FloatArray
from askew.linalg.fixed import Float64Array
from askew.operators import Term

__all__ = ["KEEP", "Candidate", "Choice", "Estimator", "Path", "Verdict", "choose"]

# Fewer labelled queries than this cannot be told from luck.
_FEWEST_LABELS = 10

IntArray = npt.NDArray[np.int64]
RankScore = Callable[[Float64Array, IntArray, IntArray], Float64Array]


class Path(Protocol):
    """Corrections of one fit over a range of strengths."""

    def at(self, strength: float) -> Term:
        """Δ at one strength."""

    def corrections(self, queries: FloatArray) -> Float64Array:
        """Δᵀx at every strength: (n, d_query) → (S, n, d_document)."""


class Estimator(Protocol):
    """Something that fits Δ to labels at several strengths."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def strengths(self) -> tuple[float, ...]:
        """The strengths of its path, ascending: a larger one pulls harder towards the prior."""

    def path(self, labels: Labels, prior: Term) -> Path:
        """Fit at every strength."""


@dataclass(frozen=True)
class Candidate:
    """One thing that can ship: an estimator at a strength, or the prior alone (no strength)."""

    estimator: str
    strength: float | None

    def __str__(self) -> str:
        return self.estimator if self.strength is None else f"{self.estimator} {self.strength:g}"


#: The candidate that is always there.
KEEP = Candidate("prior", None)


@dataclass(frozen=True)
class Verdict:
    """Whether the chosen way of fitting is worth it, on queries and documents that nothing had seen.

    Attributes:
        decision: ``"adapt"`` or ``"keep"``.
        base: mean score of the prior.
        adapted: nested cross-fitted mean score of what the chooser picks.
        gain: their difference.
        standard_error: of the gain, over queries.
        threshold: standard errors that the gain has to exceed.
        queries: how many queries it rests on.
        reason: one sentence.
    """

    decision: Literal["adapt", "keep"]
    base: float
    adapted: float
    gain: float
    standard_error: float
    threshold: float
    queries: int
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and every score that it was chosen by.

    Attributes:
        chosen: the candidate of the best cross-fitted mean (the verdict may still say keep).
        verdict: from the nested cross-fit.
        candidates: all C of them, the prior first.
        query_ids: n queries.
        query_fold: (n,) the fold of each.
        scores: (C, n) cross-fitted score of each candidate on each query.
        nested: (n,) score of what was chosen without the query's fold.
    """

    chosen: Candidate
    verdict: Verdict
    candidates: tuple[Candidate, ...]
    query_ids: tuple[str, ...]
    query_fold: IntArray
    scores: Float64Array
    nested: Float64Array

    def means(self) -> Float64Array:
        """(C,) cross-fitted mean of each candidate; zeros where nothing was measured."""
        return np.asarray(self.scores.sum(axis=1) / max(1, self.scores.shape[1]))

    def standard_errors(self) -> Float64Array:
        """(C,) standard error of each candidate's gain over the prior, over queries."""
        return np.array([_standard_error(row - self.scores[0]) for row in self.scores])

    def to_json(self) -> dict[str, Any]:
        """The evidence as plain values: every candidate's mean, gain, error and score by fold."""
        means, errors = self.means(), self.standard_errors()
        return {
            "chosen": str(self.chosen),
            "verdict": self.verdict.to_json(),
            "candidates": [
                {
                    "estimator": candidate.estimator,
                    "strength": candidate.strength,
                    "mean": float(mean),
                    "gain": float(mean - means[0]),
                    "standard_error": float(error),
                    "by_fold": [float(row[self.query_fold == fold].mean()) for fold in np.unique(self.query_fold)],
                }
                for candidate, mean, error, row in zip(self.candidates, means, errors, self.scores, strict=True)
            ],
        }


def choose(
    labels: Labels,
    *,
    prior: Term,
    estimators: Sequence[Estimator],
    rank_score: RankScore,
    threshold: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
) -> Choice:
    """Cross-fit every candidate, choose the best, and judge the choosing itself by nesting it.

    Args:
        labels: n training queries in two-way folds.
        prior: M0; alone it is always a candidate.
        estimators: each gives one candidate a strength.
        rank_score: ``rank_score(adapted, query_rows, seen_rows)``: how well (q, d_document) adapted
            queries, of the training queries `query_rows` (q,), rank the corpus once the documents
            `seen_rows` are out of it: (q,) values, larger is better.
        threshold: standard errors that the nested gain has to exceed for ``"adapt"``.
        progress: called with the number of fits done and the number of all.

    The choice is the best mean; of equals, the one that pulls hardest towards the prior. With fewer
    than ten labelled queries, or all of them in one fold, the prior is kept and the reason says so.
    """
    refusal = _too_few(labels)
    if refusal:
        return _keep(refusal, threshold)
    candidates = (KEEP, *(Candidate(e.name, strength) for e in estimators for strength in e.strengths))
    held_out = [frozenset(folds) for size in (1, 2) for folds in combinations(labels.folds, size)]
    table: dict[frozenset[int], tuple[IntArray, Float64Array]] = {}
    for done, folds in enumerate(held_out, start=1):
        table[folds] = _score_without(labels, folds, prior, estimators, rank_score)
        if progress is not None:
            progress(done, len(held_out))
    scores = np.empty((len(candidates), len(labels)))
    nested = np.empty(len(labels))
    for fold in labels.folds:
        rows, values = table[frozenset([fold])]
        scores[:, rows] = values
        nested[rows] = values[_pick(candidates, _inner_scores(labels, table, fold))]
    chosen = candidates[_pick(candidates, scores)]
    verdict = _judge(scores[0], nested, threshold)
    return Choice(chosen, verdict, candidates, labels.query_ids, labels.query_fold, scores, nested)


def _too_few(labels: Labels) -> str | None:
    if len(labels) < _FEWEST_LABELS:
        return f"{len(labels)} labelled queries are too few to tell a gain from luck: label at least {_FEWEST_LABELS}"
    if len(labels.folds) < 2:
        return "the relevant documents of all labelled queries are one document, or copies of it"
    return None


def _keep(reason: str, threshold: float) -> Choice:
    """The prior, with nothing measured."""
    verdict = Verdict("keep", 0.0, 0.0, 0.0, 0.0, threshold, 0, reason)
    nothing = np.zeros((1, 0))
    return Choice(KEEP, verdict, (KEEP,), (), np.empty(0, dtype=np.int64), nothing, nothing[0])


def _score_without(
    labels: Labels,
    folds: frozenset[int],
    prior: Term,
    estimators: Sequence[Estimator],
    rank_score: RankScore,
) -> tuple[IntArray, Float64Array]:
    """Fit without some folds and score their queries: (q,) rows and (C, q) scores."""
    fitting = labels.without_folds(folds)
    rows = np.flatnonzero(np.isin(labels.query_fold, sorted(folds)))
    queries = labels.queries[rows]
    known = np.asarray(prior.left_apply(queries), dtype=np.float64)
    adapted = [known[None]] + [known + estimator.path(fitting, prior).corrections(queries) for estimator in estimators]
    stacked = np.concatenate(adapted)
    seen = np.unique(fitting.pair_row)
    values = rank_score(stacked.reshape(-1, stacked.shape[2]), np.tile(rows, len(stacked)), seen)
    return rows, values.reshape(len(stacked), len(rows))


def _inner_scores(
    labels: Labels, table: Mapping[frozenset[int], tuple[IntArray, Float64Array]], fold: int
) -> Float64Array:
    """(C, n - n_fold) scores by fits that have seen neither `fold` nor the fold of the query scored."""
    inner = []
    for other in labels.folds:
        if other != fold:
            rows, values = table[frozenset([fold, other])]
            inner.append(values[:, labels.query_fold[rows] == other])
    return np.concatenate(inner, axis=1)


def _pick(candidates: Sequence[Candidate], scores: Float64Array) -> int:
    means = scores.mean(axis=1)
    # Sums over queries differ in their last bits between candidates that rank alike.
    best = np.flatnonzero(means >= means.max() - 1e-12)
    return int(max(best.tolist(), key=lambda row: _pull(candidates[row])))


def _pull(candidate: Candidate) -> float:
    return np.inf if candidate.strength is None else candidate.strength


def _judge(base: Float64Array, nested: Float64Array, threshold: float) -> Verdict:
    gains = nested - base
    gain, error = float(gains.mean()), _standard_error(gains)
    adapt = gain > threshold * error and gain > 0
    found = f"{gain:+.4f} on unseen queries and documents (standard error {error:.4f})"
    reason = (
        f"the gain, {found}, exceeds {threshold:g} standard error{'s' if threshold != 1 else ''}"
        if adapt
        else f"the gain, {found}, cannot be told from noise"
        if gain > 0
        else f"there is no gain: {found}"
    )
    return Verdict(
        "adapt" if adapt else "keep",
        float(base.mean()),
        float(nested.mean()),
        gain,
        error,
        threshold,
        len(base),
        reason,
    )


def _standard_error(values: Float64Array) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
