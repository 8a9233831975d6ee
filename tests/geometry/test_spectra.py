"""Spectra against the dense, obvious projections: by rows and by matrix, for every rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import AskewError, DimensionError, ParameterError
from askew.geometry.spectra import Spectra, inner_products, interpolate, margins
from askew.linalg.fixed import Float64Array

KINDS = ["random", "low rank", "symmetric", "negative", "skew", "steep", "zero", "duplicate columns", "tiny"]


def moment(kind: str, dim: int = 9, seed: int = 0) -> Float64Array:
    rng = np.random.default_rng([seed, dim])
    square = rng.normal(size=(dim, dim))
    match kind:
        case "low rank":
            square = rng.normal(size=(dim, 2)) @ rng.normal(size=(2, dim))
        case "symmetric":
            square = square @ square.T
        case "negative":
            square = -square @ square.T
        case "skew":
            square = square - square.T
        case "steep":  # beyond what a Gram matrix resolves
            left, right = (np.linalg.qr(rng.normal(size=(dim, dim)))[0] for _ in range(2))
            square = (left * 10.0 ** -np.arange(dim)) @ right
        case "zero":
            square = np.zeros((dim, dim))
        case "duplicate columns":
            square[:, 1] = square[:, 0]
        case "tiny":
            square *= 1e-120
    return square


def dense_dual(matrix: Float64Array, rank: int) -> Float64Array:
    left, values, right = np.linalg.svd(matrix)
    return np.asarray((left[:, :rank] * values[:rank]) @ right[:rank])


def dense_shared(matrix: Float64Array, rank: int) -> Float64Array:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    kept = np.argsort(-values)[:rank]
    return np.asarray((vectors[:, kept] * np.maximum(values[kept], 0)) @ vectors[:, kept].T)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("largest", [1, 3, 9])
def test_projections_are_the_dense_ones(kind: str, largest: int) -> None:
    matrix = moment(kind)
    spectra = Spectra.of(matrix, largest=largest)
    size = float(np.linalg.norm(matrix))
    # A skew matrix has singular values in equal pairs, so that odd ranks are not unique.
    for rank in (2, 4, 6, 8) if kind == "skew" else range(1, largest + 1):
        if rank <= largest:
            np.testing.assert_allclose(spectra.dual(rank).to_dense(), dense_dual(matrix, rank), atol=1e-11 * size)
        np.testing.assert_allclose(
            spectra.shared(min(rank, largest)).to_dense(), dense_shared(matrix, min(rank, largest)), atol=1e-11 * size
        )
    assert np.all(np.diff(spectra.values) <= 1e-12 * size)
    assert np.all(spectra.values > 0)
    assert np.all(spectra.eigenvalues > 0)
    for vectors in (spectra.left, spectra.right, spectra.vectors):
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-7)


def test_a_small_subset_of_a_large_moment() -> None:
    matrix = moment("random", dim=60)
    few, all_of_them = Spectra.of(matrix, largest=5), Spectra.of(matrix, largest=60)
    np.testing.assert_allclose(few.values, all_of_them.values[:5])
    np.testing.assert_allclose(few.eigenvalues, all_of_them.eigenvalues[:5])
    np.testing.assert_allclose(few.dual(5).to_dense(), all_of_them.dual(5).to_dense(), atol=1e-10)
    np.testing.assert_allclose(few.shared(5).to_dense(), all_of_them.shared(5).to_dense(), atol=1e-10)


@pytest.mark.parametrize("count", [1, 3, 7, 9, 10, 25])
@pytest.mark.parametrize("kind", ["random", "equal rows", "equal sides", "zero differences", "zero queries"])
def test_rows_in_factors_give_what_the_matrix_gives(count: int, kind: str) -> None:
    rng = np.random.default_rng(count)
    x, z = rng.normal(size=(count, 20)), rng.normal(size=(count, 20))
    match kind:
        case "equal rows":
            x[:], z[:] = x[0], z[0]
        case "equal sides":
            z = x
        case "zero differences":
            z = np.zeros_like(z)
        case "zero queries":
            x = np.zeros_like(x)
    ranks = [1, 2, 5, 20]
    by_rows = Spectra.of_rows(x, z, largest=20)
    by_matrix = Spectra.of(x.T @ z / count, largest=20)
    size = float(np.linalg.norm(x.T @ z / count))
    assert by_rows.values.shape[0] <= min(count, 20)
    for rank in ranks:
        np.testing.assert_allclose(
            by_rows.dual(rank).to_dense(), by_matrix.dual(rank).to_dense(), atol=1e-9 * (size or 1)
        )
        np.testing.assert_allclose(
            by_rows.shared(rank).to_dense(), by_matrix.shared(rank).to_dense(), atol=1e-9 * (size or 1)
        )


@given(st.integers(0, 2**32), st.sampled_from(KINDS), st.sampled_from(KINDS))
def test_products_are_those_of_the_dense_projections(seed: int, kind: str, other: str) -> None:
    first, second = moment(kind, dim=6, seed=seed), moment(other, dim=6, seed=seed + 1)
    ranks = [2, 4, 6]
    one, two = Spectra.of(first, largest=6), Spectra.of(second, largest=6)
    found = inner_products(one, two, ranks)
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    for place, rank in enumerate(ranks):
        parts = [one.dual(rank), one.shared(rank)], [two.dual(rank), two.shared(rank)]
        dense = [np.sum(a.to_dense() * b.to_dense()) for a in parts[0] for b in parts[1]]
        np.testing.assert_allclose([part[place] for part in found], dense, atol=1e-12 * size)
        contrast = np.sum(
            (parts[0][0].to_dense() - parts[0][1].to_dense()) * (parts[1][0].to_dense() - parts[1][1].to_dense())
        )
        np.testing.assert_allclose(found.contrast()[place], contrast, atol=1e-12 * size)
    np.testing.assert_allclose(
        one.norms(ranks)[0], inner_products(one, one, ranks).dual_dual, atol=1e-12 * size + 1e-300
    )


def test_margins_are_bilinear_forms() -> None:
    rng = np.random.default_rng(0)
    spectra = Spectra.of(moment("random"), largest=9)
    x, z = rng.normal(size=(5, 9)), rng.normal(size=(5, 9))
    dual, shared = margins(spectra, x, z, [1, 4, 9])
    for place, rank in enumerate([1, 4, 9]):
        np.testing.assert_allclose(dual[:, place], np.einsum("ij,jk,ik->i", x, spectra.dual(rank).to_dense(), z))
        np.testing.assert_allclose(shared[:, place], np.einsum("ij,jk,ik->i", x, spectra.shared(rank).to_dense(), z))


@pytest.mark.parametrize("kind", ["random", "low rank", "negative", "zero"])
@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
def test_interpolation_truncates_the_mean_of_both(kind: str, weight: float) -> None:
    matrix = moment(kind)
    found = interpolate(Spectra.of(matrix, largest=3), 3, weight)
    mean = (1 - weight) * dense_shared(matrix, 3) + weight * dense_dual(matrix, 3)
    assert found.rank <= 3
    np.testing.assert_allclose(found.to_dense(), dense_dual(mean, 3), atol=1e-10)


REFUSED: dict[str, tuple[Any, type[AskewError]]] = {
    "not square": (lambda: Spectra.of(np.ones((2, 3)), largest=1), DimensionError),
    "two shapes": (lambda: Spectra.of_rows(np.ones((2, 3)), np.ones((2, 4)), largest=1), DimensionError),
    "no rows": (lambda: Spectra.of_rows(np.ones((0, 3)), np.ones((0, 3)), largest=1), DimensionError),
    "rank 0": (lambda: Spectra.of(np.eye(3), largest=0), ParameterError),
    "rank above p": (lambda: Spectra.of_rows(np.ones((1, 3)), np.ones((1, 3)), largest=4), ParameterError),
    "weight": (lambda: interpolate(Spectra.of(np.eye(3), largest=1), 1, 1.1), ParameterError),
}


@pytest.mark.parametrize(("call", "error"), list(REFUSED.values()), ids=list(REFUSED))
def test_bad_input_is_refused(call: Any, error: type[AskewError]) -> None:
    with pytest.raises(error):
        call()
