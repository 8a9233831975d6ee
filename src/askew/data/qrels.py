"""Qrels: graded relevance judgements."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from askew.data.ids import as_id
from askew.errors import LabelError, counted, name_some

__all__ = ["Qrels"]


class Qrels:
    """Judgements: query id → document id → relevance.

    A grade above 0 is relevant and is also its gain; 0 or less is judged and not relevant.
    Immutable; every method that changes something returns a new object.

    Args:
        grades: query id → document id → finite number. Queries without judgements are dropped.

    Raises:
        LabelError: it is no mapping of mappings, a grade is not a finite number, or two ids become one (1 and "1").

    >>> qrels = Qrels({"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0.5}})
    >>> qrels, qrels.positives("q1")
    (Qrels(2 queries, 3 judgements), {'d1': 1.0})
    """

    def __init__(self, grades: Mapping[Any, Mapping[Any, Any]]) -> None:
        given: Any = grades
        if not isinstance(given, Mapping) or not all(isinstance(judged, Mapping) for judged in given.values()):
            raise LabelError(
                f"judgements are no {type(given).__name__} of such values",
                remedy='Give a dict of dicts: {"query id": {"document id": grade}}',
            )
        table: dict[str, Mapping[str, float]] = {}
        judged_queries = [(as_id(query), judged) for query, judged in grades.items() if judged]
        for query, judged in judged_queries:
            table[query] = MappingProxyType(
                {as_id(document): _grade(value, query, document) for document, value in judged.items()}
            )
            if len(table[query]) != len(judged):
                raise _clash(f"documents of query {query!r}")
        if len(table) != len(judged_queries):
            raise _clash("queries")
        self._grades: Mapping[str, Mapping[str, float]] = MappingProxyType(table)

    @property
    def grades(self) -> Mapping[str, Mapping[str, float]]:
        """Query id → document id → grade, read-only."""
        return self._grades

    @property
    def queries(self) -> tuple[str, ...]:
        """The judged queries, in the order given."""
        return tuple(self._grades)

    @property
    def judgements(self) -> int:
        """How many pairs are judged."""
        return sum(len(judged) for judged in self._grades.values())

    def documents(self) -> set[str]:
        """Every judged document."""
        return {document for judged in self._grades.values() for document in judged}

    def positives(self, query: str) -> dict[str, float]:
        """The relevant documents of a query and their gains; empty if it has none."""
        return {document: grade for document, grade in self._grades.get(query, {}).items() if grade > 0}

    def __getitem__(self, query: str) -> Mapping[str, float]:
        return self._grades[query]

    def __contains__(self, query: object) -> bool:
        return query in self._grades

    def __len__(self) -> int:
        return len(self._grades)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Qrels) and dict(self._grades) == dict(other._grades)

    __hash__ = None  # type: ignore[assignment]  # compared by value, and not small

    def __repr__(self) -> str:
        return f"Qrels({counted(len(self), 'query', 'queries')}, {counted(self.judgements, 'judgement')})"

    def only(self, queries: Iterable[str]) -> Qrels:
        """The judgements of some queries, in the order asked for.

        Raises:
            LabelError: a query has no judgement.
        """
        wanted = list(queries)
        missing = [query for query in wanted if query not in self._grades]
        if missing:
            raise LabelError(f"{counted(len(missing), 'query has', 'queries have')} no judgement: {name_some(missing)}")
        return Qrels({query: self._grades[query] for query in wanted})

    def without_documents(self, documents: Collection[str]) -> Qrels:
        """Leave out every judgement of some documents."""
        return self.where(lambda _query, document, _grade: document not in documents)

    def where(self, keep: Callable[[str, str, float], bool]) -> Qrels:
        """Keep the judgements for which `keep(query, document, grade)` holds."""
        return Qrels(
            {
                query: {document: grade for document, grade in judged.items() if keep(query, document, grade)}
                for query, judged in self._grades.items()
            }
        )


def _clash(what: str) -> LabelError:
    return LabelError(f"two {what} have the same id once ids are strings", remedy="Keep one of them")


def _grade(value: object, query: str, document: object) -> float:
    try:
        grade = float(value)  # type: ignore[arg-type]  # anything that float takes
    except (TypeError, ValueError, OverflowError):
        grade = math.nan
    if not math.isfinite(grade):
        raise LabelError(
            f"the grade of document {str(document)!r} for query {query!r} is {value!r}",
            remedy="Give a finite number",
        )
    return grade
