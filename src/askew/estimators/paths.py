"""Paths: the corrections of one fit over strengths and ranks, in one family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.linalg

from askew._checks import is_number, is_whole, listed
from askew.errors import ParameterError
from askew.linalg import FloatArray, one_thread, svd, symmetric_eigen
from askew.linalg.fixed import Float32Array, Float64Array
from askew.operators import BilinearOperator, Dense, Factored, Identity, Term, Zero

__all__ = ["STRENGTHS", "Family", "Path", "Setting", "check_settings", "check_shared", "has_shared", "is_whole", "span"]

Family = Literal["dual", "shared"]

#: Three strengths a decade, from one that fits 1,000 labels closely to one that all but keeps the prior.
STRENGTHS: tuple[float, ...] = tuple(float(f"{10 ** (power / 3):.3g}") for power in range(-9, 4))

# Of the largest eigenvalue of a Gram matrix: directions below it are copies but for rounding.
_NEGLIGIBLE = 1e-9
# Of the norm: a prior of low rank may lie this far outside the cone.
_ROUNDING = 1e-7


@dataclass(frozen=True)
class Setting:
    """A strength of the pull towards the prior, and a bound on the rank of Δ (None for none).

    >>> Setting(0.1)
    Setting(strength=0.1, rank=None)
    """

    strength: float
    rank: int | None = None


@dataclass(frozen=True, eq=False)
class Path:
    """Δ = basis · coordinates, for every setting.

    Attributes:
        settings: C of them.
        basis: (d_query, r) with orthonormal columns; None for the identity.
        coordinates: C float32 matrices (r, d_document).

    >>> path = Path.dual([0.1], [None, 1], None, [np.diag([2.0, 1.0])])
    >>> path.at(Setting(0.1, 1)).to_dense().tolist()
    [[2.0, 0.0], [0.0, 0.0]]
    """

    settings: tuple[Setting, ...]
    basis: Float64Array | None
    coordinates: tuple[Float32Array, ...]

    @classmethod
    def dual(
        cls,
        strengths: Sequence[float],
        ranks: Sequence[int | None],
        basis: Float64Array | None,
        found: Iterable[FloatArray],
    ) -> Path:
        """Any Δ: each solution whole, or cut to a rank by its singular values (Eckart and Young).

        Args:
            strengths: S values.
            ranks: bounds; None for the whole.
            basis: (d_query, r) with orthonormal columns; None for the identity.
            found: S matrices Z (r, d_document), Δ = basis · Z.
        """
        settings, coordinates = [], []
        for strength, matrix in zip(strengths, found, strict=True):
            parts = svd(matrix) if any(rank is not None for rank in ranks) else None
            for rank in ranks:
                settings.append(Setting(strength, rank))
                if rank is None or parts is None:
                    coordinates.append(_narrow(matrix))
                else:
                    left, values, right = (part[..., :rank] for part in parts)
                    coordinates.append(_narrow((left * values) @ right.T))
        return cls(tuple(settings), basis, tuple(coordinates))

    @classmethod
    def shared(
        cls,
        strengths: Sequence[float],
        ranks: Sequence[int | None],
        basis: Float64Array | None,
        found: Iterable[FloatArray],
        prior: Term,
    ) -> Path:
        """Symmetric Δ with M0 + Δ positive semi-definite; projected onto that cone where a solution leaves it.

        A bound on the rank needs M0 = I or M0 = 0: eigenvalues of Δ are clipped at -1 or 0, and those
        r are kept whose keeping brings Δ nearest.

        Args:
            strengths: S values.
            ranks: bounds; None for the whole.
            basis: (d, r) with orthonormal columns; None for the identity.
            found: S symmetric matrices K (r, r), Δ = basis · K · basisᵀ.
            prior: M0, symmetric and positive semi-definite.
        """
        plain = isinstance(prior, Identity | Zero)
        known = None if plain else prior.to_dense()
        least = -1.0 if isinstance(prior, Identity) else 0.0
        settings, coordinates = [], []
        for strength, matrix in zip(strengths, found, strict=True):
            if known is not None and basis is not None:
                matrix = basis @ matrix @ basis.T  # noqa: PLW2901 - the cone about M0 needs all d coordinates
            for rank in ranks:
                settings.append(Setting(strength, rank))
                inside = _clipped(matrix, least, rank) if known is None else _into_cone(matrix, known)
                coordinates.append(_narrow(inside if basis is None or known is not None else inside @ basis.T))
        return cls(tuple(settings), basis if plain else None, tuple(coordinates))

    def at(self, setting: Setting) -> Term:
        """Δ at one setting, float32, in factors where that is smaller.

        Raises:
            ParameterError: it is not on the path.
        """
        if setting not in self.settings:
            raise ParameterError(f"{setting} is not on the path")
        with one_thread():
            return self._term(self.coordinates[self.settings.index(setting)], setting.rank)

    def _term(self, matrix: Float32Array, rank: int | None) -> Term:
        rows = len(matrix) if self.basis is None else len(self.basis)
        columns = matrix.shape[1]
        small = rows * columns / (rows + columns)  # a rank below it makes factors the smaller form
        if rank is not None and rank < min(small, len(matrix)):
            left, values, right = (part[..., :rank] for part in svd(matrix))
            return Factored(_narrow(self._lifted(left * values)), _narrow(right))
        if self.basis is not None and len(matrix) < small:
            return Factored(_narrow(self.basis), _narrow(matrix.T))
        return Dense(_narrow(self._lifted(matrix)))

    def _lifted(self, matrix: FloatArray) -> FloatArray:
        return matrix if self.basis is None else self.basis @ matrix

    def corrections(self, queries: FloatArray) -> Float32Array:
        """Δᵀx at every setting: (n, d_query) → (C, n, d_document)."""
        narrow = _narrow(queries if self.basis is None else np.asarray(queries, dtype=np.float64) @ self.basis)
        found = np.empty((len(self.settings), len(narrow), self.coordinates[0].shape[1]), dtype=np.float32)
        for place, matrix in zip(found, self.coordinates, strict=True):
            np.matmul(narrow, matrix, out=place)
        return found


def span(rows: FloatArray) -> Float64Array | None:
    """(d, r) an orthonormal basis that holds every row; None (the identity) unless there are fewer than d.

    By the representer argument the optimum lies in it.

    Args:
        rows: (n, d).

    >>> span(np.array([[0.0, 2.0, 0.0]])).ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    count, width = rows.shape
    if count >= width:
        return None
    if count == 0:
        return np.zeros((width, 0))
    wide = np.asarray(rows, dtype=np.float64)
    values, vectors = symmetric_eigen(wide @ wide.T)
    kept = values > _NEGLIGIBLE * values.max()
    return np.asarray(wide.T @ (vectors[:, kept] / np.sqrt(values[kept])))


