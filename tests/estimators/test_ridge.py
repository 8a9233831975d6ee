from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from askew.data import Dataset, TwoWayFolds
from askew.errors import ParameterError
from askew.estimators import Labels, Ridge, RidgePath
from askew.operators import Dense, Factored, Identity, Term, Zero

SHAPES = {
    "square, n > d": {"queries": 40, "d_query": 6, "d_document": 6},
    "square, n < d": {"queries": 20, "d_query": 50, "d_document": 50},
    "wide": {"queries": 30, "d_query": 5, "d_document": 9},
    "tall, n < d": {"queries": 12, "d_query": 40, "d_document": 7},
    "several positives": {"queries": 25, "d_query": 6, "d_document": 6, "positives": 4},
}


def prior_for(labels: Labels, kind: str) -> Term:
    rows, columns = labels.queries.shape[1], labels.pair_document.shape[1]
    if kind == "dense":
        return Dense(np.random.default_rng(3).normal(size=(rows, columns)))
    return Identity(rows) if rows == columns else Zero(rows, columns)


def slow_ridge(labels: Labels, prior: Term, strength: float) -> np.ndarray:
    """Weighted least squares over single pairs, with the pull as further rows; Δ."""
    weight = np.sqrt(labels.pair_weight)[:, None]
    pull = np.sqrt(strength * len(labels))
    width = labels.queries.shape[1]
    left = np.vstack([weight * labels.queries[labels.pair_query], pull * np.eye(width)])
    right = np.vstack([weight * labels.pair_document, pull * prior.to_dense()])
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0] - prior.to_dense())


@pytest.fixture(params=list(SHAPES.values()), ids=list(SHAPES))
def labels(request: pytest.FixtureRequest, make_task: Callable[..., Dataset]) -> Labels:
    task = make_task(**request.param)
    return Labels.build(task, TwoWayFolds.build(task))


@pytest.mark.parametrize("kind", ["plain", "dense"])
@pytest.mark.parametrize("strength", [0.001, 0.1, 10.0])
def test_equals_least_squares_over_single_pairs(labels: Labels, kind: str, strength: float) -> None:
    prior = prior_for(labels, kind)
    expected = slow_ridge(labels, prior, strength)
    found = Ridge((strength,)).path(labels, prior).at(strength).to_dense()
    assert np.allclose(found, expected, atol=2e-6 * max(1, np.abs(expected).max()))


def test_the_whole_path_is_each_of_its_points(labels: Labels) -> None:
    prior = prior_for(labels, "plain")
    path = Ridge().path(labels, prior)
    queries = np.random.default_rng(5).normal(size=(7, labels.queries.shape[1]))
    together = path.corrections(queries)
    assert together.shape == (len(path.strengths), 7, labels.pair_document.shape[1])
    for values, strength in zip(together, path.strengths, strict=True):
        assert np.allclose(values, queries @ path.at(strength).to_dense(), atol=1e-4 * np.abs(values).max())


def test_a_strong_pull_gives_the_prior_and_a_weak_one_the_targets(make_task: Callable[..., Dataset]) -> None:
    task = make_task(queries=10, d_query=30, d_document=30)
    labels = Labels.build(task, TwoWayFolds.build(task))
    path = RidgePath.prepare(labels.queries, labels.mean_positives() - labels.queries, [1e-9, 1e9])
    assert np.abs(path.at(1e9).to_dense()).max() < 1e-8
    fitted = labels.queries + labels.queries @ path.at(1e-9).to_dense()
    assert np.allclose(fitted, labels.mean_positives(), atol=1e-5)


def test_a_strength_means_the_same_for_twice_the_labels() -> None:
    rng = np.random.default_rng(0)
    queries, residuals = rng.normal(size=(9, 5)), rng.normal(size=(9, 4))
    once = RidgePath.prepare(queries, residuals, [0.3]).at(0.3).to_dense()
    twice = RidgePath.prepare(np.vstack([queries] * 2), np.vstack([residuals] * 2), [0.3]).at(0.3).to_dense()
    assert np.allclose(once, twice, atol=1e-6)


def test_the_smaller_form_is_shipped_and_in_float32() -> None:
    rng = np.random.default_rng(0)
    few = RidgePath.prepare(rng.normal(size=(3, 20)), rng.normal(size=(3, 20)), [0.1]).at(0.1)
    many = RidgePath.prepare(rng.normal(size=(60, 20)), rng.normal(size=(60, 20)), [0.1]).at(0.1)
    assert isinstance(few, Factored)
    assert few.left.dtype == few.right.dtype == np.float32
    assert few.left.shape == (20, 3)
    assert isinstance(many, Dense)
    assert many.matrix.dtype == np.float32


def test_nothing_to_fit_on_leaves_the_prior() -> None:
    path = RidgePath.prepare(np.empty((0, 4)), np.empty((0, 3)), [0.1, 1.0])
    assert not path.corrections(np.ones((2, 4))).any()
    assert path.at(0.1).to_dense().shape == (4, 3)


@pytest.mark.parametrize("rows", [np.zeros((5, 4)), np.ones((5, 4))], ids=["zeros", "constant"])
def test_degenerate_queries_give_finite_maps(rows: np.ndarray) -> None:
    found = RidgePath.prepare(rows, np.ones((5, 4)), [1e-3]).at(1e-3).to_dense()
    assert np.all(np.isfinite(found))


@pytest.mark.parametrize("strengths", [(), (0.0,), (-1.0,), (float("nan"),), (float("inf"),)])
def test_strengths_must_be_positive_numbers(strengths: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="positive"):
        Ridge(strengths)
