"""Dimensions, risks, the rule and its errors: at known numbers, by simulation, and at sizes where laws are hard."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import ParameterError
from askew.geometry import (
    boundary,
    choice_regret,
    dual_dimension,
    dual_only_dimension,
    dual_probability,
    local_risks,
    null_bound,
    partial_dimension,
    prefers_dual,
    selection_score,
    shared_dimension,
    sure_risks,
    untied_dimension,
    untied_dimension_learned,
)
from askew.geometry._tails import saddlepoint, tails
from askew.linalg.fixed import Float64Array

RATIOS = np.array([0, 0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3])
LARGEST = int(dual_only_dimension(4096, 4096))  # k = 8,386,560


@pytest.mark.parametrize(
    ("size", "rank", "numbers"),
    [
        (12, 3, (63, 33, 30)),
        (32, 8, (448, 228, 220)),
        (768, 16, (24320, 12168, 12152)),
        (768, 1, (1535, 768, 767)),
        (1, 1, (1, 1, 0)),
        (4096, 4096, (4096**2, 4096 * 4097 // 2, LARGEST)),
    ],
)
def test_known_dimensions(size: int, rank: int, numbers: tuple[int, int, int]) -> None:
    found = (dual_dimension(size, rank), shared_dimension(size, rank), dual_only_dimension(size, rank))
    assert tuple(int(number) for number in found) == numbers


def test_untied_dimensions_lie_between_and_their_prices_are_known() -> None:
    untied = np.arange(5)
    assert untied_dimension(9, untied).tolist() == [0, 8, 15, 21, 26]
    assert np.diff(untied_dimension(9, untied)).tolist() == [9 - s for s in (1, 2, 3, 4)]
    learned = untied_dimension_learned(9, 4, untied=untied)
    np.testing.assert_array_equal(learned - untied_dimension(9, untied), untied * (4 - untied))
    assert partial_dimension(9, 4, untied=[0, 4]).tolist() == [shared_dimension(9, 4), dual_dimension(9, 4)]


def test_risks_and_choices_of_the_calibration_table() -> None:
    """p = 12, r = 3, k = 30, σ = 1; the paper's simulation at ratio 2 has risk 93.10 and probability 0.970."""
    risks = local_risks(12, 3, signal=30 * RATIOS)
    assert risks.dual.tolist() == [63.0] * 9
    assert risks.shared.tolist() == [33, 40.5, 48, 55.5, 63, 70.5, 78, 93, 123]
    known = [0.0009, 0.0178, 0.0932, 0.2556, 0.4735, 0.6813, 0.8336, 0.9694, 0.9997]
    np.testing.assert_allclose(dual_probability(30 * RATIOS, 30), known, atol=5.1e-5)
    known = [0.0276, 0.3999, 1.3973, 1.9169, 0, 2.3905, 2.4956, 0.9169, 0.0179]
    np.testing.assert_allclose(choice_regret(30 * RATIOS, 30), known, atol=5.1e-5)
    assert null_bound(30) == pytest.approx(0.01002, abs=5e-6)
    assert dual_probability(0.0, 30) == pytest.approx(0.00092, abs=5e-6)


def test_power_with_estimated_noise_tends_to_that_with_known_noise() -> None:
    found = dual_probability(60.0, 30, splits=[1, 20, 1e5, np.inf])
    np.testing.assert_allclose(found[[0, 1, 3]], [0.9029, 0.9656, 0.9694], atol=5.1e-5)
    assert found[2] == pytest.approx(float(found[3]), abs=1e-6)
    assert found[3] == dual_probability(60.0, 30)
    assert dual_probability(60.0, 30, splits=1) == pytest.approx(0.894, abs=0.01)  # a half-split simulation
    assert dual_probability(0.0, 30, splits=1) == pytest.approx(0.037, abs=0.01)


