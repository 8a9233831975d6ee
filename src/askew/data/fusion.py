"""Fusion: queries that two encoders have embedded, side by side."""

from __future__ import annotations

import numpy as np

from askew.data.embeddings import EmbeddingSet
from askew.errors import MatchError, name_some

__all__ = ["JOINT", "joined_name", "side_by_side"]

#: What stands between the names of two encoders.
JOINT = "+"


def side_by_side(own: EmbeddingSet, other: EmbeddingSet) -> EmbeddingSet:
    """Join two embeddings of the same queries: [own, other], each scaled to norm 1.

    A zero vector stays one, so that a query which one encoder has no answer to is left to the other. A query that was
    dropped from either, for its bad row, is dropped.

    Args:
        own: (n, d) by the encoder of the documents.
        other: (·, d_other) by another encoder; ids beyond the n are ignored.

    Returns:
        (n, d + d_other) float32, or float64 if both are; the encoder is called "own+other", and `dropped` lists the
        queries dropped from either.

    Raises:
        MatchError: a query has no other embedding.

    >>> own = EmbeddingSet(["q"], np.array([[3.0, 4.0]]), encoder="old")
    >>> both = side_by_side(own, EmbeddingSet(["q"], np.array([[2.0]]), encoder="new"))
    >>> both, both.matrix.tolist()
    (EmbeddingSet(1 × 3 float64, encoder='old+new'), [[0.6, 0.8, 1.0]])
    """
    gone = set(other.dropped)
    lacking = [name for name in own.ids if name not in other and name not in gone]
    if lacking:
        raise MatchError(
            f"{len(lacking):,} of {len(own):,} queries are not embedded by {other.encoder or 'the other encoder'}: "
            f"{name_some(lacking)}",
            where=other.source,
            remedy="Embed each query with both encoders, under one id",
        )
    wide = own.dtype == other.dtype == np.float64
    kept = [name for name in own.ids if name not in gone]
    joined = np.hstack([own.unit(own.rows(kept)), other.unit(other.rows(kept))])
    name = joined_name(own.encoder, other.encoder)
    source = f"{own.source} beside {other.source}"
    both = EmbeddingSet(kept, joined if wide else joined.astype(np.float32), encoder=name, source=source)
    both.dropped = (*own.dropped, *(name for name in own.ids if name in gone))
    return both


def joined_name(own: str | None, other: str | None) -> str | None:
    """What the vectors of two encoders side by side are called; None unless both have a name.

    >>> joined_name("old", "new"), joined_name("old", None)
    ('old+new', None)
    """
    return f"{own}{JOINT}{other}" if own and other else None
