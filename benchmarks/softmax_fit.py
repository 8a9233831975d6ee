"""What fitting costs: CPU seconds of a softmax fit on one BLAS thread, with ridge and mining beside it.

    python benchmarks/softmax_fit.py [--labels 32 128 512 2048] [--dims 256 384 768 1536] [--repeats 3]

For each number of labels and dimension, medians: mining the negatives (labels.build), ridge's whole
path, softmax at one strength (0.1) and over its nine, and the path again with 512 common documents
in place of 4,096. Both families, seed 0. The data are hard: clusters, and queries that lie far from
their documents, so that the solver has work to do.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.estimators import Estimator, Labels, Mining, Ridge, Setting, Softmax
from askew.operators import Identity

CLUSTERED = 16


def hard_task(labels: int, dim: int) -> Dataset:
    """Documents near a plane of a few dimensions; queries are the same plane, turned a little, and noise."""
    rng = np.random.default_rng(0)
    plane = np.linalg.qr(rng.normal(size=(dim, CLUSTERED)))[0]
    turned = np.linalg.qr(plane + 0.15 * rng.normal(size=(dim, CLUSTERED)))[0]
    place = rng.normal(size=(4 * labels, CLUSTERED))
    documents = place @ plane.T + 0.25 * rng.normal(size=(4 * labels, dim))
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    queries = place[:labels] @ turned.T + 0.5 * rng.normal(size=(labels, dim))
    return Dataset(
        EmbeddingSet(range(labels), queries.astype(np.float32)),
        EmbeddingSet(range(4 * labels), documents.astype(np.float32)),
        Qrels({row: {row: 1} for row in range(labels)}),
    )


def median_cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=int, nargs="+", default=[32, 128, 512, 2048, 4096])
    parser.add_argument("--dims", type=int, nargs="+", default=[256, 384, 768, 1536])
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    print(
        f"CPU seconds, one BLAS thread, seed 0, median of {args.repeats}; {platform.machine()}, "
        f"{os.cpu_count()} cores, numpy {np.__version__}, scipy {scipy.__version__}"
    )
    print(f"{'family':8s}{'d':>6s}{'n':>6s}{'mining':>9s}{'ridge':>9s}{'softmax':>9s}{'path':>9s}{'path, 512':>11s}")
    for dim in args.dims:
        for count in args.labels:
            with threadpool_limits(1):
                measure(count, dim, args.repeats)


def measure(count: int, dim: int, repeats: int) -> None:
    task, prior = hard_task(count, dim), Identity(dim)
    folds = TwoWayFolds.build(task)

    def build() -> Labels:
        return Labels.build(task, folds, prior=prior, mining=Mining("top", 16))

    mining, labels = median_cpu_seconds(build, repeats), build()
    for ridge, softmax in ((Ridge(), Softmax()), (Ridge("shared"), Softmax("shared"))):
        estimators: list[Estimator] = [ridge, replace(softmax, strengths=(0.1,)), softmax, replace(softmax, shared=512)]
        whole, alone = (one.path(labels, prior).at(Setting(0.1)).to_dense() for one in (softmax, estimators[1]))
        gap = float(np.sum((whole - alone) ** 2))
        assert gap < 0.01 * max(1.0, float(np.sum(whole**2))), "a point of the path is not its own fit"
        seconds = [median_cpu_seconds(partial(one.path, labels, prior), repeats) for one in estimators]
        row = "".join(f"{value:9.2f}" for value in (mining, *seconds[:3])) + f"{seconds[3]:11.2f}"
        print(f"{softmax.family:8s}{dim:6d}{count:6d}{row}", flush=True)


if __name__ == "__main__":
    main()
