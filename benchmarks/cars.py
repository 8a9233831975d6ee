"""What choosing a geometry costs: the half-split rule at all ranks together against the obvious way.

    python benchmarks/cars.py [--dims 768] [--queries 256 2048] [--splits 20] [--obvious-splits 2] [--memory] [--peer]

The obvious way factorises the p × p moment of every half in full (SVD and symmetric eigenproblem) for every
rank, and multiplies the projections out. It is timed on its first few splits and multiplied up; the values of
those splits must agree to 1e-8 of the energies that they are differences of. Both sides run with one worker and
with one a processor, splits side by side, one BLAS thread each (threads inside a factorisation are slower for
both). Medians of --repeats for ours, wall and CPU seconds; seed 0.

--memory measures the peak resident size at p = 4,096, n = 2,048 in a process of its own.
--peer compares the leading dual subspaces with scikit-learn's PLSSVD (32 components, 4,096 × 768), which has
to be installed.

Flops of ours a half, at n ≥ p: 2hp² for the moment (once for both halves), p³ for its Gram matrix, and two
symmetric eigenproblems of about 9p³ by divide and conquer, of which the 4/3 p³ of the reduction to
tridiagonal form run at memory speed: they are the bound (over 70% of the time at p = 768). Cross-Gram
matrices take 8pR² a split at a largest rank R. At n < p a QR of 2h columns and problems of sizes h and 2h
replace them, and p drops out but for one QR of all rows. The obvious way: about (22 + 9 + 2) p³ + 4p²r a
half *and rank*.
"""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import scipy
import scipy.linalg
from threadpoolctl import threadpool_info, threadpool_limits

from askew.geometry.halving import half_sums, side_by_side
from askew.geometry.rows import RelevanceRows
from askew.geometry.spectra import Spectra
from askew.geometry.splits import Units, half_splits
from askew.linalg.fixed import Float64Array, IntArray

RANKS = (4, 8, 16, 32, 64, 128, 256)


def task(count: int, dim: int) -> RelevanceRows:
    """Documents that share a decaying spectrum with their queries, a few directions of it turned, and noise."""
    rng = np.random.default_rng(0)
    scale = np.arange(1, dim + 1) ** -0.5
    latent = rng.normal(size=(count, dim)) * scale
    turned = latent.copy()
    turned[:, :16:2], turned[:, 1:16:2] = latent[:, 1:16:2], -latent[:, :16:2]
    queries = latent + 0.3 * rng.normal(size=(count, dim)) * scale
    return RelevanceRows(
        tuple(f"q{row}" for row in range(count)), queries, turned + 0.3 * rng.normal(size=(count, dim)) * scale
    )


def obvious_fit(moment: Float64Array, rank: int) -> Float64Array:
    """P_d,r - P_s,r from full decompositions, multiplied out: (p, p)."""
    # numpy's routines, as they let other threads run meanwhile and scipy's do not.
    left, values, right = np.linalg.svd(moment, full_matrices=False)
    eigenvalues, vectors = np.linalg.eigh((moment + moment.T) / 2)
    kept = np.argsort(-eigenvalues)[:rank]
    positive = np.maximum(eigenvalues[kept], 0)
    return np.asarray(
        (left[:, :rank] * values[:rank]) @ right[:rank] - (vectors[:, kept] * positive) @ vectors[:, kept].T
    )


def obvious(rows: RelevanceRows, half: IntArray) -> Float64Array:
    """(K, 3) eq. (7) of one split at each rank, and ‖V₁‖², ‖V₂‖²."""
    found = np.empty((len(RANKS), 3))
    for place, rank in enumerate(RANKS):
        first, second = (
            obvious_fit(rows.queries[half == side].T @ rows.differences[half == side] / np.sum(half == side), rank)
            for side in (0, 1)
        )
        score = np.sum(first * second) - np.sum((first - second) ** 2) / 4
        found[place] = score, np.sum(first**2), np.sum(second**2)
    return found


