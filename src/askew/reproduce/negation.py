"""The third paper's experiment: plain and signed MaxSim, trained alike, on queries that exclude.

Three benchmarks: fresh documents of the vocabulary trained on, a vocabulary of which nothing was trained, and queries
that only exclude. Random ranking and a Boolean oracle stand beside them: where nearly all documents are relevant, a
random ranking scores high, and a system below it is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from askew._extras import require
from askew.evaluation import Evaluation, compare, holm
from askew.evaluation.ndcg import ndcg_against
from askew.late import BooleanIndex, search
from askew.linalg.fixed import BoolArray, Float64Array
from askew.protocols import Progress
from askew.report import Mark, Series, curves_figure
from askew.reproduce.negation_task import ATTRIBUTES, Benchmark, Lesson, benchmark, training
from askew.reproduce.study import Cell, Study, Table

if TYPE_CHECKING:
    from askew.data import Run
    from askew.reproduce.torch_negation import Arm

__all__ = ["BENCHMARKS", "FULL", "QUICK", "Size", "measures", "negation"]

BENCHMARKS = ("in-domain", "different vocabulary", "negation only")
_MEASURES = ("nDCG@10", "AP@1000")
_SYSTEMS = ("MaxSim", "Signed MaxSim")
_DEPTH, _CUTOFF = 1000, 10
# nDCG@10 in the paper, as digests of its text quote it.
_PAPER = {"in-domain": (0.982, 0.997), "different vocabulary": (0.597, 1.000), "negation only": (0.008, 0.788)}
# Seeds of documents that no training draws: those of benchmarks, and of what rates are chosen on.
_FRESH, _TUNED_ON = 1000, 2000
# The oracle codes every clause; a sample of queries is enough to see that rule and search agree.
_ORACLE = 20


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
    rates: tuple[float, ...] = (3e-4, 1e-3, 3e-3)


#: The paper's sizes.
FULL = Size(train=100_000, steps=5000, queries=2000, documents=100_000)
QUICK = Size(train=4000, steps=150, queries=50, documents=1000, seeds=1, arms=False, rates=(1e-3, 3e-3))


@dataclass(frozen=True, eq=False)
class _Result:
    """One trained system on one benchmark: per query, by measure."""

    arm: str
    system: str
    task: str
    values: Mapping[str, Float64Array]


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

    def run(self, name: str, arm: Arm, system: str, rate: float, seed: int) -> list[_Result]:
        """Train one system and rank the three benchmarks."""
        lesson, tasks = self.material(seed)
        return [
            _Result(name, system, task.name, found)
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
            signed=system == _SYSTEMS[1],
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
            float(self.ranked(arm, system, rate, lesson, [task], self.seed)[0][1][_MEASURES[0]].mean())
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
    results: list[_Result] = []
    rates: dict[tuple[str, str], float] = {}
    for name, arm in main.items():
        for system in _SYSTEMS:
            rates[name, system], reached = lab.best_rate(arm, system)
            tuning.append([name, system, *reached, rates[name, system]])
            for one in range(seed, seed + size.seeds):
                results += lab.run(name, arm, system, rates[name, system], one)
    others: list[_Result] = []
    for name, (like, arm) in (_arms(Arm) if size.arms else {}).items():
        for system in _SYSTEMS if _changes_both(name) else _SYSTEMS[1:]:
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
        findings=_findings(results, others, beside),
        tables=[
            *(_main_table(name, results, beside) for name in main),
            _seeds_table(results),
            *([_arms_table(results, others, beside)] if others else []),
            _tuning_table(tuning, size.rates),
        ],
        pictures={"benchmarks": _picture(results, beside)},
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
        _MEASURES[0]: ndcg_against(hits[:, :_CUTOFF].astype(float), ideal.astype(float)),
        _MEASURES[1]: np.asarray((precision * hits).sum(axis=1) / np.maximum(count, 1)),
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
        asked = dict(list(task.boolean.items())[:_ORACLE])
        run = BooleanIndex(task.terms, terms=map(str, range(2 * ATTRIBUTES))).search(asked, k=_CUTOFF)
        oracle = measures(run, task.first(len(asked)))[_MEASURES[0]]
        found[task.name] = float(task.random_ndcg().mean()), float(oracle.mean())
    return found


def _pick(results: Sequence[_Result], arm: str, system: str, task: str) -> list[_Result]:
    return [one for one in results if (one.arm, one.system, one.task) == (arm, system, task)]


def _mean(results: Sequence[_Result], measure: str = _MEASURES[0]) -> float | None:
    return float(np.mean([one.values[measure].mean() for one in results])) if results else None


def _evaluation(results: Sequence[_Result], system: str) -> Evaluation:
    """Queries of all seeds as one evaluation."""
    values = np.concatenate([one.values[_MEASURES[0]] for one in results])
    names = tuple(f"{seed}/{row}" for seed, one in enumerate(results) for row in range(len(one.values[_MEASURES[0]])))
    return Evaluation(system, names, MappingProxyType({_MEASURES[0]: values}))


def _main_table(arm: str, results: Sequence[_Result], beside: Mapping[str, tuple[float, float]]) -> Table:
    rows: list[list[Any]] = []
    compared = []
    for task in BENCHMARKS:
        plain, signed = (_pick(results, arm, system, task) for system in _SYSTEMS)
        gap = compare(_evaluation(plain, _SYSTEMS[0]), _evaluation(signed, _SYSTEMS[1]), _MEASURES[0])
        compared.append(gap)
        paper = _PAPER[task]
        rows.append([task, *paper, _mean(plain), _mean(signed), *beside[task], gap.difference, gap.low, gap.high])
        rows[-1] += [_mean(plain, _MEASURES[1]), _mean(signed, _MEASURES[1])]
    for row, p_value in zip(rows, holm([gap.p_value for gap in compared]), strict=True):
        row.insert(10, float(p_value))
    return Table(
        title=f"nDCG@10, trained with {arm}",
        head=(
            "benchmark",
            "paper: MaxSim",
            "paper: signed",
            *_SYSTEMS,
            "random ranking",
            "Boolean oracle",
            "difference",
            "low",
            "high",
            "p (Holm)",
            "AP@1000: MaxSim",
            "AP@1000: signed",
        ),
        rows=rows,
        note="Mean over seeds; the interval is a paired 95% bootstrap over the queries of all seeds, p of the paired "
        "randomisation test, corrected for three benchmarks. The paper does not tell its encoder or sizes of "
        f"vocabularies. The oracle ranked the first {_ORACLE} queries.",
    )


def _seeds_table(results: Sequence[_Result]) -> Table:
    rows: list[list[Cell]] = []
    for arm in dict.fromkeys(one.arm for one in results):
        for system in _SYSTEMS:
            for task in BENCHMARKS:
                held = [float(one.values[_MEASURES[0]].mean()) for one in _pick(results, arm, system, task)]
                rows.append([arm, system, task, *held])
    seeds = len(rows[0]) - 3
    return Table(
        title="nDCG@10 by seed", head=("arm", "system", "benchmark", *(f"seed {k}" for k in range(seeds))), rows=rows
    )


def _arms_table(
    results: Sequence[_Result], others: Sequence[_Result], beside: Mapping[str, tuple[float, float]]
) -> Table:
    rows: list[list[Cell]] = []
    # The first seed of the main arms, and the others, which have no second.
    for arm in dict.fromkeys(one.arm for one in [*results, *others]):
        for system in _SYSTEMS:
            found = [_pick([*results, *others], arm, system, task)[:1] for task in BENCHMARKS]
            if any(found):
                rows.append([arm, system, *(_mean(one) for one in found)])
    rows.append(["random ranking", "", *(beside[task][0] for task in BENCHMARKS)])
    return Table(
        title="What the parts are worth: nDCG@10, first seed",
        head=("arm", "system", *BENCHMARKS),
        rows=rows,
        note="Heads on both sides, bounded, on states, a lexical start and an encoder with a layer that is not linear, "
        "but for what is named; each arm at the rates of its main arm.",
    )


def _tuning_table(rows: Sequence[Sequence[Cell]], rates: Sequence[float]) -> Table:
    return Table(
        title="The rates tried, and nDCG@10 on in-domain documents kept for the choice",
        head=("arm", "system", *(f"{rate:g}" for rate in rates), "chosen"),
        rows=rows,
        note="The same rates for both systems.",
    )


def _findings(
    results: Sequence[_Result], others: Sequence[_Result], beside: Mapping[str, tuple[float, float]]
) -> list[str]:
    said = []
    for arm in dict.fromkeys(one.arm for one in results):
        parts = []
        for task in BENCHMARKS:
            plain, signed = (_mean(_pick(results, arm, system, task)) for system in _SYSTEMS)
            parts.append(f"{plain:.3f} and {signed:.3f} {task}")
        said.append(f"With {arm}, MaxSim and Signed MaxSim reach {', '.join(parts)}.")
    line = beside[BENCHMARKS[2]][0]
    said.append(f"Random ranking is expected to score {line:.3f} on queries that only exclude.")
    closest = _closest([*results, *others])
    if closest is not None:
        arm, gap = closest
        said.append(
            f"MaxSim comes closest with '{arm}', where it is at most {gap:.3f} below on any of the three: the gap "
            "depends on the training negatives, and on what a document token can see."
        )
    return said


def _closest(results: Sequence[_Result]) -> tuple[str, float] | None:
    """The arm with the smallest worst gap of MaxSim below signed."""
    found = []
    for arm in dict.fromkeys(one.arm for one in results):
        sides = [[_mean(_pick(results, arm, system, task)) for task in BENCHMARKS] for system in _SYSTEMS]
        if None not in sides[0]:
            gaps = [(theirs or 0.0) - (ours or 0.0) for ours, theirs in zip(*sides, strict=True)]
            found.append((max(gaps), arm))
    return (min(found)[1], min(found)[0]) if len(found) > 1 else None


def _picture(results: Sequence[_Result], beside: Mapping[str, tuple[float, float]]) -> str:
    places = [1.0, 2.0, 3.0]
    series = [
        Series(
            name=f"{system}, {arm}",
            x=places,
            y=[_mean(_pick(results, arm, system, task)) or 0.0 for task in BENCHMARKS],
        )
        for arm in dict.fromkeys(one.arm for one in results)
        for system in _SYSTEMS
    ]
    for place, system in enumerate(_SYSTEMS):
        series.append(Series(name=f"{system}, paper", x=places, y=[_PAPER[task][place] for task in BENCHMARKS]))
    return curves_figure(
        "negation",
        series,
        title="Queries that exclude",
        description="nDCG@10 of plain and signed MaxSim on three benchmarks, trained in two ways, beside the paper's.",
        x_label="1 in-domain, 2 different vocabulary, 3 negation only",
        y_label="nDCG@10",
        marks=[Mark(text="random ranking, negation only", y=beside[BENCHMARKS[2]][0])],
    )
