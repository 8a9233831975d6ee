"""One table of cases, crossed: what is read × every format × alone, packed, in shards, in a folder."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.data import EmbeddingSet, Qrels
from askew.errors import AskewError, EmbeddingError, FormatError, MissingExtraError
from askew.formats import read_dataset, read_embeddings, read_qrels, read_texts, write_embeddings
from askew.formats import text as text_module

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

Records = Sequence[dict[str, Any]]

LABELS = [
    {"query-id": "q 1", "corpus-id": "d1", "score": 2},
    {"query-id": "q 1", "corpus-id": "d,2", "score": 0},
    {"query-id": "é", "corpus-id": "d1", "score": 0.5},
]
GRADES = Qrels({"q 1": {"d1": 2, "d,2": 0}, "é": {"d1": 0.5}})
TEXTS = [{"_id": "a", "title": "A", "text": "first, of two"}, {"_id": "é", "title": "", "text": 'say "so"'}]
TOLD = {"a": "A first, of two", "é": 'say "so"'}
VECTORS = [
    {"id": "a", "embedding": [0.5, -1.0]},
    {"id": "é", "embedding": [0.25, 3.0]},
    {"id": "7", "embedding": [0.0, 1.0]},
]
MATRIX = np.array([row["embedding"] for row in VECTORS])


def packed_csv(records: Records, *, separator: str = ",") -> bytes:
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=separator)
    writer.writerow(records[0])
    writer.writerows([json.dumps(cell) if isinstance(cell, list) else cell for cell in row.values()] for row in records)
    return lines.getvalue().encode()


def tabs(records: Records) -> bytes:
    rows = [[json.dumps(cell) if isinstance(cell, list) else str(cell) for cell in row.values()] for row in records]
    return "".join("\t".join(row) + "\n" for row in [list(records[0]), *rows]).encode()


def json_lines(records: Records) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in records).encode()


def table(records: Records, *, listed: Any = None) -> Any:
    held = pa.Table.from_pylist([dict(row) for row in records])
    if listed is not None and "embedding" in held.column_names:
        held = held.set_column(1, "embedding", held["embedding"].cast(listed))
    return held


def parquet(records: Records, *, listed: Any = None) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table(records, listed=listed), buffer, row_group_size=2)
    return buffer.getvalue()


def arrow(records: Records, *, listed: Any = None, stream: bool = False) -> bytes:
    held, buffer = table(records, listed=listed), io.BytesIO()
    writer = pa.ipc.new_stream if stream else pa.ipc.new_file
    with writer(buffer, held.schema) as writing:
        writing.write_table(held, max_chunksize=2)
    return buffer.getvalue()


def categories(records: Records) -> bytes:
    """Ids as dictionaries, as pandas writes its categories."""
    held, buffer = table(records), io.BytesIO()
    name = held.column_names[0]
    held = held.set_column(0, name, held[name].dictionary_encode())
    pq.write_table(held, buffer)
    return buffer.getvalue()


WRITERS: dict[str, tuple[str, Callable[[Records], bytes]]] = {
    "csv": (".csv", packed_csv),
    "csv-semicolons": (".csv", lambda records: packed_csv(records, separator=";")),
    "tsv": (".tsv", tabs),
    "jsonl": (".jsonl", json_lines),
    "ndjson": (".ndjson", json_lines),
    "parquet": (".parquet", parquet),
    "parquet-categories": (".parquet", categories),
    "arrow-file": (".arrow", arrow),
    "arrow-stream": (".arrow", lambda records: arrow(records, stream=True)),
    "feather": (".feather", arrow),
    "capitals": (".JSONL", json_lines),
}
FORMATS = pytest.mark.parametrize(("ending", "write"), WRITERS.values(), ids=WRITERS.keys())
TEXT_FORMATS = pytest.mark.parametrize(
    ("ending", "write"), [WRITERS[name] for name in ("csv", "tsv", "jsonl")], ids=["csv", "tsv", "jsonl"]
)


def put(folder: Path, files: dict[str, bytes]) -> Path:
    for name, raw in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(raw)
    return folder


def lay(folder: Path, how: str, ending: str, write: Callable[[Records], bytes], records: Records) -> Path:
    """Write records in one file or in two shards; the path that names them all."""
    if how == "alone":
        return put(folder, {f"a{ending}": write(records)}) / f"a{ending}"
    names = [f"a-0000{part}-of-00002{ending}" for part in (0, 1)]
    shards = dict(zip(names, (write(records[:1]), write(records[1:])), strict=True))
    if how == "shards":
        return put(folder, shards) / f"a{ending}"
    if how == "pattern":
        return put(folder, shards) / f"a-*{ending}"
    return put(folder / "a", {**shards, "dataset_info.json": b"{}", "state.json": b"{}"})


LAID = pytest.mark.parametrize("how", ["alone", "shards", "pattern", "folder"])


@FORMATS
@LAID
def test_labels(tmp_path: Path, how: str, ending: str, write: Callable[[Records], bytes]) -> None:
    qrels = read_qrels(lay(tmp_path, how, ending, write, LABELS))
    assert qrels == GRADES
    assert qrels.queries == GRADES.queries


@FORMATS
@LAID
def test_texts(tmp_path: Path, how: str, ending: str, write: Callable[[Records], bytes]) -> None:
    texts = read_texts(lay(tmp_path, how, ending, write, TEXTS))
    assert texts == TOLD
    assert list(texts) == list(TOLD)


@FORMATS
@LAID
def test_embeddings(tmp_path: Path, how: str, ending: str, write: Callable[[Records], bytes]) -> None:
    held = read_embeddings(lay(tmp_path, how, ending, write, VECTORS))
    assert held.ids == ("a", "é", "7")
    np.testing.assert_array_equal(held.matrix, MATRIX)


@TEXT_FORMATS
def test_gzip(tmp_path: Path, ending: str, write: Callable[[Records], bytes]) -> None:
    put(
        tmp_path,
        {
            f"{name}{ending}.gz": gzip.compress(write(rows))
            for name, rows in (("l", LABELS), ("t", TEXTS), ("v", VECTORS))
        },
    )
    assert read_qrels(tmp_path / f"l{ending}.gz") == GRADES
    assert read_texts(tmp_path / f"t{ending}.gz") == TOLD
    np.testing.assert_array_equal(read_embeddings(tmp_path / f"v{ending}.gz").matrix, MATRIX)


@TEXT_FORMATS
@pytest.mark.parametrize("cut", [1, 9, 20])
def test_gzip_that_is_cut_short_is_refused(
    tmp_path: Path, ending: str, write: Callable[[Records], bytes], cut: int
) -> None:
    for name, rows, read in (("l", LABELS, read_qrels), ("t", TEXTS, read_texts), ("v", VECTORS, read_embeddings)):
        file = tmp_path / f"{name}{ending}.gz"
        file.write_bytes(gzip.compress(write(rows))[:-cut])
        with pytest.raises(FormatError, match="damaged or cut short") as caught:
            read(file)
        assert caught.value.where == str(file)


@TEXT_FORMATS
def test_latin_1_in_utf_8_is_named_with_its_line(
    tmp_path: Path, ending: str, write: Callable[[Records], bytes]
) -> None:
    for rows, read in ((LABELS, read_qrels), (TEXTS, read_texts), (VECTORS, read_embeddings)):
        raw = write(rows)
        lines = raw.splitlines(keepends=True)
        file = tmp_path / f"a{ending}"
        file.write_bytes(b"".join([*lines[:-1], b"caf\xe9" + lines[-1]]))
        with pytest.raises(FormatError, match="not UTF-8") as caught:
            read(file)
        assert caught.value.where == f"{file}:{len(lines)}"


@TEXT_FORMATS
def test_a_line_without_end_is_refused_at_the_limit(
    tmp_path: Path, ending: str, write: Callable[[Records], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_module, "LONGEST_LINE", 200)
    for rows, read in ((LABELS, read_qrels), (TEXTS, read_texts), (VECTORS, read_embeddings)):
        raw = write(rows)
        file = tmp_path / f"a{ending}"
        file.write_bytes(raw)
        read(file)
        file.write_bytes(raw + b"x" * 201)
        with pytest.raises(FormatError, match="more than 200 characters") as caught:
            read(file)
        assert caught.value.where == f"{file}:{len(raw.splitlines()) + 1}"


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\rb", "a\0b"], ids=ascii)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow-file"])
def test_an_id_that_no_list_can_hold_is_refused_where_it_stands(tmp_path: Path, name: str, kind: str) -> None:
    ending, write = WRITERS[kind]
    if kind == "csv" and "\0" in name:
        pytest.skip("a NUL is refused with its line, as in all text")
    for rows, key, read in (
        (LABELS, "query-id", read_qrels),
        (LABELS, "corpus-id", read_qrels),
        (TEXTS, "_id", read_texts),
        (VECTORS, "id", read_embeddings),
    ):
        file = tmp_path / f"a{ending}"
        file.write_bytes(write([rows[0], {**rows[1], key: name}]))
        with pytest.raises(FormatError, match="holds a tab, a line ending or a NUL") as caught:
            read(file)
        line = {"csv": f"{file}:3", "jsonl": f"{file}:2"}
        assert caught.value.where == line.get(kind, f"{file}, row 2, column {key!r}")


# CSV


def test_a_text_in_quotes_may_hold_lines_separators_and_quotes(tmp_path: Path) -> None:
    file = tmp_path / "corpus.csv"
    file.write_bytes(b'\r\nid,text\r\n\r\n1,"one, and\r\n\r\n""two"""\r\n2,three\r\n')
    assert read_texts(file) == {"1": 'one, and\n\n"two"', "2": "three"}


