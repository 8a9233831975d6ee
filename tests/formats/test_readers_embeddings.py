"""Embeddings: two formats, their ids, and every way in which a file can be wrong."""

from __future__ import annotations

import io
import json
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

from askew.data import EmbeddingSet
from askew.errors import AskewError, EmbeddingError, FormatError, OutputError
from askew.formats import _tensors, read_embeddings, write_embeddings

Array = npt.NDArray[Any]
DTYPES = ["float16", "float32", "float64"]


def matrix(dtype: str = "float32", rows: int = 3) -> Array:
    return np.random.default_rng(0).standard_normal((rows, 4)).astype(dtype)


def npy(array: Array, **options: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def with_header(header: str, data: bytes = b"", version: int = 1) -> bytes:
    raw = header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(raw))
    return b"\x93NUMPY" + bytes([version, 0]) + length + raw + data


def tensors(header: object, data: bytes = b"") -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + data


# Reading .npy


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("swapped", [False, True], ids=["native", "swapped"])
def test_npy_values(tmp_path: Path, dtype: str, order: str, swapped: bool) -> None:
    array = np.array(matrix(dtype), order=order)  # type: ignore[call-overload]  # order is a str here
    stored = array.astype(array.dtype.newbyteorder()) if swapped else array
    np.save(tmp_path / "docs.npy", stored)
    held = read_embeddings(tmp_path / "docs.npy", ids=["a", "b", "c"])
    assert held.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(held.matrix, array)


def test_npy_stays_mapped(tmp_path: Path) -> None:
    np.save(tmp_path / "docs.npy", matrix("float16"))
    held = read_embeddings(tmp_path / "docs.npy", ids=[1, 2, 3])
    assert isinstance(held.matrix, np.memmap)
    assert not held.matrix.flags.writeable
    assert held.source == tmp_path / "docs.npy"


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)], ids=str)
def test_npy_versions(tmp_path: Path, version: tuple[int, int]) -> None:
    with (tmp_path / "docs.npy").open("wb") as handle:
        np.lib.format.write_array(handle, matrix(), version=version)
    np.testing.assert_array_equal(read_embeddings(tmp_path / "docs.npy", ids=["a", "b", "c"]).matrix, matrix())


def test_npy_of_python_2(tmp_path: Path) -> None:
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 4L), }\n"
    (tmp_path / "docs.npy").write_bytes(with_header(header, matrix().tobytes()))
    np.testing.assert_array_equal(read_embeddings(tmp_path / "docs.npy", ids=["a", "b", "c"]).matrix, matrix())


def test_no_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "docs.npy", matrix(rows=0))
    assert len(read_embeddings(tmp_path / "docs.npy", ids=[])) == 0


