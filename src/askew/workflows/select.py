"""Select: one geometry for both sides or two, by operator risk and by ranking, at what rank, and how sure."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from askew._checks import check_progress, check_seed, listed
from askew.adapters.adapter import Similarity, check_similarity
from askew.data import Dataset, Finding, examine
from askew.errors import ParameterError
from askew.geometry import (
    FormChoice,
    RiskCurve,
    Selection,
    cars,
    choose_form,
    fold_loss,
    fold_separation,
    risk_curve,
)
from askew.geometry.growth import queries_for_curve
from askew.geometry.splits import Units
from askew.geometry.whitening import WhiteningKind
from askew.protocols import Progress
from askew.workflows.coordinates import Coordinates, ranks_to_judge, set_out, shared_documents
from askew.workflows.held_out import HeldOutRanking, rank_held_out
from askew.workflows.recommend import Evidence, Recommendation, form_json, recommend

__all__ = ["PARTS", "SELECTORS", "GeometryChoice", "Selector", "select_geometry"]

Selector = Literal["CARS", "operator loss", "separation", "nDCG@10"]

#: The rules: two by operator risk, then two by ranking; of each pair the first decides, and the second may doubt it.
SELECTORS: tuple[Selector, ...] = ("CARS", "operator loss", "nDCG@10", "separation")

#: Shares of the rows of a fit to untie, from shared to dual in quarters.
PARTS = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class GeometryChoice:
    """What a dataset's labels say about one geometry or two.

    Attributes:
        dataset: its name.
        queries: n that can teach.
        documents: m.
        dim: of both sides.
        coordinates: what the moment is judged in.
        by_document: whether splits keep documents apart too.
        ranks: K ranks.
        energy: ‖C‖² of the moment, the unit that operator risks can be read in.
        evidence: one a rule, K selections each.
        recommendations: one a target that a rule was asked for.
        curve: held-out operator risk against the number of queries.
        ranking: held-out nDCG@10; None if that rule was not asked for.
        form: rank and untied rows chosen together, by separation; None if no partly shared fits were asked for.
        findings: what is odd about the data.
    """

    dataset: str
    queries: int
    documents: int
    dim: int
    coordinates: str
    by_document: bool
    ranks: tuple[int, ...]
    energy: float
    evidence: tuple[Evidence, ...]
    recommendations: tuple[Recommendation, ...]
    curve: RiskCurve
    ranking: HeldOutRanking | None
    form: FormChoice | None
    findings: tuple[Finding, ...]

    def planned_crossing(self, rank: int) -> float | None:
        """n* = n · price / signal of CARS at one of the ranks: where dual should start to pay, to first order."""
        for found in self.evidence:
            if found.rule == "CARS":
                return found.at(rank).crossing
        return None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "dataset": self.dataset,
            "queries": self.queries,
            "documents": self.documents,
            "dim": self.dim,
            "coordinates": self.coordinates,
            "by_document": self.by_document,
            "ranks": list(self.ranks),
            "energy": self.energy,
            "recommendations": [found.to_json() for found in self.recommendations],
            "evidence": [found.to_json() for found in self.evidence],
            "ranking": None if self.ranking is None else self.ranking.to_json(),
            "form": None if self.form is None else form_json(self.form),
            "risk_by_queries": [
                {
                    "rank": rank,
                    "queries": self.curve.counts.round(1).tolist(),
                    "shared": self.curve.shared[:, place].tolist(),
                    "dual": self.curve.dual[:, place].tolist(),
                    "crossing": self.curve.crossing(place),
                }
                for place, rank in enumerate(self.ranks)
            ],
            "findings": [finding.to_json() for finding in self.findings],
        }


def select_geometry(
    dataset: Dataset,
    *,
    ranks: Sequence[int] | None = None,
    selectors: Sequence[Selector] = SELECTORS,
    whitening: WhiteningKind = "none",
    residual: bool = False,
    by_document: bool = False,
    partial: Sequence[float] = (),
    similarity: Similarity = "dot",
    splits: int = 20,
    folds: int = 5,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> GeometryChoice:
    """Judge shared against dual on the labelled queries of a dataset, at several ranks, for two targets.

    Operator risk asks which fit is nearer to the true relevance moment, ranking which one orders documents
    better as a correction of the base. A noisy dual fit can lose the first and win the second; and where the
    moment takes weight away, which an operator of its own cannot and a shared correction can, it is the other
    way round. Neither is a verdict on adapting at all: that is `fit`.

    Args:
        dataset: n labelled queries, in one dimension with their m documents.
        ranks: to try; by default powers of two from 4 to 128 that the data support.
        selectors: rules to ask, of `SELECTORS`.
        whitening: ``"none"``, ``"pooled"`` or ``"per-view"``.
        residual: judge corrections of the base, in place of operators that replace it.
        by_document: halves and folds that share no document.
        partial: shares of a fit's rows to untie, such as `PARTS`: choose among partly shared fits as well, by
            separation.
        similarity: as the index scores.
        splits: half-splits of CARS.
        folds: of the other rules.
        seed: of the hashes; nothing else is random.
        workers: threads; no result depends on it. As many as there are processors by default.
        progress: called with the steps done and to do.

    Raises:
        DimensionError: queries and documents differ in dimension.
        LabelError: fewer than five queries can teach (more with fewer than five folds), or documents cannot be kept
            apart.
        ParameterError: an argument is out of range or of another kind.

    >>> from askew.data import EmbeddingSet, Qrels
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(80, 4))
    >>> turned = x @ np.kron(np.eye(2), [[0.0, 1.0], [-1.0, 0.0]])
    >>> queries, documents = EmbeddingSet(range(80), x), EmbeddingSet(range(80), turned)
    >>> task = Dataset(queries, documents, Qrels({i: {i: 1} for i in range(80)}))
    >>> [(found.target, found.choice) for found in select_geometry(task, ranks=[4]).recommendations]
    [('operator risk', 'dual'), ('ranking', 'dual')]
    """
    _check(selectors)
    check_similarity(similarity)
    check_seed(seed)
    check_progress(progress)
    at = set_out(dataset, whitening=whitening, residual=residual, similarity=similarity, seed=seed)
    Units(at.rows, by_document=by_document, least=queries_for_curve(folds))  # refuses too few
    chosen = ranks_to_judge(at.rows, ranks, by_document=by_document)
    work = _Work(at, chosen, splits, folds, by_document, seed, workers or os.cpu_count() or 1)
    ranked: list[HeldOutRanking] = []
    rules: dict[Selector, Callable[[Progress | None], tuple[Selection, ...]]] = {
        "CARS": work.halves,
        "operator loss": work.loss,
        "nDCG@10": functools.partial(work.ranking, dataset, similarity, ranked),
        "separation": work.separation,
    }
    asked = [rule for rule in SELECTORS if rule in selectors]
    steps = _Steps(progress, (2 * splits if "CARS" in asked else 0) + len(asked) + 1 + bool(partial))
    evidence = tuple(Evidence(rule, steps.run(rules[rule])) for rule in asked)
    curve = steps.run(work.curve)
    ranking = ranked[0] if ranked else None
    form = steps.run(functools.partial(work.form, partial)) if partial else None
    best = _best_ranks(chosen, curve, ranking, lambda: form or work.form(()))
    return GeometryChoice(
        dataset=dataset.name,
        queries=len(at.rows),
        documents=len(dataset.documents),
        dim=at.rows.shape[0],
        coordinates=at.name,
        by_document=by_document,
        ranks=chosen,
        energy=float(np.sum(np.square(at.rows.moment()))),
        evidence=evidence,
        recommendations=recommend(evidence, best),
        curve=curve,
        ranking=ranking,
        form=form,
        findings=(
            *examine(dataset, similarity=similarity),
            *shared_documents(dataset, by_document=by_document),
            *_told(at),
        ),
    )


def _check(selectors: Sequence[str]) -> None:
    unknown = [rule for rule in listed(selectors) if rule not in SELECTORS]
    if unknown or not listed(selectors):
        raise ParameterError(
            f"there is no rule {unknown[0]!r}" if unknown else "no rule was asked for",
            where="selectors",
            remedy=f"Name some of {', '.join(SELECTORS)}",
        )


def _best_ranks(
    ranks: tuple[int, ...], curve: RiskCurve, ranking: HeldOutRanking | None, form: Callable[[], FormChoice]
) -> dict[str, int]:
    """The rank at which each target has its best fit of either family, the lower of equals."""
    risk = np.minimum(*curve.best)
    found = {"operator risk": ranks[int(np.argmin(risk))]}
    if ranking is None:
        found["ranking"] = form().whole.rank
    else:
        found["ranking"] = ranks[int(np.argmax(np.maximum(ranking.shared, ranking.dual)))]
    return found


def _told(at: Coordinates) -> tuple[Finding, ...]:
    """What a reader of the choice should know."""
    if at.whitening.kind != "per-view":
        return ()
    return (
        Finding(
            "two-whitenings",
            "warning",
            "each view was whitened by itself, so that one geometry in these coordinates is two in the raw ones",
            1,
            remedy="Whiten by pooled, unless this is what you mean",
        ),
    )


@dataclass(frozen=True)
class _Work:
    """The rules with their arguments, each a function of a progress callback."""

    at: Coordinates
    ranks: tuple[int, ...]
    splits: int
    folds: int
    by_document: bool
    seed: int
    workers: int

    def _common(self) -> dict[str, Any]:
        return {"ranks": self.ranks, "by_document": self.by_document, "seed": self.seed, "workers": self.workers}

    def _spread(self) -> dict[str, Any]:
        """How separation divides: in raw coordinates it needs documents."""
        raw = self.at.whitening.kind == "none"
        return {"whitened": not raw, "documents": self.at.documents if raw else None}

    def halves(self, progress: Progress | None) -> tuple[Selection, ...]:
        return cars(self.at.rows, splits=self.splits, progress=progress, **self._common())

    def loss(self, _: Progress | None) -> tuple[Selection, ...]:
        return fold_loss(self.at.rows, folds=self.folds, **self._common())

    def separation(self, _: Progress | None) -> tuple[Selection, ...]:
        return fold_separation(self.at.correcting(self.at.rows), folds=self.folds, **self._spread(), **self._common())

    def ranking(
        self, dataset: Dataset, similarity: Similarity, means: list[HeldOutRanking], _: Progress | None
    ) -> tuple[Selection, ...]:
        found, ranked = rank_held_out(dataset, self.at, similarity=similarity, folds=self.folds, **self._common())
        means.append(ranked)
        return found

    def curve(self, _: Progress | None) -> RiskCurve:
        return risk_curve(self.at.rows, folds=self.folds, **self._common())

    def form(self, fractions: Sequence[float], _: Progress | None = None) -> FormChoice:
        rows = self.at.correcting(self.at.rows)
        return choose_form(rows, fractions=fractions, folds=self.folds, **self._spread(), **self._common())


class _Steps:
    """One count of steps over several pieces of work."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def run(self, work: Callable[[Progress | None], Any]) -> Any:
        """Do a piece of work, which counts for one step more than it reports."""
        inside = 0

        def report(done: int, _: int) -> None:
            nonlocal inside
            inside = done
            self._tell(self._done + done)

        found = work(report)
        self._done += inside + 1
        self._tell(self._done)
        return found

    def _tell(self, done: int) -> None:
        if self._progress is not None:
            self._progress(done, self._total)