@pytest.mark.parametrize(
    ("raw", "line", "words"),
    [
        (b'id,text\n1,a\n2,"open\n3,b\n', 3, "not CSV"),
        (b'id,text\n1,"a"b\n', 2, "not CSV"),
        (b'id,text\n1,"a\n\nb"\n1,c\n', 5, "'1' stands in line 2 too"),
        (b"id,text\n1,a,b\n", 2, "has 3 columns, and line 1 has 2"),
        (b"text\na\n", 1, "has 1 column"),
        (b"id,text\n1," + b"x" * 200_000, 2, "field larger than field limit"),
    ],
)
def test_csv_that_is_none_is_named_with_its_line(tmp_path: Path, raw: bytes, line: int, words: str) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(raw)
    with pytest.raises(FormatError, match=words) as caught:
        read_texts(file)
    assert caught.value.where == f"{file}:{line}"


def test_quotes_between_tabs_are_characters(tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text('1\t"so\n2\tsaid"\n')
    assert read_texts(tmp_path / "queries.tsv") == {"1": '"so', "2": 'said"'}


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("numbers-header.csv", "id,x0,x1\na,0.5,-1\n\né,0.25,3\n7,0,1e0\n"),
        ("header-id-last.csv", "x0,x1,doc_id\n0.5,-1,a\n0.25,3,é\n0,1,7\n"),
        ("bare.csv", "a,0.5,-1\né,0.25,3\n7,0,1\n"),
        ("bare.tsv", "a\t0.5\t-1\né\t0.25\t3\n7\t0\t1\n"),
        ("lists.tsv", "a\t[0.5, -1]\né\t[0.25,3]\n7\t[0, 1]\n"),
    ],
)
def test_vectors_in_columns(tmp_path: Path, name: str, raw: str) -> None:
    (tmp_path / name).write_text(raw, encoding="utf-8")
    held = read_embeddings(tmp_path / name)
    assert held.ids == ("a", "é", "7")
    np.testing.assert_array_equal(held.matrix, MATRIX)


