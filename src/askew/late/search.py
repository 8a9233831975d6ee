"""Exact multi-vector search: a fast product bounds every score, and only what can win is settled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET
from askew.data import Run, TokenEmbeddings
from askew.errors import ParameterError
from askew.late.maxsim import maxsim_pairs, over_documents, query_blocks, scores_of
from askew.late.prepared import Asked, Corpus
from askew.late.routes import Scratch, find
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["MaxSimScorer", "search"]

# Candidates that may gather, a query and in all, before they are pruned.
_LOOSE, _LOOSE_IN_ALL = 4, 4096


def search(
    queries: TokenEmbeddings,
    documents: TokenEmbeddings,
    *,
    k: int = 100,
    mean: bool = False,
    query_mask: npt.ArrayLike | None = None,
    document_mask: npt.ArrayLike | None = None,
    budget: int = DEFAULT_BUDGET,
) -> Run:
    """The k best documents of every query by MaxSim, or by Signed MaxSim where tokens have weights, exactly.

    A document is dropped only if the upper bound of its score lies below the k-th best lower bound so far:
    at least k others settle above it. What is left is settled in a fixed order, so the ranking and its
    scores are the same to the last bit for every budget, block and thread count. Ties: score descending,
    then document id ascending. Documents without tokens come last, at -inf.

    Cost: one product of 2·t·T·d flops for t query and T document tokens, a maximum over it, and about k
    settled documents a query.

    Args:
        queries: n queries, each of a token or more.
        documents: m documents.
        k: how many documents a query gets; fewer when m < k.
        mean: divide each score by the number of query tokens; the ranking is the same.
        query_mask: as in `TokenEmbeddings.masked`.
        document_mask: likewise.
        budget: bytes of scratch.

    Raises:
        DimensionError: queries and documents do not meet in one dimension.
        EmbeddingError: a query has no tokens, a mask another shape, or scores could overflow.
        ParameterError: k is below 1.

    >>> docs = TokenEmbeddings(["a", "b"], np.eye(3), [0, 2, 3])
    >>> search(TokenEmbeddings(["q"], np.eye(3)[1:], [0, 2]), docs, k=2).documents("q")
    ('a', 'b')
    """
    if k < 1:
        raise ParameterError(f"k is {k}", where="k", remedy="Ask for at least one document")
    queries = queries if query_mask is None else queries.masked(query_mask)
    documents = documents if document_mask is None else documents.masked(document_mask)
    corpus = Corpus.prepare(documents, queries)
    k = min(k, len(documents))
    rows = np.empty((len(queries), k), dtype=np.int64)
    scores = np.empty((len(queries), k))
    for part in query_blocks(queries, budget):
        rows[part], scores[part] = _best(corpus, corpus.ask(queries, part), k, budget)
    if mean:
        scores /= queries.lengths[:, None]
    return Run.from_rows(queries.ids, documents.ids, rows, scores)


@dataclass(frozen=True)
class MaxSimScorer:
    """Scores some documents of a query by (Signed) MaxSim: what a two-stage search reranks with.

    Attributes:
        queries: token embeddings of queries.
        documents: those of documents.
        mean: divide each score by the number of query tokens.

    >>> side = TokenEmbeddings(["a", "b"], np.eye(2), [0, 1, 2])
    >>> MaxSimScorer(side, side).score("a", ["b", "a"]).tolist()
    [0.0, 1.0]
    """

    queries: TokenEmbeddings
    documents: TokenEmbeddings
    mean: bool = False

    def score(self, query: str, documents: Sequence[str]) -> Float64Array:
        """(r,) scores of some documents for one query.

        Raises:
            MatchError: the query or a document has no token embeddings.
        """
        one = self.queries.take([query])
        return maxsim_pairs(one, self.documents, [(query, name) for name in documents], mean=self.mean)


def _best(corpus: Corpus, asked: Asked, k: int, budget: int) -> tuple[IntArray, Float64Array]:
    """Top k of one block of queries: (n, k) rows and (n, k) exact scores."""
    found = _Candidates(corpus, asked, k, budget)
    for rows, (low, high) in over_documents(partial(find, asked, scratch=Scratch()), corpus, asked, budget=budget):
        found.offer(rows, low, high)
    return found.settled()


class _Candidates:
    """Documents that can still be among the k best of some query, as parallel arrays."""

    def __init__(self, corpus: Corpus, asked: Asked, k: int, budget: int) -> None:
        self.corpus, self.asked, self.k, self.budget = corpus, asked, k, budget
        count = len(asked.starts)
        self.floor = np.full(count, -np.inf)
        self.limit = count * _LOOSE * k + _LOOSE_IN_ALL
        self.query, self.row = np.empty((2, 0), dtype=np.int64)
        self.low, self.high = np.empty((2, 0))
        self.waiting: list[tuple[IntArray, IntArray, Float64Array, Float64Array]] = []
        self.held = 0

    def offer(self, rows: IntArray, low: Float64Array, high: Float64Array) -> None:
        """Take in what reaches the floors: documents, and bounds of their (n, f) scores."""
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
        empty = np.setdiff1d(np.arange(len(self.corpus.documents)), self.corpus.filled)
        empty = empty[np.argsort(self.corpus.documents.tie_rank[empty])]
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
            exact[places] = scores_of(self.asked.only(query), self.corpus, self.row[places], budget=self.budget)
        order = np.lexsort((self.corpus.documents.tie_rank[self.row], -exact, self.query))
        starts = np.searchsorted(self.query[order], np.arange(len(self.floor)))
        place = np.arange(len(order)) - starts[self.query[order]]
        self._keep(self.query, self.row, exact, exact, order[place < self.k])

    def _keep(self, query: IntArray, row: IntArray, low: Float64Array, high: Float64Array, places: IntArray) -> None:
        self.query, self.row, self.low, self.high = query[places], row[places], low[places], high[places]
        self.waiting, self.held = [], len(places)
