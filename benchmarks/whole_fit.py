"""Where the time of a whole fit goes.

    python benchmarks/whole_fit.py --data DIR [--set scifact] [--encoder minilm-l6] [--labels 512] [--traffic fresh]

First the command as a user runs it, `askew fit` with its report and its test queries: wall and CPU seconds of the
process. Then the same fit inside this process with every path of every estimator timed; what is left of the
cross-fit is scoring: a product of adapted queries with the corpus, and counting. CPU seconds are those of the
thread that did the work; paths run side by side on all cores with one BLAS thread each. Seed 0.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy

from askew import fit, read_dataset
from askew.data import hash_order
from askew.estimators import Estimator, Labels, Ridge, Softmax
from askew.estimators import Path as Corrections
from askew.estimators.paths import Family
from askew.operators import Term

SEED = 0


@dataclass(frozen=True)
class Timed:
    """An estimator that notes the CPU seconds of its paths."""

    inner: Ridge | Softmax
    spent: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def family(self) -> Family:
        return self.inner.family

    @property
    def strengths(self) -> tuple[float, ...]:
        return self.inner.strengths

    @property
    def ranks(self) -> tuple[int | None, ...]:
        return self.inner.ranks

    def path(self, labels: Labels, prior: Term) -> Corrections:
        start = time.thread_time()
        found = self.inner.path(labels, prior)
        self.spent[f"{self.name}, {self.family}"].append(time.thread_time() - start)
        return found


def command(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [
            sys.executable,
            "-m",
            "askew.cli.main",
            "fit",
            str(args.data / args.set),
            "--output",
            f"{folder}/adapter",
        ]
        words += [
            "--encoder",
            args.encoder,
            "--labels",
            str(args.labels),
            "--traffic",
            args.traffic,
            "--seed",
            str(SEED),
        ]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        words += ["--test-split", "test", "--json"]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own command line
        wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"askew fit, the whole command: {wall:.1f} s of wall time, {cpu:.1f} of CPU, load {os.getloadavg()[0]:.1f}")


def inside(args: argparse.Namespace) -> None:
    dataset = read_dataset(args.data / args.set, split="train", encoder=args.encoder, texts=False)
    dataset = dataset.only(hash_order(dataset.labelled, seed=SEED)[: args.labels])
    timed = [Timed(inner) for inner in (Ridge(), Softmax(), Ridge("shared"), Softmax("shared"))]
    estimators: list[Estimator] = list(timed)
    wall, cpu = time.perf_counter(), time.process_time()
    fitted = fit(dataset, traffic=args.traffic, estimators=estimators, seed=SEED)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"askew.fit in this process: {wall:.1f} s of wall time, {cpu:.1f} of CPU; {fitted.choice.verdict.reason}")
    rest = cpu
    for name, spent in (pair for one in timed for pair in one.spent.items()):
        print(f"  {name:16} {sum(spent):6.1f} s in {len(spent)} paths, median {np.median(spent):.2f} s")
        rest -= sum(spent)
    print(f"  {'all else':16} {rest:6.1f} s: scoring, mining, canaries, findings")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--set", default="scifact")
    parser.add_argument("--encoder", default="minilm-l6")
    parser.add_argument("--labels", type=int, default=512)
    parser.add_argument("--traffic", choices=("fresh", "recurring"), default="fresh")
    args = parser.parse_args()
    print(
        f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores; "
        f"numpy {np.__version__}, scipy {scipy.__version__}"
    )
    command(args)
    inside(args)


if __name__ == "__main__":
    main()
