"""Search: what it returns against sorting everything, what it refuses, and what `exclude_self` means."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pytest

from askew.adapters import Adapter, Provenance
from askew.data import EmbeddingSet, Run
from askew.errors import DimensionError, EncoderMismatchError, ParameterError
from askew.operators import BilinearOperator, Dense, Factored, Identity
from askew.retrieval import search

RNG = np.random.default_rng(0)
# Few values, so that ties are many and every product is exact.
X = RNG.integers(-2, 3, size=(7, 5)) / 2.0
Y = RNG.integers(-2, 3, size=(60, 5)) / 2.0
QUERY_IDS = [f"d{row}" for row in range(4)] + ["é", "日本", "q 1"]
DOCUMENT_IDS = [f"d{row}" for row in range(50)] + ["é", "e", "日本", "\U0001f600", "\uffff", "Z", "z", "10", "9", " "]
QUERIES, DOCUMENTS = EmbeddingSet(QUERY_IDS, X, encoder="one"), EmbeddingSet(DOCUMENT_IDS, Y, encoder="two")


def by_sorting(x: Any, k: int, *, without: Collection[str] = (), own: bool = True) -> dict[str, list[str]]:
    """Python's own sort of every document: score descending, then id by code points."""
    ranked = {}
    for query, row in zip(QUERY_IDS, x @ Y.T, strict=True):
        kept = [name for name in DOCUMENT_IDS if name not in without and (own or name != query)]
        order = sorted((-row[DOCUMENT_IDS.index(name)], name) for name in kept)
        ranked[query] = [name for _, name in order[:k]]
    return ranked


def found(run: Run) -> dict[str, list[str]]:
    return {query: list(documents) for query, documents, _ in run.items()}


@pytest.mark.parametrize("budget", [1, 2**27])
@pytest.mark.parametrize("k", [1, 10, 59, 60, 1000])
def test_the_best_by_score_then_id(k: int, budget: int) -> None:
    run = search(QUERIES, DOCUMENTS, k=k, budget=budget)
    assert found(run) == by_sorting(X, k)
    for query, documents, scores in run.items():
        row = X[QUERY_IDS.index(query)]
        assert scores.tolist() == [float(row @ Y[DOCUMENT_IDS.index(name)]) for name in documents]


@pytest.mark.parametrize("k", [1, 10, 60])
def test_the_document_with_the_querys_id_goes_only_when_asked(k: int) -> None:
    assert any(query in names for query, names in found(search(QUERIES, DOCUMENTS, k=60)).items())
    kept, gone = search(QUERIES, DOCUMENTS, k=k), search(QUERIES, DOCUMENTS, k=k, exclude_self=True)
    assert found(kept) == by_sorting(X, k)
    assert found(gone) == by_sorting(X, k, own=False)
    for query, documents, scores in gone.items():
        scored = dict(zip(kept.documents(query), kept.scores(query).tolist(), strict=True))
        assert all(scored.get(name, score) == score for name, score in zip(documents, scores, strict=True))


@pytest.mark.parametrize("exclude_self", [False, True])
def test_documents_left_out(exclude_self: bool) -> None:
    without = {"d3", "é", "z", "nowhere"}
    run = search(QUERIES, DOCUMENTS, k=12, without=without, exclude_self=exclude_self)
    assert found(run) == by_sorting(X, 12, without=without, own=not exclude_self)
    assert found(search(QUERIES, DOCUMENTS, without=DOCUMENT_IDS)) == {query: [] for query in QUERY_IDS}


def test_cosine_is_dot_of_unit_vectors() -> None:
    lengths = np.linalg.norm(Y, axis=1)
    run = search(QUERIES, DOCUMENTS, k=60, similarity="cosine")
    for query, documents, scores in run.items():
        row = X[QUERY_IDS.index(query)]
        at = [DOCUMENT_IDS.index(name) for name in documents]
        expected = Y[at] @ row / np.where(lengths[at] > 0, lengths[at], 1) / (np.linalg.norm(row) or 1)
        np.testing.assert_allclose(scores, expected, atol=1e-12)
        assert np.all(np.diff(scores) <= 0)


