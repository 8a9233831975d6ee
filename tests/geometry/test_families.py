"""The nearest matrices of the families: against a slow search, by identities, and on targets that have none."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import AskewError, DimensionError, InputError, ParameterError
from askew.geometry import Nearest, approximation_errors, nearest_dual, nearest_shared, nearest_symmetric
from askew.linalg.fixed import Float64Array

Projector = Callable[[Float64Array, int], Nearest]
PROJECTORS: dict[str, Projector] = {
    "dual": nearest_dual,
    "shared": nearest_shared,
    "symmetric": nearest_symmetric,
}
SIZES = st.integers(1, 6)
RANKS = st.integers(1, 7)
SEEDS = st.integers(0, 10_000)


def gaussian(*shape: int, seed: int = 0) -> Float64Array:
    return np.random.default_rng(seed).normal(size=shape)


def orthogonal(dim: int, seed: int = 0) -> Float64Array:
    return np.asarray(np.linalg.qr(gaussian(dim, dim, seed=seed))[0])


def with_spectrum(values: list[float], seed: int = 0) -> Float64Array:
    """Symmetric, with these eigenvalues in the directions of a random basis."""
    basis = orthogonal(len(values), seed)
    return (basis * values) @ basis.T


def distance(target: Float64Array, found: Nearest) -> float:
    return float(np.sum((target - found.to_dense()) ** 2))


def searched(target: Float64Array, rank: int, *, starts: int = 12) -> float:
    """The least ‖M* - PᵀP‖² over P that L-BFGS finds from many starts."""
    size = len(target)

    def loss(flat: Float64Array) -> tuple[float, Float64Array]:
        rows = flat.reshape(rank, size)
        rest = target - rows.T @ rows
        return float(np.sum(rest**2)), (-2 * rows @ (rest + rest.T)).ravel()

    def descent(start: Float64Array) -> float:
        options: Any = {"maxiter": 5000, "maxfun": 9000, "ftol": 1e-16, "gtol": 1e-11}
        return float(scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options=options).fun)

    return min(descent(gaussian(rank * size, seed=seed)) for seed in range(starts))


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 4, 5])
@pytest.mark.parametrize("seed", [0, 1])
def test_theorem_1_is_what_a_search_over_projections_finds(size: int, rank: int, seed: int) -> None:
    target = gaussian(size, size, seed=seed)
    found = nearest_shared(target, rank)
    assert searched(target, rank) == pytest.approx(float(found.error), abs=1e-10)
    assert float(approximation_errors(target, rank).shared) == pytest.approx(float(found.error), abs=1e-12)


@pytest.mark.parametrize("rank", [1, 2, 4, 9])
@pytest.mark.parametrize("shape", [(5, 5), (4, 7), (7, 4), (1, 3)])
def test_dual_is_no_worse_than_random_rivals_and_leaves_the_other_singular_values(
    shape: tuple[int, int], rank: int
) -> None:
    target, rng = gaussian(*shape), np.random.default_rng(1)
    found = nearest_dual(target, rank)
    values = np.linalg.svd(target, compute_uv=False)
    assert found.error == pytest.approx(np.sum(values[rank:] ** 2), abs=1e-12)
    assert distance(target, found) == pytest.approx(float(found.error), abs=1e-12)
    for _ in range(200):
        near = rng.normal(scale=10.0 ** rng.uniform(-4, 0), size=found.query.shape)
        far = rng.normal(scale=10.0 ** rng.uniform(-4, 0), size=found.document.shape)
        rival = (found.query + near).T @ (found.document + far)
        assert np.sum((target - rival) ** 2) >= found.error - 1e-12


@pytest.mark.parametrize("rank", [1, 2, 3, 5, 8])
def test_symmetric_keeps_the_best_subset_of_eigenvalues(rank: int) -> None:
    target = gaussian(5, 5)
    values, vectors = np.linalg.eigh((target + target.T) / 2)
    tried = [
        np.sum((target - (vectors[:, kept] * values[list(kept)]) @ vectors[:, kept].T) ** 2)
        for kept in map(list, combinations(range(5), min(rank, 5)))
    ]
    found = nearest_symmetric(target, rank)
    assert found.error == pytest.approx(min(tried), abs=1e-12)
    assert distance(target, found) == pytest.approx(min(tried), abs=1e-12)
    np.testing.assert_allclose(found.to_dense(), found.to_dense().T, atol=1e-12)


@given(SIZES, RANKS, SEEDS, st.sampled_from(sorted(PROJECTORS)))
def test_turning_both_sides_turns_the_result(size: int, rank: int, seed: int, family: str) -> None:
    target, turn = gaussian(size, size, seed=seed), orthogonal(size, seed + 1)
    plain, turned = (PROJECTORS[family](one, rank) for one in (target, turn @ target @ turn.T))
    np.testing.assert_allclose(turned.to_dense(), turn @ plain.to_dense() @ turn.T, atol=1e-8)
    assert turned.error == pytest.approx(float(plain.error), abs=1e-10)


@given(SIZES, RANKS, SEEDS, st.sampled_from([1e-120, 1e-3, 1.0, 7.0, 1e120]), st.sampled_from(sorted(PROJECTORS)))
def test_scaling_the_target_scales_the_result(size: int, rank: int, seed: int, scale: float, family: str) -> None:
    target = gaussian(size, size, seed=seed)
    plain, scaled = (PROJECTORS[family](one, rank) for one in (target, scale * target))
    np.testing.assert_allclose(scaled.to_dense() / scale, plain.to_dense(), atol=1e-10)
    np.testing.assert_allclose(scaled.query / np.sqrt(scale), plain.query, atol=1e-7)
    assert scaled.error / scale**2 == pytest.approx(float(plain.error), abs=1e-10)


@given(SIZES, RANKS, SEEDS)
def test_families_are_nested_in_each_other_and_in_the_rank(size: int, rank: int, seed: int) -> None:
    target = gaussian(size, size, seed=seed)
    shared, symmetric, dual = (
        float(one(target, rank).error) for one in (nearest_shared, nearest_symmetric, nearest_dual)
    )
    assert dual <= symmetric + 1e-12
    assert symmetric <= shared + 1e-12
    for project in PROJECTORS.values():
        assert project(target, rank + 1).error <= project(target, rank).error + 1e-12


@given(SIZES, RANKS, SEEDS, st.sampled_from(sorted(PROJECTORS)))
def test_a_result_is_of_its_family_and_its_own_nearest(size: int, rank: int, seed: int, family: str) -> None:
    target = gaussian(size, size, seed=seed)
    found = PROJECTORS[family](target, rank)
    dense = found.to_dense()
    assert found.query.shape == found.document.shape == (rank, size)
    assert np.linalg.matrix_rank(dense, tol=1e-9) <= rank
    assert distance(target, found) == pytest.approx(float(found.error), abs=1e-10)
    if family != "dual":
        np.testing.assert_allclose(dense, dense.T, atol=1e-12)
    if family == "shared":
        assert found.tied == rank
        assert found.query is found.document
        assert np.linalg.eigvalsh(dense).min() > -1e-12
    again = PROJECTORS[family](dense, rank)
    np.testing.assert_allclose(again.to_dense(), dense, atol=1e-10)
    assert again.error < 1e-20 * max(1.0, float(np.sum(dense**2)))


@given(SIZES, SEEDS)
def test_the_gap_is_what_sharing_costs_and_is_never_negative(size: int, seed: int) -> None:
    target = gaussian(size, size, seed=seed)
    found = approximation_errors(target, np.arange(1, size + 3))
    assert np.all(found.gap >= 0)
    np.testing.assert_allclose(found.gap, found.shared - found.dual, atol=1e-10)
    np.testing.assert_allclose(found.gap, found.separation_dual**2 - found.separation_shared**2, atol=1e-10)
    whole = np.sum(target**2)
    np.testing.assert_allclose(found.shared + found.separation_shared**2, whole)
    np.testing.assert_allclose(found.dual + found.separation_dual**2, whole)
    symmetric = approximation_errors(target @ target.T, np.arange(1, size + 1))
    np.testing.assert_allclose(symmetric.gap, 0, atol=1e-9 * whole**2)


@pytest.mark.parametrize("rank", [1, 2, 3, 6])
def test_separations_are_the_largest_mean_margins_of_unit_operators(rank: int) -> None:
    target, rng = gaussian(4, 4, seed=3), np.random.default_rng(0)
    found = approximation_errors(target, rank)
    for family, separation in ((nearest_dual, found.separation_dual), (nearest_shared, found.separation_shared)):
        best = family(target, rank).to_dense()
        assert np.sum(best * target) / np.linalg.norm(best) == pytest.approx(float(separation))
        rivals = [family(target + rng.normal(size=(4, 4)), rank).to_dense() for _ in range(200)]
        margins = [float(np.sum(one * target) / np.linalg.norm(one)) for one in rivals if one.any()]
        assert max(margins) <= separation + 1e-12


@pytest.mark.parametrize(
    "target",
    [
        pytest.param(gaussian(5, 5) - gaussian(5, 5).T, id="purely skew"),
        pytest.param(
            orthogonal(5) @ (np.triu(np.ones((5, 5)), 1) - np.tril(np.ones((5, 5)), -1)) @ orthogonal(5).T,
            id="skew but for rounding",
        ),
        pytest.param(-np.eye(5), id="negative definite"),
        pytest.param(with_spectrum([-1.0, -2.0, -3.0, 0.0, 0.0]), id="negative semi-definite"),
        pytest.param(np.zeros((5, 5)), id="zero"),
    ],
)
def test_without_a_positive_eigenvalue_the_nearest_shared_matrix_is_zero(target: Float64Array) -> None:
    found = nearest_shared(target, 3)
    assert not found.query.any()
    assert found.rank == 0
    assert found.error == pytest.approx(np.sum(target**2), abs=1e-12)
    parts = approximation_errors(target, [1, 3, 9])
    np.testing.assert_allclose(parts.separation_shared, 0, atol=1e-14 * (1 + float(np.linalg.norm(target))))
    np.testing.assert_allclose(parts.shared, np.sum(target**2))
    np.testing.assert_allclose(parts.discarded, 0, atol=1e-24)


def test_fewer_positive_eigenvalues_than_rows_leave_rows_of_zeros() -> None:
    target = with_spectrum([4.0, 1.0, 0.0, -2.0])
    found = nearest_shared(target, 3)
    assert found.rank == 2
    assert not found.query[2].any()
    assert found.error == pytest.approx(4.0)
    np.testing.assert_allclose(found.query @ found.query.T, np.diag([4.0, 1.0, 0.0]), atol=1e-12)


@pytest.mark.parametrize("family", sorted(PROJECTORS))
@pytest.mark.parametrize("rank", [4, 7])
def test_a_rank_beyond_the_dimension_pads_with_zeros(family: str, rank: int) -> None:
    target = with_spectrum([3.0, 2.0, 1.0])
    found = PROJECTORS[family](target, rank)
    assert found.query.shape == (rank, 3)
    assert found.rank == 3
    np.testing.assert_allclose(found.to_dense(), target, atol=1e-12)
    assert found.error == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("family", sorted(PROJECTORS))
@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0, 1.0], [3.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 1.0]])
def test_ties_leave_the_distance_as_it_is(family: str, values: list[float]) -> None:
    target = with_spectrum(values)
    for rank in (1, 2, 3):
        found = PROJECTORS[family](target, rank)
        assert found.error == pytest.approx(sum(value**2 for value in values[rank:]))
        assert distance(target, found) == pytest.approx(float(found.error))
        assert found.rank == rank


def test_of_a_positive_and_a_negative_eigenvalue_of_one_size_the_positive_is_kept() -> None:
    found = nearest_symmetric(np.diag([-2.0, 2.0, 1.0]), 1)
    np.testing.assert_allclose(found.to_dense(), np.diag([0.0, 2.0, 0.0]), atol=1e-12)


@pytest.mark.parametrize("family", sorted(PROJECTORS))
def test_a_stack_is_its_matrices_one_by_one(family: str) -> None:
    stack = gaussian(2, 3, 4, 4)
    together = PROJECTORS[family](stack, 2)
    assert together.query.shape == (2, 3, 2, 4)
    assert together.error.shape == together.rank.shape == (2, 3)
    for place in np.ndindex(2, 3):
        alone = PROJECTORS[family](stack[place], 2)
        np.testing.assert_allclose(together.query[place], alone.query, atol=1e-12)
        np.testing.assert_allclose(together.document[place], alone.document, atol=1e-12)
        assert together.error[place] == pytest.approx(float(alone.error))
    with pytest.raises(DimensionError, match="one pair of projections"):
        together.operator()


def test_approximations_of_a_stack_at_many_ranks_are_those_of_each() -> None:
    stack, ranks = gaussian(3, 4, 4), np.array([[1, 2], [3, 9]])
    together = approximation_errors(stack, ranks)
    for name in ("skew", "negative", "discarded", "dual", "shared", "gap", "separation_dual", "separation_shared"):
        numbers = getattr(together, name)
        assert numbers.shape == (3, 2, 2)
        for place in np.ndindex(3, 2, 2):
            alone = approximation_errors(stack[place[0]], int(ranks[place[1:]]))
            assert numbers[place] == pytest.approx(float(getattr(alone, name)), abs=1e-12)


def test_the_three_parts_of_the_distance() -> None:
    skew = np.zeros((4, 4))
    skew[0, 1], skew[1, 0] = 0.5, -0.5
    found = approximation_errors(np.diag([3.0, 2.0, -1.0, -4.0]) + skew, [1, 2])
    assert found.skew.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(found.negative, 17)
    np.testing.assert_allclose(found.discarded, [4, 0], atol=1e-12)


@pytest.mark.parametrize("family", sorted(PROJECTORS))
def test_factors_have_fixed_signs(family: str) -> None:
    found = PROJECTORS[family](gaussian(6, 6), 3).query
    assert np.all(found[np.arange(3), np.argmax(np.abs(found), axis=1)] > 0)


def test_an_operator_scores_as_the_matrix_does() -> None:
    found = nearest_dual(gaussian(5, 3), 2)
    queries, documents = gaussian(4, 5, seed=1), gaussian(6, 3, seed=2)
    np.testing.assert_allclose(
        found.operator().score(queries, documents), queries @ found.to_dense() @ documents.T, atol=1e-10
    )
    query, document = found.projections()
    np.testing.assert_allclose(
        (queries @ query.T) @ (documents @ document.T).T, queries @ found.to_dense() @ documents.T
    )


def test_float32_and_whole_numbers_are_taken() -> None:
    whole = np.array([[2, 1], [0, -1]])
    for given_as in (np.float16, np.float32, np.int64):
        np.testing.assert_array_equal(nearest_dual(whole.astype(given_as), 1).query, nearest_dual(whole * 1.0, 1).query)


@pytest.mark.parametrize("measure", [*PROJECTORS.values(), approximation_errors])
@pytest.mark.parametrize(
    ("target", "error", "says"),
    [
        (np.array([[1.0, np.nan], [0.0, 1.0]]), InputError, "NaN"),
        (np.array([[1.0, np.inf], [0.0, 1.0]]), InputError, "NaN or infinite"),
        (np.full((2, 2), 1e200), InputError, "overflow"),
        (np.array([[1.0, 1j], [0.0, 1.0]]), InputError, "complex"),
        (np.array([["a", "b"], ["c", "d"]]), InputError, "real numbers"),
        (np.ones(3), DimensionError, r"\(3,\)"),
        (np.ones((0, 0)), DimensionError, "shape"),
    ],
)
def test_what_is_no_matrix_is_refused(
    measure: Callable[..., object], target: Float64Array, error: type[AskewError], says: str
) -> None:
    with pytest.raises(error, match=says):
        measure(target, 1)


@pytest.mark.parametrize("measure", [nearest_shared, nearest_symmetric, approximation_errors])
def test_what_is_not_square_has_no_shared_matrix(measure: Callable[..., object]) -> None:
    with pytest.raises(DimensionError, match="dual family"):
        measure(np.ones((2, 3)), 1)


@pytest.mark.parametrize("measure", [*PROJECTORS.values(), approximation_errors])
@pytest.mark.parametrize("rank", [0, -1, 1.5, np.nan, np.inf])
def test_ranks_below_one_are_refused(measure: Callable[..., object], rank: float) -> None:
    with pytest.raises(ParameterError):
        measure(np.eye(2), rank)
