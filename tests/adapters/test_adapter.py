"""Applying: the base bit for bit, what does not fit refused by name, strangers' vectors caught."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.adapters import Adapter, Canaries, Provenance
from askew.data import EmbeddingSet
from askew.errors import DimensionError, EmbeddingError, EncoderMismatchError, InputError, ParameterError
from askew.linalg import FloatArray
from askew.operators import BilinearOperator, Dense, Factored, Identity, Zero

RNG = np.random.default_rng(0)
DTYPES = ["float16", "float32", "float64"]
IDENTITY = BilinearOperator.identity(4)
MAPS = {
    "identity + factors": BilinearOperator(Identity(4), Factored(RNG.normal(size=(4, 2)), RNG.normal(size=(4, 2)))),
    "dense 4 × 3": BilinearOperator(Dense(RNG.normal(size=(4, 3)))),
    "zero + dense": BilinearOperator(Zero(4, 5), Dense(RNG.normal(size=(4, 5)).astype(np.float32))),
}


def rows(dtype: Any = "float32", count: int = 6) -> FloatArray:
    return np.random.default_rng(1).normal(size=(count, 4)).astype(dtype)


@pytest.mark.parametrize("dtype", [*DTYPES, ">f4", ">f8", "longdouble"])
def test_the_identity_gives_its_input_back(dtype: Any) -> None:
    adapter = Adapter(IDENTITY)
    matrix = rows(dtype)
    assert adapter.is_base
    assert adapter.apply(matrix) is matrix
    vector = matrix[0]
    assert adapter.apply(vector) is vector
    if np.dtype(dtype).itemsize <= 8 and np.dtype(dtype).isnative:
        embeddings = EmbeddingSet(range(6), matrix, encoder="e")
        assert adapter.apply(embeddings) is embeddings
        assert embeddings.matrix is matrix


def test_the_identity_keeps_a_memory_map(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", rows())
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert Adapter(IDENTITY).apply(mapped) is mapped


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MAPS)
def test_sets_matrices_vectors_and_lists_are_mapped_alike(name: str, dtype: str) -> None:
    operator = MAPS[name]
    adapter = Adapter(operator)
    matrix = rows(dtype)
    adapted = adapter.apply(matrix)
    assert adapted.dtype == (np.float64 if dtype == "float64" else np.float32)
    np.testing.assert_allclose(adapted, matrix.astype(float) @ operator.to_dense(), rtol=1e-6, atol=1e-6)
    held = adapter.apply(EmbeddingSet(range(6), matrix, source="here"))
    assert held.matrix.tobytes() == adapted.tobytes()
    assert (held.ids, held.source) == (("0", "1", "2", "3", "4", "5"), "adapted here")
    assert adapter.apply(matrix[2]).tobytes() == adapted[2].tobytes()
    assert adapter.apply(matrix[2]).shape == (operator.shape[1],)
    wide = adapter.apply(matrix.astype(np.float64))
    assert adapter.apply(matrix.astype(float).tolist()).tobytes() == wide.tobytes()
    assert adapter.apply(matrix.astype(float)[1].tolist()).tobytes() == wide[1].tobytes()
    assert adapter.apply(matrix.astype(">f8")).tobytes() == wide.tobytes()
    assert adapter.apply(matrix[:0]).shape == (0, operator.shape[1])


BAD_ARRAYS: dict[str, tuple[Any, type[InputError], str]] = {
    "ints": (np.ones((2, 4), dtype=int), EmbeddingError, "int64"),
    "int lists": ([[1, 2, 3, 4]], EmbeddingError, "int64"),
    "bools": (np.ones((2, 4), dtype=bool), EmbeddingError, "bool"),
    "texts": (["a"], EmbeddingError, "str"),
    "ragged": ([[1.0], [1.0, 2.0]], EmbeddingError, "do not form a matrix"),
    "none": (None, EmbeddingError, "object"),
    "narrow": (np.ones((2, 3)), DimensionError, r"\(2, 3\).*4 dimensions"),
    "short": (np.ones(3), DimensionError, "4 dimensions"),
    "no axis": (np.float64(1.0), DimensionError, "4 dimensions"),
    "three axes": (np.ones((2, 2, 4)), DimensionError, "4 dimensions"),
}


@pytest.mark.parametrize("operator", [IDENTITY, MAPS["dense 4 × 3"]], ids=["identity", "dense"])
@pytest.mark.parametrize("name", BAD_ARRAYS)
def test_unusable_queries_are_refused(name: str, operator: BilinearOperator) -> None:
    given, error, named = BAD_ARRAYS[name]
    with pytest.raises(error, match=named):
        Adapter(operator).apply(given)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", MAPS)
def test_what_is_not_finite_is_not_mapped(name: str, value: float) -> None:
    matrix = rows()
    matrix[3, 1] = value
    with pytest.raises(EmbeddingError, match="finite"):
        Adapter(MAPS[name]).apply(matrix)


def test_what_float32_cannot_hold_is_refused_with_its_id() -> None:
    adapter = Adapter(BilinearOperator(Dense(np.eye(4) * 1e30)))
    big = rows() * np.float32(1e20)
    with pytest.raises(EmbeddingError, match="finite"):
        adapter.apply(big)
    with pytest.raises(EmbeddingError, match="'0', '1'"):
        adapter.apply(EmbeddingSet(range(6), big))


def test_dimensions_are_told_with_names() -> None:
    adapter = Adapter(MAPS["dense 4 × 3"])
    queries = EmbeddingSet(["q"], np.ones((1, 3)), encoder="small", source="q.npy")
    documents = EmbeddingSet(["d"], np.ones((1, 4)))
    with pytest.raises(
        DimensionError, match=r"q.npy: the query vectors \(small\) have 3 dimensions, the adapter takes 4"
    ):
        adapter.apply(queries)
    with pytest.raises(DimensionError, match=r"document vectors \(unnamed encoder\) have 4 dimensions.*takes 3"):
        adapter.check_documents(documents)


@pytest.mark.parametrize("similarity", ["euclid", "", None, ["dot"]])
def test_other_similarities_are_refused(similarity: Any) -> None:
    with pytest.raises(ParameterError, match="similarity"):
        Adapter(IDENTITY, similarity)


@pytest.mark.parametrize(
    ("known", "given", "fits"),
    [("e", "e", True), ("e", None, True), (None, "e", True), ("e", "E", False), ("", "e", True)],
)
def test_encoders_are_known_by_name(known: str | None, given: str | None, fits: bool) -> None:
    adapter = Adapter(IDENTITY, provenance=Provenance(query_encoder=known, document_encoder=known))
    vectors = EmbeddingSet(range(6), rows(), encoder=given)
    for side, check in (
        ("query", adapter.check_queries),
        ("document", adapter.check_documents),
        ("query", adapter.apply),
    ):
        if fits:
            check(vectors)
        else:
            with pytest.raises(EncoderMismatchError, match=f"the {side} vectors come from the encoder 'E'.*'e'"):
                check(vectors)


def with_canaries(vectors: EmbeddingSet) -> Adapter:
    canaries = Canaries.pick(vectors, {"3": "three"})
    return Adapter(IDENTITY, provenance=Provenance(query_canaries=canaries, document_canaries=canaries))


def int8(matrix: FloatArray) -> FloatArray:
    step = np.abs(matrix).max() / 127
    return np.asarray(np.rint(matrix / step) * step)


HARMLESS: dict[str, Any] = {
    "the same": lambda m: m,
    "float16": lambda m: m.astype(np.float16),
    "float64": lambda m: m.astype(np.float64),
    "int8": int8,
    "normalised": lambda m: m / np.linalg.norm(m, axis=1, keepdims=True),
    "scaled": lambda m: m.astype(np.float64) * 1e-200,
}
HARMFUL: dict[str, Any] = {
    "another model": lambda m: np.random.default_rng(9).normal(size=m.shape),
    "negated": lambda m: -m,
    "turned a little": lambda m: m + 0.3 * np.abs(m).max() * np.random.default_rng(9).normal(size=m.shape),
    "columns exchanged": lambda m: m[:, ::-1],
    "rows exchanged": lambda m: m[::-1],
    "zeros": lambda m: m * 0,
}


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30, 1e-200, 1e100])
@pytest.mark.parametrize("name", HARMLESS)
def test_canaries_let_roundings_pass(name: str, scale: float) -> None:
    matrix = np.random.default_rng(3).normal(size=(50, 4))
    adapter = with_canaries(EmbeddingSet(range(50), matrix * scale))
    adapter.check_queries(EmbeddingSet(range(50), HARMLESS[name](matrix)))


@pytest.mark.parametrize("name", HARMFUL)
def test_canaries_catch_another_version(name: str) -> None:
    matrix = np.random.default_rng(3).normal(size=(50, 4))
    adapter = with_canaries(EmbeddingSet(range(50), matrix))
    changed = EmbeddingSet(range(50), HARMFUL[name](matrix), source="new.npy")
    for side, check in (("query", adapter.apply), ("document", adapter.check_documents)):
        with pytest.raises(EncoderMismatchError, match=f"new.npy: the vector of {side} '.*' has changed"):
            check(changed)


def test_canaries_of_other_ids_say_nothing() -> None:
    adapter = with_canaries(EmbeddingSet(range(50), np.random.default_rng(3).normal(size=(50, 4))))
    adapter.check_queries(EmbeddingSet([f"new{row}" for row in range(6)], rows()))


def test_canaries_are_a_few_rows_that_are_not_zero() -> None:
    matrix = rows("float16", 40)
    matrix[::2] = 0
    canaries = Canaries.pick(EmbeddingSet(range(40), matrix), {str(row): f"text {row}" for row in range(40)})
    assert len(canaries.ids) == 4
    assert all(int(name) % 2 for name in canaries.ids)
    assert canaries.texts == tuple(f"text {name}" for name in canaries.ids)
    np.testing.assert_allclose(np.linalg.norm(canaries.vectors, axis=1), 1.0, atol=1e-6)
    order = np.random.default_rng(0).permutation(40)
    assert Canaries.pick(EmbeddingSet(order, matrix[order]), {}).ids == canaries.ids
    assert Canaries.pick(EmbeddingSet(range(3), np.zeros((3, 4))), {}).ids == ()


@pytest.mark.parametrize(
    ("ids", "vectors", "texts"),
    [
        (("a",), np.ones((2, 3)), ("", "")),
        (("a", "b"), np.ones((2, 3)), ("",)),
        (("a",), np.ones(1), ("",)),
        (("a",), np.full((1, 3), np.nan), ("",)),
        (("a",), np.ones((1, 3), dtype=int), ("",)),
    ],
)
def test_canaries_that_do_not_fit_together_are_refused(ids: Any, vectors: Any, texts: Any) -> None:
    with pytest.raises(InputError, match="canary"):
        Canaries(ids, vectors, texts)
