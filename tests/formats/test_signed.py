"""Saved heads: as they were, or a clear refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.adapters import Adapter, Canaries
from askew.errors import ArtefactError, EncoderMismatchError, OutputError
from askew.formats import SignedArtefact, load_signed, save_adapter, save_signed
from askew.operators import BilinearOperator, Identity


@pytest.fixture
def artefact() -> SignedArtefact:
    weights = {"query_head.outer.weight": np.ones((1, 4), dtype=np.float32)}
    canaries = Canaries(("a", "b"), np.eye(4, dtype=np.float32)[:2], ("one text", "another"))
    return SignedArtefact("query", "states", 4, 0, True, weights, "tiny", canaries, record={"steps": 3})


def test_it_comes_back_as_it_was(artefact: SignedArtefact, tmp_path: Path) -> None:
    found = load_signed(save_signed(artefact, tmp_path / "head"))
    assert (found.gates, found.attach, found.width, found.hidden, found.bounded) == ("query", "states", 4, 0, True)
    assert (found.encoder, found.tuned, found.record, found.encoder_folder) == ("tiny", False, {"steps": 3}, None)
    np.testing.assert_array_equal(found.weights["query_head.outer.weight"], np.ones((1, 4)))
    assert found.canaries.texts == ("one text", "another")


def test_a_tuned_encoder_goes_with_it_and_is_replaced_with_it(artefact: SignedArtefact, tmp_path: Path) -> None:
    def save(folder: str) -> None:
        (Path(folder) / "inner").mkdir(parents=True)
        (Path(folder) / "inner" / "weights").write_text("w")

    tuned = SignedArtefact(
        **{**{name: getattr(artefact, name) for name in artefact.__dataclass_fields__}, "tuned": True}
    )
    for _ in range(2):
        found = load_signed(save_signed(tuned, tmp_path / "head", save_encoder=save))
    assert found.encoder_folder is not None
    assert (found.encoder_folder / "inner" / "weights").read_text() == "w"


def test_another_encoder_is_refused(artefact: SignedArtefact) -> None:
    artefact.check(artefact.canaries.vectors, "tiny again")
    with pytest.raises(EncoderMismatchError, match="'other' gives other vectors"):
        artefact.check(np.eye(4, dtype=np.float32)[2:], "other")
    with pytest.raises(EncoderMismatchError, match="4 dimensions, and 'other' has 3"):
        artefact.check(np.ones((2, 3), dtype=np.float32), "other")


@pytest.mark.parametrize("name", ["manifest.json", "tensors.safetensors"])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_cut_short_is_refused(artefact: SignedArtefact, tmp_path: Path, name: str, share: float) -> None:
    folder = save_signed(artefact, tmp_path / "head")
    payload = (folder / name).read_bytes()
    (folder / name).write_bytes(payload[: int(share * len(payload))])
    with pytest.raises(ArtefactError, match=name):
        load_signed(folder)


def test_other_things_are_not_overwritten(artefact: SignedArtefact, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(OutputError, match="other things"):
        save_signed(artefact, tmp_path)
    with pytest.raises(ArtefactError, match="no head here"):
        load_signed(tmp_path / "nowhere")


def test_an_adapter_of_the_same_file_names_is_no_head(artefact: SignedArtefact, tmp_path: Path) -> None:
    adapter = save_adapter(Adapter(BilinearOperator(Identity(3))), tmp_path / "adapter")
    head = save_signed(artefact, tmp_path / "head")
    before = [(path.name, path.read_bytes()) for folder in (adapter, head) for path in sorted(folder.iterdir())]
    with pytest.raises(OutputError, match="other things than a head"):
        save_signed(artefact, adapter)
    with pytest.raises(OutputError, match="other things than an adapter"):
        save_adapter(Adapter(BilinearOperator(Identity(3))), head)
    assert before == [(path.name, path.read_bytes()) for folder in (adapter, head) for path in sorted(folder.iterdir())]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gates", "foo"),
        ("gates", None),
        ("attach", []),
        ("width", "a"),
        ("bounded", "no"),
        ("encoder", 5),
        ("tuned", 1),
    ],
)
def test_a_manifest_that_says_what_cannot_be_is_refused(
    artefact: SignedArtefact, tmp_path: Path, name: str, value: Any
) -> None:
    head = save_signed(artefact, tmp_path / "head")
    manifest = json.loads((head / "manifest.json").read_text())
    (head / "manifest.json").write_text(json.dumps({**manifest, name: value}))
    with pytest.raises(ArtefactError, match=f"{name} is"):
        load_signed(head)
