"""MaxSim and Signed MaxSim: all pairs, some pairs, and why a pair scores what it does.

    MaxSim(Q, D)  = Σ_q max_d ⟨q, d⟩
    Signed(Q, D)  = Σ_q s_q t_{d*} ⟨q, d*⟩,    d* = argmax_d ⟨q, d⟩, the lowest index among equals

A query token is routed by the raw similarity alone; then the signs or weights of both tokens, s and t,
multiply it. So a token can count against a document, which a sum of maxima cannot do. With all weights 1
the two are the same, and there is one code for both.

Similarities of unit tokens lie in [-1, 1], so MaxSim lies within ± the number of query tokens: a raw score
is no percentage. ``mean=True`` divides by that number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET, rows_within
from askew.data import TokenEmbeddings
from askew.late.prepared import Asked, Block, Corpus
from askew.late.routes import Scratch, query_sums, settle
from askew.linalg import blas_threads, side_by_side
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["Match", "explain", "maxsim", "maxsim_pairs", "over_documents", "query_blocks", "scores_of"]

_Result = TypeVar("_Result")

# Query tokens a product: from here on a larger one runs no faster.
_MOST_QUERY_TOKENS = 512
# Document tokens a product, or more for few query tokens: the result stays in cache (2^20 float32 are 4 MiB).
_MOST_DOCUMENT_TOKENS, _MOST_ENTRIES = 2048, 2**18
# What an entry of a product costs where every token is a candidate: itself, its mark, its place and its score.
_BYTES_AN_ENTRY = 48


@dataclass(frozen=True, kw_only=True)
class Match:
    """What one query token met in a document.

    Attributes:
        query_token: its index in the query.
        document_token: the index in the document of the token that it was routed to.
        similarity: their inner product.
        query_weight: the query token's sign or weight.
        document_weight: the document token's.
        contribution: the product of the three, as it enters the score.
    """

    query_token: int
    document_token: int
    similarity: float
    query_weight: float
    document_weight: float
    contribution: float


def maxsim(
    queries: TokenEmbeddings,
    documents: TokenEmbeddings,
    *,
    query_mask: npt.ArrayLike | None = None,
    document_mask: npt.ArrayLike | None = None,
    mean: bool = False,
    budget: int = DEFAULT_BUDGET,
) -> Float64Array:
    """Scores of all pairs, signed where tokens have weights.

    Every score is settled in float64 in a fixed order: the same bits for every budget, block and thread
    count. To rank a corpus, `askew.late.search` settles only what can be among the first k.

    Cost: one product of 2·t·T·d flops for t query and T document tokens, and a rescored row of d for each
    query token and document. Scratch stays within the budget.

    Args:
        queries: n queries, each of a token or more.
        documents: m documents; one without tokens scores -inf.
        query_mask: as in `TokenEmbeddings.masked`.
        document_mask: likewise. What is masked never enters a maximum.
        mean: divide each score by the number of query tokens.
        budget: bytes of scratch.

    Returns:
        (n, m) float64, never NaN.

    Raises:
        DimensionError: queries and documents do not meet in one dimension.
        EmbeddingError: a query has no tokens, a mask another shape, or scores could overflow.

    >>> queries = TokenEmbeddings(["q"], [[-1.0, 0.0]], [0, 1])
    >>> documents = TokenEmbeddings(["d"], [[1.0, 0.0], [0.0, 0.0]], [0, 2])
    >>> maxsim(queries, documents).tolist()  # the zero token hides the negative match
    [[0.0]]
    >>> queries = TokenEmbeddings(["q"], [[1.0, 0.0]], [0, 1], weights=[-1])
    >>> maxsim(queries, documents).tolist()
    [[-1.0]]
    """
    queries = queries if query_mask is None else queries.masked(query_mask)
    documents = documents if document_mask is None else documents.masked(document_mask)
    corpus = Corpus.prepare(documents, queries)
    scores = np.full((len(queries), len(documents)), -np.inf)
    for part in query_blocks(queries, budget):
        asked = corpus.ask(queries, part)
        for rows, found in over_documents(partial(_scores, asked, Scratch()), corpus, asked, budget=budget):
            scores[part, rows] = found
    return _averaged(scores, queries.lengths[:, None]) if mean else scores


def maxsim_pairs(
    queries: TokenEmbeddings,
    documents: TokenEmbeddings,
    pairs: Iterable[tuple[str, str]],
    *,
    mean: bool = False,
    budget: int = DEFAULT_BUDGET,
) -> Float64Array:
    """Scores of some pairs; each has the bits that `maxsim` gives it.

    Args:
        queries: as for `maxsim`.
        documents: likewise.
        pairs: p pairs of a query's and a document's id.
        mean: divide each score by the number of query tokens.
        budget: bytes of scratch.

    Returns:
        (p,) float64, never NaN.

    Raises:
        MatchError: an id is not here.
        DimensionError: queries and documents do not meet in one dimension.
        EmbeddingError: a query has no tokens, or scores could overflow.

    >>> side = TokenEmbeddings(["a", "b"], np.eye(2), [0, 1, 2])
    >>> maxsim_pairs(side, side, [("a", "a"), ("a", "b")]).tolist()
    [1.0, 0.0]
    """
    listed = list(pairs)
    query = queries.rows(name for name, _ in listed)
    document = documents.rows(name for _, name in listed)
    corpus = Corpus.prepare(documents, queries)
    scores = np.full(len(listed), -np.inf)
    for row in np.unique(query):
        asked = corpus.ask(queries, slice(int(row), int(row) + 1))
        places = np.flatnonzero((query == row) & (documents.lengths[document] > 0))
        scores[places] = scores_of(asked, corpus, document[places], budget=budget)
    return _averaged(scores, queries.lengths[query]) if mean else scores


def explain(queries: TokenEmbeddings, documents: TokenEmbeddings, query: str, document: str) -> tuple[Match, ...]:
    """Why a pair scores what it does: a match for each query token; their contributions sum to the score.

    Args:
        queries: as for `maxsim`.
        documents: likewise.
        query: a query's id.
        document: a document's id; one without tokens gives no match.

    Raises:
        MatchError: an id is not here.

    >>> asked = TokenEmbeddings(["q"], np.eye(2), [0, 2], weights=[1, -1])
    >>> told = explain(asked, TokenEmbeddings(["d"], [[0.2, 0.9]], [0, 1]), "q", "d")
    >>> [(match.document_token, match.contribution) for match in told]
    [(0, 0.2), (0, -0.9)]
    """
    one, other = queries.take([query]), documents.take([document])
    corpus = Corpus.prepare(other, one)
    if not len(corpus.filled):
        return ()
    asked, block = corpus.ask(one, slice(0, 1)), corpus.block(corpus.filled)
    routes = settle(asked, block, Scratch())
    weights = np.ones(len(block.tokens)) if block.weights is None else block.weights
    return tuple(
        Match(
            query_token=place,
            document_token=int(routes.token[place, 0]),
            similarity=float(routes.similarity[place, 0]),
            query_weight=float(asked.weights[place]),
            document_weight=float(weights[routes.token[place, 0]]),
            contribution=float(routes.contribution[place, 0]),
        )
        for place in range(len(asked.tokens))
    )


def query_blocks(queries: TokenEmbeddings, budget: int) -> Iterator[slice]:
    """Queries that are multiplied together."""
    most = rows_within(budget // 8, 32 * queries.dim, most=_MOST_QUERY_TOKENS)
    for rows in _by_tokens(np.arange(len(queries)), queries.lengths, most):
        yield slice(int(rows[0]), int(rows[-1]) + 1)


def over_documents(
    work: Callable[[Block], _Result],
    corpus: Corpus,
    asked: Asked,
    rows: IntArray | None = None,
    *,
    budget: int,
) -> Iterator[tuple[IntArray, _Result]]:
    """Some work on blocks of documents, side by side on as many threads as the BLAS may use.

    Args:
        work: what to do with a block.
        corpus: the documents.
        asked: the queries.
        rows: documents that are not empty; all of these by default.
        budget: bytes for all threads together.

    Yields:
        The documents of a block, and what the work gave, in order.
    """
    workers = blas_threads()
    count = len(asked.tokens)
    cost = _BYTES_AN_ENTRY * count + 16 * corpus.documents.dim
    most = rows_within(budget // workers, cost, most=max(_MOST_DOCUMENT_TOKENS, _MOST_ENTRIES // count))
    chosen = corpus.filled if rows is None else rows
    if int(corpus.documents.lengths[chosen].sum()) <= most:  # threads would cost more than they bring
        if len(chosen):
            yield chosen, work(corpus.block(chosen))
        return
    with side_by_side(workers) as each:
        yield from each(
            lambda part: (part, work(corpus.block(part))), _by_tokens(chosen, corpus.documents.lengths, most)
        )


def scores_of(asked: Asked, corpus: Corpus, rows: IntArray, *, budget: int) -> Float64Array:
    """(r,) exact scores of some documents, none of them empty, for one query."""
    found = [
        part[0] for _, part in over_documents(partial(_scores, asked, Scratch()), corpus, asked, rows, budget=budget)
    ]
    return np.concatenate([np.empty(0), *found])


def _scores(asked: Asked, scratch: Scratch, block: Block) -> Float64Array:
    return query_sums(settle(asked, block, scratch), asked)


def _by_tokens(rows: IntArray, lengths: IntArray, most: int) -> Iterator[IntArray]:
    """Cut rows into runs of at most so many tokens, and at least one row."""
    ends = np.cumsum(lengths[rows])
    begin = 0
    while begin < len(rows):
        held = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, held + most, side="right")))
        yield rows[begin:end]
        begin = end


def _averaged(scores: Float64Array, tokens: IntArray) -> Float64Array:
    return scores / np.maximum(tokens, 1)