BAD_VECTORS = {
    "ragged.csv": ("a,1,2\nb,1\n", 2, "has 2 columns, and the first has 3"),
    "word.csv": ("a,1,2\nb,1,x\n", 2, "'x' is not a number"),
    "empty-id.csv": ("a,1,2\n,1,2\n", 2, "an id is empty"),
    "alone.csv": ("1\n2\n", 1, "has 1 column"),
    "ragged-lists.tsv": ("a\t[1,2]\nb\t[1]\n", 2, "vector has 1 numbers, and the first has 2"),
    "ragged.jsonl": (
        '{"id": 1, "vector": [1, 2]}\n{"id": 2, "vector": [1]}\n',
        2,
        "has 1 numbers, and the first has 2",
    ),
    "null.jsonl": ('{"id": 1, "vector": [1, null]}\n', 1, "item 2 of the vector is null"),
    "text.jsonl": ('{"id": 1, "vector": "[1]"}\n', 1, "the vector is a string"),
    "no-id.jsonl": ('{"vector": [1]}\n', 1, "has no id"),
    "no-vector.jsonl": ('{"id": 1}\n', 1, "has no vector"),
    "list.jsonl": ("[1, 2]\n", 1, "is a list, not an object"),
    "huge.jsonl": ('{"id": 1, "vector": [1' + "0" * 400 + "]}\n", 1, "too large"),
}


