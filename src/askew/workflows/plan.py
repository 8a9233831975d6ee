"""Plan: how many more labels it takes, until two geometries pay and until adapting itself does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew.adapters.adapter import Similarity
from askew.data import Dataset, Finding, TwoWayFolds, examine, hash_order
from askew.errors import LabelError, ParameterError
from askew.estimators import Labels, Ridge, Verdict, choose, has_shared
from askew.geometry import Forecast, LearningCurve, Plan, plan
from askew.geometry.spectra import check_ranks
from askew.geometry.whitening import WhiteningKind
from askew.protocols import Progress
from askew.workflows.coordinates import default_ranks, set_out
from askew.workflows.footing import prior_of, rank_score

__all__ = ["GainCurve", "LabelPlan", "plan_labels"]

# One strength a decade: choosing among few costs little gain, and the shape of a curve less.
_STRENGTHS = (0.01, 0.1, 1.0, 10.0)
_PARTS = (8, 4, 2, 1)
# A cross-fit of fewer labels than this says nothing that a curve could be drawn through.
_FEWEST = 16
# A curve of three parameters takes three points.
_POINTS = 3
# How far ahead a number of labels is looked for: a forecast further out is a guess.
_FURTHEST = 16.0


@dataclass(frozen=True, eq=False)
class GainCurve:
    """The cross-fitted gain of adapting against the number of labels, and where it leads.

    Attributes:
        counts: S mean numbers of labels, ascending.
        gains: S nested cross-fitted gains in nDCG@10 over the base, each measured on all n queries.
        errors: S standard errors, over queries.
        curve: fitted to them.
        threshold: standard errors that a verdict asks for.
    """

    counts: tuple[float, ...]
    gains: tuple[float, ...]
    errors: tuple[float, ...]
    curve: LearningCurve
    threshold: float

    @property
    def labels(self) -> float:
        """n, all the labels there are."""
        return self.counts[-1]

    def needed(self, count: float) -> float:
        """The gain that a verdict on so many labels would ask for: its standard error falls as 1/√n."""
        return float(self.threshold * self.errors[-1] * np.sqrt(self.labels / count))

    def pays_from(self) -> float | None:
        """The least number of labels, of n to 16n, whose expected gain exceeds what a verdict asks for."""
        for count in self.labels * np.geomspace(1, _FURTHEST, 65):
            value = self.gains[-1] if count == self.labels else self.curve.at(float(count)).value
            if value > self.needed(count):
                return float(count)
        return None

    def forecast(self, times: float) -> Forecast:
        """The gain at a multiple of the labels."""
        return self.curve.at(times * self.labels)

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
            "pays_from": self.pays_from(),
            "threshold": self.threshold,
        }


@dataclass(frozen=True, eq=False)
class LabelPlan:
    """What more labels would bring.

    Attributes:
        dataset: its name.
        queries: n that can teach.
        documents: m.
        coordinates: what the moment is judged in.
        plans: one a rank: where dual starts to beat shared in operator risk.
        gain: the learning curve of adapting; None where the labels are too few for one.
        reason: a sentence about it.
        findings: what is odd about the data.
    """

    dataset: str
    queries: int
    documents: int
    coordinates: str
    plans: tuple[Plan, ...]
    gain: GainCurve | None
    reason: str
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values; an end of an interval that is infinite is None."""
        return {
            "dataset": self.dataset,
            "queries": self.queries,
            "documents": self.documents,
            "coordinates": self.coordinates,
            "plans": [
                {**found.__dict__, "interval": [end if np.isfinite(end) else None for end in found.interval]}
                for found in self.plans
            ],
            "gain": None if self.gain is None else self.gain.to_json(),
            "reason": self.reason,
            "findings": [finding.to_json() for finding in self.findings],
        }


