"""By what to choose among cross-fitted candidates: depths, cautions and numbers of folds, on development queries.

    python benchmarks/quality/choosing_rule.py --data DIR [--labels 64 128] [--seeds 0 1 2] [--folds 5]

Labels are drawn from the teaching queries of a set; the teaching queries that are left, at most 400, are the
development queries. No test split is looked at. For each rule (nDCG@10 or nDCG@100; the mean gain less a caution
times its standard error) the gain in nDCG@10 on development queries of what it chooses, over the runs: the mean,
the smallest, and what the best candidate of each run would have gained. Then the verdict: its nested gain and
standard error, and for thresholds in standard errors how often it says adapt, how often that is wrong, and the
mean and smallest gain of what would ship.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from askew.data import Dataset, TwoWayFolds, hash_order
from askew.estimators import Choice, Labels, Mining, Ridge, Softmax, choose
from askew.linalg import FloatArray
from askew.operators import Identity
from cells import SOURCES, Source, read_source
from lessons import BoolArray, IntArray, Regime
from measure import CUTOFF, STEADY, Deployed, Float64Array, Scorer

_SOURCES = ("scifact/minilm-l6", "cosqa/wordllama-256", "nfcorpus-pp/wordllama-256", "scifact/wordllama-256")
_CAUTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
_THRESHOLDS = (0.0, 0.5, 1.0)
_DEVELOPMENT = 400
_ESTIMATORS = (Ridge(), Softmax(), Ridge("shared"), Softmax("shared"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--labels", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--folds", type=int, nargs="+", default=[5])
    args = parser.parse_args()
    gains: dict[tuple[object, ...], list[float]] = defaultdict(list)
    verdicts: dict[tuple[object, ...], list[tuple[float, float, float]]] = defaultdict(list)
    with threadpool_limits(1):
        for source in (source for source in SOURCES if source.name in _SOURCES):
            for labels, seed in ((labels, seed) for labels in args.labels for seed in args.seeds):
                _run(args.data, source, labels, seed, args.folds, gains, verdicts)
                print(f"{source.name}@{labels} seed {seed}", flush=True)
    _print(gains, verdicts)


def _run(
    data: Path,
    source: Source,
    count: int,
    seed: int,
    folds: list[int],
    gains: dict[tuple[object, ...], list[float]],
    verdicts: dict[tuple[object, ...], list[tuple[float, float, float]]],
) -> None:
    teaching, _ = read_source(data, source)
    order = hash_order(teaching.labelled, seed=seed)
    train, development = teaching.only(order[:count]), teaching.only(order[count : count + _DEVELOPMENT])
    for number in folds:
        labels = Labels.build(
            train,
            TwoWayFolds.build(train, count=number, seed=seed),
            prior=Identity(train.queries.dim),
            mining=Mining(count=16),
            seed=seed,
        )
        truth = _truth(development, labels)
        regimes: tuple[tuple[Regime, float], ...] = (("fresh", 0.0), ("recurring", 1.0))
        for regime, share in regimes:
            choice = choose(
                labels,
                priors={"identity": Identity(train.queries.dim)},
                estimators=_ESTIMATORS,
                rank_score=_rank_score(train, labels),
                traffic=share,
            )
            for depth, caution, row in _choices(choice, regime):
                gains[regime, number, count, depth, caution].append(truth[regime][row])
            gains[regime, number, count, "best", 0.0].append(float(truth[regime].max()))
            gained = float(truth[regime][choice.candidates.index(choice.chosen)])
            verdicts[regime, number, count].append((choice.verdict.gain, choice.verdict.standard_error, gained))


def _rank_score(train: Dataset, labels: Labels) -> Callable[[FloatArray, IntArray, IntArray], Float64Array]:
    scorer = Scorer(train, labels.query_ids)

    def rank_score(adapted: FloatArray, rows: IntArray, seen: IntArray) -> Float64Array:
        without = np.zeros(len(train.documents), dtype=bool)
        without[seen] = True
        return np.stack([scorer.ndcg(_fixed(adapted), rows, without, depth) for depth in (CUTOFF, STEADY)])

    return rank_score


def _truth(development: Dataset, labels: Labels) -> dict[Regime, Float64Array]:
    """(C,) the gain of every candidate, fitted on all labels, on development queries."""
    scorer = Scorer(development, development.labelled)
    rows = np.arange(len(development.labelled))
    seen = np.zeros(len(development.documents), dtype=bool)
    seen[labels.seen_rows] = True
    unseen = rows[scorer.gains.answerable(rows, seen)]
    prior = Identity(labels.queries.shape[1])
    corrections = [estimator.path(labels, prior).corrections(scorer.queries) for estimator in _ESTIMATORS]
    maps = [scorer.queries, *(scorer.queries + change for found in corrections for change in found)]

    def gain(kept: IntArray, without: BoolArray | None) -> Float64Array:
        means = [scorer.ndcg(_fixed(mapped[kept]), kept, without).mean() for mapped in maps]
        return np.asarray(np.array(means) - means[0])

    return {"fresh": gain(unseen, seen), "recurring": gain(rows, None)}


def _fixed(mapped: FloatArray) -> Deployed:
    """Queries that are mapped already."""
    return Deployed(lambda _rows: mapped, cosine=False)


def _choices(choice: Choice, regime: str) -> list[tuple[int, float, int]]:
    (record,) = (record for record in choice.evidence if record.regime == regime)
    found = []
    for depth, scores in ((CUTOFF, record.scores), (STEADY, record.steady)):
        each = scores - scores[0]
        errors = each.std(axis=1, ddof=1) / np.sqrt(each.shape[1])
        found += [(depth, caution, int(np.argmax(each.mean(axis=1) - caution * errors))) for caution in _CAUTIONS]
    return found


def _print(
    gains: dict[tuple[object, ...], list[float]], verdicts: dict[tuple[object, ...], list[tuple[float, float, float]]]
) -> None:
    print("\n| traffic | folds | labels | chosen by | caution | runs | mean gain | smallest |\n" + "|---" * 8 + "|")
    for (regime, folds, labels, depth, caution), each in gains.items():
        by = "the best of each" if depth == "best" else f"nDCG@{depth}"
        start = f"| {regime} | {folds} | {labels} | {by} | {caution} | {len(each)} |"
        print(f"{start} {np.mean(each):+.4f} | {min(each):+.4f} |")
    head = ("traffic", "folds", "labels", "nested gain", "error", "threshold", "adapt", "wrongly", "ships", "smallest")
    print(f"\n| {' | '.join(head)} |\n" + "|---" * len(head) + "|")
    for (regime, folds, labels), rows in verdicts.items():
        gain, error, gained = np.array(rows).T
        for threshold in _THRESHOLDS:
            adapt = (gain > threshold * error) & (gain > 0)
            ships = np.where(adapt, gained, 0.0)
            start = f"| {regime} | {folds} | {labels} | {gain.mean():+.4f} | {error.mean():.4f} | {threshold} |"
            wrong = (adapt & (gained < 0)).mean()
            print(f"{start} {adapt.mean():.2f} | {wrong:.2f} | {ships.mean():+.4f} | {ships.min():+.4f} |")


if __name__ == "__main__":
    main()
