"""The array kernel: DCG's bits, the gain table against dictionaries, residual scoring, speed."""

from __future__ import annotations

import math
import pickle
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from askew.data import Qrels, Run
from askew.errors import DimensionError, ParameterError
from askew.evaluation import GainTable, dcg, evaluate, ndcg

TIGHT = settings(max_examples=50, deadline=None)
GAINS = arrays.arrays(np.float64, arrays.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(0, 9))


@TIGHT
@given(GAINS, st.integers(0, 5))
def test_dcg_is_a_plain_loop_to_the_bit(gains: Any, padding: int) -> None:
    expected = []
    for row in gains:
        total = 0.0
        for rank, gain in enumerate(row.tolist()):
            total += gain / np.log2(rank + 2)
        expected.append(total)
    assert dcg(gains).tolist() == expected
    padded = np.pad(gains, ((0, 0), (0, padding)))
    assert dcg(padded).tolist() == expected
    assert dcg(np.asfortranarray(gains)).tolist() == expected
    assert [dcg(row[None])[0] for row in gains] == expected


@TIGHT
@given(GAINS)
def test_the_ideal_order_is_best_and_scores_1(gains: Any) -> None:
    ideal = -np.sort(-gains, axis=1)
    values = ndcg(gains, dcg(ideal))
    assert np.all((values >= 0) & (values <= 1))
    assert ndcg(ideal, dcg(ideal)).tolist() == gains.any(axis=1).astype(float).tolist()


def test_shapes_of_the_kernel() -> None:
    assert dcg(np.zeros((2, 0))).tolist() == [0, 0]
    assert ndcg(np.zeros((0, 3)), np.zeros(0)).shape == (0,)
    with pytest.raises(DimensionError, match=r"\(3,\)"):
        dcg([1.0, 2.0, 3.0])
    with pytest.raises(DimensionError, match="ideals"):
        ndcg([[1.0]], [1.0, 2.0])


Table = dict[Any, dict[Any, float]]
CORPUS = [f"d{number}" for number in range(7)]
QUERIES = ["q0", "q1", "q2"]
GRADES = st.one_of(st.integers(-1, 3), st.floats(-1, 3).filter(lambda value: value <= 0 or value > 1e-6))
JUDGED = st.dictionaries(st.sampled_from([*CORPUS, "out1", "out2"]), GRADES, max_size=9)


@st.composite
def cases(draw: st.DrawFn) -> Any:
    """Judgements, documents left out, and rankings of what remains, some with empty ranks."""
    grades = {query: draw(JUDGED) for query in QUERIES}
    without = np.array(draw(st.lists(st.booleans(), min_size=7, max_size=7)))
    rows = np.array(draw(st.lists(st.integers(0, 2), max_size=6)), dtype=np.int64)
    depth = draw(st.integers(0, 7))
    ranked = np.full((len(rows), depth), -1)
    for ranking in ranked:
        order = draw(st.permutations(np.flatnonzero(~without).tolist()))[:depth]
        ranking[: len(order)] = order
    return grades, without, rows, ranked, draw(st.integers(1, 8))


def slow(judged: dict[Any, float], ranking: list[int], left_out: set[str], k: int) -> tuple[float, bool]:
    """nDCG by dictionaries, and whether a positive is left."""
    gains = {doc: grade for doc, grade in judged.items() if grade > 0 and doc not in left_out}
    documents = [CORPUS[row] if row >= 0 else "" for row in ranking[:k]]
    reached = sum(gains.get(doc, 0.0) / math.log2(rank + 2) for rank, doc in enumerate(documents))
    ideal = sorted(gains.values(), reverse=True)[:k]
    best = sum(gain / math.log2(rank + 2) for rank, gain in enumerate(ideal))
    return (reached / best if gains else 0.0), bool(gains)


@settings(max_examples=100, deadline=None)
@given(cases())
def test_the_table_is_the_slow_one(case: Any) -> None:
    grades, without, rows, ranked, k = case
    table = GainTable.build(Qrels(grades), QUERIES, CORPUS)
    left_out = {CORPUS[row] for row in np.flatnonzero(without)}
    expected = [
        slow(grades[QUERIES[row]], ranking, left_out, k) for row, ranking in zip(rows, ranked.tolist(), strict=True)
    ]
    values = table.ndcg(rows, ranked, k=k, without=without)
    np.testing.assert_allclose(values, [value for value, _ in expected], rtol=0, atol=1e-12)
    assert table.answerable(rows, without).tolist() == [left for _, left in expected]
    everything = [slow(grades[QUERIES[row]], ranked[i].tolist(), set(), k) for i, row in enumerate(rows)]
    np.testing.assert_allclose(table.ndcg(rows, ranked, k=k), [value for value, _ in everything], rtol=0, atol=1e-12)
    assert table.answerable(rows).tolist() == [left for _, left in everything]


