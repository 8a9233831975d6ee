"""The terms an operator is a sum of: identity, zero, a dense matrix, a product of two factors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from askew.errors import DimensionError, InputError
from askew.linalg import FloatArray, matmul
from askew.linalg.fixed import Float64Array

__all__ = ["Dense", "Factored", "Identity", "Term", "Zero", "product"]


class Term(Protocol):
    """A matrix T of shape (d_query, d_document), stored in whatever form is smallest."""

    @property
    def shape(self) -> tuple[int, int]:
        """(d_query, d_document)."""

    @property
    def T(self) -> Term:  # noqa: N802 - the name numpy gave it
        """The transpose, in the same form."""

    def left_apply(self, rows: FloatArray) -> FloatArray:
        """Rows times T: (n, d_query) → (n, d_document), in the fixed order of `linalg.matmul`."""

    def to_dense(self) -> Float64Array:
        """(d_query, d_document) float64."""


@dataclass(frozen=True)
class Identity:
    """The identity of dimension `dim`: same encoder on both sides, nothing known beyond it."""

    dim: int

    @property
    def shape(self) -> tuple[int, int]:
        return (self.dim, self.dim)

    @property
    def T(self) -> Identity:  # noqa: N802
        return self

    def left_apply(self, rows: FloatArray) -> FloatArray:
        return rows

    def to_dense(self) -> Float64Array:
        return np.eye(self.dim)


@dataclass(frozen=True)
class Zero:
    """The zero matrix: no prior knowledge."""

    d_query: int
    d_document: int

    @property
    def shape(self) -> tuple[int, int]:
        return (self.d_query, self.d_document)

    @property
    def T(self) -> Zero:  # noqa: N802
        return Zero(self.d_document, self.d_query)

    def left_apply(self, rows: FloatArray) -> FloatArray:
        return np.zeros((len(rows), self.d_document))

    def to_dense(self) -> Float64Array:
        return np.zeros(self.shape)


@dataclass(frozen=True, eq=False)
class Dense:
    """A matrix held as it is: (d_query, d_document), finite."""

    matrix: FloatArray

    def __post_init__(self) -> None:
        _check_matrix(self.matrix, "matrix")

    @property
    def shape(self) -> tuple[int, int]:
        return (int(self.matrix.shape[0]), int(self.matrix.shape[1]))

    @property
    def T(self) -> Dense:  # noqa: N802
        return Dense(self.matrix.T)

    def left_apply(self, rows: FloatArray) -> FloatArray:
        return matmul(rows, self.matrix)

    def to_dense(self) -> Float64Array:
        return np.asarray(self.matrix, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Factored:
    """left · rightᵀ, never multiplied out: left (d_query, r), right (d_document, r), finite."""

    left: FloatArray
    right: FloatArray

    def __post_init__(self) -> None:
        _check_matrix(self.left, "left factor")
        _check_matrix(self.right, "right factor")
        if self.left.shape[1] != self.right.shape[1]:
            raise DimensionError(
                f"the factors have {self.left.shape[1]} and {self.right.shape[1]} columns",
                remedy="Give both factors one column a direction",
            )

    @property
    def shape(self) -> tuple[int, int]:
        return (int(self.left.shape[0]), int(self.right.shape[0]))

    @property
    def rank(self) -> int:
        """The number of columns, r: an upper bound of the matrix's rank."""
        return int(self.left.shape[1])

    @property
    def T(self) -> Factored:  # noqa: N802
        return Factored(self.right, self.left)

    def left_apply(self, rows: FloatArray) -> FloatArray:
        return matmul(matmul(rows, self.left), self.right.T)

    def to_dense(self) -> Float64Array:
        return matmul(self.left, self.right.T)


def product(first: Term, second: Term) -> Term:
    """The product of two terms in the smallest form: one with a factored term stays factored."""
    if isinstance(first, Identity):
        return second
    if isinstance(second, Identity):
        return first
    if isinstance(first, Zero) or isinstance(second, Zero):
        return Zero(first.shape[0], second.shape[1])
    narrower = isinstance(first, Factored) and isinstance(second, Factored) and second.rank < first.rank
    if isinstance(first, Factored) and not narrower:
        return Factored(first.left, second.left_apply(first.right.T).T)
    if isinstance(second, Factored):
        return Factored(first.T.left_apply(second.left.T).T, second.right)
    return Dense(second.left_apply(first.to_dense()))


def _check_matrix(matrix: FloatArray, name: str) -> None:
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise DimensionError(
            f"the {name} has shape {matrix.shape} and dtype {matrix.dtype.name}",
            remedy="Give a two-dimensional float array",
        )
    if not np.all(np.isfinite(matrix)):
        raise InputError(f"the {name} holds NaN or infinite values", remedy="Check how it was made")
