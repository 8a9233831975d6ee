"""Is one run better than another? Paired over queries: an interval, a p-value, wins and losses."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askew._blocks import blocks
from askew.errors import DimensionError, InputError, MatchError, ParameterError, counted, name_some
from askew.linalg.fixed import Float64Array

if TYPE_CHECKING:
    from askew.evaluation.measures import Evaluation

__all__ = ["Comparison", "compare", "holm", "paired_interval", "paired_p_value"]


# Two sums of the same few numbers in another order differ by this much at most: no win.
_ROUNDING = 1e-12
# Draws held at once: 8 MiB of float64.
_DRAWS_AT_ONCE = 2**20
# Signs that one table look-up flips: 256 sums a group, so a group's table fits any cache.
_GROUP = 8


@dataclass(frozen=True)
class Comparison:
    """Two runs under one measure, on the same queries.

    Attributes:
        measure: the measure.
        base_name: the run compared with.
        other_name: the run in question.
        n: queries.
        base_mean: mean of the base.
        other_mean: mean of the other.
        difference: other less base.
        low: lower end of the bootstrap interval of the difference; −inf for one query.
        high: upper end; inf for one query.
        confidence: of the interval.
        p_value: two-sided, paired randomisation test.
        wins: queries on which the other is better.
        losses: queries on which it is worse.
        ties: queries on which they are equal, to 1e-12.
        standard_error: of the difference; inf for one query.
    """

    measure: str
    base_name: str
    other_name: str
    n: int
    base_mean: float
    other_mean: float
    difference: float
    low: float
    high: float
    confidence: float
    p_value: float
    wins: int
    losses: int
    ties: int
    standard_error: float

    @property
    def headroom(self) -> float:
        """What a perfect run would add to the base, under a measure of at most 1."""
        return 1.0 - self.base_mean

    def to_json(self) -> dict[str, Any]:
        """As plain values; null stands for what one query cannot tell."""
        plain = {**asdict(self), "headroom": self.headroom}
        return {key: None if value in (math.inf, -math.inf) else value for key, value in plain.items()}


def compare(
    base: Evaluation,
    other: Evaluation,
    measure: str,
    *,
    seed: int = 0,
    confidence: float = 0.95,
    resamples: int = 10_000,
) -> Comparison:
    """Compare two evaluations of the same queries, paired by query id.

    The result depends on the seed and on each query's two values, not on the order of the queries.

    Args:
        base: what there was.
        other: what is proposed.
        measure: one that both were evaluated under.
        seed: of the resampling.
        confidence: of the interval.
        resamples: of the bootstrap and of the randomisation test.

    Raises:
        MatchError: they hold different queries.
        ParameterError: the measure is missing from one, or a number is out of range.

    >>> from askew.evaluation import Evaluation
    >>> base = Evaluation("base", ("q1", "q2", "q3"), {"AP": np.array([0.2, 0.5, 0.5])})
    >>> other = Evaluation("new", ("q3", "q2", "q1"), {"AP": np.array([0.6, 0.5, 0.4])})
    >>> result = compare(base, other, "AP")
    >>> round(result.difference, 3), result.wins, result.losses, result.ties, result.p_value
    (0.1, 2, 0, 1, 0.5)
    """
    order = _aligned(base, other)
    before, after = base.per_query(measure), other.per_query(measure)[order]
    differences = after - before
    differences = np.where(np.abs(differences) <= _ROUNDING, 0.0, differences)
    low, high = paired_interval(differences, seed=seed, confidence=confidence, resamples=resamples)
    wins, losses = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    return Comparison(
        measure=measure,
        base_name=base.run_name,
        other_name=other.run_name,
        n=len(order),
        base_mean=base.mean(measure),
        other_mean=other.mean(measure),
        difference=_mean(differences),
        low=low,
        high=high,
        confidence=confidence,
        p_value=paired_p_value(differences, seed=seed, resamples=resamples),
        wins=wins,
        losses=losses,
        ties=len(order) - wins - losses,
        standard_error=_standard_error(differences),
    )


def paired_interval(
    differences: npt.ArrayLike, *, seed: int = 0, confidence: float = 0.95, resamples: int = 10_000
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean difference, over queries.

    Source: Efron and Tibshirani, *An Introduction to the Bootstrap*, 1993, chapter 13. With few queries
    it is somewhat too narrow. One query says nothing about how queries differ: its interval is
    (−inf, inf), not the one value, which would look certain.

    Args:
        differences: (n,) finite, n at least 1, in any order: the result is the same.
        seed: of the resampling.
        confidence: between 0 and 1.
        resamples: how many.

    Returns:
        low, high: never outside the smallest and largest difference, for n of 2 and more.

    Raises:
        ParameterError: confidence, seed or resamples out of range.
        InputError: no difference, or one that is not finite.

    >>> low, high = paired_interval([0.1, 0.3, 0.2, -0.1, 0.4])
    >>> low < 0.18 < high, paired_interval([0.2, 0.2]), paired_interval([0.2])
    (True, (0.2, 0.2), (-inf, inf))
    """
    values = _checked(differences, seed, resamples)
    if not 0 < confidence < 1:
        raise ParameterError(f"the confidence is {confidence}", remedy="Give one between 0 and 1, as 0.95")
    if len(values) == 1:
        return -math.inf, math.inf
    from scipy.stats import bootstrap  # noqa: PLC0415  # about a second to import

    interval = bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, _DRAWS_AT_ONCE // len(values)),
        vectorized=True,
        confidence_level=confidence,
        method="percentile",
        rng=np.random.default_rng([seed, 0]),
    ).confidence_interval
    return _within(values, float(interval.low)), _within(values, float(interval.high))


