"""Ranks, forms and families of a path."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import ParameterError
from askew.estimators import Path, Setting
from askew.estimators.paths import span
from askew.linalg.fixed import Float64Array
from askew.operators import Dense, Factored, Identity, Term, Zero


def orthonormal(rows: int, columns: int, seed: int = 0) -> Float64Array:
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(rows, columns)))[0])


def symmetric(width: int, scale: float = 1.0, seed: int = 0) -> Float64Array:
    matrix = np.random.default_rng(seed).normal(size=(width, width)) * scale
    return np.asarray((matrix + matrix.T) / 2)


@pytest.mark.parametrize("basis", [None, orthonormal(9, 5)], ids=["whole", "in a basis"])
@pytest.mark.parametrize("rank", [1, 2, 4, 5, 50])
def test_dual_ranks_are_the_best_of_that_rank(basis: Float64Array | None, rank: int) -> None:
    matrix = np.random.default_rng(0).normal(size=(5, 7))
    path = Path.dual((1.0,), (None, rank), basis, [matrix])
    whole, cut = (path.at(Setting(1.0, bound)).to_dense() for bound in (None, rank))
    values = np.linalg.svd(whole, compute_uv=False)
    assert np.linalg.matrix_rank(cut, tol=1e-5) == min(rank, 5)
    assert np.sum((whole - cut) ** 2) == pytest.approx(np.sum(values[rank:] ** 2), abs=1e-6)


@pytest.mark.parametrize("basis", [None, orthonormal(9, 5)], ids=["whole", "in a basis"])
@pytest.mark.parametrize("prior", [Identity, lambda width: Zero(width, width)], ids=["identity", "zero"])
@pytest.mark.parametrize("scale", [0.3, 2.0])
@pytest.mark.parametrize("rank", [1, 3, 5, 50])
def test_shared_ranks_are_the_best_of_all_subsets_in_the_cone(
    basis: Float64Array | None, prior: Callable[[int], Term], scale: float, rank: int
) -> None:
    """The nearest Δ of rank r with M0 + Δ ⪰ 0 keeps eigenvectors, so every choice of r of them can be tried."""
    matrix = symmetric(5, scale)
    known = prior(5 if basis is None else 9)
    path = Path.shared((1.0,), (rank,), basis, [matrix], known)
    found = path.at(Setting(1.0, rank)).to_dense()
    target = matrix if basis is None else basis @ matrix @ basis.T
    least = -1.0 if isinstance(known, Identity) else 0.0
    values, vectors = np.linalg.eigh(matrix)
    vectors = vectors if basis is None else basis @ vectors
    tried = [
        np.sum(((vectors[:, kept] * np.maximum(values[list(kept)], least)) @ vectors[:, kept].T - target) ** 2)
        for kept in map(list, combinations(range(5), min(rank, 5)))
    ]
    assert np.sum((found - target) ** 2) == pytest.approx(min(tried), rel=1e-5, abs=1e-6)
    assert np.linalg.eigvalsh(known.to_dense() + found).min() > -1e-6
    assert np.linalg.matrix_rank(found, tol=1e-5) <= rank


@given(st.integers(2, 7), st.floats(0.01, 5.0), st.integers(0, 20), st.booleans())
def test_a_shared_correction_stays_in_the_cone_and_moves_only_if_it_must(
    width: int, scale: float, seed: int, dense: bool
) -> None:
    half = np.random.default_rng(seed).normal(size=(width, width - 1))
    prior: Term = Dense(half @ half.T) if dense else Identity(width)
    matrix = symmetric(width, scale, seed)
    found = Path.shared((1.0,), (None,), None, [matrix], prior).at(Setting(1.0)).to_dense()
    before, after = (np.linalg.eigvalsh(prior.to_dense() + part) for part in (matrix, found))
    assert after.min() > -1e-5 * max(1.0, np.abs(after).max())
    if before.min() > 0:
        assert np.array_equal(found.astype(np.float32), matrix.astype(np.float32))
    nothing = Path.shared((1.0,), (None,), None, [np.zeros((width, width))], prior)
    assert not nothing.at(Setting(1.0)).to_dense().any()


def test_a_basis_and_a_dense_prior_give_the_whole_matrix() -> None:
    """The cone about a general M0 is not within the basis."""
    basis, half = orthonormal(6, 2), np.random.default_rng(1).normal(size=(6, 6))
    prior = Dense(half @ half.T / 6)
    matrix = -3 * np.eye(2)
    inside, whole = (
        Path.shared((1.0,), (None,), held, [given], prior).at(Setting(1.0)).to_dense()
        for held, given in ((basis, matrix), (None, basis @ matrix @ basis.T))
    )
    assert np.allclose(inside, whole, atol=1e-6)
    assert np.linalg.matrix_rank(whole - basis @ matrix @ basis.T, tol=1e-4) > 0


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "rank", "factors"),
    [
        (20, 3, 20, None, True),
        (20, 3, 20, 2, True),
        (20, 10, 20, None, False),
        (20, 15, 20, 9, True),
        (20, 15, 20, 10, False),
        (4, 3, 5, 2, True),
        (4, 3, 5, 3, False),
    ],
)
def test_the_smaller_form_is_shipped_and_in_float32(
    rows: int, inner: int, columns: int, rank: int | None, factors: bool
) -> None:
    matrix = np.random.default_rng(0).normal(size=(inner, columns))
    found = Path.dual((1.0,), (rank,), orthonormal(rows, inner), [matrix]).at(Setting(1.0, rank))
    assert found.shape == (rows, columns)
    if factors:
        assert isinstance(found, Factored)
        assert found.left.dtype == found.right.dtype == np.float32
        assert found.rank == (rank or inner)
    else:
        assert isinstance(found, Dense)
        assert found.matrix.dtype == np.float32


def test_settings_are_strengths_then_ranks_and_nothing_else() -> None:
    path = Path.dual((0.1, 1.0), (None, 2), None, [np.eye(3), 2 * np.eye(3)])
    assert path.settings == (Setting(0.1), Setting(0.1, 2), Setting(1.0), Setting(1.0, 2))
    assert np.allclose(path.at(Setting(1.0)).to_dense(), 2 * np.eye(3))
    with pytest.raises(ParameterError, match="not on the path"):
        path.at(Setting(0.5))


@given(st.integers(0, 6), st.integers(1, 8), st.integers(0, 3))
def test_a_span_holds_every_row(count: int, width: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(count, width))
    rows = np.vstack([rows, rows[: count // 2]])  # some twice
    basis = span(rows)
    if len(rows) >= width:
        assert basis is None
        return
    assert basis is not None
    assert basis.shape == (width, count)
    assert np.allclose(basis.T @ basis, np.eye(count), atol=1e-6)
    assert np.allclose(rows @ basis @ basis.T, rows, atol=1e-6)


def test_a_span_of_zeros_is_empty() -> None:
    found = span(np.zeros((2, 5)))
    assert found is not None
    assert found.shape == (5, 0)
