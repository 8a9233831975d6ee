"""Ridge maps of pairs with a share of their intercept, one or at every strength from one decomposition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from askew.estimators.pairs import PairMoments
from askew.linalg import symmetric_eigen
from askew.linalg.fixed import Float64Array

__all__ = ["ROUNDING", "RidgePath", "ridge_map"]

#: Products of unit rows whose mean is below it are rounding: what centring leaves of equal rows, or what is left of an
#: axis along which no row varies.
ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class RidgePath:
    """The ridge maps of n pairs at every strength, from one decomposition S = V diag(e) Vᵀ of sums about the means.

    Attributes:
        count: n.
        values: (d_query,) e, not below 0.
        axes: (d_query, d_query) V.
        loadings: (d_query, d_document) VᵀC.
        source_mean: (d_query,) Vᵀμ.
        target_mean: (d_document,) ν.
        centre: how much of the intercept is left out.
    """

    count: int
    values: Float64Array
    axes: Float64Array
    loadings: Float64Array
    source_mean: Float64Array
    target_mean: Float64Array
    centre: float

    @classmethod
    def of(cls, moments: PairMoments, centre: float) -> RidgePath:
        """From the sums of n pairs, the share `centre` of whose intercept is left out."""
        about, source_mean, target_mean = moments.centred, moments.source_mean, moments.target_mean
        values, axes = symmetric_eigen(about.source)
        values = np.maximum(values, 0.0)
        return cls(moments.count, values, axes, axes.T @ about.cross, axes.T @ source_mean, target_mean, centre)

    def at(self, strength: float) -> Float64Array:
        """(d_query, d_document) the map at a pull of λ per pair."""
        return np.asarray(self.axes @ self.along_axes(*self.parts(strength)))

    def along_axes(self, weight: Float64Array, reader: Float64Array, intercept: Float64Array) -> Float64Array:
        """(d_query, d_document) a map of vectors in the coordinates V, from its parts."""
        return np.asarray(weight[:, None] * self.loadings + np.outer(reader, intercept))

    def parts(self, strength: float) -> tuple[Float64Array, Float64Array, Float64Array]:
        """(d_query,) what weighs the loadings, (d_query,) Vᵀw, as much of it as counts, and (d_document,) b."""
        pulled, least = self.values + max(self.count, 1) * strength, max(self.count, 1) * ROUNDING
        # Where variance and pull are rounding alone: nothing, as in a pseudo-inverse.
        still = (self.values <= least) & (strength <= ROUNDING)
        weight = np.where(still, 0.0, 1 / np.maximum(pulled, least))
        still_mean = np.where(still, self.source_mean, 0.0)
        if still_mean @ still_mean > ROUNDING:  # all pairs have this in common, so it alone reads a constant
            reader = still_mean / (still_mean @ still_mean)
        else:
            reader = _reader(self.count * weight * self.source_mean, self.source_mean)
        return weight, (1 - self.centre) * reader, self.target_mean - (weight * self.source_mean) @ self.loadings


def _reader(solved: Float64Array, mean: Float64Array) -> Float64Array:
    """w, from n(S + nλI)⁻¹μ and μ."""
    return np.asarray(solved / (1 + mean @ solved))


def ridge_map(moments: PairMoments, strength: float, centre: float) -> Float64Array:
    """(d_query, d_document) the map at one strength: a Cholesky factor costs a tenth of a decomposition.

    Args:
        moments: sums of n pairs.
        strength: λ, the pull per pair.
        centre: how much of the intercept is left out.
    """
    if strength <= ROUNDING:  # lost beside what it pulls at: axes without variance have to be left out
        return RidgePath.of(moments, centre).at(strength)
    about, count = moments.centred, max(moments.count, 1)
    factor = scipy.linalg.cho_factor(about.source + count * strength * np.eye(len(about.source)))
    solved = scipy.linalg.cho_solve(factor, np.column_stack([about.cross, count * moments.source_mean]))
    mapped, mean = solved[:, :-1], moments.source_mean
    reader = (1 - centre) * _reader(solved[:, -1], mean)
    return np.asarray(mapped + np.outer(reader, moments.target_mean - mean @ mapped))
