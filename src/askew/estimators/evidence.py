"""What choosing leaves behind: candidates, every score they were judged by, the choice and the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from askew.estimators.paths import Family
from askew.geometry.selection import NOISE_LIMIT
from askew.linalg.fixed import Float64Array, IntArray

__all__ = [
    "Candidate",
    "Choice",
    "Evidence",
    "GeometryLead",
    "Regime",
    "Verdict",
    "cautious",
    "standard_error",
    "weighed",
]

Regime = Literal["fresh", "recurring"]

# Standard errors that a candidate's mean gain is lowered by before it is compared with others'.
_CAUTION = 0.5


@dataclass(frozen=True)
class Candidate:
    """One thing that can ship: an estimator and family at a setting, or a prior alone.

    Attributes:
        prior: name of the prior.
        estimator: name of the estimator; None for the prior alone.
        family: ``"dual"`` or ``"shared"``; None for the prior alone.
        strength: of the pull; None for the prior alone.
        rank: bound on the rank of Δ; None for none.
    """

    prior: str
    estimator: str | None = None
    family: Family | None = None
    strength: float | None = None
    rank: int | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain values, with its name."""
        return {**self.__dict__, "name": str(self)}

    def __str__(self) -> str:
        if self.estimator is None:
            return f"{self.prior} alone"
        bound = "" if self.rank is None else f", rank {self.rank}"
        return f"{self.start}{self.estimator}, {self.family}, strength {self.strength:g}{bound}"

    @property
    def start(self) -> str:
        """What goes before the name of a correction: its prior, unless that goes without saying."""
        return "" if self.prior in ("identity", "zero") else f"{self.prior} and "

    @property
    def pull(self) -> tuple[float, bool, float]:
        """For ties: stronger pull first, then the smaller family, then the smaller rank."""
        strength = np.inf if self.strength is None else self.strength
        return (strength, self.family != "dual", -np.inf if self.rank is None else -float(self.rank))


