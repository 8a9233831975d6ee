"""Sums and products in a fixed order.

A BLAS sums in an order that depends on block sizes and thread counts, so the last bits of its
results do too. The two kernels here give the same bits for every batch, block and thread count:

* `tree_sum` halves the last axis again and again by element-wise additions, which IEEE 754 defines
  exactly; nothing is left for a library to reorder.
* `matmul` cuts both factors into short integers, so that every product and partial sum of a float64
  GEMM is an integer below 2^53: it is exact, and an exact sum has no order. (The idea is that of
  Ozaki, Ogita, Oishi and Rump, "Error-free transformations of matrix multiplication by using fast
  routines of matrix multiplication and its applications", Numerical Algorithms 59, 2012.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within

__all__ = [
    "BoolArray",
    "Float32Array",
    "Float64Array",
    "FloatArray",
    "IntArray",
    "matmul",
    "row_dots",
    "row_norms",
    "tree_sum",
]

FloatArray = npt.NDArray[np.floating[Any]]
Float64Array = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


def tree_sum(values: Float64Array) -> Float64Array:
    """Sum the last axis in a fixed, halving order.

    Args:
        values: (..., d) float64. **It is overwritten.**

    Returns:
        (...) float64.

    >>> tree_sum(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).tolist()
    [6.0, 15.0]
    """
    width = values.shape[-1]
    if width == 0:
        return np.zeros(values.shape[:-1])
    while width > 1:
        half = width // 2
        values[..., :half] += values[..., width - half : width]
        width -= half
    return values[..., 0].copy()


def row_dots(left: FloatArray, right: FloatArray) -> Float64Array:
    """Inner products of paired rows, accumulated in float64 in a fixed order.

    For float16 and float32 input every product is exact, so only the ⌈log2 d⌉ levels of the sum
    round.

    Args:
        left: (n, d).
        right: (n, d).

    Returns:
        (n,) float64.

    >>> row_dots(np.eye(2), np.array([[3.0, 1.0], [1.0, 4.0]])).tolist()
    [3.0, 4.0]
    """
    return tree_sum(np.multiply(left, right, dtype=np.float64))


def row_norms(matrix: FloatArray, *, budget: int = DEFAULT_BUDGET) -> Float64Array:
    """Euclidean norms of rows, in blocks; safe against overflow and underflow.

    Rows with a NaN give NaN, rows with an infinity give infinity.

    Args:
        matrix: (n, d) of any float type, memory-mapped or not.
        budget: bytes of scratch.

    Returns:
        (n,) float64.

    >>> row_norms(np.array([[3.0, 4.0], [0.0, 0.0], [3e-200, 4e-200]])).tolist()
    [5.0, 0.0, 5e-200]
    """
    count, width = matrix.shape
    norms = np.zeros(count)
    if width == 0:
        return norms
    for rows in blocks(count, rows_within(budget, 32 * width)):
        block = np.asarray(matrix[rows], dtype=np.float64)
        # A NaN passes through max; a scale of 0, NaN or infinity must not divide.
        scale = np.max(np.abs(block), axis=1)
        usable = np.isfinite(scale) & (scale > 0)
        powers = np.where(usable, np.ldexp(1.0, np.frexp(np.where(usable, scale, 1.0))[1] - 1), 1.0)
        with np.errstate(over="ignore", invalid="ignore"):
            block = block / powers[:, None]
            norms[rows] = np.where(usable, np.sqrt(row_dots(block, block)) * powers, scale)
    return norms


def matmul(left: FloatArray, right: FloatArray, *, budget: int = DEFAULT_BUDGET) -> Float64Array:
    """The product of two matrices, the same to the last bit however it is blocked or threaded.

    Each row of `left` and each column of `right` is scaled by a power of two and cut into two
    slices of b bits, 2b + ⌈log2 d⌉ ≤ 53; three integer GEMMs (high·high, high·low, low·high) are
    exact. The absolute error of an entry is below d · 2^(3 − 2b) · max|row| · max|column|; for entries of
    even size that is about 1e-11 of the product of the norms at d = 2048. Cost: 6ndp flops in float64
    GEMM, three times a plain one.

    Args:
        left: (n, d), finite.
        right: (d, p), finite.
        budget: bytes of scratch for one block of rows.

    Returns:
        (n, p) float64.

    >>> matmul(np.array([[1.0, 2.0]]), np.array([[3.0], [0.5]])).tolist()
    [[4.0]]
    """
    count, width = left.shape
    bits = (53 - max(1, math.ceil(math.log2(max(2, width))))) // 2
    right_high, right_low, right_power = _slices(np.asarray(right, dtype=np.float64).T, bits)
    product = np.empty((count, right.shape[1]))
    row_bytes = 8 * (3 * width + 3 * right.shape[1])
    for rows in blocks(count, rows_within(budget, row_bytes)):
        high, low, power = _slices(np.asarray(left[rows], dtype=np.float64), bits)
        small = high @ right_low.T
        small += low @ right_high.T
        total = high @ right_high.T
        total += np.ldexp(small, -bits)
        product[rows] = np.ldexp(total, power[:, None] + right_power[None, :] - 2 * (bits - 1))
        product[rows] += 0.0  # the sign of a zero is the one thing that an order could change
    return product


def _slices(rows: Float64Array, bits: int) -> tuple[Float64Array, Float64Array, npt.NDArray[np.int64]]:
    """Cut rows into integers: row ≈ (high + low · 2^-bits) · 2^(power - bits + 1).

    |high| ≤ 2^(bits-1) and |low| ≤ 2^(bits-1), so a product has at most 2·bits - 2 bits and the
    sum of two such GEMMs still fits.
    """
    peak = np.max(np.abs(rows), axis=1, initial=0.0)
    power = np.frexp(peak)[1].astype(np.int64)  # peak < 2^power
    scaled = np.ldexp(rows, (bits - 1) - power[:, None])
    high = np.rint(scaled)
    low = np.rint(np.ldexp(scaled - high, bits))
    return high, low, power
