from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import askew
from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.errors import ParameterError
from askew.estimators import Candidate, Labels
from askew.estimators.evidence import GeometryLead
from askew.operators import Dense, Identity
from askew.workflows.footing import rank_score
from askew.workflows.summarise import _ranks, _test_says


@pytest.fixture
def pointing() -> Dataset:
    """Query i points between documents i (relevant, and nearer) and i + 1 (relevant too)."""
    eye = np.eye(30)
    queries = eye[:20] + 0.5 * eye[1:21]
    grades = {f"q{row:02}": {f"d{row:02}": 2.0, f"d{row + 1:02}": 1.0} for row in range(20)}
    return Dataset(
        EmbeddingSet([f"q{row:02}" for row in range(20)], queries),
        EmbeddingSet([f"d{row:02}" for row in range(30)], eye),
        Qrels(grades),
    )


def test_documents_seen_in_fitting_leave_ranking_judgements_and_ideal(pointing: Dataset) -> None:
    labels = Labels.build(pointing, TwoWayFolds.build(pointing), prior=Identity(30))
    score = rank_score(pointing, labels.query_ids)
    adapted = np.asarray(pointing.queries.matrix, dtype=np.float64)
    rows, none = np.arange(20), np.empty(0, dtype=np.int64)
    assert np.allclose(score(adapted, rows, none), 1.0)
    assert np.allclose(score(adapted, rows, rows)[0], [*[0.0] * 19, 1.0])  # d20 alone is left, for the last query
    # With d01 gone, d00 leads for q00 and is all that there is to find; a misled query finds it second.
    only_second = np.array([1])
    assert score(adapted[:1], rows[:1], only_second)[0][0] == pytest.approx(1.0)
    misled = adapted[:1] + 9 * np.eye(30)[[1]] + 5 * np.eye(30)[[7]]
    assert score(misled, rows[:1], only_second)[0][0] == pytest.approx(1 / np.log2(3))


def test_cosine_is_what_the_choice_goes_by_under_cosine(pointing: Dataset) -> None:
    norms = np.ones(30)
    norms[25] = 1000.0
    loud = Dataset(
        pointing.queries,
        EmbeddingSet(pointing.documents.ids, (np.eye(30) + 0.01) * norms[:, None]),
        pointing.qrels,
    )
    labels = Labels.build(loud, TwoWayFolds.build(loud), prior=Identity(30), similarity="cosine")
    adapted, rows, none = loud.queries.matrix.astype(np.float64), np.arange(20), np.empty(0, dtype=np.int64)
    assert rank_score(loud, labels.query_ids)(adapted, rows, none)[0].mean() < 0.95
    assert rank_score(loud, labels.query_ids, similarity="cosine")(adapted, rows, none)[0].mean() == pytest.approx(1.0)


@pytest.mark.parametrize("threshold", [-1.0, float("nan"), float("inf")])
def test_a_threshold_is_a_number_not_below_zero(pointing: Dataset, threshold: float) -> None:
    with pytest.raises(ParameterError, match="threshold"):
        askew.fit(pointing, threshold=threshold)


def test_over_an_alignment_softmax_alone_is_tried_and_what_is_chosen_ships(pointing: Dataset) -> None:
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(30, 30)))[0].astype(np.float32)
    asked = EmbeddingSet(pointing.queries.ids, pointing.queries.matrix @ turned.T, encoder="another")
    fitted = askew.fit(
        Dataset(asked, pointing.documents, pointing.qrels), priors={"alignment": Dense(turned)}, threshold=None
    )
    choice = fitted.choice
    assert {one.estimator for one in choice.candidates} == {None, "softmax"}
    assert choice.verdict.threshold is None
    assert choice.verdict.decision == ("keep" if choice.chosen == choice.candidates[0] else "adapt")
    assert choice.to_json()["verdict"]["threshold"] is None


def test_two_encoders_without_an_alignment_are_warned_about(pointing: Dataset) -> None:
    other: Any = EmbeddingSet(pointing.documents.ids, np.eye(30), encoder="another")
    fitted = askew.fit(Dataset(pointing.queries, other, pointing.qrels))
    assert "no-base" in {finding.code for finding in fitted.findings}


