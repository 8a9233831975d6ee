"""The artefact: what is saved comes back, a crash harms nothing, and damage is always an ArtefactError."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from askew.adapters import Adapter, Canaries, Provenance, Seen
from askew.data import EmbeddingSet
from askew.errors import ArtefactError, OutputError
from askew.formats.artefact import load_adapter, save_adapter
from askew.linalg import FloatArray
from askew.operators import BilinearOperator, Dense, Factored, Identity, Stacked, Term, Zero

FILES = ["manifest.json", "tensors.safetensors"]
SEEN = ("queries", "positives", "negatives")
RNG = np.random.default_rng(0)


def matrix(rows: int, columns: int, dtype: str) -> FloatArray:
    return RNG.normal(size=(rows, columns)).astype(dtype)


def terms(rows: int, columns: int, dtype: str) -> dict[str, Term | None]:
    every: dict[str, Term | None] = {
        "none": None,
        "zero": Zero(rows, columns),
        "dense": Dense(matrix(rows, columns, dtype)),
        "transposed": Dense(matrix(columns, rows, dtype).T),
        "rank 0": Factored(matrix(rows, 0, dtype), matrix(columns, 0, dtype)),
        "rank 2": Factored(matrix(rows, 2, dtype), matrix(columns, 2, dtype)),
        "rank 9": Factored(matrix(rows, 9, dtype), matrix(columns, 9, dtype)),
        "stacked": Stacked((Zero(1, columns), Dense(matrix(rows - 1, columns, dtype)))),
        "beside": Stacked(
            (Dense(matrix(1, rows, dtype)), Factored(matrix(columns - 1, 2, dtype), matrix(rows, 2, dtype)))
        ).T,
    }
    return {**every, "identity": Identity(rows)} if rows == columns else every


PRIORS, DELTAS = (
    ["identity", "zero", "dense", "rank 2", "stacked", "beside"],
    ["none", "zero", "dense", "transposed", "rank 0", "rank 2", "rank 9"],
)


def provenance(d_query: int, d_document: int) -> Provenance:
    return Provenance(
        query_encoder="enc/é",
        document_encoder=None,
        query_canaries=Canaries.pick(EmbeddingSet(range(9), matrix(9, d_query, "float32")), {"3": "drei\n\ud800"}),
        document_canaries=Canaries.pick(EmbeddingSet(range(2), matrix(2, d_document, "float32")), {}),
        fingerprint="0123456789abcdef",
        record={"labels": 3, "verdict": {"decision": "adapt", "gain": 0.125}, "list": [1, None, True, "日本"]},
        seen=Seen.of(queries=["q1", "q2"], positives=["a", "b", "é"], negatives=["c"]),
    )


def full() -> Adapter:
    return Adapter(
        BilinearOperator(Dense(matrix(4, 3, "float32")), Factored(matrix(4, 2, "float32"), matrix(3, 2, "float32"))),
        "cosine",
        provenance(4, 3),
    )


def same_term(first: Term | None, second: Term | None) -> bool:
    if isinstance(first, Dense) and isinstance(second, Dense):
        return same_array(first.matrix, second.matrix)
    if isinstance(first, Factored) and isinstance(second, Factored):
        return same_array(first.left, second.left) and same_array(first.right, second.right)
    if isinstance(first, Stacked) and isinstance(second, Stacked):
        pairs = zip(first.parts, second.parts, strict=True)
        return first.beside == second.beside and all(same_term(one, two) for one, two in pairs)
    return first == second


def same_array(first: FloatArray, second: FloatArray) -> bool:
    alike = first.dtype == second.dtype and first.shape == second.shape
    return alike and np.ascontiguousarray(first).tobytes() == np.ascontiguousarray(second).tobytes()


def same_canaries(first: Canaries | None, second: Canaries | None) -> bool:
    if first is None or second is None:
        return first is second
    return (first.ids, first.texts) == (second.ids, second.texts) and same_array(first.vectors, second.vectors)


def same_seen(first: Seen | None, second: Seen | None) -> bool:
    if first is None or second is None:
        return first is second
    return all(same_array(getattr(first, name), getattr(second, name)) for name in SEEN)


def assert_same(first: Adapter, second: Adapter) -> None:
    assert same_term(first.operator.prior, second.operator.prior)
    assert same_term(first.operator.delta, second.operator.delta)
    assert first.similarity == second.similarity
    one, two = first.provenance, second.provenance
    for name in ("query_encoder", "document_encoder", "fingerprint"):
        assert getattr(one, name) == getattr(two, name)
    assert dict(one.record) == dict(two.record)
    assert same_canaries(one.query_canaries, two.query_canaries)
    assert same_canaries(one.document_canaries, two.document_canaries)
    assert same_seen(one.seen, two.seen)


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {item.name: item.read_bytes() for item in folder.iterdir()}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("prior", PRIORS)
def test_every_operator_comes_back_bit_for_bit(prior: str, delta: str, dtype: str, tmp_path: Path) -> None:
    for rows, columns in ((5, 5), (6, 4)) if prior != "identity" else ((5, 5),):
        known = terms(rows, columns, dtype)
        held = known[prior]
        assert held is not None
        adapter = Adapter(BilinearOperator(held, known[delta]), "cosine", provenance(rows, columns))
        folder = save_adapter(adapter, tmp_path / "adapter")
        loaded = load_adapter(folder)
        assert_same(adapter, loaded)
        x = matrix(3, rows, "float32")
        assert same_array(loaded.apply(x), adapter.apply(x))
        assert sorted(bytes_of(folder)) == FILES
        assert bytes_of(save_adapter(loaded, tmp_path / "again")) == bytes_of(folder)


def test_a_bare_adapter_comes_back(tmp_path: Path) -> None:
    adapter = Adapter(BilinearOperator.identity(3))
    loaded = load_adapter(save_adapter(adapter, str(tmp_path / "deep" / "er" / "adapter")))
    assert_same(adapter, loaded)
    x = matrix(2, 3, "float16")
    assert loaded.apply(x) is x


@pytest.mark.parametrize(("given", "stored"), [(">f4", "float32"), (">f8", "float64"), ("longdouble", "float64")])
def test_other_number_formats_are_stored_as_plain_ones(given: str, stored: str, tmp_path: Path) -> None:
    adapter = Adapter(BilinearOperator(Dense(matrix(3, 3, "float32").astype(given))))
    loaded = load_adapter(save_adapter(adapter, tmp_path / "a"))
    assert isinstance(loaded.operator.prior, Dense)
    assert loaded.operator.prior.matrix.dtype == np.dtype(stored)
    np.testing.assert_array_equal(loaded.operator.to_dense(), adapter.operator.to_dense())


def test_canaries_still_work_after_loading(tmp_path: Path) -> None:
    vectors = EmbeddingSet(range(9), matrix(9, 3, "float16"))
    adapter = Adapter(BilinearOperator.identity(3), provenance=Provenance(query_canaries=Canaries.pick(vectors, {})))
    loaded = load_adapter(save_adapter(adapter, tmp_path / "a"))
    loaded.check_queries(vectors)
    with pytest.raises(ArtefactError, match="has changed"):
        loaded.check_queries(EmbeddingSet(range(9), -vectors.matrix))


def test_the_manifest_is_for_people(tmp_path: Path) -> None:
    text = (save_adapter(full(), tmp_path / "a") / "manifest.json").read_text(encoding="ascii")
    manifest = json.loads(text)
    assert text.endswith("}\n")
    assert [manifest[key] for key in ("d_query", "d_document", "similarity")] == [4, 3, "cosine"]
    assert manifest["prior"] == {"kind": "dense"}
    assert manifest["correction"] == {"kind": "factored", "rank": 2}
    assert manifest["seen"] == {"queries": 2, "positives": 3, "negatives": 1}


def test_what_was_seen_tells_no_id_and_still_knows_them(tmp_path: Path) -> None:
    folder = save_adapter(full(), tmp_path / "a")
    seen = load_adapter(folder).provenance.seen
    assert seen is not None
    assert seen.positives.dtype == np.uint64
    assert (seen.knows_query("q1"), seen.knows_query("a")) == (True, False)
    assert seen.split_documents("abcd") == (frozenset("ab"), frozenset("c"), frozenset("d"))


def test_an_adapter_from_before_seen_was_noted_loads(sound: dict[str, bytes], tmp_path: Path) -> None:
    older = with_tensors(sound, lambda tensors: [tensors.pop(f"seen.{name}") for name in SEEN])
    older = with_manifest(older, lambda manifest: manifest.pop("seen"))
    assert load_adapter(put(tmp_path / "a", older)).provenance.seen is None


def test_nothing_seen_is_not_the_same_as_not_noted(tmp_path: Path) -> None:
    nothing = Provenance(seen=Seen.of(queries=[], positives=[], negatives=[]))
    loaded = load_adapter(save_adapter(Adapter(BilinearOperator.identity(2), provenance=nothing), tmp_path / "a"))
    assert same_seen(loaded.provenance.seen, nothing.seen)


@pytest.mark.parametrize("value", [math.nan, math.inf, object(), {1, 2}, b"x", np.float32(1), MappingProxyType({})])
def test_a_record_that_json_cannot_hold_is_refused_and_leaves_the_old(value: Any, tmp_path: Path) -> None:
    folder = save_adapter(full(), tmp_path / "a")
    before = bytes_of(folder)
    with pytest.raises(OutputError, match="record"):
        save_adapter(Adapter(BilinearOperator.identity(2), provenance=Provenance(record={"x": value})), folder)
    assert bytes_of(folder) == before
    assert names(tmp_path) == ["a"]


Break = Callable[[pytest.MonkeyPatch], None]


def fail_after(monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, calls: int) -> None:
    real, count = getattr(owner, name), iter(range(1000))

    def failing(*args: Any, **options: Any) -> Any:
        if next(count) == calls:
            raise OSError(28, "No space left on device")
        return real(*args, **options)

    monkeypatch.setattr(owner, name, failing)


BREAKS = [
    (os, "replace", 0),
    (os, "replace", 1),
    (os, "fsync", 0),
    (os, "fsync", 1),
    (os, "mkdir", 1),
    (os, "mkdir", 2),
    (Path, "write_bytes", 0),
    (Path, "write_text", 0),
]


@pytest.mark.parametrize(("owner", "name", "calls"), BREAKS, ids=[f"{name}-{calls}" for _, name, calls in BREAKS])
def test_a_failure_anywhere_leaves_the_old_one_and_no_litter(
    owner: Any, name: str, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = save_adapter(full(), tmp_path / "a")
    before = bytes_of(folder)
    with monkeypatch.context() as patch:
        fail_after(patch, owner, name, calls)
        with pytest.raises(OutputError, match="No space left"):
            save_adapter(Adapter(BilinearOperator.identity(2)), folder)
    assert bytes_of(folder) == before
    assert names(tmp_path) == ["a"]
    save_adapter(Adapter(BilinearOperator.identity(2)), folder)
    assert load_adapter(folder).is_base
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(("owner", "name", "calls"), [case for case in BREAKS if case[:3] != (os, "replace", 1)])
def test_a_failure_where_nothing_stood_leaves_nothing(
    owner: Any, name: str, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        fail_after(patch, owner, name, calls)
        with pytest.raises(OutputError):
            save_adapter(full(), tmp_path / "a")
    assert names(tmp_path) == []


def test_an_interruption_leaves_the_old_one_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = save_adapter(full(), tmp_path / "a")
    before = bytes_of(folder)

    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_adapter(Adapter(BilinearOperator.identity(2)), folder)
    assert bytes_of(folder) == before
    assert names(tmp_path) == ["a"]


def write_all(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


OURS = '{"format": "askew-adapter"}'
FOREIGN: dict[str, dict[str, str]] = {
    "other files": {"notes.txt": "mine"},
    "tensors alone": {"tensors.safetensors": "x"},
    "another manifest": {"manifest.json": '{"name": "a web app"}'},
    "another manifest and tensors": {"manifest.json": '{"format": "other"}', "tensors.safetensors": "x"},
    "a manifest that is a list": {"manifest.json": "[]", "tensors.safetensors": "x"},
    "no JSON": {"manifest.json": "hello"},
    "an adapter and notes": {"manifest.json": OURS, "tensors.safetensors": "x", "notes.txt": "mine"},
}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_things_are_not_overwritten(name: str, tmp_path: Path) -> None:
    write_all(tmp_path / "a", FOREIGN[name])
    before = bytes_of(tmp_path / "a")
    with pytest.raises(OutputError, match="other things than an adapter"):
        save_adapter(full(), tmp_path / "a")
    assert bytes_of(tmp_path / "a") == before
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"manifest.json": OURS},
        {"manifest.json": OURS, "tensors.safetensors": "cut"},
        {"manifest.json": "{", "tensors.safetensors": ""},
    ],
)
def test_empty_folders_and_damaged_adapters_are_replaced(files: dict[str, str], tmp_path: Path) -> None:
    write_all(tmp_path / "a", files)
    assert load_adapter(save_adapter(full(), tmp_path / "a")).similarity == "cosine"
    assert names(tmp_path) == ["a"]


def test_a_neighbour_of_a_similar_name_is_left_alone(tmp_path: Path) -> None:
    write_all(tmp_path / "a.old", {"backup.txt": "mine"})
    for _ in range(2):
        save_adapter(full(), tmp_path / "a")
    assert bytes_of(tmp_path / "a.old") == {"backup.txt": b"mine"}
    assert names(tmp_path) == ["a", "a.old"]


@pytest.mark.parametrize("place", ["file", "file/deeper", "n" * 300, "nul\0"])
def test_places_that_cannot_be_written_are_refused(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputError):
        save_adapter(full(), tmp_path / place)
    assert bytes_of(tmp_path) == {"file": b"mine"}


def test_the_longest_names_can_be_written(tmp_path: Path) -> None:
    assert load_adapter(save_adapter(full(), tmp_path / ("n" * 255))).similarity == "cosine"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return bytes_of(save_adapter(full(), tmp_path_factory.mktemp("sound") / "a"))


def put(folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def with_manifest(files: dict[str, bytes], change: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    manifest = json.loads(files["manifest.json"])
    change(manifest)
    return {**files, "manifest.json": json.dumps(manifest).encode()}


def with_tensors(files: dict[str, bytes], change: Callable[[dict[str, Any]], object]) -> dict[str, bytes]:
    """Other tensors, with the checksum that fits them."""
    tensors = dict(safetensors.numpy.load(files["tensors.safetensors"]))
    change(tensors)
    return sealed(files, safetensors.numpy.save(tensors))


def sealed(files: dict[str, bytes], payload: bytes) -> dict[str, bytes]:
    digest = hashlib.sha256(payload).hexdigest()
    return {
        **with_manifest(files, lambda manifest: manifest.update(tensors_sha256=digest)),
        "tensors.safetensors": payload,
    }


@pytest.mark.parametrize("name", FILES)
def test_missing_and_cut_and_flipped_files_are_told(name: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    content = sound[name]
    folder = put(tmp_path / "a", sound)
    (folder / name).unlink()
    with pytest.raises(ArtefactError, match=name):
        load_adapter(folder)
    (folder / name).mkdir()
    with pytest.raises(ArtefactError, match=name):
        load_adapter(folder)
    (folder / name).rmdir()
    for size in (0, 1, 8, len(content) // 2, len(content) - 2):
        put(folder, {name: content[:size]})
        with pytest.raises(ArtefactError):
            load_adapter(folder)


@pytest.mark.parametrize("flip", [1, 0x80])
def test_any_flipped_bit_of_the_tensors_is_noticed(flip: int, sound: dict[str, bytes], tmp_path: Path) -> None:
    folder = put(tmp_path / "a", sound)
    content = sound["tensors.safetensors"]
    for place in range(0, len(content), 7):
        flipped = bytearray(content)
        flipped[place] ^= flip
        put(folder, {"tensors.safetensors": bytes(flipped)})
        with pytest.raises(ArtefactError, match="checksum"):
            load_adapter(folder)


@pytest.mark.parametrize("place", ["nowhere", "n" * 300, "nul\0", "file"])
def test_no_folder_is_told(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    with pytest.raises(ArtefactError):
        load_adapter(tmp_path / place)


OTHER_JSON = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"3",
    b'"x"',
    b"{}",
    b'{"format": "other"}',
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"a":' * 100_000,
]


@pytest.mark.parametrize("content", OTHER_JSON, ids=range(len(OTHER_JSON)))
def test_other_json_is_no_manifest(content: bytes, sound: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="manifest"):
        load_adapter(put(tmp_path / "a", {**sound, "manifest.json": content}))


@pytest.mark.parametrize("version", [0, 2, "1", None, 1e400])
def test_other_versions_are_told(version: Any, sound: dict[str, bytes], tmp_path: Path) -> None:
    files = with_manifest(sound, lambda manifest: manifest.update(format_version=version))
    with pytest.raises(ArtefactError, match=r"format .* reads 1"):
        load_adapter(put(tmp_path / "a", files))


def put_in(*path: str, value: Any) -> Callable[[dict[str, Any]], object]:
    def change(held: dict[str, Any]) -> None:
        for key in path[:-1]:
            held = held[key]
        held[path[-1]] = value

    return change


MANIFESTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "another d_query": put_in("d_query", value=5),
    "another d_document": put_in("d_document", value=4),
    "d_query as text": put_in("d_query", value="4"),
    "another similarity": put_in("similarity", value="euclid"),
    "a list of similarities": put_in("similarity", value=["dot"]),
    "an unknown kind": put_in("prior", "kind", value="sparse"),
    "no kind": put_in("prior", value={}),
    "a prior that is null": put_in("prior", value=None),
    "a prior that is text": put_in("prior", value="identity"),
    "an identity that is no square": put_in("prior", value={"kind": "identity", "shape": [4, 3]}),
    "an identity of another size": put_in("prior", value={"kind": "identity", "shape": [4, 4]}),
    "a shape of one": put_in("prior", value={"kind": "zero", "shape": [4]}),
    "a shape of three": put_in("prior", value={"kind": "zero", "shape": [4, 3, 2]}),
    "a negative shape": put_in("prior", value={"kind": "zero", "shape": [-4, 3]}),
    "a shape of floats": put_in("prior", value={"kind": "zero", "shape": [4.0, 3.0]}),
    "an infinite shape": put_in("prior", value={"kind": "zero", "shape": [math.inf, 3]}),
    "a shape of nothing": put_in("prior", value={"kind": "zero", "shape": None}),
    "a stack of nothing": put_in("prior", value={"kind": "stacked", "beside": False, "parts": []}),
    "a stack of a stack": put_in(
        "prior",
        value={"kind": "stacked", "beside": False, "parts": [{"kind": "stacked", "beside": False, "parts": []}]},
    ),
    "a stack of no list": put_in("prior", value={"kind": "stacked", "beside": False, "parts": 3}),
    "a factored prior without factors": put_in("prior", "kind", value="factored"),
    "a dense correction without matrix": put_in("correction", "kind", value="dense"),
    "no correction given": lambda manifest: manifest.pop("correction"),
    "no checksum": lambda manifest: manifest.pop("tensors_sha256"),
    "a checksum that is null": put_in("tensors_sha256", value=None),
    "no canaries": lambda manifest: manifest.pop("canaries"),
    "canaries that are a list": put_in("canaries", value=[]),
    "one canary id more": put_in("canaries", "query", "ids", value=["1", "2", "3", "4", "5"]),
    "one canary text less": put_in("canaries", "query", "texts", value=["", "", ""]),
    "canary ids as one text": put_in("canaries", "query", "ids", value="1234"),
    "canary ids as numbers": put_in("canaries", "query", "ids", value=[1, 2, 3, 4]),
    "an encoder that is a number": put_in("query_encoder", value=3),
    "a fingerprint that is null": put_in("fingerprint", value=None),
    "a record that is a list": put_in("record", value=[["a", 1]]),
    "a record that is null": put_in("record", value=None),
    "another count of seen queries": put_in("seen", "queries", value=3),
    "a seen that is a list": put_in("seen", value=[]),
    "a seen without counts": put_in("seen", value={}),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_a_manifest_that_does_not_fit_is_told(name: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    folder = put(tmp_path / "a", with_manifest(sound, MANIFESTS[name]))
    with pytest.raises(ArtefactError) as caught:
        load_adapter(folder)
    assert str(folder) in str(caught.value)
    assert caught.value.remedy


TENSORS: dict[str, Callable[[dict[str, Any]], object]] = {
    "no matrix": lambda tensors: tensors.pop("prior.matrix"),
    "no left factor": lambda tensors: tensors.pop("delta.left"),
    "no canaries": lambda tensors: tensors.pop("canaries.query"),
    "a matrix of another shape": lambda tensors: tensors.update({"prior.matrix": np.ones((3, 4))}),
    "a matrix of one axis": lambda tensors: tensors.update({"prior.matrix": np.ones(12)}),
    "a matrix of ints": lambda tensors: tensors.update({"prior.matrix": np.ones((4, 3), dtype=np.int32)}),
    "a matrix of bools": lambda tensors: tensors.update({"prior.matrix": np.ones((4, 3), dtype=bool)}),
    "a matrix with a NaN": lambda tensors: tensors.update({"prior.matrix": np.full((4, 3), np.nan)}),
    "factors of other ranks": lambda tensors: tensors.update({"delta.left": np.ones((4, 3))}),
    "factors of another size": lambda tensors: tensors.update({"delta.left": np.ones((5, 2))}),
    "canaries of another dimension": lambda tensors: tensors.update({"canaries.query": np.ones((4, 9))}),
    "canaries of one axis": lambda tensors: tensors.update({"canaries.query": np.ones(4)}),
    "canaries with a NaN": lambda tensors: tensors.update({"canaries.query": np.full((4, 4), np.nan)}),
    "canaries of ints": lambda tensors: tensors.update({"canaries.query": np.ones((4, 4), dtype=np.int8)}),
    "no seen positives": lambda tensors: tensors.pop("seen.positives"),
    "seen positives of floats": lambda tensors: tensors.update({"seen.positives": np.arange(3.0)}),
    "seen positives of int64": lambda tensors: tensors.update({"seen.positives": np.arange(3)}),
    "seen positives out of order": lambda tensors: tensors.update(
        {"seen.positives": tensors["seen.positives"][::-1].copy()}
    ),
    "seen positives of two axes": lambda tensors: tensors.update({"seen.positives": np.ones((3, 1), np.uint64)}),
    "a seen negative that is a positive": lambda tensors: tensors.update(
        {"seen.negatives": tensors["seen.positives"][:1]}
    ),
    "one canary less": lambda tensors: tensors.update({"canaries.query": np.ones((3, 4))}),
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_that_do_not_fit_are_told(name: str, sound: dict[str, bytes], tmp_path: Path) -> None:
    folder = put(tmp_path / "a", with_tensors(sound, TENSORS[name]))
    with pytest.raises(ArtefactError) as caught:
        load_adapter(folder)
    assert str(folder) in str(caught.value)


def load_or_refuse(folder: Path) -> None:
    """Whatever stands there, it loads into something that works or is an ArtefactError."""
    try:
        adapter = load_adapter(folder)
    except ArtefactError:
        return
    rows, columns = adapter.operator.shape
    assert adapter.apply(np.ones((2, rows))).shape == (2, columns)
    adapter.check_queries(EmbeddingSet(["no canary"], np.ones((1, rows))))


@given(content=st.binary(max_size=300))
def test_random_bytes_are_no_manifest(
    content: bytes, sound: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "random-manifest"
    with pytest.raises(ArtefactError):
        load_adapter(put(folder, {**sound, "manifest.json": content}))


@given(
    content=st.binary(max_size=200),
    header=st.none() | st.dictionaries(st.text(max_size=3), st.text() | st.lists(st.integers()), max_size=3),
    length=st.none() | st.integers(0, 2**64 - 1),
)
def test_random_bytes_are_no_tensors(
    content: bytes,
    header: dict[str, Any] | None,
    length: int | None,
    sound: dict[str, bytes],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Even where the manifest vouches for them."""
    if header is not None:
        content = json.dumps(header).encode() + content
    if length is not None or header is not None:
        content = (len(content) if length is None else length).to_bytes(8, "little") + content
    folder = tmp_path_factory.getbasetemp() / "random-tensors"
    with pytest.raises(ArtefactError):
        load_adapter(put(folder, sealed(sound, content)))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.integers()
    | st.floats()
    | st.sampled_from(["dense", "zero", "identity", "dot"])
    | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["kind", "shape", "ids", "texts", "query"]), inner, max_size=4)
    ),
    max_leaves=8,
)
KEYS = [
    *("format", "format_version", "tensors_sha256", "d_query", "d_document", "similarity", "prior", "correction"),
    *("query_encoder", "document_encoder", "fingerprint", "canaries", "record", "seen"),
]


@given(changes=st.dictionaries(st.sampled_from(KEYS), JSON, min_size=1, max_size=3))
def test_any_json_in_a_manifest_loads_or_is_refused(
    changes: dict[str, Any], sound: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "any-json"
    load_or_refuse(put(folder, with_manifest(sound, lambda manifest: manifest.update(changes))))


@given(place=st.integers(0, 10_000), value=st.integers(0, 255))
def test_any_byte_changed_loads_or_is_refused(
    place: int, value: int, sound: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In the tensors with a checksum that fits, so that the reader behind it is met."""
    folder = tmp_path_factory.getbasetemp() / "any-byte"
    for name in FILES:
        content = bytearray(sound[name])
        content[place % len(content)] = value
        files = sealed(sound, bytes(content)) if name == FILES[1] else {**sound, name: bytes(content)}
        load_or_refuse(put(folder, files))
