"""The cache: found again by text, prompt and encoder; whole after any end; shared by processes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.encoders import CachedEncoder, CallableEncoder, default_cache
from askew.encoders._store import VectorStore
from askew.errors import (
    EncoderError,
    FormatError,
    InputError,
    OutputError,
    ParameterError,
)
from askew.protocols import Encoder

TEXTS = ["newt", "toad", "frog", "newt", "", "naïve \U0001f9ed"]


def counting(
    function: Callable[[str], Sequence[float]] | None = None, **options: Any
) -> tuple[CallableEncoder, list[str]]:
    """An encoder of letters, and the texts it was asked for."""
    asked: list[str] = []

    def letters(texts: list[str]) -> list[Sequence[float]]:
        asked.extend(texts)
        return [(function or (lambda text: [len(text), text.count("t"), 0.5]))(text) for text in texts]

    given: dict[str, Any] = {"name": "letters", "batch": 2} | options
    return CallableEncoder(letters, **given), asked


def test_each_text_is_asked_for_once(tmp_path: Path) -> None:
    encoder, asked = counting()
    with CachedEncoder(encoder, tmp_path) as cached:
        assert isinstance(cached, Encoder)
        heard: list[tuple[int, int]] = []
        rows = cached.encode(TEXTS, progress=lambda done, total: heard.append((done, total)))
        assert asked == list(dict.fromkeys(TEXTS))
        assert heard == [(0, 5), (2, 5), (4, 5), (5, 5)]
        np.testing.assert_array_equal(rows, counting()[0].encode(TEXTS))
        assert (rows.dtype.name, cached.dim, cached.name) == ("float32", 3, "letters")
    again, asked = counting()
    with CachedEncoder(again, tmp_path) as cached:
        assert cached.dim == 3
        np.testing.assert_array_equal(cached.encode(TEXTS[::-1]), rows[::-1])
    assert asked == []


def test_the_cache_does_not_hold_the_texts(tmp_path: Path) -> None:
    with CachedEncoder(counting()[0], tmp_path) as cached:
        cached.encode(["a confidential text"])
        held = cached.path
    assert held.parent == tmp_path
    assert b"confidential" not in held.read_bytes()


def test_another_prompt_is_another_vector_and_the_same_prompt_is_not(tmp_path: Path) -> None:
    encoder, asked = counting(query_prompt="q: ")
    with CachedEncoder(encoder, tmp_path) as cached:
        cached.encode(["a"], kind="query")
        cached.encode(["a"])
        cached.encode(["q: a"])  # as a document it is not what prompt and text are apart
    assert asked == ["q: a", "a", "q: a"]
    other, asked = counting(document_prompt="q: ")
    with CachedEncoder(other, tmp_path) as cached:
        cached.encode(["a"])
    assert asked == []


def test_another_encoder_has_a_file_of_its_own(tmp_path: Path) -> None:
    paths = set()
    for name in ("a", "b", "c/d e"):
        with CachedEncoder(counting(name=name)[0], tmp_path) as cached:
            cached.encode(["x"])
            paths.add(cached.path.name)
    assert len(paths) == 3
    assert {path.name for path in tmp_path.iterdir()} == paths
    assert any(name.startswith("callable-c-d-e-") for name in paths)


def test_what_came_before_an_error_stays(tmp_path: Path) -> None:
    def failing(text: str) -> list[float]:
        if text == "toad":
            raise RuntimeError("gone")
        return [len(text), 0, 1]

    with CachedEncoder(counting(failing, batch=1)[0], tmp_path) as cached, pytest.raises(RuntimeError):
        cached.encode(TEXTS)
    encoder, asked = counting()
    with CachedEncoder(encoder, tmp_path) as cached:
        cached.encode(TEXTS)
    assert "newt" not in asked


def test_rows_that_are_not_finite_are_never_kept(tmp_path: Path) -> None:
    bad = {"toad": float("nan"), "frog": float("inf"), "x": 1e39}
    encoder, _ = counting(lambda text: [bad.get(text, 1.0), 2.0], batch=8)
    with CachedEncoder(encoder, tmp_path) as cached:
        with pytest.raises(EncoderError, match=r"3 texts hold NaN or infinite values, first that of 'toad'") as error:
            cached.encode(["newt", "toad", "frog", "x", "y"])
        assert error.value.texts == ("toad", "frog", "x")
        assert cached.read(["newt", "y"]).tolist() == [[1, 2], [1, 2]]
        with pytest.raises(FormatError, match="missing or damaged"):
            cached.read(["newt", "toad"])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([[1.0, 2.0]], r"for 2 texts it gave an array of shape \(1, 2\)"),
        ([1.0, 2.0], r"shape \(2,\)"),
        ([["a"], ["b"]], "type <U1"),
        (np.zeros((2, 0)), "vectors of 0 dimensions"),
    ],
)
def test_what_is_no_matrix_of_one_row_a_text_is_refused(answer: Any, told: str) -> None:
    with pytest.raises(EncoderError, match=told):
        CallableEncoder(lambda texts: answer, name="odd").encode(["a", "b"])


def test_other_dimensions_midway_and_later_are_refused(tmp_path: Path) -> None:
    encoder, _ = counting(lambda text: [1.0] * len(text), batch=1)
    with CachedEncoder(encoder, tmp_path) as cached, pytest.raises(EncoderError, match="of 3 dimensions, and of 2"):
        cached.encode(["ab", "cd", "efg"])
    later, _ = counting(lambda text: [1.0] * 7)
    with (
        CachedEncoder(later, tmp_path) as cached,
        pytest.raises(EncoderError, match="letters: it gave vectors of 7 dimensions, and of 2 before"),
    ):
        cached.encode(["new"])


def test_an_encoder_of_another_dimension_is_refused_at_the_door(tmp_path: Path) -> None:
    with CachedEncoder(counting()[0], tmp_path) as cached:
        cached.encode(["a"])
    other, _ = counting(lambda text: [1.0])
    other.encode(["a"])
    with pytest.raises(EncoderError, match="vectors of 3 dimensions, and of 1 before"):
        CachedEncoder(other, tmp_path)


def test_two_that_began_at_once_cannot_keep_two_dimensions(tmp_path: Path) -> None:
    with (
        CachedEncoder(counting()[0], tmp_path) as first,
        CachedEncoder(counting(lambda t: [1.0])[0], tmp_path) as second,
    ):
        first.encode(["a"])
        with pytest.raises(EncoderError, match="have the dim 3, and new ones 1"):
            second.encode(["b"])
        assert first.fill(["b"]).asked == 1


def test_verify_tells_a_model_that_changed_under_its_name(tmp_path: Path) -> None:
    with CachedEncoder(counting()[0], tmp_path) as cached:
        assert cached.verify(TEXTS) == 0
        cached.encode(TEXTS[:3])
        assert cached.verify(TEXTS) == 3
    turned, _ = counting(lambda text: [0.5, -len(text), 1])
    with CachedEncoder(turned, tmp_path) as cached, pytest.raises(EncoderError, match=r"cosine -?0\.\d+"):
        cached.verify(TEXTS)


def test_surrogates_and_other_types() -> None:
    encoder, asked = counting()
    encoder.encode(["a \ud800"])
    assert asked == ["a ?"]
    with pytest.raises(ParameterError, match="one string"):
        encoder.encode("a")
    texts: list[Any] = ["a", 3]
    with pytest.raises(InputError, match="text 1 is a int"):
        encoder.encode(texts)


def test_where_caches_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASKEW_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_cache() == Path.home() / ".cache" / "askew"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert default_cache() == Path("/x/askew")
    monkeypatch.setenv("ASKEW_CACHE", "/y")
    assert default_cache() == Path("/y")


# The file


@settings(max_examples=min(settings().max_examples, 300))  # each opens and syncs files
@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 30), st.floats(width=32, allow_nan=False), st.booleans()), max_size=6),
        max_size=6,
    )
)
def test_the_store_is_a_mapping_that_keeps_the_first_value(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[tuple[int, float, bool]]]
) -> None:
    folder, oracle = tmp_path_factory.mktemp("store"), dict[bytes, tuple[float, bool]]()
    for batch in batches:
        store = VectorStore(folder, {"encoder": "x"})
        keys = [bytes([number] * 32) for number, _, _ in batch]
        rows = np.array([[value, 1.0] for _, value, _ in batch], dtype=np.float32).reshape(len(batch), 2)
        store.write(keys, rows, np.array([cut for _, _, cut in batch], dtype=np.bool_))
        for key, (_, value, cut) in zip(keys, batch, strict=True):
            oracle.setdefault(key, (value, cut))
        assert store.held([*oracle, b"none"]) == {key: cut for key, (_, cut) in oracle.items()}
        assert store.read(list(oracle)).tolist() == [[value, 1.0] for value, _ in oracle.values()]
        store.close()


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    with CachedEncoder(counting()[0], tmp_path) as cached:
        path = cached.path
    path.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    with pytest.raises(FormatError, match=f"{path}: the cache is damaged .*remove it"):
        CachedEncoder(counting()[0], tmp_path)


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    with CachedEncoder(counting()[0], tmp_path) as cached:
        path = cached.path
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version=9")
    base.close()
    with pytest.raises(FormatError, match="version 9"):
        CachedEncoder(counting()[0], tmp_path)


def test_a_row_of_another_length_is_never_read(tmp_path: Path) -> None:
    with CachedEncoder(counting()[0], tmp_path) as cached:
        cached.encode(["a"])
        base = sqlite3.connect(cached.path)
        with base:
            base.execute("UPDATE vectors SET vector = substr(vector, 1, 7)")
        base.close()
        with pytest.raises(FormatError, match="missing or damaged"):
            cached.read(["a"])


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="the cache cannot be used"):
        CachedEncoder(counting()[0], tmp_path / "file" / "below")


WORKER = """
import sys, json
import numpy as np
from askew.encoders import CachedEncoder, CallableEncoder

def letters(texts):
    return [[hash_ % 97, 1.0] for hash_ in (sum(map(ord, text)) for text in texts)]

encoder = CallableEncoder(letters, name="shared", batch=3)
texts = [f"text {i}" for i in range(200)]
if sys.argv[2] == "1":
    texts.reverse()
with CachedEncoder(encoder, sys.argv[1]) as cached:
    rows = cached.encode(texts)
assert rows.tolist() == encoder.encode(texts).tolist()
"""


def test_processes_that_share_a_file_do_not_harm_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", textwrap.dedent(WORKER), str(tmp_path)]
    running = [subprocess.Popen([*command, str(worker)], stderr=subprocess.PIPE) for worker in range(4)]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
    (path,) = tmp_path.glob("*.sqlite3")
    base = sqlite3.connect(path)
    assert base.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert base.execute("SELECT count(*) FROM vectors").fetchone() == (200,)
    assert json.loads(base.execute("SELECT value FROM facts WHERE name='signature'").fetchone()[0])["name"] == "shared"
    base.close()
