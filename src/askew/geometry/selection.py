"""Shared or dual, by the half-split rule (CARS): the record of a choice, and the rule itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from askew._checks import check_count, is_number
from askew.errors import ParameterError
from askew.geometry.halving import HalfSums, half_sums
from askew.geometry.noise import NOISE_LIMIT, chance_above_zero, noise_limit
from askew.geometry.risk import dual_only_dimension, dual_probability
from askew.geometry.rows import RelevanceRows
from askew.geometry.spectra import Spectra, interpolate
from askew.linalg.fixed import Float64Array
from askew.operators import Factored
from askew.protocols import Progress

__all__ = [
    "NOISE_LIMIT",
    "Fallback",
    "Geometry",
    "Selection",
    "Target",
    "cars",
    "cars_power",
    "interpolation_weight",
]

Geometry = Literal["shared", "dual"]
Target = Literal["operator risk", "ranking"]
Fallback = Literal["shared", "interpolate", "none"]


@dataclass(frozen=True, eq=False)
class Selection:
    """A choice between one geometry and two at one rank, and what it rests on.

    Attributes:
        choice: ``"shared"`` or ``"dual"``.
        target: what the score is about: ``"operator risk"`` or ``"ranking"``. The two are different
            questions, and a noisy dual fit can lose the first and win the second.
        method: the name of the rule.
        rank: the rank asked for.
        held_rank: the rank that the moments split from the data have at most.
        score: above 0 for dual.
        standard_error: of the score, over queries; None if it was switched off, or there were too few queries for one.
        interval: nominal 90%, None likewise.
        values: the score by split or by fold.
        queries: queries that could be told apart.
        weight: α of P_s + α (P_d - P_s): 0 for shared, 1 for dual, in between for an interpolation.
        inside_noise: the score is within `noise_limit` standard errors of 0, or queries were too few for an error.
        fell_back: the choice is not the sign's, because of that.
        reason: a sentence.
        groups: that the error was estimated by leaving out; None without an error.
        signal: the mean of ⟨V₁, V₂⟩; None for rules without one, as the rest.
        price: the mean of ¼‖V₁ - V₂‖².
        power: the chance that a repetition would choose dual, at the ratio of signal to price found, if noise
            were the same in all directions. Where it is not, as in real embeddings, few directions count, and
            this is nearer to 0 or 1 than it should be: `dual_chance` goes by the noise that was measured.
    """

    choice: Geometry
    target: Target
    method: str
    rank: int
    held_rank: int
    score: float
    standard_error: float | None
    interval: tuple[float, float] | None
    values: Float64Array
    queries: int
    weight: float
    inside_noise: bool
    fell_back: bool
    reason: str
    groups: int | None = None
    signal: float | None = None
    price: float | None = None
    power: float | None = None

    @property
    def split_error(self) -> float:
        """The standard error that the randomness of the splits alone leaves in the score: sd / √L."""
        return float(self.values.std(ddof=1) / np.sqrt(len(self.values))) if len(self.values) > 1 else 0.0

    @property
    def dual_chance(self) -> float | None:
        """The chance that a repetition's score is above 0, by its error alone; None without one."""
        if self.standard_error is None:
            return None
        return chance_above_zero(self.score, self.standard_error, self.groups)

    @property
    def crossing(self) -> float | None:
        """n* = n · price / signal, where dual starts to pay to first order; None for no signal, or no such rule.

        Without an interval: `plan` gives one.
        """
        if self.signal is None or self.price is None or self.signal <= 0:
            return None
        return self.queries * self.price / self.signal

    def operator(self, spectra: Spectra) -> Factored:
        """The operator chosen, from the spectra of the whole moment.

        Args:
            spectra: factorised for at least this rank.
        """
        return interpolate(spectra, self.rank, self.weight)


