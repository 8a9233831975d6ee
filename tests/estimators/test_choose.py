from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.estimators import KEEP, Candidate, Labels, Ridge, choose
from askew.linalg import FloatArray
from askew.operators import Identity, Term, Zero


@dataclass(frozen=True)
class Constant:
    """An estimator that knows nothing: its correction is `strength` in every entry."""

    strengths: tuple[float, ...]
    name: str = "constant"

    def path(self, labels: Labels, prior: Term) -> Constant:
        return self

    def at(self, strength: float) -> Term:
        raise NotImplementedError

    def corrections(self, queries: FloatArray) -> np.ndarray:
        return np.stack([np.full((len(queries), 4), strength) for strength in self.strengths])


def labels_of(task: Dataset, count: int = 5) -> Labels:
    return Labels.build(task, TwoWayFolds.build(task, count=count))


def overlap_score(labels: Labels) -> Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """A stand-in for ranking: inner product with the mean relevant document."""
    targets = labels.mean_positives()

    def rank_score(adapted: np.ndarray, rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
        return np.asarray(np.sum(adapted * targets[rows], axis=1))

    return rank_score


def test_scores_and_nesting_equal_a_slow_obvious_loop(make_task: Callable[..., Dataset]) -> None:
    labels = labels_of(make_task(queries=30, positives=2))
    prior, ridge = Identity(6), Ridge((0.01, 0.1, 1.0))
    score = overlap_score(labels)
    found = choose(labels, prior=prior, estimators=[ridge], rank_score=score)

    def fit_and_score(held: set[int], strength: float | None, row: int) -> float:
        fitting = labels.without_folds(held)
        query = labels.queries[row : row + 1]
        adapted = query.copy()
        if strength is not None:
            adapted += query @ ridge.path(fitting, prior).at(strength).to_dense()
        return float(score(adapted, np.array([row]), np.unique(fitting.pair_row))[0])

    settings = [None, 0.01, 0.1, 1.0]
    for row, fold in enumerate(labels.query_fold):
        expected = [fit_and_score({int(fold)}, strength, row) for strength in settings]
        assert np.allclose(found.scores[:, row], expected, atol=1e-5)
    for outer in labels.folds:
        inner = [row for row, fold in enumerate(labels.query_fold) if fold != outer]
        means = [
            np.mean([fit_and_score({outer, int(labels.query_fold[row])}, strength, row) for row in inner])
            for strength in settings
        ]
        best = int(np.argmax(means))
        rows = np.flatnonzero(labels.query_fold == outer)
        assert np.allclose(found.nested[rows], found.scores[best, rows])
    assert found.chosen == found.candidates[int(np.argmax(found.means()))]


def test_no_scored_query_or_its_held_out_documents_are_seen(make_task: Callable[..., Dataset]) -> None:
    labels = labels_of(make_task(queries=40, positives=3))
    calls = []

    def rank_score(adapted: np.ndarray, rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
        folds = set(labels.query_fold[rows])
        assert len(folds) <= 2
        held = set(labels.pair_row[np.isin(labels.pair_fold, list(folds))])
        assert not held & set(seen)
        calls.append(folds)
        return np.zeros(len(adapted))

    choose(labels, prior=Zero(6, 6), estimators=[Ridge((1.0,))], rank_score=rank_score)
    assert len(calls) == 5 + 10


def test_of_equals_the_strongest_pull_wins(make_task: Callable[..., Dataset]) -> None:
    labels = labels_of(make_task(d_query=4, d_document=4))
    equal = choose(
        labels,
        prior=Identity(4),
        estimators=[Constant((0.1, 1.0))],
        rank_score=lambda adapted, rows, seen: np.full(len(adapted), 0.5),
    )
    assert equal.chosen == KEEP
    assert equal.verdict.decision == "keep"
    assert equal.verdict.gain == 0

    def only_corrected(adapted: np.ndarray, rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
        return np.asarray(~np.isclose(adapted, labels.queries[rows]).all(axis=1), dtype=float)

    better = choose(labels, prior=Identity(4), estimators=[Constant((0.1, 1.0))], rank_score=only_corrected)
    assert better.chosen == Candidate("constant", 1.0)
    assert better.verdict.decision == "adapt"


@pytest.mark.parametrize(("threshold", "decision"), [(0.0, "adapt"), (1.0, "adapt"), (1e6, "keep")])
def test_the_gain_must_exceed_the_threshold_in_standard_errors(
    make_task: Callable[..., Dataset], threshold: float, decision: str
) -> None:
    labels = labels_of(make_task(d_query=4, d_document=4))
    noise = np.random.default_rng(0).normal(size=len(labels))

    def rank_score(adapted: np.ndarray, rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
        moved = ~np.isclose(adapted, labels.queries[rows]).all(axis=1)
        return np.where(moved, 0.3 + 0.2 * noise[rows], 0.0)

    found = choose(labels, prior=Identity(4), estimators=[Constant((1.0,))], rank_score=rank_score, threshold=threshold)
    gains = 0.3 + 0.2 * noise
    assert found.verdict.decision == decision
    assert found.verdict.gain == pytest.approx(gains.mean())
    assert found.verdict.standard_error == pytest.approx(gains.std(ddof=1) / np.sqrt(len(gains)))
    assert found.standard_errors()[1] == pytest.approx(found.verdict.standard_error)


def test_too_few_labels_keep_the_prior_and_say_so(make_task: Callable[..., Dataset]) -> None:
    labels = labels_of(make_task(queries=9))
    found = choose(labels, prior=Identity(6), estimators=[Ridge()], rank_score=overlap_score(labels))
    assert (found.chosen, found.verdict.decision) == (KEEP, "keep")
    assert "9 labelled queries are too few" in found.verdict.reason
    assert found.to_json()["candidates"][0]["mean"] == 0


def test_one_relevant_document_for_all_keeps_the_prior() -> None:
    rng = np.random.default_rng(0)
    task = Dataset(
        EmbeddingSet(range(20), rng.normal(size=(20, 4))),
        EmbeddingSet(["a", "b"], rng.normal(size=(2, 4))),
        Qrels({str(row): {"a": 1} for row in range(20)}),
    )
    labels = labels_of(task)
    found = choose(labels, prior=Identity(4), estimators=[Ridge()], rank_score=overlap_score(labels))
    assert found.verdict.decision == "keep"
    assert "one document" in found.verdict.reason


def test_progress_counts_every_fit(make_task: Callable[..., Dataset]) -> None:
    labels = labels_of(make_task())
    seen: list[tuple[int, int]] = []
    choose(
        labels,
        prior=Identity(6),
        estimators=[Ridge((1.0,))],
        rank_score=overlap_score(labels),
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(done, 15) for done in range(1, 16)]


def test_the_evidence_is_plain_and_whole(make_task: Callable[..., Dataset]) -> None:
    labels = labels_of(make_task())
    found = choose(labels, prior=Identity(6), estimators=[Ridge((0.1, 1.0))], rank_score=overlap_score(labels))
    evidence = found.to_json()
    assert [row["strength"] for row in evidence["candidates"]] == [None, 0.1, 1.0]
    for row, scores in zip(evidence["candidates"], found.scores, strict=True):
        assert len(row["by_fold"]) == len(labels.folds)
        assert row["mean"] == pytest.approx(scores.mean())
    assert evidence["verdict"]["decision"] in {"adapt", "keep"}