@dataclass(frozen=True)
class Verdict:
    """Whether the chosen way of fitting is worth it, on queries that nothing had seen.

    Attributes:
        decision: ``"adapt"`` or ``"keep"``.
        base: mean score of the first prior.
        adapted: nested cross-fitted mean score of what the chooser picks.
        gain: their difference.
        standard_error: of the gain, over queries.
        threshold: standard errors that the gain has to exceed; None where what is chosen ships.
        queries: how many queries it rests on.
        traffic: share of recurring traffic it is weighed for, from 0 (fresh) to 1.
        reason: one sentence.
    """

    decision: Literal["adapt", "keep"]
    base: float
    adapted: float
    gain: float
    standard_error: float
    threshold: float | None
    queries: int
    traffic: float
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(self.__dict__)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Every candidate's cross-fitted score on every query, in one regime.

    Attributes:
        regime: ``"fresh"`` or ``"recurring"``.
        fold: (n,) the fold of each query.
        scores: (C, n) by the fit without the query's fold: what is printed and judged.
        steady: (C, n) the steadier score of the same rankings, which the choice goes by.
        inner: outer fold → (C, n - n_fold) steady scores of the other queries by fits that also lack
            the outer fold; empty where nesting was not asked for.
        inner_rows: outer fold → (n - n_fold,) which queries these are.
    """

    regime: Regime
    fold: IntArray
    scores: Float64Array
    steady: Float64Array
    inner: Mapping[int, Float64Array]
    inner_rows: Mapping[int, IntArray]

    def means(self) -> Float64Array:
        """(C,) cross-fitted mean of each candidate."""
        return np.asarray(self.scores.mean(axis=1))

    def gains(self) -> Float64Array:
        """(C, n) each candidate's score less the first's."""
        return np.asarray(self.scores - self.scores[0])

    def by_fold(self) -> Float64Array:
        """(C, folds) mean by fold."""
        return np.stack([self.scores[:, self.fold == fold].mean(axis=1) for fold in np.unique(self.fold)], axis=1)


@dataclass(frozen=True)
class GeometryLead:
    """Two maps against one: the best dual candidate's lead over the best shared one, on the same queries.

    Attributes:
        shared: the best candidate of the shared family.
        dual: the best of the dual one.
        lead: the mean score of dual less that of shared, above 0 for dual.
        standard_error: of the lead, over queries. Each family's best is picked on these scores, so that the
            error is a little too small.
    """

    shared: Candidate
    dual: Candidate
    lead: float
    standard_error: float

    def inside_noise(self, threshold: float = NOISE_LIMIT) -> bool:
        """Whether the lead is within so many standard errors of 0."""
        return abs(self.lead) <= threshold * self.standard_error

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        families = {"shared": self.shared.to_json(), "dual": self.dual.to_json()}
        return {**families, "lead": self.lead, "standard_error": self.standard_error}


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen, and every score that it was chosen by.

    Attributes:
        chosen: the candidate of the best `bounds` (the verdict may still say keep).
        verdict: from the nested cross-fit.
        candidates: all C of them, the first prior first.
        query_ids: n queries.
        evidence: one record a regime; empty if nothing was measured.
    """

    chosen: Candidate
    verdict: Verdict
    candidates: tuple[Candidate, ...]
    query_ids: tuple[str, ...]
    evidence: tuple[Evidence, ...]

    @property
    def traffic(self) -> float:
        """Share of recurring traffic."""
        return self.verdict.traffic

    def means(self) -> Float64Array:
        """(C,) mean of each candidate, weighed by traffic; zeros where nothing was measured."""
        return weighed([record.means() for record in self.evidence], self._weights(), len(self.candidates))

    def standard_errors(self) -> Float64Array:
        """(C,) standard error, over queries, of each candidate's gain over the first prior, weighed by traffic."""
        shape = (len(self.candidates), len(self.query_ids))
        gains = weighed([record.gains() for record in self.evidence], self._weights(), shape)
        return np.array([standard_error(row) for row in gains])

    def bounds(self) -> Float64Array:
        """(C,) what the choice went by: `cautious` of the steady scores, weighed by traffic."""
        shape = (len(self.candidates), len(self.query_ids))
        return cautious(weighed([record.steady for record in self.evidence], self._weights(), shape))

    def per_query(self, candidate: Candidate) -> Float64Array:
        """(n,) a candidate's cross-fitted scores in the order of `query_ids`, weighed by traffic; empty of nothing."""
        shape = (len(self.candidates), len(self.query_ids))
        scores = weighed([record.scores for record in self.evidence], self._weights(), shape)
        return np.asarray(scores[self.candidates.index(candidate)])

    def geometry(self) -> GeometryLead | None:
        """Whether two geometries rank better than one; None where one family was not tried, or nothing measured."""
        bounds = self.bounds()
        best = [self._best(family, bounds) for family in ("shared", "dual")]
        if not self.evidence or best[0] is None or best[1] is None:
            return None
        shape = (len(self.candidates), len(self.query_ids))
        scores = weighed([record.scores for record in self.evidence], self._weights(), shape)
        lead = scores[best[1]] - scores[best[0]]
        shared, dual = self.candidates[best[0]], self.candidates[best[1]]
        return GeometryLead(shared, dual, float(lead.mean()), standard_error(lead))

    def _best(self, family: str, bounds: Float64Array) -> int | None:
        """The row of a family's best candidate."""
        rows = [row for row, candidate in enumerate(self.candidates) if candidate.family == family]
        return max(rows, key=lambda row: float(bounds[row]), default=None)

    def _weights(self) -> list[float]:
        return [self.traffic if record.regime == "recurring" else 1 - self.traffic for record in self.evidence]

    def to_json(self) -> dict[str, Any]:
        """The evidence as plain values: every candidate's mean, gain, error, bound and score by fold."""
        means, errors, bounds = self.means(), self.standard_errors(), self.bounds()
        records = [(record.regime, record.means(), record.by_fold()) for record in self.evidence]
        lead = self.geometry()
        return {
            "chosen": self.chosen.to_json(),
            "verdict": self.verdict.to_json(),
            "geometry": None if lead is None else lead.to_json(),
            "candidates": [
                {
                    **candidate.__dict__,
                    "mean": float(means[row]),
                    "gain": float(means[row] - means[0]),
                    "standard_error": float(errors[row]),
                    "bound": float(bounds[row]),
                    **{
                        regime: {"mean": float(mean[row]), "by_fold": by_fold[row].tolist()}
                        for regime, mean, by_fold in records
                    },
                }
                for row, candidate in enumerate(self.candidates)
            ],
        }


def weighed(rows: Sequence[Float64Array], weights: Sequence[float], shape: int | tuple[int, int]) -> Float64Array:
    """The sum of arrays of one shape by their weights; zeros of none."""
    total = np.zeros(shape)
    for row, weight in zip(rows, weights, strict=True):
        total += weight * row
    return total


def cautious(scores: Float64Array) -> Float64Array:
    """The mean gain of candidates over the first, less half its standard error over queries.

    Of the candidates that look alike, the one is best that gains on most queries alike: a large mean
    of few large gains is more often luck, and its risk on other queries is larger.

    Args:
        scores: (C, n) by candidate and query.

    Returns:
        (C,) larger is better; 0 for the first.

    >>> cautious(np.array([[0.0, 0.0], [0.1, 0.1], [0.4, -0.1]])).round(3).tolist()
    [0.0, 0.1, 0.025]
    """
    gains = scores - scores[:1]
    return np.array([row.mean() - _CAUTION * standard_error(row) if row.size else 0.0 for row in gains])


def standard_error(values: Float64Array) -> float:
    """Of the mean of some values; 0 for fewer than two."""
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
