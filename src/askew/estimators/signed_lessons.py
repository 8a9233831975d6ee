"""What signed late interaction learns from: texts, relevant documents, and documents that are not relevant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew.errors import LabelError
from askew.estimators.tokens_ragged import Ragged
from askew.linalg.fixed import IntArray

__all__ = ["Ordinary", "SignedLessons", "pairs_known"]

Known = Callable[[IntArray, IntArray], npt.NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Ordinary:
    """Texts that say nothing special, whose weights should stay at +1, and whose vectors where they are.

    Attributes:
        queries: texts of queries.
        documents: texts of documents.
        query_vectors: what a tuned encoder made of them before training; None where it stays as it is.
        document_vectors: likewise.
    """

    queries: Ragged
    documents: Ragged
    query_vectors: Ragged | None = None
    document_vectors: Ragged | None = None


@dataclass(frozen=True, eq=False)
class SignedLessons:
    """What to learn from.

    Attributes:
        queries: texts of queries.
        documents: texts of documents.
        query: (n,) rows of queries, an example each.
        positive: (n,) rows of their relevant documents.
        negatives: (n, k) rows of documents that are not relevant, mined or given; k may be 0.
        known: (b,) query rows and (c,) document rows → (b, c) which are relevant: they are nobody's negatives. By
            default the pairs above are all that is known.
        ordinary: texts to leave as they are; they take the plan's pull.
        source: what else a run depends on, such as a hash of the texts, where `queries` and `documents` only number
            them.

    Raises:
        LabelError: there is no example, rows and texts do not fit, or one document is all there is.
    """

    queries: Ragged
    documents: Ragged
    query: IntArray
    positive: IntArray
    negatives: IntArray
    known: Known | None = None
    ordinary: Ordinary | None = None
    source: str = ""

    def __post_init__(self) -> None:
        count = len(self.query)
        if not count or self.positive.shape != (count,) or self.negatives.shape[:1] != (count,):
            raise LabelError(
                f"{count:,} queries, positives of shape {self.positive.shape}, negatives of {self.negatives.shape}",
                where="examples",
                remedy="Give a positive, and as many negatives, for each of at least one query",
            )
        rows = np.concatenate([self.positive, self.negatives.ravel()])
        if (
            rows.min() < 0
            or rows.max() >= len(self.documents)
            or not 0 <= self.query.min() <= self.query.max() < len(self.queries)
        ):
            raise LabelError("an example names a text that is not there", where="examples", remedy="Check the rows")
        if len(np.unique(rows)) < 2:
            raise LabelError(
                "all examples have the same one document, so there is nothing to tell it from",
                where="examples",
                remedy="Give queries with other relevant documents, or documents that are not relevant",
            )
        if self.known is None:
            object.__setattr__(self, "known", pairs_known(self.query, self.positive, len(self.documents)))

    def __len__(self) -> int:
        return len(self.query)


def pairs_known(query: IntArray, document: IntArray, documents: int) -> Known:
    """A look-up of relevant pairs.

    Args:
        query: (p,) rows of queries.
        document: (p,) rows of their relevant documents.
        documents: how many there are.

    >>> pairs_known(np.array([0, 1]), np.array([2, 0]), 3)(np.array([0, 1]), np.array([0, 2])).tolist()
    [[False, True], [True, False]]
    """
    keys = np.unique(query * documents + document)

    def known(queries: IntArray, rows: IntArray) -> npt.NDArray[np.bool_]:
        asked = queries[:, None] * documents + rows
        places = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
        return np.asarray(keys[places] == asked)

    return known
