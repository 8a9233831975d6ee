"""How good a run is: measures by query, over every judged query."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from askew._blocks import blocks
from askew._checks import check_kind, listed
from askew.data import Qrels, Run
from askew.errors import DimensionError, LabelError, MatchError, ParameterError, name_some
from askew.evaluation._library import library_values, parse
from askew.evaluation.ndcg import ndcg_against
from askew.linalg.fixed import Float64Array

if TYPE_CHECKING:
    from ir_measures import Measure

__all__ = ["Evaluation", "evaluate"]

# Queries scored at once: enough to make numpy's calls cheap, few enough for rankings of a whole corpus.
_QUERIES_AT_ONCE = 256


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """Measures of one run, query by query.

    Attributes:
        run_name: the run's name.
        queries: the n judged queries, in the order of the judgements.
        values: measure → (n,) float64, read-only, in the order of `queries`.
        missing: judged queries that the run lacks; each scores 0 and counts in every mean.
        unjudged: queries of the run without a judgement; they are ignored.

    Raises:
        LabelError: there is no query.
        DimensionError: a measure has not one value for each query.

    >>> evaluation = Evaluation("mine", ("q1", "q2"), {"nDCG@10": np.array([1.0, 0.5])})
    >>> evaluation, evaluation.mean("nDCG@10")
    (Evaluation('mine', 2 queries, nDCG@10 0.7500), 0.75)
    """

    run_name: str
    queries: tuple[str, ...]
    values: Mapping[str, Float64Array]
    missing: tuple[str, ...] = field(default=())
    unjudged: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not self.queries:
            raise LabelError("an evaluation needs at least one query", where=self.run_name)
        held = {}
        for measure, values in self.values.items():
            column = np.array(values, dtype=np.float64)
            if column.shape != (len(self.queries),):
                raise DimensionError(f"{measure} has {column.shape} values for {len(self.queries):,} queries")
            column.flags.writeable = False
            held[measure] = column
        object.__setattr__(self, "values", MappingProxyType(held))

    def per_query(self, measure: str) -> Float64Array:
        """(n,) the values of a measure; any spelling of its name will do.

        Raises:
            ParameterError: it was not evaluated.
        """
        for name in (measure, *_spelled(measure)):
            if name in self.values:
                return self.values[name]
        raise ParameterError(
            f"{measure!r} was not evaluated for the run {self.run_name!r}",
            remedy=f"It has {', '.join(self.values)}",
        )

    def mean(self, measure: str) -> float:
        """The mean over all judged queries, whatever their order.

        Raises:
            ParameterError: it was not evaluated.
        """
        return math.fsum(self.per_query(measure)) / len(self.queries)

    def to_json(self) -> dict[str, Any]:
        """As plain values: means, and everything by query."""
        return {
            "run": self.run_name,
            "n": len(self.queries),
            "means": {measure: self.mean(measure) for measure in self.values},
            "missing": list(self.missing),
            "unjudged": list(self.unjudged),
            "queries": list(self.queries),
            "values": {measure: values.tolist() for measure, values in self.values.items()},
        }

    def __repr__(self) -> str:
        means = "".join(f", {measure} {self.mean(measure):.4f}" for measure in self.values)
        return f"Evaluation({self.run_name!r}, {len(self.queries):,} queries{means})"


def evaluate(run: Run, qrels: Qrels, measures: Sequence[str] = ("nDCG@10", "R@100")) -> Evaluation:
    """Score a run against judgements.

    The denominator is every judged query, as with `trec_eval -c`: one that the run lacks scores 0,
    and so does one without any relevant document. Ranks are the run's own (score descending, document id
    ascending), so equal scores never look perfect by luck. Judged positives outside the corpus stay in
    recall's denominator and in the ideal ranking.

    A grade above 0 is relevant, 0 or less is judged and not relevant. nDCG is computed here, with the
    grade itself as gain, whole or not (`nDCG(dcg='exp-log2')` takes 2^grade − 1, after Burges et al. 2005).
    All other measures are ir-measures' and see only whether a document is relevant; a threshold `rel=r`
    of 2 or more asks for a grade of at least r, for fractional grades too.

    Args:
        run: the rankings.
        qrels: the judgements.
        measures: names as ir-measures writes them, such as ``"nDCG@10"``, ``"R@100"``, ``"RR@10"``,
            ``"AP"``, ``"P@5"``, ``"Success@5"``, ``"Judged@10"``; one name alone will do.

    Raises:
        ParameterError: a measure is unknown, out of range or not computed here, or an argument is of another kind.
        LabelError: there is no judgement, or a grade is too large for the gain asked for.
        MatchError: no judged query is in the run.

    >>> from askew.data import Qrels, Run
    >>> run = Run({"q1": {"a": 1.0, "b": 1.0}, "q9": {"a": 1.0}})
    >>> evaluation = evaluate(run, Qrels({"q1": {"b": 0.5}, "q2": {"a": 1}}), ["nDCG@10", "RR"])
    >>> evaluation
    Evaluation('askew', 2 queries, nDCG@10 0.3155, RR 0.2500)
    >>> evaluation.missing, evaluation.unjudged
    (('q2',), ('q9',))
    """
    check_kind(run, Run, "run", "Give a Run, such as askew.search returns")
    check_kind(qrels, Qrels, "qrels", "Give Qrels: query id → document id → grade")
    wanted = [parse(name) for name in ([measures] if isinstance(measures, str) else listed(measures))]
    if not wanted:
        raise ParameterError("no measure is asked for", remedy="Give at least one, such as 'nDCG@10'")
    missing = _missing(run, qrels)
    others = library_values(run, qrels, qrels.queries, (m for m in wanted if m.NAME != "nDCG"))
    values = {
        str(measure): _ndcg(run, qrels, measure) if measure.NAME == "nDCG" else others[str(measure)]
        for measure in wanted
    }
    unjudged = tuple(query for query in run.queries if query not in qrels)
    return Evaluation(run.name, qrels.queries, values, missing, unjudged)


def _missing(run: Run, qrels: Qrels) -> tuple[str, ...]:
    """The judged queries that the run lacks, some but not all."""
    if not len(qrels):
        raise LabelError("no query is judged", remedy="Give judgements of at least one query")
    missing = tuple(query for query in qrels.queries if query not in run)
    if len(missing) == len(qrels):
        raise MatchError(
            f"none of the {len(qrels):,} judged queries ({name_some(qrels.queries, 3)}) is in the run; "
            f"the run has {len(run):,} queries ({name_some(run.queries, 3) or 'none'})",
            where=run.name,
            remedy="Check that judgements and run use the same query ids",
        )
    return missing


def _spelled(measure: str) -> tuple[str, ...]:
    """The name that values are kept under; none if it is no measure."""
    try:
        return (str(parse(measure)),)
    except ParameterError:
        return ()


def _ndcg(run: Run, qrels: Qrels, measure: Measure) -> Float64Array:
    """(n,) nDCG of every judged query."""
    queries = qrels.queries
    gain = _gain(measure)
    values = np.zeros(len(queries))
    for part in blocks(len(queries), _QUERIES_AT_ONCE):
        pairs = [_ranked(run.documents(query), qrels[query], gain, measure) for query in queries[part]]
        ranked, best = zip(*pairs, strict=True)
        values[part] = ndcg_against(_padded(ranked), _padded(best))
    return values


def _ranked(
    documents: Sequence[str], judged: Mapping[str, float], gain: Callable[[float], float], measure: Measure
) -> tuple[list[float], list[float]]:
    """The gains of one ranking, and those of the ideal one, down to the cutoff."""
    cutoff = measure.params.get("cutoff")
    gains = {document: max(gain(grade), 0.0) for document, grade in judged.items()}
    if measure.params.get("judged_only"):
        documents = [document for document in documents if document in judged]
    ranked = [gains.get(document, 0.0) for document in documents[:cutoff]]
    return ranked, sorted(gains.values(), reverse=True)[:cutoff]


def _gain(measure: Measure) -> Callable[[float], float]:
    """Grade → gain, under the measure's parameters."""
    table: Mapping[float, float] = measure.params.get("gains") or {}
    exponential = measure.params.get("dcg") == "exp-log2"

    def gain(grade: float) -> float:
        value = float(table.get(grade, grade))
        if not exponential or value <= 0:
            return value
        if value >= 1024:
            raise LabelError(f"a gain of 2^{value:g} is out of range", remedy="Use nDCG with linear gains")
        return math.expm1(value * math.log(2)) if value < 1 else 2.0**value - 1

    return gain


def _padded(rows: Sequence[Sequence[float]]) -> Float64Array:
    """(n, longest) rows of different lengths, filled up with 0."""
    table = np.zeros((len(rows), max((len(row) for row in rows), default=0)))
    for row, values in enumerate(rows):
        table[row, : len(values)] = values
    return table