WHOLE = npy(matrix())
BAD_NPY: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "text": (b"0.1 0.2 0.3\n", "not a .npy"),
    "npz": (b"PK\x03\x04" + b"\0" * 40, "zip archive"),
    "pickle": (pickle.dumps(matrix()), "pickle"),
    "gzip": (b"\x1f\x8b\x08" + b"\0" * 40, "gzip"),
    "magic-alone": (b"\x93NUMPY", "not a .npy"),
    "version-9": (b"\x93NUMPY\x09\x00" + WHOLE[8:], "unknown version"),
    "version-0": (b"\x93NUMPY\x00\x00" + WHOLE[8:], "unknown version"),
    "cut-header": (WHOLE[:60], "header is damaged"),
    "cut-values": (WHOLE[:-1], "cut short"),
    "no-values": (WHOLE[:128], "cut short: 3 × 4 float32 need 176 bytes, and it has 128"),
    "long-header": (with_header(" " * 20_000), "header is damaged"),
    "header-list": (with_header("[1, 2]"), "header is damaged"),
    "header-code": (with_header("__import__('os').getcwd()"), "header is damaged"),
    "header-open": (with_header("{'descr': '<f4'"), "header is damaged"),
    "header-deep": (with_header("[" * 5000), "header is damaged"),
    "header-deep-minus": (with_header("-" * 9000 + "1"), "header is damaged"),
    "header-nul": (with_header("\0"), "header is damaged"),
    "header-no-keys": (with_header("{}"), "header is damaged"),
    "shape-list": (with_header("{'descr':'<f4','fortran_order':False,'shape':[3,4]}"), "header is damaged"),
    "shape-negative": (
        with_header("{'descr':'<f4','fortran_order':False,'shape':(-3,4)}"),
        "impossible shape",
    ),
    "shape-float": (with_header("{'descr':'<f4','fortran_order':False,'shape':(3.0,4)}"), "impossible shape"),
    "shape-true": (with_header("{'descr':'<f4','fortran_order':False,'shape':(True,4)}"), "impossible shape"),
    "shape-huge": (
        with_header(f"{{'descr':'<f4','fortran_order':False,'shape':({10**30},4)}}"),
        "impossible shape",
    ),
    "shape-huge-empty": (
        with_header(f"{{'descr':'<f4','fortran_order':False,'shape':(0,{2**62})}}"),
        "impossible",
    ),
    "one-axis": (npy(matrix()[0]), "has 1 axes, of shape (4,)"),
    "three-axes": (npy(matrix()[None]), "has 3 axes"),
    "no-axis": (npy(np.array(1.0)), "has 0 axes"),
    "int64": (npy(np.ones((3, 4), dtype=np.int64)), "int64"),
    "int8": (npy(np.ones((3, 4), dtype=np.int8)), "int8"),
    "bool": (npy(np.ones((3, 4), dtype=bool)), "bool"),
    "complex": (npy(np.ones((3, 4), dtype=complex)), "complex128"),
    "text-dtype": (npy(np.full((3, 4), "a")), "'<U1'"),
    "structured": (npy(np.zeros((3, 4), dtype=[("a", "f4")])), "structured"),
    "objects": (npy(np.full((3, 4), None), allow_pickle=True), "pickled object"),
    "bfloat16": (npy(np.zeros((3, 4), dtype="V2")), "bfloat16"),
    "float80": (with_header("{'descr':'<f16','fortran_order':False,'shape':(3,4)}"), "float128"),
    "dtype-nonsense": (with_header("{'descr':'<f99','fortran_order':False,'shape':(3,4)}"), "'<f99'"),
}


@pytest.mark.parametrize(("raw", "words"), BAD_NPY.values(), ids=BAD_NPY.keys())
def test_bad_npy(tmp_path: Path, raw: bytes, words: str) -> None:
    file = tmp_path / "docs.npy"
    file.write_bytes(raw)
    with pytest.raises(FormatError) as caught:
        read_embeddings(file, ids=["a", "b", "c"])
    assert str(file) in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("docs.npz", "not a whole .npz archive"),
        ("docs.pt", "pickles are not opened"),
        ("docs.pkl", "pickles are not opened"),
        ("docs.parquet", "not a whole parquet file"),
        ("docs.arrow", "not a whole Arrow file"),
        ("docs.xlsx", "not read from .xlsx. Give a file that ends in .npy, .safetensors, .npz, "),
        ("docs", "without an ending"),
    ],
)
def test_other_endings(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(FormatError, match=words):
        read_embeddings(tmp_path / name)


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_missing_and_folder(tmp_path: Path, suffix: str) -> None:
    with pytest.raises(FormatError, match="no such file"):
        read_embeddings(tmp_path / f"none{suffix}")
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(FormatError, match="is a folder"):
        read_embeddings(tmp_path / f"folder{suffix}")


# Ids

SIDECARS: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "ids": ("docs.ids", b"a\nb\nc\n", ("a", "b", "c")),
    "ids-crlf-bom": ("docs.ids", b"\xef\xbb\xbfa\r\nb\r\nc", ("a", "b", "c")),
    "ids-spaces-are-kept": ("docs.ids", b" a\nb \nc  d\n", (" a", "b ", "c  d")),
    "ids-blank-lines": ("docs.ids", b"a\n\nb\nc\n\n", ("a", "b", "c")),
    "ids-txt": ("docs.ids.txt", b"a\nb\nc\n", ("a", "b", "c")),
    "json": ("docs.json", b'["a", 7, "\\u00e9"]', ("a", "7", "é")),
}


@pytest.mark.parametrize(("name", "raw", "ids"), SIDECARS.values(), ids=SIDECARS.keys())
def test_sidecar(tmp_path: Path, name: str, raw: bytes, ids: tuple[str, ...]) -> None:
    np.save(tmp_path / "docs.npy", matrix())
    (tmp_path / name).write_bytes(raw)
    assert read_embeddings(tmp_path / "docs.npy").ids == ids
    assert read_embeddings(tmp_path / "docs.npy", ids=tmp_path / name).ids == ids
    assert read_embeddings(tmp_path / "docs.npy", ids=str(tmp_path / name)).ids == ids


