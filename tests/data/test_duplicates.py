"""Near-duplicates: against single linkage by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from askew.data import EmbeddingSet, near_duplicate_groups
from askew.linalg.fixed import Float64Array


def slow_groups(matrix: Float64Array) -> list[int]:
    """Flood from each row over rows of cosine 0.999 or more."""
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    unit = matrix / np.where(norms > 0, norms, 1)
    near = unit @ unit.T >= 0.999
    leader = [-1] * len(matrix)
    for first in range(len(matrix)):
        waiting = [first] if leader[first] < 0 else []
        while waiting:
            row = waiting.pop()
            if leader[row] < 0:
                leader[row] = first
                waiting += np.flatnonzero(near[row]).tolist()
    return leader


@given(st.integers(0, 300), st.integers(0, 40), st.floats(0.005, 0.2), st.sampled_from([1, 4000, 2**27]))
def test_equals_single_linkage_for_every_budget(seed: int, count: int, spread: float, budget: int) -> None:
    """Points on an arc, in chains; lengths differ, and some are zero."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, spread * 20, size=count)
    matrix = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(count)])
    matrix *= rng.choice([0.0, 1e-3, 1.0, 50.0], p=[0.1, 0.3, 0.3, 0.3], size=(count, 1))
    matrix = np.vstack([matrix, np.ones((1, 3))])
    found = near_duplicate_groups(EmbeddingSet(range(count + 1), matrix), np.arange(count + 1), budget=budget)
    assert found.tolist() == slow_groups(matrix)


def test_rows_may_be_some_and_in_any_order() -> None:
    matrix = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])
    found = near_duplicate_groups(EmbeddingSet("abcd", matrix), np.array([3, 0, 1]))
    assert found.tolist() == [0, 1, 0]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_copies_are_found_in_every_precision(dtype: type[np.floating], scale: float) -> None:
    rng = np.random.default_rng(0)
    rows = (rng.normal(size=(30, 16)) * scale).astype(dtype)
    rows = np.vstack([rows, rows])
    assert near_duplicate_groups(EmbeddingSet(range(60), rows), np.arange(60)).tolist() == [*range(30)] * 2


def test_a_pair_at_the_limit_is_decided_the_same_whatever_the_block_and_threads() -> None:
    """Cosines within float32 rounding of 0.999, on both sides of it."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(40, 32))
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    side = rng.normal(size=(40, 32))
    side -= np.sum(side * base, axis=1, keepdims=True) * base
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    cosine = 0.999 + np.linspace(-2e-8, 2e-8, 40)[:, None]
    matrix = np.vstack([base, cosine * base + np.sqrt(1 - cosine**2) * side])
    held = EmbeddingSet(range(80), matrix)
    found = []
    for threads, budget in ((1, 2**27), (2, 2**27), (1, 10_000), (2, 1)):
        with threadpool_limits(threads):
            found.append(near_duplicate_groups(held, np.arange(80), budget=budget).tolist())
    assert found[0] == found[1] == found[2] == found[3]
    assert found[0][40:] == [row if cosine[row, 0] >= 0.999 else 40 + row for row in range(40)]


def test_zero_vectors_are_nobodys_copies() -> None:
    held = EmbeddingSet("abc", np.zeros((3, 2)))
    assert near_duplicate_groups(held, np.arange(3)).tolist() == [0, 1, 2]
    assert near_duplicate_groups(held, np.arange(0)).tolist() == []