def has_shared(prior: Term) -> bool:
    """Whether the shared family exists over a prior: symmetric and positive semi-definite.

    >>> has_shared(Identity(2)), has_shared(Dense(np.array([[0.0, 1.0], [-1.0, 0.0]])))
    (True, False)
    """
    return isinstance(prior, Identity) or BilinearOperator(prior).is_psd()


def check_settings(family: str, strengths: Sequence[float], ranks: Sequence[int | None]) -> None:
    """Raise ParameterError unless the family exists, strengths are positive numbers, and ranks positive or None."""
    if family not in ("dual", "shared"):
        raise ParameterError(f"there is no family {family!r}", where="family", remedy="Say dual or shared")
    pulls, bounds = listed(strengths), listed(ranks)
    if not pulls or not all(is_number(pull) and 0 < pull < np.inf for pull in pulls):
        raise ParameterError(
            f"the strengths {pulls or strengths} are not all positive numbers",
            where="strengths",
            remedy="Give numbers between 0.001 and 10",
        )
    if not bounds or not all(rank is None or (is_whole(rank) and rank >= 1) for rank in bounds):
        raise ParameterError(
            f"the ranks {bounds or ranks} are not all positive whole numbers",
            where="ranks",
            remedy="Give 1 or more, or None",
        )


def check_shared(prior: Term, ranks: Sequence[int | None]) -> None:
    """Raise ParameterError where there is no shared Δ over a prior, or none of bounded rank."""
    if prior.shape[0] != prior.shape[1]:
        raise ParameterError(
            f"the shared family needs one dimension on both sides, and the prior is {prior.shape[0]} × "
            f"{prior.shape[1]}",
            where="family",
            remedy="Use the dual family",
        )
    if not has_shared(prior):
        raise ParameterError(
            "the shared family needs a symmetric, positive semi-definite prior",
            where="family",
            remedy="Use the dual family",
        )
    if not isinstance(prior, Identity | Zero) and any(rank is not None for rank in ranks):
        raise ParameterError(
            "a bound on the rank of a shared correction needs the identity or zero as the prior",
            where="ranks",
            remedy="Leave the rank unbounded, or use the dual family",
        )


def _clipped(matrix: FloatArray, least: float, rank: int | None) -> FloatArray:
    """The nearest symmetric matrix with no eigenvalue below `least` ≤ 0, and of bounded rank."""
    if rank is None:
        return _lifted_above(matrix, np.asarray(matrix, dtype=np.float64), least)
    values, vectors = symmetric_eigen(np.asarray(matrix, dtype=np.float64))
    clipped = np.maximum(values, least)
    kept = np.argsort((values - clipped) ** 2 - values**2, kind="stable")[:rank]
    return np.asarray((vectors[:, kept] * clipped[kept]) @ vectors[:, kept].T)


def _into_cone(matrix: FloatArray, known: Float64Array) -> FloatArray:
    """The nearest Δ to a symmetric one with M0 + Δ positive semi-definite, but for rounding."""
    whole = known + matrix
    return _lifted_above(matrix, whole, 0.0, slack=_ROUNDING * float(np.linalg.norm(whole)))


def _lifted_above(matrix: FloatArray, whole: Float64Array, least: float, *, slack: float = 0.0) -> FloatArray:
    """Add to a matrix what brings the eigenvalues of another up to `least`; itself if there is nothing to bring."""
    try:  # a Cholesky factor costs a third of the few eigenvectors
        np.linalg.cholesky(whole - (least - slack) * np.eye(len(whole)))
    except np.linalg.LinAlgError:
        values, vectors = scipy.linalg.eigh(whole, subset_by_value=(-np.inf, least - slack))
        return np.asarray(matrix + (vectors * (least - values)) @ vectors.T)
    return matrix


def _narrow(matrix: FloatArray) -> Float32Array:
    return np.ascontiguousarray(matrix, dtype=np.float32)
