"""Label efficiency: what each way to use a query encoder on another encoder's index makes of few labels and many."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from askew.data import Dataset, EmbeddingSet, Shares, take_shares
from askew.errors import ParameterError
from askew.evaluation import evaluate
from askew.linalg.fixed import Float64Array
from askew.protocols import Progress
from askew.retrieval import search
from askew.workflows.domains import SAMPLE, pool, pooled_id, sample_documents
from askew.workflows.methods import METHODS, Asker, Ground, Lesson, Method
from askew.workflows.score_store import ScoreStore
from askew.workflows.two_encoders import ALIGNED, OLD, REINDEXED, TwoEncoders

__all__ = ["MEASURES", "SHARES", "Score", "efficiency", "matrix", "zero_shot"]

#: The paper's shares of a task's queries.
SHARES = (0.05, 0.1, 0.2, 0.4)
#: What is measured; the first one leads.
MEASURES = ("nDCG@10", "R@100", "AP@100")
_LEADS = MEASURES[0]
_DEPTH = 100


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
        seconds: CPU time of training; what several methods share, the first of them has.
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
    store: ScoreStore | None = None,
    progress: Progress | None = None,
) -> list[Score]:
    """Measure methods at several amounts of labels, on the same half of the queries.

    The test asks other queries of the same documents, so ours choose and judge for traffic that recurs.

    Args:
        task: by two encoders, with judgements.
        shares: of its queries, below 1; or whole numbers of them.
        methods: name → what trains it.
        documents: that the alignment may take.
        seeds: of the draws.
        device: where recipes train.
        store: where scores are kept, and found again.
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
            lesson = Lesson(ground, parts.train, parts.validation, traffic="recurring")
            for name, method in methods.items():
                measure = partial(_measured, name, method, lesson, [task], {task.name: parts}, share)
                scores += _kept(store, [task.name, name, share, seed], measure)
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
    store: ScoreStore | None = None,
    progress: Progress | None = None,
) -> list[Score]:
    """Train on some tasks, pooled, and test on every one: out of domain, on one domain, or one adapter for all.

    What is asked of is other documents for the most part, so ours choose and judge for fresh traffic.

    Args:
        tasks: by the same two encoders.
        trained_on: rows of names: all but one, one alone, or all.
        share: of each task's queries, or how many of them.
        methods: name → what trains it.
        documents: of each task that the alignment may take.
        seed: of the draws.
        device: where recipes train.
        store: where scores are kept, and found again.
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
            measure = partial(_measured, name, method, lesson, tasks, parts, share)
            scores += _kept(store, [list(row), name, share, seed], measure)
            done += 1
            if progress is not None:
                progress(done, len(trained_on) * len(methods))
    return scores


def _kept(store: ScoreStore | None, key: list[Any], measure: Callable[[], list[Score]]) -> list[Score]:
    return measure() if store is None else store.get(key, measure)


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
