"""How often the nominal 90% intervals of CARS and of the planner hold what they are about.

    python benchmarks/cars_coverage.py [--draws 200] [--simulated]
    python benchmarks/cars_coverage.py --small [--draws 200]

Simulated: queries and documents share 3 of 12 directions, the documents' turned by an angle, with noise of 0.7 on
both; draw k has seed k. Resampled: 300 queries of the standard library's docstrings, drawn by a hash without
replacement, draw k with seed k. Rank 3 and 8, L = 20 half-splits, 20 groups.

CARS's interval is about the mean score, the planner's about the crossing n · mean price / mean signal, means over
all draws. For each case: the spread of the score over the draws, the mean error stated, the coverage of CARS's
interval by 1.645 standard errors and by Student's t (`noise_limit`, as in askew), those of a plain jackknife's, and
that of the planner's, by t. Draws from one set share queries, by h = n / N: their spread
is √(1 - h) of that of independent ones, which the coverage of resampled cases is stated against.

`--simulated` leaves out the resampled case, which takes most of the time. `--small` prints another table in place of
this one: coverage with few queries, in as many groups up to 20, L = 10, by both limits, for CARS, K-fold operator loss
and K-fold separation, means over angles. Below 10 queries the K-fold rules have no error.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from askew.data import Dataset, hash_order
from askew.geometry import RelevanceRows, Selection, cars, fold_loss, fold_separation
from askew.geometry.halving import HalfSums, half_sums
from askew.geometry.noise import NOISE_LIMIT, noise_limit
from askew.geometry.planning import plan_of
from askew.workflows.coordinates import set_out
from askew.workflows.stdlib_pairs import stdlib_dataset

CELLS = ((0.0, 200), (0.3, 200), (0.6, 200), (0.6, 800), (1.0, 400))
DIM, RANK, NOISE = 12, 3, 0.7
RESAMPLED, REAL_RANK = 300, 8
GROUPS = 20
# Few queries, and the angles that coverage is the mean over.
SMALL = {4: (0.0, 0.6, 1.0), 6: (0.0, 0.6, 1.0), 10: (0.0, 0.6, 1.0), 20: (0.0, 0.6), 40: (0.0, 0.6)}
SMALL_SPLITS, FEWEST_FOLDED = 10, 10


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
    parser.add_argument("--simulated", action="store_true", help="leave out the resampled case")
    parser.add_argument("--small", action="store_true", help="few queries instead")
    args = parser.parse_args()
    if args.small:
        with threadpool_limits(1):
            small(args.draws)
        return
    heads = ("case", "spread of the score", "error", "CARS: 1.645, t", "plain jackknife: 1.645, t", "the planner")
    print(f"| {' | '.join(heads)} |\n" + "|---" * len(heads) + "|")
    with threadpool_limits(1):
        for angle, count in CELLS:
            draws = [found(simulated(angle, count, seed), RANK) for seed in range(args.draws)]
            report(f"simulated, {angle:g} rad, {count} queries", draws, count, 0.0)
        if args.simulated:
            return
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
    return Found(signal, price, error, error / np.sqrt(once), *(planned.interval or (np.nan, np.nan)))


def _error(sums: HalfSums) -> float:
    covariance = sums.covariance(0)
    assert covariance is not None
    contrast = np.array([1.0, -1.0])
    return float(np.sqrt(max(contrast @ covariance @ contrast, 0.0)))


def report(case: str, draws: list[Found], count: int, shared: float) -> None:
    signal, price, error, plain, low, high = np.array(draws).T
    score = signal - price
    away = np.abs(score - score.mean()) / np.sqrt(1 - shared)
    covers = [
        ", ".join(f"{np.mean(away < limit * width):.3f}" for limit in (NOISE_LIMIT, noise_limit(GROUPS)))
        for width in (error, plain)
    ]
    crossing = count * price.mean() / signal.mean()
    held = np.mean((low <= crossing) & (crossing <= high))
    planner = "dual never pays" if signal.mean() <= 0 else f"{held:.3f} of n* = {crossing:.0f}"
    print(
        f"| {case} | {score.std(ddof=1) / np.sqrt(1 - shared):.3g} | {error.mean():.3g} "
        f"| {covers[0]} | {covers[1]} | {planner} |",
        flush=True,
    )


def small(draws: int) -> None:
    print("| queries | rule | by 1.645 | by t |\n" + "|---" * 4 + "|")
    for count, angles in SMALL.items():
        covered: dict[str, list[tuple[float, float]]] = {}
        for angle in angles:
            drawn = [few(simulated(angle, count, seed)) for seed in range(draws)]
            for rule in drawn[0]:
                covered.setdefault(rule, []).append(covering([each[rule] for each in drawn]))
        for rule, shares in covered.items():
            normal, student = np.mean(shares, axis=0)
            print(f"| {count} | {rule} | {normal:.3f} | {student:.3f} |", flush=True)


def few(rows: RelevanceRows) -> dict[str, Selection]:
    found = {"CARS": cars(rows, ranks=[RANK], splits=SMALL_SPLITS)[0]}
    if len(rows) >= FEWEST_FOLDED:
        found["operator loss"] = fold_loss(rows, ranks=[RANK])[0]
        found["separation"] = fold_separation(rows, ranks=[RANK])[0]
    return found


def covering(draws: list[Selection]) -> tuple[float, float]:
    """The share of draws whose interval holds the mean score: by 1.645 errors, and by t."""
    scores, errors = np.array([(each.score, each.standard_error) for each in draws], dtype=np.float64).T
    away = np.abs(scores - scores.mean()) / errors
    return float(np.mean(away < NOISE_LIMIT)), float(np.mean(away < noise_limit(draws[0].groups)))


if __name__ == "__main__":
    main()
