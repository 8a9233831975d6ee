"""Factorisations by their identities: orthonormal, rebuilding the matrix, with signs by the rule."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from askew.linalg import SVD, factored_svd, one_thread, svd, symmetric_eigen
from askew.linalg.fixed import Float64Array

SHAPES = [(1, 1), (1, 6), (6, 1), (5, 5), (9, 4), (4, 9), (3, 0), (0, 3)]
SCALES = [1.0, 1e-150, 1e150]


def matrix(shape: tuple[int, int], rank: int | None = None, seed: int = 0) -> Float64Array:
    rng = np.random.default_rng([*shape, seed])
    if rank is None:
        return rng.normal(size=shape)
    return rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))


def assert_decomposes(found: SVD, dense: Float64Array, held: int) -> None:
    left, values, right = found
    size = float(np.linalg.norm(dense)) or 1.0
    assert left.shape == (dense.shape[0], held)
    assert right.shape == (dense.shape[1], held)
    assert np.all(values[:-1] >= values[1:])
    assert np.all(values >= 0)
    np.testing.assert_allclose(left.T @ left, np.eye(held), atol=1e-12)
    np.testing.assert_allclose(right.T @ right, np.eye(held), atol=1e-12)
    np.testing.assert_allclose((left * (values / size)) @ right.T, dense / size, atol=1e-12)
    if dense.size:
        assert np.all(np.take_along_axis(left, np.argmax(np.abs(left), axis=0)[None], axis=0) > 0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd_rebuilds_the_matrix(shape: tuple[int, int], scale: float) -> None:
    dense = matrix(shape) * scale
    assert_decomposes(svd(dense), dense, min(shape))


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_svd_of_deficient_matrices(rank: int) -> None:
    dense = matrix((7, 5), rank)
    found = svd(dense)
    assert_decomposes(found, dense, 5)
    assert np.sum(found.values > 1e-10) == rank


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("rank", [0, 1, 2, 4, 12])
@pytest.mark.parametrize("shape", [(6, 6), (8, 5), (5, 8), (1, 7)])
def test_factored_svd_is_the_dense_one(shape: tuple[int, int], rank: int, scale: float) -> None:
    left, right = matrix((shape[0], rank), seed=1) * scale, matrix((shape[1], rank), seed=2) / scale
    dense = left @ right.T
    held = min(rank, *shape)
    found = factored_svd(left, right)
    assert_decomposes(found, dense, held)
    plain = svd(dense)
    np.testing.assert_allclose(found.values, plain.values[:held], atol=1e-12 * (1 + plain.values.max(initial=0.0)))
    np.testing.assert_allclose(found.left, plain.left[:, :held], atol=1e-8)
    np.testing.assert_allclose(found.right, plain.right[:, :held], atol=1e-8)


def test_factored_svd_of_repeated_columns() -> None:
    left, right = matrix((6, 1)), matrix((5, 1))
    found = factored_svd(np.hstack([left, left, -left]), np.hstack([right, right, right]))
    assert_decomposes(found, left @ right.T, 3)
    assert np.all(found.values[1:] < 1e-12)


def test_a_sign_turned_over_leaves_the_same_vectors() -> None:
    dense = matrix((6, 4))
    plain, negated = svd(dense), svd(-dense)
    np.testing.assert_allclose(plain.left, negated.left, atol=1e-12)
    np.testing.assert_allclose(plain.right, -negated.right, atol=1e-12)


def test_of_equal_entries_the_first_decides_the_sign() -> None:
    assert svd(np.array([[-1.0], [1.0]])).left[0, 0] > 0


@pytest.mark.parametrize("size", [0, 1, 2, 7])
@pytest.mark.parametrize("rank", [0, 2, None])
def test_symmetric_eigen_diagonalises(size: int, rank: int | None) -> None:
    square = matrix((size, size), rank)
    symmetric = square + square.T
    values, vectors = symmetric_eigen(symmetric)
    assert np.all(values[:-1] >= values[1:])
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(size), atol=1e-12)
    np.testing.assert_allclose((vectors * values) @ vectors.T, symmetric, atol=1e-12)
    if size:
        assert np.all(np.take_along_axis(vectors, np.argmax(np.abs(vectors), axis=0)[None], axis=0) > 0)


def test_one_thread_holds_inside_and_gives_back_after() -> None:
    def counts() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(limits=2, user_api="blas"):
        before = counts()
        with one_thread():
            assert set(counts()) <= {1}
        assert counts() == before


@pytest.mark.parametrize("owner", ["main", "worker"])
def test_the_last_of_blocks_that_overlap_gives_back(owner: str) -> None:
    def counts() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    def limited() -> list[int]:
        with threadpool_limits(limits=2, user_api="blas"):
            before = counts()
            first, second = one_thread(), one_thread()
            with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
                one.submit(first.__enter__).result()
                other.submit(second.__enter__).result()
                one.submit(first.__exit__, None, None, None).result()
                assert set(counts()) <= {1}
                other.submit(second.__exit__, None, None, None).result()
            assert counts() == before
        return before

    if owner == "main":
        limited()
    else:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(limited).result()
