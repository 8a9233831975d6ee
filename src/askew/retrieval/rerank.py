"""Two-stage search: the documents that one system found, ordered by another."""

from __future__ import annotations

import numpy as np

from askew.data import Run
from askew.errors import DimensionError, ParameterError
from askew.protocols import Scorer

__all__ = ["rerank"]


def rerank(run: Run, scorer: Scorer, *, k: int | None = None, depth: int | None = None) -> Run:
    """Order each query's documents by a scorer, best first; ties by document id.

    Args:
        run: what the first stage found, of any system.
        scorer: scores some documents of a query, such as `askew.late.MaxSimScorer`.
        k: how many documents to keep of each query; all by default.
        depth: how many of the first stage's documents to score; all by default.

    Raises:
        ParameterError: k or depth is below 1.
        DimensionError: the scorer gives another number of scores than documents.
        InputError: a score is NaN.

    >>> class ByLength:
    ...     def score(self, query, documents):
    ...         return np.array([-float(len(name)) for name in documents])
    >>> rerank(Run({"q": {"long": 2.0, "b": 1.0, "a": 0.5}}), ByLength(), k=2).documents("q")
    ('a', 'b')
    """
    for name, value in (("k", k), ("depth", depth)):
        if value is not None and value < 1:
            raise ParameterError(f"{name} is {value}", where=name, remedy="Ask for at least one document")
    ranked: dict[str, dict[str, float]] = {}
    for query, documents, _ in run.items():
        asked = documents[:depth]
        scores = np.asarray(scorer.score(query, asked)) if asked else np.empty(0)
        if scores.shape != (len(asked),):
            raise DimensionError(
                f"the scorer gave scores of shape {scores.shape} for {len(asked):,} documents",
                where=f"query {query!r}",
                remedy="Give one score a document",
            )
        ranked[query] = dict(zip(asked, scores.tolist(), strict=True))
    whole = Run(ranked, name=run.name)
    if k is None:
        return whole
    return Run({query: dict(zip(names[:k], held[:k].tolist(), strict=True)) for query, names, held in whole.items()})