@pytest.mark.parametrize("splits", [None, 1, 4])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 2.0])
def test_probabilities_and_regrets_are_those_of_a_simulated_rule(ratio: float, splits: int | None) -> None:
    """V̄ of noise σ²/n a coordinate; L contrasts of independent noise, of which the mean energy is the penalty."""
    k, sigma, draws = 10, 1.5, 40_000
    rng = np.random.default_rng(0)
    signal = ratio * sigma**2 * k
    shift = np.zeros(k)
    shift[0] = np.sqrt(signal)
    energy = np.sum((shift + sigma * rng.normal(size=(draws, k))) ** 2, axis=1)
    if splits is None:
        chosen = prefers_dual(energy, k, noise=sigma)
    else:
        chosen = energy > 2 * sigma**2 * rng.chisquare(splits * k, size=draws) / splits
    probability = dual_probability(signal, k, noise=sigma, splits=splits)
    assert abs(chosen.mean() - probability) < 4 * np.sqrt(probability * (1 - probability) / draws) + 1e-9
    difference = signal - sigma**2 * k
    worse = np.where(chosen, max(-difference, 0.0), max(difference, 0.0))
    regret = choice_regret(signal, k, noise=sigma, splits=splits)
    assert abs(worse.mean() - regret) < 4 * worse.std() / np.sqrt(draws) + 1e-9


def test_risk_estimates_are_unbiased_and_their_difference_is_the_score() -> None:
    size, rank, sigma, signal = 6, 2, 0.7, 3.0
    k = int(dual_only_dimension(size, rank))
    rng = np.random.default_rng(1)
    shift = np.zeros(k)
    shift[0] = np.sqrt(signal)
    energy = np.sum((shift + sigma * rng.normal(size=(40_000, k))) ** 2, axis=1)
    estimates = sure_risks(size, rank, energy=energy, noise=sigma)
    truth = local_risks(size, rank, signal=signal, noise=sigma)
    assert np.all(estimates.dual == truth.dual)
    assert abs(estimates.shared.mean() - truth.shared) < 4 * estimates.shared.std() / 200
    np.testing.assert_allclose(estimates.shared - estimates.dual, selection_score(energy, k, noise=sigma))


def test_a_tie_goes_to_shared() -> None:
    assert not prefers_dual(60.0, 30)
    assert prefers_dual(np.nextafter(60.0, 61.0), 30)
    assert not prefers_dual(0.0, 30)


@given(st.integers(1, 40), st.integers(1, 40), st.floats(0.1, 10), st.integers(1, 10_000))
def test_the_boundary_is_where_the_risks_are_equal(size: int, rank: int, noise: float, pairs: int) -> None:
    rank = min(rank, size)
    edge = boundary(size, rank, noise=noise)
    risks = local_risks(size, rank, signal=edge, noise=noise)
    assert risks.dual == pytest.approx(float(risks.shared))
    assert boundary(size, rank, noise=noise, pairs=pairs) * pairs == pytest.approx(float(edge))
    if edge > 0:
        degrees = dual_only_dimension(size, rank)
        assert choice_regret(edge, degrees, noise=noise) == pytest.approx(0, abs=1e-12 * float(edge))


def test_everything_broadcasts() -> None:
    signal, degrees = np.array([[0.0], [5.0], [50.0]]), np.array([3, 30, 300, 3000])
    for found in (
        dual_probability(signal, degrees),
        choice_regret(signal, degrees, splits=5),
        selection_score(signal, degrees),
        local_risks(degrees, 3, signal=signal).dual,
        local_risks(degrees, 3, signal=signal).shared,
        sure_risks(degrees, 3, energy=signal).dual,
    ):
        assert found.shape == (3, 4)
    for row, column in np.ndindex(3, 4):
        alone = dual_probability(signal[row, 0], degrees[column])
        assert dual_probability(signal, degrees)[row, column] == alone
    assert boundary([8, 16], 2, pairs=[[10], [20], [30]]).shape == (3, 2)


def test_the_null_bound_holds_at_every_size() -> None:
    degrees = np.unique(np.geomspace(1, LARGEST, 60).astype(int))
    assert np.all(dual_probability(0.0, degrees) <= null_bound(degrees))


SIZES = [1, 2, 5, 30, 220, 767, 12152, 100_000, 1_000_000, LARGEST]
SPLITS = [1.0, 20.0, 1e6, np.inf]


def ratios(degrees: int) -> Float64Array:
    """Signal to boundary: far, near, and within six standard deviations of it."""
    found = np.append([0, 0.1, 0.25, 0.5, 0.9, 1, 1.1, 1.5, 2, 3, 10], 1 + np.linspace(-6, 6, 13) / np.sqrt(degrees))
    return np.asarray(found[found >= 0])


