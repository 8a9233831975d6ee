"""Softmax regression's temperature and negatives, on development queries.

    python benchmarks/quality/softmax_settings.py --data DIR [--seeds 0 1]

Labels are drawn from the teaching queries of a set; of the teaching queries that are left, at most 800 are the
development queries. No test split is looked at. For each setting (temperature, own negatives, common documents) and
cell: the gain in nDCG@10 of the dual family on all documents at the best of nine strengths, and at the weakest
pull but one, which tells what a bad choice of the strength costs.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from askew.data import Dataset, TwoWayFolds, hash_order
from askew.estimators import Labels, Mining, Softmax
from askew.linalg import FloatArray
from askew.operators import Identity
from cells import FOLDS, SOURCES, read_source
from lessons import IntArray
from measure import Deployed, Scorer

CELLS = (
    ("scifact/minilm-l6", (64, 400)),
    ("scifact/wordllama-256", (64, 400)),
    ("cosqa/wordllama-256", (64, 300)),
    ("nfcorpus-pp/wordllama-256", (64, 256)),
    ("stdlib/wordllama-256", (64, 600, 2000)),
)
SETTINGS = ((0.05, 8, 1024), (0.05, 16, 4096), (0.03, 16, 4096), (0.025, 16, 4096), (0.02, 16, 4096), (0.025, 16, 1024))
_WEAK = 1  # 0.003
_DEVELOPMENT = 800


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    args = parser.parse_args()
    named = [f"{temperature:g}, {own}, {common:,}" for temperature, own, common in SETTINGS]
    print(f"| cell | base | {' | '.join(named)} |\n" + "|---" * (len(named) + 2) + "|", flush=True)
    sums: dict[int, list[tuple[float, float]]] = defaultdict(list)
    with threadpool_limits(1):
        for name, sizes in CELLS:
            source = next(source for source in SOURCES if source.name == name)
            teaching, _ = read_source(args.data, source)
            for labels in sizes:
                found = np.mean([_gains(teaching, labels, seed) for seed in args.seeds], axis=0)
                base, gains = found[0, 0], found[1:]
                told = " | ".join(f"{best:+.3f} ({weak:+.3f})" for best, weak in gains)
                print(f"| {name}@{labels} | {base:.3f} | {told} |", flush=True)
                for place, (best, weak) in enumerate(gains.tolist()):
                    sums[place].append((best, weak))
    means = [np.mean(sums[place], axis=0) for place in range(len(SETTINGS))]
    print(f"| mean | | {' | '.join(f'{best:+.4f} ({weak:+.4f})' for best, weak in means)} |")


def _gains(teaching: Dataset, count: int, seed: int) -> list[tuple[float, float]]:
    """The base (twice), then of each setting the gain at the best strength and at a weak pull."""
    order = hash_order(teaching.labelled, seed=seed)
    train, development = teaching.only(order[:count]), teaching.only(order[count : count + _DEVELOPMENT])
    prior = Identity(train.queries.dim)
    folds = TwoWayFolds.build(train, count=FOLDS, seed=seed)
    labels = Labels.build(train, folds, prior=prior, mining=Mining(count=16), seed=seed)
    scorer = Scorer(development, development.labelled)
    rows = np.arange(len(development.labelled))
    base = _mean(scorer, scorer.queries, rows)
    found = [(base, base)]
    for temperature, own, common in SETTINGS:
        softmax = Softmax(temperature=temperature, own=own, shared=common)
        changes = softmax.path(labels, prior).corrections(scorer.queries)
        gains = [_mean(scorer, scorer.queries + change, rows) - base for change in changes]
        found.append((max(gains), gains[_WEAK]))
    return found


def _mean(scorer: Scorer, mapped: FloatArray, rows: IntArray) -> float:
    return float(scorer.ndcg(Deployed(lambda _: mapped, cosine=False), rows, None).mean())


if __name__ == "__main__":
    main()
