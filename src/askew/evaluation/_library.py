"""ir-measures behind a door: names parsed, limits kept away from users, loggers left alone.

What is guarded here was seen in ir-measures 0.4 with pytrec_eval-terrier 0.5; tests show each:

- float grades raise a TypeError; equal scores rank by document id descending; scores 1 and 1 + 1e-8
  are equal (float32 inside): it gets whole grades and strictly falling whole scores, never ours;
- a cutoff of 0 aborts the process, and an unknown parameter is a KeyError or an assertion;
- importing it adds a stderr handler to the logger `ir_measures` and sets its level.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askew.errors import ParameterError

if TYPE_CHECKING:
    from ir_measures import Measure

    from askew.data import Qrels, Run

__all__ = ["library_values", "parse"]

EXAMPLES = "nDCG@10, R@100, P@5, RR@10, AP, Success@5, Judged@10"

# Those that are exact, quick and need no other program. Left out: gdeval (runs perl, wants numbers as query
# ids), ranx (compiles for a minute), cwl_eval and pyndeval (optional, never tested here), compat and
# accuracy (they divide by zero on queries without relevant documents and on perfect rankings).
_PROVIDERS = ("pytrec_eval", "judged", "msmarco")
_LOGGERS = ("ir_measures", "ir_measures.cwl_eval")
_LARGEST_CUTOFF = 2**31 - 1
# trec_eval holds one counter a grade, so a threshold is an allocation.
_LARGEST_REL = 10_000


@cache
def _library() -> ModuleType:
    """ir_measures, imported without a trace in the logging of the program around us."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    before = [(logger, logger.level, list(logger.handlers)) for logger in loggers]
    import ir_measures  # noqa: PLC0415  # it configures a logger when imported
    import ir_measures.providers.base  # noqa: PLC0415  # the same

    for logger, level, handlers in before:
        logger.setLevel(level)
        for handler in [handler for handler in logger.handlers if handler not in handlers]:
            logger.removeHandler(handler)
    return ir_measures


def parse(name: str) -> Measure:
    """A measure from its name.

    Args:
        name: as ir-measures writes it; see https://ir-measur.es/en/latest/measures.html.

    Raises:
        ParameterError: no such measure, a parameter it lacks or that is out of range, or one that
            askew does not compute.

    >>> str(parse("NDCG(cutoff=10)"))
    'nDCG@10'
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # it reads names by deprecated parts of ast
            measure: Measure = _library().parse_measure(str(name).strip())
    except (ValueError, NameError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _refused(name, "is not a measure") from None
    _check_parameters(name, measure)
    if not (measure.NAME == "nDCG" or any(provider.supports(measure) for provider in _providers())):
        raise _refused(name, "is a measure that askew does not compute")
    return measure


def _refused(name: object, problem: str) -> ParameterError:
    return ParameterError(f"{str(name)!r} {problem}", where="measures", remedy=f"Examples are: {EXAMPLES}")


def _providers() -> list[Any]:
    return [_library().providers.registry[name] for name in _PROVIDERS]


def _check_parameters(name: str, measure: Measure) -> None:
    """What the library leaves to assertions, and the ranges that it does not know."""
    absent = _library().providers.base.NOT_PROVIDED
    for parameter in measure.params:
        if parameter not in measure.SUPPORTED_PARAMS:
            raise _refused(name, f"has a parameter {parameter!r} that {measure.NAME} lacks")
    known: dict[str, Any] = measure.SUPPORTED_PARAMS
    for parameter, info in known.items():
        value = measure.params.get(parameter, absent)
        if value is absent and info.required:
            raise _refused(name, f"lacks its {parameter}")
        if value is not absent and not (info.validate(value) and _in_range(parameter, value)):
            raise _refused(name, f"has {parameter} = {value!r}")


def _in_range(parameter: str, value: Any) -> bool:
    if parameter == "cutoff":
        return type(value) is int and 1 <= value <= _LARGEST_CUTOFF
    if parameter == "rel":
        return type(value) is int and 1 <= value <= _LARGEST_REL
    if parameter == "recall":  # trec_eval keeps two decimals of it
        return bool(0 <= value <= 1 and round(value, 2) == value)
    if parameter == "gains":
        parts = [*value.keys(), *value.values()]
        return all(type(part) in (int, float) and abs(part) < math.inf for part in parts)
    return not isinstance(value, float) or math.isfinite(value)


def library_values(
    run: Run, qrels: Qrels, queries: Sequence[str], measures: Iterable[Measure]
) -> Mapping[str, npt.NDArray[np.float64]]:
    """Per-query values of measures that only ask whether a grade reaches a threshold.

    Args:
        run: rankings, in our order; scores are not looked at.
        qrels: the judgements.
        queries: n judged queries; those without a ranking score 0.
        measures: what to compute; nDCG is not among them.

    Returns:
        measure name → (n,) float64.
    """
    wanted = list(dict.fromkeys(measures))
    values = {str(measure): np.zeros(len(queries)) for measure in wanted}
    highest = max((int(measure.params.get("rel", 1)) for measure in wanted), default=1)
    grades: dict[str, dict[str, int]] = {}
    ranks: dict[str, dict[str, int]] = {}
    for row, query in enumerate(queries):
        if documents := run.documents(query):
            grades[str(row)], ranks[str(row)] = _numbered(documents, qrels[query], highest)
    if wanted and ranks:
        provider = _library().providers.FallbackProvider(_providers())
        for metric in provider.iter_calc(wanted, grades, ranks):
            if math.isfinite(metric.value):  # interpolated precision is NaN without relevant documents
                values[str(metric.measure)][int(metric.query_id)] = metric.value
    return values


def _numbered(
    documents: Sequence[str], judged: Mapping[str, float], highest: int
) -> tuple[dict[str, int], dict[str, int]]:
    """Grades and falling scores by number instead of id: no id reaches C code, where NUL ends a string."""
    number = {document: str(place) for place, document in enumerate(documents)}
    for document in judged:
        number.setdefault(document, str(len(number)))
    grades = {number[document]: _whole(grade, highest) for document, grade in judged.items()}
    return grades, {number[document]: len(documents) - place for place, document in enumerate(documents)}


def _whole(grade: float, highest: int) -> int:
    """A whole grade that reaches the same thresholds 1..highest; any grade above 0 reaches 1.

    >>> [_whole(grade, 3) for grade in (-1.0, 0.0, 0.2, 1.0, 2.7, 1e300)]
    [0, 0, 1, 1, 2, 3]
    """
    return max(1, math.floor(min(grade, highest))) if grade > 0 else 0
