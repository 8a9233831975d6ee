"""The fixed-order kernels: exact references, error bounds as documented, and the same bits however cut."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from askew.linalg import FloatArray, matmul, row_dots, row_norms, tree_sum
from askew.linalg.fixed import Float64Array

SHAPES = [(1, 1, 1), (1, 3, 1), (5, 1, 4), (4, 2, 3), (7, 33, 5), (3, 257, 2), (6, 64, 9)]
EMPTY = [(0, 3, 2), (2, 3, 0), (2, 0, 3), (0, 0, 0)]
DTYPES: list[Any] = [np.float16, np.float32, np.float64]


def bits(array: FloatArray) -> bytes:
    """Every bit, the sign of a zero too."""
    return np.ascontiguousarray(array).tobytes()


def draw(kind: str, shape: tuple[int, int], dtype: Any, seed: int) -> FloatArray:
    """A matrix of some kind; float16 and float32 get what they can hold."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=shape)
    span = {2: 3.0, 4: 30.0, 8: 140.0}[np.dtype(dtype).itemsize]
    match kind:
        case "huge and tiny rows":
            values *= 10.0 ** np.where(np.arange(shape[0]) % 2, span, -span)[:, None]
        case "huge and tiny columns":
            values *= 10.0 ** np.where(np.arange(shape[1]) % 2, span, -span)[None, :]
        case "spikes":
            values *= 10.0 ** rng.uniform(-span, span, size=shape)
        case "powers of two":
            values = np.ldexp(np.sign(values), rng.integers(-10, 10, size=shape))
        case "some zeros":
            values *= rng.integers(0, 2, size=shape)
        case "zeros":
            values *= -0.0
    return values.astype(dtype)


KINDS = ["normal", "huge and tiny rows", "huge and tiny columns", "spikes", "powers of two", "some zeros", "zeros"]


def exact_product(left: FloatArray, right: FloatArray) -> list[list[Fraction]]:
    rows = [[Fraction(float(v)) for v in row] for row in left]
    columns = [[Fraction(float(v)) for v in column] for column in right.T]
    return [[sum((a * b for a, b in zip(r, c, strict=True)), Fraction(0)) for c in columns] for r in rows]


def documented_bound(left: FloatArray, right: FloatArray) -> list[list[Fraction]]:
    width = left.shape[1]
    slice_bits = (53 - max(1, math.ceil(math.log2(max(2, width))))) // 2
    rows = [max((Fraction(abs(float(v))) for v in row), default=Fraction(0)) for row in left]
    columns = [max((Fraction(abs(float(v))) for v in column), default=Fraction(0)) for column in right.T]
    return [[width * Fraction(2) ** (3 - 2 * slice_bits) * r * c for c in columns] for r in rows]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_product_is_within_the_documented_error(shape: tuple[int, int, int], kind: str, dtype: Any) -> None:
    n, d, p = shape
    left, right = draw(kind, (n, d), dtype, seed=d), draw(kind, (d, p), dtype, seed=d + 1)
    product = matmul(left, right)
    assert product.dtype == np.float64
    exact, bound = exact_product(left, right), documented_bound(left, right)
    for i in range(n):
        for j in range(p):
            error = abs(Fraction(float(product[i, j])) - exact[i][j])
            assert error <= bound[i][j] + Fraction(2) ** -1074


