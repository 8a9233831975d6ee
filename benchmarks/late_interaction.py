"""Exact (Signed) MaxSim search beside maxsim-cpu and a bare GEMM on the same blocks, in one run.

    python benchmarks/late_interaction.py [--documents 10000] [--dim 128] [--batch 32] [--threads 2] [--repeats 5]

Ragged documents of 48 to 512 tokens (mean 180, few long), queries of 32; unit rows, float32, seed 0. Every repeat runs
all systems in turn, so that what else runs on the machine meets all of them. Prints medians of wall and of CPU
seconds, the ratio of each to the GEMM and to the peer, the rate at which one thread reads the tokens, the peak of what
search allocates, the time to a first result in a fresh process, and the machine. maxsim-cpu and the compiled loops are
timed where they are installed (the extras bench and fast).
"""

from __future__ import annotations

import argparse
import importlib.util
import platform
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from askew._blocks import DEFAULT_BUDGET
from askew.data import TokenEmbeddings
from askew.data.ragged import running_count
from askew.late import maxsim, search
from askew.late.kernels import kernels
from askew.late.prepared import Asked, Block
from askew.late.routes import Blas
from askew.late.scan import Scan

QUERY_TOKENS = 32
FIRST = """
import time
import numpy as np
from askew.data import TokenEmbeddings
from askew.late import search
count = {count}
flat = np.random.default_rng(0).standard_normal((count * 180, 128), dtype=np.float32)
documents = TokenEmbeddings(range(count), flat, np.arange(0, count * 180 + 1, 180))
begin, spent = time.perf_counter(), time.process_time()
search(TokenEmbeddings(["q"], flat[:32], [0, 32]), documents, k=10)
print(f"{{time.perf_counter() - begin:.3f}} s wall, {{time.process_time() - spent:.3f}} s CPU")
"""


def unit_tokens(rng: np.random.Generator, lengths: Any, dim: int, *, signed: bool) -> TokenEmbeddings:
    offsets = running_count(lengths)
    tokens = rng.standard_normal((int(offsets[-1]), dim), dtype=np.float32)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    weights = np.tanh(rng.normal(1.0, 1.0, len(tokens))) if signed else None
    return TokenEmbeddings(range(len(lengths)), tokens, offsets, weights=weights)


def same_blocks(queries: TokenEmbeddings, documents: TokenEmbeddings) -> None:
    """The products alone, on the blocks and threads that search by the BLAS uses, nothing kept."""
    blas = Blas()
    scan = replace(Scan.prepare(queries, documents, DEFAULT_BUDGET), finder=blas)
    for _, asked in scan.query_blocks():
        deque(scan.over_documents(partial(product, blas, asked), asked), maxlen=0)


def product(blas: Blas, asked: Asked, block: Block) -> None:
    blas.product(asked.narrow, block.narrow)


def without_kernels(work: Callable[[], object]) -> object:
    """As where llvmlite is not installed."""
    with mock.patch("askew.late.scan.kernels", return_value=None):
        return work()


def timed(systems: dict[str, Callable[[], object]], repeats: int) -> dict[str, tuple[float, float]]:
    """Medians of wall and CPU seconds, the systems in turn."""
    walls: dict[str, list[tuple[float, float]]] = {name: [] for name in systems}
    for _ in range(repeats):
        for name, work in systems.items():
            begin, spent = time.perf_counter(), time.process_time()
            work()
            walls[name].append((time.perf_counter() - begin, time.process_time() - spent))
    return {
        name: (statistics.median(wall for wall, _ in held), statistics.median(cpu for _, cpu in held))
        for name, held in walls.items()
    }


def systems_of(plain: TokenEmbeddings, signed: TokenEmbeddings, queries: TokenEmbeddings) -> dict[str, Any]:
    works: dict[str, Callable[[], object]] = {
        "search": lambda: search(queries, plain, k=10),
        "signed search": lambda: search(queries, signed, k=10),
        "all pairs": lambda: maxsim(queries, plain),
        "signed all pairs": lambda: maxsim(queries, signed),
    }
    systems: dict[str, Any] = {"GEMM, same blocks": lambda: same_blocks(queries, plain)}
    systems |= {f"{name}, by the BLAS": partial(without_kernels, work) for name, work in works.items()}
    if kernels("float32") is not None:
        systems |= {f"{name}, compiled": work for name, work in works.items()}
    if importlib.util.find_spec("maxsim_cpu"):
        import maxsim_cpu  # noqa: PLC0415 - a peer, where it is there

        asked = [np.ascontiguousarray(queries.tokens_of(name)) for name in queries.ids]
        held = [plain.tokens[a:b] for a, b in zip(plain.offsets[:-1], plain.offsets[1:], strict=True)]
        first = np.asarray(maxsim_cpu.maxsim_scores_variable(asked[0], held))
        assert np.allclose(first, maxsim(queries.take([queries.ids[0]]), plain)[0], atol=1e-4), "scores differ"
        systems["maxsim-cpu"] = lambda: [maxsim_cpu.maxsim_scores_variable(one, held) for one in asked]
    return systems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("documents", 10_000), ("dim", 128), ("batch", 32), ("threads", 2), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    # Skewed, of mean 48 + 464·2/7 = 180.6: many short documents, and few as long as a window.
    lengths = 48 + np.rint(464 * rng.beta(2, 5, args.documents)).astype(int)
    plain = unit_tokens(rng, lengths, args.dim, signed=False)
    weights = np.tanh(rng.normal(1.0, 1.0, len(plain.tokens)))
    signed = TokenEmbeddings(plain.ids, plain.tokens, plain.offsets, weights=weights)
    print(
        f"{args.documents:,} documents, {len(plain.tokens):,} tokens × {args.dim} float32, {args.threads} threads, "
        f"seed 0, median of {args.repeats}; {platform.machine()}, numpy {np.__version__}"
    )
    for batch in (1, args.batch):
        queries = unit_tokens(rng, [QUERY_TOKENS] * batch, args.dim, signed=False)
        with threadpool_limits(args.threads):
            rows = timed(systems_of(plain, signed, queries), args.repeats)
        print(f"{batch} queries of {QUERY_TOKENS} tokens")
        base, peer = rows["GEMM, same blocks"], rows.get("maxsim-cpu", (np.nan, np.nan))
        print(f"  {'':27s} {'wall s':>8s} {'× GEMM':>8s} {'peer ×':>8s} {'CPU s':>9s} {'× GEMM':>8s} {'peer ×':>8s}")
        for name, (wall, cpu) in rows.items():
            walls = f"{wall:8.3f} {wall / base[0]:8.2f} {peer[0] / wall:8.2f}"
            print(f"  {name:27s} {walls} {cpu:9.3f} {cpu / base[1]:8.2f} {peer[1] / cpu:8.2f}")
    tracemalloc.start()
    search(queries, signed, k=10)
    print(f"peak of a signed search: {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB, budget 128 MiB")
    tracemalloc.stop()
    begin = time.process_time()
    plain.tokens.max()
    print(f"one thread reads {plain.tokens.nbytes / 1e9 / (time.process_time() - begin):.1f} GB/s")
    for count in (1_000, 10_000):
        first = subprocess.run(  # noqa: S603 - this interpreter, on the text above
            [sys.executable, "-c", FIRST.format(count=count)], capture_output=True, text=True, check=True
        ).stdout
        print(f"first search in a fresh process, {count:,} documents × 180 tokens: {first.strip()}")


if __name__ == "__main__":
    main()