@settings(max_examples=100, deadline=None)
@given(cases())
def test_places_of_the_targets_score_as_whole_rankings_to_the_bit(case: Any) -> None:
    grades, without, rows, ranked, k = case
    table = GainTable.build(Qrels(grades), QUERIES, CORPUS)
    owner, columns = table.targets(rows, without)
    rankings = ranked.tolist()
    pairs = zip(owner.tolist(), columns.tolist(), strict=True)
    place = [rankings[row].index(column) if column in rankings[row] else 99 for row, column in pairs]
    whole = table.ndcg(rows, ranked, k=k, without=without)
    assert table.ndcg_of_places(rows, place, k=k, without=without).tolist() == whole.tolist()


@settings(max_examples=40, deadline=None)
@given(cases())
def test_leaving_out_equals_judgements_without(case: Any) -> None:
    grades, without, rows, ranked, k = case
    left_out = {CORPUS[row] for row in np.flatnonzero(without)}
    whole = GainTable.build(Qrels(grades), QUERIES, CORPUS)
    less = GainTable.build(Qrels(grades).without_documents(left_out), QUERIES, CORPUS)
    assert whole.ndcg(rows, ranked, k=k, without=without).tolist() == less.ndcg(rows, ranked, k=k).tolist()


@settings(max_examples=40, deadline=None)
@given(cases())
def test_the_table_and_evaluate_agree_to_the_bit(case: Any) -> None:
    grades, _, rows, ranked, k = case
    qrels = Qrels({query: judged or {"d0": 0} for query, judged in grades.items()})
    table = GainTable.build(qrels, QUERIES, CORPUS)
    for row, ranking in zip(rows, ranked, strict=True):
        query = QUERIES[row]
        run = Run({query: {CORPUS[document]: -rank for rank, document in enumerate(ranking) if document >= 0}})
        value = evaluate(run, qrels.only([query]), f"nDCG@{k}").per_query(f"nDCG@{k}")
        assert table.ndcg([row], ranking[None], k=k).tolist() == value.tolist()


def test_extreme_gains_stay_numbers() -> None:
    qrels = Qrels({"q0": {"d0": 1e308, "d1": 1e308, "d2": 5e-324}, "q1": {"d0": 5e-324}})
    table = GainTable.build(qrels, QUERIES, CORPUS)
    assert table.ndcg([0, 1, 2], [[0, 1], [0, 1], [0, 1]], k=2).tolist() == [1, 1, 0]
    assert table.ndcg([0], [[2]], k=1, without=np.arange(7) < 2).tolist() == [1]


def test_empty_tables() -> None:
    table = GainTable.build(Qrels({}), [], [])
    assert table.ndcg([], np.zeros((0, 3), dtype=int), k=3).shape == (0,)
    assert GainTable.build(Qrels({}), ["q"], CORPUS).ndcg([0], [[0, 1]], k=2).tolist() == [0]


def test_it_survives_a_pickle() -> None:
    table = GainTable.build(Qrels({"q0": {"d1": 2}}), QUERIES, CORPUS)
    again = pickle.loads(pickle.dumps(table))
    assert again.ndcg([0], [[0, 1]], k=2) == table.ndcg([0], [[0, 1]], k=2)


def test_wrong_arguments() -> None:
    table = GainTable.build(Qrels({"q0": {"d1": 2, "far": 1}}), QUERIES, CORPUS)
    ranked = np.array([[0, 1]])
    with pytest.raises(ParameterError, match="cutoff"):
        table.ndcg([0], ranked, k=0)
    with pytest.raises(ParameterError, match="query row"):
        table.ndcg([3], ranked, k=2)
    with pytest.raises(ParameterError, match="document row"):
        table.ndcg([0], [[7]], k=2)
    with pytest.raises(ParameterError, match="leaves out"):
        table.ndcg([0], ranked, k=2, without=np.arange(7) == 1)
    with pytest.raises(ParameterError, match="cutoff"):
        table.ndcg_of_places([0], [0], k=0)
    with pytest.raises(ParameterError, match="place is -1"):
        table.ndcg_of_places([0], [-1], k=2)
    with pytest.raises(DimensionError, match="1 targets have places"):
        table.ndcg_of_places([0], [0, 1], k=2)
    with pytest.raises(DimensionError, match="rankings of shape"):
        table.ndcg([0, 1], ranked, k=2)
    with pytest.raises(DimensionError, match="query rows"):
        table.ndcg([[0]], ranked, k=2)
    for without in (np.zeros(6, dtype=bool), np.zeros(7)):
        with pytest.raises(DimensionError, match="without"):
            table.ndcg([0], ranked, k=2, without=without)


def test_it_is_quick() -> None:
    """13 candidates × 160 queries × 10 ranks, 40 positives a query; the limit allows for a busy machine."""
    rng = np.random.default_rng(5)
    names = [f"d{number}" for number in range(5_000)]
    queries = [f"q{number}" for number in range(160)]
    grades: Table = {query: dict.fromkeys(rng.choice(names, 40, replace=False).tolist(), 1.0) for query in queries}
    table = GainTable.build(Qrels(grades), queries, names)
    rows = np.tile(np.arange(160), 13)
    ranked = rng.integers(100, 5_000, (len(rows), 10))
    without = np.arange(5_000) < 100
    times = []
    for _ in range(15):
        start = time.process_time()
        table.ndcg(rows, ranked, k=10, without=without)
        times.append(time.process_time() - start)
    assert min(times) < 0.1
