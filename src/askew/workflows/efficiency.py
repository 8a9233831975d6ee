"""Label efficiency: what each way to use a query encoder on another encoder's index makes of few labels and many."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from askew._extras import require
from askew.data import Dataset, EmbeddingSet, Shares, take_shares
from askew.errors import ParameterError
from askew.estimators import Alignment, align
from askew.estimators.layers import Layers
from askew.estimators.lessons import Lessons, unit_rows
from askew.evaluation import evaluate
from askew.linalg.fixed import Float64Array
from askew.operators import Zero
from askew.protocols import Progress
from askew.retrieval import search
from askew.workflows.domains import SAMPLE, origin_of, pool, pooled_id, sample_documents
from askew.workflows.fit import fit
from askew.workflows.systems import priors_for
from askew.workflows.two_encoders import ALIGNED, OLD, REINDEXED, TwoEncoders

__all__ = ["MEASURES", "METHODS", "RECIPES", "SHARES", "Ground", "Lesson", "Score", "efficiency", "matrix", "zero_shot"]

#: The paper's shares of a task's queries.
SHARES = (0.05, 0.1, 0.2, 0.4)
#: What is measured; the first one leads.
MEASURES = ("nDCG@10", "R@100", "AP@100")
_LEADS = MEASURES[0]
_DEPTH = 100
# ERA trains its alignment on nine tenths of the sample and only watches the rest.
_KEPT = 0.9

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
        return align(self.task.documents.take(self.sample), self.task.index.take(self.sample), seed=self.seed)

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
    """

    ground: Ground
    train: tuple[str, ...]
    validation: tuple[str, ...]

    @property
    def labelled(self) -> Dataset:
        """Both: a method that needs no validation learns from it too, so that labels are equal."""
        return self.ground.dataset.only([*self.train, *self.validation])


def _recipes() -> Any:
    require("torch", extra="torch", purpose="a published recipe that descends")
    from askew.estimators import torch_recipes  # noqa: PLC0415 - torch is an extra

    return torch_recipes


def _by_layers(layers: Layers) -> Asker:
    return lambda queries: EmbeddingSet(queries.ids, layers(unit_rows(queries)))


def _align_only(lesson: Lesson) -> Asker:
    term = lesson.ground.alignment.term
    return lambda queries: EmbeddingSet(queries.ids, term.left_apply(unit_rows(queries)))


def _adapt_only(lesson: Lesson) -> Asker:
    data = lesson.labelled
    zero = {"zero": Zero(data.queries.dim, data.documents.dim)}
    return fit(data, priors=zero, similarity="cosine", seed=lesson.ground.seed).adapter.apply


def _align_adapt(lesson: Lesson) -> Asker:
    priors = priors_for(ALIGNED, lesson.ground.alignment)
    return fit(lesson.labelled, priors=priors, similarity="cosine", seed=lesson.ground.seed).adapter.apply


def recipe(name: str | None = None, *, aligned: bool = True, adapted: bool = True) -> Callable[[Lesson], Asker]:
    """ERA as published, or one of its ablations.

    Args:
        name: in `askew.estimators.torch_recipes.ABLATIONS`; None for the recipe itself.
        aligned: with its first stage; without it, it is the Embedding Adapter.
        adapted: with its second stage.
    """

    def train(lesson: Lesson) -> Asker:
        recipes, ground = _recipes(), lesson.ground
        plan = recipes.ADAPT if name is None else recipes.ABLATIONS[name]
        first = ground.aligned_by(plan) if aligned else None
        if not adapted and first is not None:
            return _by_layers(first)
        taught = ground.lessons(lesson.train), ground.lessons(lesson.validation)
        return _by_layers(recipes.era(first, *taught, plan, seed=ground.seed, device=ground.device))

    return train


