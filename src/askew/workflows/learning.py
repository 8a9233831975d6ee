"""Learning curve: what adapting gains by the number of labels, measured on parts of those there are, and ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from askew.data import stable_hashes
from askew.errors import LabelError, counted
from askew.estimators import Estimator, Labels, cautious
from askew.estimators.choose import RankScore
from askew.estimators.evidence import Regime, standard_error, weighed
from askew.geometry import Forecast, LearningCurve
from askew.linalg import one_thread
from askew.linalg.fixed import Float64Array, IntArray
from askew.operators import Term
from askew.protocols import Progress
from askew.report import Learning, LearningPoint

__all__ = ["LEVEL", "GainCurve", "gain_curve", "recorded"]

_PARTS = (8, 4, 2, 1)
# A cross-fit of fewer labels than this says nothing that a curve could be drawn through.
_FEWEST = 16
# A curve of three parameters takes three points.
_POINTS = 3
#: Of every interval of a gain, those of a test among them.
LEVEL, _HALF = 0.95, 1.96
# How far ahead a number of labels is looked for: a forecast further out is a guess.
_FURTHEST = 16.0
# Numbers of labels looked at up to there: a quarter of a doubling apart, which a forecast can hardly tell apart.
_STEPS = 17

Decision = Literal["adapt", "keep"]


@dataclass(frozen=True, eq=False)
class GainCurve:
    """The cross-fitted gain of adapting against the number of labels, and where it leads.

    It is not nested: the strength of a fold is chosen by fits that have seen the fold's labels. A verdict is, and
    may say keep where the curve is above what a verdict would ask for.

    Attributes:
        counts: S numbers of labels, ascending.
        gains: S cross-fitted gains in nDCG@10 over the base, each measured on all n queries.
        errors: S standard errors, over queries.
        curve: fitted to them.
        threshold: standard errors that a verdict asks for.
        fitted: what was fitted, in words.
        decision: the verdict on all labels, where there is one.
    """

    counts: tuple[float, ...]
    gains: tuple[float, ...]
    errors: tuple[float, ...]
    curve: LearningCurve
    threshold: float
    fitted: str
    decision: Decision | None = None

    @property
    def labels(self) -> float:
        """n, all the labels there are."""
        return self.counts[-1]

    def needed(self, count: float) -> float:
        """The gain that a verdict on so many labels would ask for: its standard error falls as 1/√n."""
        return float(self.threshold * self.errors[-1] * np.sqrt(self.labels / count))

    def pays_from(self) -> float | None:
        """The least number of labels, of n to 16n, whose expected gain exceeds what a verdict asks for.

        A verdict on all n stands: n where it is adapt and something is gained, more where it is keep.
        """
        if self.decision == "adapt" and self.gains[-1] > 0:
            return self.labels
        ahead = self.labels * np.geomspace(1, _FURTHEST, _STEPS)
        for count in ahead if self.decision is None else ahead[1:]:
            if self.forecast(count / self.labels).value > self.needed(count):
                return float(count)
        return None

    def forecast(self, times: float) -> Forecast:
        """The gain at a multiple of the labels: the last one measured, and what the curve adds; 95% interval."""
        return self.curve.ahead(times * self.labels, level=LEVEL)

    @property
    def reason(self) -> str:
        """A sentence: whether adapting pays, from how many labels, and what twice as many would bring."""
        twice, start = self.curve.added(2 * self.labels, level=LEVEL), self.pays_from()
        now = f"the gain of {self.fitted} is {_signed(self.gains[-1])} (standard error {self.errors[-1]:.4f})"
        doubt = f"{LEVEL:.0%} interval {_signed(twice.low)} to {_signed(twice.high)}, if the curve holds"
        more = f"{_signed(twice.value)} more{'' if twice.low > 0 else ', possibly none'} ({doubt})"
        now = f"{now} with all {self.labels:,.0f} labels; {2 * self.labels:,.0f} in all are expected to bring {more}"
        if start == self.labels:
            return f"adapting pays already: {now}"
        if start is None:
            return f"adapting is not expected to pay within {_FURTHEST:g} times the labels: {now}"
        return f"adapting is expected to pay from about {start:,.0f} labels on: {now}"

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        points = zip(self.counts, self.gains, self.errors, strict=True)
        return {
            "measured": [{"labels": n, "gain": gain, "standard_error": error} for n, gain, error in points],
            "forecast": [
                {
                    "labels": times * self.labels,
                    **self.forecast(times).__dict__,
                    "needed": self.needed(times * self.labels),
                }
                for times in (1, 2, 4)
            ],
            "level": LEVEL,
            "pays_from": self.pays_from(),
            "threshold": self.threshold,
            "fitted": self.fitted,
            "misfit": self.curve.misfit,
        }


def gain_curve(
    labels: Labels,
    *,
    prior: Term,
    base: Term | None = None,
    estimators: Sequence[Estimator],
    rank_score: RankScore,
    traffic: float = 0.0,
    threshold: float = 1.0,
    repeats: int = 8,
    whole: Mapping[Regime, Float64Array] | None = None,
    decision: Decision | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> GainCurve:
    """Measure what fits to an eighth, a quarter, a half and all of the labels gain over the base.

    The labels outside a fold are cut, by a hash of the query, into 8, 4, 2 and 1 parts. Fits to the parts are
    scored on the fold's queries, and their scores averaged; so every point rests on all n queries, and on the
    same documents: those that no label outside the fold has named, for fresh traffic. For each fold the strength is
    the one that the other folds prefer. A point is named by the labels whose cross-fit it is: n, n/2, n/4, n/8.

    Args:
        labels: n queries, with folds.
        prior: M0, what is fitted starts from.
        base: what gains are measured from, where that is another prior.
        estimators: what is fitted; strengths, and families if there are several, are chosen anew at every point.
        rank_score: as `choose` takes it.
        traffic: share of recurring traffic.
        threshold: standard errors that a verdict asks for.
        whole: regime → (2, C, n) scores with all labels, of the prior and of every setting in order, where they are
            known already; see `Evidence`.
        decision: the verdict on all labels, where there is one.
        repeats: most parts to fit to at one point; fewer cost less and say less.
        seed: of the hash and of the forecast's bootstrap.
        workers: fits side by side; no result depends on it.
        progress: called with the fits done and to do.

    Raises:
        LabelError: too few labels, or too few folds, for the three points that a curve takes.
    """
    parts = [count for count in _PARTS if len(labels) // count >= _FEWEST]
    if len(parts) < _POINTS:
        raise LabelError(
            f"{counted(len(labels), 'label gives', 'labels give')} {len(parts)} of the {_POINTS} points that a "
            "learning curve takes",
            remedy=f"Label at least {2 ** (_POINTS - 1) * _FEWEST}",
        )
    regimes: list[tuple[Regime, float]] = [("fresh", 1 - traffic), ("recurring", traffic)]
    designs = [
        _Design(labels, regime, (prior if base is None else base, prior), estimators, rank_score, seed)
        for regime, share in regimes
        if share > 0
    ]
    weights = [share for _, share in regimes if share > 0]
    if any(len(design.folds) < 2 for design in designs):
        raise LabelError("the labelled queries fall into one fold", remedy="Label queries with other documents")
    tasks = [
        (number, count, fold, place)
        for number, design in enumerate(designs)
        for count in parts
        if count > 1 or whole is None
        for fold in design.folds
        for place in range(min(count, repeats))
    ]
    scores = np.zeros((len(designs), len(parts), 2, designs[0].candidates, len(labels)))
    if whole is not None:
        scores[:, -1] = [whole[design.regime] for design in designs]

    def run(task: tuple[int, int, int, int]) -> tuple[IntArray, Float64Array]:
        return designs[task[0]].scores(*task[1:])

    with one_thread(), ThreadPoolExecutor(max(1, workers)) as pool:
        for done, ((number, count, *_), (rows, found)) in enumerate(zip(tasks, pool.map(run, tasks), strict=True)):
            scores[number, parts.index(count)][:, :, rows] += found / min(count, repeats)
            if progress is not None:
                progress(done + 1, len(tasks))
    each = [_gains(designs, scores[:, place], weights) for place in range(len(parts))]
    gains, errors = [float(gain.mean()) for gain in each], [standard_error(gain) for gain in each]
    counts = [len(labels) / count for count in parts]
    curve = LearningCurve.fit(counts, gains, errors=_positive(errors), seed=seed)
    return GainCurve(tuple(counts), tuple(gains), tuple(errors), curve, threshold, _named(estimators), decision)


def recorded(curve: GainCurve) -> Learning:
    """The curve as a report holds it: measured points, and the forecast from the last of them to four times as many."""
    band = [_HALF * error for error in curve.errors]
    measured = [
        LearningPoint(labels=count, gain=gain, low=gain - half, high=gain + half, measured=True)
        for count, gain, half in zip(curve.counts, curve.gains, band, strict=True)
    ]
    ahead = [
        LearningPoint(labels=times * curve.labels, gain=one.value, low=one.low, high=one.high, measured=False)
        for times in (1, 2, 4)
        for one in [curve.curve.ahead(times * curve.labels, level=LEVEL)]
    ]
    more, twice = curve.curve.added(2 * curve.labels, level=LEVEL), 2 * curve.labels
    return Learning(
        sentence=curve.reason,
        labels=curve.labels,
        points=(*measured, *ahead),
        pays_from=curve.pays_from(),
        twice=LearningPoint(labels=twice, gain=more.value, low=more.low, high=more.high, measured=False),
    )


class _Design:
    """One regime: which queries a fit may see, and how its candidates score on the others."""

    def __init__(
        self,
        labels: Labels,
        regime: Regime,
        priors: tuple[Term, Term],
        estimators: Sequence[Estimator],
        rank_score: RankScore,
        seed: int,
    ) -> None:
        self.regime: Regime = regime
        self._labels, self._fresh = labels, regime == "fresh"
        (self._base, self._prior), self._estimators, self._score = priors, estimators, rank_score
        self.fold = labels.query_fold if self._fresh else labels.plain_fold
        self.folds: list[int] = np.unique(self.fold).tolist()
        self.candidates = 1 + sum(len(one.strengths) * len(one.ranks) for one in estimators)
        self._order = np.argsort(stable_hashes(labels.query_ids, f"part-{seed}"), kind="stable")

    def scores(self, count: int, fold: int, place: int) -> tuple[IntArray, Float64Array]:
        """Rows of a fold (q,), and (2, C, q) scores of the base and of fits to one of so many parts of the others."""
        held = self.fold == fold
        items = self._labels.item_fold == fold if self._fresh else None
        rows, outside = np.flatnonzero(held), self._order[~held[self._order]]
        unused = np.ones(len(held), dtype=bool)
        unused[np.array_split(outside, count)[place]] = False
        fitting = self._labels.holding_out(unused, items)
        seen = self._labels.holding_out(held, items).seen_rows if self._fresh else np.empty(0, dtype=np.int64)
        queries = self._labels.queries[rows]
        base, known = (term.left_apply(queries).astype(np.float32) for term in (self._base, self._prior))
        values = [self._score(base, rows, seen)[:, None]]
        for estimator in self._estimators:
            adapted = known + estimator.path(fitting, self._prior).corrections(queries)
            tiled = np.tile(rows, len(adapted))
            values.append(self._score(adapted.reshape(len(tiled), -1), tiled, seen).reshape(2, -1, len(rows)))
        return rows, np.concatenate(values, axis=1)


def _gains(designs: Sequence[_Design], scores: Float64Array, weights: Sequence[float]) -> Float64Array:
    """(n,) the gain over the base of what the other folds would choose, from (R, 2, C, n) scores."""
    steady = weighed(list(scores[:, 1]), weights, scores.shape[2:])
    total = np.zeros(scores.shape[-1])
    for design, (first, _), weight in zip(designs, scores, weights, strict=True):
        for fold in design.folds:
            held = design.fold == fold
            pick = int(np.argmax(cautious(steady[:, ~held])))
            total[held] += weight * (first[pick, held] - first[0, held])
    return total


def _named(estimators: Sequence[Estimator]) -> str:
    """As in "ridge (dual or shared)"."""
    families: dict[str, list[str]] = {}
    for one in estimators:
        families.setdefault(one.name, []).append(one.family)
    return " or ".join(f"{name} ({' or '.join(held)})" for name, held in families.items())


def _signed(value: float) -> str:
    """To four decimals; what rounds to zero has no minus."""
    return f"{round(value, 4) + 0.0:+.4f}"


def _positive(errors: Sequence[float]) -> list[float]:
    """Errors that a fit can weigh by: where no query changes, the least that is known."""
    floor = max(1e-6, min((error for error in errors if error > 0), default=1e-6))
    return [max(error, floor) for error in errors]
