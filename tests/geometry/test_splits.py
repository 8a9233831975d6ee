"""Splits: the same every time, whole queries, balanced, and disjoint in documents where asked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askew.errors import LabelError
from askew.geometry.rows import RelevanceRows
from askew.geometry.selection import cars
from askew.geometry.splits import Units, half_splits


def test_splits_hold_still_and_keep_queries_together() -> None:
    x = np.random.default_rng(0).normal(size=(30, 3))
    rows = RelevanceRows(tuple(f"q{row % 20}" for row in range(30)), x, x)
    for half in half_splits(Units(rows), 5):
        assert np.array_equal(half[:10], half[20:])
        assert abs(half.mean() - 0.5) <= 1 / 30
    order = np.random.default_rng(1).permutation(30)
    shuffled = RelevanceRows(tuple(rows.ids[row] for row in order), x[order], x[order])
    for half, other in zip(half_splits(Units(rows), 3), half_splits(Units(shuffled), 3), strict=True):
        assert np.array_equal(half[order], other)
    assert any(
        not np.array_equal(one, two)
        for one, two in zip(half_splits(Units(rows), 3), half_splits(Units(rows), 3, seed=1), strict=True)
    )


def test_copies_of_a_query_never_part() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(10, 3)), 2, axis=0)
    units = Units(RelevanceRows(tuple(map(str, range(20))), x, rng.normal(size=x.shape)))
    assert len(units) == 10
    for half in half_splits(units, 5):
        assert np.array_equal(half[::2], half[1::2])


def test_copies_stay_copies_after_whitening_and_zero_vectors_are_no_copies() -> None:
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(10, 3)), 2, axis=0)
    nearly = x * (1 + 1e-15 * rng.integers(-2, 3, size=x.shape))
    nearly[:4] = [[0.0, -0.0, 0.0]]
    assert len(Units(RelevanceRows(tuple(map(str, range(20))), nearly, x))) == 12
    for scale in (1e-70, 1e30):
        assert len(Units(RelevanceRows(tuple(map(str, range(20))), x * scale, x))) == 10


def test_halves_can_be_disjoint_in_documents() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 3))
    held = tuple((f"d{row % 16}", f"only-{row}") for row in range(40))
    rows = RelevanceRows(tuple(map(str, range(40))), x, x, held)
    for half in half_splits(Units(rows, by_document=True), 5):
        sides = [{name for row in np.flatnonzero(half == side) for name in held[row]} for side in (0, 1)]
        assert not sides[0] & sides[1]
    assert cars(rows, ranks=[2], by_document=True, splits=3, groups=8)[0].queries == 16
    chained = tuple((f"d{row}", f"d{row + 1}") if row < 35 else (f"own {row}",) for row in range(40))
    with pytest.raises(LabelError, match="hang together"):
        cars(replace(rows, documents=chained), ranks=[2], by_document=True)
