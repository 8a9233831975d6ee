"""Queries and documents by two encoders: of other dimensions, or of the same and only named differently."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Askew = Callable[..., Any]
ASKED = ("--encoder", "asked", "--document-encoder", "told")


@pytest.fixture
def two(new_task: Callable[..., Any], tmp_path: Path) -> Any:
    """240 queries in 16 dimensions, documents in 24; what leads from one to the other is linear."""
    task = new_task(tmp_path / "two", train=180, angle=0.3, noise=0.2)
    narrow = np.linalg.qr(np.random.default_rng(5).normal(size=(24, 24)))[0][:, :16]
    rows = np.load(task.queries) @ narrow
    task.embed("queries", (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), encoder="asked")
    task.embed("docs", np.load(task.documents), encoder="told")
    return task


def paths(task: Any) -> tuple[Path, Path]:
    folder = task.root / "embeddings"
    return folder / "asked" / "queries.npy", folder / "told" / "docs.npy"


def test_fit_evaluate_apply_search_inspect(two: Any, askew: Askew, tmp_path: Path) -> None:
    adapter = tmp_path / "a"
    told = askew("fit", two.root, *ASKED, "-o", adapter, "--json").json()
    assert told["verdict"]["decision"] == "adapt"
    assert told["verdict"]["base"] < 0.2  # all scores are 0, so ids decide
    assert told["verdict"]["adapted"] > 0.4
    facts = askew("inspect", adapter, "--json").json()
    assert (facts["query_encoder"], facts["d_query"]) == ("asked", 16)
    assert (facts["document_encoder"], facts["d_document"]) == ("told", 24)
    assert (facts["prior"], facts["correction"]) == ("zero", "dense matrix")
    assert "told" in askew("inspect", adapter).out
    found = askew("evaluate", two.root, *ASKED, "-a", adapter, "--json").json()
    assert found["means"]["nDCG@10"] == told["tests"][0]["other_mean"]
    queries, documents = paths(two)
    assert askew("apply", adapter, queries, "-o", tmp_path / "adapted.npy", "--json").json()["dim"] == 24
    searched = askew("search", queries, documents, "-a", adapter, "--json")
    assert searched.json() == askew("search", tmp_path / "adapted.npy", documents, "--json").json()
    assert searched.err == ""
    named = askew("search", queries, documents, "-a", adapter, *ASKED, "--json")
    assert named.json() == searched.json()
    with_page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "asked" in with_page
    assert "told" in with_page


def test_sides_that_are_swapped_are_refused(two: Any, askew: Askew, tmp_path: Path) -> None:
    adapter = tmp_path / "a"
    assert askew("fit", two.root, *ASKED, "-o", adapter, "--no-report").code == 0
    queries, documents = paths(two)
    message = askew("search", documents, queries, "-a", adapter).refused(3)
    assert "16 dimensions, the adapter takes 24" in message
    message = askew("search", queries, documents, "-a", adapter, "--encoder", "told").refused(4)
    assert "'told', the adapter was fitted on 'asked'" in message
    message = askew("evaluate", two.root, "-a", adapter, "--encoder", "tiny").refused(4)
    assert "'tiny', the adapter was fitted on 'told'" in message


def test_without_an_adapter_there_is_no_base(two: Any, askew: Askew) -> None:
    message = askew("evaluate", two.root, *ASKED).refused(3)
    assert "the queries (asked) have 16 dimensions and the documents (told) 24" in message
    assert "fit an adapter between the two" in message


def test_two_encoders_of_one_dimension_are_not_mixed_in_silence(task: Any, askew: Askew, tmp_path: Path) -> None:
    task.embed("queries", np.load(task.queries), encoder="asked")
    task.embed("docs", np.load(task.documents), encoder="told")
    said = askew("evaluate", task.root, *ASKED, "--json")
    assert "warning: queries are embedded by 'asked' and documents by 'told': unless the two were trained" in said.err
    assert "'askew align', or 'askew fit' with --query-encoder and --document-encoder" in said.err
    assert "two-encoders" in [finding["code"] for finding in said.json()["findings"]]
    queries, documents = paths(task)
    assert "'asked' and documents by 'told'" in askew("search", queries, documents, *ASKED).err
    assert askew("search", queries, documents).err == ""
    said = askew("fit", task.root, *ASKED, "-o", tmp_path / "a", "--json")
    assert "--query-encoder and --document-encoder of 'askew fit', or 'askew align' without labels" in said.err
    told = said.json()
    facts = askew("inspect", tmp_path / "a", "--json").json()
    assert (facts["prior"], facts["query_encoder"], facts["document_encoder"]) == ("zero", "asked", "told")
    assert told["tests"][0]["base_mean"] < 0.1
    assert askew("search", queries, documents, *ASKED, "-a", tmp_path / "a").err == ""


def test_one_side_alone_lies_in_an_encoder_s_folder(two: Any, askew: Askew, tmp_path: Path) -> None:
    message = askew("evaluate", two.root, "--encoder", "told").refused(3)
    assert "'told' has no embeddings of queries" in message
    (two.root / "embeddings" / "tiny" / "queries.npy").unlink()
    said = askew("fit", two.root, "--document-encoder", "told", "-o", tmp_path / "a", "--json")
    assert said.json()["verdict"]["decision"] == "adapt"


def test_no_scale_is_kept_where_there_is_no_base(two: Any, askew: Askew, tmp_path: Path) -> None:
    said = askew("fit", two.root, *ASKED, "-o", tmp_path / "a", "--keep-scale").refused(2)
    assert "queries and documents come from two encoders, so there is no base whose scale could be kept" in said
    assert not (tmp_path / "a").exists()
