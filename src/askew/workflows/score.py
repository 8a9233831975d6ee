"""Score: measures of the base, of an adapter against its base, or of a run, on a folder's judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal

from askew.adapters.adapter import Similarity
from askew.data import EmbeddingSet, Finding, Run, TokenEmbeddings, examine, find_twins
from askew.data import merge_duplicates as merged
from askew.errors import ParameterError, counted
from askew.evaluation import Comparison, Evaluation, evaluate
from askew.formats import list_splits, load_adapter, read_dataset, read_side_texts, read_split
from askew.workflows.assess import MEASURES, assess_parts, depth_for, remembered, search_judged, trained_on
from askew.workflows.recognise import recognising

__all__ = ["Score", "default_split", "look_over", "score", "two_encoders"]


@dataclass(frozen=True, eq=False)
class Score:
    """What was measured.

    Attributes:
        split: on whose judgements.
        evaluation: of the adapter, the run, or the base.
        comparisons: which documents, and the adapter against its base over them; empty otherwise.
        findings: what is odd about the data.
    """

    split: str
    evaluation: Evaluation
    comparisons: tuple[tuple[str, Comparison], ...]
    findings: tuple[Finding, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values, every query included."""
        return {
            "split": self.split,
            **self.evaluation.to_json(),
            "comparisons": [{"documents": subset, **comparison.to_json()} for subset, comparison in self.comparisons],
            "findings": [finding.to_json() for finding in self.findings],
        }


def score(
    folder: str | PathLike[str],
    *,
    adapter: str | PathLike[str] | None = None,
    run: Run | None = None,
    split: str | None = None,
    encoder: str | None = None,
    document_encoder: str | None = None,
    measures: Sequence[str] = MEASURES,
    similarity: Similarity | None = None,
    bad_rows: Literal["raise", "drop"] = "raise",
    merge_duplicates: bool = False,
    seed: int = 0,
) -> Score:
    """Measure on a folder's judgements.

    Args:
        folder: see `askew.formats.read_dataset`.
        adapter: an artefact to compare with its base.
        run: a run to evaluate instead of searching; the folder needs no embeddings then.
        split: whose judgements; by default ``test``, else ``train``, else the only one there is.
        encoder: of queries and documents.
        document_encoder: of documents, if another.
        measures: names that ir-measures knows.
        similarity: of the base, or instead of the adapter's own.
        bad_rows: ``"raise"`` or ``"drop"``.
        merge_duplicates: give every copy of a judged document its judgements; for a run, which
            needs no embeddings, every document of the same text.
        seed: of the resampling.

    Raises:
        AskewError: as the reader, `assess` and `evaluate` do.
        ParameterError: both an adapter and a run are given.
    """
    if adapter is not None and run is not None:
        raise ParameterError("both an adapter and a run are given", remedy="Evaluate one at a time")
    split = default_split(folder, split)
    if run is not None:
        qrels = read_split(folder, split)
        if merge_duplicates:
            texts = read_side_texts(folder, "documents")
            qrels = find_twins(None, texts, qrels.documents(), corpus=texts).spread(qrels, texts)
        evaluation = evaluate(run, qrels, measures)
        return Score(str(split), evaluation, (), _unmatched(evaluation))
    dataset = read_dataset(
        folder,
        split=split,
        encoder=encoder,
        document_encoder=document_encoder,
        bad_rows=bad_rows,
        texts=merge_duplicates,
    )
    told: tuple[Finding, ...] = ()
    if merge_duplicates:
        dataset, told = merged(dataset)
    if adapter is None:
        strangers = two_encoders(dataset.queries, dataset.documents)
        findings = (*told, *examine(dataset, similarity=similarity or "dot"), *strangers)
        base = search_judged(dataset, None, name="base", depth=depth_for(measures), similarity=similarity)
        return Score(str(split), evaluate(base, dataset.qrels, measures), (), findings)
    held = recognising(load_adapter(adapter), dataset, folder)
    held = replace(held, similarity=similarity or held.similarity)
    parts = assess_parts(dataset, held, held.provenance.seen, measures=measures, seed=seed)
    comparisons = tuple((subset, comparison) for subset, found in parts for comparison in found.comparisons)
    findings = (*told, *examine(dataset, similarity=held.similarity), *trained_on(dataset, remembered(held)))
    return Score(str(split), parts[0][1].adapted, comparisons, findings)


def default_split(folder: str | PathLike[str], split: str | None) -> str | None:
    """The split named, else ``test``, else ``train``, else the only one, else None, which a reader refuses.

    Raises:
        FormatError: there is no such folder.
    """
    names = list_splits(folder)
    if split is not None:
        return split
    return next((name for name in ("test", "train") if name in names), names[0] if len(names) == 1 else None)


def look_over(
    queries: EmbeddingSet, documents: EmbeddingSet | None = None, *, adapted: bool = False
) -> tuple[Finding, ...]:
    """What is odd about vectors that are to be used without judgements.

    Args:
        queries: (n, d_query).
        documents: (m, d_document), if there are any.
        adapted: whether an adapter stands between the two.
    """
    sides = [("query", "queries", queries)]
    if documents is not None:
        sides.append(("document", "documents", documents))
    dropped = tuple(
        Finding(
            f"dropped-{side}",
            "warning",
            counted(
                len(held.dropped),
                f"{one} with NaN or infinite values was dropped",
                f"{side} with NaN or infinite values were dropped",
            ),
            len(held.dropped),
            held.dropped[:5],
            "Embed them again",
        )
        for one, side, held in sides
        if held.dropped
    )
    return dropped if documents is None or adapted else dropped + two_encoders(queries, documents)


# What makes an adapter between two encoders.
_BETWEEN = "'askew align', or 'askew fit' with --query-encoder and --document-encoder"


def two_encoders(
    queries: EmbeddingSet | TokenEmbeddings, documents: EmbeddingSet | TokenEmbeddings
) -> tuple[Finding, ...]:
    """Vectors of two encoders can be compared if their dimensions happen to agree, whatever they mean."""
    if not queries.encoder or not documents.encoder or queries.encoder == documents.encoder:
        return ()
    return (
        Finding(
            "two-encoders",
            "warning",
            f"queries are embedded by {queries.encoder!r} and documents by {documents.encoder!r}: unless the two were "
            "trained together, their scores mean nothing",
            len(queries),
            remedy="Embed both with one encoder"
            + ("" if isinstance(queries, TokenEmbeddings) else f", or put an adapter between the two: {_BETWEEN}"),
        ),
    )


def _unmatched(evaluation: Evaluation) -> tuple[Finding, ...]:
    rows: tuple[tuple[str, Literal["note", "warning"], tuple[str, ...], tuple[str, str], str | None], ...] = (
        (
            "missing-queries",
            "warning",
            evaluation.missing,
            ("judged query is not in the run; it scores 0", "judged queries are not in the run; they score 0"),
            "Search with them too",
        ),
        (
            "unjudged-queries",
            "note",
            evaluation.unjudged,
            (
                "query of the run has no judgement; it is left out",
                "queries of the run have no judgement; they are left out",
            ),
            None,
        ),
    )
    return tuple(
        Finding(code, level, counted(len(ids), *what), len(ids), ids[:5], remedy)
        for code, level, ids, what, remedy in rows
        if ids
    )
