"""Labels: scale-free rows, weights, and what holding out leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.errors import LabelError
from askew.estimators import Labels, Mining
from askew.linalg import top_k
from askew.operators import Identity

TaskMaker = Callable[..., Dataset]


def build(task: Dataset, **options: Any) -> Labels:
    return Labels.build(task, TwoWayFolds.build(task), prior=Identity(task.queries.dim), **options)


def test_a_querys_weights_are_its_grades_over_their_sum(make_task: TaskMaker) -> None:
    labels = build(make_task(positives=3))
    assert np.allclose(np.bincount(labels.pair_query, weights=labels.pair_weight), 1.0)
    assert np.allclose(sorted(labels.pair_weight[labels.pair_query == 0]), [1 / 6, 2 / 6, 3 / 6])


def test_mean_positives_are_weighed_by_grade(make_task: TaskMaker) -> None:
    task = make_task(positives=2)
    labels = build(task, similarity="cosine")
    unit = task.documents.matrix / task.documents.norms[:, None]
    assert np.allclose(labels.mean_positives()[4], (unit[4] + 2 * unit[5]) / 3, atol=1e-6)


def test_rows_are_those_of_the_dataset(make_task: TaskMaker) -> None:
    task = make_task(positives=2)
    labels = build(task, mining=Mining("top", 3))
    for query, item in zip(labels.pair_query, labels.pair_item, strict=True):
        assert task.documents.ids[labels.item_row[item]] in task.qrels.positives(labels.query_ids[query])
    assert labels.seen_rows.tolist() == sorted(
        {task.documents.row(name) for query in task.labelled for name in task.qrels.positives(query)}
    )
    assert np.array_equal(np.where(labels.negatives < 0, -1, labels.item_row[labels.negatives]), labels.mined.rows)
    assert len(np.unique(labels.item_row)) == len(labels.item_row)


def test_queries_have_unit_norm_and_documents_unit_root_mean_square(make_task: TaskMaker) -> None:
    task = make_task()
    labels = build(task)
    assert np.allclose(np.linalg.norm(labels.queries, axis=1), 1.0)
    scale = np.sqrt(np.mean(np.sum(np.square(task.documents.matrix), axis=1)))
    assert np.allclose(labels.items, task.documents.matrix[labels.item_row] / scale, atol=1e-6)
    cosine = build(task, similarity="cosine")
    assert np.allclose(np.linalg.norm(cosine.items, axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-180, 1e-3, 1e149])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_the_scale_of_embeddings_changes_nothing(make_task: TaskMaker, similarity: str, scale: float) -> None:
    task = make_task(queries=12, documents=30)
    scaled = Dataset(
        EmbeddingSet(task.queries.ids, task.queries.matrix * scale),
        EmbeddingSet(task.documents.ids, task.documents.matrix * scale),
        task.qrels,
    )
    plain, other = (build(held, similarity=similarity, mining=Mining(count=4)) for held in (task, scaled))
    assert np.allclose(plain.queries, other.queries, rtol=1e-12)
    assert np.allclose(plain.items, other.items, rtol=1e-6)
    assert np.array_equal(plain.negatives, other.negatives)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_scale_free_coordinates_change_no_ranking(make_task: TaskMaker, similarity: str) -> None:
    """Any map of the scaled queries ranks the raw corpus as the same map of the raw queries does."""
    task = make_task()
    labels = build(task, similarity=similarity)
    matrix = np.random.default_rng(1).normal(size=(6, 6))
    raw = task.queries.matrix[task.queries.rows(labels.query_ids)]
    found = [
        top_k(
            queries @ matrix,
            task.documents.matrix,
            k=20,
            tie_rank=task.documents.tie_rank,
            cosine=similarity == "cosine",
        )[0]
        for queries in (labels.queries, raw * np.arange(1, len(raw) + 1)[:, None])
    ]
    assert np.array_equal(found[0], found[1])


Edges = list[tuple[int, int, float]]
GRADES = st.sampled_from([1.0, 2.0, 0.25, 1e300, 1e-300])
EDGES = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 15), GRADES), min_size=8, max_size=50)


def bipartite(edges: Edges, copies: list[tuple[int, int]]) -> Dataset:
    """Random judgements over 24 documents, 8 of them nobody's, some of them copies of others."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(24, 6))
    for one, other in copies:
        documents[one] = 2 * documents[other]
    grades: dict[str, dict[str, float]] = {}
    for query, document, grade in edges:
        grades.setdefault(f"q{query}", {})[f"d{document}"] = grade
    return Dataset(
        EmbeddingSet([f"q{row}" for row in range(12)], rng.normal(size=(12, 6))),
        EmbeddingSet([f"d{row}" for row in range(24)], documents),
        Qrels(grades),
    )


COPIES = st.lists(st.tuples(st.integers(0, 23), st.integers(0, 23)), max_size=5)


