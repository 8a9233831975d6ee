"""Softmax regression: against an obvious loss, slow solvers, and what an optimum must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from threadpoolctl import threadpool_limits

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.errors import ParameterError
from askew.estimators import Labels, Mining, Path, Setting, Softmax, has_shared, softmax
from askew.estimators.contrast import Contrast
from askew.linalg.fixed import Float64Array
from askew.operators import BilinearOperator, Identity, Term, Zero

LabelsMaker = Callable[..., tuple[Labels, Term]]
# What the solver may leave on the table: its stopping rule, and float32.
TOLERANCE = 3e-4


def candidates(labels: Labels, own: int, shared: int) -> list[list[int]]:
    """The items each query is contrasted with, by the words of the docstring."""
    first = [[item for item in row if item >= 0][:own] for row in labels.negatives.tolist()]
    used = sorted({*labels.pair_item.tolist(), *(item for row in first for item in row)})
    common = sorted(used, key=lambda item: int(labels.item_hash[item]))[:shared]
    unit = labels.items / np.maximum(np.linalg.norm(labels.items, axis=1, keepdims=True), 1e-30)
    found = []
    for query, negatives in enumerate(first):
        positives = labels.pair_item[labels.pair_query == query]
        copies = {item for item in common if item in positives or (unit[item] @ unit[positives].T >= 0.999).any()}
        found.append(negatives + [item for item in common if item not in copies and item not in negatives])
    return found


def slow_loss(labels: Labels, prior: Term, delta: Float64Array, *, own: int, shared: int, temperature: float) -> float:
    """Mean over queries of the weighed log-sum-exps, term by term."""
    scores = labels.queries @ (prior.to_dense() + delta) @ labels.items.T.astype(np.float64) / temperature
    lists = candidates(labels, own, shared)
    total = 0.0
    for query, item, weight in zip(labels.pair_query, labels.pair_item, labels.pair_weight, strict=True):
        all_of_them = [scores[query, item], *scores[query, lists[query]]]
        peak = max(all_of_them)
        total += weight * (peak + math.log(sum(math.exp(score - peak) for score in all_of_them)) - scores[query, item])
    return total / len(labels)


def loss_of(labels: Labels, prior: Term, delta: Float64Array, fit: Softmax) -> float:
    return slow_loss(labels, prior, delta, own=fit.own, shared=fit.shared, temperature=fit.temperature)


def objective(labels: Labels, prior: Term, delta: Float64Array, fit: Softmax, strength: float) -> float:
    return loss_of(labels, prior, delta, fit) + strength * float(np.sum(delta**2))


def slow_gradient(labels: Labels, prior: Term, delta: Float64Array, fit: Softmax) -> Float64Array:
    """Of the loss, by central differences in float64."""
    gradient, step = np.zeros_like(delta), 1e-5
    for place in np.ndindex(*delta.shape):
        nudge = np.zeros_like(delta)
        nudge[place] = step
        rise = loss_of(labels, prior, delta + nudge, fit) - loss_of(labels, prior, delta - nudge, fit)
        gradient[place] = rise / (2 * step)
    return gradient


@pytest.mark.parametrize(("own", "shared"), [(4, 1024), (2, 5), (0, 7), (3, 0), (0, 0)])
def test_the_loss_is_the_obvious_one(
    make_labels: LabelsMaker, shape: dict[str, int], prior_kind: str, own: int, shared: int
) -> None:
    labels, prior = make_labels(prior=prior_kind, **shape)
    contrast = Contrast.build(labels, prior, own=own, shared=shared, temperature=0.3)
    delta = 0.3 * np.random.default_rng(0).normal(size=prior.shape)
    value, _ = contrast.loss((labels.queries @ delta).astype(np.float32))
    expected = slow_loss(labels, prior, delta, own=own, shared=shared, temperature=0.3)
    assert value == pytest.approx(expected, rel=2e-5, abs=1e-7)


def test_the_slope_is_the_obvious_one(make_labels: LabelsMaker) -> None:
    labels, prior = make_labels(queries=7, documents=15, d_query=3, d_document=4, positives=3)
    fit = Softmax(own=3, shared=9, temperature=0.5)
    contrast = Contrast.build(labels, prior, own=3, shared=9, temperature=0.5)
    delta = 0.3 * np.random.default_rng(0).normal(size=(3, 4))
    _, slope = contrast.loss((labels.queries @ delta).astype(np.float32))
    assert np.allclose(labels.queries.T @ slope, slow_gradient(labels, prior, delta, fit), atol=1e-6)


def tiny_task() -> Dataset:
    """q0 and q1 share document a; a' is its copy; q1 also has b, and q2 has c."""
    documents = {"a": [1.0, 0.0], "a'": [2.0, 0.0], "b": [0.0, 1.0], "c": [-1.0, 0.0]}
    queries = {"q0": [1.0, 0.0], "q1": [0.0, 1.0], "q2": [-0.6, 0.8]}
    judged = {"q0": {"a": 1}, "q1": {"a": 1, "b": 3}, "q2": {"c": 1, "a'": 1}}
    return Dataset(
        EmbeddingSet(queries, np.array(list(queries.values()))),
        EmbeddingSet(documents, np.array(list(documents.values()))),
        Qrels(judged),
    )


