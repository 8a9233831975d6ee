"""The third paper's experiment: plain and signed MaxSim, trained alike, on queries that exclude.

Three benchmarks: fresh documents of the vocabulary trained on, a vocabulary of which nothing was trained, and queries
that only exclude. Random ranking and a Boolean oracle stand beside them: where nearly all documents are relevant, a
random ranking scores high, and a system below it is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from askew._extras import require
from askew.evaluation.ndcg import ndcg_against
from askew.late import BooleanIndex, search
from askew.linalg.fixed import BoolArray, Float64Array
from askew.protocols import Progress
from askew.reproduce.negation_tables import (
    BENCHMARKS,
    MEASURES,
    ORACLE,
    SYSTEMS,
    Result,
    arms_table,
    findings,
    main_table,
    picture,
    seeds_table,
    tuning_table,
)
from askew.reproduce.negation_task import ATTRIBUTES, Benchmark, Lesson, benchmark, training
from askew.reproduce.study import Cell, Study

if TYPE_CHECKING:
    from askew.data import Run
    from askew.reproduce.torch_negation import Arm

__all__ = ["BENCHMARKS", "FULL", "QUICK", "Size", "measures", "negation"]

_DEPTH, _CUTOFF = 1000, 10
# Seeds of documents that no training draws: those of benchmarks, and of what rates are chosen on.
_FRESH, _TUNED_ON = 1000, 2000


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is run.

    Attributes:
        train: training queries; there are twice as many documents.
        steps: of 64 queries.
        queries: of a benchmark.
        documents: of a benchmark.
        seeds: of the two main arms; the others are run at the first.
        arms: whether to run the others.
        rates: learning rates that are tried.
    """

    train: int = 20_000
    steps: int = 300
    queries: int = 200
    documents: int = 5000
    seeds: int = 3
    arms: bool = True
    rates: tuple[float, ...] = (1e-3, 3e-3, 1e-2, 3e-2)


#: The paper's sizes.
FULL = Size(train=100_000, steps=5000, queries=2000, documents=100_000)
QUICK = Size(train=4000, steps=150, queries=50, documents=1000, seeds=1, arms=False, rates=(3e-3, 1e-2))


@dataclass
class _Lab:
    """What all runs share."""

    size: Size
    seed: int
    device: str
    named: Callable[[str], Progress] | None
    held: dict[int, tuple[Lesson, list[Benchmark]]] = field(default_factory=dict)
    done: int = 0

    def material(self, seed: int) -> tuple[Lesson, list[Benchmark]]:
        """Training material and benchmarks of a seed."""
        if seed not in self.held:
            size = self.size
            made = [benchmark(name, size.queries, size.documents, seed=_FRESH + seed) for name in BENCHMARKS]
            self.held[seed] = training(size.train, seed=seed), made
        return self.held[seed]

    def run(self, name: str, arm: Arm, system: str, rate: float, seed: int) -> list[Result]:
        """Train one system and rank the three benchmarks."""
        lesson, tasks = self.material(seed)
        return [
            Result(name, system, task.name, found)
            for task, found in self.ranked(arm, system, rate, lesson, tasks, seed)
        ]

    def ranked(
        self, arm: Arm, system: str, rate: float, lesson: Lesson, tasks: Sequence[Benchmark], seed: int
    ) -> list[tuple[Benchmark, dict[str, Float64Array]]]:
        """Train one system and rank some benchmarks."""
        from askew.reproduce import torch_negation  # noqa: PLC0415 - torch is an extra

        self.done += 1
        progress = self.named(f"training {self.done}") if self.named else None
        model, _ = torch_negation.train_arm(
            arm,
            lesson,
            signed=system == SYSTEMS[1],
            rate=rate,
            steps=self.size.steps,
            seed=seed,
            device=self.device,
            progress=progress,
        )
        sides = [(task, torch_negation.encode(model, task)) for task in tasks]
        depth = min(_DEPTH, self.size.documents)
        return [(task, measures(search(*both, k=depth), task)) for task, both in sides]

    def best_rate(self, arm: Arm, system: str) -> tuple[float, list[float]]:
        """The rate of the best nDCG@10 on in-domain documents kept for this; and what each reached."""
        size = self.size
        task = benchmark(BENCHMARKS[0], size.queries, size.documents, seed=_TUNED_ON + self.seed)
        lesson, _ = self.material(self.seed)
        found = [
            float(self.ranked(arm, system, rate, lesson, [task], self.seed)[0][1][MEASURES[0]].mean())
            for rate in size.rates
        ]
        return size.rates[int(np.argmax(found))], found


