"""Where some documents stand in the rankings of a corpus, without ranking it.

To score a ranking it is enough to know how many documents come before each relevant one: one GEMM and
two comparisons an entry, where finding and ordering the first k costs several times that. The count is
that of the exact order of `top_k`, ties included: only documents whose scores lie within two errors of
the target's are settled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.errors import DimensionError, ParameterError
from askew.linalg.fixed import BoolArray, Float32Array, Float64Array, FloatArray, IntArray
from askew.linalg.scores import LEAST, Asked, Scores

__all__ = ["places"]


def places(
    queries: FloatArray,
    documents: FloatArray,
    target_query: npt.ArrayLike,
    target_row: npt.ArrayLike,
    *,
    k: int,
    tie_rank: npt.ArrayLike,
    cosine: bool = False,
    document_norms: Float64Array | None = None,
    without: BoolArray | None = None,
    budget: int = DEFAULT_BUDGET,
) -> IntArray:
    """The place of each target in its query's ranking, from 0; k for any place from k on.

    Equals the place that `top_k` gives it: score descending, then `tie_rank` ascending.

    Cost: one float32 GEMM of 2·n·m·d flops, and two comparisons of a query's m scores for each of its
    targets down to the first that is not among the first k.

    Args:
        queries: (n, d) finite, float16, float32 or float64.
        documents: (m, d) finite, memory-mapped or not.
        target_query: (p,) rows of queries, ascending.
        target_row: (p,) rows of documents, none of them left out.
        k: places that are told apart.
        tie_rank: (m,) distinct integers, the place of each document's id in ascending order.
        cosine: divide each score by both norms.
        document_norms: (m,) Euclidean norms, where they are known already.
        without: (m,) True for documents that are left out, for all queries.
        budget: bytes for the blocks of documents and of scores.

    Returns:
        (p,) int64.

    Raises:
        DimensionError: the targets are not two rows of one length.
        ParameterError: k is below 1, a target is out of range, or its queries are not in order.

    >>> docs = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> places(np.array([[1.0, 0.5]]), docs, [0, 0], [0, 1], k=3, tie_rank=[2, 1, 0]).tolist()
    [1, 2]
    """
    owner, row = np.asarray(target_query, dtype=np.int64), np.asarray(target_row, dtype=np.int64)
    _check(owner, row, (len(queries), len(documents)), k)
    found = np.empty(len(row), dtype=np.int64)
    ties = np.asarray(tie_rank, dtype=np.int64)
    kernel = Scores.prepare(documents, document_norms, without, cosine=cosine, budget=budget)
    width = documents.shape[1]
    query_rows = rows_within(budget // 8, 24 * width, least=8, most=512)
    document_rows = rows_within(budget // 2, 12 * width + 10 * query_rows, least=16, most=8192)
    for part in blocks(len(queries), query_rows):
        mine = slice(*np.searchsorted(owner, [part.start, part.stop]).tolist())
        asked = kernel.ask(queries[part])
        count = _Count.start(kernel, ties, asked, owner[mine] - part.start, row[mine], k=k, budget=budget)
        for some in blocks(len(documents), document_rows):
            count.scan(some)
        found[mine] = count.places()
    return found


def _check(owner: IntArray, row: IntArray, shape: tuple[int, int], k: int) -> None:
    if owner.ndim != 1 or owner.shape != row.shape:
        raise DimensionError(f"targets of shapes {owner.shape} and {row.shape} were given", remedy="Give pairs")
    if k < 1:
        raise ParameterError(f"the depth k is {k}", remedy="Give 1 or more")
    if not owner.size:
        return
    if owner.min() < 0 or owner.max() >= shape[0] or row.min() < 0 or row.max() >= shape[1]:
        raise ParameterError(f"a target is outside {shape[0]:,} queries and {shape[1]:,} documents")
    if np.any(np.diff(owner) < 0):
        raise ParameterError("the targets are not in the order of their queries", remedy="Sort them by query")


@dataclass
class _Count:
    """How many documents come before each target of a block of n queries.

    Attributes:
        query: (p,) rows of the block, ascending.
        row: (p,) the targets.
        score: (p,) their approximate scores.
        slot: (p,) 0 for a query's target of the largest approximate score, 1 for the next, ...
        limit: (n,) the first slot that is surely beyond the first k places; so are those after it.
        sure: (p,) documents counted that are more than two errors ahead.
        before: (p,) all documents counted.
    """

    kernel: Scores
    ties: IntArray
    asked: Asked
    query: IntArray
    row: IntArray
    k: int
    budget: int
    score: Float32Array
    slot: IntArray
    limit: IntArray
    sure: IntArray
    before: IntArray

    @classmethod
    def start(
        cls, kernel: Scores, ties: IntArray, asked: Asked, query: IntArray, row: IntArray, *, k: int, budget: int
    ) -> _Count:
        score = kernel.approximate_pairs(asked, query, row)
        order = np.lexsort((-score, query))
        slot = np.empty(len(row), dtype=np.int64)
        slot[order] = np.arange(len(row)) - np.searchsorted(query, query)
        limit = np.full(len(asked.error), len(row))
        sure, before = np.zeros((2, len(row)), dtype=np.int64)
        return cls(kernel, ties, asked, query, row, k, budget, score, slot, limit, sure, before)

    def scan(self, part: slice) -> None:
        """Count within one block of documents."""
        if not np.any(self.slot < self.limit[self.query]):
            return
        scores = self.kernel.approximate(self.asked, part)
        for slot in range(int(self.slot.max()) + 1):
            targets = np.flatnonzero((self.slot == slot) & (slot < self.limit[self.query]))
            if len(targets) == 0:
                break
            self._count(targets, scores, part)
            gone = self.query[targets[self.sure[targets] >= self.k]]
            self.limit[gone] = slot

    def places(self) -> IntArray:
        """(p,) from 0; k for targets at that place or beyond."""
        return np.where(self.slot < self.limit[self.query], np.minimum(self.before, self.k), self.k)

    def _count(self, targets: IntArray, scores: Float32Array, part: slice) -> None:
        """Add to each of some targets, no two of one query, what comes before it."""
        query, row = self.query[targets], self.row[targets]
        own = scores if len(query) == len(scores) else scores[query]
        reach = 2 * self.asked.error[query]
        # Rounded outwards, so that float32 cannot lose what is too close to call.
        highest = np.nextafter((self.score[targets] + reach).astype(np.float32), np.float32(np.inf))
        lowest = np.nextafter((self.score[targets] - reach).astype(np.float32), np.float32(-np.inf))
        lowest = np.maximum(lowest, np.float32(LEAST))
        above = np.sum(own > highest[:, None], axis=1, dtype=np.int32)
        close = np.sum(own >= lowest[:, None], axis=1, dtype=np.int32) - above
        close -= (row >= part.start) & (row < part.stop)  # itself
        self.sure[targets] += above
        self.before[targets] += above
        unsettled = np.flatnonzero((close > 0) & (self.before[targets] < self.k))
        for some in blocks(len(unsettled), rows_within(self.budget // 4, 40 * own.shape[1])):
            few = unsettled[some]
            near = (own[few] >= lowest[few, None]) & (own[few] <= highest[few, None])
            place, column = np.nonzero(near)
            self._settle(targets[few], place, column + part.start)

    def _settle(self, targets: IntArray, place: IntArray, row: IntArray) -> None:
        """Count the documents that are too close to call: targets[place[i]] and document row[i], places ascending."""
        query, own = self.query[targets], self.row[targets]
        score = self.kernel.exact_pairs(self.asked, query, own)[place]
        other = self.kernel.exact_pairs(self.asked, query[place], row)
        level = (other == score) & (self.ties[row] < self.ties[own[place]])
        self.before[targets] += np.bincount(place[(other > score) | level], minlength=len(targets))
