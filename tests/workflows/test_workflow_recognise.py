"""Recognise: other texts under the same ids are no sign of another encoder, the same texts elsewhere are."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.data import Dataset, EmbeddingSet
from askew.errors import EncoderMismatchError
from askew.estimators import Ridge
from askew.workflows.compare import compare_folder
from askew.workflows.recognise import recognising
from askew.workflows.score import score

QUICK: dict[str, Any] = {"estimators": [Ridge(strengths=(0.1,))]}


def told(task: Dataset, word: str) -> Dataset:
    """The same ids with texts of their own."""
    return replace(
        task,
        query_texts={name: f"{word} {name}" for name in task.queries.ids},
        document_texts={name: f"{word} {name}" for name in task.documents.ids},
    )


@pytest.fixture(scope="module")
def here(new_task: Callable[..., Dataset]) -> Dataset:
    return told(new_task(queries=40, documents=80), "here")


@pytest.fixture(scope="module")
def there(new_task: Callable[..., Dataset]) -> Dataset:
    """Another collection, by the same encoder, which counts from 0 as well."""
    return told(new_task(queries=40, documents=80, seed=7), "there")


def test_other_texts_under_the_same_ids_are_compared_on(here: Dataset, there: Dataset) -> None:
    found = askew.fit(here, **QUICK, also=[there])
    assert [one.comparisons[0].n for one in found.elsewhere] == [40]
    plain = replace(there, query_texts={}, document_texts={})
    with pytest.raises(EncoderMismatchError, match="give it an id of its own"):
        recognising(found.candidate, plain)
    seen = recognising(found.candidate, there).provenance.seen
    assert seen is not None
    assert not seen.knows_query("q0"), "an id that names another text there was not seen"
    assert seen.split_documents(["d0"])[2] == {"d0"}
    home = recognising(found.candidate, here).provenance.seen
    assert home is not None
    assert home.knows_query("q0")


@pytest.mark.parametrize("side", ["queries", "documents"])
def test_the_same_text_with_another_vector_is_refused_before_the_fit(here: Dataset, there: Dataset, side: str) -> None:
    changed = replace(here, **{side: getattr(there, side)})
    calls: list[int] = []
    with pytest.raises(EncoderMismatchError, match="has changed"):
        askew.fit(here, **QUICK, also=[changed], progress=lambda done, _: calls.append(done))
    assert not calls


def write(task: Dataset, root: Path, *, texts: bool = True) -> Path:
    """A folder in BEIR's layout."""
    for side, held, words in (
        ("queries", task.queries, task.query_texts),
        ("docs", task.documents, task.document_texts),
    ):
        place = root / "embeddings" / "tiny"
        place.mkdir(parents=True, exist_ok=True)
        np.save(place / f"{side}.npy", np.asarray(held.matrix))
        (place / f"{side}.ids").write_text("\n".join(held.ids))
        name = "corpus" if side == "docs" else side
        if texts:
            lines = [json.dumps({"_id": one, "text": words[one]}) for one in held.ids]
            (root / f"{name}.jsonl").write_text("\n".join(lines))
    (root / "qrels").mkdir()
    rows = [f"{query}\t{name}\t1" for query in task.qrels.queries for name in task.qrels.positives(query)]
    (root / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "\n".join(rows))
    return root


def test_folders_are_read_for_texts_where_a_vector_differs(here: Dataset, there: Dataset, tmp_path: Path) -> None:
    askew.save(askew.fit(here, **QUICK).candidate, tmp_path / "adapter")
    other = write(there, tmp_path / "there")
    assert score(other, adapter=tmp_path / "adapter").comparisons[0][1].n == 40
    _, found = compare_folder(other, ["base", str(tmp_path / "adapter")])
    assert found.queries == 40
    silent = write(there, tmp_path / "silent", texts=False)
    with pytest.raises(EncoderMismatchError, match="has changed"):
        score(silent, adapter=tmp_path / "adapter")


def test_a_version_that_changed_is_found_by_its_texts(here: Dataset) -> None:
    adapter = askew.fit(here, **QUICK).candidate
    turned = EmbeddingSet(here.documents.ids, np.asarray(here.documents.matrix)[:, ::-1], encoder="tiny")
    with pytest.raises(EncoderMismatchError, match="the vector of document"):
        recognising(adapter, replace(here, documents=turned))
