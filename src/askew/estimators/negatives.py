"""Hard negatives: documents that rank high for a query and are not known to answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from askew._checks import check_count, is_number
from askew.adapters.adapter import Similarity
from askew.data import EmbeddingSet, stable_hash
from askew.errors import ParameterError
from askew.linalg import FloatArray, row_dots, row_norms, top_k
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["Mined", "Mining", "mine"]


# A copy of a relevant document under another id answers the query too.
_NEAR_DUPLICATE = 0.999
# As deep as the published rule looks before it gives a query up.
_DEEPEST = 2000


@dataclass(frozen=True)
class Mining:
    """How negatives are chosen.

    Attributes:
        policy: ``"margin"``: the highest-ranked documents that score below `margin` times the best
            relevant document (TopK-PercPos; de Souza P. Moreira et al., "NV-Retriever", 2024);
            ``"top"``: the highest-ranked, whatever they score; ``"random"``: any, drawn by hash.
        count: negatives a query.
        margin: of the relevant document's score, at most 1.

    Raises:
        ParameterError: an unknown policy, a count that is negative or not whole, or a margin outside (0, 1].

    >>> Mining("top", count=4)
    Mining(policy='top', count=4, margin=0.95)
    """

    policy: Literal["margin", "top", "random"] = "margin"
    count: int = 8
    margin: float = 0.95

    def __post_init__(self) -> None:
        if self.policy not in ("margin", "top", "random"):
            raise ParameterError(f"there is no policy {self.policy!r}", remedy="Say margin, top or random")
        check_count(self.count, "negatives a query", least=0, where="count")
        if not is_number(self.margin) or not 0 < self.margin <= 1:
            raise ParameterError(f"the margin is {self.margin!r}", remedy="Give a number above 0 and at most 1")


@dataclass(frozen=True, eq=False)
class Mined:
    """What was mined.

    Attributes:
        rows: (n, c) rows of the corpus, hardest first; -1 where a query has fewer.
        rejected: (n,) higher-ranked documents that the margin turned away.
    """

    rows: IntArray
    rejected: IntArray

    def to_json(self) -> dict[str, Any]:
        """Counts a query, as plain values."""
        kept = np.sum(self.rows >= 0, axis=1)
        wanted = self.rows.shape[1]
        return {
            "wanted": wanted,
            "mean_kept": float(kept.mean()) if len(kept) else 0.0,
            "queries_with_fewer": int(np.sum(kept < wanted)),
            "queries_with_none": int(np.sum(kept == 0)),
            "mean_rejected_by_margin": float(self.rejected.mean()) if len(kept) else 0.0,
        }


def mine(
    adapted: FloatArray,
    documents: EmbeddingSet,
    *,
    pair_query: IntArray,
    pair_row: IntArray,
    mining: Mining,
    similarity: Similarity = "dot",
    seed: int = 0,
) -> Mined:
    """Mine negatives for every query.

    A query's relevant documents, and documents whose vectors are copies of one (cosine of at least
    0.999), are never among its negatives. A margin of a score at or below 0 would turn the rule
    around, so the limit is always below the score: s - (1 - margin)·|s|.

    Cost: one exact search to depth of about 4·count, and a deeper one for the queries that it does
    not serve.

    Args:
        adapted: (n, d_document) queries as they search now, under the prior.
        documents: (m, d_document).
        pair_query: (p,) ascending rows of `adapted`.
        pair_row: (p,) rows of relevant documents.
        mining: the policy.
        similarity: ``"dot"`` or ``"cosine"``.
        seed: of the hash, for random negatives.

    Returns:
        Rows of (n, mining.count).

    >>> documents = EmbeddingSet("abc", np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0]]))
    >>> own = {"pair_query": np.array([0, 1]), "pair_row": np.array([0, 2])}
    >>> mine(np.eye(2), documents, mining=Mining(count=1), **own).rows.tolist()
    [[1], [1]]
    """
    known = _Known(documents, pair_query, pair_row, len(adapted))
    rows = np.full((len(adapted), mining.count), -1, dtype=np.int64)
    rejected = np.zeros(len(adapted), dtype=np.int64)
    if mining.count == 0 or not len(documents):
        return Mined(rows, rejected)
    if mining.policy == "random":
        return Mined(_random_rows(known, len(documents), mining.count, seed), rejected)
    limits = _limits(adapted, documents, pair_query, pair_row, mining, similarity)
    wanted, depth = np.arange(len(adapted)), 4 * mining.count + int(known.counts.max(initial=0))
    deepest = min(max(depth, _DEEPEST), len(documents))
    while len(wanted):
        depth = min(depth, deepest)
        found, scores = _search(adapted[wanted], documents, depth, similarity)
        for query, ranked, values in zip(wanted.tolist(), found, scores, strict=True):
            allowed = known.allows(query, ranked)
            below = allowed & (values < limits[query])
            kept = ranked[below][: mining.count]
            rows[query, : len(kept)] = kept
            rejected[query] = int(np.sum(allowed & ~below))
        if depth == deepest:
            break
        wanted = wanted[rows[wanted, -1] < 0]
        depth *= 8
    return Mined(rows, rejected)


class _Known:
    """The relevant documents of each query, and what is a copy of one."""

    def __init__(self, documents: EmbeddingSet, pair_query: IntArray, pair_row: IntArray, queries: int) -> None:
        self.documents = documents
        self.pair_row = pair_row
        self.starts = np.searchsorted(pair_query, np.arange(queries + 1))
        self.counts = np.diff(self.starts)

    def allows(self, query: int, ranked: IntArray) -> npt.NDArray[np.bool_]:
        """(c,) which documents may be negatives of a query."""
        positives = self.pair_row[self.starts[query] : self.starts[query + 1]]
        left, right = self.documents.unit(ranked), self.documents.unit(positives)
        cosine = left @ right.T
        row, column = np.nonzero(np.abs(cosine - _NEAR_DUPLICATE) < 1e-9)  # decided in a fixed order
        cosine[row, column] = row_dots(left[row], right[column])
        return ~np.isin(ranked, positives) & (cosine < _NEAR_DUPLICATE).all(axis=1)


def _limits(
    adapted: FloatArray,
    documents: EmbeddingSet,
    pair_query: IntArray,
    pair_row: IntArray,
    mining: Mining,
    similarity: Similarity,
) -> Float64Array:
    """(n,) the score that a negative of each query must stay below."""
    limits = np.full(len(adapted), np.inf)
    if mining.policy == "top":
        return limits
    scores = row_dots(adapted[pair_query], documents.matrix[pair_row])
    if similarity == "cosine":
        length = row_norms(adapted)[pair_query] * documents.norms[pair_row]
        scores = np.divide(scores, length, out=np.zeros_like(scores), where=length > 0)
    best = np.full(len(adapted), -np.inf)
    np.maximum.at(best, pair_query, scores)
    return np.where(np.isfinite(best), best - (1 - mining.margin) * np.abs(best), np.inf)


def _search(
    adapted: FloatArray, documents: EmbeddingSet, depth: int, similarity: Similarity
) -> tuple[IntArray, Float64Array]:
    return top_k(
        adapted,
        documents.matrix,
        k=depth,
        tie_rank=documents.tie_rank,
        cosine=similarity == "cosine",
        document_norms=documents.norms,
    )


def _random_rows(known: _Known, documents: int, count: int, seed: int) -> IntArray:
    rows = np.full((len(known.counts), count), -1, dtype=np.int64)
    for query, row in enumerate(rows):
        rng = np.random.default_rng(stable_hash(str(query), f"random-negatives-{seed}"))
        size = min(count + 8 * (int(known.counts[query]) + 1), documents)
        drawn = rng.choice(documents, size, replace=False)
        kept = drawn[known.allows(query, drawn)]
        if len(kept) < count and size < documents:  # copies of relevant documents are many: look at everything
            drawn = rng.permutation(documents)
            kept = drawn[known.allows(query, drawn)]
        row[: min(count, len(kept))] = kept[:count]
    return rows
