"""Scale: thresholds in use survive, and no order changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import askew
from askew.adapters import Adapter
from askew.data import Dataset
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


def test_what_has_no_base_or_nothing_fitted_keeps_its_scale(task: Dataset) -> None:
    assert scale_of_base(task, Adapter(BilinearOperator.identity(task.queries.dim))) == 1.0
    without_base = Adapter(BilinearOperator(Zero(16, 16), Dense(3.0 * np.eye(16))))
    assert scale_of_base(task, without_base) == 1.0


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_scale_is_a_positive_number(scale: float) -> None:
    with pytest.raises(ParameterError, match="the scale is"):
        Adapter(BilinearOperator.identity(2), scale=scale)