def test_an_adapter_is_applied_and_brings_its_similarity() -> None:
    matrix = RNG.integers(-1, 2, size=(5, 5)) / 1.0
    adapter = Adapter(BilinearOperator(Identity(5), Factored(matrix, np.eye(5))), "cosine")
    mapped = X @ (np.eye(5) + matrix)
    assert found(search(QUERIES, DOCUMENTS, k=9, adapter=adapter, similarity="dot")) == by_sorting(mapped, 9)
    own = search(QUERIES, DOCUMENTS, k=9, adapter=adapter)
    same = search(EmbeddingSet(QUERY_IDS, mapped), DOCUMENTS, k=9, similarity="cosine")
    assert found(own) == found(same)


def test_a_base_adapter_changes_no_bit() -> None:
    adapter = Adapter(BilinearOperator.identity(5))
    plain, adapted = search(QUERIES, DOCUMENTS), search(QUERIES, DOCUMENTS, adapter=adapter)
    assert found(plain) == found(adapted)
    assert all(plain.scores(query).tobytes() == adapted.scores(query).tobytes() for query in QUERY_IDS)


def test_sides_of_different_dimensions_meet_through_an_adapter() -> None:
    queries = EmbeddingSet(QUERY_IDS, RNG.normal(size=(7, 3)).astype(np.float32), encoder="small")
    with pytest.raises(DimensionError, match=r"queries \(small\) have 3 dimensions and the documents \(two\) 5"):
        search(queries, DOCUMENTS)
    with pytest.raises(DimensionError, match=r"\(unnamed encoder\) have 5 .* \(unnamed encoder\) 4"):
        search(EmbeddingSet(["q"], np.ones((1, 5))), EmbeddingSet(["d"], np.ones((1, 4))))
    adapter = Adapter(BilinearOperator(Dense(RNG.normal(size=(3, 5)))))
    assert len(search(queries, DOCUMENTS, k=3, adapter=adapter).documents("é")) == 3
    with pytest.raises(DimensionError, match=r"query vectors \(one\) have 5 dimensions, the adapter takes 3"):
        search(QUERIES, DOCUMENTS, adapter=adapter)
    with pytest.raises(DimensionError, match=r"document vectors \(small\) have 3 dimensions, the adapter takes 5"):
        search(queries, queries, adapter=adapter)


def test_vectors_of_another_encoder_are_refused_on_either_side() -> None:
    for side, provenance in (
        ("query", Provenance(query_encoder="other")),
        ("document", Provenance(document_encoder="other")),
    ):
        adapter = Adapter(BilinearOperator.identity(5), provenance=provenance)
        with pytest.raises(EncoderMismatchError, match=side):
            search(QUERIES, DOCUMENTS, adapter=adapter)


@pytest.mark.parametrize("k", [0, -1])
def test_no_documents_asked_for_is_refused(k: int) -> None:
    with pytest.raises(ParameterError, match=f"{k} documents were asked for"):
        search(QUERIES, DOCUMENTS, k=k)


def test_an_unknown_similarity_is_refused() -> None:
    with pytest.raises(ParameterError, match="euclid"):
        search(QUERIES, DOCUMENTS, similarity="euclid")  # type: ignore[arg-type]  # that it is refused is the test


def test_nothing_to_search_with_or_in() -> None:
    nothing = EmbeddingSet([], np.empty((0, 5)))
    assert len(search(nothing, DOCUMENTS)) == 0
    assert found(search(QUERIES, nothing)) == {query: [] for query in QUERY_IDS}
    assert found(search(QUERIES, nothing, exclude_self=True)) == {query: [] for query in QUERY_IDS}


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_zero_vectors_score_zero_and_rank_by_id(similarity: Any) -> None:
    queries = EmbeddingSet(["q"], np.zeros((1, 2)))
    documents = EmbeddingSet(["c", "a", "b"], np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 3.0]]))
    run = search(queries, documents, similarity=similarity)
    assert run.documents("q") == ("a", "b", "c")
    assert run.scores("q").tobytes() == np.zeros(3).tobytes()
