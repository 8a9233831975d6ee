"""Learning curves: a score against the number of labels, and what more of them would bring."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from askew._checks import as_numbers, check_count, check_seed, is_number
from askew.errors import LabelError, ParameterError
from askew.linalg.fixed import Float64Array

__all__ = ["Forecast", "LearningCurve"]

# From a score that hardly bends over any number of labels to one that stops rising after the first.
_EXPONENTS = np.geomspace(0.05, 3.0, 120)
_LEVEL = 0.9


@dataclass(frozen=True)
class Forecast:
    """A value read off a curve, with a nominal interval, of 90% by default; any of the three may be infinite."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """score(n) = a - b n^(-c): a ceiling, a distance from it, and how fast it closes.

    Fitted by weighted least squares: a and b in closed form at each of a grid of exponents, and the
    exponent that leaves least. Its uncertainty is a parametric bootstrap: the fitted scores with noise of
    the standard errors, fitted again. Far beyond the data the interval widens as the exponents part.

    Attributes:
        ceiling: a.
        distance: b.
        exponent: c, 0.05 to 3; at an end of that range the data do not tell it.
        draws: (B, 3) the same of each bootstrap draw.
        last: the count and the score that `ahead` starts from: those of the largest count.
        simulated: (B,) the score there that each draw was fitted to, less the fitted one.

    >>> counts = [32, 64, 128, 256, 512]
    >>> curve = LearningCurve.fit(counts, [0.5 - 2 / n for n in counts], errors=[1e-4] * 5)
    >>> round(curve.at(1024).value, 3), round(curve.crossing().value)
    (0.498, 4)
    """

    ceiling: float
    distance: float
    exponent: float
    draws: Float64Array
    last: tuple[float, float]
    simulated: Float64Array

    @classmethod
    def fit(
        cls,
        counts: Sequence[float],
        scores: Sequence[float],
        *,
        errors: Sequence[float] | None = None,
        draws: int = 500,
        seed: int = 0,
    ) -> LearningCurve:
        """Fit a curve to scores at several numbers of labels.

        Args:
            counts: k numbers of labels, at least three different ones.
            scores: k scores.
            errors: k standard errors, positive. By default they are equal, and of the size of what the fit
                leaves, which takes four different counts.
            draws: B bootstrap draws.
            seed: of their noise.

        Raises:
            LabelError: too few different counts.
            ParameterError: the lengths differ, a value is not finite, or a count or error is not positive.
        """
        n, y = as_numbers(counts, "counts"), as_numbers(scores, "scores")
        given = np.ones(n.shape) if errors is None else as_numbers(errors, "errors")
        _check(n, y, given, draws)
        needed = 4 if errors is None else 3
        if len(np.unique(n)) < needed:
            raise LabelError(
                f"{len(np.unique(n))} different numbers of labels cannot fix a curve of three parameters",
                remedy=f"Score at {needed} or more, or give the scores' standard errors",
            )
        check_seed(seed)
        best = _solve(n, y[None], given)[0]
        fitted = _values(best[None], n)[0]
        if errors is None:
            given = given * np.sqrt(np.sum(np.square(y - fitted)) / (len(n) - 3))
        noise = np.random.default_rng(seed).normal(size=(draws, len(n))) * given
        weights = given if np.all(given > 0) else np.ones(len(n))
        ceiling, distance, exponent = best.tolist()
        end = int(np.argmax(n))
        last = float(n[end]), float(y[end])
        return cls(ceiling, distance, exponent, _solve(n, fitted + noise, weights), last, noise[:, end])

    def at(self, count: float) -> Forecast:
        """The score at a number of labels.

        Raises:
            ParameterError: the number is not positive.
        """
        if not is_number(count) or not 0 < count < np.inf:
            raise ParameterError(f"a score at {count!r} labels was asked for", where="count")
        drawn = _values(self.draws, np.array([count]))[:, 0]
        return _forecast(_values(self._parameters(), np.array([count]))[0, 0], drawn)

    def ahead(self, count: float, *, level: float = _LEVEL) -> Forecast:
        """The score of the largest count, and what the curve adds from there to a number of labels.

        Three parameters seldom run through every point, and a forecast that starts beside the last score would
        promise, or deny, what was measured. At that count it is the score itself, with the interval of its error.

        Raises:
            ParameterError: the number is not positive.
        """
        score, (added, drawn) = self.last[1], self._from_last(count)
        return _forecast(score + added, score + self.simulated + drawn, level)

    def added(self, count: float, *, level: float = _LEVEL) -> Forecast:
        """What the curve adds from the largest count to a number of labels, by itself.

        Its interval is narrower than that of the score there, most of whose doubt is about today's score.

        Raises:
            ParameterError: the number is not positive.
        """
        return _forecast(*self._from_last(count), level)

    def _from_last(self, count: float) -> tuple[float, Float64Array]:
        """The rise of the curve from the largest count, and (B,) that of each draw."""
        start = self.last[0]
        drawn = _values(self.draws, np.array([start, count]))
        return self.at(count).value - self.at(start).value, drawn[:, 1] - drawn[:, 0]

    @property
    def misfit(self) -> float:
        """How far the last score lies from the curve, in units of the score; above 0 where the score is higher."""
        start, score = self.last
        return score - self.at(start).value

    def crossing(self, level: float = 0.0) -> Forecast:
        """The number of labels at which the score reaches a level; infinity where its ceiling is below.

        With the score of dual less that of shared it is the number at which dual starts to pay. A curve
        that falls, or that is above the level from the first label on, crosses at 1 or never.

        Raises:
            ParameterError: the level is not finite.
        """
        if not is_number(level) or not np.isfinite(level):
            raise ParameterError(f"a crossing of {level!r} was asked for", where="level", remedy="Give a finite score")
        return _forecast(_reach(self._parameters(), level)[0], _reach(self.draws, level))

    def _parameters(self) -> Float64Array:
        return np.array([[self.ceiling, self.distance, self.exponent]])


def _solve(counts: Float64Array, scores: Float64Array, errors: Float64Array) -> Float64Array:
    """(B, 3) a, b, c of each row of scores (B, k)."""
    weights = 1 / errors
    left = np.full(len(scores), np.inf)
    best = np.zeros((len(scores), 3))
    scale = np.exp(np.log(counts).mean())  # so that n^-c is near 1 at every c
    for exponent in _EXPONENTS:
        design = np.column_stack([np.ones(len(counts)), -((counts / scale) ** -exponent)]) * weights[:, None]
        found = np.linalg.lstsq(design, (scores * weights).T, rcond=None)[0].T
        rest = np.sum(np.square(scores * weights - found @ design.T), axis=1)
        better = rest < left
        left[better] = rest[better]
        best[better] = np.column_stack(
            [found[better, 0], found[better, 1] * scale**exponent, np.full(better.sum(), exponent)]
        )
    return best


def _values(parameters: Float64Array, counts: Float64Array) -> Float64Array:
    """(B, k) the curves of B parameters at k counts."""
    ceiling, distance, exponent = parameters.T[:, :, None]
    return np.asarray(ceiling - distance * counts**-exponent)


def _reach(parameters: Float64Array, level: float) -> Float64Array:
    """(B,) least n ≥ 1 of a score at or above a level."""
    ceiling, distance, exponent = parameters.T
    above = ceiling - distance >= level  # at n = 1
    rising = (distance > 0) & (ceiling > level)
    ratio = np.divide(distance, ceiling - level, out=np.ones_like(distance), where=rising)
    with np.errstate(over="ignore"):
        count = np.maximum(ratio, 1.0) ** (1 / exponent)
    return np.where(above, 1.0, np.where(rising, count, np.inf))


def _forecast(value: float, drawn: Float64Array, level: float = _LEVEL) -> Forecast:
    # Not interpolated, as between a number and infinity there is nothing.
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], method="nearest")
    return Forecast(float(value), float(low), float(high))


def _check(counts: Float64Array, scores: Float64Array, errors: Float64Array, draws: int) -> None:
    if not counts.shape == scores.shape == errors.shape or counts.ndim != 1:
        raise ParameterError(f"there are {counts.size} counts, {scores.size} scores and {errors.size} errors")
    finite = np.all(np.isfinite(counts) & np.isfinite(scores) & np.isfinite(errors))
    if not finite or not np.all((counts > 0) & (errors > 0)):
        raise ParameterError(
            "a count or an error is not a positive number, or a score is not finite", remedy="Leave such points out"
        )
    check_count(draws, "draws", least=20, where="draws", remedy="Ask for 500")