def negation(
    *,
    size: Size = Size(),
    seed: int = 0,
    device: str = "cpu",
    named: Callable[[str], Progress] | None = None,
) -> Study:
    """Run the study.

    Args:
        size: how much; `FULL` is the paper's.
        seed: the first.
        device: where it trains: ``"cpu"`` or ``"cuda"``.
        named: makes a progress callback for a named piece of work.

    Raises:
        MissingExtraError: the extra ``torch`` is not installed.
    """
    require("torch", extra="torch", purpose="training on the negation task")
    from askew.reproduce.torch_negation import Arm  # noqa: PLC0415 - torch is an extra

    lab = _Lab(size, seed, device, named)
    main = {"in-batch negatives": Arm(), "near misses too": Arm(hard=True)}
    tuning: list[list[Cell]] = []
    results: list[Result] = []
    rates: dict[tuple[str, str], float] = {}
    for name, arm in main.items():
        for system in SYSTEMS:
            rates[name, system], reached = lab.best_rate(arm, system)
            tuning.append([name, system, *reached, rates[name, system]])
            for one in range(seed, seed + size.seeds):
                results += lab.run(name, arm, system, rates[name, system], one)
    others: list[Result] = []
    for name, (like, arm) in (_arms(Arm) if size.arms else {}).items():
        for system in SYSTEMS if _changes_both(name) else SYSTEMS[1:]:
            others += lab.run(name, arm, system, rates[like, system], seed)
    beside = _beside(lab)
    return Study(
        name="negation",
        title="Queries that exclude: plain and signed MaxSim, trained alike",
        settings={
            "training queries": size.train,
            "training documents": 2 * size.train,
            "steps of 64": size.steps,
            "queries a benchmark": size.queries,
            "documents a benchmark": size.documents,
            "attributes a vocabulary": ATTRIBUTES,
            "seeds": ", ".join(str(one) for one in range(seed, seed + size.seeds)),
            "device": device,
        },
        findings=findings(results, others, beside),
        tables=[
            *(main_table(name, results, beside) for name in main),
            seeds_table(results),
            *([arms_table(results, others, beside)] if others else []),
            tuning_table(tuning, size.rates),
        ],
        pictures={"benchmarks": picture(results, beside)},
    )


def measures(run: Run, task: Benchmark) -> dict[str, Float64Array]:
    """nDCG@10 and AP@1000 of every query, by the task's rule.

    The judgements are never listed: of queries that only exclude, nearly every document is relevant. AP divides by
    all relevant documents, as trec_eval does, so where there are more than 1,000 it cannot reach 1.

    Args:
        run: rankings of documents ``d0``, ``d1``, … for queries ``q0``, ``q1``, ….
        task: the benchmark.

    Returns:
        Measure → (n,).
    """
    ranked = np.array([[int(name[1:]) for name in run.documents(f"q{row}")] for row in range(len(task.queries))])
    hits: BoolArray = np.take_along_axis(task.relevant, ranked, axis=1)
    count = task.relevant.sum(axis=1)
    ideal = np.arange(_CUTOFF) < count[:, None]
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return {
        MEASURES[0]: ndcg_against(hits[:, :_CUTOFF].astype(float), ideal.astype(float)),
        MEASURES[1]: np.asarray((precision * hits).sum(axis=1) / np.maximum(count, 1)),
    }


def _changes_both(name: str) -> bool:
    return not name.startswith("gate")


def _arms(kind: type[Arm]) -> dict[str, tuple[str, Arm]]:
    """The other arms, each with the main arm whose rates it takes."""
    soft, hard = "in-batch negatives", "near misses too"
    return {
        "a token of the whole document, in-batch negatives": (soft, kind(whole=True)),
        "a token of the whole document, near misses too": (hard, kind(hard=True, whole=True)),
        "random start, in-batch negatives": (soft, kind(lexical=False)),
        "linear encoder, in-batch negatives": (soft, kind(bend=0)),
        "linear encoder, near misses too": (hard, kind(hard=True, bend=0)),
        "gate: queries alone": (soft, kind(gates="query")),
        "gate: unbounded": (soft, kind(bounded=False)),
        "gate: on output vectors": (soft, kind(attach="vectors")),
    }


def _beside(lab: _Lab) -> dict[str, tuple[float, float]]:
    """Benchmark → what random ranking is expected to score, and the Boolean oracle on some queries: nDCG@10."""
    found = {}
    for task in lab.material(lab.seed)[1]:
        asked = dict(list(task.boolean.items())[:ORACLE])
        run = BooleanIndex(task.terms, terms=map(str, range(2 * ATTRIBUTES))).search(asked, k=_CUTOFF)
        oracle = measures(run, task.first(len(asked)))[MEASURES[0]]
        found[task.name] = float(task.random_ndcg().mean()), float(oracle.mean())
    return found
