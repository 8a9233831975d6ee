"""What a run leaves: one JSON file for each cell, seed, system and traffic, read back instead of run again."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from cells import Task
from measure import Float64Array, Reading, TestBench
from tuning import Outcome

_PACKAGES = ("askew", "numpy", "scipy", "torch", "wordllama")


@dataclass(frozen=True)
class Key:
    """One run; `traffic` is ``either`` for a system that does not look at it."""

    cell: str
    seed: int
    system: str
    traffic: str

    def path(self, out: Path) -> Path:
        return out / "runs" / self.cell.replace("/", "_") / f"{self.system}.{self.traffic}.{self.seed}.json"


def write(out: Path, key: Key, task: Task, bench: TestBench, outcome: Outcome, seconds: float) -> dict[str, Any]:
    """Measure what a system ships on the test queries, and keep everything."""
    record = {
        **key.__dict__,
        "labels": len(task.train.labelled),
        "documents": len(task.test.documents),
        "cpu_seconds": round(seconds, 3),
        "query_ids": list(bench.query_ids),
        "unseen_queries": int(bench.answerable.sum()),
        "readings": {name: _plain(bench.read(deployed)) for name, deployed in outcome.deployed.items()},
        "evidence": dict(outcome.evidence),
        "versions": {name: _version(name) for name in _PACKAGES} | {"python": platform.python_version()},
        "machine": {"processor": _processor(), "cores": os.cpu_count(), "system": platform.platform()},
    }
    path = key.path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(record, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    temporary.replace(path)  # a run that is broken off leaves no half a record
    return record


def read(out: Path) -> Iterator[dict[str, Any]]:
    """Every record, in the order of the paths."""
    for path in sorted((out / "runs").rglob("*.json")):
        yield json.loads(path.read_text(encoding="utf-8"))


def per_query(values: list[float | None]) -> Float64Array:
    """Values as written; NaN for null."""
    return np.array([np.nan if value is None else value for value in values])


def _plain(reading: Reading) -> dict[str, list[float | None]]:
    parts = {"all": reading.everything, "unseen": reading.unseen}
    return {
        name: [None if np.isnan(value) else round(float(value), 6) for value in values]
        for name, values in parts.items()
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