@pytest.mark.parametrize(
    ("traffic", "decision", "low", "high", "said"),
    [
        (0.0, "keep", 0.01, 0.05, "On the test queries and unseen documents it does gain, +0.0300."),
        (1.0, "keep", 0.01, 0.05, "On the test queries and all documents it does gain, +0.0300."),
        (0.0, "adapt", -0.05, -0.01, "On the test queries and unseen documents it does lose, +0.0300."),
        (0.0, "keep", -0.01, 0.05, "The test finds no clear gain either: on the test queries and unseen documents"),
        (0.0, "adapt", -0.01, 0.05, "The test leaves it open: on the test queries and unseen documents the difference"),
        (0.0, "keep", -0.05, -0.01, "The test confirms it: on the test queries and unseen documents the difference"),
        (
            1.0,
            "adapt",
            0.01,
            0.05,
            "The test confirms it: on the test queries and all documents the gain is +0.0300 (95% interval +0.0100",
        ),
    ],
)
def test_what_a_test_says_of_the_verdict_is_said(
    traffic: float, decision: str, low: float, high: float, said: str
) -> None:
    fitted: Any = SimpleNamespace(
        choice=SimpleNamespace(verdict=SimpleNamespace(traffic=traffic, decision=decision, queries=60))
    )
    row = SimpleNamespace(low=low, high=high, difference=0.03, n=50, confidence=0.95)
    trial: Any = SimpleNamespace(comparisons=[("all", row), ("unseen", row)])
    sentence = _test_says(fitted, trial)
    assert sentence.startswith(f" {said}")
    row.n = 49  # too few to confirm anything
    assert bool(_test_says(fitted, trial)) == ("confirms" not in said and "The test" not in said)
    assert not _test_says(fitted, SimpleNamespace(comparisons=[]))  # type: ignore[arg-type]  # a stand-in


@pytest.mark.parametrize(
    ("lead", "error", "choice", "said"),
    [
        (0.0, 0.0, "either", "and one geometry for each side (best: two) rank alike in cross-fitted nDCG@10: either"),
        (-0.00004, 0.00003, "either", "rank alike in cross-fitted nDCG@10: either will do"),
        (0.01, 0.02, "either", "by 0.0100 in cross-fitted nDCG@10 (standard error 0.0200), which is inside the noise"),
        (-0.03, 0.01, "shared", "One geometry that queries and documents share (best: one) ranks better than"),
        (0.03, 0.01, "dual", "One geometry for each side (best: two) ranks better than one geometry that"),
    ],
)
def test_families_that_differ_by_nothing_rank_alike(lead: float, error: float, choice: str, said: str) -> None:
    one, two = Candidate("identity", "ridge", "shared", 1.0), Candidate("identity", "ridge", "dual", 1.0)
    found, sentence = _ranks(GeometryLead(one, two, lead, error))
    assert found == choice
    assert said.replace("best: one", f"best: {one}").replace("best: two", f"best: {two}") in sentence


def test_the_choice_looks_to_rank_100_and_the_verdict_to_rank_10() -> None:
    """The one relevant document at a place of our choosing: at 9 both see it, at 10 and 99 one does, at 100 neither."""
    documents = np.cos(np.linspace(0.0, 1.5, 150))[:, None] * [1.0, 0.0] + np.sin(np.linspace(0.0, 1.5, 150))[
        :, None
    ] * [0.0, 1.0]
    names = [f"d{row:03}" for row in range(150)]
    places = (9, 10, 99, 100)
    grades = {f"q{place}": {names[place]: 1} for place in places}
    queries = EmbeddingSet(list(grades), np.tile([1.0, 0.0], (4, 1)))
    task = Dataset(queries, EmbeddingSet(names, documents), Qrels(grades))
    judged, steady = rank_score(task, list(grades))(queries.matrix, np.arange(4), np.empty(0, dtype=np.int64))
    assert judged.tolist() == pytest.approx([1 / np.log2(11), 0, 0, 0])
    assert steady.tolist() == pytest.approx([1 / np.log2(11), 1 / np.log2(12), 1 / np.log2(101), 0])


@pytest.mark.parametrize("wrong", [None, True, "often", -0.5])
def test_traffic_that_is_none(pointing: Dataset, wrong: Any) -> None:
    with pytest.raises(ParameterError, match="the traffic is"):
        askew.fit(pointing, traffic=wrong)


@pytest.mark.parametrize("wrong", [1.5, "a", 0, 30])
def test_ranks_that_bound_nothing(pointing: Dataset, wrong: Any) -> None:
    with pytest.raises(ParameterError, match="rank"):
        askew.fit(pointing, ranks=[wrong])
