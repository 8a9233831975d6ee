"""Real folders, where they stand beside the project; counts are those of their own README."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askew.errors import AskewError
from askew.formats import list_encoders, list_splits, read_dataset
from askew.formats.text import read_lines

DATA = Path(__file__).parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the data folder is not beside the project")

# Folder, split, documents, judged queries.
TASKS = [
    ("scifact", "test", 5183, 300),
    ("scifact", "train", 5183, 809),
    ("nfcorpus-pp", "train", 3395, 2563),
    ("nfcorpus-pp", "dev", 3395, 324),
    ("nfcorpus-pp", "test", 3395, 323),
    ("cosqa", "dev", 6267, 500),
    ("cosqa", "test", 6267, 500),
    ("cranfield", "test", 1400, 225),
    ("semantoneg", "train", 2435, 1583),
    ("semantoneg", "test", 2435, 1569),
    ("condaqa-neg", "train", 3225, 1602),
    ("condaqa-neg", "dev", 3225, 468),
    ("condaqa-neg", "test", 3225, 1540),
]


def folder(name: str) -> Path:
    if not (DATA / name).is_dir():
        pytest.skip(f"{name} is not there")
    return DATA / name


@pytest.mark.parametrize(("name", "split", "documents", "queries"), TASKS, ids=str)
def test_counts(name: str, split: str, documents: int, queries: int) -> None:
    data = read_dataset(folder(name), split=split, encoder="minilm-l6", texts=False)
    assert len(data.documents) == documents
    assert len(data.qrels) == queries
    assert not data.missing_queries
    assert (data.name, data.documents.dim, data.documents.dtype) == (name, 384, np.dtype("float16"))
    assert isinstance(data.documents.matrix, np.memmap)
    assert not data.documents.dropped


@pytest.mark.parametrize("name", ["scifact", "nfcorpus-pp", "cosqa", "cranfield", "semantoneg", "condaqa-neg"])
def test_texts_meet_embeddings(name: str) -> None:
    root = folder(name)
    data = read_dataset(root, split=list_splits(root)[0], encoder="wordllama-256", document_encoder="minilm-l6")
    assert set(data.document_texts) == set(data.documents.ids)
    assert set(data.queries.ids) <= set(data.query_texts)
    assert (data.queries.dim, data.documents.dim) == (256, 384)


def test_what_there_is() -> None:
    root = folder("semantoneg")
    assert list_splits(root) == ("test", "train")
    assert list_encoders(root) == ("minilm-l6", "wordllama-256")
    with pytest.raises(AskewError, match="sparse"):
        read_dataset(root, encoder="splade-tiny")
    with pytest.raises(AskewError, match="--encoder NAME"):
        read_dataset(root)


def test_a_title_goes_before_the_text() -> None:
    text = read_dataset(folder("scifact"), encoder="minilm-l6").document_texts["4983"]
    assert text.startswith("Microstructural development of human newborn cerebral white matter assessed")
    assert "diffusion tensor magnetic resonance imaging. Alterations of the architecture" in text


def test_judgements_are_every_line() -> None:
    root = folder("nfcorpus-pp")
    data = read_dataset(root, split="train", encoder="minilm-l6", texts=False)
    lines = sum(1 for _ in read_lines(root / "qrels" / "train.tsv"))
    assert data.qrels.judgements == lines - 1  # the header


def test_a_task_as_the_hub_keeps_it_is_the_same_task(tmp_path: Path) -> None:
    """Parquet shards of ids, texts and float16 lists, and whole-number ids in the labels."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    before = read_dataset(folder("scifact"), split="test", encoder="minilm-l6")
    for stem, held, texts in (
        ("queries", before.queries, before.query_texts),
        ("corpus", before.documents, before.document_texts),
    ):
        lists = pa.FixedSizeListArray.from_arrays(pa.array(np.asarray(held.matrix).ravel()), held.dim)
        table = pa.table({"_id": held.ids, "text": [texts[name] for name in held.ids], "embedding": lists})
        (tmp_path / stem).mkdir()
        for part, first in enumerate((0, len(table) // 2)):
            rows = table.slice(first, len(table) // 2 if part == 0 else None)
            pq.write_table(rows, tmp_path / stem / f"{stem}-0000{part}-of-00002.parquet")
    pairs = [(int(q), int(d), grade) for q, judged in before.qrels.grades.items() for d, grade in judged.items()]
    columns = zip(("query-id", "corpus-id", "score"), zip(*pairs, strict=True), strict=True)
    (tmp_path / "data").mkdir()
    pq.write_table(pa.table({name: list(cells) for name, cells in columns}), tmp_path / "data" / "test.parquet")
    after = read_dataset(tmp_path)
    assert (after.qrels, after.queries.ids, after.documents.ids) == (
        before.qrels,
        before.queries.ids,
        before.documents.ids,
    )
    assert (after.query_texts, after.document_texts) == (before.query_texts, before.document_texts)
    np.testing.assert_array_equal(after.documents.matrix, before.documents.matrix)
    assert after.documents.dtype == np.float16
