"""Paths: the corrections of one fit over strengths and ranks, in one family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from askew.errors import ParameterError
from askew.linalg import FloatArray, svd, symmetric_eigen
from askew.linalg.fixed import Float64Array
from askew.operators import BilinearOperator, Dense, Factored, Identity, Term

__all__ = ["STRENGTHS", "Family", "Path", "Setting", "check_strengths", "has_shared"]

Family = Literal["dual", "shared"]

#: Three strengths a decade, from one that fits 1,000 labels closely to one that all but keeps the prior.
STRENGTHS: tuple[float, ...] = tuple(float(f"{10 ** (power / 3):.3g}") for power in range(-9, 4))


@dataclass(frozen=True)
class Setting:
    """A strength of the pull towards the prior, and a bound on the rank of Δ (None for none)."""

    strength: float
    rank: int | None = None


@dataclass(frozen=True, eq=False)
class Path:
    """Δ = basis · coordinates, for every setting.

    Attributes:
        settings: C of them.
        basis: (d_query, r) orthonormal or not; None for the identity.
        coordinates: C matrices (r, d_document).
    """

    settings: tuple[Setting, ...]
    basis: Float64Array | None
    coordinates: tuple[FloatArray, ...]

    @classmethod
    def dual(
        cls, strengths: Sequence[float], ranks: Sequence[int | None], basis: Float64Array, found: Iterable[FloatArray]
    ) -> Path:
        """Any Δ: each solution whole, or cut to a rank by its singular values (Eckart and Young).

        Args:
            strengths: S values.
            ranks: bounds; None for the whole.
            basis: (d_query, r) with orthonormal columns.
            found: S matrices (r, d_document).
        """
        settings, coordinates = [], []
        for strength, matrix in zip(strengths, found, strict=True):
            parts = svd(matrix) if any(rank is not None for rank in ranks) else None
            for rank in ranks:
                settings.append(Setting(strength, rank))
                if rank is None or parts is None:
                    coordinates.append(matrix)
                else:
                    left, values, right = (part[..., :rank] for part in parts)
                    coordinates.append((left * values) @ right.T)
        return cls(tuple(settings), basis, tuple(coordinates))

    @classmethod
    def shared(
        cls, strengths: Sequence[float], ranks: Sequence[int | None], prior: Term, found: Iterable[FloatArray]
    ) -> Path:
        """Symmetric Δ with M0 + Δ positive semi-definite; projected onto that cone where a solution leaves it.

        A bound on the rank needs M0 = I: eigenvalues of Δ are clipped at -1, and those r are kept whose
        keeping brings Δ nearest.

        Args:
            strengths: S values.
            ranks: bounds; None for the whole.
            prior: M0, symmetric and positive semi-definite.
            found: S symmetric matrices (d, d).
        """
        settings, coordinates = [], []
        for strength, matrix in zip(strengths, found, strict=True):
            for rank in ranks:
                settings.append(Setting(strength, rank))
                coordinates.append(_into_cone(matrix, prior, rank))
        return cls(tuple(settings), None, tuple(coordinates))

    def at(self, setting: Setting) -> Term:
        """Δ at one setting, float32, in factors where that is smaller.

        Raises:
            ParameterError: it is not on the path.
        """
        if setting not in self.settings:
            raise ParameterError(f"{setting} is not on the path")
        matrix = self.coordinates[self.settings.index(setting)]
        columns = matrix.shape[1]
        if self.basis is not None and setting.rank is None:
            rows, rank = self.basis.shape
            if rank * (rows + columns) < rows * columns:
                return Factored(_narrow(self.basis), _narrow(matrix.T))
        dense = np.asarray(matrix, dtype=np.float64) if self.basis is None else self.basis @ matrix
        if setting.rank is not None and setting.rank * sum(dense.shape) < dense.size:
            left, values, right = (part[..., : setting.rank] for part in svd(dense))
            return Factored(_narrow(left * values), _narrow(right))
        return Dense(_narrow(dense))

    def corrections(self, queries: FloatArray) -> npt.NDArray[np.float32]:
        """Δᵀx at every setting: (n, d_query) → (C, n, d_document)."""
        seen = queries if self.basis is None else np.asarray(queries, dtype=np.float64) @ self.basis
        narrow = np.asarray(seen, dtype=np.float32)
        found = np.empty((len(self.settings), len(narrow), self.coordinates[0].shape[1]), dtype=np.float32)
        for place, matrix in zip(found, self.coordinates, strict=True):
            np.matmul(narrow, matrix.astype(np.float32, copy=False), out=place)
        return found


def has_shared(prior: Term) -> bool:
    """Whether the shared family exists over a prior: symmetric and positive semi-definite."""
    return isinstance(prior, Identity) or BilinearOperator(prior).is_psd()


def check_strengths(strengths: Sequence[float], ranks: Sequence[int | None]) -> None:
    """Raise ParameterError unless strengths are positive numbers and ranks positive or None."""
    if not strengths or not all(0 < strength < np.inf for strength in strengths):
        raise ParameterError(
            f"the strengths {tuple(strengths)} are not all positive numbers",
            where="strengths",
            remedy="Give numbers between 0.001 and 10",
        )
    if not ranks or not all(rank is None or rank >= 1 for rank in ranks):
        raise ParameterError(
            f"the ranks {tuple(ranks)} are not all positive", where="ranks", remedy="Give 1 or more, or None"
        )


def _into_cone(matrix: FloatArray, prior: Term, rank: int | None) -> FloatArray:
    known = None if isinstance(prior, Identity) else prior.to_dense()
    if rank is None and known is None and float(np.linalg.norm(matrix)) < 1:
        return matrix  # no eigenvalue of Δ can reach -1
    values, vectors = symmetric_eigen(np.asarray(matrix if known is None else matrix + known, dtype=np.float64))
    if known is not None:
        if values[-1] >= 0:
            return matrix
        return (vectors * np.maximum(values, 0.0)) @ vectors.T - known
    clipped = np.maximum(values, -1.0)
    if rank is None:
        return matrix if values[-1] >= -1 else (vectors * clipped) @ vectors.T
    kept = np.argsort((values - clipped) ** 2 - values**2, kind="stable")[:rank]
    return (vectors[:, kept] * clipped[kept]) @ vectors[:, kept].T


def _narrow(matrix: FloatArray) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(matrix, dtype=np.float32)
