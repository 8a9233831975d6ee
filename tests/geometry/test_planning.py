"""The planner finds a crossing that is known, and says so where there is none; curves extrapolate with their doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import AskewError, LabelError, ParameterError
from askew.geometry.curves import LearningCurve
from askew.geometry.planning import Plan, _fieller, plan
from askew.geometry.rows import RelevanceRows
from askew.linalg.fixed import Float64Array

DIM = 6


def pilot(count: int, skew: float, seed: int) -> RelevanceRows:
    """C = diag(3, 2, 1, ...) + skew part; every projection of full rank is linear in it near there."""
    rng = np.random.default_rng([seed, count])
    target = np.diag(np.linspace(3.0, 2.0, DIM))
    target[0, 1], target[1, 0] = skew, -skew
    x = rng.normal(size=(count, DIM))
    return RelevanceRows(tuple(map(str, range(count))), x, x @ target + 3 * rng.normal(size=(count, DIM)))


def turned_pilot(count: int, angle: float, seed: int) -> RelevanceRows:
    """Eight directions of 32, turned by an angle into eight others, and noise."""
    rng = np.random.default_rng([seed, count])
    basis = np.linalg.qr(rng.normal(size=(32, 16)))[0]
    z = rng.normal(size=(count, 8))
    x, y = z @ basis[:, :8].T, z @ (np.cos(angle) * basis[:, :8] + np.sin(angle) * basis[:, 8:]).T
    return RelevanceRows(tuple(map(str, range(count))), x + rng.normal(size=x.shape), y + rng.normal(size=y.shape))


def ends(found: Plan) -> tuple[float, float]:
    assert found.interval is not None
    return found.interval


def true_crossing(skew: float) -> float:
    """tr Σ / δ² of the skew part of C = E x zᵀ, by a large sample: V is the skew part at full rank."""
    rows = pilot(100_000, skew, seed=99)
    products = rows.queries[:, :, None] * rows.differences[:, None, :]
    parts = (products - products.transpose(0, 2, 1)) / 2
    return float(np.sum(parts.var(axis=0)) / (2 * skew**2))


def test_the_planner_finds_a_known_crossing() -> None:
    truth = true_crossing(0.8)
    found = [plan(pilot(800, 0.8, seed), ranks=[DIM], splits=6)[0] for seed in range(6)]
    assert all(each.in_sight for each in found)
    assert np.median([each.crossing or 0 for each in found]) == pytest.approx(truth, rel=0.3)
    assert sum(ends(each)[0] <= truth <= ends(each)[1] for each in found) >= 4
    assert all(each.noise / each.signal == pytest.approx(each.crossing) for each in found)


@pytest.mark.parametrize(("angle", "low", "high"), [(0.8, 220, 330), (1.2, 140, 230)])
def test_a_small_pilot_sees_the_crossing_of_the_reference_simulation(angle: float, low: float, high: float) -> None:
    """The half-split score there turns positive between 256 and 512 queries at 0.8 rad, 128 and 256 at 1.2."""
    found = [plan(turned_pilot(128, angle, seed), ranks=[8], splits=6, groups=10)[0] for seed in range(5)]
    assert low < np.median([each.crossing or np.inf for each in found]) < high * 1.15
    assert all(ends(each)[0] < high and ends(each)[1] > low for each in found)


def test_no_signal_is_no_crossing_in_sight() -> None:
    found = [plan(pilot(100, 0.0, seed), ranks=[DIM], splits=6)[0] for seed in range(6)]
    unseen = [each for each in found if not each.in_sight]
    assert len(unseen) >= 4
    for each in unseen:
        assert each.crossing is None
        assert ends(each)[1] == np.inf
        assert "no crossing in sight" in each.reason


def test_ranks_are_planned_together_and_degenerate_pilots_get_an_answer() -> None:
    rows = pilot(40, 0.5, 0)
    together = plan(rows, ranks=[1, 3], splits=3, groups=8)
    assert plan(rows, ranks=[3], splits=3, groups=8)[0].signal == pytest.approx(together[1].signal, rel=1e-9)
    nothing = plan(RelevanceRows(rows.ids, rows.queries, np.zeros_like(rows.queries)), ranks=[2])[0]
    assert (nothing.in_sight, nothing.signal, nothing.noise) == (False, 0.0, 0.0)
    assert not np.isnan(ends(nothing)).any()
    with pytest.raises(LabelError):
        plan(pilot(3, 0.5, 0), ranks=[1])


def test_without_an_error_nothing_is_certain() -> None:
    found = plan(turned_pilot(30, 1.2, 0), ranks=[2], splits=4, groups=None)[0]
    assert (found.interval, found.in_sight, found.signal_error, found.noise_error) == (None, None, None, None)
    assert found.crossing == pytest.approx(found.noise / found.signal)
    assert found.reason.startswith(f"a crossing at {found.crossing:.0f} queries, by the estimates alone")
    rows = pilot(30, 0.0, 0)
    nothing = plan(RelevanceRows(rows.ids, rows.queries, rows.queries), ranks=[2], splits=4, groups=None)[0]
    assert (nothing.crossing, nothing.in_sight) == (None, None)
    assert "not above 0, by the estimates alone" in nothing.reason


@pytest.mark.parametrize(("count", "few"), [(4, True), (40, False)])
def test_few_queries_are_said_to_be_too_few_to_see_a_crossing(count: int, few: bool) -> None:
    found = plan(pilot(count, 0.0, 0), ranks=[2], splits=4)[0]
    assert found.in_sight is False
    assert (f"and {count} queries are too few to see one" in found.reason) == few


@given(st.floats(0.01, 10), st.floats(-10, 10), st.floats(0, 3), st.floats(0, 3), st.floats(-1, 1))
def test_the_interval_holds_the_ratios_that_the_noise_allows(
    top: float, bottom: float, first: float, second: float, correlation: float
) -> None:
    covariance = np.array([[first**2, first * second * correlation], [first * second * correlation, second**2]])
    low, high = _fieller(top, bottom, covariance, 1.645)
    assert 0 <= low <= high

    def allowed(ratio: float) -> float:
        variance = first**2 - 2 * ratio * covariance[0, 1] + ratio**2 * second**2
        return float((top - ratio * bottom) ** 2 - 1.645**2 * variance)

    inside = [ratio for ratio in (low * 1.01 + 1e-6, low * 2, (low + high) / 2) if low < ratio < high]
    if np.isfinite(high) and high - low > 0.1 * high:
        assert all(allowed(ratio) <= 1e-6 * (1 + ratio**2) * 100 for ratio in inside)
        assert allowed(high * 1.1) > 0
    if bottom > 1.7 * second and bottom > 0.1:
        assert low * 0.999 <= top / bottom <= high * 1.001


COUNTS = np.array([32.0, 64, 128, 256, 512, 1024])


def curve(counts: Float64Array, ceiling: float = 0.4, distance: float = 1.5, exponent: float = 0.7) -> Float64Array:
    return np.asarray(ceiling - distance * counts**-exponent)


def test_a_curve_without_noise_is_found_again() -> None:
    found = LearningCurve.fit(COUNTS.tolist(), curve(COUNTS).tolist(), errors=[1e-6] * 6)
    assert (found.ceiling, found.distance, found.exponent) == pytest.approx((0.4, 1.5, 0.7), rel=0.05)
    forecast = found.at(8192)
    assert forecast.value == pytest.approx(curve(np.array([8192.0]))[0], abs=2e-3)
    assert found.crossing(0.3).value == pytest.approx(15 ** (1 / 0.7), rel=0.02)


def test_extrapolation_covers_and_widens() -> None:
    rng = np.random.default_rng(0)
    inside = []
    for seed in range(40):
        noisy = curve(COUNTS) + rng.normal(size=6) * 0.005
        found = LearningCurve.fit(COUNTS.tolist(), noisy.tolist(), errors=[0.005] * 6, draws=100, seed=seed)
        near, far = found.at(1024), found.at(16384)
        assert far.high - far.low > near.high - near.low
        inside.append(far.low <= curve(np.array([16384.0]))[0] <= far.high)
    assert np.mean(inside) >= 0.75


def test_errors_can_come_from_what_the_fit_leaves() -> None:
    noisy = curve(COUNTS) + np.random.default_rng(0).normal(size=6) * 0.01
    found = LearningCurve.fit(COUNTS.tolist(), noisy.tolist())
    assert found.at(2048).low < found.at(2048).value < found.at(2048).high


@pytest.mark.parametrize("scores", [np.zeros(6), np.full(6, 0.3), curve(COUNTS)[::-1], np.arange(6.0)])
def test_any_shape_gets_an_answer_without_nan(scores: Float64Array) -> None:
    found = LearningCurve.fit(COUNTS.tolist(), scores.tolist())
    for forecast in (found.at(5000), found.crossing(), found.crossing(10.0), found.crossing(-10.0)):
        assert not np.isnan([forecast.value, forecast.low, forecast.high]).any()


def test_a_gap_whose_ceiling_is_below_zero_never_crosses() -> None:
    found = LearningCurve.fit(COUNTS.tolist(), (curve(COUNTS) - 0.6).tolist(), errors=[1e-4] * 6)
    assert found.crossing().value == np.inf
    assert found.crossing(-1e3).value == 1.0


REFUSED: dict[str, tuple[Any, type[AskewError]]] = {
    "two counts": (lambda: LearningCurve.fit([1, 2], [0, 1], errors=[1, 1]), LabelError),
    "one count thrice": (lambda: LearningCurve.fit([4, 4, 4], [0, 1, 2], errors=[1, 1, 1]), LabelError),
    "three counts without errors": (lambda: LearningCurve.fit([1, 2, 3], [0, 1, 2]), LabelError),
    "lengths": (lambda: LearningCurve.fit([1, 2, 3, 4], [0, 1, 2]), ParameterError),
    "a nan": (lambda: LearningCurve.fit([1, 2, 3, 4], [0, 1, 2, float("nan")]), ParameterError),
    "a count of zero": (lambda: LearningCurve.fit([0, 1, 2, 3], [0, 1, 2, 3]), ParameterError),
    "an error of zero": (lambda: LearningCurve.fit([1, 2, 3], [0, 1, 2], errors=[0, 1, 1]), ParameterError),
    "few draws": (lambda: LearningCurve.fit([1, 2, 3, 4], [0, 1, 2, 3], draws=2), ParameterError),
    "a forecast at nothing": (lambda: LearningCurve.fit([1, 2, 3, 4], [0, 1, 2, 4]).at(0), ParameterError),
}


@pytest.mark.parametrize(("call", "error"), list(REFUSED.values()), ids=list(REFUSED))
def test_bad_input_is_refused(call: Any, error: type[AskewError]) -> None:
    with pytest.raises(error):
        call()
