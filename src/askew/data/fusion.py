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

    A zero vector stays one, so that a query which one encoder has no answer to is left to the other.

    Args:
        own: (n, d) by the encoder of the documents.
        other: (·, d_other) by another encoder; ids beyond the n are ignored.

    Returns:
        (n, d + d_other) float32, or float64 if both are; the encoder is called "own+other".

    Raises:
        MatchError: a query has no other embedding.

    >>> own = EmbeddingSet(["q"], np.array([[3.0, 4.0]]), encoder="old")
    >>> both = side_by_side(own, EmbeddingSet(["q"], np.array([[2.0]]), encoder="new"))
    >>> both, both.matrix.tolist()
    (EmbeddingSet(1 × 3 float64, encoder='old+new'), [[0.6, 0.8, 1.0]])
    """
    lacking = [name for name in own.ids if name not in other]
    if lacking:
        raise MatchError(
            f"{len(lacking):,} of {len(own):,} queries are not embedded by {other.encoder or 'the other encoder'}: "
            f"{name_some(lacking)}",
            where=other.source,
            remedy="Embed each query with both encoders, under one id",
        )
    wide = own.dtype == other.dtype == np.float64
    joined = np.hstack([own.unit(), other.unit(other.rows(own.ids))])
    name = joined_name(own.encoder, other.encoder)
    source = f"{own.source} beside {other.source}"
    return EmbeddingSet(own.ids, joined if wide else joined.astype(np.float32), encoder=name, source=source)


def joined_name(own: str | None, other: str | None) -> str | None:
    """What the vectors of two encoders side by side are called; None unless both have a name.

    >>> joined_name("old", "new"), joined_name("old", None)
    ('old+new', None)
    """
    return f"{own}{JOINT}{other}" if own and other else None
