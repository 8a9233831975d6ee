"""Tangent spaces of the families at a shared matrix, without a p × p matrix.

At S = U Λ Uᵀ of rank r, with P⊥ = I - UUᵀ:

    dual      Π_Td Z = Z - P⊥ Z P⊥          every direction that keeps the rank
    shared    Π_Ts Z = sym(Π_Td Z)          those that keep it symmetric as well
    between   Π_A Z = skew(Π_Td Z)          what dual has and shared has not

A vector of T_d is held as U C Uᵀ + L Uᵀ + U Rᵀ with C (r, r) and L, R (p, r) orthogonal to U: the three parts are
orthogonal, so that energies and inner products are those of C, L and R.

Source: "When Does Dense Retrieval Need Asymmetric Geometry?" (arXiv 2609.32488), section on the local theory.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew.errors import DimensionError, InputError, ParameterError
from askew.geometry._stacks import checked, checked_rank, energy, skew_part, symmetric_part, transposed
from askew.geometry.families import nearest_shared
from askew.linalg import svd
from askew.linalg.fixed import Float64Array

__all__ = ["TangentSpace", "TangentVector"]

_ORTHONORMAL = 1e-8  # what columns may miss it by: a few roundings of float32 are more, and would bias energies


@dataclass(frozen=True, eq=False)
class TangentSpace:
    """The space T_d at a shared matrix, of which only the span of its directions matters.

    Args:
        basis: U, (p, r) with orthonormal columns; their order is that of untying.

    Raises:
        DimensionError: it is not (p, r) with 1 ≤ r ≤ p.
        InputError: the columns are not finite or not orthonormal.

    >>> space = TangentSpace(np.eye(3)[:, :1])
    >>> space.of(np.arange(9.0).reshape(3, 3)).to_dense().tolist()
    [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0], [6.0, 0.0, 0.0]]
    """

    basis: Float64Array

    def __post_init__(self) -> None:
        basis = checked(self.basis, name="basis")
        if basis.ndim != 2 or basis.shape[0] < basis.shape[1]:
            raise DimensionError(f"the basis has shape {basis.shape}", remedy="Give (p, r), with r no larger than p")
        if np.max(np.abs(basis.T @ basis - np.eye(basis.shape[1]))) > _ORTHONORMAL:
            raise InputError("the basis' columns are not orthonormal", remedy="Orthonormalise them, by a QR say")
        object.__setattr__(self, "basis", basis)

    @classmethod
    def at(cls, matrix: npt.ArrayLike, rank: int) -> TangentSpace:
        """The space at the nearest shared matrix of rank r, its directions by descending eigenvalue.

        Args:
            matrix: S, or a matrix near it, (p, p).
            rank: r.

        Raises:
            DimensionError: it is no square matrix.
            InputError: it is not finite.
            ParameterError: its symmetric part has fewer than r positive eigenvalues: the families are not
                smooth at a matrix of smaller rank.

        >>> TangentSpace.at(np.diag([1.0, 3.0, -2.0]), 2).basis.tolist()
        [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]]
        """
        rows = nearest_shared(matrix, checked_rank(rank)).query
        if rows.ndim != 2:
            raise DimensionError("a stack was given", remedy="Give one matrix")
        sizes = np.sqrt(np.sum(np.square(rows), axis=1))
        held = int(np.sum(sizes > 0))
        if held < rank:
            raise ParameterError(
                f"there are {held} positive eigenvalues, and rank {rank} was asked for",
                where="rank",
                remedy=f"Give {held} or less" if held else "Give a matrix with positive eigenvalues",
            )
        return cls((rows / sizes[:, None]).T)

    @property
    def dim(self) -> int:
        """The dimension p."""
        return int(self.basis.shape[0])

    @property
    def rank(self) -> int:
        """The rank r."""
        return int(self.basis.shape[1])

    def of(self, matrix: npt.ArrayLike) -> TangentVector:
        """Π_Td Z of a matrix or a stack: (..., p, p), in O(p² r).

        Raises:
            DimensionError: Z is not (p, p).
            InputError: Z is not finite.
        """
        dense = checked(matrix, square=True)
        self._check(dense.shape[-1])
        return self._vector(dense @ self.basis, transposed(dense) @ self.basis)

    def of_factors(self, left: npt.ArrayLike, right: npt.ArrayLike) -> TangentVector:
        """Π_Td Z of Z = left · rightᵀ, in O(p m r): for a moment of m pairs, the pairs themselves.

        Args:
            left: (p, m), or a stack.
            right: (p, m), or a stack.

        Raises:
            DimensionError: the factors do not fit each other or the space.
            InputError: a factor is not finite.

        >>> space = TangentSpace(np.eye(3)[:, :1])
        >>> x, y = np.ones((3, 1)), np.array([[1.0], [2.0], [0.0]])
        >>> space.of_factors(x, y).dual_only().energy().item()
        1.0
        """
        first, second = checked(left, name="left factor"), checked(right, name="right factor")
        self._check(first.shape[-2])
        if first.shape[-2:] != second.shape[-2:]:
            raise DimensionError(f"the factors have shapes {first.shape} and {second.shape}")
        columns = first @ (transposed(second) @ self.basis)
        return self._vector(columns, second @ (transposed(first) @ self.basis))

    def _vector(self, columns: Float64Array, rows: Float64Array) -> TangentVector:
        """From ZU and ZᵀU."""
        core = self.basis.T @ columns
        return TangentVector(self, core, columns - self.basis @ core, rows - self.basis @ transposed(core))

    def _check(self, dim: int) -> None:
        if dim != self.dim:
            raise DimensionError(f"a matrix of height {dim} was given to a space of {self.dim} dimensions")


@dataclass(frozen=True, eq=False)
class TangentVector:
    """U C Uᵀ + L Uᵀ + U Rᵀ, or a stack of such.

    Attributes:
        space: where it lives.
        core: C, (..., r, r).
        left: L, (..., p, r), orthogonal to U.
        right: R, (..., p, r), orthogonal to U.
    """

    space: TangentSpace
    core: Float64Array
    left: Float64Array
    right: Float64Array

    def shared(self) -> TangentVector:
        """Π_Ts: its symmetric part."""
        mean = (self.left + self.right) / 2
        return TangentVector(self.space, symmetric_part(self.core), mean, mean)

    def dual_only(self) -> TangentVector:
        """Π_A: its skew part, what only a dual geometry can follow."""
        half = (self.left - self.right) / 2
        return TangentVector(self.space, skew_part(self.core), half, -half)

    def touching(self, subspace: npt.ArrayLike) -> TangentVector:
        """Π_W: what changes when the directions W alone are untied, Z - (I - P_W) Z (I - P_W).

        Fix W apart from the data that are scored: an order of S, or a part of its own.

        Args:
            subspace: W, (p, s) with independent columns in the span of U.

        Raises:
            DimensionError: W is not (p, s).
            InputError: W is not finite.
            ParameterError: W leaves the span of U, or its columns are dependent.
        """
        given = checked(subspace, name="subspace")
        if given.ndim != 2 or len(given) != self.space.dim:
            raise DimensionError(f"the subspace has shape {given.shape}, in a space of {self.space.dim} dimensions")
        inside = self.space.basis.T @ given
        if float(energy(given - self.space.basis @ inside)) > _ORTHONORMAL**2 * float(energy(given)):
            raise ParameterError("it leaves the span of the space's directions", where="subspace")
        turned, sizes, _ = svd(inside)
        if given.shape[1] > self.space.rank or sizes[-1] <= _ORTHONORMAL * sizes[0]:
            raise ParameterError("the columns are dependent", where="subspace", remedy="Give independent directions")
        onto = turned @ turned.T
        rest = np.eye(self.space.rank) - onto
        return TangentVector(self.space, self.core - rest @ self.core @ rest, self.left @ onto, self.right @ onto)

    def untied_energies(self) -> Float64Array:
        """(..., r + 1): the energy of `touching` the first s directions of the space, for s = 0 to r.

        Of `dual_only()` these are what untying the first s directions captures, at a price of
        `untied_dimension(p, s)` each 2σ²; the last is the whole energy.

        >>> space = TangentSpace(np.eye(3)[:, :2])
        >>> turned = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 2.0], [0.0, -2.0, 0.0]])
        >>> space.of(turned).dual_only().untied_energies().tolist()
        [0.0, 2.0, 10.0]
        """
        squares = np.square(self.core)
        outer = np.sum(np.square(self.left) + np.square(self.right), axis=-2)
        # Direction s adds what row and column s of C share with the directions after it, and its L and R.
        after = np.triu(squares + transposed(squares), 1).sum(axis=-1) + np.diagonal(squares, axis1=-2, axis2=-1)
        none = np.zeros((*self.core.shape[:-2], 1))
        return np.concatenate([none, np.cumsum(after + outer, axis=-1)], axis=-1)

    def energy(self) -> Float64Array:
        """(...) ‖·‖²_F."""
        return energy(self.core) + energy(self.left) + energy(self.right)

    def inner(self, other: TangentVector) -> Float64Array:
        """(...) the inner product with a vector of the same space.

        Raises:
            ParameterError: the other lives in another space.
        """
        if other.space is not self.space:
            raise ParameterError("the two vectors live in two spaces", remedy="Project both by one space")
        pairs = ((self.core, other.core), (self.left, other.left), (self.right, other.right))
        return np.asarray(sum(np.sum(mine * theirs, axis=(-2, -1)) for mine, theirs in pairs))

    def to_dense(self) -> Float64Array:
        """(..., p, p)."""
        basis = self.space.basis
        return np.asarray((basis @ self.core + self.left) @ basis.T + basis @ transposed(self.right))