def test_given_ids_win(tmp_path: Path) -> None:
    np.save(tmp_path / "docs.npy", matrix())
    (tmp_path / "docs.ids").write_text("a\nb\nc\n")
    assert read_embeddings(tmp_path / "docs.npy", ids=np.arange(3)).ids == ("0", "1", "2")
    assert read_embeddings(tmp_path / "docs.npy", ids=(name for name in "xyz")).ids == ("x", "y", "z")


def test_no_ids_says_what_to_give(tmp_path: Path) -> None:
    np.save(tmp_path / "docs.npy", matrix())
    with pytest.raises(FormatError, match=r"no ids for its rows\. Put 3 ids, one a line, in docs\.ids"):
        read_embeddings(tmp_path / "docs.npy")


BAD_IDS = {
    "too-few": ("docs.ids", b"a\nb\n", "2 ids for 3 rows"),
    "twice": ("docs.ids", b"a\nb\na\n", "more than once: 'a'"),
    "not-utf8": ("docs.ids", b"a\n\xff\nc\n", "docs.ids:2"),
    "json-object": ("docs.json", b'{"a": 1}', "not a list of ids"),
    "json-null": ("docs.json", b'["a", null, "c"]', "item 2: an id is null"),
    "json-cut": ("docs.json", b'["a", ', "not JSON"),
    "json-deep": ("docs.json", b"[" * 200_000, "nested too deeply"),
    "json-surrogate": ("docs.json", b'["a", "b", "\\udc00"]', "item 3"),
}


@pytest.mark.parametrize(("name", "raw", "words"), BAD_IDS.values(), ids=BAD_IDS.keys())
def test_bad_ids(tmp_path: Path, name: str, raw: bytes, words: str) -> None:
    np.save(tmp_path / "docs.npy", matrix())
    (tmp_path / name).write_bytes(raw)
    with pytest.raises((FormatError, EmbeddingError), match=words):
        read_embeddings(tmp_path / "docs.npy")


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_bad_rows(tmp_path: Path, suffix: str) -> None:
    array = matrix()
    array[1, 2] = np.nan
    np.save(tmp_path / "docs.npy", array)
    save_file({"embeddings": array}, tmp_path / "docs.safetensors")
    with pytest.raises(EmbeddingError, match="'b'"):
        read_embeddings(tmp_path / f"docs{suffix}", ids=["a", "b", "c"])
    held = read_embeddings(tmp_path / f"docs{suffix}", ids=["a", "b", "c"], bad_rows="drop")
    assert (held.ids, held.dropped) == (("a", "c"), ("b",))


# Reading .safetensors, against the package that defines it


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["embeddings", "x"])
def test_safetensors_values(tmp_path: Path, dtype: str, name: str) -> None:
    file = tmp_path / "docs.safetensors"
    held = {"bias": np.ones(3, dtype=np.int8), name: matrix(dtype), "z": np.ones((1, 1, 1), dtype=np.int64)}
    save_file(held, file, metadata={"ids": '["a", 2, "c"]', "encoder": "mini"})
    read = read_embeddings(file)
    np.testing.assert_array_equal(read.matrix, load_file(file)[name])
    assert (read.ids, read.encoder, read.dtype) == (("a", "2", "c"), "mini", np.dtype(dtype))
    assert isinstance(read.matrix, np.memmap)
    assert read_embeddings(file, encoder="other", ids=["x", "y", "z"]).encoder == "other"


def test_safetensors_name_wins_over_others_of_two_axes(tmp_path: Path) -> None:
    save_file({"embeddings": matrix(), "more": np.ones((2, 2))}, tmp_path / "a.safetensors")
    (tmp_path / "a.ids").write_text("a\nb\nc")
    np.testing.assert_array_equal(read_embeddings(tmp_path / "a.safetensors").matrix, matrix())


def test_safetensors_own_ids_win_over_a_file_beside_it(tmp_path: Path) -> None:
    save_file({"embeddings": matrix()}, tmp_path / "a.safetensors", metadata={"ids": '["x", "y", "z"]'})
    (tmp_path / "a.ids").write_text("a\nb\nc")
    assert read_embeddings(tmp_path / "a.safetensors").ids == ("x", "y", "z")


