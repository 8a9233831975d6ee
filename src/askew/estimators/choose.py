"""The cross-fit engine: which candidate, and whether it is worth anything, from training queries alone.

Two regimes, by what the user's traffic is like:

* ``fresh``: queries *and* relevant documents are held out together (`TwoWayFolds`), and the relevant
  documents of the fitting queries leave ranking, judgements and ideal: what is scored is geometry.
* ``recurring``: queries alone are held out, and all documents stay: what is scored includes memory of
  documents that come back.

One loop over sets of held-out folds serves both levels of nested cross-fitting: the fit that leaves
out folds f and g scores g for the choice made without f, and f for the choice made without g.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Protocol

import numpy as np

from askew._checks import is_number
from askew.errors import ParameterError
from askew.estimators.evidence import Candidate, Choice, Evidence, Regime, Verdict, cautious, standard_error, weighed
from askew.estimators.labels import Labels
from askew.estimators.paths import Family, Path, Setting
from askew.linalg import FloatArray, one_thread
from askew.linalg.fixed import Float64Array, IntArray
from askew.operators import Term

__all__ = ["Estimator", "RankScore", "choose"]

# Fewer labelled queries than this cannot be told from luck.
_FEWEST_LABELS = 10
# Gains within this share of the threshold do not exceed it.
_LEVEL = 1e-9
# Nested fits leave out two folds and need a third.
_FEWEST_FOLDS = 3

RankScore = Callable[[FloatArray, IntArray, IntArray], Float64Array]


class Estimator(Protocol):
    """Something that fits Δ to labels at several settings, in one family."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def family(self) -> Family:
        """The family its Δ belongs to."""

    @property
    def strengths(self) -> tuple[float, ...]:
        """Strengths to try: a larger one pulls harder towards the prior."""

    @property
    def ranks(self) -> tuple[int | None, ...]:
        """Bounds on the rank to try at each strength."""

    def path(self, labels: Labels, prior: Term) -> Path:
        """Fit at every setting: strengths in order, and ranks in order at each."""


