"""Whatever the bytes, a reader gives a value or an AskewError; warnings are errors here too.

Making an example costs more than reading it, so each goes to every reader that might meet it. How much is tried is the
profile's (see tests/conftest.py): 20,000 examples a test in `make check-all`.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import struct
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askew.data import EmbeddingSet, Qrels, Run
from askew.errors import AskewError
from askew.formats import (
    list_encoders,
    list_splits,
    read_dataset,
    read_embeddings,
    read_qrels,
    read_run,
    read_texts,
    write_embeddings,
    write_qrels,
    write_run,
)
from askew.workflows.check import check

Reader = Callable[[Path], object]
TEXT_READERS: tuple[Reader, ...] = (read_qrels, read_run, read_texts, read_embeddings)

# Cells and separators of files that are nearly right.
CELLS = st.sampled_from(
    [
        *(
            "q1",
            "d1",
            "d 2",
            "Q0",
            "0",
            "1",
            "-2.5",
            "1e999",
            "nan",
            "inf",
            "query-id",
            "corpus-id",
            "score",
            "qid",
            "é",
        ),
        *("", "\ufeff", "1_0", "١", "\x85", "\u2028", "\0", "\ud800", '"', "#", "9" * 400),
    ]
)
SEPARATORS = st.sampled_from(["\t", " ", "  ", " \t", ",", "\x0b", "\u00a0"])
ENDINGS = st.sampled_from(["\n", "\r\n", "\r", "\n\n"])
TABLES = st.lists(st.tuples(st.lists(CELLS, max_size=7), SEPARATORS, ENDINGS), max_size=8).map(
    lambda rows: "".join(separator.join(cells) + ending for cells, separator, ending in rows)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
RECORDS = st.fixed_dictionaries({}, optional={"_id": JSON, "id": JSON, "text": JSON, "title": JSON})
JSON_LINES = st.lists(RECORDS | JSON, max_size=5).map(lambda values: "\n".join(json.dumps(value) for value in values))


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


TEXT_BYTES = st.binary(max_size=300) | TABLES.map(encoded) | JSON_LINES.map(encoded) | st.text().map(encoded)


# Files that each reader takes, with a few bytes changed.
GOOD_TEXTS = [
    b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq 2\td2\t0.5\n",
    b"qid,docid,clicks\nq1,d1,3\nq1,d1,4\n",
    b'{"query-id": "q1", "corpus-id": "d1", "score": 1}\n',
    b'id,text\n1,"one, ""two""\n\nthree"\n2,four\n',
    b'{"_id": "d1", "title": "A", "text": "b"}\n{"_id": 2, "text": ""}\n',
    b'id,embedding\na,"[1, 2]"\nb,"[3, 4]"\n',
    b"a\t0.5\t1e3\nb\t-1\t2\n",
    b'{"id": "a", "embedding": [1, 2.5]}\n{"id": "b", "embedding": [0, -1]}\n',
]
EDITS = st.lists(st.tuples(st.integers(0, 2000), st.binary(max_size=3), st.integers(0, 3)), max_size=4)


def edited(raw: bytes, edits: list[tuple[int, bytes, int]]) -> bytes:
    """Replace a few bytes at a few places by others, fewer or more."""
    for place, fresh, gone in edits:
        start = place % (len(raw) + 1)
        raw = raw[:start] + fresh + raw[start + gone :]
    return raw


NEARLY = st.builds(edited, st.sampled_from(GOOD_TEXTS), EDITS)


def attempt(raw: bytes, name: str, *readers: Reader) -> list[object]:
    """What each reader makes of the bytes; None if it refuses them in its own words."""
    found = list[object]()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_bytes(raw)
        for reader in readers:
            try:
                found.append(reader(file))
            except AskewError as error:
                str(error).encode()  # the message can be printed
                found.append(None)
            except BaseException as error:
                error.add_note(f"{name} by {reader.__name__}")
                raise
    return found


@given(raw=TEXT_BYTES | NEARLY)
@example(raw=b"[" * 100_000)
@example(raw=b'{"_id": ' + b"[" * 900 + b"]" * 900 + b"}")
@example(raw=b"\xef\xbb")
@example(raw=b"\x1f\x8b")
@example(raw=b'id,text\n1,"' + b"a" * 200_000)
@example(raw=b'"\n' * 1000)
def test_text(raw: bytes) -> None:
    for ending in ("txt", "tsv", "csv", "jsonl"):
        attempt(raw, f"a.{ending}", *TEXT_READERS)


@given(raw=TEXT_BYTES, cut=st.integers(0, 60), place=st.integers(0, 200), byte=st.integers(0, 255))
def test_gzip_of_text_with_one_byte_changed_and_its_end_cut(raw: bytes, cut: int, place: int, byte: int) -> None:
    packed = bytearray(gzip.compress(raw))
    packed[place % len(packed)] = byte
    attempt(bytes(packed[: len(packed) - cut]), "a.txt.gz", *TEXT_READERS)


@given(raw=TABLES.map(encoded))
def test_judgements_that_are_read_come_back_as_they_were(raw: bytes) -> None:
    (qrels,) = attempt(raw, "a.tsv", read_qrels)
    if isinstance(qrels, Qrels):
        assert round_trip(qrels, write_qrels, read_qrels, "b.tsv") in (qrels, None)


@given(
    st.dictionaries(
        st.text(min_size=1),
        st.dictionaries(st.text(min_size=1), st.floats(allow_nan=False), min_size=1),
        min_size=1,
    )
)
def test_runs_come_back_as_they_were_or_are_not_written(scores: dict[str, dict[str, float]]) -> None:
    run = Run(scores)
    back = round_trip(run, write_run, read_run, "b.run")
    if isinstance(back, Run):
        assert [(query, documents, values.tolist()) for query, documents, values in back.items()] == [
            (query, documents, values.tolist()) for query, documents, values in run.items()
        ]


@given(ids=st.lists(st.text(min_size=1), unique=True), suffix=st.sampled_from([".npy", ".safetensors"]))
def test_embeddings_come_back_as_they_were_or_are_not_written(ids: list[str], suffix: str) -> None:
    before = EmbeddingSet(ids, np.arange(2 * len(ids), dtype=np.float16).reshape(-1, 2))
    back = round_trip(before, write_embeddings, read_embeddings, f"b{suffix}")
    if isinstance(back, EmbeddingSet):
        assert back.ids == before.ids
        np.testing.assert_array_equal(back.matrix, before.matrix)


def round_trip(value: object, write: Callable[..., None], read: Reader, name: str) -> object:
    with tempfile.TemporaryDirectory() as folder:
        try:
            write(value, Path(folder) / name)
        except AskewError:
            assert not list(Path(folder).iterdir())
            return None
        return read(Path(folder) / name)


# Embeddings


def whole_npy() -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.ones((3, 4), dtype=np.float32))
    return buffer.getvalue()


def whole_tensors() -> bytes:
    entry = {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}
    header = json.dumps({"__metadata__": {"ids": '["a", "b", "c"]'}, "embeddings": entry}).encode()
    return struct.pack("<Q", len(header)) + header + np.ones(12, dtype=np.float32).tobytes()


def whole_npz(save: Callable[..., None]) -> bytes:
    buffer = io.BytesIO()
    save(buffer, embeddings=np.ones((3, 4), dtype=np.float32), ids=np.array(["a", "b", "c"]))
    return buffer.getvalue()


WHOLE = {
    ".npy": [whole_npy()],
    ".safetensors": [whole_tensors()],
    ".npz": [whole_npz(np.savez), whole_npz(np.savez_compressed)],
}


def read_any(file: Path) -> object:
    return read_embeddings(file, ids=["a", "b", "c"], bad_rows="drop")


@pytest.mark.parametrize("suffix", WHOLE.keys())
@given(data=st.data(), edits=EDITS)
def test_embeddings_with_a_few_bytes_changed(
    suffix: str, data: st.DataObject, edits: list[tuple[int, bytes, int]]
) -> None:
    raw = edited(data.draw(st.sampled_from(WHOLE[suffix])), edits)
    attempt(raw, f"docs{suffix}", read_any, read_embeddings)


@cache
def whole_tables() -> dict[str, list[bytes]]:
    """Labels, texts and vectors in one table, as parquet, Arrow file and Arrow stream."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    names = {"id": ["a", "b", "c"], "text": ["x", "", "é"], "query-id": ["q", "q", "r"], "doc-id": [1, 2, 3]}
    plain = pa.table({**names, "score": [1.0, 0.0, 2.0], "embedding": vectors})
    fixed = plain.set_column(5, "embedding", vectors.cast(pa.list_(pa.float32(), 2)))
    coded = plain.set_column(0, "id", plain["id"].combine_chunks().dictionary_encode())
    held: dict[str, list[bytes]] = {"parquet": [], "arrow": []}
    for table in (plain, fixed, coded):
        for compression in ("NONE", "snappy"):
            buffer = io.BytesIO()
            pq.write_table(table, buffer, compression=compression)
            held["parquet"].append(buffer.getvalue())
        for writer in (pa.ipc.new_file, pa.ipc.new_stream):
            buffer = io.BytesIO()
            with writer(buffer, table.schema) as writing:
                writing.write_table(table)
            held["arrow"].append(buffer.getvalue())
    return held


