"""Recommend: from the rules' evidence to one answer a target, with how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from askew.geometry import Form, FormChoice, Selection
from askew.geometry.selection import Geometry, Target

__all__ = ["Evidence", "Recommendation", "form_json", "recommend", "selection_json"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What one rule says at K ranks.

    Attributes:
        rule: its name.
        selections: K of them.
    """

    rule: str
    selections: tuple[Selection, ...]

    @property
    def target(self) -> Target:
        """What the rule is about."""
        return self.selections[0].target

    def at(self, rank: int) -> Selection:
        """The selection at one of the ranks."""
        return next(found for found in self.selections if found.rank == rank)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "rule": self.rule,
            "target": self.target,
            "method": self.selections[0].method,
            "selections": [selection_json(found) for found in self.selections],
        }


@dataclass(frozen=True)
class Recommendation:
    """The answer for one target.

    Attributes:
        target: ``"operator risk"`` or ``"ranking"``.
        rank: where either family does best by this target.
        choice: ``"shared"`` or ``"dual"``.
        settled: False where the evidence is inside the noise, has no error for want of queries, or is a tie, or two
            rules contradict each other outside of the noise.
        reason: a sentence.
    """

    target: Target
    rank: int
    choice: Geometry
    settled: bool
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(self.__dict__)


def recommend(evidence: tuple[Evidence, ...], ranks: Mapping[str, int]) -> tuple[Recommendation, ...]:
    """One answer a target: the first rule's about it.

    Inside the noise the smaller family is chosen and the answer is not settled. Where both rules
    by operator risk are outside the noise and say different things, it is the same. By ranking the first rule
    measures the target itself, and the second is told beside it.

    Args:
        evidence: rules in order of precedence.
        ranks: target → the rank to answer for.
    """
    answers = []
    for target in dict.fromkeys(found.target for found in evidence):
        rank = ranks[target]
        answers.append(_answer(rank, [(e.rule, e.at(rank)) for e in evidence if e.target == target]))
    return tuple(answers)


def _answer(rank: int, said: list[tuple[str, Selection]]) -> Recommendation:
    rule, first = said[0]
    sure = [(name, found.choice) for name, found in said if not found.inside_noise]
    if first.target == "operator risk" and len({choice for _, choice in sure}) > 1:
        told = " and ".join(f"{name} says {choice}" for name, choice in sure)
        reason = f"{told}, both outside the noise: unsettled, so shared, the smaller family"
        return Recommendation(first.target, rank, "shared", False, reason)
    others = "".join(f"; {name} says {_words(found)}" for name, found in said[1:])
    settled = not first.inside_noise and first.score != 0
    return Recommendation(first.target, rank, first.choice, settled, f"by {rule} {first.reason}{others}")


def _words(found: Selection) -> str:
    if not found.inside_noise:
        return found.choice
    return f"{found.choice}, {'too few queries for an error' if found.standard_error is None else 'inside the noise'}"


def selection_json(found: Selection) -> dict[str, Any]:
    """A selection as plain values: score, error, interval, power, a summary of its splits or folds, and what it says.

    Args:
        found: at one rank.
    """
    return {
        "rank": found.rank,
        "held_rank": found.held_rank,
        "choice": found.choice,
        "score": found.score,
        "standard_error": found.standard_error,
        "interval": None if found.interval is None else list(found.interval),
        "dual_chance": found.dual_chance,
        "power": found.power,
        "inside_noise": found.inside_noise,
        "fell_back": found.fell_back,
        "reason": found.reason,
        "queries": found.queries,
        "values": _summary(found),
        "signal": found.signal,
        "price": found.price,
        "crossing": found.crossing,
    }


def form_json(found: FormChoice) -> dict[str, Any]:
    """The joint choice of rank and untied rows, with its table, as plain values."""

    def told(form: Form) -> dict[str, Any]:
        return {**form.__dict__, "family": form.family, "separation": found.separation(form)}

    return {
        **told(found.chosen),
        "held_rank": min(found.chosen.rank, found.held),
        "whole": told(found.whole),
        "partial": None if found.partial is None else told(found.partial),
        "lead": found.lead,
        "standard_error": found.standard_error,
        "inside_noise": found.inside_noise,
        "reason": found.reason,
        "table": [{**told(form), "values": found.values[:, place].tolist()} for place, form in enumerate(found.forms)],
    }


def _summary(found: Selection) -> dict[str, float]:
    values = found.values
    return {
        "count": len(values),
        "least": float(values.min()),
        "median": float(np.median(values)),
        "largest": float(values.max()),
        "above_zero": float(np.mean(values > 0)),
        "error_of_splits": found.split_error,
    }
