"""The WordLlama encoder: offline, quiet, finite, and the same bits in every batch."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.encoders import WordLlamaEncoder
from askew.errors import InputError, MissingExtraError, ParameterError
from askew.protocols import Encoder

needs_wordllama = pytest.mark.skipif(
    importlib.util.find_spec("wordllama") is None, reason="wordllama (the extra 'demo') is not installed"
)

TEXTS = [
    "open a file and read it",
    "",
    "Return the HTTP status of a response.",
    "def parse url(text): return text.split('/')",
    "x",
    "naïve café ☕ \U0001f9ed",
    "one two three " * 700,
]

# Runs in a fresh process: in this one the package may have been imported already.
ALONE = """
import logging, socket, sys, warnings

def refuse(*args, **kwargs):
    raise AssertionError("the network was asked")

socket.socket.connect = socket.socket.connect_ex = refuse
socket.create_connection = socket.getaddrinfo = refuse
import askew.encoders
assert "wordllama" not in sys.modules, "imported too early"
before = logging.root.level, list(logging.root.handlers), logging.root.disabled, list(warnings.filters)
rows = askew.encoders.WordLlamaEncoder().encode(["read a file"])
after = logging.root.level, list(logging.root.handlers), logging.root.disabled, list(warnings.filters)
assert before == after, (before, after)
assert "torch" not in sys.modules
assert rows.shape == (1, 256)
"""


@pytest.fixture(scope="module")
def encoder() -> WordLlamaEncoder:
    pytest.importorskip("wordllama", reason="wordllama (the extra 'demo') is not installed")
    return WordLlamaEncoder()


@needs_wordllama
@pytest.mark.parametrize("offline", ["0", "1"])
def test_no_network_no_output_no_settings_changed(offline: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", ALONE]
    settings = {"HF_HUB_OFFLINE": offline, "HOME": str(tmp_path)}  # an empty home: no cache of models
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | settings)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_is_an_encoder(encoder: WordLlamaEncoder) -> None:
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.dim) == ("wordllama-256", 256)


def test_rows_are_finite_float32_and_of_norm_one_or_zero(encoder: WordLlamaEncoder) -> None:
    rows = encoder.encode(TEXTS)
    assert rows.shape == (len(TEXTS), 256)
    assert rows.dtype == np.float32
    norms = np.linalg.norm(rows.astype(np.float64), axis=1)
    np.testing.assert_allclose(norms, [1.0 if text else 0.0 for text in TEXTS], atol=1e-6)


def test_no_texts_give_no_rows(encoder: WordLlamaEncoder) -> None:
    assert encoder.encode([]).shape == (0, 256)


def test_agrees_with_the_package_itself(encoder: WordLlamaEncoder) -> None:
    import wordllama

    texts = [text for text in TEXTS if text]
    folder = Path(wordllama.__file__).parent
    theirs = wordllama.WordLlama.load(cache_dir=folder, disable_download=True).embed(texts, norm=True)
    np.testing.assert_allclose(encoder.encode(texts), theirs, atol=2e-6)


def test_same_bits_in_every_batch(encoder: WordLlamaEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = encoder.encode(TEXTS)
    alone = np.concatenate([encoder.encode([text]) for text in TEXTS])
    backwards = encoder.encode(TEXTS[::-1])[::-1]
    monkeypatch.setattr(encoder, "batch", 2)
    for other in (alone, backwards, encoder.encode(TEXTS), WordLlamaEncoder().encode(TEXTS)):
        assert other.tobytes() == whole.tobytes()


def test_the_order_of_words_does_not_matter_to_a_bit(encoder: WordLlamaEncoder) -> None:
    first, second = encoder.encode([" read write close", " close read write"])
    assert first.tobytes() == second.tobytes()


def test_progress_counts_texts(encoder: WordLlamaEncoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "batch", 3)
    heard: list[tuple[int, int]] = []
    encoder.encode(TEXTS, progress=lambda done, total: heard.append((done, total)))
    assert heard == [(3, 7), (6, 7), (7, 7)]


def test_unpaired_surrogates_read_as_question_marks(encoder: WordLlamaEncoder) -> None:
    broken, mended = encoder.encode(["a \ud800 b", "a ? b"])
    assert broken.tobytes() == mended.tobytes()


def test_one_string_is_refused(encoder: WordLlamaEncoder) -> None:
    with pytest.raises(ParameterError, match="one string"):
        encoder.encode("hello")


def test_there_are_two_kinds_of_texts(encoder: WordLlamaEncoder) -> None:
    with pytest.raises(ParameterError, match="there is no kind 'foo'"):
        encoder.encode(["x"], kind="foo")  # type: ignore[arg-type]


def test_what_is_no_string_is_refused(encoder: WordLlamaEncoder) -> None:
    texts: list[Any] = ["a", None]
    with pytest.raises(InputError, match="text 1 is a NoneType"):
        encoder.encode(texts)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(MissingExtraError, match=r"\.\[demo\]"):
        WordLlamaEncoder()


@needs_wordllama
def test_a_package_without_weights_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordllama.WordLlama.get_filename", lambda *args, **kwargs: "no.safetensors")
    with pytest.raises(MissingExtraError, match=r"without its weights.*no\.safetensors.*--force-reinstall"):
        WordLlamaEncoder()