@given(EDGES, COPIES, st.sets(st.integers(0, 4), max_size=3), st.sampled_from(["top", "margin", "random"]))
def test_what_is_held_out_two_ways_is_seen_by_no_fit(
    edges: Edges, copies: list[tuple[int, int]], held: set[int], policy: Any
) -> None:
    task = bipartite(edges, copies)
    labels = build(task, mining=Mining(policy, 5))
    gone_query, gone_item = (np.isin(fold, sorted(held)) for fold in (labels.query_fold, labels.item_fold))
    fitting = labels.holding_out(gone_query, gone_item)
    # Nothing of the folds is left, and no copy of it either.
    assert not set(fitting.query_fold) & held
    used = np.append(fitting.pair_item, fitting.negatives[fitting.negatives >= 0]).astype(int)
    assert not set(fitting.item_fold[used]) & held
    vectors = labels.items / np.linalg.norm(labels.items, axis=1, keepdims=True)
    alike = vectors @ vectors.T >= 0.9995
    judged_out = np.intersect1d(np.flatnonzero(gone_item), labels.pair_item)
    assert not alike[np.ix_(judged_out, used)].any()
    # Weights are of what is left, in the same proportion.
    assert np.all(np.isfinite(fitting.pair_weight))
    assert np.all(fitting.pair_weight > 0)
    if len(fitting):
        assert np.allclose(np.bincount(fitting.pair_query, weights=fitting.pair_weight), 1.0)
        assert len(np.unique(fitting.pair_query)) == len(fitting)
    # What is known follows its query.
    known = {(labels.query_ids[query], item) for query, item in labels.known.tolist()}
    assert {(fitting.query_ids[query], item) for query, item in fitting.known.tolist()} <= known
    for query, item in zip(fitting.pair_query, fitting.pair_item, strict=True):
        assert [query, item] in fitting.known.tolist()
    # And each query that is scored has a relevant document that the fit has not seen.
    for row in np.flatnonzero(gone_query):
        assert labels.query_ids[row] not in fitting.query_ids
        mine = labels.item_row[labels.pair_item[labels.pair_query == row]]
        assert set(mine.tolist()) - set(fitting.seen_rows.tolist())


@given(EDGES, COPIES, st.sampled_from(["top", "margin", "random"]))
def test_no_negative_is_known(edges: Edges, copies: list[tuple[int, int]], policy: Any) -> None:
    labels = build(bipartite(edges, copies), mining=Mining(policy, 8))
    met = {(query, item) for query, row in enumerate(labels.negatives.tolist()) for item in row if item >= 0}
    assert not met & {(query, item) for query, item in labels.known.tolist()}


def test_a_chain_of_copies_is_known_to_its_end_and_nobodys_negative() -> None:
    """a is near b and b near c, though a is not near c: single linkage makes them one document."""
    angle = np.array([0.0, 0.04, 0.08, 1.0])
    documents = np.column_stack([np.cos(angle), np.sin(angle)])
    queries = np.array([[1.0, 0.0], [0.0, 1.0]])
    task = Dataset(
        EmbeddingSet(["q", "other"], queries),
        EmbeddingSet(["a", "b", "c", "far"], documents),
        Qrels({"q": {"a": 1}, "other": {"b": 1}}),
    )
    labels = build(task, mining=Mining("top", 3))
    ids = [task.documents.ids[row] for row in labels.item_row]
    assert [[ids[item] for item in row if item >= 0] for row in labels.negatives] == [["far"], ["far"]]
    assert len(set(labels.item_fold[[ids.index(name) for name in ("a", "b", "c")]])) == 1


@given(EDGES, st.lists(st.booleans(), min_size=12, max_size=12))
def test_holding_out_queries_alone_keeps_every_document(edges: Edges, chosen: list[bool]) -> None:
    labels = build(bipartite(edges, []), mining=Mining("top", 5))
    gone = np.array(chosen)[: len(labels)]
    fitting = labels.holding_out(gone)
    assert fitting.query_ids == tuple(name for name, out in zip(labels.query_ids, gone, strict=True) if not out)
    assert np.array_equal(fitting.negatives, labels.negatives[~gone])
    assert np.array_equal(fitting.queries, labels.queries[~gone])
    assert np.array_equal(fitting.plain_fold, labels.plain_fold[~gone])
    assert np.array_equal(fitting.pair_item, labels.pair_item[~gone[labels.pair_query]])
    assert np.allclose(fitting.pair_weight, labels.pair_weight[~gone[labels.pair_query]])


def test_folds_and_draws_hang_on_ids_alone(make_task: TaskMaker) -> None:
    """Labels that are added move no query and no document to another fold."""
    task = make_task(queries=40)
    some = task.only([f"q{row}" for row in range(0, 40, 2)])
    whole, part = build(task), build(some)
    rows = [whole.query_ids.index(name) for name in part.query_ids]
    assert np.array_equal(whole.plain_fold[rows], part.plain_fold)
    assert np.array_equal(whole.query_fold[rows], part.query_fold)
    items = np.searchsorted(whole.item_row, part.item_row)
    assert np.array_equal(whole.item_hash[items], part.item_hash)


def test_zero_queries_do_not_teach() -> None:
    qrels = Qrels({"q": {"a": 1}, "empty": {"b": 1}})
    documents = EmbeddingSet(["a", "b"], np.eye(2))
    task = Dataset(EmbeddingSet(["q", "empty"], np.array([[1.0, 0.0], [0.0, 0.0]])), documents, qrels)
    assert build(task).query_ids == ("q",)
    nothing = Dataset(EmbeddingSet(["q", "empty"], np.zeros((2, 2))), documents, qrels)
    with pytest.raises(LabelError, match="zero vector"):
        build(nothing)
