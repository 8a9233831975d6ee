"""From a pilot to the number of judged queries at which two geometries start to pay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askew.geometry.halving import HalfSums, half_sums
from askew.geometry.noise import noise_limit
from askew.geometry.rows import RelevanceRows
from askew.linalg.fixed import Float64Array
from askew.protocols import Progress

__all__ = ["FEWEST_TO_SEE", "Plan", "plan", "plan_of"]

#: Queries below which a crossing is seldom seen, even one that is passed.
FEWEST_TO_SEE = 20


@dataclass(frozen=True)
class Plan:
    """How many judged queries it takes until dual beats shared in operator risk, at one rank.

    Attributes:
        rank: r.
        held_rank: the rank that the moment of a half of the pilot has at most.
        queries: n of the pilot.
        signal: δ² = ‖Δ‖², what dual would gain if it were known exactly.
        signal_error: its jackknife standard error; None if it was switched off.
        noise: tr Σ, n times the price of estimating it from n queries.
        noise_error: its jackknife standard error, None likewise.
        crossing: n* = tr Σ / δ²; None where the signal is not above its noise, or not above 0 without an error.
        interval: nominal 90% for n*; infinity above where the data cannot exclude that dual never pays; None without
            an error.
        in_sight: whether there is a crossing to state; None without an error, as it is not known then.
        reason: a sentence.
    """

    rank: int
    held_rank: int
    queries: int
    signal: float
    signal_error: float | None
    noise: float
    noise_error: float | None
    crossing: float | None
    interval: tuple[float, float] | None
    in_sight: bool | None
    reason: str


def plan(
    rows: RelevanceRows,
    *,
    ranks: Sequence[int],
    splits: int = 20,
    groups: int | None = 20,
    by_document: bool = False,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Plan, ...]:
    """Estimate for each rank where the signal that a pilot shows exceeds the price of learning it.

    Half-splits give E⟨V₁, V₂⟩ = δ² and E ¼‖V₁ - V₂‖² = tr Σ / n (CARS, section 5; arXiv 2609.32488), and
    n* = tr Σ / δ². Its interval is Fieller's, from the jackknife covariance of the two: the n at which
    δ² - tr Σ / n is inside the noise (`noise_limit`). First order in noise: a pilot far smaller than n*
    misplaces subspaces, and its δ² is then too small and n* too large.

    Args:
        rows: the pilot's rows, in the coordinates to be judged.
        ranks: one plan each.
        splits: L half-splits.
        groups: of the jackknife over queries; None for the estimates alone.
        by_document: halves that share no document.
        seed: of the hashes.
        workers: splits that run side by side; no result depends on it.
        progress: called with the splits done and to do.

    Raises:
        DimensionError: the sides differ in dimension.
        ParameterError: an argument is out of range.
        LabelError: fewer than four queries.

    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 2))
    >>> turned = z @ np.array([[0.0, 1.0], [-1.0, 0.0]]) + rng.normal(size=(300, 2))
    >>> found = plan(RelevanceRows(tuple(map(str, range(300))), z, turned), ranks=[2])[0]
    >>> found.in_sight, found.interval[0] < found.crossing < found.interval[1] < 300
    (True, True)
    """
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
    return tuple(plan_of(sums, place) for place in range(len(sums.ranks)))


def plan_of(sums: HalfSums, place: int) -> Plan:
    """The plan at one rank, by its place, from sums over half-splits that are there already."""
    count = sums.queries
    signal, price = float(sums.signal[:, place].mean()), float(sums.price[:, place].mean())
    covariance = sums.covariance(place)
    error: float | None = None
    price_error: float | None = None
    interval: tuple[float, float] | None = None
    in_sight: bool | None = None
    if covariance is None:
        crossing = count * price / signal if signal > 0 else None
        reason = _unsure(signal, crossing)
    else:
        limit = noise_limit(sums.groups)
        error, price_error = (float(each) for each in np.sqrt(np.diagonal(covariance)))
        low, high = _fieller(price, signal, covariance[::-1, ::-1], limit)
        interval = (count * low, count * high)
        in_sight = signal > 0 and signal > limit * error
        crossing = count * price / signal if in_sight else None
        reason = _reason(signal, error, crossing, interval, count)
    return Plan(
        rank=sums.ranks[place],
        held_rank=sums.held[place],
        queries=count,
        signal=signal,
        signal_error=error,
        noise=count * price,
        noise_error=None if price_error is None else count * price_error,
        crossing=crossing,
        interval=interval,
        in_sight=in_sight,
        reason=reason,
    )


def _fieller(top: float, bottom: float, covariance: Float64Array, limit: float) -> tuple[float, float]:
    """The positive ratios ρ that top - ρ · bottom = 0 cannot be told apart from (Fieller, 1954).

    (top - ρ bottom)² ≤ t² (v₁₁ - 2ρ v₁₂ + ρ² v₂₂). Where the bottom is not above its noise the set has no
    upper end: a price that no n repays is among what the data allow.

    Args:
        top: a numerator ≥ 0.
        bottom: a denominator.
        covariance: (2, 2) of the two.
        limit: t, standard errors that count as noise.
    """
    size = max(abs(top), abs(bottom), float(np.sqrt(np.abs(covariance).max())))
    if size > 0:  # ratios do not depend on it, and fourth powers could leave float64's range
        top, bottom, covariance = top / size, bottom / size, covariance / size / size
    square = limit**2
    lead = float(bottom**2 - square * covariance[1, 1])
    middle = float(top * bottom - square * covariance[0, 1])
    rest = float(top**2 - square * covariance[0, 0])
    root = float(np.sqrt(max(middle**2 - lead * rest, 0.0)))
    if bottom > 0 and lead > 0:
        return max((middle - root) / lead, 0.0), max((middle + root) / lead, 0.0)
    # The least positive ratio of the set; all above it belong to it as far as anything can be said.
    ends = [end for end in ((middle - root) / lead, (middle + root) / lead) if end > 0] if lead else []
    return (0.0 if rest <= 0 else min(ends, default=np.inf)), float(np.inf)


def _unsure(signal: float, crossing: float | None) -> str:
    found = f"the signal is {signal:.4g}, not above 0" if crossing is None else f"a crossing at {crossing:.0f} queries"
    return f"{found}, by the estimates alone: without an error it is not known whether there is one in sight"


def _reason(signal: float, error: float, crossing: float | None, interval: tuple[float, float], count: int) -> str:
    if crossing is not None:
        verb = "starts to pay" if crossing > count else "pays already"
        return f"dual {verb}: crossing at {crossing:.0f} queries ({interval[0]:.0f} to {interval[1]:.0f})"
    few = f", and {count} queries are too few to see one" if count < FEWEST_TO_SEE else ""
    return (
        f"no crossing in sight: at {count} queries the signal is {signal:.4g} ± {error:.4g}, not above its noise{few}: "
        "keep one geometry, and ask again with more queries"
    )