def test_in_batch_negatives_that_are_the_same_document_are_masked_by_hand() -> None:
    task = tiny_task()
    labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(2), similarity="cosine")
    contrast = Contrast.build(labels, Identity(2), own=0, shared=1024, temperature=1.0)
    value, _ = contrast.loss(np.zeros((3, 2), dtype=np.float32))

    def pair(positive: float, *negatives: float) -> float:
        return math.log(math.exp(positive) + sum(map(math.exp, negatives))) - positive

    expected = np.mean(
        [
            pair(1.0, 0.0, -1.0),  # q0 on a, against b and c: a' is the same document
            pair(0.0, 0.0) / 4 + 3 * pair(1.0, 0.0) / 4,  # q1 on a and b, against c alone
            pair(0.6, 0.8) / 2 + pair(-0.6, 0.8) / 2,  # q2 on c and a', against b: a is the same as a'
        ]
    )
    assert value == pytest.approx(float(expected), rel=1e-6)


def test_an_own_negative_that_is_common_counts_once(make_labels: LabelsMaker) -> None:
    labels, prior = make_labels(queries=4, documents=6)
    both = Contrast.build(labels, prior, own=4, shared=6, temperature=1.0)
    scores = np.hstack([both.own_base, both.common_base])
    for query in range(4):
        expected = len(set(range(len(labels.items))) - set(labels.pair_item[labels.pair_query == query]))
        assert np.sum(np.isfinite(scores[query])) == expected


FITS = [
    ("dual", "identity", 3, 3),
    ("dual", "general", 3, 2),
    ("dual", "zero", 2, 3),
    ("shared", "identity", 3, 3),
    ("shared", "psd", 3, 3),
]


@pytest.mark.parametrize("strength", [0.02, 1.0])
@pytest.mark.parametrize(("family", "kind", "d_query", "d_document"), FITS)
def test_the_optimum_is_that_of_a_slow_solver(
    make_labels: LabelsMaker, family: Any, kind: str, d_query: int, d_document: int, strength: float
) -> None:
    """The objective is 2λ-strongly convex: λ‖Δ - Δ*‖² is at most what the solver left on the table."""
    labels, prior = make_labels(prior=kind, queries=8, documents=14, d_query=d_query, d_document=d_document)
    fit = Softmax(family, (strength,), temperature=0.5, own=3)
    free, upper = (d_query, d_document), np.triu_indices(d_query)

    def unpack(flat: Float64Array) -> Float64Array:
        if family == "dual":
            return flat.reshape(free)
        half = np.zeros(free)
        half[upper] = flat
        return (half + half.T) / 2

    start = np.zeros(d_query * d_document if family == "dual" else len(upper[0]))

    def value(flat: Float64Array) -> float:
        return objective(labels, prior, unpack(flat), fit, strength)

    slow = minimize(value, start, method="BFGS")
    best = unpack(slow.x)
    if family == "shared":
        values, vectors = np.linalg.eigh(prior.to_dense() + best)
        best = (vectors * np.maximum(values, 0)) @ vectors.T - prior.to_dense()
    found = fit.path(labels, prior).at(Setting(strength)).to_dense()
    assert strength * float(np.sum((found - best) ** 2)) < TOLERANCE
    if family == "dual":
        assert objective(labels, prior, found, fit, strength) < slow.fun + TOLERANCE


