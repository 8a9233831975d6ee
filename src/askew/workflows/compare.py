"""Compare: two or more adapters, runs or the base on the same judged queries, the first as the reference."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from askew.adapters import Adapter, Seen
from askew.adapters.adapter import Similarity
from askew.data import Dataset, EmbeddingSet, Finding, Qrels, Run, examine
from askew.errors import (
    DimensionError,
    EncoderMismatchError,
    FormatError,
    LabelError,
    ParameterError,
    counted,
)
from askew.evaluation import Comparison, Evaluation, compare, evaluate, holm
from askew.formats import load_adapter, read_dataset, read_run, read_split
from askew.workflows.assess import MEASURES, cut, depth_for, remembered, residual, search_judged
from askew.workflows.recognise import recognising
from askew.workflows.score import default_split

__all__ = ["BASE", "Standing", "System", "SystemComparison", "compare_folder", "compare_systems"]

#: The word that stands for searching without an adapter.
BASE = "base"
#: An adapter, a run, or None for the base.
System = Adapter | Run | None


@dataclass(frozen=True)
class Standing:
    """One system against the reference, over some documents.

    Attributes:
        documents: ``"all"`` or ``"unseen"``.
        comparison: by one measure.
        p_holm: p-value corrected for all comparisons of the leading measure; None for other measures.
    """

    documents: str
    comparison: Comparison
    p_holm: float | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"documents": self.documents, **self.comparison.to_json(), "p_holm": self.p_holm}


@dataclass(frozen=True, eq=False)
class SystemComparison:
    """How systems stand, on the same queries.

    Attributes:
        names: of the s systems, the reference first.
        evaluations: which documents, and s evaluations over them.
        standings: every other system against the reference, by documents and measure.
        left_out: judged queries that a compared adapter was fitted on, if these were left out.
        findings: what is odd about the data.
    """

    names: tuple[str, ...]
    evaluations: tuple[tuple[str, tuple[Evaluation, ...]], ...]
    standings: tuple[Standing, ...]
    left_out: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def queries(self) -> int:
        """How many queries are counted over all documents."""
        return len(self.evaluations[0][1][0].queries)

    def to_json(self) -> dict[str, Any]:
        """As plain values, every query included."""
        return {
            "reference": self.names[0],
            "systems": list(self.names),
            "queries": self.queries,
            "left_out": list(self.left_out),
            "evaluations": [
                {"documents": documents, **evaluation.to_json()}
                for documents, held in self.evaluations
                for evaluation in held
            ],
            "comparisons": [standing.to_json() for standing in self.standings],
            "findings": [finding.to_json() for finding in self.findings],
        }


def compare_systems(
    task: Dataset | Qrels,
    systems: Mapping[str, System],
    *,
    queries: Mapping[str, EmbeddingSet] | None = None,
    measures: Sequence[str] = MEASURES,
    similarity: Similarity | None = None,
    fresh: bool = True,
    seed: int = 0,
) -> SystemComparison:
    """Compare every system with the first, paired by query.

    Beside all documents there are the unseen ones, if an adapter tells what it was fitted on: documents
    that were relevant to a training query of any compared adapter leave runs, judgements and ideal, for all
    systems alike. (A run that was given is not searched again: it gets shorter by them.)

    Args:
        task: n judged queries, with embeddings unless every system is a run.
        systems: name → adapter, run, or None for the base; the first is the reference.
        queries: name → embeddings, of a system that searches with others than the task's.
        measures: names that ir-measures knows; the first one leads.
        similarity: of the base, and instead of the adapters' own.
        fresh: leave out queries that a compared adapter was fitted on.
        seed: of the resampling.

    Raises:
        ParameterError: fewer than two systems, or a base or adapter without embeddings.
        LabelError: no query is left.
        EncoderMismatchError: an adapter was made for other vectors.
        MatchError: a run and the judgements have no query in common.

    >>> qrels = Qrels({"q1": {"a": 1}, "q2": {"b": 1}})
    >>> good, bad = Run({"q1": {"a": 2.0}, "q2": {"b": 2.0}}), Run({"q1": {"c": 1.0}, "q2": {"b": 1.0}})
    >>> compare_systems(qrels, {"bad": bad, "good": good}, measures=["RR"]).standings[0].comparison.difference
    0.5
    """
    if len(systems) < 2:
        raise ParameterError(
            f"there {'is one system' if systems else 'is no system'}", remedy="Name two or more to compare"
        )
    if isinstance(task, Qrels) and not all(isinstance(system, Run) for system in systems.values()):
        raise ParameterError("a base or an adapter needs embeddings to search with", remedy="Give a Dataset")
    past = [seen for system in systems.values() if (seen := _memory(system)) is not None]
    task, left_out = _without_training(task, past if fresh else [])
    parts: list[tuple[str, tuple[Evaluation, ...]]] = [
        ("all", _evaluations(task, systems, queries or {}, measures, similarity, frozenset()))
    ]
    if past and isinstance(task, Dataset):
        known = frozenset().union(*(seen.split_documents(task.documents.ids)[0] for seen in past))
        unseen = residual(task, known)
        if unseen is not None:
            parts.append(("unseen", _evaluations(unseen, systems, queries or {}, measures, similarity, known)))
    return SystemComparison(
        tuple(systems),
        tuple(parts),
        _standings(parts, seed),
        left_out,
        (*_unknown(systems), *_odd(task, parts[0][1], similarity or _common(systems))),
    )


def compare_folder(
    folder: str | PathLike[str],
    systems: Sequence[str | PathLike[str]],
    *,
    split: str | None = None,
    encoder: str | None = None,
    document_encoder: str | None = None,
    measures: Sequence[str] = MEASURES,
    similarity: Similarity | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
    fresh: bool = True,
    seed: int = 0,
) -> tuple[str, SystemComparison]:
    """Compare artefacts, TREC runs and the base on a folder's judgements.

    Args:
        folder: see `askew.formats.read_dataset`; needs no embeddings if every system is a run.
        systems: folders of adapters, files of runs, or the word ``"base"`` (`./base` is a path).
        split: whose judgements; by default ``test``, else ``train``, else the only one there is.
        encoder: of queries and documents.
        document_encoder: of documents, if another.
        measures: names that ir-measures knows; the first one leads.
        similarity: of the base, and instead of the adapters' own.
        bad_rows: ``"raise"`` or ``"drop"``.
        fresh: leave out queries that a compared adapter was fitted on.
        seed: of the resampling.

    Returns:
        The split, and how the systems stand.

    Raises:
        AskewError: as the readers and `compare_systems` do.
        ParameterError: a system is named twice, or adapters take queries of different encoders.
    """
    names = [str(system) for system in systems]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ParameterError(f"the system {twice!r} is named twice", remedy="Name each one once")
    held = {name: _read_system(name) for name in names}
    depth_for(measures)  # an unknown one is refused before anything is searched
    split = default_split(folder, split)
    task: Dataset | Qrels
    if all(isinstance(system, Run) for system in held.values()):
        task = read_split(folder, split)
    else:
        task = read_dataset(
            folder, split=split, encoder=encoder, document_encoder=document_encoder, bad_rows=bad_rows, texts=False
        )
        held = _recognised(held, task, folder)
    return str(split), compare_systems(task, held, measures=measures, similarity=similarity, fresh=fresh, seed=seed)


def _read_system(name: str) -> System:
    if name == BASE:
        return None
    path = Path(name)
    if os.path.isdir(path):  # noqa: PTH112 - False for a name too long, no error
        return load_adapter(path)
    if os.path.isfile(path):  # noqa: PTH113 - the same
        return read_run(path)
    raise FormatError(
        "there is no such adapter or run", where=name, remedy=f"Name an adapter's folder, a TREC run, or {BASE!r}"
    )


def _recognised(systems: Mapping[str, System], task: Dataset, folder: str | PathLike[str]) -> dict[str, System]:
    """The systems, each adapter checked against the task's vectors."""
    taken = {
        name: (one.provenance.query_encoder, one.operator.shape[0])
        for name, one in systems.items()
        if isinstance(one, Adapter)
    }
    try:
        return {
            name: recognising(one, task, folder) if isinstance(one, Adapter) else one for name, one in systems.items()
        }
    except (DimensionError, EncoderMismatchError) as error:
        if len(set(taken.values())) < 2:
            raise
        told = "; ".join(
            f"{name}: {repr(encoder) if encoder else 'an unnamed encoder'}, {counted(width, 'dimension')}"
            for name, (encoder, width) in taken.items()
        )
        raise ParameterError(
            f"the adapters take queries of different encoders ({told}), and the queries here are of one: "
            f"{task.queries.encoder or 'unnamed'}, {counted(task.queries.dim, 'dimension')}",
            where=folder,
            remedy="Compare adapters of one query encoder; the report of 'askew fit --query-encoder A "
            "--document-encoder B' compares the systems of two",
        ) from error


