"""What a second geometry costs and buys near a shared one: dimensions, risks, and a rule that decides.

The setting: Y = M + σ/√n · G with Gaussian G, a target M at S + H/√n, S a regular shared matrix of rank r; δ² is the
energy ‖Π_A H‖² of what only the dual family can follow (`tangent`). All risks are n times the squared error, in the
limit of large n.

    dim T_d = r(2p - r)    dim T_s = r(2p - r + 1)/2    k = dim T_d - dim T_s = r(2p - r - 1)/2
    dual     σ² dim T_d                         theorem 2
    shared   δ² + σ² dim T_s                    theorem 2: dual is better where δ² > σ²k (corollary 1)
    rule     dual where ‖Π_A Z‖² > 2σ²k         theorem 3: unbiased risk estimates (Stein), ties to shared

Source: "When Does Dense Retrieval Need Asymmetric Geometry? A Bias-Variance Theory of Shared and Dual Projections"
(arXiv 2609.32488). All functions broadcast over arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from askew._checks import as_numbers
from askew.errors import ParameterError
from askew.geometry._tails import Tails, tails
from askew.linalg.fixed import BoolArray, Float64Array, IntArray

__all__ = [
    "Risks",
    "boundary",
    "choice_regret",
    "dual_dimension",
    "dual_only_dimension",
    "dual_probability",
    "local_risks",
    "null_bound",
    "partial_dimension",
    "prefers_dual",
    "selection_score",
    "shared_dimension",
    "sure_risks",
    "untied_dimension",
    "untied_dimension_learned",
]


class Risks(NamedTuple):
    """A number for each family, (...) each."""

    dual: Float64Array
    shared: Float64Array


def dual_dimension(dim: npt.ArrayLike, rank: npt.ArrayLike) -> IntArray:
    """The dual family: dim T_d = r(2p - r), the parameters of a p × p matrix of rank r.

    Args:
        dim: p.
        rank: r, from 1 to p.

    Raises:
        ParameterError: r is not between 1 and p.

    >>> dual_dimension(12, 3).item()
    63
    """
    p, r = _sizes(dim, rank)
    return r * (2 * p - r)


def shared_dimension(dim: npt.ArrayLike, rank: npt.ArrayLike) -> IntArray:
    """The shared family: dim T_s = r(2p - r + 1)/2, the parameters of a symmetric p × p matrix of rank r.

    Args:
        dim: p.
        rank: r, from 1 to p.

    Raises:
        ParameterError: r is not between 1 and p.

    >>> shared_dimension([12, 768], [3, 16]).tolist()
    [33, 12168]
    """
    p, r = _sizes(dim, rank)
    return r * (2 * p - r + 1) // 2


def dual_only_dimension(dim: npt.ArrayLike, rank: npt.ArrayLike) -> IntArray:
    """What the dual family has more to learn: k = r(2p - r - 1)/2.

    Args:
        dim: p.
        rank: r, from 1 to p.

    Raises:
        ParameterError: r is not between 1 and p.

    >>> dual_only_dimension(768, [1, 16]).tolist()
    [767, 12152]
    """
    p, r = _sizes(dim, rank)
    return r * (2 * p - r - 1) // 2


def untied_dimension(dim: npt.ArrayLike, untied: npt.ArrayLike) -> IntArray:
    """k_s = s(2p - s - 1)/2, what untying a **given** subspace of s directions adds to shared.

    The s-th direction adds p - s. k_r = k.

    Args:
        dim: p.
        untied: s, from 0 to p.

    Raises:
        ParameterError: s is not between 0 and p.

    >>> untied_dimension(9, [0, 1, 2, 3, 4]).tolist()
    [0, 8, 15, 21, 26]
    """
    p, s = _whole(dim, "dim", least=1), _whole(untied, "untied", least=0)
    _check(np.all(s <= p), "there are more untied directions than dimensions", "untied", "Give 0 to p")
    return s * (2 * p - s - 1) // 2


def untied_dimension_learned(dim: npt.ArrayLike, rank: npt.ArrayLike, *, untied: npt.ArrayLike) -> IntArray:
    """k_s + s(r - s) = s(2p + 2r - 3s - 1)/2: the same where the subspace is **learned** as well.

    It counts the family away from shared matrices, where it is smooth: exactly where r + s ≤ p, or s is 0 or r. In
    fewer dimensions the two parts of M overlap, and it is a bound from above, never more than k.

    Args:
        dim: p.
        rank: r, from 1 to p.
        untied: s, from 0 to r.

    Raises:
        ParameterError: r is not between 1 and p, or s not between 0 and r.

    >>> untied_dimension_learned(9, 4, untied=[0, 1, 2, 3, 4]).tolist()
    [0, 11, 19, 24, 26]
    """
    p, r = _sizes(dim, rank)
    s = _whole(untied, "untied", least=0)
    _check(np.all(s <= r), "there are more untied directions than the rank", "untied", "Give 0 to r")
    return np.asarray(np.minimum(s * (2 * p + 2 * r - 3 * s - 1) // 2, dual_only_dimension(p, r)))


def partial_dimension(dim: npt.ArrayLike, rank: npt.ArrayLike, *, untied: npt.ArrayLike) -> IntArray:
    """(r + s)p - (r - s)(r - s - 1)/2 - s², the parameters of P₁ᵀP₁ + A₂ᵀB₂ with s of r rows untied.

    Shared at s = 0, dual at s = r. Where r + s > p it is a bound, as `untied_dimension_learned` is.

    Args:
        dim: p.
        rank: r, from 1 to p.
        untied: s, from 0 to r.

    Raises:
        ParameterError: r is not between 1 and p, or s not between 0 and r.

    >>> partial_dimension(12, 3, untied=[0, 1, 2, 3]).tolist()
    [33, 46, 56, 63]
    """
    return shared_dimension(dim, rank) + untied_dimension_learned(dim, rank, untied=untied)


def local_risks(dim: npt.ArrayLike, rank: npt.ArrayLike, *, signal: npt.ArrayLike, noise: npt.ArrayLike = 1.0) -> Risks:
    """Theorem 2: n times the expected squared errors of the two projections, in the limit.

    Args:
        dim: p.
        rank: r, from 1 to p.
        signal: δ² = ‖Π_A H‖², from 0 on.
        noise: σ, above 0.

    Raises:
        ParameterError: a number is out of range.

    >>> [side.item() for side in local_risks(12, 3, signal=60.0)]
    [63.0, 93.0]
    """
    extra, variance = _extent(signal, "signal"), _variance(noise)
    dual, shared = dual_dimension(dim, rank), shared_dimension(dim, rank)
    first, second = np.broadcast_arrays(variance * dual, extra + variance * shared)
    return Risks(first.copy(), second.copy())


def boundary(
    dim: npt.ArrayLike, rank: npt.ArrayLike, *, noise: npt.ArrayLike = 1.0, pairs: npt.ArrayLike = 1
) -> Float64Array:
    """Corollary 1: σ²k/n, the energy of the skew tangent part of M above which dual is better.

    Args:
        dim: p.
        rank: r, from 1 to p.
        noise: σ of one pair, above 0.
        pairs: n, at least 1; with 1 the bound is on δ² = n‖Π_A(M - S)‖².

    Raises:
        ParameterError: a number is out of range.

    >>> boundary(12, 3, pairs=[1, 300]).tolist()
    [30.0, 0.1]
    """
    count = _real(pairs, "pairs")
    _check(np.all(count >= 1), "the number of pairs is below 1", "pairs", "Give 1 or more")
    return np.asarray(_variance(noise) * dual_only_dimension(dim, rank) / count)


def sure_risks(dim: npt.ArrayLike, rank: npt.ArrayLike, *, energy: npt.ArrayLike, noise: npt.ArrayLike = 1.0) -> Risks:
    """Theorem 3: the unbiased estimates of n times both risks, from one Z = √n Π_Td(Y - S).

    dual: σ² dim T_d; shared: ‖Π_A Z‖² + σ²(2 dim T_s - dim T_d).

    Args:
        dim: p.
        rank: r, from 1 to p.
        energy: ‖Π_A Z‖², from 0 on.
        noise: σ, above 0.

    Raises:
        ParameterError: a number is out of range.

    >>> [side.item() for side in sure_risks(12, 3, energy=60.0)]  # on the edge: 60 = 2σ²k
    [63.0, 63.0]
    """
    seen, variance = _extent(energy, "energy"), _variance(noise)
    dual, shared = dual_dimension(dim, rank), shared_dimension(dim, rank)
    first, second = np.broadcast_arrays(variance * dual, seen + variance * (2 * shared - dual))
    return Risks(first.copy(), second.copy())


def selection_score(energy: npt.ArrayLike, degrees: npt.ArrayLike, *, noise: npt.ArrayLike = 1.0) -> Float64Array:
    """‖Π_A Z‖² - 2σ²k, the estimated risk of shared less that of dual.

    Noise that differs by direction: give degrees = tr(Π_A Σ)/σ².

    Args:
        energy: ‖Π_A Z‖², from 0 on.
        degrees: k, above 0.
        noise: σ, above 0.

    Raises:
        ParameterError: a number is out of range.

    >>> selection_score([59.0, 61.0], 30).tolist()
    [-1.0, 1.0]
    """
    count = _real(degrees, "degrees")
    _check(np.all(count > 0), "the degrees of freedom are not above 0", "degrees", "Give a positive number")
    return np.asarray(_extent(energy, "energy") - 2 * _variance(noise) * count)


def prefers_dual(energy: npt.ArrayLike, degrees: npt.ArrayLike, *, noise: npt.ArrayLike = 1.0) -> BoolArray:
    """Whether the score is above 0; a tie goes to shared.

    Args:
        energy: ‖Π_A Z‖², from 0 on.
        degrees: k, above 0.
        noise: σ, above 0.

    Raises:
        ParameterError: a number is out of range.

    >>> prefers_dual([59.0, 60.0, 61.0], 30).tolist()
    [False, False, True]
    """
    return np.asarray(selection_score(energy, degrees, noise=noise) > 0)


def dual_probability(
    signal: npt.ArrayLike,
    degrees: npt.ArrayLike,
    *,
    noise: npt.ArrayLike = 1.0,
    splits: npt.ArrayLike | None = None,
) -> Float64Array:
    """How often the rule takes dual: P{χ²_k(δ²/σ²) > 2k} (theorem 3), the power where δ² > σ²k.

    With σ estimated from L orthogonal contrasts of half-splits it is P{F'_k,Lk(δ²/σ²) > 2}, which tends to
    theorem 3 as L grows; one split is L = 1. The rule is CARS then, in the tangent space.

    Args:
        signal: δ², from 0 on.
        degrees: k, at least 1.
        noise: σ, above 0.
        splits: L, from 1 to infinity; None for a known σ.

    Returns:
        (...) in [0, 1], never NaN; exact to about ten digits, of small probabilities too.

    Raises:
        ParameterError: a number is out of range.

    >>> dual_probability([0.0, 30.0, 60.0], 30).round(4).tolist()
    [0.0009, 0.4735, 0.9694]
    >>> dual_probability(60.0, 30, splits=[1, 20]).round(4).tolist()
    [0.9029, 0.9656]
    """
    return _choices(signal, degrees, noise, splits).above


def choice_regret(
    signal: npt.ArrayLike,
    degrees: npt.ArrayLike,
    *,
    noise: npt.ArrayLike = 1.0,
    splits: npt.ArrayLike | None = None,
) -> Float64Array:
    """What choosing the wrong family costs on average: (δ² - σ²k)₊ P(shared) + (σ²k - δ²)₊ P(dual).

    It is n times the mean difference of the two families' own risks, 0 at the boundary. It is not the risk after
    selection, which also pays for choosing by the noise that it then fits.

    Args:
        signal: δ², from 0 on.
        degrees: k, at least 1.
        noise: σ, above 0.
        splits: L, from 1 to infinity; None for a known σ.

    Raises:
        ParameterError: a number is out of range.

    >>> choice_regret([0.0, 30.0, 60.0], 30).round(4).tolist()
    [0.0276, 0.0, 0.9169]
    """
    advantage = _extent(signal, "signal") - _variance(noise) * _whole(degrees, "degrees", least=1)
    above, below = _choices(signal, degrees, noise, splits)
    return np.asarray(np.maximum(advantage, 0.0) * below + np.maximum(-advantage, 0.0) * above)


def null_bound(degrees: npt.ArrayLike) -> Float64Array:
    """(2/e)^(k/2), no less than the probability of dual where nothing is gained by it, δ = 0, and σ is known.

    Args:
        degrees: k, at least 1.

    Raises:
        ParameterError: k is below 1.

    >>> null_bound(30).round(5).item()
    0.01002
    """
    return np.asarray(np.exp(_whole(degrees, "degrees", least=1) / 2 * (np.log(2) - 1)))


def _choices(
    signal: npt.ArrayLike, degrees: npt.ArrayLike, noise: npt.ArrayLike, splits: npt.ArrayLike | None
) -> Tails:
    count = _whole(degrees, "degrees", least=1).astype(np.float64)
    contrasts = _real(np.inf if splits is None else splits, "splits")
    _check(np.all(contrasts >= 1), "the number of splits is not at least 1", "splits", "Give 1 or more, or None")
    with np.errstate(over="ignore"):
        shift = _extent(signal, "signal") / _variance(noise)
    return tails(count, shift, contrasts)


def _sizes(dim: npt.ArrayLike, rank: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    p, r = _whole(dim, "dim", least=1), _whole(rank, "rank", least=1)
    _check(np.all(r <= p), "a rank is above the dimension", "rank", "Give 1 to p")
    return p, r


def _whole(values: npt.ArrayLike, name: str, *, least: int) -> IntArray:
    given = _real(values, name)
    _check(
        np.all((given >= least) & (given == np.floor(given)) & (given < 2**31)),
        f"{name} is not a whole number from {least} on",
        name,
        f"Give whole numbers of {least} or more",
    )
    return given.astype(np.int64)


def _extent(values: npt.ArrayLike, name: str) -> Float64Array:
    given = _real(values, name)
    _check(np.all((given >= 0) & (given < np.inf)), f"the {name} is not a finite number from 0 on", name, "Give ‖·‖²")
    return given


def _variance(noise: npt.ArrayLike) -> Float64Array:
    given = _real(noise, "noise")
    with np.errstate(over="ignore", under="ignore"):
        squared = np.square(given)
    _check(np.all((given > 0) & (squared > 0) & (squared < np.inf)), "σ is not above 0", "noise", "Give σ, not σ²")
    return np.asarray(squared)


def _real(values: npt.ArrayLike, name: str) -> Float64Array:
    return as_numbers(values, name)


def _check(fine: Any, problem: str, where: str, remedy: str) -> None:
    if not fine:
        raise ParameterError(problem, where=where, remedy=remedy)
