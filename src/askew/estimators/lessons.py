"""What a recipe that descends learns from: labelled queries, their relevant documents, and the corpus for negatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from askew.data import Dataset, stable_hashes
from askew.errors import LabelError
from askew.linalg import FloatArray
from askew.linalg.fixed import Float32Array, Float64Array, IntArray

__all__ = ["BoolArray", "Lessons", "Rows"]

BoolArray = npt.NDArray[np.bool_]
#: A map of rows.
Rows = Callable[[FloatArray], FloatArray]


def _no_pairs() -> IntArray:
    return np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Lessons:
    """n labelled queries, p pairs with relevant documents, m documents.

    Attributes:
        queries: (n, d_query) unit rows.
        documents: (m, d_document) unit rows.
        pair_query: (p,) rows of queries, ascending; every query has one.
        pair_row: (p,) rows of relevant documents.
        pair_grade: (p,) their grades, above 0.
        barred: (m,) documents held out: nobody's relevant document, nobody's negative.
        judged: (j, 2) rows of queries and of documents that are judged and not relevant; they are nobody's negatives
            either, as the published recipes have it.
        teacher: maps queries to where the documents are, for mining; None where they are there already.
        query_origin: (n,) the data set of each query, where several are pooled; negatives come from its own one.
        document_origin: (m,) the data set of each document, likewise.

    >>> from askew.data import EmbeddingSet, Qrels
    >>> eye = EmbeddingSet("ab", np.eye(2))
    >>> lessons = Lessons.of_dataset(Dataset(eye, eye, Qrels({"a": {"a": 1, "b": 0}})), ["a"])
    >>> lessons.closed.tolist()
    [[True, True]]
    """

    queries: Float32Array
    documents: Float32Array
    pair_query: IntArray
    pair_row: IntArray
    pair_grade: Float64Array
    barred: BoolArray
    judged: IntArray = field(default_factory=_no_pairs)
    teacher: Rows | None = None
    query_origin: IntArray | None = None
    document_origin: IntArray | None = None

    @classmethod
    def of_dataset(
        cls, dataset: Dataset, query_ids: Sequence[str], *, origin: Callable[[str], str] | None = None
    ) -> Self:
        """The judgements of some queries.

        Args:
            dataset: the task.
            query_ids: those that teach; each embedded, with a relevant document in the corpus.
            origin: id → name of the data set that it comes from, where several are pooled.

        Raises:
            LabelError: there is no query, or one cannot teach.
        """
        known = set(dataset.labelled)
        lacking = [name for name in query_ids if name not in known]
        if not query_ids or lacking:
            raise LabelError(
                f"{len(lacking):,} of {len(query_ids):,} queries have no relevant document that is embedded",
                where=dataset.name,
                remedy="Teach with labelled queries",
            )
        pairs, grades, judged = [], [], []
        for place, name in enumerate(query_ids):
            for document, grade in dataset.qrels[name].items():
                if document not in dataset.documents:
                    continue
                row = dataset.documents.row(document)
                if grade > 0:
                    pairs.append((place, row))
                    grades.append(grade)
                else:
                    judged.append((place, row))
        table = np.array(pairs, dtype=np.int64)
        return cls(
            dataset.queries.unit(dataset.queries.rows(query_ids)).astype(np.float32),
            dataset.documents.unit().astype(np.float32),
            table[:, 0],
            table[:, 1],
            np.array(grades),
            np.zeros(len(dataset.documents), dtype=bool),
            np.array(judged, dtype=np.int64).reshape(-1, 2),
            query_origin=_numbered(query_ids, origin),
            document_origin=_numbered(dataset.documents.ids, origin),
        )

    def __len__(self) -> int:
        return len(self.queries)

    def taught_by(self, teacher: Rows | None) -> Self:
        """The same with another teacher."""
        return replace(self, teacher=teacher)

    @cached_property
    def asked(self) -> Float32Array:
        """(n, d_document) unit rows: the queries as the teacher sees them."""
        if self.teacher is None:
            return self.queries
        rows = np.asarray(self.teacher(self.queries))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms > 0, norms, 1.0), dtype=np.float32)

    @cached_property
    def first_positive(self) -> IntArray:
        """(n,) the row of each query's relevant document of the highest grade."""
        order = np.lexsort((self.pair_row, -self.pair_grade, self.pair_query))
        _, first = np.unique(self.pair_query[order], return_index=True)
        return np.asarray(self.pair_row[order][first])

    @cached_property
    def closed(self) -> BoolArray:
        """(n, m) documents that are no negatives of a query: its judged ones and what is held out."""
        table = np.tile(self.barred, (len(self), 1))
        table[self.pair_query, self.pair_row] = True
        table[self.judged[:, 0], self.judged[:, 1]] = True
        if self.query_origin is not None and self.document_origin is not None:
            table |= self.query_origin[:, None] != self.document_origin
        return table


def _numbered(ids: Sequence[str], origin: Callable[[str], str] | None) -> IntArray | None:
    if origin is None:
        return None
    # By hash, so that queries and documents agree on a number without a table between them.
    return (stable_hashes(map(origin, ids), "origin") >> np.uint64(1)).astype(np.int64)
