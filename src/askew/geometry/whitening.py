"""Whitening: coordinates in which documents vary alike in every direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from askew._checks import is_number
from askew.errors import DimensionError, InputError, ParameterError
from askew.geometry.moments import Covariance, Moments
from askew.geometry.rows import RelevanceRows
from askew.linalg import FloatArray, symmetric_eigen
from askew.linalg.fixed import Float64Array
from askew.operators import Factored

__all__ = ["Shrinkage", "Whitening", "WhiteningKind", "ledoit_wolf"]

WhiteningKind = Literal["pooled", "per-view", "none"]
Shrinkage = float | Literal["ledoit-wolf"]

# Of the largest eigenvalue, times d: what an eigenvalue that should be 0 comes out as.
_ROUNDING = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Whitening:
    """Two linear maps, x ↦ Wx x and y ↦ Wy y, fitted once, on the training part.

    Fit it before any split: both halves of a half-split must be looked at in the same coordinates.
    Means are not subtracted, because a bilinear score has nowhere to put one.

    Attributes:
        kind: ``"pooled"``: one map, from ½(Σx + Σy), so that a projection shared in these coordinates is
            shared in the raw ones; ``"per-view"``: a map a side (with them "shared" is two different raw
            maps unless Σx = Σy); ``"none"``.
        query: (d_query, d_query) symmetric Wx; None for the identity.
        document: (d_document, d_document) symmetric Wy; None for the identity.
        shrinkage: the intensities γ used for the two sides, 0 to 1.

    >>> rng = np.random.default_rng(0)
    >>> view = rng.normal(size=(500, 2)) * [10.0, 0.1]
    >>> found = Whitening.fit(Covariance.of(view), Covariance.of(view), shrinkage=0.0)
    >>> np.cov(found.queries(view).T, bias=True).round(6).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    kind: WhiteningKind
    query: Float64Array | None
    document: Float64Array | None
    shrinkage: tuple[float, float]

    @classmethod
    def fit(
        cls,
        queries: Covariance,
        documents: Covariance,
        *,
        kind: WhiteningKind = "pooled",
        shrinkage: Shrinkage = 0.1,
    ) -> Whitening:
        """W = Σ_γ^-½ with Σ_γ = (1 - γ)Σ + γ (tr Σ / d) I.

        Args:
            queries: covariance of the training queries.
            documents: covariance of documents.
            kind: ``"pooled"``, ``"per-view"`` or ``"none"``.
            shrinkage: γ from 0 to 1, or ``"ledoit-wolf"`` for the one that `ledoit_wolf` estimates.

        Raises:
            ParameterError: no such kind, or γ is not in [0, 1].
            DimensionError: pooled whitening of sides of two dimensions.
            InputError: a covariance is zero, or singular and not shrunk.
        """
        if kind == "none":
            return cls(kind, None, None, (0.0, 0.0))
        if kind == "per-view":
            first, share = _inverse_root((queries,), shrinkage, "queries")
            second, other = _inverse_root((documents,), shrinkage, "documents")
            return cls(kind, first, second, (share, other))
        if kind != "pooled":
            raise ParameterError(f"there is no whitening {kind!r}", where="kind", remedy="Say pooled, per-view or none")
        if len(queries.mean) != len(documents.mean):
            raise DimensionError(
                f"pooled whitening of sides of {len(queries.mean)} and {len(documents.mean)} dimensions was asked for",
                remedy="Whiten each view by itself, or not at all",
            )
        root, share = _inverse_root((queries, documents), shrinkage, "queries and documents")
        return cls(kind, root, root, (share, share))

    def queries(self, rows: FloatArray) -> Float64Array:
        """Whitened queries: (n, d_query) → (n, d_query)."""
        return _apply(rows, self.query)

    def documents(self, rows: FloatArray) -> Float64Array:
        """Whitened documents, or differences of documents: (m, d_document) → (m, d_document)."""
        return _apply(rows, self.document)

    def rows(self, rows: RelevanceRows) -> RelevanceRows:
        """The rows of the whitened moment."""
        return replace(rows, queries=self.queries(rows.queries), differences=self.documents(rows.differences))

    def moment(self, moments: Moments) -> Float64Array:
        """T = Wx C Wy: (d_query, d_document)."""
        left = moments.relevance if self.query is None else self.query @ moments.relevance
        return left if self.document is None else left @ self.document

    def raw(self, operator: Factored) -> Factored:
        """The raw operator Wx M Wy that scores raw vectors as M scores whitened ones."""
        return Factored(_apply(operator.left.T, self.query).T, _apply(operator.right.T, self.document).T)


