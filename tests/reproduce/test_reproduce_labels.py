from __future__ import annotations

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels
from askew.errors import ParameterError
from askew.reproduce.labels import labels


def turned(count: int = 160, width: int = 8) -> Dataset:
    """Each document answers one query, and queries are turned against documents: two geometries pay."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(count, width))
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    names = [f"{row:03}" for row in range(count)]
    queries = documents @ turn + 0.3 * rng.normal(size=documents.shape)
    return Dataset(
        EmbeddingSet(names, queries), EmbeddingSet(names, documents), Qrels({name: {name: 1} for name in names})
    )


def test_families_are_tuned_apart_and_compared_on_the_same_queries() -> None:
    found = labels(dataset=turned(), sizes=(20, 60), draws=1, test=80)
    (table,) = found.tables
    assert [row[0] for row in table.rows] == [20, 60]
    for row in table.rows:
        base, dual, shared, gap, low, high = (float(cell) for cell in row[1:7] if cell is not None)
        assert gap == pytest.approx(dual - shared)
        assert low <= gap <= high
        assert dual > shared > base - 0.05
    assert any("Dual is clearly ahead" in finding for finding in found.findings)
    assert found.pictures["gain"].startswith("<svg")


def test_more_labels_than_there_are_queries() -> None:
    with pytest.raises(ParameterError, match="150 labels and 80 test queries"):
        labels(dataset=turned(), sizes=(150,), test=80)
