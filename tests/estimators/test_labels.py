from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.errors import LabelError
from askew.estimators import Labels
from askew.linalg import top_k


def build(task: Dataset, **options: object) -> Labels:
    return Labels.build(task, TwoWayFolds.build(task), **options)  # type: ignore[arg-type]


def test_a_querys_weights_are_its_grades_over_their_sum(make_task: Callable[..., Dataset]) -> None:
    labels = build(make_task(positives=3))
    assert np.allclose(np.bincount(labels.pair_query, weights=labels.pair_weight), 1.0)
    assert np.allclose(sorted(labels.pair_weight[labels.pair_query == 0]), [1 / 6, 2 / 6, 3 / 6])


def test_queries_have_unit_norm_and_documents_unit_root_mean_square(make_task: Callable[..., Dataset]) -> None:
    task = make_task()
    labels = build(task)
    assert np.allclose(np.linalg.norm(labels.queries, axis=1), 1.0)
    scale = np.sqrt(np.mean(np.sum(task.documents.matrix**2, axis=1)))
    assert np.allclose(labels.pair_document, task.documents.matrix[labels.pair_row] / scale)
    cosine = build(task, similarity="cosine")
    assert np.allclose(np.linalg.norm(cosine.pair_document, axis=1), 1.0)


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_scale_free_coordinates_change_no_ranking(make_task: Callable[..., Dataset], similarity: str) -> None:
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


@given(
    edges=st.lists(st.tuples(st.integers(0, 14), st.integers(0, 19)), min_size=12, max_size=60),
    held=st.sets(st.integers(0, 4), max_size=3),
)
def test_what_is_held_out_is_seen_by_no_fit(edges: list[tuple[int, int]], held: set[int]) -> None:
    rng = np.random.default_rng(0)
    grades: dict[str, dict[str, float]] = {}
    for query, document in edges:
        grades.setdefault(f"q{query}", {})[f"d{document}"] = 1.0
    task = Dataset(
        EmbeddingSet([f"q{row}" for row in range(15)], rng.normal(size=(15, 8))),
        EmbeddingSet([f"d{row}" for row in range(20)], rng.normal(size=(20, 8))),
        Qrels(grades),
    )
    labels = build(task)
    fitting = labels.without_folds(held)
    assert not set(fitting.query_fold) & held
    assert not set(fitting.pair_fold) & held
    assert np.allclose(np.bincount(fitting.pair_query, weights=fitting.pair_weight), 1.0)
    seen = set(fitting.pair_row)
    for row, name in enumerate(labels.query_ids):
        if labels.query_fold[row] in held:
            assert name not in fitting.query_ids
            assert set(labels.pair_row[labels.pair_query == row]) - seen, "no unseen relevant document is left"


def test_rows_stay_with_their_queries_when_folds_are_held_out(make_task: Callable[..., Dataset]) -> None:
    labels = build(make_task(positives=2))
    fitting = labels.without_folds({labels.folds[0]})
    for row, query in enumerate(fitting.query_ids):
        whole = labels.query_ids.index(query)
        assert np.array_equal(fitting.queries[row], labels.queries[whole])
        kept = set(fitting.pair_row[fitting.pair_query == row])
        assert kept <= set(labels.pair_row[labels.pair_query == whole])
        assert kept


def test_zero_queries_do_not_teach() -> None:
    qrels = Qrels({"q": {"a": 1}, "empty": {"b": 1}})
    documents = EmbeddingSet(["a", "b"], np.eye(2))
    task = Dataset(EmbeddingSet(["q", "empty"], np.array([[1.0, 0.0], [0.0, 0.0]])), documents, qrels)
    assert build(task).query_ids == ("q",)
    nothing = Dataset(EmbeddingSet(["q", "empty"], np.zeros((2, 2))), documents, qrels)
    with pytest.raises(LabelError, match="zero vector"):
        build(nothing)
