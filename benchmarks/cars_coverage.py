"""How often CARS's nominal 90% interval holds the mean score, beside a plain jackknife's.

    python benchmarks/cars_coverage.py [--draws 100]

Queries and documents share 3 of 12 directions, the documents' turned by an angle, with noise of 0.7 on both; rank 3,
20 half-splits, 20 groups. The mean score is that of all draws; draw k has seed k. For each angle and number of
queries: the spread of the score, the mean error stated, and both coverages.
"""

from __future__ import annotations

import argparse

import numpy as np

from askew.geometry import RelevanceRows, cars

CELLS = ((0.0, 200), (0.3, 200), (0.6, 200), (0.6, 800), (1.0, 400))
DIM, RANK, NOISE, Z = 12, 3, 0.7, 1.645


def drawn(angle: float, count: int, seed: int) -> RelevanceRows:
    rng = np.random.default_rng(seed)
    basis = np.eye(DIM)[:, : 2 * RANK]
    latent = rng.normal(size=(count, RANK))
    queries = latent @ basis[:, :RANK].T + NOISE * rng.normal(size=(count, DIM))
    plane = np.cos(angle) * basis[:, :RANK] + np.sin(angle) * basis[:, RANK:]
    documents = latent @ plane.T + NOISE * rng.normal(size=(count, DIM))
    return RelevanceRows(tuple(map(str, range(count))), queries, documents)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=100)
    draws = parser.parse_args().draws
    for angle, count in CELLS:
        rows = []
        for seed in range(draws):
            (found,) = cars(drawn(angle, count, seed), ranks=[RANK], seed=seed)
            signal, price = max(found.signal or 0.0, 0.0), found.price or 0.0
            once = (2 * signal + price) / (2 * signal + 2 * price)
            rows.append((found.score, found.standard_error or 0.0, (found.standard_error or 0.0) / np.sqrt(once)))
        score, error, plain = np.array(rows).T
        covered = [np.mean(np.abs(score - score.mean()) < Z * width) for width in (error, plain)]
        print(
            f"{angle:g} rad, {count} queries: spread {score.std(ddof=1):.4f}, error {error.mean():.4f}, "
            f"covers {covered[0]:.2f}; plain jackknife {plain.mean():.4f}, covers {covered[1]:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
