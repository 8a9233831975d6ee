"""Ids and embedding sets: one form for ids, and a table of inputs that are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import EmbeddingSet, as_id, stable_hash, tie_rank
from askew.errors import EmbeddingError, MatchError

EYE = np.eye(3)

ONE_FORM: list[tuple[Any, str]] = [
    (7, "7"),
    (-7, "-7"),
    (np.int64(7), "7"),
    (np.uint8(7), "7"),
    (2**70, str(2**70)),
    ("7", "7"),
    (np.str_("é"), "é"),
    (b"x", "x"),
    ("é".encode(), "é"),
    (np.bytes_(b"x"), "x"),
    (" a b ", " a b "),
    ("日本", "日本"),
    ("\ud800", "\ud800"),
]
NO_IDS: list[tuple[Any, str]] = [
    ("", "empty"),
    (b"", "empty"),
    (b"\xff", "UTF-8"),
    (None, "NoneType"),
    (1.0, "float"),
    (np.float32(1), "float32"),
    (True, "bool"),
    (np.True_, "bool"),
    (["a"], "list"),
    (("a",), "tuple"),
]


@pytest.mark.parametrize(("value", "text"), ONE_FORM)
def test_ids_have_one_form(value: Any, text: str) -> None:
    assert as_id(value) == text
    assert type(as_id(value)) is str
    assert EmbeddingSet([value], EYE[:1]).ids == (text,)


@pytest.mark.parametrize(("value", "named"), NO_IDS)
def test_what_is_no_id_is_refused(value: Any, named: str) -> None:
    with pytest.raises(EmbeddingError, match=named):
        EmbeddingSet(["a", value, "c"], EYE)


@pytest.mark.parametrize("ids", [None, 3, np.array(3), 1.5])
def test_what_is_no_list_of_ids_is_refused(ids: Any) -> None:
    with pytest.raises(EmbeddingError, match="ids"):
        EmbeddingSet(ids, EYE)


@given(st.lists(st.text(min_size=1), unique=True))
def test_tie_rank_is_the_place_in_code_point_order(ids: list[str]) -> None:
    rank = tie_rank(ids)
    assert sorted(rank.tolist()) == list(range(len(ids)))
    assert [ids[row] for row in np.argsort(rank)] == sorted(ids)


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (("",), 16476032584258269876),
        (("q1",), 16682312294048366696),
        (("é",), 14635220546840893743),
        (("q1", "order-0"), 13504145019899656469),
        (("q1", "fold-0"), 6971196647573100851),
    ],
)
def test_the_hash_is_the_same_for_ever(given: tuple[str, ...], value: int) -> None:
    """Splits and folds rest on it: a change here moves every query of every user."""
    assert stable_hash(*given) == value


REFUSED: dict[str, tuple[Any, str]] = {
    "one axis": (np.ones(3), "1 axes"),
    "three axes": (np.ones((3, 2, 2)), "3 axes"),
    "no axis": (1.0, "0 axes"),
    "an empty list": ([], "1 axes"),
    "no dimension": (np.ones((3, 0)), "no dimension"),
    "ragged": ([[1.0], [1.0, 2.0], [1.0]], "one length"),
    "ints": (EYE.astype(int), "int64"),
    "uint8": (EYE.astype(np.uint8), "uint8"),
    "bools": (EYE.astype(bool), "bool"),
    "complex": (EYE * 1j, "complex128"),
    "objects": (EYE.astype(object), "object"),
    "texts": ([["a"], ["b"], ["c"]], "str"),
    "none": ([[1.0, None], [2.0, 3.0], [1.0, 1.0]], "object"),
    "too few rows": (EYE[:2], "3 ids for 2 rows"),
    "too many rows": (np.ones((4, 3)), "3 ids for 4 rows"),
    "nan": ([[1.0], [np.nan], [2.0]], "1 of 3 rows .*'b'"),
    "infinite": ([[np.inf], [1.0], [-np.inf]], "2 of 3 rows .*'a', 'c'"),
    "overflowing": ([[1e200], [1.0], [1.0]], "'a'"),
    "beyond float64": (np.array([[1], [1], [1]], np.longdouble) * np.longdouble("1e4000"), "3 of 3"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_unusable_matrices_are_refused_by_name(name: str) -> None:
    matrix, named = REFUSED[name]
    with pytest.raises(EmbeddingError, match=named) as caught:
        EmbeddingSet("abc", matrix, source="vectors.npy")
    assert str(caught.value).startswith("vectors.npy: ")
    assert caught.value.remedy


ACCEPTED: dict[str, tuple[Any, str]] = {
    "float16": (EYE.astype(np.float16), "float16"),
    "float32": (EYE.astype(np.float32), "float32"),
    "float64": (EYE, "float64"),
    "lists": (EYE.tolist(), "float64"),
    "longdouble": (EYE.astype(np.longdouble), "float64"),
    "big-endian": (EYE.astype(">f4"), "float32"),
    "column-major": (np.asfortranarray(EYE), "float64"),
    "strided": (np.repeat(EYE, 2, axis=1)[:, ::2], "float64"),
    "read-only": (np.broadcast_to(EYE[0], (3, 3)), "float64"),
    "masked": (np.ma.masked_array(EYE, mask=EYE > 0), "float64"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_usable_matrices_are_kept(name: str) -> None:
    matrix, dtype = ACCEPTED[name]
    embeddings = EmbeddingSet("abc", matrix)
    assert (len(embeddings), embeddings.dim, embeddings.dtype.name) == (3, 3, dtype)
    assert embeddings.dtype.isnative
    assert type(embeddings.matrix) is np.ndarray
    np.testing.assert_array_equal(embeddings.matrix, np.array(matrix))
    np.testing.assert_array_equal(embeddings.norms, np.ones(3))


def test_a_float_array_is_not_copied() -> None:
    matrix = EYE.astype(np.float16)
    assert EmbeddingSet("abc", matrix).matrix is matrix


@pytest.mark.parametrize("ids", [["a", "b", "a"], [1, "b", "1"], [b"a", "a", "c"], [np.int64(1), 1, 2]])
def test_ids_that_occur_twice_are_named(ids: list[Any]) -> None:
    with pytest.raises(EmbeddingError, match=r"1 id occurs more than once: '[1a]'"):
        EmbeddingSet(ids, EYE)


def test_no_rows_are_an_empty_set() -> None:
    embeddings = EmbeddingSet([], np.empty((0, 5), np.float32))
    assert (len(embeddings), embeddings.dim, embeddings.ids) == (0, 5, ())
    assert embeddings.take([]).dim == 5


def test_a_memory_map_stays_one(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", EYE.astype(np.float16))
    mapped = np.load(tmp_path / "m.npy", mmap_mode="r")
    embeddings = EmbeddingSet("abc", mapped)
    assert embeddings.matrix is mapped
    assert isinstance(embeddings.matrix, np.memmap)


def test_dropped_rows_are_listed_and_the_rest_keeps_its_order() -> None:
    matrix = np.array([[1.0], [np.nan], [3.0], [np.inf], [1e200], [6.0]], dtype=np.float64)
    embeddings = EmbeddingSet("fedcba", matrix, bad_rows="drop")
    assert embeddings.dropped == ("e", "c", "b")
    assert embeddings.ids == ("f", "d", "a")
    assert embeddings.matrix.tolist() == [[1.0], [3.0], [6.0]]
    assert embeddings.norms.tolist() == [1.0, 3.0, 6.0]
    assert [embeddings.row(name) for name in embeddings.ids] == [0, 1, 2]
    assert embeddings.tie_rank.tolist() == [2, 1, 0]
    assert "e" not in embeddings


def test_all_rows_dropped_leave_an_empty_set() -> None:
    embeddings = EmbeddingSet("abc", EYE * np.nan, bad_rows="drop")
    assert len(embeddings) == 0
    assert embeddings.dropped == ("a", "b", "c")


def test_rows_are_found_by_id_or_named() -> None:
    embeddings = EmbeddingSet("abc", EYE, encoder="e", source="here")
    assert embeddings.rows(["c", "a", "c"]).tolist() == [2, 0, 2]
    assert "c" in embeddings
    assert 3 not in embeddings
    taken = embeddings.take(["c", "a"])
    assert (taken.ids, taken.encoder, taken.source) == (("c", "a"), "e", "here")
    np.testing.assert_array_equal(taken.matrix, EYE[[2, 0]])
    with pytest.raises(MatchError, match="'x'"):
        embeddings.row("x")
    with pytest.raises(MatchError, match="2 of 3 ids have no embedding: 'x', 'y'"):
        embeddings.rows(["a", "x", "y"])