def _memory(system: System) -> Seen | None:
    return remembered(system) if isinstance(system, Adapter) else None


def _without_training(task: Dataset | Qrels, past: Sequence[Seen]) -> tuple[Dataset | Qrels, tuple[str, ...]]:
    qrels = task.qrels if isinstance(task, Dataset) else task
    known = {query for query in qrels.queries if any(seen.knows_query(query) for seen in past)}
    if not known:
        return task, ()
    kept = qrels.only(query for query in qrels.queries if query not in known)
    if not len(kept):
        raise LabelError(
            f"a compared adapter was fitted on each of the {len(qrels):,} judged queries",
            remedy="Name another split, or take --no-fresh (fresh=False) to compare what they remember",
        )
    left_out = tuple(query for query in qrels.queries if query in known)
    return (replace(task, qrels=kept) if isinstance(task, Dataset) else kept), left_out


def _evaluations(
    task: Dataset | Qrels,
    systems: Mapping[str, System],
    queries: Mapping[str, EmbeddingSet],
    measures: Sequence[str],
    similarity: Similarity | None,
    without: frozenset[str],
) -> tuple[Evaluation, ...]:
    depth, qrels = depth_for(measures), task.qrels if isinstance(task, Dataset) else task
    found = []
    for name, system in systems.items():
        if isinstance(system, Run):
            run = cut(system, None, dict.fromkeys(system.queries, without))
            run.name = name
        else:
            assert isinstance(task, Dataset)  # noqa: S101 - refused before
            scored = similarity or (system.similarity if system is not None else _common(systems))
            asked = replace(task, queries=queries[name]) if name in queries else task
            run = search_judged(asked, system, name=name, depth=depth, similarity=scored, without=without)
        found.append(evaluate(run, qrels, measures))
    return tuple(found)


