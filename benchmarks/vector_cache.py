"""What the cache around an encoder costs: writing, finding and reading vectors, beside an encoder that costs nothing.

    python benchmarks/vector_cache.py [--texts 100000] [--dim 384]

Prints wall and CPU seconds for batches of 64 and 512 texts, each a synced transaction, and the size of the file.
Seeded; what is read is checked to be what was written.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from askew.encoders import CachedEncoder, CallableEncoder


def timed(work: Callable[[], Any]) -> tuple[Any, str]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, f"{time.perf_counter() - wall:.2f} s wall, {time.process_time() - cpu:.2f} s CPU"


def measure(texts: list[str], vectors: Any, batch: int) -> None:
    def given(asked: list[str]) -> Any:
        return vectors[[int(text) for text in asked]]

    encoder = CallableEncoder(given, name="given", batch=batch)
    with tempfile.TemporaryDirectory() as folder, CachedEncoder(encoder, folder) as cached:
        _, written = timed(lambda: cached.fill(texts))
        filled, found = timed(lambda: cached.fill(texts))
        rows, read = timed(lambda: cached.read(texts))
        assert filled.asked == 0
        assert np.array_equal(rows, vectors)
        cached.close()  # merges the write-ahead log
        ratio = cached.path.stat().st_size / vectors.nbytes
    print(f"batch {batch}: write {written}; find {found}; read {read}; file {ratio:.2f} times the vectors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    options = parser.parse_args()
    vectors = np.random.default_rng(0).standard_normal((options.texts, options.dim)).astype(np.float32)
    print(f"{options.texts:,} texts, {options.dim:,} dimensions, Python {platform.python_version()}")
    for batch in (64, 512):
        measure([str(place) for place in range(options.texts)], vectors, batch)


if __name__ == "__main__":
    main()
