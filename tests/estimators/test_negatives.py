"""Mining: against a full sort, and what may never be mined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from askew.data import EmbeddingSet
from askew.errors import ParameterError
from askew.estimators import Mined, Mining, mine
from askew.linalg.fixed import Float64Array

Pairs = list[tuple[int, int]]


def mined(
    queries: Float64Array, documents: Float64Array, pairs: Pairs, mining: Mining, similarity: Any = "dot"
) -> Mined:
    pair_query, pair_row = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
    held = EmbeddingSet([f"d{row:05d}" for row in range(len(documents))], documents)
    return mine(queries, held, pair_query=pair_query, pair_row=pair_row, mining=mining, similarity=similarity)


def cosines(left: Float64Array, right: Float64Array) -> Float64Array:
    def unit(rows: Float64Array) -> Float64Array:
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(norms > 0, norms, 1))

    return unit(left) @ unit(right).T


def slow_mine(
    queries: Float64Array, documents: Float64Array, pairs: Pairs, mining: Mining, similarity: str
) -> tuple[list[list[int]], list[int]]:
    """Sort everything; skip what is known or a copy; keep what lies below the limit."""
    scores = cosines(queries, documents) if similarity == "cosine" else queries @ documents.T
    alike = cosines(documents, documents) >= 0.999
    kept, rejected = [], []
    for query in range(len(queries)):
        positives = [row for number, row in pairs if number == query]
        best = max((scores[query, row] for row in positives), default=np.inf)
        limit = best - (1 - mining.margin) * abs(best) if mining.policy == "margin" else np.inf
        order = np.lexsort((np.arange(len(documents)), -scores[query]))
        allowed = [int(row) for row in order if row not in positives and not alike[row, positives].any()]
        below = [row for row in allowed if scores[query, row] < limit]
        kept.append(below[: mining.count] + [-1] * (mining.count - len(below)))
        rejected.append(len(allowed) - len(below))
    return kept, rejected


@st.composite
def tasks(draw: st.DrawFn) -> tuple[Float64Array, Float64Array, Pairs]:
    """Few dimensions, copies under other ids, several positives, small corpora."""
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    count, total = draw(st.integers(1, 5)), draw(st.integers(1, 40))
    documents = rng.normal(size=(total, draw(st.integers(2, 4))))
    for row in draw(st.lists(st.integers(0, total - 1), max_size=6)):
        documents[row] = draw(st.sampled_from([1.0, 4.0])) * documents[draw(st.integers(0, total - 1))]
    queries = rng.normal(size=(count, documents.shape[1]))
    if draw(st.booleans()):  # scores of relevant documents at or below 0
        documents = -np.abs(documents)
        queries = np.abs(queries)
    pairs = {(query, draw(st.integers(0, total - 1))) for query in range(count) for _ in range(draw(st.integers(1, 4)))}
    return queries, documents, sorted(pairs)


@given(tasks(), st.integers(0, 9), st.sampled_from(["margin", "top"]), st.sampled_from([0.3, 0.95, 1.0]))
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_equals_a_full_sort(
    similarity: str, task: tuple[Float64Array, Float64Array, Pairs], count: int, policy: Any, margin: float
) -> None:
    mining = Mining(policy, count, margin)
    found = mined(*task, mining, similarity)
    rows, rejected = slow_mine(*task, mining, similarity)
    assert found.rows.shape == (len(task[0]), count)
    if count:
        assert found.rows.tolist() == rows
        assert found.rejected.tolist() == rejected


@given(tasks(), st.integers(1, 9), st.integers(-2, 3))
def test_random_negatives_are_any_but_what_is_known(
    task: tuple[Float64Array, Float64Array, Pairs], count: int, seed: int
) -> None:
    queries, documents, pairs = task
    pair_query, pair_row = np.array(pairs, dtype=np.int64).T
    held = EmbeddingSet(range(len(documents)), documents)
    mining = Mining("random", count)
    first, again = (
        mine(queries, held, pair_query=pair_query, pair_row=pair_row, mining=mining, seed=seed).rows for _ in range(2)
    )
    assert np.array_equal(first, again)
    alike = cosines(documents, documents) >= 0.999
    for query, row in enumerate(first):
        positives = [held for number, held in pairs if number == query]
        free = [one for one in range(len(documents)) if one not in positives and not alike[one, positives].any()]
        kept = row[row >= 0].tolist()
        assert len(set(kept)) == len(kept) == min(count, len(free))
        assert set(kept) <= set(free)


def test_random_negatives_differ_between_queries_and_seeds() -> None:
    rng = np.random.default_rng(0)
    queries, documents = rng.normal(size=(2, 4)), rng.normal(size=(500, 4))
    held = EmbeddingSet(range(500), documents)
    rows = [
        mine(
            queries,
            held,
            pair_query=np.array([0, 1]),
            pair_row=np.array([0, 0]),
            mining=Mining("random", 8),
            seed=seed,
        ).rows.tolist()
        for seed in range(2)
    ]
    assert len({tuple(row) for found in rows for row in found}) == 4


def test_a_corpus_of_copies_still_gives_the_few_others() -> None:
    documents = np.tile([1.0, 0.0], (300, 1))
    documents[[7, 250]] = [0.0, 1.0]
    for policy in ("margin", "top", "random"):
        found = mined(np.ones((1, 2)), documents, [(0, 0)], Mining(policy, 4, 1.0), "cosine")
        expected = {-1} if policy == "margin" else {7, 250, -1}  # these score as the relevant one does
        assert set(found.rows[0].tolist()) == expected


def test_a_twin_under_another_id_is_never_mined_and_what_is_almost_one_is() -> None:
    angle = np.arccos([1.0, 1.0, 0.9991, 0.9989, 0.5])
    documents = np.column_stack([np.cos(angle), np.sin(angle)]) * np.array([[1.0], [7.0], [1.0], [1.0], [1.0]])
    found = mined(np.array([[1.0, 0.0]]), documents, [(0, 0)], Mining("top", 4))
    assert found.rows.tolist() == [[3, 4, -1, -1]]


@pytest.mark.parametrize(("positive", "limit"), [(2.0, 1.9), (0.0, 0.0), (-2.0, -2.1)])
def test_the_limit_lies_below_the_score_on_both_sides_of_zero(positive: float, limit: float) -> None:
    values = [positive, limit + 0.01, limit - 0.01, positive + 1, limit]
    documents = np.column_stack([values, 9 * np.eye(5)])
    found = mined(np.eye(6)[:1], documents, [(0, 0)], Mining("margin", 3, 0.95))
    below = [row for row in range(1, 5) if values[row] < positive - 0.05 * abs(positive)]
    assert sorted(row for row in found.rows[0].tolist() if row >= 0) == sorted(below)
    assert 2 in below


@pytest.mark.parametrize(("above", "found_any"), [(0, True), (1500, True), (1990, True), (2100, False)])
def test_looks_as_deep_as_two_thousand(above: int, found_any: bool) -> None:
    """All but the last documents score above the margin; those are found while they are within reach."""
    rng = np.random.default_rng(0)
    total = 2600
    scores = np.concatenate([[1.0], np.linspace(1.9, 0.96, above), np.linspace(0.94, 0.1, total - above - 1)])
    documents = np.column_stack([scores, rng.normal(size=(total, 9))])
    order = rng.permutation(total)
    place = np.argsort(order)
    found = mined(np.eye(10)[:1], documents[order], [(0, int(place[0]))], Mining("margin", 4, 0.95))
    if found_any:
        assert found.rows[0].tolist() == [int(place[above + step]) for step in range(1, 5)]
        assert found.rejected.tolist() == [above]
    else:
        assert found.rows[0].tolist() == [-1] * 4
        assert found.to_json()["queries_with_none"] == 1


def test_counts_are_reported() -> None:
    found = Mined(np.array([[3, 4], [5, -1], [-1, -1]]), np.array([0, 3, 9]))
    assert found.to_json() == {
        "wanted": 2,
        "mean_kept": 1.0,
        "queries_with_fewer": 2,
        "queries_with_none": 1,
        "mean_rejected_by_margin": 4.0,
    }
    assert Mined(np.empty((0, 2), dtype=np.int64), np.empty(0, dtype=np.int64)).to_json()["mean_kept"] == 0


def test_the_same_rows_whatever_the_threads() -> None:
    rng = np.random.default_rng(0)
    queries, documents = rng.normal(size=(20, 16)), rng.normal(size=(3000, 16))
    pairs = [(row, row) for row in range(20)]
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(mined(queries, documents, pairs, Mining()).rows)
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize(
    "wrong", [{"policy": "hard"}, {"count": -1}, {"margin": 0.0}, {"margin": 1.1}, {"margin": float("nan")}]
)
def test_nonsense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Mining(**wrong)