def paired_p_value(differences: npt.ArrayLike, *, seed: int = 0, resamples: int = 10_000) -> float:
    """Two-sided p-value of a mean difference: the paired randomisation (Fisher-Pitman) test.

    If two runs are equally good, each difference could as well have had the other sign. The p-value is the
    share of sign patterns whose mean is at least as far from 0 as the one seen: exact when there are no
    more patterns than resamples, else (1 + hits) / (1 + resamples), which is never 0. Source: Smucker,
    Allan and Carterette, *A comparison of statistical significance tests for information retrieval
    evaluation*, CIKM 2007; for the correction, Phipson and Smyth, 2010.

    Args:
        differences: (n,) finite, n at least 1, in any order: the result is the same.
        seed: of the resampling.
        resamples: how many.

    Raises:
        ParameterError: seed or resamples out of range.
        InputError: no difference, or one that is not finite.

    >>> paired_p_value([0.1, 0.2, 0.3]), paired_p_value([0.0, 0.0]), paired_p_value([0.5])
    (0.25, 1.0, 1.0)
    """
    values = _checked(differences, seed, resamples)
    moved = values[values != 0]  # a zero is a zero under either sign
    # Patterns that tie with the one seen differ from it by rounding; they count.
    bar = abs(math.fsum(moved)) - _ROUNDING * math.fsum(np.abs(moved))
    if len(moved) < 40 and 2 ** len(moved) <= resamples:
        return float(np.mean(np.abs(_signed_sums(moved[None, :])) >= bar))
    hits = int(np.sum(np.abs(_random_sums(moved, seed, resamples)) >= bar))
    return (1 + hits) / (1 + resamples)


