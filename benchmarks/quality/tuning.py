"""How a recipe is tuned: on training queries alone, over askew's own folds, by the rule that askew chooses by.

A recipe is a list of plans; a plan is one training run, and each point of it (a checkpoint, or a setting that
costs no further run) is a configuration. For fresh traffic a fold holds out queries and relevant documents
together and is scored on what the fit has not seen; for recurring traffic it holds out queries alone. The rule
is `cautious` of nDCG@100: on development queries it chose better than the mean of nDCG@10, so peers get it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from askew.estimators import cautious
from cells import Task
from lessons import Lessons, Regime
from measure import BASE, STEADY, Deployed, Float64Array, Scorer

Settings = Mapping[str, Any]


class Plan(Protocol):
    """One training run and the configurations that it yields."""

    def points(self) -> Sequence[Settings]:
        """What tells the configurations apart."""

    def train(self, lessons: Lessons, seed: int) -> Sequence[Deployed]:
        """One deployed map a point."""


@dataclass(frozen=True)
class Recipe:
    """Plans to choose from; `may_keep` lets the base itself be chosen."""

    plans: tuple[Plan, ...]
    may_keep: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """Deployed maps by name, and what there is to say of how they came about."""

    deployed: Mapping[str, Deployed]
    evidence: Mapping[str, Any] = field(default_factory=dict)


def learn(name: str, recipe: Recipe, task: Task, regime: Regime) -> Outcome:
    """Train a recipe; where it has several configurations, choose one by cross-fitting first."""
    lessons = Lessons.of(task.labels, task.documents)
    places = [(plan, point) for plan in recipe.plans for point in range(len(plan.points()))]
    settings = [dict(plan.points()[point]) for plan, point in places]
    if len(places) == 1:
        return Outcome({name: places[0][0].train(lessons, task.seed)[0]}, {"chosen": settings[0]})
    scores = cross_fit(recipe, task, lessons, regime)
    bounds = cautious(scores)
    best = int(np.argmax(bounds if recipe.may_keep else bounds[1:])) + (not recipe.may_keep)
    settings.insert(0, {"base": True})
    measured = zip(settings, scores.mean(axis=1), bounds, strict=True)
    tried = [{**one, "mean": round(float(mean), 6), "bound": round(float(bound), 6)} for one, mean, bound in measured]
    evidence = {"chosen": settings[best], "tried": tried}
    if best == 0:
        return Outcome({name: BASE}, evidence)
    plan, point = places[best - 1]
    return Outcome({name: plan.train(lessons, task.seed)[point]}, evidence)


def cross_fit(recipe: Recipe, task: Task, lessons: Lessons, regime: Regime) -> Float64Array:
    """(1 + C, n) nDCG@100 of the base and of every configuration, each query by a fit that lacks its fold."""
    scorer = Scorer(task.train, lessons.labels.query_ids)
    count = sum(len(plan.points()) for plan in recipe.plans)
    scores = np.zeros((1 + count, len(lessons)))
    folds = lessons.folds(regime)
    for fold in np.unique(folds).tolist():
        rows = np.flatnonzero(folds == fold)
        fitting = lessons.without_fold(fold, regime)
        without = np.zeros(len(task.documents), dtype=bool)
        if regime == "fresh":
            without[fitting.labels.seen_rows] = True
        maps = [found for plan in recipe.plans for found in plan.train(fitting, task.seed)]
        scores[0, rows] = scorer.ndcg(BASE, rows, without, depth=STEADY)
        scores[1:, rows] = scorer.ndcg_of_many(maps, rows, without, depth=STEADY)
    return scores