def test_safetensors_values_that_are_not_aligned(tmp_path: Path) -> None:
    header = json.dumps({"e": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}}).encode()
    header += b" " * (3 - len(header) % 4)
    (tmp_path / "a.safetensors").write_bytes(tensors(header, matrix().tobytes()))
    held = read_embeddings(tmp_path / "a.safetensors", ids=["a", "b", "c"])
    np.testing.assert_array_equal(held.matrix, matrix())


def entry(**changes: object) -> dict[str, object]:
    return {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48], **changes}


DATA = b"\0" * 48
BAD_TENSORS: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not a safetensors file"),
    "short": (b"\x10\0\0", "not a safetensors file"),
    "length-beyond-file": (struct.pack("<Q", 500) + b"{}", "cut short"),
    "length-huge": (b"\xff" * 8 + b"{}", "not a safetensors file"),
    "pickle": (pickle.dumps(matrix()), "not a safetensors file"),
    "header-not-json": (tensors(b"{nope}"), "not JSON"),
    "header-not-utf8": (tensors(b"\xff\xfe{}"), "not a safetensors file"),
    "header-list": (tensors([1]), "header is damaged"),
    "header-deep": (tensors(b'{"a":' * 50_000), "nested too deeply"),
    "metadata-list": (tensors({"__metadata__": [1], "e": entry()}, DATA), "header is damaged"),
    "no-tensor": (tensors({}), "0 of its 0 tensors"),
    "two-matrices": (
        tensors({"a": entry(), "b": entry()}, DATA),
        "2 of its 2 tensors have two axes: 'a', 'b'",
    ),
    "no-matrix": (tensors({"v": entry(shape=[12])}, DATA), "0 of its 1 tensors have two axes: 'v'"),
    "named-but-flat": (tensors({"embeddings": entry(shape=[12]), "e": entry()}, DATA), "has 1 axes"),
    "entry-number": (tensors({"embeddings": 3}), "header is damaged"),
    "shape-missing": (tensors({"embeddings": {"dtype": "F32"}}), "header is damaged"),
    "shape-negative": (tensors({"e": entry(shape=[-3, -4])}, DATA), "impossible shape"),
    "shape-huge": (tensors({"e": entry(shape=[2**62, 2**62])}, DATA), "impossible shape"),
    "bfloat16": (tensors({"e": entry(dtype="BF16", data_offsets=[0, 24])}, DATA), "bfloat16"),
    "int8": (tensors({"e": entry(dtype="I8", data_offsets=[0, 12])}, DATA), "'I8'"),
    "dtype-list": (tensors({"e": entry(dtype=["F32"])}, DATA), "unknown"),
    "offsets-missing": (tensors({"e": {"dtype": "F32", "shape": [3, 4]}}), "header is damaged"),
    "offsets-one": (tensors({"e": entry(data_offsets=[48])}, DATA), "offsets"),
    "offsets-negative": (tensors({"e": entry(data_offsets=[-48, 0])}, DATA), "offsets"),
    "offsets-text": (tensors({"e": entry(data_offsets=["0", "48"])}, DATA), "offsets"),
    "offsets-short": (tensors({"e": entry(data_offsets=[0, 40])}, DATA), "offsets"),
    "values-cut": (tensors({"e": entry()}, DATA[:-1]), "cut short"),
    "ids-not-json": (tensors({"__metadata__": {"ids": "a,b,c"}, "e": entry()}, DATA), "metadata 'ids'"),
    "ids-object": (tensors({"__metadata__": {"ids": "{}"}, "e": entry()}, DATA), "not a list of ids"),
    "no-ids": (tensors({"__metadata__": {"ids": 7}, "e": entry()}, DATA), "there are no ids"),
}


@pytest.mark.parametrize(("raw", "words"), BAD_TENSORS.values(), ids=BAD_TENSORS.keys())
def test_bad_safetensors(tmp_path: Path, raw: bytes, words: str) -> None:
    file = tmp_path / "docs.safetensors"
    file.write_bytes(raw)
    with pytest.raises(FormatError) as caught:
        read_embeddings(file)
    assert str(file) in str(caught.value)
    assert words in str(caught.value)
    assert caught.value.remedy


