"""Exact top-k of inner products: *the* tie rule.

A document whose GEMM score lies more than two errors below the k-th best can be dropped; what is left is
settled in a fixed order (`Scores`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.linalg.fixed import BoolArray, Float32Array, Float64Array, FloatArray, IntArray
from askew.linalg.scores import LEAST, Asked, Scores

__all__ = ["top_k"]


# Columns of the first block that seed the threshold: enough to make it sharp, few enough to be free.
_SEED_COLUMNS = 1024
# What an entry of the score matrix costs while it is a candidate: its index, its copies, its sorting.
_BYTES_A_HIT = 200


def top_k(
    queries: FloatArray,
    documents: FloatArray,
    *,
    k: int,
    tie_rank: npt.ArrayLike,
    cosine: bool = False,
    document_norms: Float64Array | None = None,
    without: BoolArray | None = None,
    budget: int = DEFAULT_BUDGET,
) -> tuple[IntArray, Float64Array]:
    """The k documents of the largest score for every query, best first.

    Order: score descending, then `tie_rank` ascending. A zero vector scores 0 against everything.

    Cost: one float32 GEMM of 2·n·m·d flops, a comparison an entry, and about k rescored rows of d a
    query. Scratch stays within a few times `budget`, whatever m is.

    Args:
        queries: (n, d) finite, float16, float32 or float64.
        documents: (m, d) finite, memory-mapped or not.
        k: how many to return; fewer come back when there are fewer documents.
        tie_rank: (m,) distinct integers, the place of each document's id in ascending order.
        cosine: divide each score by both norms.
        document_norms: (m,) Euclidean norms, where they are known already.
        without: (m,) True for documents to leave out, for all queries.
        budget: bytes for the blocks of documents and of scores.

    Returns:
        rows: (n, min(k, documents not left out)) row numbers of documents.
        scores: float64, of the same shape.

    >>> docs = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> rows, scores = top_k(np.array([[1.0, 0.5]]), docs, k=2, tie_rank=[2, 1, 0])
    >>> rows.tolist(), scores.tolist()
    ([[2, 0]], [[1.0, 1.0]])
    """
    count = len(queries)
    k = min(k, len(documents) if without is None else int(np.sum(~without)))
    rows = np.empty((count, k), dtype=np.int64)
    scores = np.empty((count, k))
    if count == 0 or k == 0:
        return rows, scores
    ties = np.asarray(tie_rank, dtype=np.int64)
    kernel = Scores.prepare(documents, document_norms, without, cosine=cosine, budget=budget)
    scan = _Scan.prepare(kernel, ties, k=k, budget=budget)
    for part in blocks(count, scan.query_rows):
        rows[part], scores[part] = scan.run(queries[part])
    return rows, scores


@dataclass
class _Scan:
    """A blocked pass over the documents, for one block of queries at a time."""

    kernel: Scores
    ties: IntArray
    k: int
    query_rows: int
    document_rows: int
    hit_rows: int

    @classmethod
    def prepare(cls, kernel: Scores, ties: IntArray, *, k: int, budget: int) -> _Scan:
        total, width = kernel.documents.shape
        query_rows = rows_within(budget // 8, 8 * width + 48 * k, least=8, most=512)
        document_rows = rows_within(budget // 2, 12 * width + 5 * query_rows, least=16, most=8192)
        hit_rows = rows_within(budget // 4, _BYTES_A_HIT, least=4096)
        return cls(kernel, ties, k, query_rows, min(document_rows, total), hit_rows)

    def run(self, queries: FloatArray) -> tuple[IntArray, Float64Array]:
        """Top k of one block of queries: (n, k) rows and (n, k) exact scores."""
        asked = self.kernel.ask(queries)
        floor = np.full(len(queries), -np.inf)
        found = _Candidates.empty()
        for part in blocks(len(self.kernel.documents), self.document_rows):
            approximate = self.kernel.approximate(asked, part)
            if part.start == 0 and approximate.shape[1] >= self.k:
                seed = approximate[:, : max(_SEED_COLUMNS, 4 * self.k)]
                kth = np.partition(seed, seed.shape[1] - self.k, axis=1)[:, seed.shape[1] - self.k]
                floor = kth - 2 * asked.error
            # The floor is rounded down, so that float32 cannot lift it over a candidate.
            lowest = np.nextafter(np.maximum(floor, LEAST).astype(np.float32), np.float32(-np.inf))
            hits = np.flatnonzero(approximate >= lowest[:, None])
            for some in blocks(len(hits), self.hit_rows):
                query, column = np.divmod(hits[some], approximate.shape[1])
                found = found.join(query, column + part.start, approximate[query, column])
                found, floor = found.prune(floor, asked.error, self.k)
                if len(found.query) > 4 * self.k * len(floor) + 4096:  # mostly ties: settle them now
                    found, _ = self._settle(found, asked)
        found, exact = self._settle(found, asked)
        shape = (len(floor), self.k)
        return found.row.reshape(shape), exact.reshape(shape)

    def _settle(self, found: _Candidates, asked: Asked) -> tuple[_Candidates, Float64Array]:
        """Rescore every candidate in a fixed order and keep the best k of each query."""
        exact = self.kernel.exact_pairs(asked, found.query, found.row)
        order = np.lexsort((self.ties[found.row], -exact, found.query))
        order = order[_place_in_group(found.query[order]) < self.k]
        return found.take(order), exact[order]


@dataclass
class _Candidates:
    """Documents that can still enter the top k of some query, as parallel arrays."""

    query: IntArray
    row: IntArray
    score: Float32Array

    @classmethod
    def empty(cls) -> _Candidates:
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    def take(self, rows: IntArray) -> _Candidates:
        return _Candidates(self.query[rows], self.row[rows], self.score[rows])

    def join(self, query: IntArray, row: IntArray, score: Float32Array) -> _Candidates:
        return _Candidates(
            np.concatenate([self.query, query]),
            np.concatenate([self.row, row]),
            np.concatenate([self.score, score]),
        )

    def prune(self, floor: Float64Array, error: Float64Array, k: int) -> tuple[_Candidates, Float64Array]:
        """Raise each query's floor to its k-th best less two errors, and drop what lies below."""
        best_first = self.take(np.argsort(_sort_key(self.query, self.score)))
        place = _place_in_group(best_first.query)
        kth = place == k - 1
        floor = floor.copy()
        reached = best_first.query[kth]
        floor[reached] = np.maximum(floor[reached], best_first.score[kth] - 2 * error[reached])
        return best_first.take(np.flatnonzero(best_first.score >= floor[best_first.query])), floor


def _sort_key(query: IntArray, score: Float32Array) -> npt.NDArray[np.uint64]:
    """One integer that orders by query, then by score descending: four times as fast to sort as two keys.

    A float32 orders as its bits do, once the sign is turned round.

    >>> np.argsort(_sort_key(np.array([1, 0, 0]), np.array([3.0, -1.0, 2.0], dtype=np.float32))).tolist()
    [2, 1, 0]
    """
    bits = score.view(np.uint32)
    ascending = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return (query.astype(np.uint64) << np.uint64(32)) | (~ascending).astype(np.uint64)


def _place_in_group(groups: IntArray) -> IntArray:
    """For sorted group numbers, the place of each entry inside its group.

    >>> _place_in_group(np.array([0, 0, 2, 2, 2])).tolist()
    [0, 1, 0, 1, 2]
    """
    starts = np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]])) if len(groups) else groups
    lengths = np.diff(np.append(starts, len(groups)))
    return np.asarray(np.arange(len(groups)) - np.repeat(starts, lengths), dtype=np.int64)
