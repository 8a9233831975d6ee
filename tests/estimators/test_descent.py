"""The solver, on problems whose answer is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.estimators.descent import optima

Float32Array = npt.NDArray[np.float32]


@given(st.integers(1, 12), st.integers(0, 50), st.floats(0.0, 3.0))
def test_a_quadratic_is_solved_by_its_linear_system(width: int, seed: int, spread: float) -> None:
    """½aᵀHa - bᵀa + λ‖a‖²: a = (H + 2λI)⁻¹b, whatever the condition of H."""
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(width, width)))[0]
    hessian = (basis * 10 ** rng.uniform(-spread, spread, size=width)) @ basis.T
    target = rng.normal(size=width)
    narrow, linear = hessian.astype(np.float32), target.astype(np.float32)

    def loss(at: Float32Array) -> tuple[float, Float32Array]:
        turned = narrow @ at
        return float(at @ turned) / 2 - float(linear @ at) + 100.0, turned - linear

    pulls = [10.0, 1.0, 0.1]
    for pull, found in zip(pulls, optima(loss, pulls, np.zeros(width, dtype=np.float32)), strict=True):
        best = np.linalg.solve(hessian + 2 * pull * np.eye(width), target)
        values = [loss(at.astype(np.float32))[0] + pull * float(at @ at) for at in (found, best)]
        assert values[0] <= values[1] + 0.2  # 1e-4 of 100, a few times
        assert found.dtype == np.float32


def test_no_slope_no_step() -> None:
    calls = []

    def flat(at: Float32Array) -> tuple[float, Float32Array]:
        calls.append(at)
        return 1.0, np.zeros_like(at)

    found = list(optima(flat, [1.0, 0.1], np.zeros((2, 3), dtype=np.float32)))
    assert not np.any(found)
    assert len(calls) == 2


@pytest.mark.parametrize("noise", [1e-7, 1e-5])
def test_noise_in_the_slope_stops_the_search_and_not_the_path(noise: float) -> None:
    """Once rounding is all that is left, later strengths still start afresh and reach their optimum."""
    rng = np.random.default_rng(0)
    target = rng.normal(size=(6, 6)).astype(np.float32)

    def loss(at: Float32Array) -> tuple[float, Float32Array]:
        gap = at - target
        shaken = rng.normal(size=gap.shape).astype(np.float32) * np.float32(noise)
        return float(np.sum(gap**2)), 2 * gap + shaken

    pulls = [1.0, 1.0, 1.0, 1.0, 0.25, 0.01]
    for pull, found in zip(pulls, optima(loss, pulls, np.zeros((6, 6), dtype=np.float32)), strict=True):
        assert np.allclose(found, target / (1 + pull), atol=0.02)
