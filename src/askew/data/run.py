"""Run: ranked documents per query, ordered by the one tie rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from askew.data.ids import as_id
from askew.errors import InputError, counted

__all__ = ["Run"]


class Run:
    """Query id → documents and scores, best first: score descending, then document id ascending.

    A query may have an empty ranking; it stays in the run.

    Args:
        scores: query id → document id → score, in any order.
        name: what to call it in tables and TREC files.

    Raises:
        InputError: a score is NaN or not a number, or two ids become one (1 and "1").

    >>> run = Run({"q": {"b": 1.0, "a": 1.0, "c": 2.0}})
    >>> run.documents("q")
    ('c', 'a', 'b')
    """

    def __init__(self, scores: Mapping[Any, Mapping[Any, float]], *, name: str = "askew") -> None:
        self.name = name
        self._documents: dict[str, tuple[str, ...]] = {}
        self._scores: dict[str, npt.NDArray[np.float64]] = {}
        for query, scored in scores.items():
            query_id = as_id(query)
            pairs = [(as_id(document), _score(score, query_id, document)) for document, score in scored.items()]
            if query_id in self._documents or len({document for document, _ in pairs}) != len(pairs):
                raise InputError(
                    f"query {query_id!r}, or a document of it, occurs twice once ids are strings",
                    remedy="Keep one of them",
                )
            pairs.sort(key=lambda pair: (-pair[1], pair[0]))
            self._put(query_id, [document for document, _ in pairs], np.array([score for _, score in pairs]))

    @classmethod
    def from_rows(
        cls,
        query_ids: Sequence[str],
        document_ids: Sequence[str],
        rows: npt.NDArray[np.int64],
        scores: npt.NDArray[np.float64],
        *,
        name: str = "askew",
    ) -> Run:
        """A run from top-k results that stand in order already.

        Args:
            query_ids: n ids.
            document_ids: m ids.
            rows: (n, k) row numbers of documents, best first.
            scores: (n, k).
            name: what to call the run.
        """
        run = cls({}, name=name)
        for query, row, score in zip(query_ids, rows, scores, strict=True):
            run._put(query, [document_ids[i] for i in row], score)
        return run

    def _put(self, query: str, documents: Sequence[str], scores: npt.NDArray[np.float64]) -> None:
        self._documents[query] = tuple(documents)
        self._scores[query] = np.asarray(scores, dtype=np.float64)

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries, in the order given."""
        return tuple(self._documents)

    def documents(self, query: str) -> tuple[str, ...]:
        """The documents of a query, best first; empty if the query is not in the run."""
        return self._documents.get(query, ())

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """(k,) the scores of `documents(query)`."""
        return self._scores.get(query, np.empty(0))

    def items(self) -> Iterator[tuple[str, tuple[str, ...], npt.NDArray[np.float64]]]:
        """Query, documents and scores, query by query."""
        for query, documents in self._documents.items():
            yield query, documents, self._scores[query]

    def __contains__(self, query: object) -> bool:
        return query in self._documents

    def __len__(self) -> int:
        return len(self._documents)

    def __repr__(self) -> str:
        return f"Run({self.name!r}, {counted(len(self), 'query', 'queries')})"


def _score(value: object, query: str, document: object) -> float:
    try:
        score = float(value)  # type: ignore[arg-type]  # anything that float takes
    except (TypeError, ValueError, OverflowError):
        score = math.nan
    if math.isnan(score):
        shown = "NaN" if isinstance(value, (float, np.floating)) else repr(value)
        raise InputError(
            f"the score of document {str(document)!r} for query {query!r} is {shown}",
            remedy="Leave the document out, or give it a number",
        )
    return score
