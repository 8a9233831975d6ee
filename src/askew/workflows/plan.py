"""Plan: how many more labels it takes, until two geometries pay and until adapting itself does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew._checks import check_progress, check_seed, is_number
from askew.adapters.adapter import Similarity, check_similarity
from askew.data import Dataset, Finding, TwoWayFolds, examine
from askew.errors import LabelError, ParameterError
from askew.estimators import Labels, Ridge, has_shared
from askew.geometry import Plan, plan
from askew.geometry.whitening import WhiteningKind
from askew.protocols import Progress
from askew.workflows.coordinates import ranks_to_judge, set_out, shared_documents
from askew.workflows.footing import prior_of, rank_score
from askew.workflows.learning import GainCurve, gain_curve

__all__ = ["LabelPlan", "plan_labels"]

# One strength a decade: choosing among few costs little gain, and the shape of a curve less.
_STRENGTHS = (0.01, 0.1, 1.0, 10.0)


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
        note: a sentence on which estimator the curve is of, and why that of `fit` may be another; empty without one.
        findings: what is odd about the data.
    """

    dataset: str
    queries: int
    documents: int
    coordinates: str
    plans: tuple[Plan, ...]
    gain: GainCurve | None
    reason: str
    note: str
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values; an end of an interval that is infinite is None."""
        return {
            "dataset": self.dataset,
            "queries": self.queries,
            "documents": self.documents,
            "coordinates": self.coordinates,
            "plans": [{**found.__dict__, "interval": _ends(found.interval)} for found in self.plans],
            "gain": None if self.gain is None else self.gain.to_json(),
            "reason": self.reason,
            "note": self.note,
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

    The second is a learning curve of the real thing, for fresh traffic: ridge regression to the prior, shared and
    dual, on an eighth, a quarter, a half and all of the labels (`gain_curve`). `fit` tries other estimators too and
    may choose one; the curve in its report is of the one chosen, and can be higher or lower. Every point rests on all
    queries. The points share them, so their errors are not independent, and the forecast's interval is rather too wide
    than too narrow.

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
        ParameterError: an argument is out of range or of another kind.
    """
    check_similarity(similarity)
    check_seed(seed)
    check_progress(progress)
    if not is_number(threshold) or not 0 <= threshold < float("inf"):
        raise ParameterError(
            f"the threshold is {threshold!r}", where="threshold", remedy="Give a finite number, 0 or more"
        )
    threads = workers or os.cpu_count() or 1
    at = set_out(dataset, whitening=whitening, residual=residual, similarity=similarity, seed=seed)
    chosen = ranks_to_judge(at.rows, ranks, by_document=by_document)
    total = 4 * splits  # half-splits are about half of the work, the curve the other half
    plans = plan(
        at.rows,
        ranks=chosen,
        splits=splits,
        by_document=by_document,
        seed=seed,
        workers=threads,
        progress=_within(progress, 0, total),
    )
    ahead = _within(progress, total // 2, total)
    gain, reason = _gain(dataset, at.raw.ids, similarity, folds, threshold, seed, threads, ahead)
    return LabelPlan(
        dataset.name,
        len(at.rows),
        len(dataset.documents),
        at.name,
        plans,
        gain,
        reason,
        "" if gain is None else _note(gain),
        (*examine(dataset, similarity=similarity), *shared_documents(dataset, by_document=by_document)),
    )


def _note(gain: GainCurve) -> str:
    return (
        f"The curve is of {gain.fitted} alone, which is quick to fit; fit may choose another estimator, and its report "
        "shows the curve of that one"
    )


def _ends(interval: tuple[float, float] | None) -> list[float | None] | None:
    return None if interval is None else [end if np.isfinite(end) else None for end in interval]


def _within(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of a piece of work that is half of the whole, from some number of steps on."""
    if progress is None:
        return None
    told: Progress = progress

    def report(done: int, of: int) -> None:
        told(before + done * (total // 2) // of, total)

    return report


def _gain(
    dataset: Dataset,
    query_ids: Sequence[str],
    similarity: Similarity,
    folds: int,
    threshold: float,
    seed: int,
    workers: int,
    progress: Progress | None,
) -> tuple[GainCurve | None, str]:
    """The learning curve of ridge regression, or None; and a sentence."""
    part = dataset.only(query_ids)
    prior = prior_of(part)
    two_way = TwoWayFolds.build(part, count=folds, seed=seed)
    labels = Labels.build(part, two_way, prior=prior, similarity=similarity, seed=seed)
    dual = Ridge("dual", _STRENGTHS)
    try:
        found = gain_curve(
            labels,
            prior=prior,
            estimators=(dual, Ridge("shared", _STRENGTHS)) if has_shared(prior) else (dual,),
            rank_score=rank_score(part, labels.query_ids, similarity=similarity),
            threshold=threshold,
            seed=seed,
            workers=workers,
            progress=progress,
        )
    except LabelError as error:
        return None, f"{error.problem}: {error.remedy[:1].lower()}{error.remedy[1:]}" if error.remedy else error.problem
    return found, found.reason