def plan_labels(
    dataset: Dataset,
    *,
    ranks: Sequence[int] | None = None,
    whitening: WhiteningKind = "none",
    residual: bool = False,
    by_document: bool = False,
    similarity: Similarity = "dot",
    splits: int = 20,
    folds: int = 5,
    threshold: float = 1.0,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> LabelPlan:
    """Look ahead from a pilot: at how many labels dual starts to pay, and what adapting would gain with more.

    The second is a learning curve of the real thing. Labels are cut by hash into 8, 4, 2 and 1 parts, and in
    each part ridge regression to the prior, shared and dual, is chosen and judged as `fit` does it for fresh
    traffic: nested, over two-way folds. So every point rests on all queries. The points share them, so their
    errors are not independent, and the forecast's interval is rather too wide than too narrow.

    Args:
        dataset: n labelled queries, in one dimension with their m documents.
        ranks: one plan each; by default powers of two from 4 to 128 that the data support.
        whitening: ``"none"``, ``"pooled"`` or ``"per-view"``; of the first part alone, as the next two.
        residual: plan corrections of the base.
        by_document: halves that share no document.
        similarity: as the index scores.
        splits: half-splits.
        folds: of the cross-fits, at least 3.
        threshold: standard errors that a verdict asks for.
        seed: of the hashes and of the forecast's bootstrap.
        workers: threads; no result depends on it. As many as there are processors by default.
        progress: called with the steps done and to do.

    Raises:
        DimensionError: queries and documents differ in dimension.
        LabelError: fewer than four queries can teach, or documents cannot be kept apart.
        ParameterError: an argument is out of range.
    """
    if not 0 <= threshold < float("inf"):
        raise ParameterError(
            f"the threshold is {threshold}", where="threshold", remedy="Give a finite number, 0 or more"
        )
    threads = workers or os.cpu_count() or 1
    at = set_out(dataset, whitening=whitening, residual=residual, similarity=similarity, seed=seed)
    chosen = tuple(dict.fromkeys(ranks)) if ranks is not None else default_ranks(at.rows, by_document=by_document)
    check_ranks(chosen, at.rows.shape)
    parts = [count for count in _PARTS if len(at.rows) // count >= _FEWEST]
    total = 2 * splits + sum(parts)
    plans = plan(
        at.rows,
        ranks=chosen,
        splits=splits,
        by_document=by_document,
        seed=seed,
        workers=threads,
        progress=_shifted(progress, 0, total),
    )
    ahead = _shifted(progress, 2 * splits, total)
    pilot = _Pilot(dataset, at.raw.ids, similarity, folds, threshold, seed, threads)
    gain, reason = _gain_curve(pilot, parts, ahead)
    return LabelPlan(
        dataset.name,
        len(at.rows),
        len(dataset.documents),
        at.name,
        plans,
        gain,
        reason,
        examine(dataset, similarity=similarity),
    )


def _shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of a piece of work that comes after others."""
    if progress is None:
        return None
    told: Progress = progress

    def report(done: int, _: int) -> None:
        told(before + done, total)

    return report


@dataclass(frozen=True, eq=False)
class _Pilot:
    """The labels, and how a part of them is judged."""

    dataset: Dataset
    query_ids: tuple[str, ...]
    similarity: Similarity
    folds: int
    threshold: float
    seed: int
    workers: int

    def verdict(self, names: Sequence[str]) -> Verdict:
        """Choose ridge regression's family and strength on some labels, and judge the choice."""
        part = self.dataset.only(names)
        prior = prior_of(part)
        labels = Labels.build(
            part,
            TwoWayFolds.build(part, count=self.folds, seed=self.seed),
            prior=prior,
            similarity=self.similarity,
            seed=self.seed,
        )
        dual = Ridge("dual", _STRENGTHS)
        return choose(
            labels,
            priors={"base": prior},
            estimators=(dual, Ridge("shared", _STRENGTHS)) if has_shared(prior) else (dual,),
            rank_score=rank_score(part, labels.query_ids, similarity=self.similarity),
            threshold=self.threshold,
            workers=self.workers,
        ).verdict


def _gain_curve(pilot: _Pilot, parts: Sequence[int], progress: Progress | None) -> tuple[GainCurve | None, str]:
    """The learning curve, or None; and a sentence."""
    counts, gains, errors = [], [], []
    done = 0
    for count in parts:
        found = []
        # Parts of parts: an order by hash, halved and halved again.
        for names in np.array_split(np.array(hash_order(pilot.query_ids, seed=pilot.seed), dtype=object), count):
            found.append(pilot.verdict(names.tolist()))
            done += 1
            if progress is not None:
                progress(done, sum(parts))
        weights = np.array([verdict.queries for verdict in found], dtype=np.float64)
        if not np.all(weights > 0):  # too few folds, or labels that share one document
            continue
        share = weights / weights.sum()
        counts.append(float(weights.mean()))
        gains.append(float(share @ [verdict.gain for verdict in found]))
        errors.append(float(np.sqrt(np.sum(np.square(share * [verdict.standard_error for verdict in found])))))
    try:
        curve = LearningCurve.fit(counts, gains, errors=_positive(errors), seed=pilot.seed)
    except LabelError:
        return None, (
            f"{len(pilot.query_ids):,} labels give {len(counts)} of the {_POINTS} points that a learning curve takes: "
            f"label at least {2 ** (_POINTS - 1) * _FEWEST}"
        )
    gain = GainCurve(tuple(counts), tuple(gains), tuple(errors), curve, pilot.threshold)
    return gain, _reason(gain)


def _positive(errors: Sequence[float]) -> list[float]:
    """Errors that a fit can weigh by: where no query changes, the least that is known."""
    floor = max(1e-6, min((error for error in errors if error > 0), default=1e-6))
    return [max(error, floor) for error in errors]


def _reason(gain: GainCurve) -> str:
    twice, start = gain.forecast(2), gain.pays_from()
    ahead = f"{twice.value:+.4f} ({twice.low:+.4f} to {twice.high:+.4f}) is expected at {2 * gain.labels:,.0f}"
    now = f"at {gain.labels:,.0f} labels the gain is {gain.gains[-1]:+.4f} (standard error {gain.errors[-1]:.4f})"
    now = f"{now}; {ahead}"
    if start == gain.labels:
        return f"adapting pays already: {now}"
    if start is None:
        return f"adapting does not pay within {_FURTHEST:g} times the labels: {now}"
    return f"adapting is expected to pay from about {start:,.0f} labels on: {now}"
