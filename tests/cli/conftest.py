"""Small tasks in folders, and the command line run in this process or in one of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from askew.cli.main import app, main

DIM = 24


@dataclass(frozen=True)
class Outcome:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one object on stdout; fails if there is anything else."""
        assert self.code == 0, self.err
        value, end = json.JSONDecoder().raw_decode(self.out)
        assert self.out[end:] == "\n"
        assert isinstance(value, dict)
        return value

    def refused(self, code: int) -> str:
        """The message of the one line that an error is; fails if anything else was said."""
        assert (self.code, self.out) == (code, ""), self
        assert "Traceback" not in self.err
        lines = self.err.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")


@pytest.fixture
def askew(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], few_candidates: None
) -> Callable[..., Outcome]:
    """The command line in this process, with few candidates to choose from."""

    def run(*args: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["askew", *(str(arg) for arg in args)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        assert isinstance(left.value.code, int)
        return Outcome(left.value.code, said.out, said.err)

    return run


@pytest.fixture(scope="session")
def askew_process() -> Callable[..., Outcome]:
    """The command line in a process of its own."""

    def run(*args: object, env: Mapping[str, str] | None = None) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "askew.cli.main", *(str(arg) for arg in args)],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, **(env or {})},
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@dataclass(frozen=True)
class Task:
    """A folder in BEIR's layout, and how to write and change what is in it."""

    root: Path

    @property
    def queries(self) -> Path:
        return self.root / "embeddings" / "tiny" / "queries.npy"

    @property
    def documents(self) -> Path:
        return self.root / "embeddings" / "tiny" / "docs.npy"

    def embed(self, side: str, rows: Any, ids: Sequence[str] | None = None, *, encoder: str = "tiny") -> None:
        """Write embeddings; the ids are d0, d1, … or q0, q1, … unless given."""
        folder = self.root / "embeddings" / encoder
        folder.mkdir(parents=True, exist_ok=True)
        names = [f"{side[0]}{row}" for row in range(len(rows))] if ids is None else ids
        np.save(folder / f"{side}.npy", rows)
        (folder / f"{side}.ids").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")

    def judge(self, split: str, pairs: Iterable[tuple[object, object, object]]) -> Path:
        """Write judgements."""
        path = self.root / "qrels" / f"{split}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = [f"{query}\t{document}\t{grade}\n" for query, document, grade in pairs]
        path.write_text("query-id\tcorpus-id\tscore\n" + "".join(lines), encoding="utf-8")
        return path

    def copy(self, root: Path) -> Task:
        """The same in another place."""
        shutil.copytree(self.root, root)
        return Task(root)

    def listing(self) -> dict[str, bytes]:
        """Every file under the folder that holds the task, and what is in it."""
        return {str(path): path.read_bytes() for path in sorted(self.root.parent.rglob("*")) if path.is_file()}


def write_task(
    root: Path,
    *,
    documents: int = 300,
    train: int = 120,
    test: int = 60,
    angle: float = 0.9,
    noise: float = 0.7,
    seed: int = 0,
) -> Task:
    """Query i is document i, turned by an angle in every plane of a random orthogonal map, with noise."""
    rng = np.random.default_rng(seed)
    task = Task(root)
    corpus = unit(rng.normal(size=(documents, DIM)))
    turned = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    count = train + test
    clean = corpus[:count] * np.cos(angle) + corpus[:count] @ turned * np.sin(angle)
    task.embed("docs", corpus.astype(np.float32))
    task.embed("queries", unit(clean + noise * unit(rng.normal(size=(count, DIM)))).astype(np.float32))
    task.judge("train", [(f"q{row}", f"d{row}", 1) for row in range(train)])
    task.judge("test", [(f"q{row}", f"d{row}", 1) for row in range(train, count)])
    return task


@pytest.fixture(scope="session")
def new_task() -> Callable[..., Task]:
    """`write_task`, for tests that want one of their own."""
    return write_task


@pytest.fixture(scope="session")
def turned(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A task that adapting helps. Not to be changed."""
    return write_task(tmp_path_factory.mktemp("turned") / "turned")


@pytest.fixture(scope="session")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Task:
    """A task whose queries are noisy documents, so that there is nothing to learn. Not to be changed."""
    return write_task(tmp_path_factory.mktemp("straight") / "straight", angle=0.0, noise=1.5)


@pytest.fixture
def task(turned: Task, tmp_path: Path) -> Task:
    """A copy of the task that adapting helps, to be changed at will."""
    return turned.copy(tmp_path / "task")


@dataclass(frozen=True)
class Fitted:
    """What ``askew fit --json`` left behind."""

    adapter: Path
    report: Path
    said: Outcome


@pytest.fixture(scope="session")
def fitted(turned: Task, tmp_path_factory: pytest.TempPathFactory, askew_process: Callable[..., Outcome]) -> Fitted:
    """The adapter of the task that adapting helps, fitted with one thread."""
    adapter = tmp_path_factory.mktemp("fitted") / "adapter"
    env = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "1"}
    said = askew_process("fit", turned.root, "-o", adapter, "--json", env=env)
    return Fitted(adapter, adapter.with_name("adapter.html"), said)


@pytest.fixture(scope="session")
def kept(
    straight: Task,
    tmp_path_factory: pytest.TempPathFactory,
    choosing_from_few: Callable[[], AbstractContextManager[None]],
) -> Fitted:
    """The adapter of the task that there is nothing to learn from."""
    adapter = tmp_path_factory.mktemp("kept") / "adapter"
    with choosing_from_few():
        done = CliRunner().invoke(app, ["fit", str(straight.root), "-o", str(adapter), "--json"])
    said = Outcome(done.exit_code, done.stdout, done.stderr)
    return Fitted(adapter, adapter.with_name("adapter.html"), said)


@pytest.fixture
def refuses(askew: Callable[..., Outcome], task: Task, fitted: Fitted) -> Callable[[str, int, str], None]:
    """Checks that a command is refused with a code and parts of a message, and leaves all as it was."""

    def check(command: str, code: int, says: str) -> None:
        above = task.root.parent
        places = {
            "data": task.root,
            "out": above,
            "queries": task.queries,
            "docs": task.documents,
            "adapter": fitted.adapter,
            "long": "x" * 300,
        }
        before, folders = task.listing(), sorted(above.rglob("*"))
        message = askew(*(word.format(**places) for word in command.split())).refused(code)
        for part in says.split(" ~ "):
            assert part in message
        assert task.listing() == before
        assert sorted(above.rglob("*")) == folders

    return check