@pytest.mark.parametrize("family", ["dual", "shared"])
def test_slope_of_loss_and_pull_cancel_at_the_optimum(make_labels: LabelsMaker, family: Any) -> None:
    labels, prior = make_labels(queries=12, documents=20, d_query=4, d_document=4)
    fit = Softmax(family, temperature=0.2)
    path = fit.path(labels, prior)
    start = np.linalg.norm(slow_gradient(labels, prior, np.zeros((4, 4)), fit))
    for setting in path.settings[::3]:
        delta = path.at(setting).to_dense()
        pulled = 2 * setting.strength * delta
        slope = slow_gradient(labels, prior, delta, fit)
        if family == "shared":
            if np.linalg.eigvalsh(np.eye(4) + (delta + delta.T) / 2).min() < 1e-5:
                continue  # at the border of the cone
            slope = (slope + slope.T) / 2
        assert np.linalg.norm(slope + pulled) < 0.01 * start


@pytest.mark.parametrize("family", ["dual", "shared"])
def test_solving_in_the_span_is_solving_in_full(
    make_labels: LabelsMaker, family: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels, prior = make_labels(queries=5, documents=12, d_query=40, d_document=40)
    fit = Softmax(family, (0.01, 0.1, 1.0), temperature=0.1)
    small = fit.path(labels, prior)
    assert small.basis is not None
    monkeypatch.setattr(softmax, "span", lambda rows: None)
    full = fit.path(labels, prior)
    assert full.basis is None
    for setting in small.settings:
        gap = small.at(setting).to_dense() - full.at(setting).to_dense()
        assert setting.strength * float(np.sum(gap**2)) < TOLERANCE


def test_every_shape_and_prior_gives_a_path(make_labels: LabelsMaker, shape: dict[str, int], prior_kind: str) -> None:
    labels, prior = make_labels(prior=prior_kind, **shape)
    queries = np.random.default_rng(5).normal(size=(7, labels.queries.shape[1]))
    for family in ("dual", "shared") if has_shared(prior) else ("dual",):
        ranks = (None,) if family == "shared" and prior_kind == "psd" else (None, 2, 1000)
        fit = Softmax(family, (0.01, 1.0), ranks)
        path = fit.path(labels, prior)
        together = path.corrections(queries)
        assert together.dtype == np.float32
        assert together.shape == (2 * len(ranks), 7, labels.items.shape[1])
        for values, setting in zip(together, path.settings, strict=True):
            delta = path.at(setting)
            assert np.allclose(values, queries @ delta.to_dense(), atol=1e-5 * max(np.abs(values).max(), 1e-6))
            if family == "shared":
                assert BilinearOperator(prior, delta).is_psd(tolerance=1e-5)
            if setting.rank is not None:
                assert np.linalg.matrix_rank(delta.to_dense(), tol=1e-5) <= setting.rank


@pytest.mark.parametrize("family", ["dual", "shared"])
def test_a_point_of_the_path_is_its_own_fit(make_labels: LabelsMaker, family: Any) -> None:
    """Warm starts change the way, not the end; and the order in which strengths are given changes nothing."""
    labels, prior = make_labels(queries=30, d_query=8, d_document=8)
    path = Softmax(family).path(labels, prior)
    at_start = loss_of(labels, prior, np.zeros((8, 8)), Softmax())
    turned = Softmax(family, tuple(reversed(Softmax().strengths))).path(labels, prior)
    assert [setting.strength for setting in turned.settings] == sorted(Softmax().strengths, reverse=True)
    for setting in path.settings:
        warm = path.at(setting).to_dense()
        cold = Softmax(family, (setting.strength,)).path(labels, prior).at(setting).to_dense()
        # Each may leave its share of a loss that starts far above 1, on its own side.
        assert setting.strength * float(np.sum((warm - cold) ** 2)) < 4 * TOLERANCE * at_start
        assert np.array_equal(warm, turned.at(setting).to_dense())


def test_a_strong_pull_gives_the_prior(make_labels: LabelsMaker, prior_kind: str) -> None:
    labels, prior = make_labels(prior=prior_kind)
    path = Softmax(strengths=(1e3, 1e8)).path(labels, prior)
    assert np.abs(path.at(Setting(1e8)).to_dense()).max() < 1e-6
    assert np.abs(path.at(Setting(1e3)).to_dense()).max() > 0


def test_even_the_weakest_pull_converges(make_labels: LabelsMaker) -> None:
    labels, prior = make_labels(queries=20)
    path = Softmax(strengths=(1e-20, 1e-6)).path(labels, prior)
    assert np.all(np.isfinite(path.corrections(labels.queries)))


@pytest.mark.parametrize("family", ["dual", "shared"])
@pytest.mark.parametrize("fit", [{"own": 0, "shared": 0}, {}], ids=["no candidates", "no queries"])
def test_without_a_contrast_there_is_no_correction(make_labels: LabelsMaker, family: Any, fit: dict[str, int]) -> None:
    labels, prior = make_labels()
    if not fit:
        labels = labels.holding_out(np.ones(len(labels), dtype=bool))
    path = Softmax(family, ranks=(None, 2), **fit).path(labels, prior)  # type: ignore[arg-type]
    assert not path.corrections(np.ones((3, 6))).any()


def test_one_query_whose_document_is_all_there_is() -> None:
    task = Dataset(
        EmbeddingSet("q", np.array([[1.0, 2.0]])), EmbeddingSet("d", np.ones((1, 2))), Qrels({"q": {"d": 1}})
    )
    labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(2), mining=Mining(count=8))
    assert labels.mined.to_json()["queries_with_none"] == 1
    assert not Softmax().path(labels, Identity(2)).corrections(np.ones((1, 2))).any()


