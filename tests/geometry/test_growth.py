"""Risk curves, shared fits that may take weight away, and what they rest on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from askew.errors import LabelError, ParameterError
from askew.geometry import (
    RelevanceRows,
    RiskCurve,
    Spectra,
    cars,
    cars_power,
    fold_loss,
    nearest_symmetric,
    risk_curve,
)
from askew.geometry.halving import compact
from askew.linalg.fixed import Float64Array


def rows_of(queries: Float64Array, differences: Float64Array) -> RelevanceRows:
    return RelevanceRows(tuple(f"q{row}" for row in range(len(queries))), queries, differences)


def pilot(*, turned: bool, count: int = 240, noise: float = 1.0) -> RelevanceRows:
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(count, 4)) @ np.eye(4, 10)
    turn = np.kron(np.eye(5), [[0.0, 1.0], [-1.0, 0.0]]) if turned else np.eye(10)
    noisy = noise * rng.normal(size=(2, count, 10))
    return rows_of(signal + noisy[0], signal @ turn + noisy[1])


@pytest.mark.parametrize("shape", [(30, 12), (4, 30)])
def test_signed_spectra_are_the_nearest_symmetric_matrices(shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    queries, differences = rng.normal(size=shape), rng.normal(size=shape)
    moment = queries.T @ differences / len(queries)
    found = Spectra.of_rows(queries, differences, largest=6, signed=True)
    assert found.eigenvalues.min() < 0 < found.eigenvalues.max()
    for rank in (1, 3, 6):
        np.testing.assert_allclose(
            found.shared(rank).to_dense(), nearest_symmetric(moment, rank).to_dense(), atol=1e-10
        )
        assert found.norms([rank])[1][0] == pytest.approx(np.sum(np.square(found.shared(rank).to_dense())))


def test_signed_rows_let_a_shared_fit_take_weight_away() -> None:
    rows = pilot(turned=False)
    away = replace(rows, differences=-rows.differences)
    for rule in (cars, fold_loss):
        assert rule(away, ranks=[4])[0].choice == "dual"  # no positive eigenvalue: nothing is shared
        assert rule(replace(away, signed=True), ranks=[4])[0].choice == "shared"
    assert compact(replace(pilot(turned=False, count=4), signed=True)).signed


def test_risk_is_that_of_a_slow_recomputation() -> None:
    rows = pilot(turned=True, count=40)
    found = risk_curve(rows, ranks=[2, 4], parts=(1,), folds=2, seed=3)
    whole = np.zeros((2, 2))
    from askew.geometry.splits import Units

    fold = Units(rows).deal(2, "fold-3")
    for number in range(2):
        fit, held = (
            rows.queries[part].T @ rows.differences[part] / part.sum() for part in (fold != number, fold == number)
        )
        spectra = Spectra.of(fit, largest=4)
        for place, rank in enumerate((2, 4)):
            for family, matrix in enumerate((spectra.shared(rank).to_dense(), spectra.dual(rank).to_dense())):
                whole[family, place] += (np.sum(matrix**2) - 2 * np.sum(matrix * held)) / 2
    np.testing.assert_allclose(np.stack([found.shared[0], found.dual[0]]), whole, atol=1e-12)
    assert found.counts.tolist() == [20.0]


def test_curves_cross_where_two_geometries_start_to_pay() -> None:
    found = risk_curve(pilot(turned=True, noise=2.0, count=400), ranks=[4], workers=2)
    assert found.counts.tolist() == [40.0, 80.0, 160.0, 320.0]
    assert found.dual[-1, 0] < found.shared[-1, 0]
    assert found.dual[0, 0] > found.shared[0, 0]
    crossing = found.crossing(0)
    assert crossing is not None
    assert 40 < crossing < 320
    assert risk_curve(pilot(turned=False, noise=2.0), ranks=[4]).crossing(0) is None


def test_curves_depend_on_no_order_and_no_workers() -> None:
    rows = pilot(turned=True)
    order = np.random.default_rng(2).permutation(len(rows))
    shuffled = RelevanceRows(tuple(rows.ids[row] for row in order), rows.queries[order], rows.differences[order])
    first, second = risk_curve(rows, ranks=[2]), risk_curve(rows, ranks=[2], workers=3)
    assert np.array_equal(first.dual, second.dual)
    np.testing.assert_allclose(risk_curve(shuffled, ranks=[2]).dual, first.dual, atol=1e-9)


@pytest.mark.parametrize(
    ("lead", "expected"), [([-1, -1, -1], None), ([1, 1, 1], None), ([1, -1, 1], 20 * np.sqrt(2)), ([-1, 1, -1], None)]
)
def test_a_crossing_is_the_last_one(lead: list[float], expected: float | None) -> None:
    shared = np.array(lead, dtype=np.float64)[:, None]
    found = RiskCurve(np.array([10.0, 20.0, 40.0]), (1,), shared, np.zeros((3, 1))).crossing(0)
    assert found == (None if expected is None else pytest.approx(expected))


def test_too_little_is_refused() -> None:
    with pytest.raises(LabelError, match=r"2 rows are left outside a fold.*at least 8 different"):
        risk_curve(pilot(turned=True, count=4), ranks=[1], folds=2)
    assert risk_curve(pilot(turned=True, count=8), ranks=[1], folds=2).counts.tolist() == [4.0]
    with pytest.raises(ParameterError, match="1 folds were asked for"):
        risk_curve(pilot(turned=True), ranks=[1], folds=1, parts=(1,))


def test_power_is_a_number_where_the_library_has_none() -> None:
    assert cars_power(2.2, 1014) == pytest.approx(1.0, abs=1e-6)
    assert 0 <= cars_power(5.0, 1014) <= 1
    assert 0 <= cars_power(1e6, 40_000) <= 1


def test_the_chance_of_dual_goes_by_the_noise_that_was_measured() -> None:
    found = cars(pilot(turned=True), ranks=[4])[0]
    assert found.dual_chance == pytest.approx(1.0, abs=1e-3)
    assert replace(found, score=0.0).dual_chance == 0.5
    assert replace(found, standard_error=0.0).dual_chance == 1.0
    assert replace(found, standard_error=None).dual_chance is None
    assert found.signal is not None
    assert found.price is not None
    assert found.crossing == pytest.approx(240 * found.price / found.signal)
    assert replace(found, signal=-1.0).crossing is None
    assert replace(found, signal=None).crossing is None