def _common(systems: Mapping[str, System]) -> Similarity:
    """What the base is scored by unless told: as the adapters beside it, if they agree."""
    kinds = {system.similarity for system in systems.values() if isinstance(system, Adapter)}
    return kinds.pop() if len(kinds) == 1 else "dot"


def _standings(parts: Sequence[tuple[str, tuple[Evaluation, ...]]], seed: int) -> tuple[Standing, ...]:
    rows = [
        (documents, compare(held[0], other, measure, seed=seed))
        for documents, held in parts
        for measure in held[0].values
        for other in held[1:]
    ]
    leading = rows[0][1].measure
    corrected = iter(holm([row.p_value for _, row in rows if row.measure == leading]).tolist())
    return tuple(
        Standing(documents, row, next(corrected) if row.measure == leading else None) for documents, row in rows
    )


def _unknown(systems: Mapping[str, System]) -> list[Finding]:
    names = [
        name
        for name, system in systems.items()
        if isinstance(system, Adapter) and not system.is_base and system.provenance.seen is None
    ]
    if not names:
        return []
    return [
        Finding(
            "unknown-training",
            "warning",
            f"{len(names):,} adapters do not say what they were fitted on: it cannot be left out",
            len(names),
            tuple(names[:5]),
            "Fit them again with this version",
        )
    ]


def _odd(task: Dataset | Qrels, evaluations: Sequence[Evaluation], similarity: Similarity) -> tuple[Finding, ...]:
    if isinstance(task, Dataset):
        found = examine(task, similarity=similarity)
        known = set(task.missing_queries)  # told once, not again for every system
    else:
        found, known = (), set()
    lacking = [(held.run_name, [query for query in held.missing if query not in known]) for held in evaluations]
    return (
        *found,
        *(
            Finding(
                "missing-queries",
                "warning",
                counted(
                    len(ids),
                    f"judged query is not in {name}; it scores 0",
                    f"judged queries are not in {name}; they score 0",
                ),
                len(ids),
                tuple(ids[:5]),
                "Search with them too",
            )
            for name, ids in lacking
            if ids
        ),
    )