def degenerate(kind: str) -> Dataset:
    rng = np.random.default_rng(0)
    queries, documents = rng.normal(size=(12, 4)), rng.normal(size=(20, 4))
    if kind == "one query":
        queries = queries[:1]
    if kind == "same queries":
        queries[:] = queries[0]
    if kind == "constant documents":
        documents[:] = 1.0
    if kind == "zero documents":
        documents[:] = 0.0
    if kind == "copies":
        documents[10:] = documents[:10]
    if kind == "one huge document":
        documents[15] *= 1e30
    if kind == "tiny":
        documents *= 1e-200
    return Dataset(
        EmbeddingSet(range(len(queries)), queries),
        EmbeddingSet(range(20), documents),
        Qrels({row: {row: 1} for row in range(len(queries))}),
    )


KINDS = ["one query", "same queries", "constant documents", "zero documents", "copies", "one huge document", "tiny"]


@pytest.mark.parametrize("policy", ["margin", "top", "random"])
@pytest.mark.parametrize("family", ["dual", "shared"])
@pytest.mark.parametrize("kind", KINDS)
def test_degenerate_data_give_finite_maps(kind: str, family: Any, policy: Any) -> None:
    task = degenerate(kind)
    for similarity in ("dot", "cosine"):
        labels = Labels.build(
            task,
            TwoWayFolds.build(task),
            prior=Identity(4),
            mining=Mining(policy, count=3),
            similarity=similarity,
        )
        path: Path = Softmax(family, (0.001, 1.0), (None, 1)).path(labels, Identity(4))
        for setting in path.settings:
            assert np.all(np.isfinite(path.at(setting).to_dense()))


@pytest.mark.parametrize("family", ["dual", "shared"])
def test_the_same_bits_on_every_run_and_thread_count(make_labels: LabelsMaker, family: Any) -> None:
    labels, prior = make_labels(queries=120, documents=300, d_query=24, d_document=24)

    def fitted(threads: int) -> list[bytes]:
        with threadpool_limits(threads):
            path = Softmax(family, (0.01, 0.1), (None, 5)).path(labels, prior)
            return [path.at(setting).to_dense().tobytes() for setting in path.settings]

    assert fitted(1) == fitted(1) == fitted(2)


def test_a_zero_prior_learns_a_map_between_two_spaces() -> None:
    """Queries are documents under a map that nobody knows; it is found well enough to rank held-out pairs."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(300, 6))
    queries = documents @ rng.normal(size=(6, 9))
    task = Dataset(
        EmbeddingSet(range(300), queries),
        EmbeddingSet(range(300), documents),
        Qrels({row: {row: 1} for row in range(200)}),
    )
    labels = Labels.build(task, TwoWayFolds.build(task), prior=Zero(9, 6), similarity="cosine")
    delta = Softmax().path(labels, Zero(9, 6)).at(Setting(0.001)).to_dense()
    unit = documents / np.linalg.norm(documents, axis=1, keepdims=True)
    scores = queries[200:] @ delta @ unit.T
    assert np.mean(scores.argmax(axis=1) == np.arange(200, 300)) > 0.9


@pytest.mark.parametrize(
    "wrong", [{"temperature": 0.0}, {"temperature": float("nan")}, {"temperature": 1e-30}, {"own": -1}, {"shared": -1}]
)
def test_numbers_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="temperature"):
        Softmax(**wrong)
