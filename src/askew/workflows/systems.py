"""Systems: one fit for each way to search an index with two query encoders at hand, on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from askew.data import Dataset, Finding
from askew.errors import LabelError, ParameterError
from askew.estimators import Alignment, align, fused
from askew.estimators.align import own_alone
from askew.estimators.evidence import standard_error
from askew.formats import read_dataset
from askew.operators import Term, Zero
from askew.protocols import Progress
from askew.workflows.assess import MEASURES, depth_for
from askew.workflows.deliver import Delivery, check_places, read_splits, write_up
from askew.workflows.fit import Fit, fit
from askew.workflows.score import default_split
from askew.workflows.two_encoders import ALIGNED, COSTS, FUSED, OLD, TwoEncoders, read_two

__all__ = ["BETAS", "SystemFit", "Systems", "fit_systems", "priors_for"]

#: What the second encoder may count for in a fusion that labels choose.
BETAS = (0.1, 0.25, 0.5, 1.0)

#: From the cheapest.
_ORDER = (OLD, ALIGNED, FUSED)


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

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        plain = {name: value for name, value in self.__dict__.items() if name != "fit"}
        choice = self.fit.choice
        return {**plain, "verdict": choice.verdict.to_json(), "chosen": choice.chosen.to_json()}


@dataclass(frozen=True, eq=False)
class Systems:
    """Every system's fit, and which one to use.

    Attributes:
        fits: from the cheapest.
        recommended: name of the system to use.
        reason: a sentence.
        written: name of the one that was written.
        delivery: of that one.
        alignment: between the two encoders.
    """

    fits: tuple[SystemFit, ...]
    recommended: str
    reason: str
    written: str
    delivery: Delivery
    alignment: Alignment

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **self.delivery.to_json(),
            "systems": [one.to_json() for one in self.fits],
            "recommended": self.recommended,
            "recommendation": self.reason,
            "written": self.written,
            "alignment": self.alignment.to_json(),
        }


def fit_systems(
    folder: str | PathLike[str],
    output: str | PathLike[str],
    *,
    query_encoder: str,
    document_encoder: str,
    system: str | None = None,
    split: str | None = None,
    test_split: str | None = None,
    labels: int | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
    merge_duplicates: bool = False,
    also: Sequence[str | PathLike[str]] = (),
    report: str | PathLike[str] | None = None,
    measures: Sequence[str] = MEASURES,
    command: str = "askew.fit",
    seed: int = 0,
    named: Callable[[str], Progress] | None = None,
    **options: Any,
) -> Systems:
    """Fit every system that a folder has vectors for, say which one to use, and deliver it.

    The aligned system searches with the query encoder alone, its prior the alignment; the document encoder with its
    own queries has the identity; the fused one takes both vectors of a query, and its base is the document encoder
    alone. All are fitted and judged on the same queries and folds, so their cross-fitted scores can be compared. A
    dearer system is recommended where what it ships leads a cheaper one by more than one standard error.

    Args:
        folder: see `askew.formats.read_dataset`; some documents by both encoders.
        output: folder of the artefact.
        query_encoder: the encoder of queries.
        document_encoder: the encoder of the index.
        system: the one to write; the recommended one by default.
        split: where the labels are.
        test_split: where the test queries are.
        labels: take this many labelled queries.
        bad_rows: ``"raise"`` or ``"drop"``.
        merge_duplicates: give every copy of a judged document its judgements.
        also: folders that the adapter is not made for, with embeddings by the same encoders; see `fit`.
        report: the HTML file, or None for no report.
        measures: names that ir-measures knows; the first one leads.
        command: how to get this again, for the report.
        seed: of every hash.
        named: makes a progress callback for a piece of work.
        options: as `fit` takes them.

    Raises:
        AskewError: as the readers, `align`, `fit` and the writers do.
        ParameterError: the system to write is not one that can be fitted here.
        LabelError: no labelled query is embedded by every encoder in play.
    """
    check_places(Path(output), None if report is None else Path(report))
    depth_for(measures)
    task = read_two(
        folder,
        query_encoder=query_encoder,
        document_encoder=document_encoder,
        judged=False,
        bad_rows=bad_rows,
    )
    there = tuple(name for name in _ORDER if task.asked(name) is not None)
    if system is not None and system not in there:
        raise ParameterError(
            f"there is no system {system!r} to fit here", where="system", remedy=f"There: {', '.join(there) or 'none'}"
        )
    train, test, findings = read_splits(
        folder,
        split=split,
        test_split=test_split,
        labels=labels,
        encoder=query_encoder,
        document_encoder=document_encoder,
        bad_rows=bad_rows,
        merge_duplicates=merge_duplicates,
        seed=seed,
    )
    alignment = align(task.documents, task.index, seed=seed)
    pairs = {name: _asked(task, name, train, test, there) for name in there}
    encoders = {OLD: document_encoder, ALIGNED: query_encoder, FUSED: f"{document_encoder}+{query_encoder}"}
    fits = {
        name: fit(
            pairs[name][0],
            priors=priors_for(name, alignment),
            also=[_elsewhere(place, encoders[name], document_encoder, bad_rows) for place in also],
            seed=seed,
            progress=None if named is None else named(f"cross-fitting, {name}"),
            **options,
        )
        for name in there
    }
    standing = _standing(fits, encoders)
    recommended, reason = _recommended(standing)
    written = system or recommended
    told = Finding("systems", "note", _told(standing, reason), len(standing))
    delivery = write_up(
        fits[written],
        *pairs[written],
        output,
        report=report,
        measures=measures,
        seed=seed,
        findings=(*findings, told),
        command=command,
    )
    return Systems(standing, recommended, reason, written, delivery, alignment)


def priors_for(system: str, alignment: Alignment) -> dict[str, Term] | None:
    """The priors that a system chooses among, its base first; None for the identity.

    An alignment may mislead: with hundreds of labels, a correction of nothing can be the better one.
    """
    if system == OLD:
        return None
    if system == ALIGNED:
        return {"alignment": alignment.term, "zero": Zero(*alignment.map.shape)}
    return {"own": own_alone(alignment), **{f"fused {beta:g}": fused(alignment, beta) for beta in BETAS}}


def _asked(
    task: TwoEncoders, system: str, train: Dataset, test: Dataset | None, there: Sequence[str]
) -> tuple[Dataset, Dataset | None]:
    """Training and test queries as a system embeds them; those that another one lacks are left out of all."""
    sets = [task.asked(name) for name in there]
    queries = task.asked(system)
    parts: list[Dataset | None] = []
    for part in (train, test):
        common = (
            ()
            if part is None
            else [name for name in part.qrels.queries if all(held is not None and name in held for held in sets)]
        )
        parts.append(
            None if part is None or queries is None or not common else replace(part.only(common), queries=queries)
        )
    if parts[0] is None:
        raise LabelError(
            "no labelled query is embedded by both encoders",
            where=train.name,
            remedy="Embed the labelled queries with both, or remove the queries of one",
        )
    return parts[0], parts[1]


def _elsewhere(
    place: str | PathLike[str], encoder: str, document_encoder: str, bad_rows: Literal["raise", "drop"]
) -> Dataset:
    return read_dataset(
        place,
        split=default_split(place, None),
        encoder=encoder,
        document_encoder=document_encoder,
        bad_rows=bad_rows,
        texts=False,
    )


def _standing(fits: Mapping[str, Fit], encoders: Mapping[str, str]) -> tuple[SystemFit, ...]:
    first = next(iter(fits.values()))
    found = []
    for name, one in fits.items():
        gaps = _shipped_scores(one) - _shipped_scores(first)
        lead = _ships(one) - _ships(first)
        found.append(SystemFit(name, encoders[name], COSTS[name], one, _ships(one), lead, standard_error(gaps)))
    return tuple(found)


def _ships(one: Fit) -> float:
    """Nested cross-fitted mean of what the verdict ships."""
    verdict = one.choice.verdict
    return verdict.adapted if verdict.decision == "adapt" else verdict.base


def _shipped_scores(one: Fit) -> Any:
    """(n,) cross-fitted scores of what ships, in the order of the query ids."""
    choice = one.choice
    shipped = choice.chosen if choice.verdict.decision == "adapt" else choice.candidates[0]
    return choice.per_query(shipped)[np.argsort(choice.query_ids)]


def _recommended(standing: Sequence[SystemFit]) -> tuple[str, str]:
    """From the cheapest on, the next one where it leads by more than a standard error."""
    best = standing[0]
    if not best.fit.choice.verdict.queries:
        return best.system, "nothing could be measured: too few labelled queries, so the cheapest system stays"
    for one in standing[1:]:
        error = standard_error(_shipped_scores(one.fit) - _shipped_scores(best.fit))
        if one.ships - best.ships > error:
            best = one
    scores = ", ".join(f"{one.system} {one.ships:.4f}" for one in standing)
    why = "" if best is standing[0] else f", {best.lead:+.4f} (standard error {best.standard_error:.4f}) over the first"
    return best.system, f"cross-fitted nDCG@10 of what ships: {scores}; {best.system} is recommended{why}: {best.cost}"


def _told(standing: Sequence[SystemFit], reason: str) -> str:
    rows = "; ".join(
        f"{one.system} (queries by {one.needs}; {one.cost}): {one.fit.choice.verdict.decision}, "
        f"base {one.fit.choice.verdict.base:.4f}, ships {one.ships:.4f}"
        for one in standing
    )
    return f"systems over this index, on the same folds: {rows}. By what ships: {reason}"