@pytest.mark.parametrize("shape", EMPTY)
def test_product_of_nothing_is_zero(shape: tuple[int, int, int]) -> None:
    n, d, p = shape
    product = matmul(np.ones((n, d)), np.ones((d, p)))
    assert product.shape == (n, p)
    assert not product.any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_product_has_the_same_bits_however_it_is_cut(kind: str, dtype: Any) -> None:
    left, right = draw(kind, (23, 37), dtype, seed=1), draw(kind, (37, 19), dtype, seed=2)
    whole = matmul(left, right)
    order = np.random.default_rng(3).permutation(23)
    alike = {
        "rows one by one": np.vstack([matmul(row[None], right) for row in left]),
        "rows in two parts": np.vstack([matmul(left[:8], right), matmul(left[8:], right)]),
        "columns one by one": np.hstack([matmul(left, column[:, None]) for column in right.T]),
        "columns in two parts": np.hstack([matmul(left, right[:, :5]), matmul(left, right[:, 5:])]),
        "rows permuted": matmul(left[order], right)[np.argsort(order)],
        "columns and rows exchanged": matmul(right.T, left.T).T,
        "no budget": matmul(left, right, budget=1),
        "a small budget": matmul(left, right, budget=10_000),
        "column-major": matmul(np.asfortranarray(left), np.asfortranarray(right)),
        "strided": matmul(np.repeat(left, 2, axis=1)[:, ::2], np.repeat(right, 3, axis=0)[::3]),
        "float64": matmul(left.astype(np.float64), right.astype(np.float64)),
        "the other byte order": matmul(left.astype(left.dtype.newbyteorder(">")), right),
    }
    for name, product in alike.items():
        assert bits(product) == bits(whole), name


def test_product_has_the_same_bits_for_every_thread_count() -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(300, 257)), rng.normal(size=(257, 301))
    products = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads, user_api="blas"):
            products.append(bits(matmul(left, right)))
    assert products[0] == products[1]


@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.integers(1, 40),
    st.integers(1, 5),
    st.floats(-200, 100),
    st.floats(0, 40),
)
def test_scaling_by_a_power_of_two_scales_the_product(
    seed: int, n: int, d: int, p: int, scale: float, spread: float
) -> None:
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(n, d)) * 2.0 ** rng.uniform(-spread, spread, size=(n, d))
    right = rng.normal(size=(d, p))
    power = 2.0 ** round(scale)
    assert bits(matmul(left * power, right)) == bits(matmul(left, right) * power)
    assert bits(matmul(-left, right) + 0.0) == bits(-matmul(left, right) + 0.0)


def test_no_product_is_a_negative_zero() -> None:
    assert not np.signbit(matmul(np.array([[-1.0, -2.0]]), np.zeros((2, 3)))).any()
    assert not np.signbit(matmul(np.array([[-1e-200]]), np.array([[1e-200]]))).any()


def python_tree(values: list[float]) -> float:
    """The halving sum, in plain Python."""
    while len(values) > 1:
        half = len(values) // 2
        tail = values[len(values) - half :]
        values = [a + b for a, b in zip(values[:half], tail, strict=True)] + values[half : len(values) - half]
    return values[0] if values else 0.0


FINITE = st.floats(-1e100, 1e100)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=20), elements=FINITE))
def test_tree_sum_is_the_halving_sum_and_near_the_exact_one(values: Float64Array) -> None:
    sums = tree_sum(values.copy())
    assert sums.shape == values.shape[:-1]
    for row, total in zip(values.reshape(-1, values.shape[-1]).tolist(), np.ravel(sums).tolist(), strict=True):
        assert total == python_tree(row)
        levels = math.ceil(math.log2(max(2, len(row))))
        assert abs(total - math.fsum(row)) <= 1.01 * levels * 2.0**-53 * math.fsum(map(abs, row))


def test_tree_sum_of_nothing_is_zero() -> None:
    assert tree_sum(np.empty((3, 0))).tolist() == [0.0, 0.0, 0.0]
    assert tree_sum(np.empty((0, 3))).shape == (0,)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 100, 257])
def test_tree_sum_does_not_depend_on_the_rows_beside(width: int) -> None:
    values = np.random.default_rng(width).normal(size=(50, width)) * 1e10
    whole = tree_sum(values.copy())
    assert bits(np.array([tree_sum(row.copy()) for row in values])) == bits(whole)
    assert bits(tree_sum(np.asfortranarray(values))) == bits(whole)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("other", DTYPES)