def holm(p_values: npt.ArrayLike) -> Float64Array:
    """P-values corrected for how many there are: Holm's step-down procedure.

    The j-th smallest of k is multiplied by k + 1 - j, and none may come out below a smaller one. Whatever
    depends on whatever, the chance that any true null hypothesis gets a value of at most α is at most α.
    Source: S. Holm, *A simple sequentially rejective multiple test procedure*, Scandinavian Journal of
    Statistics 6, 1979.

    Args:
        p_values: (k,) in any order, each from 0 to 1.

    Returns:
        (k,) in the same order, at most 1.

    Raises:
        ParameterError: they are not k numbers from 0 to 1.

    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    if values.ndim != 1 or not np.all((values >= 0) & (values <= 1)):
        raise ParameterError(f"the p-values {values.tolist()} are not numbers from 0 to 1", where="p_values")
    order = np.argsort(values, kind="stable")
    corrected = np.empty(len(values))
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1)), 1.0)
    return corrected


def _random_sums(values: Float64Array, seed: int, resamples: int) -> Float64Array:
    """(resamples,) sums under random signs.

    Own code because scipy.stats.permutation_test draws and permutes sign by sign: 15 s for 10,000
    queries and 10,000 resamples. Here one random byte chooses a precomputed sum of eight: 0.1 s.
    """
    rng = np.random.default_rng([seed, 1])
    groups = np.append(values, np.zeros(-len(values) % _GROUP)).reshape(-1, _GROUP)
    sums = np.zeros(resamples)
    for part in blocks(len(groups), max(1, _DRAWS_AT_ONCE // resamples)):
        tables = _signed_sums(groups[part])
        drawn = rng.integers(0, 2**_GROUP, (resamples, len(tables)), dtype=np.uint8)
        sums += tables[np.arange(len(tables)), drawn].sum(axis=1)
    return sums


def _signed_sums(groups: Float64Array) -> Float64Array:
    """(g, w) values → (g, 2^w) their sums under every pattern of signs.

    >>> _signed_sums(np.array([[1.0, 10.0]])).tolist()
    [[11.0, 9.0, -9.0, -11.0]]
    """
    sums = np.zeros((len(groups), 1))
    for column in groups.T:
        sums = np.concatenate([sums + column[:, None], sums - column[:, None]], axis=1)
    return sums


def _checked(differences: npt.ArrayLike, seed: int, resamples: int) -> Float64Array:
    """The differences in ascending order, which makes every result independent of theirs."""
    if seed < 0 or resamples < 1:
        raise ParameterError(
            f"seed {seed} and resamples {resamples}",
            remedy="Give a seed of 0 or more, and 1 resample or more",
        )
    values = np.sort(np.asarray(differences, dtype=np.float64), axis=None)
    if np.ndim(differences) != 1:
        raise DimensionError(f"differences have shape {np.shape(differences)}", remedy="Give one a query")
    if not len(values) or not np.all(np.isfinite(values)):
        raise InputError(
            f"{int(np.sum(~np.isfinite(values)))} of {len(values)} differences are not finite numbers",
            remedy="Give at least one, all finite",
        )
    return values


def _aligned(base: Evaluation, other: Evaluation) -> npt.NDArray[np.int64]:
    """(n,) where each query of the base stands in the other."""
    place = {query: row for row, query in enumerate(other.queries)}
    held = set(base.queries)
    sides = (
        (other.run_name, [query for query in base.queries if query not in place]),
        (base.run_name, [query for query in other.queries if query not in held]),
    )
    for name, lacking in sides:
        if lacking:
            raise MatchError(
                f"the evaluation lacks {counted(len(lacking), 'query', 'queries')} of the other: {name_some(lacking)}",
                where=name,
                remedy="Evaluate both runs with the same judgements",
            )
    return np.array([place[query] for query in base.queries], dtype=np.int64)


def _mean(values: Float64Array) -> float:
    return _within(values, math.fsum(values) / len(values))


def _within(values: Float64Array, mean: float) -> float:
    """A mean lies within its values; rounding must not take it out."""
    return min(max(mean, float(values.min())), float(values.max()))


def _standard_error(values: Float64Array) -> float:
    if len(values) == 1:
        return math.inf
    spread = np.sort(values) - values.min()  # the same for any order, and exactly 0 when all are equal
    return float(np.std(spread, ddof=1)) / math.sqrt(len(values))
