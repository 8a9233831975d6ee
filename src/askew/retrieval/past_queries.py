"""Past queries: what answered the most similar one comes first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew.data import EmbeddingSet
from askew.errors import DimensionError
from askew.linalg import FloatArray, top_k
from askew.linalg.fixed import BoolArray, Float64Array, IntArray

__all__ = ["PastQueries", "put_first"]


@dataclass(frozen=True, eq=False)
class PastQueries:
    """n queries of the past and the p documents that answered them, in CSR order.

    Attributes:
        vectors: (n, d_query), as the encoder gave them or scaled.
        tie_rank: (n,) the place of each query's id in ascending order.
        starts: (n + 1,) int64; query i was answered by `rows[starts[i]:starts[i + 1]]`.
        rows: (p,) rows of the corpus.
        grades: (p,) the larger, the better the answer; compared within a query alone.

    Raises:
        DimensionError: the arrays do not fit together.

    >>> past = PastQueries(np.eye(2), np.array([0, 1]), np.array([0, 1, 3]), np.array([0, 1, 2]), np.array([1, 1, 2.0]))
    >>> row, cosine = past.nearest(np.array([[0.0, 3.0]]))
    >>> row.tolist(), cosine.tolist()
    ([1], [1.0])
    >>> documents = EmbeddingSet("abc", np.eye(3))
    >>> past.answers(row, np.array([[0.3, 0.2, 0.1]]), documents).tolist()
    [[2, 1]]
    """

    vectors: FloatArray
    tie_rank: IntArray
    starts: IntArray
    rows: IntArray
    grades: Float64Array

    def __post_init__(self) -> None:
        count = len(self.vectors)
        fits = self.starts.shape == (count + 1,) and self.tie_rank.shape == (count,)
        if not fits or not self.rows.shape == self.grades.shape == (int(self.starts[-1]),):
            raise DimensionError(
                f"{count} past queries have starts of shape {self.starts.shape}, {len(self.rows)} answers and "
                f"{len(self.grades)} grades"
            )

    def only(self, kept: BoolArray) -> PastQueries:
        """Some of the queries.

        Args:
            kept: (n,) True for those to keep.
        """
        lengths = np.diff(self.starts)
        answers = np.repeat(kept, lengths)
        starts = np.append(0, np.cumsum(lengths[kept])).astype(np.int64)
        return PastQueries(self.vectors[kept], self.tie_rank[kept], starts, self.rows[answers], self.grades[answers])

    def nearest(self, queries: FloatArray) -> tuple[IntArray, Float64Array]:
        """The past query of the largest cosine, of equals the one of the lower id.

        Args:
            queries: (q, d_query) from the same encoder.

        Returns:
            rows: (q,) of past queries; -1 where there is none.
            cosine: (q,) float64; 0 where there is none, and for zero vectors.
        """
        if not len(self.vectors):
            return np.full(len(queries), -1, dtype=np.int64), np.zeros(len(queries))
        rows, cosine = top_k(queries, self.vectors, k=1, tie_rank=self.tie_rank, cosine=True)
        return rows[:, 0], cosine[:, 0]

    def answers(
        self, nearest: IntArray, searched: FloatArray, documents: EmbeddingSet, *, cosine: bool = False
    ) -> IntArray:
        """What answered some past queries: by grade, then as a search ranks them, then by id.

        Args:
            nearest: (q,) rows of past queries; -1 for none.
            searched: (q, d_document) what the corpus is searched with.
            documents: (m, d_document), the corpus.
            cosine: divide scores by both norms.

        Returns:
            (q, j) rows of the corpus, -1 after the last, j the most that one of them has.
        """
        lengths = np.where(nearest >= 0, np.diff(self.starts)[nearest], 0) if len(self.vectors) else np.zeros(1, int)
        found = np.full((len(nearest), int(lengths.max(initial=0))), -1, dtype=np.int64)
        for query in np.flatnonzero(lengths).tolist():
            own = slice(*self.starts[nearest[query] : nearest[query] + 2])
            rows = self.rows[own]
            order, _ = top_k(
                searched[query : query + 1],
                documents.matrix[rows],
                k=len(rows),
                tie_rank=documents.tie_rank[rows],
                cosine=cosine,
                document_norms=documents.norms[rows],
            )
            best = order[0][np.argsort(-self.grades[own][order[0]], kind="stable")]
            found[query, : len(rows)] = rows[best]
        return found


def put_first(ranked: IntArray, first: IntArray) -> IntArray:
    """Rankings with some documents moved, or brought in, to the top.

    Args:
        ranked: (q, k) rows of documents, best first; -1 for an empty rank.
        first: (q, j) what comes first, in its order; -1 after the last.

    Returns:
        (q, k): the documents of `first`, then what is left of `ranked`, each document once, cut at k.

    >>> put_first(np.array([[4, 5, 6], [4, 5, 6]]), np.array([[6, 7], [-1, -1]])).tolist()
    [[6, 7, 4], [4, 5, 6]]
    """
    result = np.full_like(ranked, -1)
    for row, (old, new) in enumerate(zip(ranked, first, strict=True)):
        top = new[new >= 0]
        merged = np.append(top, old[(old >= 0) & ~np.isin(old, top)])[: ranked.shape[1]]
        result[row, : len(merged)] = merged
    return result
