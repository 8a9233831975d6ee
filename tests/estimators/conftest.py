"""Small tasks with known structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.estimators import Labels, Mining
from askew.operators import Dense, Identity, Term, Zero

TaskMaker = Callable[..., Dataset]
LabelsMaker = Callable[..., tuple[Labels, Term]]

SHAPES: dict[str, dict[str, int]] = {
    "square": {"queries": 40, "d_query": 6, "d_document": 6},
    "square, n < d": {"queries": 12, "d_query": 20, "d_document": 20},
    "square, n + u < d": {"queries": 5, "documents": 12, "d_query": 40, "d_document": 40},
    "wide": {"queries": 30, "d_query": 5, "d_document": 9},
    "tall, n < d": {"queries": 12, "d_query": 40, "d_document": 7},
    "several positives": {"queries": 25, "d_query": 6, "d_document": 6, "positives": 4},
}


@pytest.fixture
def make_task() -> TaskMaker:
    """Random queries and documents; query i is relevant to documents i, i + 1, ... with grades 1, 2, ..."""

    def make(
        *,
        queries: int = 40,
        documents: int = 120,
        d_query: int = 6,
        d_document: int = 6,
        positives: int = 1,
        seed: int = 0,
    ) -> Dataset:
        rng = np.random.default_rng(seed)
        grades = {
            f"q{row}": {f"d{(row + step) % documents}": 1.0 + step for step in range(positives)}
            for row in range(queries)
        }
        return Dataset(
            EmbeddingSet([f"q{row}" for row in range(queries)], rng.normal(size=(queries, d_query))),
            EmbeddingSet([f"d{row}" for row in range(documents)], rng.normal(size=(documents, d_document))),
            Qrels(grades),
        )

    return make


def prior_of(kind: str, rows: int, columns: int) -> Term:
    """A prior; one that is not square is zero unless it is a general matrix."""
    rng = np.random.default_rng(3)
    if kind == "general":
        return Dense(rng.normal(size=(rows, columns)))
    if kind == "zero" or rows != columns:
        return Zero(rows, columns)
    if kind == "psd":  # singular, so that its own rounding is at the border of the cone
        half = rng.normal(size=(rows, rows - 1))
        return Dense(half @ half.T / rows)
    return Identity(rows)


@pytest.fixture
def make_labels(make_task: TaskMaker) -> LabelsMaker:
    """Labels of such a task, and the prior under which their negatives were mined."""

    def make(
        *, prior: str = "identity", mining: Mining | None = None, folds: int = 5, **shape: Any
    ) -> tuple[Labels, Term]:
        task = make_task(**shape)
        known = prior_of(prior, task.queries.dim, task.documents.dim)
        mined = mining or Mining("top", count=4)
        return Labels.build(task, TwoWayFolds.build(task, count=folds), prior=known, mining=mined), known

    return make


@pytest.fixture(params=list(SHAPES.values()), ids=list(SHAPES))
def shape(request: pytest.FixtureRequest) -> dict[str, int]:
    """One shape of a task after the other."""
    return dict(request.param)


@pytest.fixture(params=["identity", "zero", "psd", "general"])
def prior_kind(request: pytest.FixtureRequest) -> str:
    """One kind of prior after the other."""
    return str(request.param)
