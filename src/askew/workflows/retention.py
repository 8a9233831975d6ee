"""Retention: how much of each encoder's own ranking a system keeps, and how well it ranks where judgements tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew.adapters import Adapter
from askew.adapters.adapter import Similarity
from askew.data import EmbeddingSet, Run, hash_order
from askew.evaluation import Comparison, Evaluation, compare, evaluate
from askew.linalg.fixed import Float64Array
from askew.retrieval import search
from askew.workflows.assess import depth_for
from askew.workflows.two_encoders import ALIGNED, COSTS, FUSED, OLD, REINDEXED, TwoEncoders

__all__ = ["DEPTH", "Kept", "Standing", "aligned_on_held_out", "overlap", "retention", "standings"]

#: The first results that are compared.
DEPTH = 10
# Held-out documents that stand for queries at most: the standard error of an overlap is then below 0.02.
_MOST = 500
_HELD_OUT = "held-out documents"


@dataclass(frozen=True)
class Kept:
    """How much of two rankings a system's first ten results keep, on the mean over what was asked.

    Attributes:
        system: whose results.
        asked: ``"held-out documents"`` or ``"queries"``.
        count: how many were asked.
        documents: among how many.
        of_query_encoder: the share that the query encoder has too, over documents of its own.
        of_document_encoder: the share that the document encoder has too; None without its queries.
    """

    system: str
    asked: str
    count: int
    documents: int
    of_query_encoder: float
    of_document_encoder: float | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False)
class Standing:
    """How well a system ranks judged queries.

    Attributes:
        system: which.
        cost: what it costs, in words.
        evaluation: by query.
        against: the document encoder alone against it, by the first measure; None for itself and without it.
    """

    system: str
    cost: str
    evaluation: Evaluation
    against: Comparison | None

    @property
    def mean(self) -> float:
        """Of the first measure."""
        return self.evaluation.mean(next(iter(self.evaluation.values)))

    def to_json(self) -> dict[str, Any]:
        """As plain values, without the queries."""
        means = {name: self.evaluation.mean(name) for name in self.evaluation.values}
        against = None if self.against is None else self.against.to_json()
        return {"system": self.system, "cost": self.cost, "means": means, "against_document_encoder": against}


def overlap(first: Run, second: Run, *, depth: int = DEPTH) -> Float64Array:
    """(n,) for each query of both runs: the share of the first results of one that are among those of the other.

    >>> one, two = Run({"q": {"a": 2.0, "b": 1.0}}), Run({"q": {"a": 2.0, "c": 1.0}})
    >>> overlap(one, two, depth=2).tolist()
    [0.5]
    """
    shares = []
    for query in first.queries:
        if query in second:
            held = set(first.documents(query)[:depth])
            shares.append(len(held.intersection(second.documents(query)[:depth])) / max(len(held), 1))
    return np.array(shares)


def aligned_on_held_out(kept: Sequence[Kept]) -> Kept | None:
    """What the aligned system keeps for documents that its map has not seen; None where none were held out."""
    return next((one for one in kept if one.system == ALIGNED and one.asked == _HELD_OUT), None)


def retention(
    task: TwoEncoders,
    held_out: Sequence[str],
    *,
    judged: Mapping[str, Adapter],
    final: Mapping[str, Adapter],
    similarity: Similarity = "dot",
) -> tuple[Kept, ...]:
    """What the systems keep of both encoders' rankings, over the documents that both have embedded.

    Args:
        task: by two encoders.
        held_out: ids of documents that stand for queries; each is left out of its own results.
        judged: system → adapter that has not seen these.
        final: system → adapter for real queries.
        similarity: as the index scores.
    """
    both = task.only_common()
    names = sorted(hash_order([name for name in held_out if name in both.index])[:_MOST])
    found: list[Kept] = []
    if names:
        queries, own = both.documents.take(names), both.index.take(names)
        asked = TwoEncoders(both.name, both.index, both.documents, queries, own)
        found += _kept(asked, judged, _HELD_OUT, similarity, exclude_self=True)
    if both.queries is not None:
        known = both.own_queries
        named = both.queries.ids if both.qrels is None else both.qrels.queries
        names = [name for name in named if name in both.queries and (known is None or name in known)]
        own_queries = None if known is None else known.take(names)
        asked = TwoEncoders(both.name, both.index, both.documents, both.queries.take(names), own_queries)
        found += _kept(asked, final, "queries", similarity, exclude_self=False) if names else []
    return tuple(found)


def _kept(
    task: TwoEncoders, adapters: Mapping[str, Adapter], asked: str, similarity: Similarity, *, exclude_self: bool
) -> list[Kept]:
    def run(system: str, documents: EmbeddingSet) -> Run | None:
        queries = task.asked(system)
        if queries is None:
            return None
        adapter = adapters.get(system)
        return search(queries, documents, k=DEPTH, adapter=adapter, similarity=similarity, exclude_self=exclude_self)

    theirs, own = run(REINDEXED, task.documents), run(OLD, task.index)
    found = []
    for system in (OLD, ALIGNED, FUSED):
        ranked = own if system == OLD else run(system, task.index)
        if ranked is None or theirs is None:
            continue
        of_own = None if own is None else float(overlap(ranked, own).mean())
        of_theirs = float(overlap(ranked, theirs).mean())
        found.append(Kept(system, asked, len(ranked), len(task.index), of_theirs, of_own))
    return found


def standings(
    task: TwoEncoders,
    adapters: Mapping[str, Adapter],
    *,
    measures: Sequence[str],
    similarity: Similarity = "dot",
    seed: int = 0,
) -> tuple[Standing, ...]:
    """Every system that the task has vectors for, on the judged queries that each encoder in play has embedded.

    Args:
        task: by two encoders, with judgements.
        adapters: system → adapter, of those that have one.
        measures: names that ir-measures knows; the first one leads.
        similarity: as the index scores.
        seed: of the resampling.

    Returns:
        Empty without judgements or queries.
    """
    found: dict[str, Evaluation] = {}
    common = task.judged_by_all
    for system in (OLD, ALIGNED, FUSED, REINDEXED):
        dataset = task.dataset(system) if system != REINDEXED or task.reindexed else None
        if dataset is None or not common:
            continue
        depth, adapter = depth_for(measures), adapters.get(system)
        run = search(dataset.queries.take(common), dataset.documents, k=depth, adapter=adapter, similarity=similarity)
        run.name = system
        found[system] = evaluate(run, dataset.qrels.only(common), measures)
    own = found.get(OLD)
    return tuple(
        Standing(
            system,
            COSTS[system],
            evaluation,
            None
            if own is None or system == OLD
            else compare(own, evaluation, next(iter(evaluation.values)), seed=seed),
        )
        for system, evaluation in found.items()
    )