@pytest.mark.parametrize(("name", "case"), BAD_VECTORS.items(), ids=BAD_VECTORS.keys())
def test_bad_vectors_are_named_with_their_line(tmp_path: Path, name: str, case: tuple[str, int, str]) -> None:
    raw, line, words = case
    (tmp_path / name).write_text(raw)
    with pytest.raises(FormatError, match=words) as caught:
        read_embeddings(tmp_path / name)
    assert caught.value.where == f"{tmp_path / name}:{line}"


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet", ".arrow"])
def test_no_vector_at_all(tmp_path: Path, ending: str) -> None:
    empty = {".parquet": parquet, ".arrow": arrow}
    rows = table(VECTORS).slice(0, 0).to_pylist()
    raw = b"id,embedding\n" if ending == ".csv" else b"\n"
    if ending in empty:
        schema = table(VECTORS).schema
        buffer = io.BytesIO()
        held = schema.empty_table()
        if ending == ".parquet":
            pq.write_table(held, buffer)
        else:
            with pa.ipc.new_file(buffer, schema):
                pass
        raw = buffer.getvalue()
    assert rows == []
    (tmp_path / f"a{ending}").write_bytes(raw)
    with pytest.raises(FormatError, match="holds no vector"):
        read_embeddings(tmp_path / f"a{ending}")


def test_written_json_lines_read_back_the_same(tmp_path: Path) -> None:
    before = EmbeddingSet(["a", "é b"], np.array([[0.1, 1e-8], [3.0, -7.5]], dtype=np.float32))
    for name in ("q.jsonl", "q.jsonl.gz"):
        write_embeddings(before, tmp_path / name)
        after = read_embeddings(tmp_path / name)
        assert after.ids == before.ids
        np.testing.assert_array_equal(after.matrix, before.matrix.astype(np.float64))


# Parquet and Arrow


@pytest.mark.parametrize("width", ["half", "float", "double"])
@pytest.mark.parametrize("shape", ["list", "large", "fixed"])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_every_list_of_floats(tmp_path: Path, width: str, shape: str, kind: str) -> None:
    value = {"half": pa.float16(), "float": pa.float32(), "double": pa.float64()}[width]
    listed = {"list": pa.list_(value), "large": pa.large_list(value), "fixed": pa.list_(value, 2)}[shape]
    write = parquet if kind == "parquet" else arrow
    try:
        raw = write(VECTORS, listed=listed)
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow has no such cast")
    (tmp_path / f"a.{kind}").write_bytes(raw)
    held = read_embeddings(tmp_path / f"a.{kind}")
    assert held.dtype == np.dtype({"half": "f2", "float": "f4", "double": "f8"}[width])
    np.testing.assert_array_equal(held.matrix, MATRIX)


def vectors(values: list[Any], kind: Any, ids: list[Any] | None = None) -> Any:
    return pa.table({"id": ids or [f"d{row}" for row in range(len(values))], "embedding": pa.array(values, kind)})


BAD_TABLES: dict[str, tuple[Any, str, str]] = {
    "null-list": (
        vectors([[1.0], None], pa.list_(pa.float32())),
        ", row 2, column 'embedding'",
        "the vector is null",
    ),
    "null-fixed": (
        vectors([[1.0, 2.0], None], pa.list_(pa.float32(), 2)),
        ", row 2, column 'embedding'",
        "the vector is null",
    ),
    "null-inside": (
        vectors([[1.0, 2.0], [3.0, 4.0], [None, 2.0]], pa.list_(pa.float32())),
        ", row 3, column 'embedding'",
        "holds a null",
    ),
    "ragged": (
        vectors([[1.0, 2.0], [1.0]], pa.list_(pa.float64())),
        ", row 2, column 'embedding'",
        "has 1 values, and the first has 2",
    ),
    "null-id": (
        vectors([[1.0], [2.0]], pa.list_(pa.float32()), ["a", None]),
        ", row 2, column 'id'",
        "an id is null",
    ),
    "float-id": (
        vectors([[1.0]], pa.list_(pa.float32()), [1.5]),
        ", row 1, column 'id'",
        "the id 1.5 is not an integer",
    ),
    "integers": (vectors([[1]], pa.list_(pa.int8())), "", "of type list<"),
    "text": (vectors(["x"], pa.string()), "", "of type string"),
    "no-column": (pa.table({"id": ["a"], "text": ["b"]}), "", "its columns are 'id', 'text'"),
}


