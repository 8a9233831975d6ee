"""Tangent spaces: projections by their dense formulas, dimensions by the ranks of the families' own maps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import DimensionError, InputError, ParameterError
from askew.geometry import (
    TangentSpace,
    dual_dimension,
    dual_only_dimension,
    nearest_dual,
    nearest_shared,
    partial_dimension,
    shared_dimension,
    untied_dimension,
    untied_dimension_learned,
)
from askew.linalg.fixed import Float64Array

SIZES = [(12, 3), (10, 4), (9, 4)]


def gaussian(*shape: int, seed: int = 0) -> Float64Array:
    return np.random.default_rng(seed).normal(size=shape)


def orthonormal(rows: int, columns: int, seed: int = 0) -> Float64Array:
    return np.asarray(np.linalg.qr(gaussian(rows, columns, seed=seed))[0])


def units(rows: int, columns: int) -> Float64Array:
    """All (rows, columns) matrices with one 1."""
    return np.eye(rows * columns).reshape(rows * columns, rows, columns)


def rank_of(matrices: Float64Array) -> int:
    return int(np.linalg.matrix_rank(matrices.reshape(len(matrices), -1), tol=1e-9))


def moves(tied: Float64Array, query: Float64Array, document: Float64Array) -> Float64Array:
    """The derivatives of P₁ᵀP₁ + A₂ᵀB₂ by every entry of its factors."""
    by_tied = [tied.T @ one + one.T @ tied for one in units(*tied.shape)]
    by_query = [one.T @ document for one in units(*query.shape)]
    by_document = [query.T @ one for one in units(*document.shape)]
    return np.asarray([*by_tied, *by_query, *by_document])


@pytest.mark.parametrize(("size", "rank"), SIZES)
def test_dimensions_are_the_ranks_of_the_families_tangent_maps(size: int, rank: int) -> None:
    """At a shared matrix: of P ↦ PᵀP, and of (A, B) ↦ AᵀB at A = B = P."""
    rows, nothing = gaussian(rank, size), np.zeros((0, size))
    shared, dual = rank_of(moves(rows, nothing, nothing)), rank_of(moves(nothing, rows, rows))
    assert shared == shared_dimension(size, rank)
    assert dual == dual_dimension(size, rank)
    assert dual - shared == dual_only_dimension(size, rank)


@pytest.mark.parametrize(("size", "rank"), SIZES)
def test_dimensions_are_the_ranks_of_the_projections(size: int, rank: int) -> None:
    vectors = TangentSpace(orthonormal(size, rank)).of(units(size, size))
    assert rank_of(vectors.to_dense()) == dual_dimension(size, rank)
    assert rank_of(vectors.shared().to_dense()) == shared_dimension(size, rank)
    assert rank_of(vectors.dual_only().to_dense()) == dual_only_dimension(size, rank)
    for untied in range(1, rank + 1):
        touched = vectors.dual_only().touching(vectors.space.basis[:, :untied])
        assert rank_of(touched.to_dense()) == untied_dimension(size, untied)


@pytest.mark.parametrize(("size", "rank"), SIZES)
def test_untied_dimensions_for_a_given_and_for_a_learned_subspace(size: int, rank: int) -> None:
    """At a shared matrix the map has the given-subspace dimensions, away from one those of the learned subspace."""
    for untied in range(rank + 1):
        tied, others = np.split(gaussian(rank, size), [rank - untied])
        given_one = rank_of(moves(tied, others, others)) - shared_dimension(size, rank)
        assert given_one == untied_dimension(size, untied)
        learned = rank_of(moves(tied, others, gaussian(untied, size, seed=1)))
        assert learned == partial_dimension(size, rank, untied=untied)
        assert learned - shared_dimension(size, rank) == untied_dimension_learned(size, rank, untied=untied)


@pytest.mark.parametrize(("size", "rank"), SIZES)
def test_tied_rows_that_do_not_see_a_subspace_have_the_given_dimensions(size: int, rank: int) -> None:
    """The family of `nearest_untied` at a shared matrix, whatever the subspace."""
    rows = gaussian(rank, size)
    for untied in range(1, rank):
        subspace = orthonormal(size, untied, seed=untied)
        turned = np.linalg.qr(rows @ subspace, mode="complete")[0].T @ rows
        others, tied = turned[:untied], turned[untied:]
        np.testing.assert_allclose(tied @ subspace, 0, atol=1e-12)
        blind = np.eye(size) - subspace @ subspace.T
        by_tied = [tied.T @ one @ blind + blind @ one.T @ tied for one in units(*tied.shape)]
        both = np.concatenate([by_tied, moves(np.zeros((0, size)), others, others)])
        assert rank_of(both) == shared_dimension(size, rank) + untied_dimension(size, untied)


def test_all_small_sizes_are_counted_or_bounded() -> None:
    for size in range(1, 7):
        for rank in range(1, size + 1):
            for untied in range(rank + 1):
                point = gaussian(rank + untied, size, seed=rank + untied)
                found = rank_of(moves(*np.split(point, [rank - untied, rank])))
                counted = partial_dimension(size, rank, untied=untied)
                assert found <= counted <= dual_dimension(size, rank)
                if rank + untied <= size or untied in {0, rank}:
                    assert found == counted


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 1000))
def test_projections_are_the_dense_formulas(size: int, rank: int, seed: int) -> None:
    rank = min(rank, size)
    basis, matrix = orthonormal(size, rank, seed), gaussian(2, size, size, seed=seed + 1)
    away = np.eye(size) - basis @ basis.T
    dual = matrix - away @ matrix @ away
    turned = np.swapaxes(dual, -1, -2)
    vector = TangentSpace(basis).of(matrix)
    for found, dense in (
        (vector, dual),
        (vector.shared(), (dual + turned) / 2),
        (vector.dual_only(), (dual - turned) / 2),
    ):
        np.testing.assert_allclose(found.to_dense(), dense, atol=1e-12)
        np.testing.assert_allclose(found.energy(), np.sum(dense**2, axis=(1, 2)), atol=1e-11)
        np.testing.assert_allclose(found.inner(vector), np.sum(dense * dual, axis=(1, 2)), atol=1e-11)
    np.testing.assert_allclose(vector.shared().inner(vector.dual_only()), 0, atol=1e-12)


def test_factors_give_what_their_product_gives() -> None:
    space = TangentSpace(orthonormal(7, 3))
    left, right = gaussian(2, 7, 5), gaussian(2, 7, 5, seed=1)
    one, other = space.of_factors(left, right), space.of(left @ np.swapaxes(right, 1, 2))
    for name in ("core", "left", "right"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-12)


def test_untied_energies_are_those_of_touching_the_first_directions() -> None:
    space = TangentSpace(orthonormal(7, 4))
    for vector in (space.of(gaussian(3, 7, 7)), space.of(gaussian(3, 7, 7)).dual_only()):
        found = vector.untied_energies()
        assert found.shape == (3, 5)
        np.testing.assert_array_equal(found[:, 0], 0)
        for untied in range(1, 5):
            touched = vector.touching(space.basis[:, :untied] @ gaussian(untied, untied))
            np.testing.assert_allclose(found[:, untied], touched.energy(), atol=1e-12)
        np.testing.assert_allclose(found[:, -1], vector.energy(), atol=1e-12)


def test_touching_is_its_dense_formula() -> None:
    space = TangentSpace(orthonormal(6, 3))
    skew = space.of(gaussian(6, 6)).dual_only()
    subspace = space.basis @ gaussian(3, 2)
    onto = subspace @ np.linalg.pinv(subspace)
    rest = np.eye(6) - onto
    expected = skew.to_dense() - rest @ skew.to_dense() @ rest
    np.testing.assert_allclose(skew.touching(subspace).to_dense(), expected, atol=1e-12)
    captured = skew.energy() - np.sum((rest @ skew.to_dense() @ rest) ** 2)
    assert skew.touching(subspace).energy() == pytest.approx(float(captured))


def test_the_space_at_a_matrix_orders_directions_by_eigenvalue() -> None:
    turn = orthonormal(5, 5)
    space = TangentSpace.at((turn * [1.0, 5.0, -7.0, 3.0, 0.1]) @ turn.T, 2)
    assert (space.dim, space.rank) == (5, 2)
    np.testing.assert_allclose(np.abs(space.basis.T @ turn), np.eye(5)[[1, 3]], atol=1e-12)


def test_theorem_2_by_simulation_through_the_projections() -> None:
    """n times both risks, with the spectrum 3, 2.5, 2 at p = 8, r = 3 and half of the boundary's signal."""
    size, rank, pairs, draws = 8, 3, 1e6, 2000
    rng = np.random.default_rng(5)
    turn = orthonormal(size, rank)
    truth = (turn * [3.0, 2.5, 2.0]) @ turn.T
    k = int(dual_only_dimension(size, rank))
    way = TangentSpace.at(truth, rank).of(rng.normal(size=(size, size))).dual_only().to_dense()
    way *= np.sqrt(0.5 * k / np.sum(way**2))
    target = nearest_dual(truth + way / np.sqrt(pairs), rank).to_dense()
    seen = target + rng.normal(size=(draws, size, size)) / np.sqrt(pairs)
    for project, expected in (
        (nearest_dual, dual_dimension(size, rank)),
        (nearest_shared, 0.5 * k + shared_dimension(size, rank)),
    ):
        losses = pairs * np.sum((project(seen, rank).to_dense() - target) ** 2, axis=(1, 2))
        assert abs(losses.mean() - expected) < 4 * losses.std() / np.sqrt(draws)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: TangentSpace(np.ones((2, 3))), DimensionError, "no larger"),
        (lambda: TangentSpace(np.ones((3, 2))), InputError, "orthonormal"),
        (lambda: TangentSpace(np.full((3, 1), np.nan)), InputError, "basis"),
        (lambda: TangentSpace.at(np.diag([1.0, -1.0]), 2), ParameterError, "1 positive"),
        (lambda: TangentSpace.at(-np.eye(2), 1), ParameterError, "0 positive"),
        (lambda: TangentSpace.at(np.ones((1, 2, 2)), 1), DimensionError, "stack"),
        (lambda: TangentSpace.at(np.eye(2), 0), ParameterError, "rank"),
        (lambda: TangentSpace(np.eye(3)).of(np.eye(2)), DimensionError, "height 2"),
        (lambda: TangentSpace(np.eye(3)).of(np.ones((3, 2))), DimensionError, "square"),
        (lambda: TangentSpace(np.eye(3)).of_factors(np.ones((3, 2)), np.ones((3, 1))), DimensionError, "factors"),
        (lambda: TangentSpace(np.eye(3)).of(np.eye(3)).touching(np.ones((2, 1))), DimensionError, "subspace"),
        (lambda: TangentSpace(np.eye(3)).of(np.eye(3)).touching(np.ones((3, 2))), ParameterError, "dependent"),
        (lambda: TangentSpace(np.eye(3)).of(np.eye(3)).touching(np.zeros((3, 1))), ParameterError, "dependent"),
        (lambda: TangentSpace(np.eye(3)[:, :1]).of(np.eye(3)).touching(np.ones((3, 1))), ParameterError, "leaves"),
        (
            lambda: TangentSpace(np.eye(3)).of(np.eye(3)).inner(TangentSpace(np.eye(3)).of(np.eye(3))),
            ParameterError,
            "two spaces",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], object], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        call()
