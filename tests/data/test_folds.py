"""Two-way folds: whatever the judgements, what a fold is scored on no fit has seen."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds, hash_order, split_queries, stable_hash
from askew.errors import ParameterError
from askew.linalg.fixed import Float64Array

Judged = dict[str, dict[str, int]]


def spread(count: int) -> Float64Array:
    """Vectors of which no two are near."""
    return np.random.default_rng(count).normal(size=(count, 24))


def task(judged: Judged, documents: list[str], vectors: Float64Array | None = None) -> Dataset:
    matrix = spread(len(documents)) if vectors is None else vectors
    return Dataset(EmbeddingSet(judged, spread(len(judged))), EmbeddingSet(documents, matrix), Qrels(judged))


@st.composite
def judgements(draw: st.DrawFn) -> Judged:
    documents = [f"d{number}" for number in range(draw(st.integers(1, 12)))]
    queries = [f"q{number}" for number in range(draw(st.integers(1, 12)))]
    grades = st.dictionaries(st.sampled_from(documents), st.integers(-1, 2), min_size=1)
    judged = {query: draw(grades) for query in queries}
    judged["always"] = {draw(st.sampled_from(documents)): 1}
    return judged


@given(judgements(), st.integers(2, 5), st.integers(0, 3), st.booleans())
def test_every_query_keeps_a_positive_that_no_fit_has_seen(judged: Judged, count: int, seed: int, twins: bool) -> None:
    documents = sorted({name for grades in judged.values() for name in grades})
    vectors = spread(len(documents))
    if twins:
        vectors[1::2] = vectors[: len(documents) - len(documents) % 2 : 2]
    dataset = task(judged, documents, vectors)
    folds = TwoWayFolds.build(dataset, count=count, seed=seed)
    positives = {query: set(dataset.qrels.positives(query)) for query in judged}
    assert set(folds.query_fold) == set(dataset.labelled) == {query for query in judged if positives[query]}
    assert set(folds.document_fold) == set().union(*positives.values())
    assert sorted(query for fold in range(count) for query in folds.queries_in(fold)) == sorted(folds.query_fold)
    same = {name: vectors[row].tobytes() for row, name in enumerate(documents)}
    for fold in range(count):
        fitted = {
            same[document]
            for query, held in positives.items()
            for document in held
            if folds.query_fold[query] != fold and folds.document_fold[document] != fold
        }
        for query in folds.queries_in(fold):
            assert {same[document] for document in positives[query]} - fitted


def test_copies_share_a_fold_and_others_do_not() -> None:
    names = [f"d{number:03}" for number in range(300)]
    vectors = spread(100).repeat(3, axis=0) * np.tile([1.0, 3.0, 1e-3], 100)[:, None]  # norms do not matter
    vectors[2::3] += 1e-3 * np.abs(vectors[2::3]).max(axis=1, keepdims=True) * spread(100) / 24
    folds = TwoWayFolds.build(task({name: {name: 1} for name in names}, names, vectors), count=5)
    for first, second, third in zip(names[::3], names[1::3], names[2::3], strict=True):
        assert folds.document_fold[first] == folds.document_fold[second] == folds.document_fold[third]
    sizes = Counter(folds.document_fold.values())
    assert set(sizes) == set(range(5))
    assert min(sizes.values()) > 20


def test_chains_of_near_copies_share_a_fold() -> None:
    names = [f"d{number:02}" for number in range(40)]
    angle = np.arange(40) * 0.03  # neighbours have cosine 0.99955, the ends -0.4
    chain = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    order = np.random.default_rng(0).permutation(40)
    for budget in (1, 2**20):
        built = TwoWayFolds.build(
            task({name: {name: 1} for name in names}, names, chain[order]), count=4, budget=budget
        )
        assert len(set(built.document_fold.values())) == 1


@pytest.mark.parametrize(
    ("cosine", "shared"), [(0.9991, True), (0.99900001, True), (0.99899999, False), (0.998, False)]
)
def test_how_near_is_near(cosine: float, shared: bool) -> None:
    """Close to the border, where float32 alone would decide by rounding."""
    names = [f"d{number}" for number in range(60)]
    vectors = np.zeros((60, 60))
    for pair in range(30):
        vectors[2 * pair, 2 * pair] = 1.0
        vectors[2 * pair + 1, 2 * pair : 2 * pair + 2] = cosine, np.sqrt(1 - cosine**2)
    folds = TwoWayFolds.build(task({name: {name: 1} for name in names}, names, vectors), count=2)
    together = [folds.document_fold[names[2 * pair]] == folds.document_fold[names[2 * pair + 1]] for pair in range(30)]
    assert all(together) == shared


def test_zero_vectors_are_nobodys_copies() -> None:
    names = [f"d{number}" for number in range(30)]
    folds = TwoWayFolds.build(task({name: {name: 1} for name in names}, names, np.zeros((30, 3))), count=2)
    assert set(folds.document_fold.values()) == {0, 1}


def test_folds_are_the_same_for_every_budget_order_and_thread_count() -> None:
    names = [f"d{number}" for number in range(400)]
    vectors = spread(400)
    vectors[200:] = vectors[:200] + 0.02 * spread(200)
    judged = {f"q{number}": {name: 1, names[-1 - number]: 1} for number, name in enumerate(names[:200])}
    dataset = task(judged, names, vectors)
    plain = TwoWayFolds.build(dataset)
    assert TwoWayFolds.build(dataset, budget=1) == plain
    turned = Dataset(dataset.queries, dataset.documents.take(names[::-1]), Qrels(dict(reversed(list(judged.items())))))
    assert TwoWayFolds.build(turned) == plain
    with threadpool_limits(limits=2, user_api="blas"):
        assert TwoWayFolds.build(dataset) == plain
    assert TwoWayFolds.build(dataset, seed=1) != plain


def test_queries_and_documents_elsewhere_move_nobody() -> None:
    names = [f"d{number}" for number in range(200)]
    vectors = spread(200)
    judged = {f"q{number}": {names[number]: 1} for number in range(200)}
    few = {query: judged[query] for query in list(judged)[:60]}
    part, whole = (TwoWayFolds.build(task(chosen, names, vectors)) for chosen in (few, judged))
    assert {query: whole.query_fold[query] for query in few} == part.query_fold
    assert {name: whole.document_fold[name] for name in part.document_fold} == part.document_fold


def test_folds_are_pinned() -> None:
    """A change here moves the folds of every user."""
    names = [f"d{number}" for number in range(12)]
    folds = TwoWayFolds.build(task({name: {name: 1} for name in names}, names), count=3)
    assert list(folds.query_fold.values()) == [0, 0, 0, 1, 1, 2, 0, 2, 2, 0, 2, 2]


def test_a_query_follows_its_positive_of_the_lowest_hash() -> None:
    names = [f"d{number}" for number in range(40)]
    judged = {f"q{number}": dict.fromkeys(names[number : number + 5], 1) for number in range(30)}
    folds = TwoWayFolds.build(task(judged, names), count=5, seed=7)
    for query, held in judged.items():
        lowest = min(held, key=lambda name: stable_hash(name, "fold-7"))
        assert folds.query_fold[query] == folds.document_fold[lowest] == stable_hash(lowest, "fold-7") % 5


@pytest.mark.parametrize("count", [1, 0, -3])
def test_fewer_than_two_folds_are_refused(count: int) -> None:
    with pytest.raises(ParameterError, match="folds"):
        TwoWayFolds.build(task({"q": {"d": 1}}, ["d"]), count=count)


IDS = st.lists(st.text(min_size=1), min_size=1, max_size=30, unique=True)


@given(IDS, st.integers(0, 2), st.data())
def test_a_split_parts_the_queries_and_insertions_keep_the_order(
    ids: list[str], seed: int, data: st.DataObject
) -> None:
    order = hash_order(ids, seed=seed)
    assert sorted(order) == sorted(ids)
    assert hash_order(reversed(ids), seed=seed) == order
    gone = data.draw(st.sampled_from(ids))
    assert hash_order([name for name in ids if name != gone], seed=seed) == [name for name in order if name != gone]
    labels = data.draw(st.integers(1, len(ids)))
    train, rest = split_queries(ids, labels=labels, seed=seed)
    assert (len(train), sorted(train + rest)) == (labels, sorted(ids))
    more, _ = split_queries(ids, labels=min(len(ids), labels + 1), seed=seed)
    assert more[:labels] == train


@pytest.mark.parametrize("labels", [0, -1, 4])
def test_a_split_beyond_the_queries_is_refused(labels: int) -> None:
    with pytest.raises(ParameterError, match="labels"):
        split_queries(["a", "b", "c"], labels=labels)


def test_seeds_give_other_orders() -> None:
    ids = [f"q{number}" for number in range(20)]
    assert len({tuple(hash_order(ids, seed=seed)) for seed in range(5)}) == 5


def test_a_query_goes_to_the_fold_of_its_relevant_document_of_lowest_hash() -> None:
    rng = np.random.default_rng(0)
    grades = {f"q{row}": {f"d{column}": 1 for column in rng.choice(60, size=5, replace=False)} for row in range(40)}
    task = Dataset(
        EmbeddingSet([f"q{row}" for row in range(40)], rng.normal(size=(40, 16))),
        EmbeddingSet([f"d{row}" for row in range(60)], rng.normal(size=(60, 16))),
        Qrels(grades),
    )
    folds = TwoWayFolds.build(task, seed=3)
    for query, judged in grades.items():
        lowest = min(judged, key=lambda name: stable_hash(name, "fold-3"))
        assert folds.query_fold[query] == folds.document_fold[lowest] == stable_hash(lowest, "fold-3") % 5