Method = Callable[[Lesson], Asker]
#: In closed form and by convex fits: no torch.
METHODS: Mapping[str, Method] = MappingProxyType(
    {"align only": _align_only, "adapt only": _adapt_only, "align + adapt": _align_adapt}
)
#: As published.
RECIPES: Mapping[str, Method] = MappingProxyType(
    {
        "align only, recipe": recipe(adapted=False),
        "adapt only, recipe": recipe(aligned=False),
        "align + adapt, recipe": recipe(),
    }
)


@dataclass(frozen=True, eq=False)
class Score:
    """One system, trained once and tested on one task.

    Attributes:
        system: name of the method, or of the zero-shot system.
        trained_on: names of the tasks, joined by +; "" without labels.
        tested_on: name of the task.
        share: of its queries that trained, or how many; None without labels.
        labels: queries that taught, those that validated included.
        seed: of the draw.
        means: measure → mean over the test queries.
        unseen: mean nDCG@10 over what training had not named as relevant; None where nothing was left.
        per_query: (t,) nDCG@10, in the order of the test queries.
        seconds: CPU time of training.
    """

    system: str
    trained_on: str
    tested_on: str
    share: float | None
    labels: int
    seed: int
    means: Mapping[str, float]
    unseen: float | None
    per_query: Float64Array
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """As plain values, without the queries."""
        plain = {name: value for name, value in self.__dict__.items() if name != "per_query"}
        return {**plain, "means": dict(self.means), "queries": len(self.per_query)}


def zero_shot(task: TwoEncoders, test: Sequence[str], *, seed: int = 0) -> list[Score]:
    """Each encoder alone, on its own index.

    Args:
        task: embedded by both.
        test: judged queries.
        seed: to file the scores under.
    """
    found = []
    for system in (OLD, REINDEXED):
        dataset = task.dataset(system)
        if dataset is not None:
            told = _tested(dataset.only(test), dataset.queries.take(test), frozenset())
            found.append(Score(f"zero-shot, {system}", "", task.name, None, 0, seed, *told, 0.0))
    return found


def efficiency(
    task: TwoEncoders,
    *,
    shares: Sequence[float] = SHARES,
    methods: Mapping[str, Method] = METHODS,
    documents: int = SAMPLE,
    seeds: Sequence[int] = (0,),
    device: str = "cpu",
    progress: Progress | None = None,
) -> list[Score]:
    """Measure methods at several amounts of labels, on the same half of the queries.

    Args:
        task: by two encoders, with judgements.
        shares: of its queries, below 1; or whole numbers of them.
        methods: name → what trains it.
        documents: that the alignment may take.
        seeds: of the draws.
        device: where recipes train.
        progress: called with the fits done and to do.

    Raises:
        AskewError: as `take_shares`, `align`, `fit` and the recipes do.
    """
    scores, total = list[Score](), len(seeds) * len(shares) * len(methods)
    done = 0
    for seed in seeds:
        ground = Ground(task, tuple(sample_documents([task], count=documents, seed=42 + seed)[0]), False, seed, device)
        for place, share in enumerate(shares):
            parts = _parted(task, share, seed)
            if not place:
                scores += zero_shot(task, parts.test, seed=seed)
            for name, method in methods.items():
                lesson = Lesson(ground, parts.train, parts.validation)
                scores += _measured(name, method, lesson, [task], {task.name: parts}, share)
                done += 1
                if progress is not None:
                    progress(done, total)
    return scores


