"""Exact top-k of inner products: *the* tie rule, and the fixed-order kernel behind every score.

A float32 GEMM *finds* candidates: whatever order it sums in, its error is at most
γ‖x‖‖y‖ with γ = (d + 4)·2⁻²⁴ (Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed.,
eq. 3.5, two more roundings for the input's conversion). So a document whose GEMM score lies more than two such
errors below the k-th best can be dropped. What is left is *rescored* by `row_dots`, and only
those values are ordered and returned: the result is the same for every block and thread count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.linalg.fixed import Float64Array, FloatArray, IntArray, row_dots, row_norms

__all__ = ["top_k"]


# Below and above these norms a float32 product could leave the normal range: rescale by 2^p first.
_SMALLEST_SAFE, _LARGEST_SAFE = 1e-12, 1e15
_LEAST = -1e30  # below every score of rescaled rows, above the -inf of documents that are left out
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
    without: npt.NDArray[np.bool_] | None = None,
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
    norms = row_norms(documents, budget=budget) if document_norms is None else document_norms
    scan = _Scan.prepare(documents, norms, ties, without, k=k, cosine=cosine, budget=budget)
    for part in blocks(count, scan.query_rows):
        rows[part], scores[part] = scan.run(queries[part])
    return rows, scores


@dataclass
class _Scan:
    """A blocked pass over the documents, for one block of queries at a time."""

    documents: FloatArray
    norms: Float64Array
    ties: IntArray
    without: npt.NDArray[np.bool_] | None
    k: int
    cosine: bool
    scale: float  # power of two that brings the largest document norm near 1
    query_rows: int
    document_rows: int
    gather_rows: int
    hit_rows: int

    @classmethod
    def prepare(
        cls,
        documents: FloatArray,
        norms: Float64Array,
        ties: IntArray,
        without: npt.NDArray[np.bool_] | None,
        *,
        k: int,
        cosine: bool,
        budget: int,
    ) -> _Scan:
        total, width = documents.shape
        query_rows = rows_within(budget // 8, 8 * width + 48 * k, least=8, most=512)
        document_rows = rows_within(budget // 2, 12 * width + 5 * query_rows, least=16, most=8192)
        largest = float(norms.max(initial=0.0))
        scale = 1.0 if _SMALLEST_SAFE < largest < _LARGEST_SAFE else float(_to_unit(np.array(largest)))
        return cls(
            documents,
            norms,
            ties,
            without,
            k,
            cosine,
            scale,
            query_rows,
            document_rows=min(document_rows, total),
            gather_rows=rows_within(budget // 4, 24 * width, least=16),
            hit_rows=rows_within(budget // 4, _BYTES_A_HIT, least=4096),
        )

    def run(self, queries: FloatArray) -> tuple[IntArray, Float64Array]:
        """Top k of one block of queries: (n, k) rows and (n, k) exact scores."""
        wide = np.asarray(queries, dtype=np.float64)
        scales = _to_unit(row_norms(wide))
        scaled = wide * scales[:, None]
        narrow = scaled.astype(np.float32)
        if self.cosine:  # no power of two changes it, and no product of two tiny vectors is lost
            wide = scaled
        error = self._error(row_norms(scaled), scales)
        floor = np.full(len(wide), -np.inf)
        found = _Candidates.empty()
        for part in blocks(len(self.documents), self.document_rows):
            approximate = narrow @ self._block(part).T
            if self.without is not None:
                approximate[:, self.without[part]] = -np.inf
            if part.start == 0 and approximate.shape[1] >= self.k:
                seed = approximate[:, : max(_SEED_COLUMNS, 4 * self.k)]
                kth = np.partition(seed, seed.shape[1] - self.k, axis=1)[:, seed.shape[1] - self.k]
                floor = kth - 2 * error
            # The floor is rounded down, so that float32 cannot lift it over a candidate.
            lowest = np.nextafter(np.maximum(floor, _LEAST).astype(np.float32), np.float32(-np.inf))
            hits = np.flatnonzero(approximate >= lowest[:, None])
            for some in blocks(len(hits), self.hit_rows):
                query, column = np.divmod(hits[some], approximate.shape[1])
                found = found.join(query, column + part.start, approximate[query, column])
                found, floor = found.prune(floor, error, self.k)
                if len(found.query) > 4 * self.k * len(wide) + 4096:  # mostly ties: settle them now
                    found, _ = self._settle(found, wide)
        found, exact = self._settle(found, wide)
        shape = (len(wide), self.k)
        return found.row.reshape(shape), exact.reshape(shape)

    def _error(self, lengths: Float64Array, scales: Float64Array) -> Float64Array:
        """How far a GEMM score can lie from the rescored one, in units of the scaled rows.

        Args:
            lengths: (n,) norms of the scaled queries.
            scales: (n,) the powers of two that they were scaled by.
        """
        width = self.documents.shape[1]
        peak = 1.0 if self.cosine else float(self.norms.max(initial=0.0)) * self.scale
        rounding = (width + 4) * 2.0**-24
        # The second term covers products that fall below the smallest normal float32.
        error = 1.01 * rounding / (1 - rounding) * lengths * peak + width * 2.0**-125
        if self.cosine:
            return np.asarray(error)
        with np.errstate(over="ignore"):  # and this one what the rescoring loses below the least float64
            return np.asarray(error + width * 2.0**-1074 * scales * self.scale)

    def _block(self, part: slice) -> npt.NDArray[np.float32]:
        block = self.documents[part]
        if self.cosine:
            norms = self.norms[part]
            wide = np.asarray(block, dtype=np.float64)
            return np.asarray(wide / np.where(norms > 0, norms, 1.0)[:, None], dtype=np.float32)
        if self.scale != 1.0:
            return (np.asarray(block, dtype=np.float64) * self.scale).astype(np.float32)
        return np.asarray(block, dtype=np.float32)

    def _settle(self, found: _Candidates, queries: Float64Array) -> tuple[_Candidates, Float64Array]:
        """Rescore every candidate in a fixed order and keep the best k of each query."""
        exact = np.empty(len(found.query))
        lengths = row_norms(queries) if self.cosine else None
        for part in blocks(len(exact), self.gather_rows):
            row, query = found.row[part], found.query[part]
            exact[part] = row_dots(queries[query], self.documents[row])
            if lengths is not None:
                length = lengths[query] * self.norms[row]
                exact[part] = np.where(length > 0, exact[part] / np.where(length > 0, length, 1.0), 0.0)
        exact += 0.0  # turns a -0.0 into 0.0
        order = np.lexsort((self.ties[found.row], -exact, found.query))
        order = order[_place_in_group(found.query[order]) < self.k]
        return found.take(order), exact[order]


@dataclass
class _Candidates:
    """Documents that can still enter the top k of some query, as parallel arrays."""

    query: IntArray
    row: IntArray
    score: npt.NDArray[np.float32]

    @classmethod
    def empty(cls) -> _Candidates:
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))

    def take(self, rows: IntArray) -> _Candidates:
        return _Candidates(self.query[rows], self.row[rows], self.score[rows])

    def join(self, query: IntArray, row: IntArray, score: npt.NDArray[np.float32]) -> _Candidates:
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


def _sort_key(query: IntArray, score: npt.NDArray[np.float32]) -> npt.NDArray[np.uint64]:
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


def _to_unit(norms: Float64Array) -> Float64Array:
    """Powers of two that bring norms between 1/2 and 1; scaling by them loses no bit. 1 for zero.

    >>> _to_unit(np.array([3.0, 0.25, 0.0])).tolist()
    [0.25, 2.0, 1.0]
    """
    exponent = np.frexp(norms)[1]
    return np.ldexp(1.0, np.minimum(-exponent, 1023))  # a denormal norm is brought as far up as can be
