"""Small tasks with known structure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels

TaskMaker = Callable[..., Dataset]


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