def matrix(
    tasks: Sequence[TwoEncoders],
    trained_on: Sequence[Sequence[str]],
    *,
    share: float = 0.4,
    methods: Mapping[str, Method] = METHODS,
    documents: int = SAMPLE,
    seed: int = 0,
    device: str = "cpu",
    progress: Progress | None = None,
) -> list[Score]:
    """Train on some tasks, pooled, and test on every one: out of domain, on one domain, or one adapter for all.

    Args:
        tasks: by the same two encoders.
        trained_on: rows of names: all but one, one alone, or all.
        share: of each task's queries, or how many of them.
        methods: name → what trains it.
        documents: of each task that the alignment may take.
        seed: of the draws.
        device: where recipes train.
        progress: called with the fits done and to do.

    Raises:
        AskewError: as `pool`, `take_shares`, `align`, `fit` and the recipes do.
        ParameterError: a row names a task that is not there.
    """
    known = {task.name: task for task in tasks}
    parts = {name: _parted(task, share, seed) for name, task in known.items()}
    scores, done = list[Score](), 0
    for row in trained_on:
        unknown = [name for name in row if name not in known]
        if unknown or not row:
            there = ", ".join(known)
            raise ParameterError(f"there are no tasks {unknown}", where="trained_on", remedy=f"There: {there}")
        lesson = _pooled_lesson([known[name] for name in row], parts, documents, seed, device)
        for name, method in methods.items():
            scores += _measured(name, method, lesson, tasks, parts, share)
            done += 1
            if progress is not None:
                progress(done, len(trained_on) * len(methods))
    return scores


def _parted(task: TwoEncoders, share: float, seed: int) -> Shares:
    queries = () if task.qrels is None else task.qrels.queries
    return take_shares(queries, train=share, seed=42 + seed)


def _pooled_lesson(
    tasks: Sequence[TwoEncoders], parts: Mapping[str, Shares], documents: int, seed: int, device: str
) -> Lesson:
    whole = pool(tasks)
    samples = sample_documents(tasks, count=documents, seed=42 + seed)
    sample = [pooled_id(task.name, name) for task, drawn in zip(tasks, samples, strict=True) for name in drawn]
    train, validation = (
        tuple(pooled_id(task.name, name) for task in tasks for name in getattr(parts[task.name], part))
        for part in ("train", "validation")
    )
    return Lesson(Ground(whole, tuple(sample), True, seed, device), train, validation)


def _measured(
    name: str,
    method: Method,
    lesson: Lesson,
    tasks: Sequence[TwoEncoders],
    parts: Mapping[str, Shares],
    share: float,
) -> list[Score]:
    """Train once, and test on every task."""
    started = time.process_time()
    asker = method(lesson)
    seconds = time.process_time() - started
    return [_score(name, asker, lesson, task, parts[task.name].test, share, seconds) for task in tasks]


def _score(
    name: str, asker: Asker, lesson: Lesson, task: TwoEncoders, test: Sequence[str], share: float, seconds: float
) -> Score:
    dataset = task.dataset(ALIGNED)
    if dataset is None:
        raise ParameterError("the task has no judged queries by the query encoder", where=task.name)
    seen = lesson.labelled.qrels
    positives = frozenset(held for query in seen.queries for held in seen.positives(query))
    if lesson.ground.pooled:
        own = pooled_id(task.name, "")
        positives = frozenset(held.removeprefix(own) for held in positives if held.startswith(own))
    tested = dataset.only(test)
    told = _tested(tested, asker(dataset.queries.take(test)), positives)
    labels = len(lesson.train) + len(lesson.validation)
    return Score(name, lesson.ground.task.name, task.name, share, labels, lesson.ground.seed, *told, seconds)


def _tested(
    dataset: Dataset, asked: EmbeddingSet, seen: frozenset[str]
) -> tuple[Mapping[str, float], float | None, Float64Array]:
    """Means, the mean over unseen documents, and nDCG@10 by query."""
    run = search(asked, dataset.documents, k=_DEPTH, similarity="cosine")
    found = evaluate(run, dataset.qrels, MEASURES)
    left = dataset.qrels.without_documents(seen)
    answerable = [query for query in left.queries if any(name in dataset.documents for name in left.positives(query))]
    unseen = None
    if answerable:
        fresh = search(asked.take(answerable), dataset.documents, k=10, similarity="cosine", without=seen)
        unseen = evaluate(fresh, left.only(answerable), _LEADS).mean(_LEADS)
    return {name: found.mean(name) for name in MEASURES}, unseen, found.per_query(_LEADS)
