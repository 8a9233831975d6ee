"""Rademacher complexities: by all signs, by draws, and under their ceiling."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import DimensionError, InputError, ParameterError
from askew.geometry import rademacher
from askew.linalg.fixed import Float64Array


def gaussian(*shape: int, seed: int = 0) -> Float64Array:
    return np.random.default_rng(seed).normal(size=shape)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("width", [3, 20])
@pytest.mark.parametrize("rank", [1, 2, 30])
def test_few_pairs_are_counted_over_all_signs(width: int, rank: int) -> None:
    """Also where there are fewer pairs than dimensions and all is done in their span."""
    left, right = gaussian(6, width), gaussian(6, width, seed=1)
    dual, shared = [], []
    for signs in product((-1.0, 1.0), repeat=6):
        moment = (left * np.asarray(signs)[:, None]).T @ right / 6
        values = np.linalg.eigvalsh((moment + moment.T) / 2)[::-1]
        dual.append(np.linalg.norm(np.linalg.svd(moment, compute_uv=False)[:rank]))
        shared.append(np.linalg.norm(np.maximum(values, 0)[:rank]))
    found = rademacher(left, right, rank=rank, generator=rng(), bound=2.0, draws=64)
    assert found.dual == pytest.approx(2 * np.mean(dual))
    assert found.shared == pytest.approx(2 * np.mean(shared))
    assert found.dual_error == found.shared_error == 0
    drawn = rademacher(left, right, rank=rank, generator=rng(), bound=2.0, draws=63)
    assert abs(drawn.dual - found.dual) < 5 * drawn.dual_error
    assert abs(drawn.shared - found.shared) < 5 * drawn.shared_error


@given(st.integers(1, 30), st.integers(1, 8), st.integers(1, 8), st.integers(0, 1000))
def test_shared_is_below_dual_and_both_below_the_ceiling(count: int, width: int, rank: int, seed: int) -> None:
    left, right = gaussian(count, width, seed=seed), gaussian(count, width, seed=seed + 1)
    found = rademacher(left, right, rank=rank, generator=rng(seed), draws=40)
    assert 0 <= found.shared <= found.dual * (1 + 1e-12)
    reach = np.max(np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1))
    assert found.ceiling == pytest.approx(reach / np.sqrt(count))
    # Of the mean over the signs that is so; a mean over 40 of them may pass it by its error.
    assert found.dual <= found.ceiling * (1 + 1e-12) + 5 * found.dual_error


def test_one_generator_state_gives_one_result() -> None:
    left, right = gaussian(40, 5), gaussian(40, 5, seed=1)
    first, second = (rademacher(left, right, rank=2, generator=rng(3), draws=50) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: rademacher(np.ones((2, 3)), np.ones((2, 4)), rank=1, generator=rng()), DimensionError),
        (lambda: rademacher(np.ones(3), np.ones(3), rank=1, generator=rng()), DimensionError),
        (lambda: rademacher(np.full((2, 2), np.nan), np.ones((2, 2)), rank=1, generator=rng()), InputError),
        (lambda: rademacher(np.ones((2, 2)), np.ones((2, 2)), rank=0, generator=rng()), ParameterError),
        (lambda: rademacher(np.ones((2, 2)), np.ones((2, 2)), rank=1, generator=rng(), bound=0), ParameterError),
        (lambda: rademacher(np.ones((2, 2)), np.ones((2, 2)), rank=1, generator=rng(), draws=1), ParameterError),
    ],
)
def test_what_cannot_be_counted_is_refused(call: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
