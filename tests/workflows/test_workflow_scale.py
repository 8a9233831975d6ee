"""Scale: thresholds in use survive, and no order changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import askew
from askew.adapters import Adapter, Provenance, Seen
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.errors import ParameterError
from askew.estimators import Ridge
from askew.operators import BilinearOperator, Dense, Identity, Zero
from askew.workflows.assess import base_of
from askew.workflows.scale import scale_of_base


@pytest.fixture(scope="module")
def task(new_task: Callable[..., Dataset]) -> Dataset:
    return new_task(queries=60, documents=120)


def top(dataset: Dataset, adapter: Adapter | None) -> tuple[list[tuple[str, ...]], np.ndarray]:
    run = askew.search(dataset.queries, dataset.documents, adapter=adapter, k=10)
    return [tuple(run.documents(query)) for query in run.queries], np.concatenate(
        [np.asarray(run.scores(query)) for query in run.queries]
    )


def test_a_map_that_only_stretches_is_brought_back_to_the_base(task: Dataset) -> None:
    stretched = Adapter(BilinearOperator(Identity(task.queries.dim), Dense(6.0 * np.eye(task.queries.dim))))
    factor = scale_of_base(task, stretched)
    assert factor == pytest.approx(1 / 7)
    names, scores = top(task, replace(stretched, scale=factor))
    base_names, base_scores = top(task, None)
    assert names == base_names
    assert np.allclose(scores, base_scores)


def test_no_other_factor_brings_the_scores_nearer(task: Dataset) -> None:
    fitted = askew.fit(task, estimators=[Ridge(strengths=(0.03,))], keep_scale=True)
    held = fitted.candidate
    assert held.scale != 1
    positives = held.provenance.seen.split_documents(task.documents.ids)[0]  # type: ignore[union-attr]
    queries = task.queries.take(task.labelled)

    def sorted_scores(adapter: Adapter) -> np.ndarray:
        run = askew.search(queries, task.documents, adapter=adapter, k=10, without=positives)
        return np.sort(np.concatenate([np.asarray(run.scores(query)) for query in run.queries]))

    base = sorted_scores(base_of(held))
    least = np.sum((base - sorted_scores(held)) ** 2)
    for other in (0.97, 1.03):
        assert least < np.sum((base - sorted_scores(replace(held, scale=other * held.scale))) ** 2)
    names, scores = top(task, held)
    plain_names, plain_scores = top(task, replace(held, scale=1.0))
    assert names == plain_names
    assert np.allclose(scores, held.scale * plain_scores, rtol=1e-5)


def test_the_base_of_a_scaled_adapter_is_the_base(task: Dataset) -> None:
    scaled = Adapter(BilinearOperator(Identity(task.queries.dim), Dense(np.eye(task.queries.dim))), scale=0.25)
    assert base_of(scaled).apply(task.queries) is task.queries


def test_cosines_have_no_scale_to_keep(task: Dataset) -> None:
    with pytest.raises(ParameterError, match="cosines do not change with the length of a query"):
        askew.fit(task, similarity="cosine", keep_scale=True)


def test_two_encoders_have_no_base_whose_scale_could_be_kept(task: Dataset) -> None:
    documents = EmbeddingSet(task.documents.ids, task.documents.matrix, encoder="another")
    with pytest.raises(ParameterError, match="two encoders, so there is no base whose scale could be kept") as raised:
        askew.fit(replace(task, documents=documents), keep_scale=True)
    assert raised.value.where == "keep_scale"


def mapped(matrix: list[list[float]], *, queries: list[list[float]], seen: Seen | None = None) -> float:
    """The factor of a map M over two documents, (1, 0) and (0, 1)."""
    rows = np.array(queries, dtype=float)
    tiny = Dataset(
        EmbeddingSet([f"q{row}" for row in range(len(rows))], rows),
        EmbeddingSet(["d0", "d1"], np.eye(2)),
        Qrels({f"q{row}": {"d0": 1} for row in range(len(rows))}),
    )
    delta = Dense(np.array(matrix) - np.eye(2))
    return scale_of_base(tiny, Adapter(BilinearOperator(Identity(2), delta), provenance=Provenance(seen=seen)))


def test_the_factor_is_that_of_least_squares_over_sorted_scores() -> None:
    # Base: 1, 0 and 3, 0. Adapted: 6, 0 and 3, 0. Sorted they meet as (1, 3), (3, 6); as they come, as (1, 6), (3, 3).
    factor = mapped([[6, 0], [0, 1]], queries=[[1, 0], [0, 3]])
    assert factor == pytest.approx((1 * 3 + 3 * 6) / (3**2 + 6**2))


def test_documents_that_were_relevant_in_training_do_not_count() -> None:
    seen = Seen.of(queries=(), positives=["d1"], negatives=["d0"])
    assert mapped([[6, 0], [0, 1]], queries=[[1, 0], [0, 3]], seen=seen) == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("matrix", "what"),
    [
        ([[-2.0, 0.0], [0.0, -2.0]], "all scores change their sign"),
        ([[0.0, 0.0], [0.0, 0.0]], "all adapted scores are 0"),
    ],
)
def test_scores_that_no_positive_factor_brings_near_keep_their_scale(matrix: list[list[float]], what: str) -> None:
    assert mapped(matrix, queries=[[1, 2], [2, 3]]) == 1.0, what


def test_scores_that_do_not_overlap_keep_their_scale() -> None:
    # Base: 1 and 0, sorted 0, 1. Adapted: -1 and 0, sorted -1, 0: the product is 0, and so would be the factor.
    assert mapped([[-1, 0], [0, 1]], queries=[[1, 0]]) == 1.0


def test_what_has_no_base_or_nothing_fitted_keeps_its_scale(task: Dataset) -> None:
    assert scale_of_base(task, Adapter(BilinearOperator.identity(task.queries.dim))) == 1.0
    without_base = Adapter(BilinearOperator(Zero(16, 16), Dense(3.0 * np.eye(16))))
    assert scale_of_base(task, without_base) == 1.0


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_is_a_positive_number(scale: float) -> None:
    with pytest.raises(ParameterError, match="the scale is"):
        Adapter(BilinearOperator.identity(2), scale=scale)
