"""Mining report: how many negatives there were, and how many of them are likely to be relevant after all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from askew.adapters.adapter import Similarity
from askew.data import Dataset, Finding, hash_order, stable_hash
from askew.estimators import Labels, Mining, mine
from askew.linalg.fixed import IntArray
from askew.operators import Term, Zero

__all__ = ["FalseNegatives", "false_negatives", "report_mining"]


# With fewer queries that have two relevant documents a share says nothing.
_FEWEST_QUERIES = 20
# 16 negatives each make thousands: the share is sharp enough, and a long search is spared.
_MOST_QUERIES = 200
# More queries than this with under half of the negatives wanted are worth a warning.
_MANY = 0.25
# A margin below the default that turns away so many times what is wanted, or this share of the corpus, for most
# queries leaves easy negatives.
_TIMES_WANTED = 4
_SHARE_OF_CORPUS = 0.25
_LARGER = "Allow a larger one: --margin, or fit(data, mining=Mining(margin=1.0))"


@dataclass(frozen=True)
class FalseNegatives:
    """What mining found of relevant documents that it was not told of.

    Attributes:
        queries: how many queries took part.
        hidden: relevant documents kept from the miner.
        mined: negatives that it mined.
        found: hidden relevant documents among them.
    """

    queries: int
    hidden: int
    mined: int
    found: int

    @property
    def rate(self) -> float:
        """The share of mined negatives that are relevant; 0 if none was mined."""
        return self.found / self.mined if self.mined else 0.0

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {**asdict(self), "rate": self.rate}


def false_negatives(
    dataset: Dataset,
    labels: Labels,
    prior: Term,
    mining: Mining,
    *,
    similarity: Similarity = "dot",
    seed: int = 0,
) -> FalseNegatives | None:
    """Hide half of each query's relevant documents, by hash, mine, and count those that come back.

    Judgements are never complete, so what stands unjudged in the corpus may be relevant as well: where
    judges looked deeper, this says how often. It takes at most 200 queries, by hash.

    Args:
        dataset: the corpus.
        labels: n training queries.
        prior: M0, under which negatives are mined.
        mining: the policy.
        similarity: ``"dot"`` or ``"cosine"``.
        seed: of the hashes.

    Returns:
        None if fewer than 20 queries have two relevant documents, or none is mined at all.
    """
    counts = np.bincount(labels.pair_query, minlength=len(labels))
    deep = np.flatnonzero(counts >= 2).tolist()  # a half each to hide and to show
    if len(deep) < _FEWEST_QUERIES or mining.count == 0:
        return None
    row_of = {labels.query_ids[row]: row for row in deep}
    taken = sorted(row_of[name] for name in hash_order(row_of, seed=seed)[:_MOST_QUERIES])
    halves = [_halves(labels, query, dataset.documents.ids, seed) for query in taken]
    mined = mine(
        prior.left_apply(labels.queries[taken]),
        dataset.documents,
        pair_query=np.repeat(np.arange(len(taken)), [len(shown) for _, shown in halves]),
        pair_row=np.array([row for _, shown in halves for row in shown], dtype=np.int64),
        mining=mining,
        similarity=similarity,
        seed=seed,
    ).rows
    found = sum(len({*hidden}.intersection(held)) for (hidden, _), held in zip(halves, mined.tolist(), strict=True))
    return FalseNegatives(len(taken), sum(len(hidden) for hidden, _ in halves), int(np.sum(mined >= 0)), found)


def _halves(labels: Labels, query: int, ids: Sequence[str], seed: int) -> tuple[list[int], list[int]]:
    """Rows of a query's relevant documents: those to hide, by hash, and those to show."""
    own = labels.item_row[labels.pair_item[labels.pair_query == query]].tolist()
    own.sort(key=lambda row: stable_hash(f"{labels.query_ids[query]}\t{ids[row]}", f"hide-{seed}"))
    return own[: len(own) // 2], own[len(own) // 2 :]


def report_mining(
    dataset: Dataset,
    labels: Labels,
    prior: Term,
    mining: Mining,
    *,
    similarity: Similarity = "dot",
    seed: int = 0,
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """What was mined, and what is odd about it.

    Args:
        dataset: the corpus.
        labels: n training queries with their negatives.
        prior: M0, under which they were mined.
        mining: the policy.
        similarity: ``"dot"`` or ``"cosine"``.
        seed: of the hashes.

    Returns:
        Counts as plain values; a note on them, and a warning if many queries have too few negatives,
        or if a margin below the default turns most of the hard ones away.
    """
    hidden = false_negatives(dataset, labels, prior, mining, similarity=similarity, seed=seed)
    kept = np.sum(labels.mined.rows >= 0, axis=1)
    lacking = np.flatnonzero(2 * kept < mining.count)
    facts = {
        "policy": mining.policy,
        "margin": mining.margin,
        **labels.mined.to_json(),
        "queries_with_under_half": len(lacking),
        "false_negatives": None if hidden is None else hidden.to_json(),
    }
    if mining.count == 0:
        return facts, ()
    message = f"{facts['mean_kept']:.1f} of {mining.count} negatives wanted were mined a query"
    if mining.policy == "margin":
        message += f"; the margin turned {facts['mean_rejected_by_margin']:.1f} higher-ranked documents away"
    if hidden is not None:
        message += (
            f"; with half of the relevant documents of {hidden.queries:,} queries hidden, {hidden.rate:.1%} of the "
            "negatives mined were hidden relevant documents"
        )
    note = Finding("mined-negatives", "note", message, len(labels))
    # A base that scores everything 0 has no hard negatives, and that there is no base has been said.
    if isinstance(prior, Zero):
        return facts, (note,)
    if len(lacking) > _MANY * len(labels):
        return facts, (note, _few(labels, lacking, mining))
    return facts, (note, *_easy(labels, mining, len(dataset.documents)))


def _easy(labels: Labels, mining: Mining, documents: int) -> tuple[Finding, ...]:
    turned = float(np.median(labels.mined.rejected)) if len(labels) else 0.0
    if mining.margin >= Mining.margin or turned <= min(_TIMES_WANTED * mining.count, _SHARE_OF_CORPUS * documents):
        return ()
    message = (
        f"the margin of {mining.margin:g} turned away {turned:,.0f} higher-ranked documents or more for half of the "
        "queries, so that their negatives are easy ones"
    )
    return (Finding("easy-negatives", "warning", message, len(labels), remedy=_LARGER),)


def _few(labels: Labels, lacking: IntArray, mining: Mining) -> Finding:
    # Else there are too few documents, or too many copies of relevant ones.
    by_margin = mining.margin < 1 and bool(np.mean(labels.mined.rejected[lacking] > 0) > 1 / 2)
    cause, remedy = (
        (f"the margin of {mining.margin:g}", _LARGER)
        if by_margin
        else ("the corpus", "Add documents to it that are no copies of relevant ones")
    )
    return Finding(
        "few-negatives",
        "warning",
        f"{cause} left {len(lacking):,} of {len(labels):,} queries with under half of the {mining.count} negatives "
        "wanted",
        len(lacking),
        tuple(labels.query_ids[row] for row in lacking[:5]),
        remedy,
    )