def seconds(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Median wall and CPU seconds."""
    walls, processors = [], []
    for _ in range(repeats):
        start, begun = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - start)
        processors.append(time.process_time() - begun)
    return statistics.median(walls), statistics.median(processors)


def time_obvious(
    rows: RelevanceRows, halves: Sequence[IntArray], splits: int, workers: int
) -> tuple[float, float, Float64Array]:
    """Wall and CPU seconds of the obvious way for all splits, and its values (L, K, 3) of those tried."""
    values: list[Float64Array] = []
    wall, processor = seconds(lambda: values.extend(side_by_side(partial(obvious, rows), halves, workers)), 1)
    share = splits / len(halves)
    print(f"  obvious, {workers} worker(s): {share * wall:8.1f} s, {share * processor:8.1f} CPU s", flush=True)
    return share * wall, share * processor, np.stack(values)


def compare(count: int, dim: int, splits: int, few: int, repeats: int) -> None:
    rows = task(count, dim)
    print(f"p {dim}, n {count}, L {splits}, without an error of the score")
    halves = half_splits(Units(rows), few)
    sums = half_sums(rows, ranks=RANKS, splits=few, groups=None)
    for workers in sorted({1, os.cpu_count() or 1}):
        theirs, spent, values = time_obvious(rows, halves, splits, workers)
        gap = np.abs((sums.signal - sums.price) - values[..., 0])
        assert (gap / values[..., 1:].sum(axis=-1)).max() < 1e-8
        wall, processor = seconds(
            partial(half_sums, rows, ranks=RANKS, splits=splits, groups=None, workers=workers), repeats
        )
        times = f"{theirs / wall:.0f} times, {spent / processor:.0f} of CPU"
        print(f"  ours, {workers} worker(s): {wall:11.2f} s, {processor:8.2f} CPU s: {times}")
        print(f"  largest difference: {(gap / np.abs(values[..., 0])).max():.1e} of the score itself", flush=True)


def memory() -> None:
    """Peak resident size of both workers' splits at p = 4,096, n = 2,048."""
    rows = task(2048, 4096)
    start = time.perf_counter()
    half_sums(rows, ranks=RANKS, splits=2, groups=None, workers=os.cpu_count() or 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"p 4096 n 2048 L 2: {time.perf_counter() - start:.1f} s, peak {peak:.2f} GiB")
    assert peak < 4


def peer(repeats: int) -> None:
    """The leading dual subspaces against scikit-learn's PLSSVD, which takes the SVD of the same moment."""
    plssvd = importlib.import_module("sklearn.cross_decomposition").PLSSVD
    rows = task(4096, 768)
    left = rows.queries - rows.queries.mean(axis=0)
    right = rows.differences - rows.differences.mean(axis=0)
    with threadpool_limits(1):
        model = plssvd(n_components=32, scale=False).fit(left, right)
        theirs, _ = seconds(partial(model.fit, left, right), repeats)
        spectra = Spectra.of(left.T @ right / len(left), largest=32)
        ours, _ = seconds(lambda: Spectra.of(left.T @ right / len(left), largest=32), repeats)
    angles = [
        scipy.linalg.subspace_angles(spectra.left, model.x_weights_).max(),
        scipy.linalg.subspace_angles(spectra.right, model.y_weights_).max(),
    ]
    print(
        f"PLSSVD, 4096 × 768, 32 components, one thread: theirs {theirs:.3f} s; ours {ours:.3f} s, "
        f"both families; largest principal angle {max(angles):.1e}"
    )
    assert max(angles) < 1e-6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=int, nargs="+", default=[768])
    parser.add_argument("--queries", type=int, nargs="+", default=[256, 2048])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--obvious-splits", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--memory-alone", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args()
    if args.memory_alone:
        memory()
        return
    libraries = {pool["internal_api"] + " " + str(pool["version"]) for pool in threadpool_info()}
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, numpy {np.__version__}, "
        f"scipy {scipy.__version__}, {', '.join(sorted(libraries))}; median of {args.repeats}, seed 0, ranks {RANKS}"
    )
    for dim in args.dims:
        for count in args.queries:
            compare(count, dim, args.splits, args.obvious_splits, args.repeats)
    if args.memory:
        subprocess.run([sys.executable, __file__, "--memory-alone"], check=True)  # noqa: S603 - this very script
    if args.peer:
        peer(args.repeats)


if __name__ == "__main__":
    main()
