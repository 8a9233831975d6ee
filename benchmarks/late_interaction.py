"""Exact (Signed) MaxSim search beside maxsim-cpu and a bare GEMM on the same blocks, in one run.

    python benchmarks/late_interaction.py [--documents 10000] [--dim 128] [--batch 32] [--threads 2] [--repeats 5]

Ragged documents of 48 to 312 tokens (mean 180), queries of 32; unit rows, float32, seed 0. Every repeat runs
all systems in turn, so that what else runs on the machine meets all of them. Prints medians of wall and of CPU
seconds, the ratio of each to the GEMM, the peak of what search allocates, the time to a first result in a fresh
process, and the machine. maxsim-cpu is timed where it is installed (pip install maxsim-cpu).
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
from functools import partial
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from askew._blocks import DEFAULT_BUDGET
from askew.data import TokenEmbeddings
from askew.data.ragged import running_count
from askew.late import maxsim, search
from askew.late.maxsim import over_documents, query_blocks
from askew.late.prepared import Asked, Block, Corpus
from askew.late.routes import Scratch

QUERY_TOKENS = 32
FIRST = """
import time; begin = time.perf_counter()
import numpy as np
from askew.data import TokenEmbeddings
from askew.late import search
rng = np.random.default_rng(0)
flat = rng.normal(size=(1000 * 180, 128)).astype(np.float32)
made = time.perf_counter()
documents = TokenEmbeddings(range(1000), flat, np.arange(0, 180_001, 180))
search(TokenEmbeddings(["q"], flat[:32], [0, 32]), documents, k=10)
print(time.perf_counter() - made)
"""


def unit_tokens(rng: np.random.Generator, lengths: Any, dim: int, *, signed: bool) -> TokenEmbeddings:
    offsets = running_count(lengths)
    tokens = rng.standard_normal((int(offsets[-1]), dim), dtype=np.float32)
    tokens /= np.linalg.norm(tokens, axis=1, keepdims=True)
    weights = np.tanh(rng.normal(1.0, 1.0, len(tokens))) if signed else None
    return TokenEmbeddings(range(len(lengths)), tokens, offsets, weights=weights)


def same_blocks(queries: TokenEmbeddings, documents: TokenEmbeddings) -> None:
    """The products alone, on the blocks and threads that search uses, nothing kept."""
    corpus, scratch = Corpus.prepare(documents, queries), Scratch()
    for part in query_blocks(queries, DEFAULT_BUDGET):
        asked = corpus.ask(queries, part)
        work = partial(product, scratch, asked)
        deque(over_documents(work, corpus, asked, budget=DEFAULT_BUDGET), maxlen=0)


def product(scratch: Scratch, asked: Asked, block: Block) -> None:
    scratch.product(asked.narrow, block.narrow)


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
    systems: dict[str, Any] = {
        "GEMM, same blocks": lambda: same_blocks(queries, plain),
        "askew search": lambda: search(queries, plain, k=10),
        "askew signed search": lambda: search(queries, signed, k=10),
        "askew all pairs": lambda: maxsim(queries, plain),
    }
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
    lengths = rng.integers(48, 313, args.documents)
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
        base = rows["GEMM, same blocks"]
        for name, (wall, cpu) in rows.items():
            walls, cpus = f"{wall:8.3f} s wall {wall / base[0]:5.2f} ×", f"{cpu:8.3f} s CPU {cpu / base[1]:5.2f} ×"
            print(f"  {name:22s} {walls}   {cpus}")
    tracemalloc.start()
    search(queries, signed, k=10)
    print(f"peak of a signed search: {tracemalloc.get_traced_memory()[1] / 2**20:.0f} MiB, budget 128 MiB")
    tracemalloc.stop()
    first = subprocess.run(  # noqa: S603 - this interpreter, on the text above
        [sys.executable, "-c", FIRST], capture_output=True, text=True, check=True
    ).stdout
    print(f"first search in a fresh process, 1,000 documents × 180 tokens: {float(first):.3f} s")


if __name__ == "__main__":
    main()
