"""Systems: one fit for each way to search an index with two query encoders at hand, on the same folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from askew.data import Dataset
from askew.errors import LabelError, ParameterError
from askew.estimators import Alignment, align, fused
from askew.estimators.align import own_alone
from askew.formats import load_adapter, read_dataset
from askew.operators import Term, Zero
from askew.protocols import Progress
from askew.workflows.assess import MEASURES, depth_for
from askew.workflows.compare import SystemComparison
from askew.workflows.deliver import Delivery, check_places, read_splits, write_up
from askew.workflows.fit import fit
from askew.workflows.score import default_split
from askew.workflows.trial import InService, in_service
from askew.workflows.two_encoders import ALIGNED, FUSED, OLD, TwoEncoders, read_two
from askew.workflows.weigh import SystemFit, recommend, recorded, try_systems, weigh

__all__ = ["BETAS", "Systems", "fit_systems", "priors_for", "threshold_for"]

#: What the second encoder may count for in a fusion that labels choose.
BETAS = (0.1, 0.25, 0.5, 1.0)

#: From the cheapest.
_ORDER = (OLD, ALIGNED, FUSED)


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
        tests: what each ships on test queries, against the cheapest one's base; None without any.
    """

    fits: tuple[SystemFit, ...]
    recommended: str
    reason: str
    written: str
    delivery: Delivery
    alignment: Alignment
    tests: SystemComparison | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            **self.delivery.to_json(),
            "systems": [one.to_json() for one in self.fits],
            "system_tests": None if self.tests is None else [one.to_json() for one in self.tests.standings],
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
    against: str | PathLike[str] | None = None,
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
    dearer system is recommended where what it ships leads a cheaper one by more than two standard errors.

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
        against: the adapter in service, of any of the systems, to compare what is written with; see `in_service`.
        report: the HTML file, or None for no report.
        measures: names that ir-measures knows; the first one leads.
        command: how to get this again, for the report.
        seed: of every hash.
        named: makes a progress callback for a piece of work.
        options: as `fit` takes them; the threshold of the aligned system is None unless it is given.

    Raises:
        AskewError: as the readers, `align`, `in_service`, `fit` and the writers do.
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
    pairs = {name: _asked(task, name, train, test, there) for name in there}
    encoders = {OLD: document_encoder, ALIGNED: query_encoder, FUSED: f"{document_encoder}+{query_encoder}"}
    old = None if against is None else _in_service(against, pairs, encoders)
    alignment = align(task.documents, task.index, seed=seed)
    fits = {
        name: fit(
            pairs[name][0],
            priors=priors_for(name, alignment),
            also=[_elsewhere(place, encoders[name], document_encoder, bad_rows) for place in also],
            seed=seed,
            progress=None if named is None else named(f"cross-fitting, {name}"),
            **{"threshold": threshold_for(name), **options},
        )
        for name in there
    }
    standing = weigh(fits, encoders)
    best, reason = recommend(standing)
    written = system or best.system
    held = {name: part for name, (_, part) in pairs.items() if part is not None}
    tests = try_systems(standing, held, measures=measures, seed=seed)
    delivery = write_up(
        fits[written],
        *pairs[written],
        output,
        report=report,
        against=old,
        measures=measures,
        seed=seed,
        findings=findings,
        command=command,
        systems=recorded(standing, best, written, tests),
    )
    return Systems(standing, best.system, reason, written, delivery, alignment, tests)


def threshold_for(system: str) -> float | None:
    """Standard errors that a gain has to exceed.

    What is in use is protected: the gain has to be above zero by one. An alignment serves nobody yet: it is one of the
    candidates, and what is chosen ships.
    """
    return None if system == ALIGNED else 1.0


def priors_for(system: str, alignment: Alignment) -> dict[str, Term] | None:
    """The priors that a system chooses among, its base first; None for the identity.

    An alignment may mislead: with hundreds of labels, a correction of nothing can be the better one.

    Args:
        system: which.
        alignment: of the two encoders.
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


def _in_service(
    path: str | PathLike[str], pairs: Mapping[str, tuple[Dataset, Dataset | None]], encoders: Mapping[str, str]
) -> InService:
    """The adapter in service, with the queries that it takes."""
    made_for = load_adapter(path).provenance.query_encoder
    system = next((name for name in pairs if encoders[name] == made_for), None)
    if system is None and made_for is not None:
        raise ParameterError(
            f"it takes queries by {made_for!r}, and none of the systems here does",
            where=path,
            remedy=f"Name an adapter for queries by {', '.join(encoders[name] for name in pairs)}",
        )
    return in_service(path, *pairs[system or next(iter(pairs))])


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