TABLE_READERS: tuple[Reader, ...] = (read_qrels, read_texts, read_embeddings)
LONG_EDITS = st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=3), st.integers(0, 3)), max_size=4)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
@given(data=st.data(), edits=LONG_EDITS, same_length=st.booleans())
def test_tables_with_a_few_bytes_changed(
    kind: str, data: st.DataObject, edits: list[tuple[int, bytes, int]], same_length: bool
) -> None:
    raw = data.draw(st.sampled_from(whole_tables()[kind]))
    if same_length:  # so that offsets still lead somewhere
        edits = [(place, fresh, len(fresh)) for place, fresh, _ in edits]
    attempt(edited(raw, edits), f"a.{kind}", *TABLE_READERS)


@given(raw=st.binary(max_size=300) | st.binary(max_size=100).map(lambda middle: b"PAR1" + middle + b"PAR1"))
@example(raw=b"ARROW1\0\0")
@example(raw=b"FEA1")
def test_tables_of_any_bytes(raw: bytes) -> None:
    pytest.importorskip("pyarrow")
    for ending in ("parquet", "arrow", "feather"):
        attempt(raw, f"a.{ending}", *TABLE_READERS)


NAMED = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(("id", "text", "query-id", "doc-id", "clicks", "score", "embedding"), JSON),
)