def test_row_dots_are_near_the_exact_ones(dtype: Any, other: Any) -> None:
    rng = np.random.default_rng(5)
    left, right = rng.normal(size=(30, 77)).astype(dtype), rng.normal(size=(30, 77)).astype(other)
    dots = row_dots(left, right)
    assert dots.dtype == np.float64
    for x, y, dot in zip(left.astype(float).tolist(), right.astype(float).tolist(), dots.tolist(), strict=True):
        products = [a * b for a, b in zip(x, y, strict=True)]
        exact = float(sum((Fraction(a) * Fraction(b) for a, b in zip(x, y, strict=True)), Fraction(0)))
        assert abs(dot - exact) <= 9 * 2.0**-53 * math.fsum(map(abs, products))


def test_row_dots_of_float16_are_exact() -> None:
    rng = np.random.default_rng(6)
    left, right = (rng.uniform(-1, 1, size=(40, 384)).astype(np.float16) for _ in range(2))
    exact = [math.fsum((x.astype(float) * y.astype(float)).tolist()) for x, y in zip(left, right, strict=True)]
    assert row_dots(left, right).tolist() == exact


TABLE_OF_NORMS: list[tuple[str, list[float], float]] = [
    ("plain", [3.0, 4.0], 5.0),
    ("zero", [0.0, -0.0], 0.0),
    ("tiny", [3e-200, 4e-200], 5e-200),
    ("huge", [3e200, -4e200], 5e200),
    ("largest", [1.7976931348623157e308, 0.0], 1.7976931348623157e308),
    ("largest over two", [2.0**1023, 2.0**1023], 2.0**1023 * 2**0.5),
    ("beyond", [1.7e308, 1.7e308], math.inf),
    ("least denormal", [5e-324, 0.0], 5e-324),
    ("denormals", [3 * 2.0**-1070, 4 * 2.0**-1070], 5 * 2.0**-1070),
    ("mixed", [1e200, 1e-200], 1e200),
    ("infinite", [math.inf, 1.0], math.inf),
    ("minus infinite", [-math.inf, 1.0], math.inf),
    ("nan", [math.nan, 1.0], math.nan),
    ("nan and infinite", [math.nan, math.inf], math.nan),
]


@pytest.mark.parametrize(
    ("row", "norm"), [case[1:] for case in TABLE_OF_NORMS], ids=[case[0] for case in TABLE_OF_NORMS]
)
def test_norms_of_odd_rows(row: list[float], norm: float) -> None:
    found = float(row_norms(np.array([[1.0, 0.0], row]))[1])
    assert found == norm or (math.isnan(found) and math.isnan(norm)) or math.isclose(found, norm, rel_tol=1e-15)


FLOAT16_BITS = hnp.arrays(np.uint16, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9))


@given(FLOAT16_BITS)
def test_norms_of_any_float16_bits(raw: Any) -> None:
    rows = raw.view(np.float16)
    for row, norm in zip(rows.astype(np.float64).tolist(), row_norms(rows).tolist(), strict=True):
        if any(math.isnan(value) for value in row):
            assert math.isnan(norm)
        elif any(math.isinf(value) for value in row):
            assert norm == math.inf
        else:
            assert math.isclose(norm, math.hypot(*row), rel_tol=1e-15)


@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-1e307, 1e307)))
def test_norms_are_those_of_hypot(rows: Float64Array) -> None:
    for row, norm in zip(rows.tolist(), row_norms(rows).tolist(), strict=True):
        assert math.isclose(norm, math.hypot(*row), rel_tol=1e-14, abs_tol=5e-324)
    assert bits(row_norms(rows, budget=1)) == bits(row_norms(rows))
    assert bits(row_norms(np.asfortranarray(rows))) == bits(row_norms(rows))


def test_norms_of_nothing() -> None:
    assert row_norms(np.empty((0, 4))).shape == (0,)
    assert row_norms(np.empty((3, 0))).tolist() == [0.0, 0.0, 0.0]
