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

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET
from askew.data import TokenEmbeddings
from askew.late.given import check_tokens
from askew.late.scan import Scan
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["Match", "explain", "maxsim", "maxsim_pairs"]


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
    query token and document. Scratch stays within the budget, but for a floor: a query and a document are never
    split, so the product of the tokens of one by those of the other is held whole.

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
    check_tokens(queries=queries, documents=documents)
    queries = queries if query_mask is None else queries.masked(query_mask)
    documents = documents if document_mask is None else documents.masked(document_mask)
    scan = Scan.prepare(queries, documents, budget)
    scores = np.full((len(queries), len(documents)), -np.inf)
    for part, asked in scan.query_blocks():
        for rows, found in scan.over_documents(partial(scan.settled, asked), asked):
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
    check_tokens(queries=queries, documents=documents)
    listed = list(pairs)
    query = queries.rows(name for name, _ in listed)
    document = documents.rows(name for _, name in listed)
    products = int(queries.lengths[query] @ documents.lengths[document])
    scan = Scan.prepare(queries, documents, budget, products=products)
    scores = np.full(len(listed), -np.inf)
    for row in np.unique(query):
        places = np.flatnonzero((query == row) & (documents.lengths[document] > 0))
        scores[places] = scan.scores_of(scan.ask(slice(int(row), int(row) + 1)), document[places])
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
    check_tokens(queries=queries, documents=documents)
    one, other = queries.take([query]), documents.take([document])
    scan = Scan.prepare(one, other, DEFAULT_BUDGET)
    if not len(scan.corpus.filled):
        return ()
    asked, block = scan.ask(slice(0, 1)), scan.corpus.block(scan.corpus.filled)
    routes = scan.finder.settle(asked, block)
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


def _averaged(scores: Float64Array, tokens: IntArray) -> Float64Array:
    return scores / np.maximum(tokens, 1)
