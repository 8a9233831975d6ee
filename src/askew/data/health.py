"""Findings: what is odd about the data, counted, named, and what to do about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from askew.data.dataset import Dataset
from askew.data.embeddings import EmbeddingSet
from askew.errors import counted

__all__ = ["Finding", "examine"]

# Rows rounded to float16 have norms within 1e-3 of one another; ten times that is still one norm.
_NORM_TOLERANCE = 0.01


@dataclass(frozen=True)
class Finding:
    """Something about the data that the user should know; nothing that stops the work.

    Attributes:
        code: a stable short name, such as ``"missing-documents"``.
        level: ``"note"`` or ``"warning"``.
        message: one sentence, with the count.
        count: how many items it concerns.
        examples: up to five ids.
        remedy: what the user can do, if anything.
    """

    code: str
    level: Literal["note", "warning"]
    message: str
    count: int
    examples: tuple[str, ...] = ()
    remedy: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "examples": list(self.examples)}


def examine(dataset: Dataset, *, similarity: str = "dot") -> tuple[Finding, ...]:
    """Look a dataset over: what matched, what is missing, which vectors are odd.

    Args:
        dataset: the task.
        similarity: ``"dot"`` or ``"cosine"``: under dot, norms of documents that differ are told.
    """
    findings = [_matched(dataset), *_missing(dataset)]
    for side, embeddings in (("query", dataset.queries), ("document", dataset.documents)):
        findings += _vectors(side, embeddings, similarity)
    return tuple(findings)


def _matched(dataset: Dataset) -> Finding:
    judged = dataset.qrels.documents()
    found = len(judged) - len(dataset.missing_documents)
    queries = len(dataset.qrels) - len(dataset.missing_queries)
    return Finding(
        "matched",
        "note",
        f"{queries:,} of {len(dataset.qrels):,} judged queries and {found:,} of {len(judged):,} judged documents "
        "have embeddings",
        queries,
    )


def _missing(dataset: Dataset) -> list[Finding]:
    without = tuple(query for query in dataset.qrels.queries if not dataset.qrels.positives(query))
    rows = (
        (
            "missing-queries",
            dataset.missing_queries,
            "judged query has no embedding; it scores 0",
            "judged queries have no embedding; they score 0",
            "Embed them",
        ),
        (
            "missing-documents",
            dataset.missing_documents,
            "judged document is not in the corpus; it stays in the ideal ranking",
            "judged documents are not in the corpus; they stay in the ideal ranking",
            "Add them to the corpus, or drop their judgements",
        ),
        (
            "no-relevant",
            without,
            "judged query has no relevant document; it scores 0",
            "judged queries have no relevant document; they score 0",
            "Leave them out of the judgements if no answer exists",
        ),
    )
    return [
        Finding(code, "warning", counted(len(ids), one, many), len(ids), tuple(ids[:5]), remedy)
        for code, ids, one, many, remedy in rows
        if ids
    ]


def _vectors(side: str, embeddings: EmbeddingSet, similarity: str) -> list[Finding]:
    plural = "queries" if side == "query" else "documents"
    found: list[Finding] = []
    if embeddings.dropped:
        found.append(
            Finding(
                f"dropped-{plural}",
                "warning",
                counted(
                    len(embeddings.dropped),
                    f"{side} with NaN or infinite values was dropped",
                    f"{plural} with NaN or infinite values were dropped",
                ),
                len(embeddings.dropped),
                embeddings.dropped[:5],
                "Embed them again",
            )
        )
    zero = [embeddings.ids[row] for row in np.flatnonzero(embeddings.norms == 0)]
    if zero:
        found.append(
            Finding(
                f"zero-{plural}",
                "warning",
                counted(
                    len(zero),
                    f"{side} is a zero vector; it scores 0 against everything",
                    f"{plural} are zero vectors; they score 0 against everything",
                ),
                len(zero),
                tuple(zero[:5]),
                "Check for empty texts",
            )
        )
    # A query's norm scales all its scores alike, and one norm of all documents does: neither changes a ranking.
    if side == "document" and similarity == "dot":
        found += _norms(embeddings.norms[embeddings.norms > 0], embeddings.dim)
    return found


def _norms(norms: np.ndarray[Any, np.dtype[np.float64]], dim: int) -> list[Finding]:
    """A warning where the norms of documents differ, so that dot ranks otherwise than cosine."""
    if not len(norms):
        return []
    low, middle, high = (float(value) for value in np.quantile(norms, (0, 0.5, 1)))
    if max(high - middle, middle - low) <= _NORM_TOLERANCE * middle:
        return []
    message = f"the norms of documents run from {low:.4g} to {high:.4g} (median {middle:.4g}), so dot is not cosine"
    if high < 1 + _NORM_TOLERANCE and middle > 0.3:
        message += f"; norms just under 1 are what {dim} leading dimensions of longer unit vectors have"
    remedy = "Choose --similarity cosine to normalise them, or keep dot if your index scores by inner product"
    return [Finding("norms-documents", "warning", message, len(norms), remedy=remedy)]