def ledoit_wolf(*views: Covariance) -> float:
    """The shrinkage γ nearest to optimal in Frobenius loss, in closed form from streamed sums.

    γ = min(1, E‖S - Σ‖² / ‖S - (tr S / d) I‖²) (Ledoit and Wolf, 2004). For the mean of several
    independent covariances the noise of the mean is the sum of theirs over the square of their number.

    Args:
        views: covariances of one dimension d; more than one for their mean.

    >>> rng = np.random.default_rng(0)
    >>> few, many = (Covariance.of(rng.normal(size=(n, 5)) * [3, 1, 1, 1, 1]) for n in (10, 10_000))
    >>> ledoit_wolf(few) > 0.1 > 0.01 > ledoit_wolf(many)
    True
    """
    mean = _mean(views)
    spread = float(np.sum(np.square(mean - np.trace(mean) / len(mean) * np.eye(len(mean)))))
    noise = sum(view.sampling_noise() for view in views) / len(views) ** 2
    return min(1.0, noise / spread) if spread > 0 else 1.0


def _mean(views: tuple[Covariance, ...]) -> Float64Array:
    return np.asarray(sum(view.matrix for view in views) / len(views))


def _inverse_root(views: tuple[Covariance, ...], shrinkage: Shrinkage, what: str) -> tuple[Float64Array, float]:
    """Σ_γ^-½, and γ."""
    covariance = _mean(views)
    share = _share(views, shrinkage)
    level = float(np.trace(covariance)) / len(covariance)
    size = max(float(view.mean @ view.mean) for view in views) / len(covariance)
    if not level > (64 * _ROUNDING) ** 2 * size:  # equal rows differ from their mean by its rounding
        raise InputError("all rows are equal, so there is nothing to whiten by", where=what, remedy="Do not whiten")
    values, vectors = symmetric_eigen((1 - share) * covariance + share * level * np.eye(len(covariance)))
    if values[-1] <= len(values) * _ROUNDING * values[0]:
        zeros = int(np.sum(values <= len(values) * _ROUNDING * values[0]))
        raise InputError(
            f"the covariance is singular in {zeros} of {len(values)} directions",
            where=what,
            remedy="Raise the shrinkage (0.1 is usual), or drop constant and duplicate columns",
        )
    return (vectors / np.sqrt(values)) @ vectors.T, share


def _share(views: tuple[Covariance, ...], shrinkage: float | str) -> float:
    if shrinkage == "ledoit-wolf":
        return ledoit_wolf(*views)
    if not is_number(shrinkage) or not 0 <= shrinkage <= 1:  # type: ignore[operator]
        raise ParameterError(
            f"the shrinkage is {shrinkage!r}", where="shrinkage", remedy="Give a number from 0 to 1, or ledoit-wolf"
        )
    return float(shrinkage)


def _apply(rows: FloatArray, matrix: Float64Array | None) -> Float64Array:
    wide = np.asarray(rows, dtype=np.float64)
    if matrix is None:
        return wide
    if wide.ndim != 2 or wide.shape[1] != len(matrix):
        raise DimensionError(f"rows of shape {wide.shape} were given to a whitening of {len(matrix)} dimensions")
    return np.asarray(wide @ matrix)
