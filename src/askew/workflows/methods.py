"""Ways to use a query encoder on another encoder's index: aligned, adapted or both, by our fits or as published."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from askew._extras import require
from askew.data import Dataset, EmbeddingSet
from askew.errors import ParameterError
from askew.estimators import Alignment, align
from askew.estimators.layers import Layers
from askew.estimators.lessons import Lessons
from askew.operators import Term, Zero
from askew.workflows.domains import origin_of
from askew.workflows.fit import Fit, Traffic, fit
from askew.workflows.systems import priors_for, threshold_for
from askew.workflows.two_encoders import ALIGNED, TwoEncoders

__all__ = ["METHODS", "RECIPES", "Asker", "Ground", "Lesson", "Method", "recipe"]

# ERA trains its alignment on nine tenths of the sample and only watches the rest.
_KEPT = 0.9

#: Maps queries to where the documents are.
Asker = Callable[[EmbeddingSet], EmbeddingSet]


@dataclass(frozen=True, eq=False)
class Ground:
    """What is the same for every amount of labels: a task, the documents to align by, and how to train.

    Attributes:
        task: one, or several pooled.
        sample: ids of documents that both encoders have embedded.
        pooled: whether negatives must come from a query's own task.
        seed: of every draw.
        device: where recipes train.
    """

    task: TwoEncoders
    sample: tuple[str, ...]
    pooled: bool = False
    seed: int = 0
    device: str = "cpu"
    _trained: dict[Any, Layers] = field(default_factory=dict, repr=False)

    @cached_property
    def dataset(self) -> Dataset:
        """The query encoder's queries on the document encoder's index."""
        found = self.task.dataset(ALIGNED)
        if found is None:
            raise ParameterError("the task has no judged queries by the query encoder", where=self.task.name)
        return found

    @cached_property
    def alignment(self) -> Alignment:
        """In closed form."""
        sides = self.task.documents.take(self.sample), self.task.index.take(self.sample)
        return align(*sides, seed=self.seed)

    def aligned_by(self, plan: Any) -> Layers:
        """By descent, for a second stage to start at."""
        recipes = _recipes()
        first = recipes.aligned_first(plan)
        if first not in self._trained:
            kept = self.sample[: max(1, int(_KEPT * len(self.sample)))]
            sides = self.task.documents.take(kept), self.task.index.take(kept)
            self._trained[first] = recipes.align_by_descent(*sides, first, seed=self.seed, device=self.device)
        return self._trained[first]

    def lessons(self, ids: Sequence[str]) -> Lessons:
        """Queries that teach a recipe."""
        return Lessons.of_dataset(self.dataset, ids, origin=origin_of if self.pooled else None)


@dataclass(frozen=True, eq=False)
class Lesson:
    """What a method may use.

    Attributes:
        ground: the task and its documents.
        train: queries that teach.
        validation: queries that a recipe stops by.
        traffic: what the test is like: ``"recurring"`` for other queries over the same documents, ``"fresh"`` for
            other documents.
    """

    ground: Ground
    train: tuple[str, ...]
    validation: tuple[str, ...]
    traffic: Traffic = "fresh"

    @property
    def labelled(self) -> Dataset:
        """Both: a method that needs no validation learns from it too, so that labels are equal."""
        return self.ground.dataset.only([*self.train, *self.validation])

    def fit(self, priors: Mapping[str, Term], **options: Any) -> Fit:
        """From some priors, for the lesson's traffic, with what else `fit` takes."""
        seed = self.ground.seed
        return fit(self.labelled, priors=priors, similarity="cosine", traffic=self.traffic, seed=seed, **options)


#: Trains, and gives the map of queries.
Method = Callable[[Lesson], Asker]


def _recipes() -> Any:
    require("torch", extra="torch", purpose="a published recipe that descends")
    from askew.estimators import torch_recipes  # noqa: PLC0415 - torch is an extra

    return torch_recipes


def _by_layers(layers: Layers) -> Asker:
    return lambda queries: EmbeddingSet(queries.ids, layers(queries.unit().astype(np.float32)))


def _by_term(term: Term) -> Asker:
    return lambda queries: EmbeddingSet(queries.ids, term.left_apply(queries.unit().astype(np.float32)))


def _align_only(lesson: Lesson) -> Asker:
    return _by_term(lesson.ground.alignment.term)


def _adapt_only(lesson: Lesson) -> Asker:
    data = lesson.labelled
    return lesson.fit({"zero": Zero(data.queries.dim, data.documents.dim)}).adapter.apply


def _align_adapt(lesson: Lesson) -> Asker:
    priors = priors_for(ALIGNED, lesson.ground.alignment) or {}
    return lesson.fit(priors, threshold=threshold_for(ALIGNED)).adapter.apply


def recipe(name: str | None = None, *, aligned: bool = True, adapted: bool = True, **changed: Any) -> Method:
    """ERA as published, or one of its ablations.

    Args:
        name: in `askew.estimators.torch_recipes.ABLATIONS`; None for the recipe itself.
        aligned: with its first stage; without it, it is the Embedding Adapter.
        adapted: with its second stage.
        changed: fields of the second stage's `Plan`, such as its rate.
    """

    def train(lesson: Lesson) -> Asker:
        recipes, ground = _recipes(), lesson.ground
        plan = replace(recipes.ADAPT if name is None else recipes.ABLATIONS[name], **changed)
        first = ground.aligned_by(plan) if aligned else None
        if not adapted and first is not None:
            return _by_layers(first)
        taught = ground.lessons(lesson.train), ground.lessons(lesson.validation)
        return _by_layers(recipes.era(first, *taught, plan, seed=ground.seed, device=ground.device))

    return train


#: In closed form and by convex fits: no torch.
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "align only": _align_only,
        "adapt only": _adapt_only,
        "align + adapt": _align_adapt,
    }
)
#: As published.
RECIPES: Mapping[str, Method] = MappingProxyType(
    {
        "align only, recipe": recipe(adapted=False),
        "adapt only, recipe": recipe(aligned=False),
        "align + adapt, recipe": recipe(),
    }
)
