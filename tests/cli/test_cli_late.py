"""`search --late`: many vectors an item, from folders and .npz."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.data import TokenEmbeddings
from askew.formats import read_run, write_tokens

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


def test_reproduce_constructions(askew: Askew, tmp_path: Path) -> None:
    said = askew("reproduce", "constructions", "--quick", "-o", tmp_path, "--json").json()
    (table,) = said["studies"][0]["tables"]
    assert table["head"][:4] == ["construction", "dimensions", "indices", "type"]
    assert (tmp_path / "constructions.md").is_file()
