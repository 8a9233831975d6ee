"""Exact multi-vector search: a fast product bounds every score, and only what can win is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET
from askew.data import Run, TokenEmbeddings
from askew.late.candidates import Candidates, Final
from askew.late.given import check_k, check_tokens
from askew.late.maxsim import maxsim_pairs
from askew.late.prepared import Asked
from askew.late.scan import Scan
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["MaxSimScorer", "best", "search"]

# Blocks of documents, and bounds of the scores of some queries with them.
Bounds: TypeAlias = Callable[[Scan, Asked], Iterator[tuple[IntArray, tuple[Float64Array, Float64Array]]]]


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
        budget: bytes of scratch; the floor is as in `askew.late.maxsim`.

    Raises:
        DimensionError: queries and documents do not meet in one dimension.
        EmbeddingError: a query has no tokens, a mask another shape, or scores could overflow; or both sides are sparse
            vectors by different codes.
        ParameterError: k or the budget is no whole number from 1 on, or a side is no TokenEmbeddings.

    >>> docs = TokenEmbeddings(["a", "b"], np.eye(3), [0, 2, 3])
    >>> search(TokenEmbeddings(["q"], np.eye(3)[1:], [0, 2]), docs, k=2).documents("q")
    ('a', 'b')
    """
    check_tokens(queries=queries, documents=documents)
    queries = queries if query_mask is None else queries.masked(query_mask)
    documents = documents if document_mask is None else documents.masked(document_mask)
    rows, scores = best(queries, documents, k, budget=budget)
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

    def __post_init__(self) -> None:
        check_tokens(queries=self.queries, documents=self.documents)

    def score(self, query: str, documents: Sequence[str]) -> Float64Array:
        """(r,) scores of some documents for one query.

        Raises:
            MatchError: the query or a document has no token embeddings.
        """
        one = self.queries.take([query])
        return maxsim_pairs(one, self.documents, [(query, name) for name in documents], mean=self.mean)


def _unchanged(query: IntArray, scores: Float64Array) -> Float64Array:
    """Scores as they are."""
    del query
    return scores


def _by_finder(scan: Scan, asked: Asked) -> Iterator[tuple[IntArray, tuple[Float64Array, Float64Array]]]:
    """Bounds from the fastest finder there is."""
    return scan.over_documents(partial(scan.finder.bounds, asked), asked)


def best(
    queries: TokenEmbeddings,
    documents: TokenEmbeddings,
    k: int,
    final: Final = _unchanged,
    *,
    bounds: Bounds = _by_finder,
    budget: int = DEFAULT_BUDGET,
) -> tuple[IntArray, Float64Array]:
    """The k best documents of every query by a function of their scores that never falls.

    Args:
        queries: as for `search`.
        documents: likewise.
        k: likewise.
        final: rows of queries, and their scores with some documents → what is ranked. What it makes equal ties.
        bounds: where bounds of scores come from.
        budget: bytes of scratch.

    Returns:
        (n, k) rows of documents and (n, k) final scores, best first; k is at most the number of documents.

    Raises:
        DimensionError: as `search`.
        EmbeddingError: likewise.
        ParameterError: k is below 1.
    """
    check_tokens(queries=queries)
    check_k(k)
    scan = Scan.prepare(queries, documents, budget)
    k = min(k, len(documents))
    rows = np.empty((len(queries), k), dtype=np.int64)
    scores = np.empty((len(queries), k))
    if not k:
        return rows, scores
    for part, asked in scan.query_blocks():
        found = Candidates(scan, asked, k, partial(_shifted, final, part.start))
        for block, (low, high) in bounds(scan, asked):
            found.offer(block, low, high)
        rows[part], scores[part] = found.settled()
    return rows, scores


def _shifted(final: Final, start: int, query: IntArray, scores: Float64Array) -> Float64Array:
    return final(query + start, scores)
