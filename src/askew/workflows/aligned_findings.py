"""What is odd about two encoders of one folder: rows that are bad, few, or stand under the wrong ids."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from askew.data import Finding, examine
from askew.errors import counted
from askew.estimators import Alignment
from askew.workflows.retention import Kept, aligned_on_held_out
from askew.workflows.two_encoders import ALIGNED, OLD, REINDEXED, TwoEncoders

__all__ = ["aligned_findings"]

# A map between two encoders finds a fifth of the first ten and more; between rows under wrong ids it finds what chance
# does, which is far less where documents are not few.
_LEAST_FOUND, _FEWEST = 0.1, 500


def aligned_findings(task: TwoEncoders, alignment: Alignment, kept: Sequence[Kept]) -> tuple[Finding, ...]:
    """Look two encoders of one folder over.

    Args:
        task: by both.
        alignment: of its documents.
        kept: of both encoders' rankings.
    """
    dataset = task.dataset(ALIGNED) or task.dataset(OLD)
    both = task.queries is not None and task.own_queries is not None
    found = [] if dataset is None else [one for one in examine(dataset) if not both or one.code != "missing-queries"]
    judged = 0 if task.qrels is None else len(task.qrels.queries)
    left_out = judged - len(task.judged_by_all)
    if both and left_out:
        found.append(
            Finding(
                "judged-by-one",
                "warning",
                f"{left_out:,} of {judged:,} judged queries are not embedded by both encoders, and are left out",
                left_out,
                remedy="Embed them with both",
            )
        )
    found += _bad_rows(task)
    found += _unrelated(kept)
    fewest = 2 * max(alignment.map.shape)
    if alignment.documents < fewest:
        found.append(
            Finding(
                "few-documents",
                "warning",
                f"{counted(alignment.documents, 'document was', 'documents were')} aligned, and the map has "
                f"{len(alignment.map):,} × {alignment.map.shape[1]:,} numbers: it is poorly known",
                alignment.documents,
                remedy=f"Embed {fewest:,} or more with both encoders",
            )
        )
    if not task.reindexed:
        lacking = sum(name not in task.documents for name in task.index.ids)
        found.append(
            Finding(
                "partly-embedded",
                "note",
                f"{lacking:,} of the {len(task.index):,} documents are not embedded by {task.names[0]}: overlaps are "
                f"over the others, and {REINDEXED} is not measured",
                lacking,
            )
        )
    return tuple(found)


def _bad_rows(task: TwoEncoders) -> list[Finding]:
    """Of the documents by the query encoder: `examine` sees those of the index."""
    dropped, documents = task.documents.dropped, task.documents
    zero = tuple(documents.ids[row] for row in np.flatnonzero(documents.norms == 0))
    rows = (
        (
            "dropped-aligned",
            dropped,
            "holds NaN or infinite values and aligns",
            "hold NaN or infinite values and align",
        ),
        ("zero-aligned", zero, "is a zero vector and aligns", "are zero vectors and align"),
    )
    return [
        Finding(
            code,
            "warning",
            f"{counted(len(ids), 'document')} by {task.names[0]} {one if len(ids) == 1 else many} nothing",
            len(ids),
            ids[:5],
            "Embed them again",
        )
        for code, ids, one, many in rows
        if ids
    ]


def _unrelated(kept: Sequence[Kept]) -> list[Finding]:
    """Rows of one encoder that stand under the ids of others give a map that finds nothing."""
    found = aligned_on_held_out(kept)
    if found is None or found.documents < _FEWEST or (found.of_document_encoder or 0.0) >= _LEAST_FOUND:
        return []
    return [
        Finding(
            "unrelated-rows",
            "warning",
            f"the map finds {found.of_document_encoder:.1%} of the first ten that it should find: the ids of the two "
            "encoders' files may not name the same documents",
            found.count,
            remedy="Check that each row of both files stands for the text of its id",
        )
    ]