def choose(
    labels: Labels,
    *,
    priors: Mapping[str, Term],
    estimators: Sequence[Estimator],
    rank_score: RankScore,
    traffic: float = 0.0,
    threshold: float | None = 1.0,
    workers: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Choice:
    """Cross-fit every candidate, choose the best, and judge the choosing itself by nesting it.

    Args:
        labels: n training queries.
        priors: name → M0; the first is the base. Each alone is always a candidate.
        estimators: each gives one candidate a setting and prior.
        rank_score: ``rank_score(adapted, query_rows, seen_rows)``: how well (q, d_document) adapted
            queries, of the training queries `query_rows` (q,), rank the corpus once the documents
            `seen_rows` are out of it: (2, q) values, larger is better. The first row is what is
            printed and judged, the second a steadier score of the same rankings that the choice goes
            by (nDCG@100 still moves where nDCG@10 stands still). Called from several threads.
        traffic: share of traffic that comes back to documents of past labels, 0 (fresh) to 1.
        threshold: standard errors, 0 or more, that the nested gain has to exceed for ``"adapt"``; None where nothing
            in use is at stake: what is chosen ships, the first prior alone among what can be.
        workers: fits that run side by side, each with one BLAS thread; no result depends on it.
        progress: called with the number of fits done and the number of all.

    Raises:
        ParameterError: `traffic` or `threshold` is out of range, there is no prior, two estimators of a family
            have one name, a path is not in the order of its strengths and ranks, or `rank_score` gave
            another shape or values that are not finite.

    The choice is the best mean steady gain less half its standard error (`cautious`); of equals, the
    one that pulls hardest towards the prior. The verdict is about the first score. With fewer than ten
    labelled queries, or all of them in two folds, the prior is kept and the reason says so.
    """
    if not 0 <= traffic <= 1:
        raise ParameterError(f"the share of recurring traffic is {traffic}", remedy="Give a number from 0 to 1")
    check_threshold(threshold)
    if not priors:
        raise ParameterError("there is no prior", where="priors", remedy="Name at least one, the base")
    kinds = [(estimator.name, estimator.family) for estimator in estimators]
    if len(set(kinds)) < len(kinds):
        raise ParameterError(
            f"two estimators have the same name and family: {kinds}", where="estimators", remedy="Name them apart"
        )
    name = next(iter(priors))
    refusal = _too_few(labels, traffic)
    if refusal:
        verdict = Verdict("keep", 0.0, 0.0, 0.0, 0.0, threshold, 0, traffic, refusal)
        return Choice(Candidate(name), verdict, (Candidate(name),), (), ())
    candidates = tuple(_candidates(priors, estimators))
    evidence = _cross_fit(labels, priors, estimators, rank_score, traffic, workers, progress)
    weights = [traffic if record.regime == "recurring" else 1 - traffic for record in evidence]
    shape = (len(candidates), len(labels))
    chosen = candidates[_pick(candidates, weighed([record.steady for record in evidence], weights, shape))]
    verdict = _judge(candidates, evidence, weights, threshold, traffic)
    if chosen == candidates[0] and verdict.decision == "adapt":  # there is nothing to adapt by
        reason = f"{chosen} leads with all labels; choosing from fewer gained {verdict.gain:+.4f}"
        verdict = replace(verdict, decision="keep", reason=f"{reason} (standard error {verdict.standard_error:.4f})")
    return Choice(chosen, verdict, candidates, labels.query_ids, evidence)


def check_threshold(threshold: float | None) -> None:
    """Raise ParameterError unless it is a number of standard errors, or None."""
    if threshold is not None and (not is_number(threshold) or not 0 <= threshold < np.inf):
        raise ParameterError(
            f"the threshold is {threshold!r}", where="threshold", remedy="Give a finite number, 0 or more"
        )


def _too_few(labels: Labels, traffic: float) -> str | None:
    if len(labels) < _FEWEST_LABELS:
        found = "1 labelled query is" if len(labels) == 1 else f"{len(labels)} labelled queries are"
        return f"{found} too few to tell a gain from luck: label at least {_FEWEST_LABELS}"
    fresh, plain = len(np.unique(labels.query_fold)), len(np.unique(labels.plain_fold))
    if traffic < 1 and fresh < 2:
        return (
            "the relevant documents of all labelled queries fall into one fold, as one document and its copies do: "
            "label queries with other relevant documents, or ask for more folds"
        )
    if (traffic < 1 and fresh < _FEWEST_FOLDS) or (traffic > 0 and plain < _FEWEST_FOLDS):
        return (
            f"the labelled queries fall into 2 folds or fewer, and nesting needs {_FEWEST_FOLDS}: label queries with "
            "other relevant documents, or ask for more folds"
        )
    return None


def _candidates(priors: Mapping[str, Term], estimators: Sequence[Estimator]) -> list[Candidate]:
    found = [Candidate(name) for name in priors]
    for name in priors:
        for estimator in estimators:
            kind = estimator.name, estimator.family
            found += [Candidate(name, *kind, setting.strength, setting.rank) for setting in _settings(estimator)]
    return found


def _settings(estimator: Estimator) -> Iterator[Setting]:
    """In the order of a path."""
    return (Setting(strength, rank) for strength in estimator.strengths for rank in estimator.ranks)


@dataclass(frozen=True)
class _Task:
    """One fit: a regime, and the folds it leaves out."""

    regime: Regime
    folds: frozenset[int]


def _cross_fit(
    labels: Labels,
    priors: Mapping[str, Term],
    estimators: Sequence[Estimator],
    rank_score: RankScore,
    traffic: float,
    workers: int,
    progress: Callable[[int, int], None] | None,
) -> tuple[Evidence, ...]:
    """Both regimes at the outer level, for evidence; nested only where traffic gives one weight."""
    folds_of: dict[Regime, IntArray] = {"fresh": labels.query_fold, "recurring": labels.plain_fold}
    tasks = [
        _Task(regime, frozenset(folds))
        for regime, fold in folds_of.items()
        for size in ((1, 2) if (traffic if regime == "recurring" else 1 - traffic) > 0 else (1,))
        for folds in combinations(np.unique(fold).tolist(), size)
        if len(np.unique(fold)) > 1
    ]
    done = 0

    def run(task: _Task) -> tuple[IntArray, Float64Array]:
        return _score_without(labels, task, folds_of[task.regime], priors, estimators, rank_score)

    table: dict[_Task, tuple[IntArray, Float64Array]] = {}
    with one_thread(), ThreadPoolExecutor(max(1, workers)) as pool:
        for task, result in zip(tasks, pool.map(run, tasks), strict=True):
            table[task] = result
            done += 1
            if progress is not None:
                progress(done, len(tasks))
    return tuple(_evidence(regime, fold, table) for regime, fold in folds_of.items() if len(np.unique(fold)) > 1)


def _score_without(
    labels: Labels,
    task: _Task,
    fold: IntArray,
    priors: Mapping[str, Term],
    estimators: Sequence[Estimator],
    rank_score: RankScore,
) -> tuple[IntArray, Float64Array]:
    """Fit without some folds and score their queries: (q,) rows and (2, C, q) scores."""
    held = np.isin(fold, sorted(task.folds))
    fresh = task.regime == "fresh"
    fitting = labels.holding_out(held, np.isin(labels.item_fold, sorted(task.folds)) if fresh else None)
    rows = np.flatnonzero(held)
    seen = fitting.seen_rows if fresh else np.empty(0, dtype=np.int64)
    queries = labels.queries[rows]
    known = {name: prior.left_apply(queries).astype(np.float32) for name, prior in priors.items()}
    values = [_finite(rank_score(base, rows, seen), len(rows))[:, None] for base in known.values()]
    for name, prior in priors.items():
        for estimator in estimators:
            path = estimator.path(fitting, prior)
            if path.settings != tuple(_settings(estimator)):
                raise ParameterError(
                    f"the path of {estimator.name} has other settings than its strengths and ranks, in order",
                    where="estimators",
                    remedy="Give one setting for each strength and, within it, each rank",
                )
            adapted = path.corrections(queries)
            adapted += known[name]
            tiled = np.tile(rows, len(adapted))
            scored = _finite(rank_score(adapted.reshape(len(tiled), -1), tiled, seen), len(tiled))
            values.append(scored.reshape(2, len(adapted), len(rows)))
    return rows, np.concatenate(values, axis=1)


def _finite(scores: object, count: int) -> Float64Array:
    """What `rank_score` gave, (2, count)."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (2, count) or not np.all(np.isfinite(found)):
        what = f"an array of shape {found.shape}" if found.shape != (2, count) else "values that are not finite"
        raise ParameterError(f"rank_score gave {what} for {count} queries", remedy="Give (2, q) finite numbers")
    return found


def _evidence(regime: Regime, fold: IntArray, table: Mapping[_Task, tuple[IntArray, Float64Array]]) -> Evidence:
    folds = np.unique(fold).tolist()
    count = table[_Task(regime, frozenset([folds[0]]))][1].shape[1]
    scores, steady = np.empty((2, count, len(fold)))
    inner: dict[int, Float64Array] = {}
    inner_rows: dict[int, IntArray] = {}
    for outer in folds:
        rows, values = table[_Task(regime, frozenset([outer]))]
        scores[:, rows], steady[:, rows] = values
        pairs = [(other, table.get(_Task(regime, frozenset([outer, other])))) for other in folds if other != outer]
        nested = [
            (rows[fold[rows] == other], values[1][:, fold[rows] == other])
            for other, found in pairs
            if found is not None
            for rows, values in [found]
        ]
        if nested:
            inner_rows[outer] = np.concatenate([rows for rows, _ in nested])
            inner[outer] = np.concatenate([values for _, values in nested], axis=1)
    return Evidence(regime, fold, scores, steady, inner, inner_rows)


def _pick(candidates: Sequence[Candidate], steady: Float64Array) -> int:
    """The candidate of the best cautious gain, from (C, q) steady scores."""
    bounds = cautious(steady)
    # Sums over queries differ in their last bits between candidates that rank alike.
    best = np.flatnonzero(bounds >= bounds.max() - 1e-12).tolist()
    return max(best, key=lambda row: candidates[row].pull)


def _judge(
    candidates: Sequence[Candidate],
    evidence: Sequence[Evidence],
    weights: Sequence[float],
    threshold: float | None,
    traffic: float,
) -> Verdict:
    """The gain of choosing, nested, with its standard error.

    A choice for one outer fold weighs the regimes as the final choice does: its own regime by fits
    that lack the fold, the other by what it says of the queries outside the fold.
    """
    count = evidence[0].scores.shape[1]
    base, adapted = np.zeros(count), np.zeros(count)
    for record, weight in zip(evidence, weights, strict=True):
        if weight == 0:
            continue
        base += weight * record.scores[0]
        for outer, inner in record.inner.items():
            rows = record.inner_rows[outer]
            parts = [inner if other is record else other.steady[:, rows] for other in evidence]
            pick = _pick(candidates, weighed(parts, weights, inner.shape))
            held = record.fold == outer
            adapted[held] += weight * record.scores[pick, held]
    gains = np.sort(adapted - base)  # so that the order of the queries decides no last bit
    gain, error = float(np.mean(gains)), standard_error(gains)
    # Where one query alone gains, its gain is one standard error to the last bit: that is no evidence.
    adapt = threshold is None or gain > max(threshold * error * (1 + _LEVEL), 0.0)
    reason = _reason(adapt, gain, error, threshold, traffic)
    means = (float(base.mean()), float(adapted.mean()))
    return Verdict("adapt" if adapt else "keep", *means, gain, error, threshold, count, traffic, reason)


def _reason(adapt: bool, gain: float, error: float, threshold: float | None, traffic: float) -> str:
    where = "unseen queries and documents" if traffic == 0 else "unseen queries over all documents"
    if 0 < traffic < 1:
        where = f"unseen queries, {traffic:.0%} of them over all documents and the rest over unseen ones"
    found = f"the gain, {gain:+.4f} on {where} (standard error {error:.4f}),"
    if threshold is None:
        told = "is not clear"
        if abs(gain) > error > 0:
            told = f"is {abs(gain) / error:.1f} standard errors {'above' if gain > 0 else 'below'} zero"
        elif gain > error:
            told = "is above zero on every query alike"
        return f"{found} {told}; what leads with all labels ships, as nothing in use is at stake"
    if gain <= 0:
        return f"no gain was found: {gain:+.4f} on {where} (standard error {error:.4f})"
    if error == 0:
        return f"{found} is above zero on every query alike"
    asked = f"{_times(gain / error, threshold)} standard errors above zero, and more than {threshold:g} was asked for"
    return f"{found} is {asked}" if adapt else f"{found} cannot be told from noise: it is {asked}"


def _times(ratio: float, threshold: float) -> str:
    """A ratio to one decimal, or to as many as part it from the threshold."""
    digits = next((digits for digits in (1, 2, 3) if round(ratio, digits) != round(threshold, digits)), 1)
    return f"{ratio:.{digits}f}"
