"""Exact top-k beside a bare GEMM and numpy's argpartition, in one run.

    python benchmarks/exact_search.py [--documents 250000] [--dim 384] [--queries 500] [--threads 2]

Prints medians in seconds, the ratio to the GEMM, and the machine. Seeded; the results are checked to agree.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from askew.linalg import FloatArray, row_norms, top_k

IntArray = npt.NDArray[np.int64]
BLOCK = 8192


def gemm(queries: FloatArray, documents: FloatArray) -> None:
    """The product alone, in blocks that stay in cache, nothing kept."""
    for start in range(0, len(documents), BLOCK):
        queries @ documents[start : start + BLOCK].T


def argpartition(queries: FloatArray, documents: FloatArray, k: int) -> IntArray:
    """The whole score matrix, then numpy's selection."""
    scores = queries @ documents.T
    rows: IntArray = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, rows, axis=1), axis=1, kind="stable")
    return np.asarray(np.take_along_axis(rows, order, axis=1), dtype=np.int64)


def median_seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("documents", 250_000), ("dim", 384), ("queries", 500), ("threads", 2), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(args.documents, args.dim)).astype(np.float32)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    queries = (documents[: args.queries] + 0.05 * rng.normal(size=(args.queries, args.dim))).astype(np.float32)
    ties, norms = np.arange(len(documents)), row_norms(documents)

    def ours(k: int) -> IntArray:
        return top_k(queries, documents, k=k, tie_rank=ties, document_norms=norms)[0]

    assert np.mean(ours(100) == argpartition(queries, documents, 100)) > 0.999, "results differ"
    with threadpool_limits(args.threads):
        rows = {
            "GEMM alone": median_seconds(lambda: gemm(queries, documents), args.repeats),
            "askew top-10": median_seconds(lambda: ours(10), args.repeats),
            "askew top-100": median_seconds(lambda: ours(100), args.repeats),
            "numpy argpartition top-100": median_seconds(lambda: argpartition(queries, documents, 100), args.repeats),
        }
    print(
        f"{args.queries} queries, {args.documents:,} × {args.dim} float32, {args.threads} threads, seed 0, "
        f"median of {args.repeats}; {platform.machine()}, numpy {np.__version__}"
    )
    for name, seconds in rows.items():
        print(f"{name:28s} {seconds:8.3f} s   {seconds / rows['GEMM alone']:5.2f} × GEMM")


if __name__ == "__main__":
    main()
