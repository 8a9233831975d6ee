"""Assess: base against adapted on judged queries, memory told apart from what holds for other documents."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from askew.adapters import Adapter, Seen
from askew.adapters.adapter import Similarity
from askew.data import Dataset, Finding, Qrels, Run
from askew.errors import counted
from askew.evaluation import Comparison, Evaluation, compare, evaluate
from askew.operators import BilinearOperator
from askew.retrieval import search

__all__ = [
    "CLASSES",
    "DEPTH",
    "MEASURES",
    "Assessment",
    "Parts",
    "assess",
    "assess_parts",
    "base_of",
    "cut",
    "depth_for",
    "remembered",
    "residual",
    "search_judged",
    "trained_on",
]

#: Documents retrieved a query at least: the depth that measures without a cutoff look to.
DEPTH = 100
#: What is measured unless the user says otherwise; the first one leads.
MEASURES = ("nDCG@10", "R@100")
#: Relevant documents by what training knew of them, in the order of `Seen.split_documents`.
CLASSES = ("positive in training", "negative only", "never seen")


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


#: Which documents were counted, and base against adapted over them.
Parts = tuple[tuple[str, Assessment], ...]


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
    left = residual(dataset, without)
    if left is None:
        return None
    return _assessment(_search_both(left, adapter, depth_for(measures), without), left.qrels, measures, seed)


def assess_parts(
    dataset: Dataset,
    adapter: Adapter,
    seen: Seen | None,
    *,
    measures: Sequence[str] = MEASURES,
    seed: int = 0,
) -> Parts:
    """Compare with the base over all documents, over unseen ones, and by what training knew of them.

    "unseen" is residual: documents that were relevant in training leave runs, judgements and ideal
    for every query. The `CLASSES`, under the first measure alone, leave every other document in place: a
    query's relevant documents of the other classes leave its own ranking and ideal, and only queries
    with one of the class count.

    Args:
        dataset: n judged queries.
        adapter: what to compare with its own base.
        seen: what the adapter was fitted on; None, and only all documents are counted.
        measures: names that ir-measures knows; the first one leads.
        seed: of the resampling.

    Returns:
        "all", "unseen" and the classes, less those without a query to count.
    """
    depth = depth_for(measures)
    if seen is None:
        return (("all", _assessment(_search_both(dataset, adapter, depth), dataset.qrels, measures, seed)),)
    relevant = {query: dataset.qrels.positives(query).keys() for query in dataset.qrels.queries}
    # As deep again as a query may lose documents of other classes.
    runs = _search_both(dataset, adapter, depth + max(map(len, relevant.values())))
    whole = _assessment((cut(runs[0], depth), cut(runs[1], depth)), dataset.qrels, measures, seed)
    positives, _, _ = seen.split_documents(dataset.documents.ids)
    unseen = assess(dataset, adapter, measures=measures, without=positives, seed=seed) if positives else whole
    judged = sorted({document for held in relevant.values() for document in held})
    classes = (
        _of_class(dataset, runs, members, measures[0], seed) for members in map(frozenset, seen.split_documents(judged))
    )
    parts = zip(("all", "unseen", *CLASSES), (whole, unseen, *classes), strict=True)
    return tuple((subset, found) for subset, found in parts if found is not None)


def remembered(adapter: Adapter) -> Seen | None:
    """What an adapter was fitted on, if it holds anything that fitting gave: a base remembers nothing."""
    return None if adapter.is_base else adapter.provenance.seen


def trained_on(dataset: Dataset, seen: Seen | None) -> tuple[Finding, ...]:
    """A warning about judged queries that an adapter was fitted on, if there are any.

    Args:
        dataset: n judged queries.
        seen: what the adapter was fitted on, if that is known.
    """
    known = () if seen is None else tuple(query for query in dataset.qrels.queries if seen.knows_query(query))
    if not known:
        return ()
    return (
        Finding(
            "trained-queries",
            "warning",
            f"{len(known):,} of the {counted(len(dataset.qrels), 'judged query', 'judged queries')} "
            f"{'was a training query' if len(known) == 1 else 'were training queries'} of the adapter: there it shows "
            "what it remembers",
            len(known),
            known[:5],
            "Judge by other queries",
        ),
    )


def residual(dataset: Dataset, without: Collection[str]) -> Dataset | None:
    """A dataset whose judgements have lost some documents, and queries with none left.

    Args:
        dataset: n judged queries.
        without: documents.

    Returns:
        None if no query is left to count, or no document that is judged for one.
    """
    if not without:
        return dataset
    return _answerable(dataset, dataset.qrels.without_documents(without))


def _answerable(dataset: Dataset, qrels: Qrels) -> Dataset | None:
    """The dataset with the queries that still have a relevant document, if searching with them makes sense."""
    left = qrels.only([query for query in qrels.queries if qrels.positives(query)])
    embedded = any(query in dataset.queries for query in left.queries)
    if not embedded or not any(document in dataset.documents for document in left.documents()):
        return None
    return replace(dataset, qrels=left)


def _of_class(
    dataset: Dataset, runs: tuple[Run, Run], members: frozenset[str], measure: str, seed: int
) -> Assessment | None:
    """Base against adapted over the relevant documents of one class."""
    left = _answerable(dataset, dataset.qrels.where(lambda _query, name, grade: grade <= 0 or name in members))
    if left is None:
        return None
    others = {query: dataset.qrels.positives(query).keys() - members for query in left.qrels.queries}
    depth = _cutoff(measure) or DEPTH
    base, adapted = (cut(run, depth, others) for run in runs)
    return _assessment((base, adapted), left.qrels, [measure], seed)


def _assessment(runs: tuple[Run, Run], qrels: Qrels, measures: Sequence[str], seed: int) -> Assessment:
    base, adapted = (evaluate(run, qrels, measures) for run in runs)
    comparisons = tuple(compare(base, adapted, measure, seed=seed) for measure in base.values)
    return Assessment(base, adapted, comparisons, *runs)


def _search_both(dataset: Dataset, adapter: Adapter, depth: int, without: Collection[str] = ()) -> tuple[Run, Run]:
    base, adapted = (
        search_judged(dataset, tried, name=name, depth=depth, without=without)
        for name, tried in (("base", base_of(adapter)), ("adapted", adapter))
    )
    return base, adapted


def cut(run: Run, depth: int | None, without: Mapping[str, Collection[str]] | None = None) -> Run:
    """The first documents of every query of a run.

    Args:
        run: of any depth.
        depth: how many to keep; None for all.
        without: query → documents to pass over; queries that are not in it leave the run.
    """
    if without is None:
        without = dict.fromkeys(run.queries, ())
    kept = {
        query: dict(
            islice(((name, score) for name, score in zip(names, scores, strict=True) if name not in gone), depth)
        )
        for query, names, scores in run.items()
        if (gone := without.get(query)) is not None
    }
    return Run(kept, name=run.name)


def base_of(adapter: Adapter) -> Adapter:
    """What the adapter is compared with, and what ships in its place on "keep": mostly its prior alone."""
    base = adapter.operator.prior if adapter.base is None else adapter.base
    return replace(adapter, operator=BilinearOperator(base), scale=1.0, base=None)


def depth_for(measures: Sequence[str]) -> int:
    """How many documents a query has to get for some measures: the largest cutoff, at least `DEPTH`.

    Raises:
        ParameterError: there is no such measure.

    >>> depth_for(["nDCG@10", "AP"]), depth_for(["R(cutoff=1000)"])
    (100, 1000)
    """
    return max([DEPTH, *filter(None, map(_cutoff, measures))])


def _cutoff(measure: str) -> int | None:
    """The cutoff of a measure, if it has one."""
    (named,) = evaluate(Run({"q": {}}), Qrels({"q": {"d": 1}}), [measure]).values  # in the one spelling with an @
    found = re.search(r"@(\d+)$", named)
    return int(found[1]) if found else None


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