@pytest.mark.parametrize(("held", "place", "words"), BAD_TABLES.values(), ids=BAD_TABLES.keys())
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_bad_tables_are_named_with_row_and_column(tmp_path: Path, held: Any, place: str, words: str, kind: str) -> None:
    file = tmp_path / f"a.{kind}"
    if kind == "parquet":
        pq.write_table(held, file)
    else:
        with pa.ipc.new_file(file, held.schema) as writing:
            writing.write_table(held)
    with pytest.raises(FormatError, match=words) as caught:
        read_embeddings(file)
    assert caught.value.where == f"{file}{place}"


def test_rows_are_counted_across_batches(tmp_path: Path) -> None:
    rows: list[Any] = [[1.0]] * 9_000
    rows[8_500] = [1.0, 2.0]
    pq.write_table(vectors(rows, pa.list_(pa.float32())), tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=r"a\.parquet, row 8501, column 'embedding'"):
        read_embeddings(tmp_path / "a.parquet")


def test_nulls_in_labels_and_texts_are_named(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    file.write_bytes(parquet([*LABELS, {"query-id": "q", "corpus-id": "d", "score": None}]))
    with pytest.raises(FormatError, match=r"a\.parquet, row 4, column 'score': the grade is null, not a number"):
        read_qrels(file)
    file.write_bytes(parquet([*LABELS, {"query-id": None, "corpus-id": "d", "score": 1}]))
    with pytest.raises(FormatError, match=r"a\.parquet, row 4, column 'query-id': an id is null"):
        read_qrels(file)
    file.write_bytes(parquet([*TEXTS, {"_id": "x", "title": None, "text": None}]))
    with pytest.raises(FormatError, match=r"a\.parquet, row 3, column 'text': the text is null"):
        read_texts(file)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_two_columns_of_one_name_are_named(tmp_path: Path, kind: str) -> None:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table([pa.array(["a"]), pa.array(["b"]), pa.array([[1.0, 2.0]])], names=["id", "id", "embedding"])
    if kind == "parquet":
        pq.write_table(table, tmp_path / "a.parquet")
    else:
        with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writing:
            writing.write_table(table)
    with pytest.raises(FormatError, match=r"'id'.* once|'id' and 'id'"):
        read_embeddings(tmp_path / f"a.{kind}")


def test_a_table_without_the_columns_is_refused_with_those_it_has(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(TEXTS))
    with pytest.raises(FormatError, match="no column for the query; its columns are '_id', 'title', 'text'"):
        read_qrels(tmp_path / "a.parquet")


def test_without_pyarrow_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("a.parquet", "a.arrow"):
        (tmp_path / name).write_bytes(b"")
        for read in (read_qrels, read_texts, read_embeddings):
            with pytest.raises(MissingExtraError, match=r"package 'pyarrow'.*pip install '\.\[parquet\]'"):
                read(tmp_path / name)


# Shards


def shard(folder: Path, name: str, rows: slice, *, ids: bool = True) -> None:
    np.save(put(folder, {}) / f"{name}.npy", MATRIX[rows].astype(np.float32))
    if ids:
        (folder / f"{name}.ids").write_text("".join(f"{row['id']}\n" for row in VECTORS[rows]))


@pytest.mark.parametrize("ids", ["each", "whole"])
@pytest.mark.parametrize("how", ["name", "folder"])
def test_npy_in_shards(tmp_path: Path, ids: str, how: str) -> None:
    place = tmp_path / "docs" if how == "folder" else tmp_path
    place.mkdir(exist_ok=True)
    for part, rows in enumerate((slice(0, 2), slice(2, 3))):
        shard(place, f"docs-0000{part}-of-00002", rows, ids=ids == "each")
    if ids == "whole":
        (tmp_path / "docs.ids").write_text("a\né\n7\n")
    held = read_embeddings(place if how == "folder" else tmp_path / "docs.npy")
    assert (held.ids, held.dtype) == (("a", "é", "7"), np.dtype("f4"))
    np.testing.assert_array_equal(held.matrix, MATRIX)


def test_a_whole_file_goes_before_shards_of_its_name(tmp_path: Path) -> None:
    shard(tmp_path, "docs", slice(0, 3))
    shard(tmp_path, "docs-00000-of-00002", slice(0, 1))
    assert len(read_embeddings(tmp_path / "docs.npy")) == 3


def test_shards_that_are_missing_or_left_over(tmp_path: Path) -> None:
    shard(tmp_path, "docs-00001-of-00003", slice(0, 2))
    with pytest.raises(FormatError, match="1 shards of 3 are there; missing: '00000', '00002'") as caught:
        read_embeddings(tmp_path / "docs.npy")
    assert caught.value.where == str(tmp_path / "docs-00001-of-00003.npy")
    for part in (0, 2):
        shard(tmp_path, f"docs-0000{part}-of-00003", slice(2, 3))
    shard(tmp_path, "docs-00000-of-00002", slice(2, 3))
    with pytest.raises(FormatError, match="4 shards of 3 are there"):
        read_embeddings(tmp_path / "docs.npy")


def test_shards_that_do_not_fit_each_other(tmp_path: Path) -> None:
    shard(tmp_path, "docs-00000-of-00002", slice(0, 2))
    np.save(tmp_path / "docs-00001-of-00002.npy", np.ones((1, 3)))
    (tmp_path / "docs-00001-of-00002.ids").write_text("7\n")
    with pytest.raises(
        FormatError, match=r"00001-of-00002\.npy: its rows have 3 values, and those of docs-00000-of.* 2"
    ):
        read_embeddings(tmp_path / "docs.npy")
    np.save(tmp_path / "docs-00001-of-00002.npy", np.ones((2, 2)))
    with pytest.raises(FormatError, match=r"00001-of-00002\.npy: 1 id for 2 rows"):
        read_embeddings(tmp_path / "docs.npy")
    (tmp_path / "docs-00001-of-00002.ids").unlink()
    with pytest.raises(FormatError, match=r"00001-of-00002\.npy: there are no ids for its rows"):
        read_embeddings(tmp_path / "docs.npy")


def test_paths_that_name_nothing(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no file matches the pattern"):
        read_embeddings(tmp_path / "docs-*.npy")
    with pytest.raises(FormatError, match="no such file"):
        read_embeddings(tmp_path / "docs.npy")
    with pytest.raises(FormatError, match="a folder without a file that can be read"):
        read_qrels(tmp_path)
    (tmp_path / "a.npy").write_bytes(b"x")
    with pytest.raises(FormatError, match=r"a \.npy file holds no table"):
        read_qrels(tmp_path / "a.npy")


# npz


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize(
    "ids",
    [np.array(["a", "é", "7"]), np.array([1, 2, 3]), np.array([b"a", b"b", b"c"])],
    ids=["text", "integers", "bytes"],
)
@pytest.mark.parametrize("name", ["embeddings", "whatever"])
def test_npz(tmp_path: Path, save: Callable[..., None], ids: Any, name: str) -> None:
    save(tmp_path / "docs.npz", ids=ids, **{name: np.asfortranarray(MATRIX.astype(np.float16))})
    held = read_embeddings(tmp_path / "docs.npz")
    assert held.ids == tuple(value.decode() if isinstance(value, bytes) else str(value) for value in ids.tolist())
    assert held.dtype == np.float16
    np.testing.assert_array_equal(held.matrix, MATRIX)


def test_npz_with_ids_beside_it(tmp_path: Path) -> None:
    np.savez(tmp_path / "docs.npz", MATRIX)
    (tmp_path / "docs.ids").write_text("a\nb\nc\n")
    assert read_embeddings(tmp_path / "docs.npz").ids == ("a", "b", "c")


def npz(**arrays: Any) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


WHOLE = npz(embeddings=MATRIX, ids=np.array(["a", "b", "c"]))
BAD_NPZ = {
    "empty": (b"", "not a whole .npz"),
    "cut": (WHOLE[:-30], "not a whole .npz"),
    "no-array": (npz(), "not a whole|holds 0 arrays"),
    "two": (npz(a=MATRIX, b=MATRIX), "holds 2 arrays: 'a', 'b'"),
    "integers": (npz(embeddings=np.ones((3, 2), dtype=int)), "int64"),
    "objects": (npz(embeddings=np.array([None])), "array 'embeddings' holds pickled object"),
    "ids": (npz(embeddings=np.eye(2), ids=np.array(["a", None])), "array 'ids' holds pickled object .*ids as text"),
    "axis": (npz(embeddings=MATRIX[0]), "has 1 axes"),
    "float-ids": (npz(embeddings=MATRIX, ids=np.ones(3)), "its ids are float64 of 1 axes"),
    "ids-axes": (npz(embeddings=MATRIX, ids=np.array([["a"], ["b"], ["c"]])), "of 2 axes"),
    "ids-not-utf-8": (npz(embeddings=MATRIX, ids=np.array([b"\xff", b"b", b"c"])), "npz"),
}


@pytest.mark.parametrize(("raw", "words"), BAD_NPZ.values(), ids=BAD_NPZ.keys())
def test_bad_npz(tmp_path: Path, raw: bytes, words: str) -> None:
    file = tmp_path / "docs.npz"
    file.write_bytes(raw)
    with pytest.raises(FormatError, match=words) as caught:
        read_embeddings(file)
    assert str(file) in str(caught.value)


def test_npz_with_another_number_of_ids(tmp_path: Path) -> None:
    (tmp_path / "docs.npz").write_bytes(npz(embeddings=MATRIX, ids=np.array(["a"])))
    with pytest.raises(EmbeddingError, match="1 id for 3 rows"):
        read_embeddings(tmp_path / "docs.npz")


# Standard input


def test_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(raw: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))

    say(b"q d 2\n")
    assert read_qrels("-") == Qrels({"q": {"d": 2}})
    say(gzip.compress(json_lines(TEXTS)))
    assert read_texts("-") == TOLD
    say(json_lines(VECTORS))
    np.testing.assert_array_equal(read_embeddings("-").matrix, MATRIX)
    say(b"q d 2\nq d\n")
    with pytest.raises(FormatError, match="-:2"):
        read_qrels("-")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(FormatError, match="no standard input"):
        read_qrels("-")


# Whole folders


def embeddings(root: Path) -> None:
    for side, ids in (("queries", ["q1", "q2"]), ("docs", ["a", "b", "c"])):
        write_embeddings(EmbeddingSet(ids, np.eye(len(ids), 3)), root / "embeddings" / "tiny" / f"{side}.npy")


JUDGED = [{"query-id": "q1", "corpus-id": "a", "score": 1}, {"query-id": "q2", "corpus-id": "b", "score": 2}]
CORPUS = [{"_id": "a", "title": "", "text": "first"}, {"_id": "b", "title": "", "text": "second"}]
QUERIES = [{"_id": "q1", "title": "", "text": "one thing"}, {"_id": "q2", "title": "", "text": "two"}]


@FORMATS
@pytest.mark.parametrize("shape", ["beir", "hub", "saved", "loose"])
def test_a_folder_in_every_format_and_shape(
    tmp_path: Path, shape: str, ending: str, write: Callable[[Records], bytes]
) -> None:
    """BEIR's own, the Hub's shards, a saved DatasetDict's folders, and split files straight in the folder."""
    labels, corpus, queries = write(JUDGED), write(CORPUS), write(QUERIES)
    shapes = {
        "beir": {f"qrels/train{ending}": labels, f"corpus{ending}": corpus, f"queries{ending}": queries},
        "hub": {
            f"data/train-00000-of-00001{ending}": labels,
            f"corpus/corpus-00000-of-00002{ending}": write(CORPUS[:1]),
            f"corpus/corpus-00001-of-00002{ending}": write(CORPUS[1:]),
            f"queries/queries-00000-of-00001{ending}": queries,
        },
        "saved": {
            "dataset_dict.json": b"{}",
            f"train/data-00000-of-00001{ending}": labels,
            "train/state.json": b"{}",
            f"corpus/data-00000-of-00001{ending}": corpus,
            f"queries/data-00000-of-00001{ending}": queries,
        },
        "loose": {f"train{ending}": labels, f"documents{ending}": corpus, f"queries{ending}": queries},
    }
    root = put(tmp_path / "task", shapes[shape])
    embeddings(root)
    data = read_dataset(root)
    assert data.qrels == read_dataset(root, split="train").qrels == Qrels({"q1": {"a": 1}, "q2": {"b": 2}})
    assert data.document_texts == {"a": "first", "b": "second"}
    assert data.query_texts == {"q1": "one thing", "q2": "two"}


@FORMATS
@pytest.mark.parametrize("shape", ["files", "folders", "straight"])
def test_embeddings_of_a_folder_in_every_format(
    tmp_path: Path, shape: str, ending: str, write: Callable[[Records], bytes]
) -> None:
    rows = {
        side: write([{"id": name, "embedding": row} for name, row in zip(ids, np.eye(3).tolist(), strict=False)])
        for side, ids in (("queries", ["q1", "q2"]), ("docs", ["a", "b", "c"]))
    }
    place = {"files": "embeddings/tiny/{}", "folders": "embeddings/tiny/{}/part-0", "straight": "embeddings/{}"}[shape]
    files = {f"{place.format(side)}{ending}": raw for side, raw in rows.items()}
    root = put(tmp_path, {"qrels/train.tsv": tabs(JUDGED), **files})
    data = read_dataset(root)
    assert (data.queries.ids, data.documents.ids) == (("q1", "q2"), ("a", "b", "c"))
    assert data.documents.encoder == (None if shape == "straight" else "tiny")
    np.testing.assert_array_equal(data.documents.matrix, np.eye(3))


@FORMATS
@pytest.mark.parametrize("texts", [True, False], ids=["with-texts", "alone"])
def test_vectors_in_a_column_of_the_corpus(
    tmp_path: Path, texts: bool, ending: str, write: Callable[[Records], bytes]
) -> None:
    sides = {
        stem: write(
            [
                {"_id": name, "embedding": row, **({"text": f"text of {name}"} if texts else {})}
                for name, row in zip(ids, np.eye(3).tolist(), strict=False)
            ]
        )
        for stem, ids in (("queries", ["q1", "q2"]), ("corpus", ["a", "b", "c"]))
    }
    root = put(tmp_path, {"train.tsv": tabs(JUDGED), **{f"{stem}{ending}": raw for stem, raw in sides.items()}})
    data = read_dataset(root)
    np.testing.assert_array_equal(data.documents.matrix, np.eye(3))
    assert data.document_texts == ({name: f"text of {name}" for name in "abc"} if texts else {})
    assert data.query_texts == ({name: f"text of {name}" for name in ("q1", "q2")} if texts else {})


def test_npy_straight_in_the_folder(tmp_path: Path) -> None:
    for side, ids in (("queries", ["q1", "q2"]), ("docs", ["a", "b", "c"])):
        write_embeddings(EmbeddingSet(ids, np.eye(len(ids), 3)), tmp_path / f"{side}.npy")
    put(tmp_path, {"clicks.csv": b"query,document,clicks\nq1,a,3\nq1,a,2\nq2,b,1\n"})
    data = read_dataset(tmp_path)
    assert data.qrels == Qrels({"q1": {"a": 5}, "q2": {"b": 1}})
    assert (len(data.documents), data.documents.encoder) == (3, None)


def test_pairs_of_query_texts(tmp_path: Path) -> None:
    """A query that is no id but the text of one stands for it; of two with one text the first in the file."""
    root = put(
        tmp_path,
        {
            "queries.jsonl": json_lines([*QUERIES, {"_id": "q3", "title": "", "text": "two"}]),
            "pairs.csv": b"query,document,grade\none thing,a,1\ntwo,b,2\nq1,c,1\nq1,a,0\nno such text,b,1\n",
        },
    )
    embeddings(root)
    data = read_dataset(root, texts=False)
    assert data.qrels == Qrels({"q1": {"a": 1, "c": 1}, "q2": {"b": 2}, "no such text": {"b": 1}})
    assert data.missing_queries == ("no such text",)


def test_readers_refuse_what_lies_in_the_wrong_place(tmp_path: Path) -> None:
    root = put(tmp_path, {"qrels/train.parquet": parquet(TEXTS)})
    embeddings(root)
    with pytest.raises(AskewError, match=r"train\.parquet: it has no column for the query"):
        read_dataset(root)


def test_a_device_or_a_pipe_is_read_as_text_of_the_default_kind(tmp_path: Path) -> None:
    for reader in (read_qrels, read_texts, read_embeddings):
        with pytest.raises(FormatError, match="it holds no"):
            reader("/dev/null")
    inlet, outlet = os.pipe()
    try:
        os.write(outlet, b'{"id": "a", "vector": [1, 0]}\n')
        os.close(outlet)
        assert read_embeddings(f"/dev/fd/{inlet}").ids == ("a",)
    finally:
        os.close(inlet)


def test_shards_of_an_unknown_ending_are_one_table(tmp_path: Path) -> None:
    for index, line in enumerate(("q1\td1\t1", "q2\td2\t1")):
        (tmp_path / f"train-{index:05d}-of-00002.txt").write_text(f"{line}\n")
    assert read_qrels(tmp_path / "train.txt").queries == ("q1", "q2")
    with pytest.raises(FormatError, match=r"embeddings are not read from \.txt"):
        read_embeddings(tmp_path / "train.txt")
