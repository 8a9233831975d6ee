"""How often the nominal 90% intervals of CARS and of the planner hold what they are about.

    python benchmarks/cars_coverage.py [--draws 200]

Simulated: queries and documents share 3 of 12 directions, the documents' turned by an angle, with noise of 0.7 on
both; draw k has seed k. Resampled: 300 queries of the standard library's docstrings, drawn by a hash without
replacement, draw k with seed k. Rank 3 and 8, L = 20 half-splits, 20 groups.

CARS's interval is about the mean score, the planner's about the crossing n · mean price / mean signal, means over
all draws. For each case: the spread of the score over the draws, the mean error stated, the coverage of CARS's
interval, that of a plain jackknife, and that of the planner's. Draws from one set share queries, by h = n / N: their
spread is √(1 - h) of that of independent ones, which the coverage of resampled cases is stated against.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from askew.data import Dataset, hash_order
from askew.geometry import RelevanceRows
from askew.geometry.halving import HalfSums, half_sums
from askew.geometry.noise import noise_limit
from askew.geometry.planning import plan_of
from askew.workflows.coordinates import set_out
from askew.workflows.stdlib_pairs import stdlib_dataset

CELLS = ((0.0, 200), (0.3, 200), (0.6, 200), (0.6, 800), (1.0, 400))
DIM, RANK, NOISE = 12, 3, 0.7
RESAMPLED, REAL_RANK = 300, 8
GROUPS = 20


class Found(NamedTuple):
    """One draw: signal, price, the error of their difference, that of a plain jackknife, and the planned crossing."""

    signal: float
    price: float
    error: float
    plain: float
    low: float
    high: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    args = parser.parse_args()
    print("| case | spread of the score | error | CARS covers | a plain jackknife | the planner |\n" + "|---" * 6 + "|")
    with threadpool_limits(1):
        for angle, count in CELLS:
            draws = [found(simulated(angle, count, seed), RANK) for seed in range(args.draws)]
            report(f"simulated, {angle:g} rad, {count} queries", draws, count, 0.0)
        whole = stdlib_dataset()
        draws = [found(resampled(whole, seed), REAL_RANK) for seed in range(args.draws)]
        report(f"stdlib / wordllama-256, {RESAMPLED} queries", draws, RESAMPLED, RESAMPLED / len(whole.labelled))


def simulated(angle: float, count: int, seed: int) -> RelevanceRows:
    rng = np.random.default_rng(seed)
    basis = np.eye(DIM)[:, : 2 * RANK]
    latent = rng.normal(size=(count, RANK))
    queries = latent @ basis[:, :RANK].T + NOISE * rng.normal(size=(count, DIM))
    plane = np.cos(angle) * basis[:, :RANK] + np.sin(angle) * basis[:, RANK:]
    documents = latent @ plane.T + NOISE * rng.normal(size=(count, DIM))
    return RelevanceRows(tuple(map(str, range(count))), queries, documents)


def resampled(dataset: Dataset, seed: int) -> RelevanceRows:
    part = dataset.only(hash_order(dataset.labelled, seed=seed)[:RESAMPLED])
    return set_out(part, whitening="none", residual=False, similarity="dot", seed=0).rows


def found(rows: RelevanceRows, rank: int) -> Found:
    sums = half_sums(rows, ranks=[rank], splits=20, groups=GROUPS, by_document=False, seed=0, workers=1)
    signal, price = float(sums.signal[:, 0].mean()), float(sums.price[:, 0].mean())
    error, planned = _error(sums), plan_of(sums, 0)
    once = (2 * max(signal, 0.0) + price) / (2 * max(signal, 0.0) + 2 * price)
    return Found(signal, price, error, error / np.sqrt(once), *planned.interval)


def _error(sums: HalfSums) -> float:
    covariance = sums.covariance(0)
    assert covariance is not None
    contrast = np.array([1.0, -1.0])
    return float(np.sqrt(max(contrast @ covariance @ contrast, 0.0)))


def report(case: str, draws: list[Found], count: int, shared: float) -> None:
    signal, price, error, plain, low, high = np.array(draws).T
    score = signal - price
    away = np.abs(score - score.mean()) / np.sqrt(1 - shared)
    limit = noise_limit(GROUPS)
    covers = [float(np.mean(away < limit * width)) for width in (error, plain)]
    crossing = count * price.mean() / signal.mean()
    held = np.mean((low <= crossing) & (crossing <= high))
    planner = "dual never pays" if signal.mean() <= 0 else f"{held:.3f} of n* = {crossing:.0f}"
    print(
        f"| {case} | {score.std(ddof=1) / np.sqrt(1 - shared):.3g} | {error.mean():.3g} "
        f"| {covers[0]:.3f} | {covers[1]:.3f} | {planner} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
