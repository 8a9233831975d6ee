"""Tasks in memory: query i is document i, turned and with noise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def make_task(
    *, queries: int = 90, documents: int = 150, dim: int = 16, angle: float = 0.9, noise: float = 0.6, seed: int = 0
) -> Dataset:
    rng = np.random.default_rng(seed)
    corpus = unit(rng.normal(size=(documents, dim)))
    turned = np.linalg.qr(rng.normal(size=(dim, dim)))[0]
    clean = corpus[:queries] * np.cos(angle) + corpus[:queries] @ turned * np.sin(angle)
    asked = unit(clean + noise * unit(rng.normal(size=(queries, dim))))
    return Dataset(
        EmbeddingSet([f"q{row}" for row in range(queries)], asked, encoder="tiny"),
        EmbeddingSet([f"d{row}" for row in range(documents)], corpus, encoder="tiny"),
        Qrels({f"q{row}": {f"d{row}": 1} for row in range(queries)}),
        name="turned",
    )


@pytest.fixture(scope="session")
def new_task() -> Callable[..., Dataset]:
    """`make_task`."""
    return make_task


@pytest.fixture(scope="session")
def whole() -> Dataset:
    """90 queries that adapting helps."""
    return make_task()


@pytest.fixture(scope="session")
def train(whole: Dataset) -> Dataset:
    """60 of them."""
    return whole.only(whole.qrels.queries[:60])


@pytest.fixture(scope="session")
def test(whole: Dataset) -> Dataset:
    """The other 30."""
    return whole.only(whole.qrels.queries[60:])
