"""Weigh: how the systems over one index stand, by cross-fitting and on test queries, and which one to use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from askew import report
from askew.data import Dataset
from askew.estimators import Candidate
from askew.estimators.evidence import standard_error
from askew.linalg.fixed import Float64Array
from askew.workflows.assess import MEASURES, base_of
from askew.workflows.compare import SystemComparison, compare_systems
from askew.workflows.fit import Fit
from askew.workflows.two_encoders import ALIGNED, COSTS, FUSED, OLD

__all__ = ["SystemFit", "recommend", "recorded", "try_systems", "weigh"]

_SURE = 2.0


@dataclass(frozen=True, eq=False)
class SystemFit:
    """One system, fitted.

    Attributes:
        system: ``"document encoder"``, ``"aligned"`` or ``"fused"``.
        needs: the encoders of a query.
        cost: what it costs, in words.
        fit: what was fitted.
        ships: cross-fitted mean nDCG@10 of what its verdict ships.
        lead: that, less the cheapest system's.
        standard_error: of the lead, over queries.
    """

    system: str
    needs: str
    cost: str
    fit: Fit
    ships: float
    lead: float
    standard_error: float

    @property
    def shipped(self) -> Candidate:
        """What its verdict ships: the candidate that was chosen, or its base."""
        choice = self.fit.choice
        return choice.chosen if choice.verdict.decision == "adapt" else choice.candidates[0]

    @property
    def scores(self) -> Float64Array:
        """(n,) cross-fitted scores of what ships, in the order of the query ids."""
        choice = self.fit.choice
        return np.asarray(choice.per_query(self.shipped)[np.argsort(choice.query_ids)])

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: value for name, value in self.__dict__.items() if name != "fit"}
        choice = self.fit.choice
        told = {"verdict": choice.verdict.to_json(), "chosen": choice.chosen.to_json()}
        return {**plain, **told, "shipped": str(self.shipped)}


def weigh(fits: Mapping[str, Fit], encoders: Mapping[str, str]) -> tuple[SystemFit, ...]:
    """Every system beside the cheapest, by cross-fitted scores on the same queries.

    Args:
        fits: system → fit, from the cheapest.
        encoders: system → the encoders of a query.
    """
    alone = [SystemFit(name, encoders[name], COSTS[name], one, _ships(one), 0.0, 0.0) for name, one in fits.items()]
    first = alone[0]
    return (
        first,
        *(
            replace(one, lead=one.ships - first.ships, standard_error=standard_error(one.scores - first.scores))
            for one in alone[1:]
        ),
    )


def _ships(one: Fit) -> float:
    """Nested cross-fitted mean of what the verdict ships."""
    verdict = one.choice.verdict
    return verdict.adapted if verdict.decision == "adapt" else verdict.base


def recommend(standing: Sequence[SystemFit]) -> tuple[SystemFit, str]:
    """From the cheapest on, the next one where it leads by more than two standard errors; and why, in a sentence.

    One would do where nothing is lost by a wrong choice; here a second encoder is paid for with every query.
    """
    best = standing[0]
    if not best.fit.choice.verdict.queries:
        return best, "nothing could be measured: too few labelled queries, so the cheapest system stays"
    for one in standing[1:]:
        if one.ships - best.ships > _SURE * standard_error(one.scores - best.scores):
            best = one
    scores = ", ".join(f"{one.system} {one.ships:.4f}" for one in standing)
    why = "" if best is standing[0] else f", {best.lead:+.4f} (standard error {best.standard_error:.4f}) over the first"
    told = f"cross-fitted nDCG@10 of what ships: {scores}; {best.system} is recommended{why}: {best.cost}"
    return best, f"{told}{_lacking(standing)}"


def _lacking(standing: Sequence[SystemFit]) -> str:
    """What there is nothing to compare with, in words."""
    if any(one.system == OLD for one in standing):
        return ""
    return ". There are no queries by the index's own encoder to compare it with: embed them too before you decide"


def try_systems(
    standing: Sequence[SystemFit],
    tests: Mapping[str, Dataset],
    *,
    measures: Sequence[str] = MEASURES,
    seed: int = 0,
) -> SystemComparison | None:
    """What each system ships, on test queries, against the cheapest one's base; None without test queries.

    Args:
        standing: the systems, from the cheapest.
        tests: system → the test queries as it embeds them.
        measures: names that ir-measures knows; the first one is taken.
        seed: of the resampling.
    """
    first = standing[0]
    if first.system not in tests:
        return None
    reference = f"{first.system} alone"
    return compare_systems(
        tests[first.system],
        {reference: base_of(first.fit.candidate), **{one.system: one.fit.adapter for one in standing}},
        queries={one.system: tests[one.system].queries for one in standing},
        measures=measures[:1],
        seed=seed,
    )


def recorded(
    standing: Sequence[SystemFit], recommended: SystemFit, written: str, tests: SystemComparison | None
) -> report.Systems:
    """The systems as the report holds them.

    Args:
        standing: the systems, from the cheapest.
        recommended: one of them.
        written: name of the one that is written.
        tests: as `try_systems` gives them.
    """
    rows = tuple(
        _row(one, first=one is standing[0], recommended=one is recommended, written=one.system == written)
        for one in standing
    )
    sentence = _sentence(standing, recommended, written)
    if tests is None:
        return report.Systems(rows=rows, sentence=sentence)
    return report.Systems(
        rows=rows,
        sentence=sentence,
        tests=tuple(row for documents, _ in tests.evaluations for row in _tests(tests, documents)),
        tested_by=tests.standings[0].comparison.measure,
        confidence=tests.standings[0].comparison.confidence,
    )


def _row(one: SystemFit, *, first: bool, recommended: bool, written: bool) -> report.SearchSystem:
    verdict = one.fit.choice.verdict
    measured = verdict.queries > 0
    return report.SearchSystem(
        name=one.system,
        needs=one.needs.replace("+", " + ") if one.system == FUSED else one.needs,
        cost=one.cost,
        decision=verdict.decision,
        shipped=str(one.shipped),
        vectors=2 if one.system == FUSED else 1,
        maps=one.system == ALIGNED,
        base=verdict.base if measured else None,
        ships=one.ships if measured else None,
        lead=one.lead if measured and not first else None,
        standard_error=one.standard_error if measured and not first else None,
        recommended=recommended,
        written=written,
    )


def _sentence(standing: Sequence[SystemFit], best: SystemFit, written: str) -> str:
    first, name = standing[0], f"{best.system[:1].upper()}{best.system[1:]}"
    if not best.fit.choice.verdict.queries:
        told = f"{name} is recommended: too few labelled queries to measure anything, so the cheapest system stays."
    elif len(standing) == 1:
        told = f"{name} is the only system that there are vectors for."
    elif best is first:
        told = f"{name} is recommended, the cheapest: no other leads it by more than two standard errors."
    else:
        lead = f"{best.lead:+.4f} nDCG@10 (standard error {best.standard_error:.4f})"
        told = f"{name} is recommended: what it ships leads {first.system} by {lead}, cross-fitted."
    other = "" if written == best.system else f" What was written is {written}, as asked for."
    return f"{told} It costs {best.cost}{_lacking(standing)}.{other}"


def _tests(tests: SystemComparison, documents: str) -> list[report.SystemTest]:
    rows = [one.comparison for one in tests.standings if one.documents == documents]
    reference = report.SystemTest(name=rows[0].base_name, documents=documents, n=rows[0].n, mean=rows[0].base_mean)
    found = [
        report.SystemTest(
            name=row.other_name,
            documents=documents,
            n=row.n,
            mean=row.other_mean,
            difference=row.difference,
            low=row.low if math.isfinite(row.low) else None,
            high=row.high if math.isfinite(row.high) else None,
        )
        for row in rows
    ]
    return [reference, *found]