def cars(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    splits: int = 20,
    groups: int | None = 20,
    by_document: bool = False,
    fallback: Fallback = "shared",
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Selection, ...]:
    """Choose by cross-fitted operator risk.

    Γ = mean over L half-splits of ⟨V₁, V₂⟩ - ¼‖V₁ - V₂‖², V_I = P_d,r(C_I) - P_s,r(C_I): dual if Γ > 0, and
    shared on a tie (CARS, eq. 7; arXiv 2609.32488). E Γ = ‖Δ‖² - tr Σ / n to first order, for noise of any
    shape; at small n it leans to shared.

    The error is a delete-a-group jackknife over queries, on splits made of whole groups, less what it counts
    twice where the score is quadratic in the noise (`HalfSums.covariance`). A bootstrap of rows is not valid
    here: copies land in both halves.

    Args:
        rows: n rows of the moment in the coordinates to be judged: whiten them first, once, if at all.
        ranks: one selection each; one factorisation a half serves them all.
        splits: L.
        groups: of the jackknife, about 10 times the work of the score; None for the score alone.
        by_document: halves that share no document.
        fallback: what to do inside the noise (1.73 standard errors of 0 with 20 groups, more with fewer):
            ``"shared"``, ``"interpolate"`` between the two by `interpolation_weight`, or ``"none"`` to go by the sign.
        seed: of the hashes that deal queries into halves and groups.
        workers: splits that run side by side; no result depends on it.
        progress: called with the splits done and to do.

    Raises:
        DimensionError: the sides differ in dimension.
        ParameterError: an argument is out of range.
        LabelError: fewer than four queries, or documents that cannot be kept apart.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(400, 2))
    >>> turned = z @ np.array([[0.0, 1.0], [-1.0, 0.0]])
    >>> rows = RelevanceRows(tuple(map(str, range(400))), z, turned + 0.1 * rng.normal(size=(400, 2)))
    >>> cars(rows, ranks=[2])[0].choice
    'dual'
    """
    if fallback not in ("shared", "interpolate", "none"):
        raise ParameterError(f"there is no fallback {fallback!r}", remedy="Say shared, interpolate or none")
    sums = half_sums(
        rows,
        ranks=ranks,
        splits=splits,
        groups=groups,
        by_document=by_document,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    return tuple(_judge(sums, place, rows.shape[0], fallback) for place in range(len(sums.ranks)))


def interpolation_weight(signal: float, price: float) -> float:
    """α̂ = a₊ / (a₊ + b): what of the dual-only part survives, as in positive-part James and Stein.

    P_s + α (P_d - P_s) has risk (1 - α)²‖Δ‖² + α² tr Σ / n, least at ‖Δ‖² / (‖Δ‖² + tr Σ / n); a and b estimate
    the two from half-splits. α̂ > ½ exactly where CARS says dual.

    Raises:
        ParameterError: a number is not finite, or the price is below 0.

    >>> interpolation_weight(3.0, 1.0), interpolation_weight(-3.0, 1.0), interpolation_weight(0.0, 0.0)
    (0.75, 0.0, 0.0)
    """
    if not (is_number(signal) and is_number(price) and np.isfinite(signal) and 0 <= price < np.inf):
        raise ParameterError(
            f"the signal is {signal!r} and the price {price!r}", remedy="Give finite numbers, and a price of 0 or more"
        )
    kept = max(signal, 0.0)
    return kept / (kept + price) if kept > 0 else 0.0


def cars_power(ratio: float, dimension: int, *, splits: int | None = 20) -> float:
    """The chance that CARS chooses dual in the local theory, with its noise estimated.

    P{F'_{k, Lk}(λ) > 2} with λ = k · ratio; for L → ∞ it is P{χ²_k(λ) > 2k} (CARS, theorem 3). Exact for
    isotropic noise and orthogonal splits.

    Args:
        ratio: ‖Δ‖² n / tr Σ: 1 where dual and shared are equally good.
        dimension: k = r(2p - r - 1)/2, the dual-only directions.
        splits: L; None for the limit.

    Raises:
        ParameterError: the ratio is negative, k below 1, or L below 1.

    >>> [round(cars_power(2.0, 30, splits=count), 4) for count in (1, 20, None)]
    [0.9029, 0.9656, 0.9694]
    """
    check_count(dimension, "dual-only directions", least=1, where="dimension")
    if splits is not None:
        check_count(splits, "splits", least=1, where="splits")
    if not is_number(ratio) or not 0 <= ratio < np.inf:
        raise ParameterError(f"the ratio is {ratio!r}", where="ratio", remedy="Give a finite number, 0 or more")
    return float(dual_probability(dimension * ratio, dimension, splits=splits))


def decide(
    score: float,
    error: float | None,
    *,
    fallback: Fallback,
    weight: float | None = None,
    groups: int | None = None,
    wanted: bool = True,
) -> tuple[Geometry, float, bool, bool, str]:
    """The choice, its weight, whether it is inside the noise, whether it fell back, and a sentence.

    The sentence gives the score in standard errors, so that it is right beside a table in any unit. A score whose error
    was wanted and is unknown counts as inside the noise.

    Args:
        score: above 0 for dual.
        error: its standard error, None if unknown.
        fallback: inside the noise.
        weight: α̂ for an interpolation.
        groups: that the error comes from.
        wanted: False where the caller switched the error off.
    """
    if score == 0 and not error:
        unknown = error is None and wanted
        equal = "the two are equal, but there are too few queries for an error" if unknown else "the two are equal"
        return "shared", 0.0, unknown, False, f"{equal}: shared, the smaller family"
    sign: Geometry = "dual" if score > 0 else "shared"
    side = "above" if score > 0 else "below"
    if error is None and wanted:
        inside = f"the score is {side} 0, but there are too few queries for an error"
    elif not error:
        known = "the error was switched off" if error is None else "the same whatever queries are left out"
        return sign, float(sign == "dual"), False, False, f"the score is {side} 0 ({known}): {sign}"
    else:
        away = f"the score is {abs(score) / error:.1f} standard errors {side} 0" if score else "the score is 0"
        if abs(score) >= noise_limit(groups) * error:
            return sign, float(sign == "dual"), False, False, f"{away}: {sign}"
        inside = f"{away}, inside the noise"
    if fallback == "none":
        return sign, float(sign == "dual"), True, False, f"{inside}; its sign says {sign}"
    if fallback == "interpolate" and weight is not None:
        said = f"{inside}: interpolated with {weight:.2f} of the dual-only part"
        return ("dual" if weight == 1 else "shared"), weight, True, True, said
    return "shared", 0.0, True, sign == "dual", f"{inside}: shared, the smaller family"


def interval_of(score: float, error: float | None, groups: int | None = None) -> tuple[float, float] | None:
    """The nominal 90% interval; None without an error."""
    return None if error is None else (score - noise_limit(groups) * error, score + noise_limit(groups) * error)


def reduction(rank: int, held: int) -> str:
    """A clause that says that a rank was more than the data support; empty otherwise."""
    return f"; rank {rank} is more than a part of the data holds, so it was judged at {held}" if held < rank else ""


def _judge(sums: HalfSums, place: int, dim: int, fallback: Fallback) -> Selection:
    signal, price = float(sums.signal[:, place].mean()), float(sums.price[:, place].mean())
    score = signal - price
    covariance = sums.covariance(place)
    contrast = np.array([1.0, -1.0])
    error = None if covariance is None else float(np.sqrt(max(contrast @ covariance @ contrast, 0.0)))
    weight = interpolation_weight(signal, price)
    choice, used, inside, fell, reason = decide(
        score, error, fallback=fallback, weight=weight, groups=sums.groups, wanted=False
    )
    rank, held = sums.ranks[place], sums.held[place]
    directions = int(dual_only_dimension(dim, held))
    defined = price > 0 and directions > 0
    ratio = max(signal, 0.0) / price if defined else 0.0
    return Selection(
        choice=choice,
        target="operator risk",
        method=f"half-splits, L = {len(sums.signal)}",
        rank=rank,
        held_rank=held,
        score=score,
        standard_error=error,
        interval=interval_of(score, error, sums.groups),
        values=sums.signal[:, place] - sums.price[:, place],
        queries=sums.queries,
        weight=used,
        inside_noise=inside,
        fell_back=fell,
        reason=reason + reduction(rank, held),
        groups=sums.groups,
        signal=signal,
        price=price,
        power=cars_power(ratio, directions, splits=len(sums.signal)) if defined else None,
    )
