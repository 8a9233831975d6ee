"""Trial: what test queries say of a fit. It is reported, and changes nothing that is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from askew.adapters import Adapter
from askew.data import Dataset, EmbeddingSet, Finding, examine
from askew.errors import LabelError, ParameterError
from askew.evaluation import Comparison
from askew.formats import load_adapter
from askew.workflows.assess import MEASURES, Assessment, Parts, assess_parts, remembered, trained_on
from askew.workflows.compare import SystemComparison, compare_systems
from askew.workflows.fit import Fit
from askew.workflows.nearest import assess_nearest
from askew.workflows.recognise import recognising

__all__ = ["InService", "Trial", "in_service", "try_out"]

#: What the new adapter is called beside the one in service.
_NEW = "candidate"


@dataclass(frozen=True, eq=False)
class InService:
    """The adapter that a new one is compared with.

    Attributes:
        name: what to call it.
        adapter: it.
        queries: what it searches with.
    """

    name: str
    adapter: Adapter
    queries: EmbeddingSet


@dataclass(frozen=True, eq=False)
class Trial:
    """The chosen candidate, whatever the verdict, on test queries.

    Attributes:
        parts: against its base, as `assess_parts` gives them; empty without test queries.
        nearest: the base against the nearest past query; None for fresh traffic.
        against: the adapter in service against the candidate, on queries that neither was fitted on; None
            unless there is one.
        findings: what is odd about the test queries.
    """

    parts: Parts = ()
    nearest: Assessment | None = None
    against: SystemComparison | None = None
    findings: tuple[Finding, ...] = ()

    @property
    def comparisons(self) -> tuple[tuple[str, Comparison], ...]:
        """Over which documents, and base against adapted."""
        return tuple((documents, row) for documents, part in self.parts for row in part.comparisons)

    @property
    def others(self) -> tuple[tuple[str, Comparison], ...]:
        """Over which documents, and comparisons of other systems under their own names."""
        nearest = () if self.nearest is None else self.nearest.comparisons
        against = () if self.against is None else self.against.standings
        return (*(("all", row) for row in nearest), *((row.documents, row.comparison) for row in against))

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        nearest = None if self.nearest is None else [_row("all", row) for row in self.nearest.comparisons]
        return {
            "tests": [_row(documents, row) for documents, row in self.comparisons],
            "nearest_past_query": nearest,
            "against": None if self.against is None else self.against.to_json(),
        }


def _row(documents: str, comparison: Comparison) -> dict[str, Any]:
    return {"documents": documents, **comparison.to_json()}


def try_out(
    fitted: Fit,
    test: Dataset | None,
    *,
    against: InService | None = None,
    measures: Sequence[str] = MEASURES,
    seed: int = 0,
) -> Trial:
    """Try a fit's candidate out on test queries.

    Args:
        fitted: the fit.
        test: judged queries over the corpus of its training, or None.
        against: the adapter in service; see `in_service`.
        measures: names that ir-measures knows; the first one leads.
        seed: of the resampling.

    Raises:
        AskewError: as `assess_parts` and `compare_systems` do.
    """
    if test is None:
        return Trial()
    new = fitted.candidate
    nearest = refit = None
    if fitted.nearest is not None:
        nearest = assess_nearest(fitted.nearest, test, new, measures=measures, seed=seed)
    if against is not None:
        pair = {against.name: against.adapter, _NEW: new}
        refit = compare_systems(test, pair, queries={against.name: against.queries}, measures=measures, seed=seed)
    unknown = [finding for finding in (refit.findings if refit else ()) if finding.code == "unknown-training"]
    return Trial(
        assess_parts(test, new, new.provenance.seen, measures=measures, seed=seed),
        nearest,
        refit,
        (*_missing(test), *trained_on(test, remembered(new)), *unknown),
    )


def in_service(path: str | PathLike[str], train: Dataset, test: Dataset | None) -> InService:
    """Load the adapter that a new one is to be compared with, and refuse what could not be compared.

    Args:
        path: its folder.
        train: what the new one will be fitted on.
        test: what both will be tried out on.

    Returns:
        It, and the queries of its tests.

    Raises:
        ParameterError: there are no test queries.
        ArtefactError: it cannot be loaded, or was made for other vectors.
        LabelError: every test query is a training query of one of the two.
    """
    if test is None:
        raise ParameterError(
            "there are no test queries to compare it on",
            where=path,
            remedy="Name a --test-split, or fit on some --labels of the split, which leaves the others to test on",
        )
    old = recognising(load_adapter(path), train)
    seen = remembered(old)
    labelled = set(train.labelled)
    if all(query in labelled or (seen is not None and seen.knows_query(query)) for query in test.qrels.queries):
        raise LabelError(
            f"it or the new fit has each of the {len(test.qrels):,} test queries among its training queries",
            where=path,
            remedy="Name a --test-split that neither was fitted on",
        )
    return InService(str(path), old, test.queries)


def _missing(test: Dataset) -> list[Finding]:
    """What the test queries lack; of training and of the vectors, `fit` has said it."""
    return [
        replace(finding, code=f"test-{finding.code}", message=f"among the test queries, {finding.message}")
        for finding in examine(test)
        if finding.code in ("missing-queries", "missing-documents", "no-relevant")
    ]
