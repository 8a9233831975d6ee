"""A whole task from a folder."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

from askew.data import Dataset, EmbeddingSet, Qrels
from askew.errors import FormatError, MatchError, ParameterError
from askew.formats import list_encoders, list_splits, read_dataset, read_side, read_split, write_embeddings, write_qrels

QUERIES, DOCUMENTS = ["q1", "q2"], ["a", "b", "c"]


def embed(folder: Path, *, dim: int = 4, suffix: str = ".npy", sides: tuple[str, ...] = ("queries", "docs")) -> None:
    for side in sides:
        ids = QUERIES if side == "queries" else DOCUMENTS
        write_embeddings(EmbeddingSet(ids, np.eye(len(ids), dim), encoder="inside"), folder / f"{side}{suffix}")


def judge(file: Path) -> None:
    write_qrels(Qrels({"q1": {"a": 1}, "q2": {"b": 2, "elsewhere": 1}}), file)


@pytest.fixture
def task(tmp_path: Path) -> Path:
    """One encoder, one split, texts."""
    root = tmp_path / "newts"
    embed(root / "embeddings" / "tiny")
    judge(root / "qrels" / "test.tsv")
    (root / "queries.jsonl").write_text('{"_id": "q1", "text": "one"}\n{"_id": "q2", "text": "two"}\n')
    (root / "corpus.jsonl").write_text('{"_id": "a", "title": "A", "text": "first"}\n')
    return root


def test_all_of_it(task: Path) -> None:
    data = read_dataset(task)
    assert isinstance(data, Dataset)
    assert (data.name, data.queries.ids, data.documents.ids) == ("newts", ("q1", "q2"), ("a", "b", "c"))
    assert data.queries.encoder == data.documents.encoder == "tiny"
    assert isinstance(data.documents.matrix, np.memmap)
    assert data.query_texts == {"q1": "one", "q2": "two"}
    assert data.document_texts == {"a": "A first"}
    assert data.missing_documents == ("elsewhere",)
    assert (list_splits(task), list_encoders(task)) == (("test",), ("tiny",))


def test_the_name_is_that_of_the_folder_however_it_is_given(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(task)
    assert read_dataset(".").name == "newts"
    assert read_dataset(f"{task}/").name == "newts"


def test_without_texts(task: Path) -> None:
    (task / "corpus.jsonl").write_text("rubbish")
    assert read_dataset(task, texts=False).document_texts == {}
    with pytest.raises(FormatError, match=r"corpus\.jsonl:1"):
        read_dataset(task)


def test_texts_may_be_absent_or_gzip(task: Path) -> None:
    (task / "queries.jsonl").unlink()
    packed = gzip.compress((task / "corpus.jsonl").read_bytes())
    (task / "corpus.jsonl").unlink()
    (task / "corpus.jsonl.gz").write_bytes(packed)
    data = read_dataset(task)
    assert (data.query_texts, data.document_texts) == ({}, {"a": "A first"})


# Splits


def test_train_is_the_default(task: Path) -> None:
    judge(task / "qrels" / "dev.tsv")
    write_qrels(Qrels({"q1": {"c": 1}}), task / "qrels" / "train.tsv")
    assert list_splits(task) == ("dev", "test", "train")
    assert read_dataset(task).qrels == Qrels({"q1": {"c": 1}})
    assert read_dataset(task, split="dev").qrels.judgements == 3


def test_a_split_alone_needs_no_embeddings(task: Path) -> None:
    shutil.rmtree(task / "embeddings")
    assert read_split(task) == read_split(task, "test") == Qrels({"q1": {"a": 1}, "q2": {"b": 2, "elsewhere": 1}})
    with pytest.raises(ParameterError, match="no split 'train'"):
        read_split(task, "train")


def test_several_splits_and_no_train(task: Path) -> None:
    judge(task / "qrels" / "dev.tsv")
    with pytest.raises(ParameterError, match=r"2 splits: 'dev', 'test'\. Choose one with --split NAME"):
        read_dataset(task)


@pytest.mark.parametrize("name", ["other", "", "../qrels/test", "test.tsv"])
def test_no_such_split(task: Path, name: str) -> None:
    with pytest.raises(ParameterError, match=r"no split.*There: 'test'"):
        read_dataset(task, split=name)


def test_qrels_at_the_root(task: Path) -> None:
    shutil.move(task / "qrels" / "test.tsv", task / "qrels.tsv")
    assert list_splits(task) == ("qrels",)
    assert read_dataset(task).qrels == read_dataset(task, split="qrels").qrels


def test_what_is_no_split(task: Path) -> None:
    (task / "qrels" / "README.md").write_text("x")
    (task / "qrels" / ".hidden.tsv").write_text("x")
    (task / "qrels" / "folder.tsv").mkdir()
    judge(task / "qrels" / "dev.tsv.gz")
    assert list_splits(task) == ("dev", "test")


def test_no_judgements(task: Path) -> None:
    shutil.rmtree(task / "qrels")
    with pytest.raises(FormatError, match=r"no judgements\. Expected qrels/<split>.tsv.*found: 'corpus.jsonl'"):
        read_dataset(task)


# Encoders


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_straight_in_embeddings(task: Path, suffix: str) -> None:
    shutil.rmtree(task / "embeddings")
    embed(task / "embeddings", suffix=suffix)
    assert list_encoders(task) == ("embeddings",)
    data = read_dataset(task)
    assert data.documents.encoder == ("inside" if suffix == ".safetensors" else None)
    assert read_dataset(task, encoder="embeddings").documents.ids == data.documents.ids


def test_safetensors_in_an_encoder_folder(task: Path) -> None:
    shutil.rmtree(task / "embeddings")
    embed(task / "embeddings" / "big", suffix=".safetensors", dim=6)
    assert read_dataset(task).documents.dim == 6


def test_two_encoders(task: Path) -> None:
    embed(task / "embeddings" / "big", dim=6)
    assert list_encoders(task) == ("big", "tiny")
    with pytest.raises(ParameterError, match=r"2 encoders: 'big', 'tiny'\. Choose one with --encoder NAME"):
        read_dataset(task)
    data = read_dataset(task, encoder="tiny", document_encoder="big")
    assert (data.queries.encoder, data.queries.dim) == ("tiny", 4)
    assert (data.documents.encoder, data.documents.dim) == ("big", 6)
    assert read_dataset(task, encoder="big").queries.dim == 6


def test_queries_by_two_encoders_side_by_side(task: Path) -> None:
    embed(task / "embeddings" / "more", dim=3, sides=("queries",))
    data = read_dataset(task, encoder="tiny+more")
    assert (data.queries.encoder, data.queries.dim) == ("tiny+more", 7)
    assert data.queries.matrix.tolist() == [[1, 0, 0, 0, 1, 0, 0], [0, 1, 0, 0, 0, 1, 0]]
    assert (data.documents.encoder, data.documents.dim) == ("tiny", 4)
    other = read_dataset(task, encoder="more+tiny", document_encoder="tiny")
    assert (other.queries.encoder, other.documents.encoder) == ("more+tiny", "tiny")
    assert read_side(task, "queries", "tiny+more").encoder == "tiny+more"
    for refused in (
        lambda: read_dataset(task, encoder="tiny", document_encoder="tiny+more"),
        lambda: read_side(task, "documents", "tiny+more"),
        lambda: read_dataset(task, encoder="tiny+none"),
    ):
        with pytest.raises(ParameterError, match="no encoder"):
            refused()
    with pytest.raises(FormatError, match="'more' has no embeddings of documents"):
        read_dataset(task, encoder="more+tiny")


def test_an_encoder_whose_name_holds_a_plus_is_itself(task: Path) -> None:
    embed(task / "embeddings" / "tiny+more", dim=3)
    assert read_dataset(task, encoder="tiny+more").queries.dim == 3
    embed(task / "embeddings" / "other")
    both = read_dataset(task, encoder="tiny+more+other")
    assert (both.queries.dim, both.documents.encoder) == (7, "tiny+more")


def test_a_name_that_can_be_read_in_two_ways_is_refused(task: Path) -> None:
    embed(task / "embeddings" / "more")
    embed(task / "embeddings" / "tiny+more", dim=3)
    with pytest.raises(ParameterError, match=r"may be the encoder 'tiny\+more', or 'tiny' and 'more' side by side"):
        read_dataset(task, encoder="tiny+more")
    embed(task / "embeddings" / "more+more")
    with pytest.raises(ParameterError, match=r"may be 'tiny\+more' and 'more', or 'tiny' and 'more\+more'"):
        read_side(task, "queries", "tiny+more+more")


def test_one_encoder_has_both_sides_and_the_other_one(task: Path) -> None:
    embed(task / "embeddings" / "half", sides=("docs",), dim=6)
    assert list_encoders(task) == ("half", "tiny")
    assert read_dataset(task).documents.encoder == "tiny"
    assert read_dataset(task, document_encoder="half").queries.encoder == "tiny"
    with pytest.raises(FormatError, match=r"half: the encoder 'half' has no embeddings of queries\. Put queries\.npy"):
        read_dataset(task, encoder="half")


def test_each_encoder_has_one_side(task: Path) -> None:
    shutil.rmtree(task / "embeddings")
    embed(task / "embeddings" / "left", sides=("queries",))
    embed(task / "embeddings" / "right", sides=("docs",))
    with pytest.raises(ParameterError, match="2 encoders"):
        read_dataset(task)
    assert read_dataset(task, document_encoder="right").queries.encoder == "left"
    with pytest.raises(FormatError, match="'left' has no embeddings of documents"):
        read_dataset(task, encoder="left")


@pytest.mark.parametrize("name", ["other", "", "../embeddings/tiny", "queries.jsonl"])
@pytest.mark.parametrize("side", ["encoder", "document_encoder"])
def test_no_such_encoder(task: Path, name: str, side: str) -> None:
    with pytest.raises(ParameterError, match=r"no encoder.*There: 'tiny'"):
        read_dataset(task, **{side: name})  # type: ignore[arg-type]  # one of two str options


def test_sparse_is_not_dense(task: Path) -> None:
    folder = task / "embeddings" / "splade"
    folder.mkdir()
    scipy.sparse.save_npz(folder / "docs.npz", scipy.sparse.eye(3, format="csr"))
    (folder / "docs.ids").write_text("a\nb\nc\n")
    assert list_encoders(task) == ("tiny",)
    assert read_dataset(task).documents.encoder == "tiny"
    with pytest.raises(FormatError, match=r"'splade' holds sparse vectors \(\.npz\), which are not supported.*'tiny'"):
        read_dataset(task, encoder="splade")


def test_no_embeddings(task: Path) -> None:
    shutil.rmtree(task / "embeddings")
    assert list_encoders(task) == ()
    with pytest.raises(FormatError, match=r"no embeddings\. Expected"):
        read_dataset(task)
    with pytest.raises(ParameterError, match="There: none"):
        read_dataset(task, encoder="tiny")


def test_no_ids_beside_the_matrix(task: Path) -> None:
    (task / "embeddings" / "tiny" / "docs.ids").unlink()
    with pytest.raises(FormatError, match=r"docs\.npy: there are no ids for its rows\. Put 3 ids"):
        read_dataset(task)


def test_bad_rows_go_through(task: Path) -> None:
    file = task / "embeddings" / "tiny" / "docs.npy"
    array = np.load(file)
    array[1, 1] = np.inf
    np.save(file, array)
    assert read_dataset(task, bad_rows="drop").documents.dropped == ("b",)


def test_ids_that_do_not_meet(task: Path) -> None:
    (task / "embeddings" / "tiny" / "docs.ids").write_text("x\ny\nz\n")
    with pytest.raises(MatchError, match="newts"):
        read_dataset(task)


# The folder itself


@pytest.mark.parametrize("name", ["none", "a\0b", "x" * 5000], ids=["missing", "nul", "too-long"])
def test_no_such_folder(tmp_path: Path, name: str) -> None:
    for reader in (read_dataset, list_splits, list_encoders):
        with pytest.raises(FormatError, match=r"no such folder\. Expected qrels/"):
            reader(f"{tmp_path}/{name}")


def test_a_file_is_no_folder(task: Path) -> None:
    with pytest.raises(FormatError, match="is a file, not a folder"):
        read_dataset(task / "corpus.jsonl")


def test_a_folder_that_may_not_be_listed(task: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    for reader in (read_dataset, list_splits, list_encoders):
        with pytest.raises(FormatError, match="Permission denied"):
            reader(task)
