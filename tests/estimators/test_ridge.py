"""Ridge: against least squares over single pairs, and over a basis of the symmetric matrices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.errors import ParameterError
from askew.estimators import Labels, Path, Ridge, Setting, has_shared
from askew.linalg.fixed import Float64Array
from askew.operators import BilinearOperator, Dense, Identity, Term, Zero

LabelsMaker = Callable[..., tuple[Labels, Term]]


def slow_dual(labels: Labels, prior: Term, strength: float) -> Float64Array:
    """Weighted least squares over single pairs, with the pull as further rows; Δ."""
    weight = np.sqrt(labels.pair_weight)[:, None]
    pull = np.sqrt(strength * len(labels))
    left = np.vstack([weight * labels.queries[labels.pair_query], pull * np.eye(labels.queries.shape[1])])
    right = np.vstack([weight * labels.items[labels.pair_item], pull * prior.to_dense()])
    return np.asarray(np.linalg.lstsq(left, right, rcond=None)[0] - prior.to_dense())


def slow_shared(labels: Labels, prior: Term, strength: float) -> Float64Array:
    """The same over coefficients of the symmetric matrices e_a e_bᵀ + e_b e_aᵀ; Δ before the cone."""
    width = labels.queries.shape[1]
    upper = np.triu_indices(width)
    members = np.zeros((len(upper[0]), width, width))
    members[np.arange(len(members)), upper[0], upper[1]] = 1
    members[np.arange(len(members)), upper[1], upper[0]] = 1
    weight = np.sqrt(labels.pair_weight)[:, None]
    queries = weight * labels.queries[labels.pair_query]
    missing = weight * labels.items[labels.pair_item] - queries @ prior.to_dense()
    pull = np.sqrt(strength * len(labels))
    left = np.array([np.append((queries @ member).ravel(), pull * member.ravel()) for member in members]).T
    right = np.append(missing.ravel(), np.zeros(width * width))
    return np.asarray(np.einsum("c,cab->ab", np.linalg.lstsq(left, right, rcond=None)[0], members))


@pytest.mark.parametrize("strength", [0.001, 0.1, 10.0])
def test_dual_equals_least_squares_over_single_pairs(
    make_labels: LabelsMaker, shape: dict[str, int], prior_kind: str, strength: float
) -> None:
    labels, prior = make_labels(prior=prior_kind, **shape)
    expected = slow_dual(labels, prior, strength)
    found = Ridge(strengths=(strength,)).path(labels, prior).at(Setting(strength)).to_dense()
    assert np.allclose(found, expected, atol=2e-6 * max(1, np.abs(expected).max()))


@pytest.mark.parametrize("strength", [0.001, 0.1, 10.0])
@pytest.mark.parametrize("kind", ["identity", "zero", "psd"])
def test_shared_is_the_nearest_in_the_cone_to_symmetric_least_squares(
    make_labels: LabelsMaker, shape: dict[str, int], kind: str, strength: float
) -> None:
    if shape["d_query"] != shape["d_document"]:
        return
    labels, prior = make_labels(
        prior=kind, **(shape | ({"d_query": 14, "d_document": 14} if shape["d_query"] > 14 else {}))
    )
    free = slow_shared(labels, prior, strength)
    found = Ridge("shared", (strength,)).path(labels, prior).at(Setting(strength)).to_dense()
    size = max(1.0, float(np.abs(free).max()))
    assert np.allclose(found, found.T, atol=1e-6 * size)
    # Moreau: P is the projection of S onto a self-dual cone iff P and P - S lie in it and are orthogonal.
    inside, outside = found + prior.to_dense(), found - free
    for part in (inside, outside):
        assert np.linalg.eigvalsh((part + part.T) / 2).min() > -1e-5 * size
    assert abs(float(np.sum(inside * outside))) < 1e-4 * size**2


def test_the_whole_path_is_each_of_its_points(make_labels: LabelsMaker, shape: dict[str, int], prior_kind: str) -> None:
    labels, prior = make_labels(prior=prior_kind, **shape)
    queries = np.random.default_rng(5).normal(size=(7, labels.queries.shape[1]))
    for estimator in (Ridge(), Ridge("shared")) if has_shared(prior) else (Ridge(),):
        path = estimator.path(labels, prior)
        together = path.corrections(queries)
        assert together.shape == (len(path.settings), 7, labels.items.shape[1])
        for values, setting in zip(together, path.settings, strict=True):
            assert np.allclose(values, queries @ path.at(setting).to_dense(), atol=1e-5 * np.abs(values).max())


def test_a_strong_pull_gives_the_prior_and_a_weak_one_the_targets(make_labels: LabelsMaker) -> None:
    labels, prior = make_labels(queries=10, d_query=30, d_document=30)
    path = Ridge(strengths=(1e-9, 1e9)).path(labels, prior)
    assert np.abs(path.at(Setting(1e9)).to_dense()).max() < 1e-8
    fitted = labels.queries + labels.queries @ path.at(Setting(1e-9)).to_dense()
    assert np.allclose(fitted, labels.mean_positives(), atol=1e-5)


@pytest.mark.parametrize("family", ["dual", "shared"])
def test_a_strength_means_the_same_for_twice_the_labels(make_labels: LabelsMaker, family: str) -> None:
    labels, prior = make_labels(queries=9, d_query=12, d_document=12)
    twice = replace(
        labels,
        query_ids=(*labels.query_ids, *(f"{name} again" for name in labels.query_ids)),
        queries=np.vstack([labels.queries] * 2),
        pair_query=np.append(labels.pair_query, labels.pair_query + len(labels)),
        pair_item=np.tile(labels.pair_item, 2),
        pair_weight=np.tile(labels.pair_weight, 2),
    )
    ridge = Ridge(family, (0.3,))  # type: ignore[arg-type]
    once = ridge.path(labels, prior).at(Setting(0.3)).to_dense()
    assert np.allclose(once, ridge.path(twice, prior).at(Setting(0.3)).to_dense(), atol=1e-6)


def test_shared_and_dual_agree_where_the_answer_is_symmetric() -> None:
    """Queries along the axes, each document a multiple of its query: both fits are diagonal."""
    stretch = np.array([0.5, 2.0, 3.0, 1.0])
    names = [str(row) for row in range(4)]
    task = Dataset(
        EmbeddingSet(names, np.eye(4)),
        EmbeddingSet(names, np.diag(stretch)),
        Qrels({name: {name: 1} for name in names}),
    )
    labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(4))
    dual, shared = (
        Ridge(family).path(labels, Identity(4)).at(Setting(0.1)).to_dense() for family in ("dual", "shared")
    )
    assert np.allclose(dual, shared, atol=1e-6)
    assert np.allclose(np.diag(dual), (stretch / np.sqrt(np.mean(stretch**2)) - 1) / (1 + 4 * 0.1), atol=1e-6)


@pytest.mark.parametrize("family", ["dual", "shared"])
def test_nothing_to_fit_on_leaves_the_prior(make_labels: LabelsMaker, prior_kind: str, family: str) -> None:
    labels, prior = make_labels(prior=prior_kind)
    if family == "shared" and not has_shared(prior):
        return
    nothing = labels.holding_out(np.ones(len(labels), dtype=bool))
    path = Ridge(family).path(nothing, prior)  # type: ignore[arg-type]
    assert not path.corrections(np.ones((2, 6))).any()
    assert not path.at(path.settings[0]).to_dense().any()


@pytest.mark.parametrize("family", ["dual", "shared"])
@pytest.mark.parametrize("rows", ["same query", "same document", "zero documents"])
def test_degenerate_labels_give_finite_maps(rows: str, family: str) -> None:
    queries = np.ones((12, 4)) if rows == "same query" else np.random.default_rng(0).normal(size=(12, 4))
    documents = {"same query": queries, "same document": np.ones((12, 4)), "zero documents": np.zeros((12, 4))}[rows]
    names = [str(row) for row in range(12)]
    task = Dataset(EmbeddingSet(names, queries), EmbeddingSet(names, documents), Qrels({n: {n: 1} for n in names}))
    labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(4))
    path: Path = Ridge(family, ranks=(None, 1, 9)).path(labels, Identity(4))  # type: ignore[arg-type]
    for setting in path.settings:
        assert np.all(np.isfinite(path.at(setting).to_dense()))


@pytest.mark.parametrize("strengths", [(), (0.0,), (-1.0,), (float("nan"),), (float("inf"),)])
def test_strengths_must_be_positive_numbers(strengths: tuple[float, ...]) -> None:
    with pytest.raises(ParameterError, match="positive"):
        Ridge(strengths=strengths)


@pytest.mark.parametrize("ranks", [(), (0,), (None, -2)])
def test_ranks_must_be_positive(ranks: tuple[int | None, ...]) -> None:
    with pytest.raises(ParameterError, match="positive"):
        Ridge(ranks=ranks)


def test_a_family_that_is_not_there_is_refused(make_labels: LabelsMaker) -> None:
    with pytest.raises(ParameterError, match="no family 'Shared'"):
        Ridge("Shared")  # type: ignore[arg-type]
    labels, prior = make_labels(d_query=5, d_document=9)
    with pytest.raises(ParameterError, match="5 × 9"):
        Ridge("shared").path(labels, prior)
    labels, prior = make_labels(prior="psd")
    with pytest.raises(ParameterError, match="rank"):
        Ridge("shared", ranks=(2,)).path(labels, prior)


def test_where_the_shared_family_exists() -> None:
    assert has_shared(Identity(3))
    assert has_shared(Zero(3, 3))
    assert has_shared(Dense(np.diag([1.0, 0.0])))
    assert not has_shared(Zero(3, 2))
    assert not has_shared(Dense(np.diag([1.0, -1.0])))
    assert not has_shared(Dense(np.array([[1.0, 1.0], [0.0, 1.0]])))


def test_a_shared_map_is_one_projection(make_labels: LabelsMaker) -> None:
    labels, prior = make_labels(queries=30, d_query=8, d_document=8)
    path = Ridge("shared", (0.001, 0.1)).path(labels, prior)
    for setting in path.settings:
        assert BilinearOperator(prior, path.at(setting)).is_psd()
