"""Vectors for ids, such that a token meets its own id at 1 and any other at 0 or less.

Under such a code the maximum over a document's tokens and one zero token is the weight of the same id, or 0
if the document lacks it. So MaxSim over them is an inner product of sparse vectors, exactly but for rounding.

* `DigitCode` writes an id in t digits x of base B, centred: 1 - c‖x - x'‖², in t + 2 dimensions. With one
  digit it is the quadratic construction in R³, whose error grows with the square of the number of ids.
* `OneHotCode` evaluates the polynomial of an id's t digits at every element of a prime field of q elements and
  marks each value: two ids agree in at most t - 1 of q places (Reed and Solomon, "Polynomial codes over certain
  finite fields", 1960). All its entries are whole numbers as small as q, in q² + 1 dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from askew._checks import is_whole
from askew.errors import ParameterError
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["Code", "DType", "DigitCode", "OneHotCode", "as_dtype", "choose_code"]

DType: TypeAlias = Literal["float16", "float32", "float64"]

# How far a score may lie from the inner product, as a share of Σ|u_i v_i|, if nobody says: what each type can hold.
_TOLERANCE = {"float16": 4e-3, "float32": 1e-6, "float64": 1e-12}
# Off an id a product must stay below 0 whatever the rounding; c = 2 leaves it at -1 or less.
_C = 2.0
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


@dataclass(frozen=True)
class DigitCode:
    """Ids from 0 to size - 1 as t digits, in R^(t + 2).

    q = u·(1 - c‖x‖², 2c·x, -c), d = v·(1, x, ‖x‖²), so ⟨q, d'⟩ = u·v·(1 - c‖x - x'‖²).

    Attributes:
        size: how many ids there are.
        digits: t; 1 is the quadratic construction.

    >>> code = DigitCode(1000, 2)
    >>> code.dim, (code.query([999, 998], [0.5, 0.5]) @ code.document([999], [2.0]).T).ravel().tolist()
    (4, [1.0, -1.0])
    """

    size: int
    digits: int

    def __post_init__(self) -> None:
        _check_size(self.size, self.digits)

    @property
    def base(self) -> int:
        """B, the least with Bᵗ ≥ size."""
        return _root(self.size, self.digits)

    @property
    def name(self) -> str:
        """What two codes share if their vectors are the same."""
        return f"{self.digits} digits of base {self.base}"

    @property
    def dim(self) -> int:
        """T + 2."""
        return self.digits + 2

    def query(self, ids: npt.ArrayLike, weights: npt.ArrayLike) -> Float64Array:
        """(n, t + 2) of n ids and their weights u ≥ 0."""
        x = self._centred(ids)
        norm = np.sum(x * x, axis=1, keepdims=True)
        return np.hstack([1 - _C * norm, 2 * _C * x, np.full_like(norm, -_C)]) * _column(weights)

    def document(self, ids: npt.ArrayLike, weights: npt.ArrayLike) -> Float64Array:
        """(n, t + 2) of n ids and their weights v ≥ 0."""
        x = self._centred(ids)
        norm = np.sum(x * x, axis=1, keepdims=True)
        return np.hstack([np.ones_like(norm), x, norm]) * _column(weights)

    def error(self, dtype: DType) -> float:
        """A bound of |score - ⟨u, v⟩| / Σ|u_i v_i|; good while it is below 1, since no other id wins then.

        It holds while entries are normal numbers of the type, and products of float64.

        Each entry of both vectors is rounded once or twice, to u of its type, and the products of their
        sizes sum to at most 1 + 4c‖x‖² of u·v, where ‖x‖² ≤ t·⌈(B - 1)/2⌉².
        """
        reach = 1 + 4 * _C * self.digits * math.ceil((self.base - 1) / 2) ** 2
        return reach * _entry_error(self.dim, dtype)

    def holds(self, dtype: DType) -> bool:
        """Whether weights from 0.001 to 10 stay in the range of the type."""
        return 10 * 2 * _C * (1 + self.digits * self.base**2 / 4) < float(np.finfo(dtype).max)

    def _centred(self, ids: npt.ArrayLike) -> Float64Array:
        return _digits(ids, self.size, self.base, self.digits).astype(np.float64) - self.base // 2


@dataclass(frozen=True)
class OneHotCode:
    """Ids from 0 to size - 1 as words of q marks, in R^(q² + 1).

    q = u/(q - t)·(a, -t), d = v·(a, 1). Two words a share at most t - 1 marks of q, so a product is u·v on an
    id and at most -u·v/(q - t) off it: strictly below 0, which no rounding turns into a match.

    Attributes:
        size: how many ids there are, at most qᵗ.
        prime: q.
        digits: t < q.

    >>> code = OneHotCode(80_000, 17, 4)
    >>> products = code.query([7, 8], [13.0, 13.0]) @ code.document([7], [0.5]).T
    >>> code.dim, products.ravel().tolist()
    (290, [6.5, -1.5])
    """

    size: int
    prime: int
    digits: int

    def __post_init__(self) -> None:
        _check_size(self.size, self.digits)
        if self.prime not in _PRIMES or self.digits >= self.prime or self.prime**self.digits < self.size:
            raise ParameterError(
                f"{self.prime}^{self.digits} words do not tell {self.size:,} ids apart",
                where="prime",
                remedy="Give a prime above the number of digits whose power reaches the size",
            )

    @property
    def overlap(self) -> int:
        """The most marks that two words share."""
        return self.digits - 1

    @property
    def name(self) -> str:
        """What two codes share if their vectors are the same."""
        return f"one-hot words of {self.digits} digits over {self.prime} elements"

    @property
    def dim(self) -> int:
        """q² + 1."""
        return self.prime**2 + 1

    def words(self, ids: npt.ArrayLike) -> Float64Array:
        """(n, q²) of 0 and 1, q ones a row."""
        message = _digits(ids, self.size, self.prime, self.digits)
        value = np.zeros((len(message), self.prime), dtype=np.int64)
        for digit in range(self.digits):  # Horner's rule, at every element of the field
            value = (value * np.arange(self.prime) + message[:, [digit]]) % self.prime
        words = np.zeros((len(message), self.prime**2))
        np.put_along_axis(words, value + self.prime * np.arange(self.prime), 1.0, axis=1)
        return words

    def query(self, ids: npt.ArrayLike, weights: npt.ArrayLike) -> Float64Array:
        """(n, q² + 1) of n ids and their weights u ≥ 0."""
        words = self.words(ids)
        shift = np.full((len(words), 1), -float(self.digits))
        return np.hstack([words, shift]) * (_column(weights) / (self.prime - self.digits))

    def document(self, ids: npt.ArrayLike, weights: npt.ArrayLike) -> Float64Array:
        """(n, q² + 1) of n ids and their weights v ≥ 0."""
        words = self.words(ids)
        return np.hstack([words, np.ones((len(words), 1))]) * _column(weights)

    def error(self, dtype: DType) -> float:
        """A bound of |score - ⟨u, v⟩| / Σ|u_i v_i|: sizes of products sum to (q + t)/(q - t) of u·v.

        It holds while entries are normal numbers of the type, and products of float64.
        """
        reach = (self.prime + self.digits) / (self.prime - self.digits)
        return reach * _entry_error(self.dim, dtype)

    def holds(self, dtype: DType) -> bool:
        """Whether weights from 0.001 to 10 stay in the range of the type."""
        least = 0.001 / (self.prime - self.digits)
        return least >= float(np.finfo(dtype).tiny) and 10 * self.prime < float(np.finfo(dtype).max)


Code: TypeAlias = DigitCode | OneHotCode


def choose_code(size: int, dtype: npt.DTypeLike = "float32", *, tolerance: float | None = None) -> Code:
    """The code of fewest dimensions whose error bound is within a tolerance.

    Args:
        size: how many ids there are.
        dtype: what the vectors will be stored as.
        tolerance: of |score - ⟨u, v⟩| as a share of Σ|u_i v_i|; by default 1e-12 in float64, 1e-6 in
            float32 and 4e-3 in float16.

    Raises:
        ParameterError: no code is that exact, or there are no ids.

    >>> choose_code(1000, "float64", tolerance=1e-8), choose_code(30_522, "float32").dim
    (DigitCode(size=1000, digits=1), 122)
    """
    _check_size(size, 1)
    dtype = as_dtype(dtype)
    wanted = _TOLERANCE[dtype] if tolerance is None else tolerance
    able = [code for code in _codes(size) if code.holds(dtype) and code.error(dtype) <= wanted]
    if not able:
        raise ParameterError(
            f"no code tells {size:,} ids apart within {wanted:.3g} in {dtype}",
            where="tolerance",
            remedy="Allow a larger error, or store a wider type",
        )
    return min(able, key=lambda code: (code.dim, code.error(dtype)))


def as_dtype(dtype: npt.DTypeLike) -> DType:
    """The name of a type that tokens can be stored as.

    Raises:
        ParameterError: it is another type.
    """
    try:
        said = np.dtype(dtype).name
    except TypeError:
        said = repr(dtype)
    for name in ("float16", "float32", "float64"):
        if said == name:
            return name
    raise ParameterError(f"the type is {said}", where="dtype", remedy="Say float16, float32 or float64")


def _codes(size: int) -> Iterator[Code]:
    for digits in range(1, max(1, (size - 1).bit_length()) + 1):
        yield DigitCode(size, digits)
    for prime in _PRIMES:
        digits = _length(size, prime)
        if digits < prime:
            yield OneHotCode(size, prime, digits)


def _entry_error(dim: int, dtype: DType) -> float:
    """What rounding two entries and summing their products in float64 costs, of the size of a product."""
    unit = float(np.finfo(dtype).eps) / 2
    # An entry is computed in float64 (two roundings) and stored (one); a score is a sum of dim products.
    return 2 * (unit if dtype != "float64" else 0.0) * (1 + unit) + (dim + 8) * 2.0**-53


def _root(size: int, digits: int) -> int:
    base = max(2, int(size ** (1 / digits)) - 1)
    while base**digits < size:
        base += 1
    return base


def _length(size: int, base: int) -> int:
    digits = 1
    while base**digits < size:
        digits += 1
    return digits


def _digits(ids: npt.ArrayLike, size: int, base: int, count: int) -> IntArray:
    """(n, t) digits, the least first."""
    held = np.atleast_1d(np.asarray(ids))
    if held.size and (held.dtype.kind not in "iu" or held.min() < 0 or held.max() >= size):
        raise ParameterError(
            f"some of the ids are no whole numbers from 0 to {size - 1:,}", where="ids", remedy="Give a larger size"
        )
    return np.asarray(held[:, None].astype(np.int64) // base ** np.arange(count) % base)


def _column(weights: npt.ArrayLike) -> FloatArray:
    return np.atleast_1d(np.asarray(weights, dtype=np.float64))[:, None]


def _check_size(size: int, digits: int) -> None:
    if not is_whole(size) or not is_whole(digits) or size < 1 or digits < 1:
        raise ParameterError(
            f"{size} ids in {digits} digits", where="size", remedy="Give whole numbers, at least one of each"
        )
