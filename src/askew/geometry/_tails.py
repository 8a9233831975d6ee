"""P(χ²_k(λ) > 2k) and P(F'_k,Lk(λ) > 2), and their complements, for every k and λ.

scipy's are exact to twelve digits where they answer, at k of millions too. They need help at the ends: `ncf.sf`
at λ = 0 is negative (scipy 1.17), very small and very large λ give warnings or NaN, and a lower tail of about
1e-16 and less is NaN here and there. So: the central law for a λ that changes nothing, a cap on λ where the lower
tail is 0 in float64 anyway, and a saddlepoint for what is still no probability. The saddlepoint is that of
Lugannani and Rice (Advances in Applied Probability 12, 1980); its point solves a quadratic equation for both laws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.special

from askew.linalg.fixed import Float64Array

__all__ = ["Tails", "saddlepoint", "tails"]

_CENTRAL = 1e-10  # a λ below it changes the probability by less than 1e-10 of itself
_CAP = 1e6  # of k: at a λ of 10⁶ k the lower tail is below exp(-10⁵)
_MEAN = 1e-4  # |root| below it: there the formula is a difference of two large numbers, and its limit is taken


class Tails(NamedTuple):
    """P(above) and P(at or below), each exact in its own tail."""

    above: Float64Array
    below: Float64Array


def tails(degrees: Float64Array, shift: Float64Array, splits: Float64Array) -> Tails:
    """The two sides of twice the mean noise.

    Args:
        degrees: k, (...) at least 1.
        shift: λ, (...) from 0 on.
        splits: L, (...) from 1 to infinity, which is χ².

    Returns:
        (...) each, never NaN.
    """
    degrees, shift, splits = np.broadcast_arrays(degrees, shift, splits)
    shift = np.minimum(shift, _CAP * degrees)
    above, below = np.empty(degrees.shape), np.empty(degrees.shape)
    for known in (True, False):
        for central in (True, False):
            some = (np.isinf(splits) == known) & ((shift < _CENTRAL) == central)
            above[some], below[some] = _library(degrees[some], shift[some], splits[some], known=known, central=central)
    bad = ~((above >= 0) & (above <= 1) & (below >= 0) & (below <= 1))
    above[bad], below[bad] = saddlepoint(degrees[bad], shift[bad], splits[bad])
    return Tails(above, below)


def saddlepoint(degrees: Float64Array, shift: Float64Array, splits: Float64Array) -> Tails:
    """The approximation of Lugannani and Rice to both tails.

    D = χ²_k(λ) - (2/L) χ²_Lk has the cumulants' function
    K(t) = λt/(1 - 2t) - (k/2) log(1 - 2t) - (Lk/2) log(1 + 4t/L), with K'(t) = 0 at u = 1 - 2t where
    2k(L + 1)u² + (2λ - k(L + 2))u - λ(L + 2) = 0. All is divided by k, and by L where L is infinite.

    Args:
        degrees: k, (...).
        shift: λ, (...).
        splits: L, (...) or infinity.
    """
    ratio, share = shift / degrees, 1 / splits  # λ/k and 1/L
    point = _positive_root(2 * (1 + share), 2 * ratio * share - (1 + 2 * share), -ratio * (1 + 2 * share))
    place = (1 - point) / 2
    inner = 1 + 4 * place * share
    # (L/2) log(1 + 4t/L) tends to 2t.
    noise = np.where(share > 0, np.log1p(4 * place * share) / np.where(share > 0, 2 * share, 1.0), 2 * place)
    height = ratio * place / point - np.log(point) / 2 - noise
    curve = 4 * ratio / point**3 + 2 / point**2 + 8 * share / inner**2
    skewness = (24 * ratio / point**4 + 8 / point**3 - 64 * share**2 / inner**3) / curve**1.5 / np.sqrt(degrees)
    root = np.sign(place) * np.sqrt(np.maximum(-2 * height * degrees, 0.0))
    scale = place * np.sqrt(curve * degrees)
    near = np.abs(root) < _MEAN
    safe = [np.where(near, 1.0, part) for part in (root, scale)]
    step = np.where(near, -skewness / 6, 1 / safe[1] - 1 / safe[0]) * np.exp(-np.square(root) / 2) / np.sqrt(2 * np.pi)
    sides = (scipy.special.ndtr(-root) + step, scipy.special.ndtr(root) - step)
    return Tails(*(np.clip(side, 0.0, 1.0) for side in sides))


def _library(
    degrees: Float64Array, shift: Float64Array, splits: Float64Array, *, known: bool, central: bool
) -> tuple[Float64Array, Float64Array]:
    from scipy import stats  # noqa: PLC0415 - about a second to import

    law: Any  # four classes, one pair of methods
    first = (degrees,) if known else (degrees, splits * degrees)
    if central:
        law = stats.chi2 if known else stats.f
        arguments = first
    else:
        law = stats.ncx2 if known else stats.ncf
        arguments = (*first, shift)
    edge = 2 * degrees if known else np.full_like(degrees, 2.0)
    return np.asarray(law.sf(edge, *arguments)), np.asarray(law.cdf(edge, *arguments))


def _positive_root(square: Float64Array, linear: Float64Array, constant: Float64Array) -> Float64Array:
    """Of a u² + b u + c with a > 0 ≥ c; by the form that does not cancel."""
    spread = np.sqrt(np.square(linear) - 4 * square * constant)
    larger = spread + np.abs(linear)  # above 0: b and c are never both 0
    return np.where(linear > 0, -2 * constant / larger, larger / (2 * square))
