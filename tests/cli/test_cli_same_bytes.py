"""The same input gives the same bytes; what must not matter does not."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Askew = Callable[..., Any]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def record(adapter: Path) -> Any:
    return json.loads((adapter / "manifest.json").read_text(encoding="utf-8"))


def test_fit_again_with_two_threads_gives_the_same_bytes(turned: Any, fitted: Any, askew_process: Askew) -> None:
    before, page = contents(fitted.adapter), fitted.report.read_bytes()
    env = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "PYTHONHASHSEED": "2"}  # fitted with one thread
    said = askew_process("fit", turned.root, "-o", fitted.adapter, "--json", env=env)
    assert said == fitted.said
    assert contents(fitted.adapter) == before
    assert fitted.report.read_bytes() == page


def test_the_test_split_changes_nothing_that_is_written(task: Any, askew: Askew, tmp_path: Path) -> None:
    def fit(name: str, *args: object) -> dict[str, bytes]:
        assert askew("fit", task.root, "-o", tmp_path / name, "--no-report", *args).code == 0
        return contents(tmp_path / name)

    with_test = fit("with")
    task.judge("other", [(f"q{row}", f"d{row + 1}", 1) for row in range(150, 170)])
    assert fit("other", "--test-split", "other") == with_test
    (task.root / "qrels" / "test.tsv").unlink()
    (task.root / "qrels" / "other.tsv").unlink()
    assert fit("without") == with_test


def test_without_test_queries_the_verdict_stands_alone(task: Any, askew: Askew, tmp_path: Path) -> None:
    (task.root / "qrels" / "test.tsv").unlink()
    said = askew("fit", task.root, "--no-report", "-o", tmp_path / "a")
    assert said.code == 0
    assert "No test queries: the verdict rests on cross-fitting alone." in said.out
    assert askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json").json()["tests"] == []


def test_queries_of_both_splits_leave_training(task: Any, askew: Askew, tmp_path: Path) -> None:
    clean = askew("fit", task.root, "-o", tmp_path / "clean", "--json", "--no-report")
    pairs = [(f"q{row}", f"d{row}", 1) for row in range(150)]
    task.judge("train", pairs)
    said = askew("fit", task.root, "-o", tmp_path / "overlapping", "--json", "--no-report")
    assert said.err == (
        "warning: 30 queries are in both splits; they were taken out of training (q120, q121, q122, q123, q124, …).\n"
    )
    assert contents(tmp_path / "overlapping") == contents(tmp_path / "clean")
    assert said.json()["tests"] == clean.json()["tests"]
    task.judge("train", pairs[120:])
    refusal = askew("fit", task.root, "-o", tmp_path / "none", "--no-report").refused(3)
    assert "every training query is a test query too" in refusal


def test_labels_are_counted_after_the_overlap_is_gone(task: Any, askew: Askew, tmp_path: Path) -> None:
    before = askew("fit", task.root, "-o", tmp_path / "a", "--labels", 40, "--no-report", "--json").json()
    task.judge("train", [(f"q{row}", f"d{row}", 1) for row in range(180)])
    after = askew("fit", task.root, "-o", tmp_path / "b", "--labels", 40, "--no-report", "--json").json()
    assert after["verdict"] == before["verdict"]
    assert record(tmp_path / "b") == record(tmp_path / "a")
    assert record(tmp_path / "b")["record"]["labels"] == 40


def test_labels_picks_the_same_queries_whatever_else_is_in_the_file(task: Any, askew: Askew, tmp_path: Path) -> None:
    def fit(name: str) -> dict[str, bytes]:
        assert askew("fit", task.root, "-o", tmp_path / name, "--labels", 30, "--no-report").code == 0
        return contents(tmp_path / name)

    first = fit("first")
    pairs: list[tuple[object, object, object]] = [(f"q{row}", f"d{row}", 1) for row in range(120)]
    task.judge("train", pairs[::-1])
    assert fit("reversed") == first
    task.judge("train", [*pairs, ("unembedded", "d3", 1), ("q130", "not-in-corpus", 1), ("q131", "d4", 0)])
    assert fit("others") == first
    assert record(tmp_path / "first")["record"]["labels"] == 30


def test_labels_left_over_are_the_test_where_there_is_no_other(task: Any, askew: Askew, tmp_path: Path) -> None:
    (task.root / "qrels" / "test.tsv").unlink()
    task.judge("train", [*((f"q{row}", f"d{row}", 1) for row in range(120)), ("unembedded", "d3", 1)])
    found = askew("fit", task.root, "-o", tmp_path / "a", "--labels", 50, "--json", "--no-report").json()
    assert [cell["n"] for cell in found["tests"]][:4] == [71, 71, 71, 71]
    assert "test-missing-queries" in [finding["code"] for finding in found["findings"]]


def test_an_adapter_is_replaced_and_its_neighbours_are_left_alone(
    turned: Any, fitted: Any, askew: Askew, tmp_path: Path
) -> None:
    adapter = shutil.copytree(fitted.adapter, tmp_path / "adapter")
    (tmp_path / "neighbour").write_text("stays", encoding="utf-8")
    assert askew("fit", turned.root, "-o", adapter, "--labels", 20, "--seed", 3).code == 0
    assert record(adapter)["record"]["labels"] == 20
    assert sorted(path.name for path in tmp_path.iterdir()) == ["adapter", "adapter.html", "neighbour"]


def test_float16_and_float32_files_of_the_same_values_fit_alike(task: Any, askew: Askew, tmp_path: Path) -> None:
    for side, path in (("docs", task.documents), ("queries", task.queries)):
        task.embed(side, np.load(path).astype(np.float16))
    narrow = askew("fit", task.root, "-o", tmp_path / "a", "--json", "--no-report").json()
    for side, path in (("docs", task.documents), ("queries", task.queries)):
        task.embed(side, np.load(path).astype(np.float32))
    wide = askew("fit", task.root, "-o", tmp_path / "a", "--json", "--no-report").json()
    assert narrow == wide