@given(record=NAMED)
def test_tables_of_any_values(record: dict[str, object]) -> None:
    """Columns of nulls, nested lists, structs, long integers: whatever Arrow makes of them."""
    pa = pytest.importorskip("pyarrow")
    buffer = io.BytesIO()
    try:
        table = pa.table({name: [value, value] for name, value in record.items()})
        with pa.ipc.new_file(buffer, table.schema) as writing:
            writing.write_table(table)
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return  # such a table there cannot be
    attempt(buffer.getvalue(), "a.arrow", *TABLE_READERS)


@given(raw=st.binary(max_size=200))
def test_embeddings_of_any_bytes(raw: bytes) -> None:
    for suffix in (".npy", ".safetensors", ".npz", ".pt", ""):
        attempt(raw, f"docs{suffix}", read_any)


LITERALS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)
DTYPES = LITERALS | st.from_regex(r"\A[<>=|]?[a-zA-Z?][0-9]{0,12}\Z")
SHAPES = LITERALS | st.lists(st.integers(-1, 5) | st.integers(), max_size=3).map(tuple)


@given(descr=DTYPES, shape=SHAPES, fortran=LITERALS | st.booleans(), data=st.binary(max_size=100))
def test_npy_of_any_header(descr: object, shape: object, fortran: object, data: bytes) -> None:
    header = repr({"descr": descr, "fortran_order": fortran, "shape": shape}).encode("latin-1", "replace")
    attempt(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data, "docs.npy", read_any)


@given(
    held=st.dictionaries(
        st.sampled_from(["embeddings", "a", "__metadata__"]),
        JSON | st.fixed_dictionaries({"dtype": JSON | st.just("F32"), "shape": JSON, "data_offsets": JSON}),
    )
)
def test_safetensors_of_any_header(held: dict[str, object]) -> None:
    header = json.dumps(held).encode()
    attempt(struct.pack("<Q", len(header)) + header + b"\0" * 64, "docs.safetensors", read_any)


@given(dtype=st.sampled_from(["<f2", "<f4", "<f8", ">f4"]), data=st.binary(min_size=96, max_size=96))
def test_any_float_values(dtype: str, data: bytes) -> None:
    header = repr({"descr": dtype, "fortran_order": False, "shape": (3, 4)}).encode()
    raw = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data
    attempt(raw, "docs.npy", read_any)


@given(raw=TEXT_BYTES | st.lists(JSON, max_size=4).map(json.dumps).map(str.encode))
def test_ids_of_any_bytes(raw: bytes) -> None:
    def read(file: Path) -> object:
        np.save(file.with_name("docs.npy"), np.ones((2, 2)))
        return read_embeddings(file.with_name("docs.npy"))

    for name in ("docs.ids", "docs.ids.txt", "docs.json"):
        attempt(raw, name, read)


NAMES = st.sampled_from(
    [
        *("qrels", "qrels.tsv", "qrels/train.tsv", "qrels/a.tsv", "corpus.jsonl", "corpus.jsonl.gz", "embeddings"),
        *("embeddings/x/docs.npy", "embeddings/x/docs.ids", "embeddings/x/queries.npy", "embeddings/x/queries.ids"),
        *("embeddings/queries.npy", "embeddings/y/docs.npz", "queries.csv", "corpus/a.jsonl", "train", "train/a.csv"),
        *("qrels/a-00000-of-00002.tsv", "qrels/a-00001-of-00002.tsv", "data/x.parquet", "clicks.jsonl", "docs.npy"),
        *("embeddings/x/docs-00000-of-00001.csv", "embeddings/x/queries/b.jsonl", "embeddings/docs.safetensors"),
    ]
)
CONTENTS = st.sampled_from([WHOLE[".npy"][0], b"q1 d1 1\n", b"a\nb\nc\n", b"", b'{"_id": "a", "text": ""}', b"\xff"])


@given(
    files=st.dictionaries(NAMES, CONTENTS),
    name=st.none() | st.sampled_from(["x", "y", "embeddings", "a", "\ud800"]),
)
def test_any_folder(files: dict[str, bytes], name: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for path, raw in files.items():
            file = Path(folder) / path
            with contextlib.suppress(OSError):  # a file may stand where a folder should go, or the reverse
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(raw)
        list_splits(folder)
        list_encoders(folder)
        for read in (read_dataset, check):
            try:
                read(folder, encoder=name)
            except AskewError as error:
                str(error).encode()
        with contextlib.suppress(AskewError):
            read_dataset(folder, split=name)