@pytest.mark.parametrize("splits", SPLITS)
@pytest.mark.parametrize("degrees", SIZES)
def test_two_ways_to_the_tails_meet_as_the_size_grows(degrees: int, splits: float) -> None:
    """The library's series and the saddlepoint share nothing; the normal approximation is far behind both."""
    shift = degrees * ratios(degrees)
    arguments = np.array([float(degrees)]), shift, np.array([splits])
    exact, near = tails(*arguments), saddlepoint(*arguments)
    np.testing.assert_allclose(exact.above + exact.below, 1, atol=1e-12)
    for one, other in zip(exact, near, strict=True):
        assert np.max(np.abs(one - other)) < 0.02 / degrees
        seen = one > 1e-250  # far out in both tails, digits count as well
        np.testing.assert_allclose(other[seen], one[seen], rtol=max(0.06 / degrees, 1e-9))
    spread = np.sqrt(2 * degrees + 4 * shift + 8 * degrees / splits)
    normal = scipy.stats.norm.sf((degrees - shift) / spread)
    assert np.max(np.abs(normal - exact.above)) > 10 * np.max(np.abs(near.above - exact.above)) or degrees < 5


@pytest.mark.parametrize("splits", [None, 1, 20, 1e9])
def test_probabilities_are_numbers_and_grow_with_the_signal(splits: float | None) -> None:
    signal = np.concatenate([[0, 1e-320, 1e-300, 1e-20], np.geomspace(1e-12, 1e15, 400), [1e100, 1e300]])
    for degrees in SIZES:
        found = dual_probability(signal, degrees, splits=splits)
        assert np.all((found >= 0) & (found <= 1))
        assert np.all(np.diff(found) >= -1e-12)
        assert found[-1] == 1
        regret = choice_regret(signal, degrees, splits=splits)
        assert np.all((regret >= 0) & np.isfinite(regret))


def test_where_the_library_gives_no_probability_the_saddlepoint_does() -> None:
    """The noncentral F of scipy 1.17: below 0 without a signal, and NaN here and there far out."""
    assert dual_probability(0.0, 30, splits=1) == pytest.approx(scipy.stats.f.sf(2, 30, 30))
    regret = choice_regret(3000.0, 30, splits=2)
    assert 0 <= regret < 1e-9


@pytest.mark.parametrize(
    ("call", "where"),
    [
        (lambda: dual_dimension(3, 4), "rank"),
        (lambda: shared_dimension(3, 0), "rank"),
        (lambda: dual_only_dimension(0, 1), "dim"),
        (lambda: dual_only_dimension(3.5, 1), "dim"),
        (lambda: dual_only_dimension(np.nan, 1), "dim"),
        (lambda: dual_only_dimension("3", 1), "dim"),
        (lambda: dual_only_dimension([5, 3], [5, 4]), "rank"),
        (lambda: untied_dimension(3, 4), "untied"),
        (lambda: untied_dimension(3, -1), "untied"),
        (lambda: untied_dimension_learned(9, 3, untied=4), "untied"),
        (lambda: partial_dimension(9, 3, untied=4), "untied"),
        (lambda: local_risks(9, 3, signal=-1.0), "signal"),
        (lambda: local_risks(9, 3, signal=np.inf), "signal"),
        (lambda: local_risks(9, 3, signal=1.0, noise=0.0), "noise"),
        (lambda: local_risks(9, 3, signal=1.0, noise=1e-200), "noise"),
        (lambda: boundary(9, 3, pairs=0), "pairs"),
        (lambda: boundary(9, 3, noise=-1.0), "noise"),
        (lambda: sure_risks(9, 3, energy=np.nan), "energy"),
        (lambda: selection_score(-1.0, 3), "energy"),
        (lambda: selection_score(1.0, 0), "degrees"),
        (lambda: prefers_dual(1.0, np.nan), "degrees"),
        (lambda: dual_probability(1.0, 0), "degrees"),
        (lambda: dual_probability(1.0, 2.5), "degrees"),
        (lambda: dual_probability(-1.0, 2), "signal"),
        (lambda: dual_probability(1.0, 2, noise=np.inf), "noise"),
        (lambda: dual_probability(1.0, 2, splits=0), "splits"),
        (lambda: dual_probability(1.0, 2, splits=np.nan), "splits"),
        (lambda: choice_regret(1.0, 2, splits=0.5), "splits"),
        (lambda: null_bound(0), "degrees"),
    ],
)
def test_numbers_out_of_range_are_refused(call: Callable[[], object], where: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert caught.value.where == where
    assert caught.value.remedy
