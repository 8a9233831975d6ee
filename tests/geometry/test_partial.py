"""Between shared and dual: ends that are exact, nesting, a search for what is better, and a target with no nearest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.errors import AskewError, DimensionError, InputError, ParameterError
from askew.geometry import Nearest, nearest_dual, nearest_partial, nearest_shared, nearest_symmetric, nearest_untied
from askew.linalg.fixed import Float64Array


def gaussian(*shape: int, seed: int = 0) -> Float64Array:
    return np.random.default_rng(seed).normal(size=shape)


def leaning(size: int, seed: int = 0) -> Float64Array:
    """A positive definite matrix and a skew part of some size: a target that has a nearest matrix."""
    half = gaussian(size, size, seed=seed)
    return half @ half.T + 0.7 * gaussian(size, size, seed=seed + 100)


def searched(target: Float64Array, tied: int, untied: int, *, starts: int = 6) -> float:
    """The least error over (P₁, A₂, B₂) that L-BFGS finds from random starts."""
    size = len(target)

    def loss(flat: Float64Array) -> tuple[float, Float64Array]:
        rows = flat.reshape(tied + 2 * untied, size)
        shared, query, document = np.split(rows, [tied, tied + untied])
        rest = target - shared.T @ shared - query.T @ document
        slope = [-2 * shared @ (rest + rest.T), -2 * document @ rest.T, -2 * query @ rest]
        return float(np.sum(rest**2)), np.concatenate(slope).ravel()

    def descent(start: Float64Array) -> float:
        options: Any = {"maxiter": 3000, "maxfun": 6000, "ftol": 1e-15, "gtol": 1e-9}
        return float(scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options=options).fun)

    return min(descent(gaussian((tied + 2 * untied) * size, seed=seed)) for seed in range(starts))


def check_member(found: Nearest, target: Float64Array, rank: int, untied: int) -> None:
    assert found.query.shape == found.document.shape == (rank, len(target))
    assert found.tied == rank - untied
    np.testing.assert_array_equal(found.query[: found.tied], found.document[: found.tied])
    assert np.sum((target - found.to_dense()) ** 2) == pytest.approx(float(found.error), abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("size", "rank", "untied"), [(5, 2, 1), (6, 3, 1), (6, 3, 2), (8, 4, 2)])
def test_no_search_finds_better_where_there_is_a_nearest(size: int, rank: int, untied: int, seed: int) -> None:
    target = leaning(size, seed)
    found = nearest_partial(target, rank, untied=untied)
    check_member(found, target, rank, untied)
    assert found.settled
    assert found.error <= searched(target, rank - untied, untied) + 1e-8 * np.sum(target**2)
    exact = nearest_partial(target, rank, untied=untied, pull=0.0)
    assert exact.error <= found.error + 1e-12
    assert found.error - exact.error < 1e-8 * np.sum(target**2)


@pytest.mark.parametrize("target", [gaussian(5, 5), leaning(5), np.zeros((5, 5)), -np.eye(5)])
@pytest.mark.parametrize("rank", [1, 3, 7])
def test_no_row_untied_is_shared_and_all_are_dual(target: Float64Array, rank: int) -> None:
    for found, exact in (
        (nearest_partial(target, rank, untied=0), nearest_shared(target, rank)),
        (nearest_partial(target, rank, untied=rank), nearest_dual(target, rank)),
    ):
        np.testing.assert_array_equal(found.query, exact.query)
        np.testing.assert_array_equal(found.document, exact.document)
        assert found.settled
    nothing = nearest_untied(target, rank, subspace=np.zeros((5, 0)))
    np.testing.assert_array_equal(nothing.query, nearest_shared(target, rank).query)


@settings(max_examples=8)
@given(st.integers(3, 5), st.integers(2, 3), st.integers(0, 1000), st.booleans())
def test_errors_are_nested_in_rank_and_in_untied_rows(size: int, rank: int, seed: int, lean: bool) -> None:
    target = leaning(size, seed) if lean else gaussian(size, size, seed=seed)
    slack = 1e-9 * float(np.sum(target**2))
    before = nearest_shared(target, rank)
    for untied in range(1, rank + 1):
        found = nearest_partial(target, rank, untied=untied, starts=1, near=[before])
        check_member(found, target, rank, untied)
        assert nearest_dual(target, rank).error - slack <= found.error <= before.error + slack
        if untied < rank:
            wider = nearest_partial(target, rank + 1, untied=untied, starts=1, near=[found])
            assert wider.error <= found.error + slack
        before = found


@settings(max_examples=8)
@given(st.integers(3, 6), st.integers(2, 4), st.integers(0, 1000))
def test_a_given_subspace_is_not_seen_by_tied_rows_and_a_larger_one_does_no_worse(
    size: int, rank: int, seed: int
) -> None:
    target, directions = leaning(size, seed), gaussian(size, size, seed=seed + 1)
    slack = 1e-9 * float(np.sum(target**2))
    before = nearest_shared(target, rank)
    for untied in range(1, min(rank, size)):
        found = nearest_untied(target, rank, subspace=directions[:, :untied], starts=1, near=[before])
        check_member(found, target, rank, untied)
        np.testing.assert_allclose(found.query[: found.tied] @ directions[:, :untied], 0, atol=1e-9)
        assert found.error <= before.error + slack
        learned = nearest_partial(target, rank, untied=untied, starts=1, near=[found])
        assert learned.error <= found.error + slack
        before = found


@pytest.mark.parametrize("subspace", [gaussian(6, 1), gaussian(6, 2), np.eye(6)[:, :1]])
def test_every_shared_matrix_leaves_any_subspace_to_untied_rows(subspace: Float64Array) -> None:
    rows = gaussian(3, 6)
    found = nearest_untied(rows.T @ rows, 3, subspace=subspace)
    assert found.error < 1e-9


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_member_of_the_family_is_found(seed: int) -> None:
    shared, query, document = gaussian(2, 8, seed=seed), gaussian(1, 8, seed=seed + 10), gaussian(1, 8, seed=seed + 20)
    target = shared.T @ shared + query.T @ document
    assert nearest_partial(target, 3, untied=1).error < 1e-8 * np.sum(target**2)


@pytest.mark.parametrize("scale", [1e-80, 1e-3, 1e3, 1e80])
def test_scale_changes_nothing_but_scale(scale: float) -> None:
    target = leaning(5)
    plain, scaled = (nearest_partial(one, 3, untied=1, starts=2) for one in (target, scale * target))
    np.testing.assert_allclose(scaled.to_dense() / scale, plain.to_dense(), atol=1e-5)
    assert scaled.error / scale**2 == pytest.approx(float(plain.error), rel=1e-6)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_tied_rows_may_have_signs(seed: int) -> None:
    rows = np.diag([2.0, 1.5, 1.0]) @ np.linalg.qr(gaussian(8, 3, seed=seed))[0].T
    turned = 0.7 * np.outer(*np.linalg.qr(gaussian(8, 2, seed=seed + 10))[0].T)
    target = rows.T @ np.diag([1.0, -1.0, 1.0]) @ rows + turned
    assert nearest_partial(target, 4, untied=1, signed=True).error < 0.01 * np.sum(target**2)
    found = nearest_partial(target, 4, untied=1, signed=True, starts=16)
    assert found.error < 1e-8 * np.sum(target**2)
    assert found.tied == 3
    np.testing.assert_array_equal(np.abs(found.query[:3]), np.abs(found.document[:3]))
    assert found.error < nearest_partial(target, 4, untied=1).error


@pytest.mark.parametrize("seed", [0, 1])
def test_signed_errors_are_nested_between_symmetric_and_dual(seed: int) -> None:
    target = gaussian(6, 6, seed=seed)
    np.testing.assert_array_equal(
        nearest_partial(target, 3, untied=0, signed=True).query, nearest_symmetric(target, 3).query
    )
    before = nearest_symmetric(target, 3)
    for untied in (1, 2, 3):
        found = nearest_partial(target, 3, untied=untied, signed=True, starts=0, near=[before])
        assert found.error <= before.error + 1e-9
        assert np.sum((target - found.to_dense()) ** 2) == pytest.approx(float(found.error))
        before = found
    assert before.error == pytest.approx(float(nearest_dual(target, 3).error))


def test_a_descent_may_end_early_and_start_from_what_is_known_alone() -> None:
    target = leaning(8)
    exact, known = nearest_partial(target, 4, untied=2), nearest_partial(target, 4, untied=1, starts=1)
    rough = nearest_partial(target, 4, untied=2, starts=0, near=[known], tolerance=1e-4)
    assert exact.error <= rough.error <= known.error
    assert rough.error < 1.5 * exact.error


def test_a_purely_skew_target_gets_its_best_untied_rows_at_least() -> None:
    target = gaussian(6, 6) - gaussian(6, 6).T
    assert nearest_partial(target, 4, untied=2).error <= nearest_dual(target, 2).error + 1e-9


def test_where_there_is_no_nearest_matrix_the_pull_bounds_the_factors() -> None:
    """u bᵀ + a uᵀ is a limit of the family r = 2, s = 1, and not in it."""
    unit = np.eye(3)
    target = np.outer(unit[0], unit[1]) + np.outer(unit[2], unit[0])
    size = np.linalg.norm(target)
    errors, sizes = [], []
    for pull in (1e-4, 1e-6, 1e-8):
        found = nearest_partial(target, 2, untied=1, pull=pull)
        errors.append(float(found.error))
        sizes.append(float(np.linalg.norm(found.query[1]) * np.linalg.norm(found.document[1])) / size)
    assert errors[0] > errors[1] > errors[2] > 0
    assert errors[1] < 0.02
    assert sizes[0] < sizes[1] < 50
    assert sizes[2] > 1.5 * sizes[1]


def test_the_same_call_gives_the_same_bits() -> None:
    target = leaning(6)
    first, second = (nearest_partial(target, 3, untied=1) for _ in range(2))
    np.testing.assert_array_equal(first.query, second.query)
    np.testing.assert_array_equal(first.document, second.document)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"rank": 2, "untied": 3}, ParameterError, "3 rows of 2"),
        ({"rank": 2, "untied": -1}, ParameterError, "untied"),
        ({"rank": 0, "untied": 0}, ParameterError, "rank"),
        ({"rank": 2, "untied": 1, "starts": 0}, ParameterError, "starts"),
        ({"rank": 2, "untied": 1, "pull": -1.0}, ParameterError, "pull"),
        ({"rank": 2, "untied": 1, "tolerance": 0.0}, ParameterError, "tolerance"),
        ({"rank": 2, "untied": 1, "tolerance": np.nan}, ParameterError, "tolerance"),
        ({"rank": 2, "untied": 1, "near": [nearest_symmetric(-np.eye(3), 1)]}, ParameterError, "signed=True"),
        ({"rank": 2, "untied": 1, "matrix": np.ones((2, 3))}, DimensionError, "square"),
        ({"rank": 2, "untied": 1, "matrix": np.ones((1, 3, 3))}, DimensionError, "stack"),
        ({"rank": 2, "untied": 1, "matrix": np.full((3, 3), np.nan)}, InputError, "NaN"),
        ({"rank": 2, "untied": 1, "near": [nearest_dual(np.eye(3), 2)]}, ParameterError, "not of the family"),
        ({"rank": 2, "untied": 1, "near": [nearest_shared(np.eye(3), 3)]}, ParameterError, "not of the family"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], error: type[AskewError], says: str) -> None:
    with pytest.raises(error, match=says):
        nearest_partial(**({"matrix": np.eye(3)} | options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("subspace", "error", "says"),
    [
        (np.ones(3), DimensionError, r"\(3,\)"),
        (np.ones((4, 1)), DimensionError, r"\(4, 1\)"),
        (np.ones((3, 2)), ParameterError, "dependent"),
        (np.zeros((3, 1)), ParameterError, "dependent"),
        (np.eye(3), ParameterError, "untied"),
        (np.full((3, 1), np.inf), InputError, "subspace"),
    ],
)
def test_subspaces_that_cannot_be_are_refused(subspace: Float64Array, error: type[AskewError], says: str) -> None:
    with pytest.raises(error, match=says):
        nearest_untied(np.eye(3), 2, subspace=subspace)
