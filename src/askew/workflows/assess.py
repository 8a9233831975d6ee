"""Assess: base against adapted on judged queries, with the runs behind the numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from askew.adapters import Adapter
from askew.adapters.adapter import Similarity
from askew.data import Dataset, Qrels, Run
from askew.evaluation import Comparison, Evaluation, compare, evaluate
from askew.operators import BilinearOperator
from askew.retrieval import search

__all__ = ["DEPTH", "MEASURES", "Assessment", "assess", "base_of", "depth_for", "search_judged"]

#: Documents retrieved a query at least: the depth that measures without a cutoff look to.
DEPTH = 100
#: What is measured unless the user says otherwise; the first one leads.
MEASURES = ("nDCG@10", "R@100")


@dataclass(frozen=True, eq=False)
class Assessment:
    """Base and adapted on the same queries.

    Attributes:
        base: by query.
        adapted: by query.
        comparisons: one a measure, in the order asked for.
        base_run: what the base retrieved.
        adapted_run: what the adapter retrieved.
    """

    base: Evaluation
    adapted: Evaluation
    comparisons: tuple[Comparison, ...]
    base_run: Run
    adapted_run: Run


def assess(
    dataset: Dataset,
    adapter: Adapter,
    *,
    measures: Sequence[str] = MEASURES,
    without: Collection[str] = (),
    seed: int = 0,
) -> Assessment | None:
    """Search with the base and with the adapter, and compare.

    Args:
        dataset: n judged queries.
        adapter: what to compare with its own base.
        measures: names that ir-measures knows.
        without: documents that leave runs, judgements and ideal (residual scoring); queries with no
            relevant document left are not counted.
        seed: of the resampling.

    Returns:
        None if no query is left to count, or no document that is judged for one.
    """
    if without:
        left = dataset.qrels.without_documents(without)
        answerable = [query for query in left.queries if left.positives(query)]
        left = left.only(answerable)
        embedded = any(query in dataset.queries for query in answerable)
        if not embedded or not any(document in dataset.documents for document in left.documents()):
            return None
        dataset = replace(dataset, qrels=left)
    depth = depth_for(measures)
    runs = [
        search_judged(dataset, tried, name=name, depth=depth, without=without)
        for name, tried in (("base", base_of(adapter)), ("adapted", adapter))
    ]
    base, adapted = (evaluate(run, dataset.qrels, measures) for run in runs)
    comparisons = tuple(compare(base, adapted, measure, seed=seed) for measure in base.values)
    return Assessment(base, adapted, comparisons, *runs)


def base_of(adapter: Adapter) -> Adapter:
    """The adapter's prior alone: what was there before any label."""
    return replace(adapter, operator=BilinearOperator(adapter.operator.prior))


def depth_for(measures: Sequence[str]) -> int:
    """How many documents a query has to get for some measures: the largest cutoff, at least `DEPTH`.

    Raises:
        ParameterError: there is no such measure.

    >>> depth_for(["nDCG@10", "AP"]), depth_for(["R(cutoff=1000)"])
    (100, 1000)
    """
    named = evaluate(Run({"q": {}}), Qrels({"q": {"d": 1}}), measures).values  # in the one spelling with an @
    cutoffs = (re.search(r"@(\d+)$", name) for name in named)
    return max([DEPTH, *(int(cutoff[1]) for cutoff in cutoffs if cutoff)])


def search_judged(
    dataset: Dataset,
    adapter: Adapter | None,
    *,
    name: str,
    depth: int = DEPTH,
    similarity: Similarity | None = None,
    without: Collection[str] = (),
) -> Run:
    """Search with the judged queries that have an embedding.

    Args:
        dataset: n judged queries.
        adapter: applied to the queries first, if there is one.
        name: what to call the run.
        depth: documents a query.
        similarity: ``"dot"`` or ``"cosine"``; the adapter's own by default, else dot.
        without: documents to leave out.
    """
    queries = dataset.queries.take([query for query in dataset.qrels.queries if query in dataset.queries])
    run = search(queries, dataset.documents, k=depth, adapter=adapter, similarity=similarity, without=without)
    run.name = name
    return run
