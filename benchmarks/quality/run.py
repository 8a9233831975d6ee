"""askew and its peers on the same splits, tuned on the same folds: one command.

    python benchmarks/quality/run.py --data DIR [--quick] [--cells 'scifact/*@64' ...] [--systems ours ...]
                                     [--seeds 0 1 2] [--traffic recurring fresh] [--out DIR]

DIR holds one folder a data set, as `askew.read_dataset` takes it; the standard library's set needs none. Each
cell, seed, system and traffic leaves a JSON file under OUT/runs and is not run again while it is there; the
tables in OUT/tables.md are made from all files there. Needs the extra ``bench`` (torch) for the peers that train.
One process; a peer runs on one thread, askew as it ships. CPU seconds are those of the whole process.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

import records
import tables
from cells import Cell, Task, chosen_cells, load_task
from lessons import Regime
from measure import TestBench
from systems import FIXED, SYSTEMS, prepared

_QUICK = ("scifact/minilm-l6@64", "cosqa/wordllama-256@64", "stdlib/wordllama-256@64")


def main() -> None:
    args = _arguments()
    cells = chosen_cells(args.cells or (_QUICK if args.quick else ()))
    seeds = args.seeds or ([0] if args.quick else [0, 1, 2])
    todo = list(_todo(cells, seeds, args.systems, args.traffic))
    missing = [key for _, key in todo if not key.path(args.out).exists()]
    print(f"{len(todo)} runs, {len(todo) - len(missing)} of them there already", file=sys.stderr)
    done = 0
    with threadpool_limits(1):
        for cell, seed in dict.fromkeys((cell, key.seed) for cell, key in todo if key in missing):
            task = load_task(args.data, cell, seed)
            bench = TestBench(task)
            for key in (key for key in missing if (key.cell, key.seed) == (cell.name, seed)):
                record = _run(args.out, key, task, bench)
                done += 1
                _say(f"{done}/{len(missing)}", key, record)
    text = tables.render(list(records.read(args.out)))
    (args.out / "tables.md").write_text(text, encoding="utf-8")
    print(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of data sets")
    parser.add_argument("--out", type=Path, default=Path("build/quality"), help="where results go")
    parser.add_argument("--cells", nargs="+", help="names, or patterns, such as 'scifact/*@64'; all by default")
    parser.add_argument("--seeds", nargs="+", type=int, help="draws of labels; 0 1 2 by default")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=list(SYSTEMS))
    parser.add_argument("--traffic", nargs="+", choices=("recurring", "fresh"), default=["recurring", "fresh"])
    parser.add_argument("--quick", action="store_true", help="three cells and one seed, unless they are named")
    return parser.parse_args()


def _todo(
    cells: list[Cell], seeds: list[int], systems: list[str], traffic: list[str]
) -> Iterator[tuple[Cell, records.Key]]:
    """Every run. All labels are one draw, so they take the first seed alone."""
    for cell in cells:
        for seed in seeds if cell.labels is not None else seeds[:1]:
            for system in systems:
                for regime in ["either"] if system in FIXED else traffic:
                    yield cell, records.Key(cell.name, seed, system, regime)


def _run(out: Path, key: records.Key, task: Task, bench: TestBench) -> dict[str, Any]:
    regime: Regime = "recurring" if key.traffic == "recurring" else "fresh"
    system = prepared(key.system)
    started = time.process_time()
    outcome = system(task, regime)
    return records.write(out, key, task, bench, outcome, time.process_time() - started)


def _say(place: str, key: records.Key, record: dict[str, Any]) -> None:
    means = (f"{name} {records.per_query(reading['all']).mean():.4f}" for name, reading in record["readings"].items())
    where = f"{key.cell} seed {key.seed} {key.traffic}"
    print(f"{place}  {where}: {', '.join(means)}  {record['cpu_seconds']:.1f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
