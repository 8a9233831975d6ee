"""Assess: base against adapted on judged queries, with the runs behind the numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from askew.adapters import Adapter
from askew.data import Dataset, Run
from askew.evaluation import Comparison, Evaluation, compare, evaluate
from askew.operators import BilinearOperator
from askew.retrieval import search

__all__ = ["DEPTH", "MEASURES", "Assessment", "assess", "base_of", "search_judged"]

#: Documents retrieved a query, the depth that measures without a cutoff look to.
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
    runs = [
        search_judged(dataset, tried, name=name, without=without)
        for name, tried in (("base", base_of(adapter)), ("adapted", adapter))
    ]
    base, adapted = (evaluate(run, dataset.qrels, measures) for run in runs)
    comparisons = tuple(compare(base, adapted, measure, seed=seed) for measure in base.values)
    return Assessment(base, adapted, comparisons, *runs)


def base_of(adapter: Adapter) -> Adapter:
    """The adapter's prior alone: what was there before any label."""
    return replace(adapter, operator=BilinearOperator(adapter.operator.prior))


def search_judged(
    dataset: Dataset, adapter: Adapter | None, *, name: str, depth: int = DEPTH, without: Collection[str] = ()
) -> Run:
    """Search with the judged queries that have an embedding."""
    queries = dataset.queries.take([query for query in dataset.qrels.queries if query in dataset.queries])
    run = search(queries, dataset.documents, k=depth, adapter=adapter, without=without)
    run.name = name
    return run
