"""The terms an operator is a sum of: identity, zero, a dense matrix, two factors, or a stack of these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from askew.errors import DimensionError, InputError
from askew.linalg import FloatArray, matmul
from askew.linalg.fixed import Float64Array

__all__ = ["Dense", "Factored", "Identity", "Stacked", "Term", "Zero", "product"]


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


@dataclass(frozen=True, eq=False)
class Stacked:
    """Blocks one below the other, [T1; T2; …]: each takes its own columns of a query, and their results add up.

    It is the prior of a query that several encoders have embedded: one block an encoder, side by side in the query,
    all mapped to where the documents are. Its transpose holds the blocks side by side.

    Attributes:
        parts: blocks (d_i, d_document); or, side by side, (d_query, d_i).
        beside: whether they stand side by side.

    Raises:
        DimensionError: there is none, one is a stack itself, or they do not meet in one dimension.

    >>> Stacked((Identity(2), Zero(1, 2))).left_apply(np.array([[3.0, 4.0, 5.0]])).tolist()
    [[3.0, 4.0]]
    """

    parts: tuple[Term, ...]
    beside: bool = False

    def __post_init__(self) -> None:
        if not self.parts or any(isinstance(part, Stacked) for part in self.parts):
            raise DimensionError("a stack of no terms, or of stacks", remedy="Stack the terms themselves")
        common = {part.shape[0 if self.beside else 1] for part in self.parts}
        if len(common) > 1:
            shapes = ", ".join(str(part.shape) for part in self.parts)
            raise DimensionError(
                f"terms of the shapes {shapes} do not stack",
                remedy="Give blocks that map to the same dimensions",
            )

    @property
    def shape(self) -> tuple[int, int]:
        stacked, common = sum(self._widths), self.parts[0].shape[0 if self.beside else 1]
        return (common, stacked) if self.beside else (stacked, common)

    @property
    def T(self) -> Stacked:  # noqa: N802
        return Stacked(tuple(part.T for part in self.parts), not self.beside)

    @property
    def _widths(self) -> list[int]:
        return [part.shape[1 if self.beside else 0] for part in self.parts]

    def left_apply(self, rows: FloatArray) -> FloatArray:
        if self.beside:
            return np.hstack([np.asarray(part.left_apply(rows), dtype=np.float64) for part in self.parts])
        total = np.zeros((len(rows), self.shape[1]))
        for part, end in zip(self.parts, np.cumsum(self._widths).tolist(), strict=True):
            total += part.left_apply(rows[:, end - part.shape[0] : end])
        return total

    def to_dense(self) -> Float64Array:
        blocks = [part.to_dense() for part in self.parts]
        return np.hstack(blocks) if self.beside else np.vstack(blocks)


def product(first: Term, second: Term) -> Term:
    """The product of two terms in the smallest form: one with a factored term stays factored, stacks stay stacks."""
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
    return _blockwise(first, second) or Dense(second.left_apply(first.to_dense()))


def _blockwise(first: Term, second: Term) -> Stacked | None:
    """The product of a stack, block by block, where it is a stack again."""
    if isinstance(first, Stacked) and not first.beside and not isinstance(second, Stacked):
        return Stacked(tuple(product(part, second) for part in first.parts))
    if isinstance(second, Stacked) and second.beside and not isinstance(first, Stacked):
        return Stacked(tuple(product(first, part) for part in second.parts), beside=True)
    return None


def _check_matrix(matrix: FloatArray, name: str) -> None:
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise DimensionError(
            f"the {name} has shape {matrix.shape} and dtype {matrix.dtype.name}",
            remedy="Give a two-dimensional float array",
        )
    if not np.all(np.isfinite(matrix)):
        raise InputError(f"the {name} holds NaN or infinite values", remedy="Check how it was made")