# Writing

AWKWARD = ("a", " b ", "é\u2028", "7", "c d", "[", "日本")


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rows", [0, 7])
@pytest.mark.parametrize("order", [np.ascontiguousarray, np.asfortranarray, lambda x: np.repeat(x, 2, 1)[:, ::2]])
def test_write_and_read_back(
    tmp_path: Path, suffix: str, dtype: str, rows: int, order: Callable[[Array], Array]
) -> None:
    file = tmp_path / "new" / f"docs.v1{suffix}"
    before = EmbeddingSet(AWKWARD[:rows], order(matrix(dtype, rows)), encoder="mini")
    write_embeddings(before, file)
    after = read_embeddings(file, encoder="mini" if suffix == ".npy" else None)
    assert (after.ids, after.dtype, after.encoder) == (before.ids, before.dtype, "mini")
    assert after.matrix.tobytes() == before.matrix.tobytes()
    assert {item.name for item in file.parent.iterdir()} == {
        file.name,
        *(["docs.v1.ids"] if suffix == ".npy" else []),
    }


def test_written_safetensors_opens_with_its_own_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tensors, "DEFAULT_BUDGET", 32)  # a block for every second row
    file = tmp_path / "docs.safetensors"
    write_embeddings(EmbeddingSet(AWKWARD, matrix(rows=7), encoder="mini"), file)
    np.testing.assert_array_equal(load_file(file)["embeddings"], matrix(rows=7))
    with safe_open(file, framework="numpy") as opened:
        assert json.loads(opened.metadata()["ids"]) == list(AWKWARD)
        assert opened.metadata()["encoder"] == "mini"


def test_written_npy_opens_with_numpy(tmp_path: Path) -> None:
    write_embeddings(EmbeddingSet(["a", "b", "c"], matrix()), tmp_path / "docs.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "docs.npy"), matrix())
    assert (tmp_path / "docs.ids").read_bytes() == b"a\nb\nc\n"


@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_a_file_can_be_written_over_what_it_was_mapped_from(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"docs{suffix}"
    write_embeddings(EmbeddingSet(["a", "b", "c"], matrix()), file)
    write_embeddings(read_embeddings(file).take(["c", "a"]), file)
    assert read_embeddings(file).ids == ("c", "a")
    write_embeddings(read_embeddings(file), file)
    np.testing.assert_array_equal(read_embeddings(file).matrix, matrix()[[2, 0]])


@pytest.mark.parametrize("name", ["a\nb", "a\r", "a\tb", " ", "\u2028", "\ud800", "\ufeffa", "a\0"], ids=ascii)
@pytest.mark.parametrize("suffix", [".npy", ".safetensors"])
def test_an_id_that_would_not_come_back_is_not_written(tmp_path: Path, name: str, suffix: str) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_embeddings(EmbeddingSet([name], np.ones((1, 2))), tmp_path / f"docs{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["docs.npz", "docs", "docs.pt", "docs.csv"])
def test_not_written_as_anything_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(OutputError, match=r"\.npy, \.safetensors or \.jsonl"):
        write_embeddings(EmbeddingSet(["a"], np.ones((1, 2))), tmp_path / name)


def test_a_header_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tensors, "_LONGEST_HEADER", 100)
    with pytest.raises(OutputError, match=r"do not fit.*\.npy"):
        write_embeddings(EmbeddingSet(AWKWARD, matrix(rows=7)), tmp_path / "docs.safetensors")


def test_a_place_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for suffix in (".npy", ".safetensors"):
        with pytest.raises(AskewError):
            write_embeddings(EmbeddingSet(["a"], np.ones((1, 2))), tmp_path / "file" / f"docs{suffix}")


def test_ids_that_are_given_stand_in_for_damaged_ones(tmp_path: Path) -> None:
    entry = {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}
    header = {"__metadata__": {"ids": "[1, null]"}, "embeddings": entry}
    (tmp_path / "docs.safetensors").write_bytes(tensors(header, matrix().tobytes()))
    with pytest.raises(FormatError, match=r"metadata 'ids'\), item 2: an id is null"):
        read_embeddings(tmp_path / "docs.safetensors")
    assert read_embeddings(tmp_path / "docs.safetensors", ids=["a", "b", "c"]).ids == ("a", "b", "c")
