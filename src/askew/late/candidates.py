"""The k best of documents of which only bounds are known, and exact scores for what these leave open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from askew.late.prepared import Asked
from askew.late.scan import Scan
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["Candidates", "Final"]

#: Rows of queries, and their scores with some documents → what is ranked; it never falls where a score rises.
Final: TypeAlias = Callable[[IntArray, Float64Array], Float64Array]

# Candidates that may gather, a query and in all, before they are pruned.
_LOOSE, _LOOSE_IN_ALL = 4, 4096


class Candidates:
    """Documents that can still be among the k best of some query, as parallel arrays.

    Args:
        scan: what scores some of them exactly.
        asked: n queries.
        k: how many documents a query gets.
        final: rows of these queries, and their scores with some documents → what is ranked.
    """

    def __init__(self, scan: Scan, asked: Asked, k: int, final: Final) -> None:
        self.scan, self.asked, self.k, self.final = scan, asked, k, final
        self.tie_rank = scan.corpus.documents.tie_rank
        count = len(asked.starts)
        self.floor = np.full(count, -np.inf)
        self.limit = count * _LOOSE * k + _LOOSE_IN_ALL
        self.query, self.row = np.empty((2, 0), dtype=np.int64)
        self.low, self.high = np.empty((2, 0))
        self.waiting: list[tuple[IntArray, IntArray, Float64Array, Float64Array]] = []
        self.held = 0

    def offer(self, rows: IntArray, low: Float64Array, high: Float64Array) -> None:
        """Take in what reaches the floors: documents, and bounds of their (n, f) scores."""
        low, high = (self.final(np.arange(len(self.floor))[:, None], bound) for bound in (low, high))
        query, column = np.nonzero(high >= self.floor[:, None])
        self.waiting.append((query, rows[column], low[query, column], high[query, column]))
        self.held += len(query)
        if self.held > self.limit:
            self._prune()
            if self.held > self.limit // 2:  # mostly ties: settle them now
                self._settle()

    def settled(self) -> tuple[IntArray, Float64Array]:
        """(n, k) rows and exact scores, best first; documents without tokens last."""
        self._prune()
        self._settle()
        rows, scores = np.empty((len(self.floor), self.k), np.int64), np.full((len(self.floor), self.k), -np.inf)
        empty = np.setdiff1d(np.arange(len(self.tie_rank)), self.scan.corpus.filled)
        empty = empty[np.argsort(self.tie_rank[empty])]
        for query in range(len(self.floor)):
            places = np.flatnonzero(self.query == query)
            rows[query] = np.concatenate([self.row[places], empty[: self.k - len(places)]])
            scores[query, : len(places)] = self.low[places]
        return rows, scores

    def _prune(self) -> None:
        """Raise each query's floor to its k-th best lower bound, and drop what cannot reach it."""
        held = [(self.query, self.row, self.low, self.high), *self.waiting]
        query, row, low, high = (np.concatenate(parts) for parts in zip(*held, strict=True))
        order = np.lexsort((-low, query))
        starts = np.searchsorted(query[order], np.arange(len(self.floor)))
        full = np.flatnonzero(np.diff(np.append(starts, len(order))) >= self.k)
        self.floor[full] = np.maximum(self.floor[full], low[order[starts[full] + self.k - 1]])
        self._keep(query, row, low, high, np.flatnonzero(high >= self.floor[query]))

    def _settle(self) -> None:
        """Score every candidate exactly and keep the best k of each query, in order."""
        exact = np.empty(len(self.query))
        for query in np.unique(self.query):
            places = np.flatnonzero(self.query == query)
            scores = self.scan.scores_of(self.asked.only(query), self.row[places])
            exact[places] = self.final(self.query[places], scores)
        order = np.lexsort((self.tie_rank[self.row], -exact, self.query))
        starts = np.searchsorted(self.query[order], np.arange(len(self.floor)))
        place = np.arange(len(order)) - starts[self.query[order]]
        self._keep(self.query, self.row, exact, exact, order[place < self.k])

    def _keep(self, query: IntArray, row: IntArray, low: Float64Array, high: Float64Array, places: IntArray) -> None:
        self.query, self.row, self.low, self.high = query[places], row[places], low[places], high[places]
        self.waiting, self.held = [], len(places)
