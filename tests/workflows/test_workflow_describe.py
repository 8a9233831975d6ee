"""The facts of an adapter, and the summary of a fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from askew.adapters import Adapter
from askew.data import Dataset, Qrels
from askew.operators import BilinearOperator, Dense, Factored, Identity, Zero
from askew.report import FitSummary
from askew.workflows import fit
from askew.workflows.deliver import Delivery, deliver
from askew.workflows.describe import describe

pytestmark = pytest.mark.usefixtures("few_candidates")

ONES = np.ones((4, 1))
TURN = np.array([[0.0, 1.0], [-1.0, 0.0]])


@pytest.mark.parametrize(
    ("operator", "prior", "correction", "shape"),
    [
        (BilinearOperator.identity(3), "identity", "none: the base itself", (3, 3)),
        (BilinearOperator(Zero(2, 3)), "zero", "none: the base itself", (2, 3)),
        (BilinearOperator(Zero(2, 3), Dense(np.ones((2, 3)))), "zero", "dense matrix", (2, 3)),
        (BilinearOperator(Dense(np.eye(2)), Dense(np.eye(2))), "dense matrix", "dense matrix", (2, 2)),
        (BilinearOperator(Identity(4), Factored(ONES, ONES)), "identity", "two factors of 1 columns", (4, 4)),
    ],
)
def test_what_it_is_made_of(operator: BilinearOperator, prior: str, correction: str, shape: tuple[int, int]) -> None:
    facts = describe(Adapter(operator))
    assert (facts["prior"], facts["correction"]) == (prior, correction)
    assert (facts["d_query"], facts["d_document"]) == shape
    assert (facts["verdict"], facts["labels"], facts["fingerprint"], facts["canaries"]) == (None, None, None, [])
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts


@pytest.mark.parametrize(
    ("delta", "share", "shared"),
    [(np.eye(2), 1.0, True), (TURN, 0.0, False), (np.eye(2) + TURN, 0.5, False), (-3 * np.eye(2), 1.0, False)],
    ids=["symmetric", "skew", "both", "negative"],
)
def test_symmetric_and_skew_parts(delta: np.ndarray, share: float, shared: bool) -> None:
    facts = describe(Adapter(BilinearOperator(Identity(2), Dense(delta))))
    assert facts["correction_symmetric_share"] == pytest.approx(share)
    assert facts["correction_norm"] == pytest.approx(np.linalg.norm(delta))
    assert facts["correction_singular_values"] == pytest.approx(np.linalg.svd(delta, compute_uv=False))
    assert facts["shared_geometry"] is shared


def test_a_correction_of_nothing_has_no_share() -> None:
    facts = describe(Adapter(BilinearOperator(Identity(2), Dense(np.zeros((2, 2))))))
    assert facts["correction_symmetric_share"] is None
    assert facts["correction_norm"] == 0


def test_a_correction_between_two_dimensions_has_no_parts() -> None:
    facts = describe(Adapter(BilinearOperator(Zero(2, 3), Dense(np.ones((2, 3))))))
    assert "correction_norm" not in facts
    assert facts["correction_singular_values"] == pytest.approx([6**0.5, 0])


def test_a_fitted_adapter_tells_its_evidence(train: Dataset) -> None:
    fitted = fit(train)
    facts = describe(fitted.adapter)
    assert facts["reason"] == fitted.choice.verdict.reason
    assert (facts["labels"], facts["dataset"], facts["query_encoder"]) == (60, "turned", "tiny")
    assert len(facts["canaries"]) == 4
    assert (facts["training_queries"], facts["training_positives"]) == (60, 60)
    assert facts["training_negatives"] == len(fitted.adapter.provenance.seen.negatives)  # type: ignore[union-attr]
    assert facts["record"]["candidates"][0]["estimator"] is None
    assert len(facts["record"]["candidates"]) == 6


@pytest.fixture(scope="module")
def delivery(
    train: Dataset,
    test: Dataset,
    tmp_path_factory: pytest.TempPathFactory,
    choosing_from_few: Callable[[], AbstractContextManager[None]],
) -> Delivery:
    texts = {f"d{row}": f"text of {row} " * 100 for row in range(150)}
    told = replace(test, document_texts=texts, query_texts={"q60": "the question"})
    with choosing_from_few():
        return deliver(train, told, tmp_path_factory.mktemp("summary") / "a", seed=4, command="how")


def test_the_summary_says_what_the_fit_found(delivery: Delivery, train: Dataset) -> None:
    summary, choice = delivery.summary, delivery.fit.choice
    assert (summary.training_labels, summary.test_queries, summary.documents) == (60, 30, len(train.documents))
    assert summary.verdict.gain == choice.verdict.gain
    assert summary.verdict.threshold == choice.verdict.standard_error
    assert [candidate.mean for candidate in summary.candidates] == choice.means().tolist()
    assert [(c.name, c.strength) for c in summary.candidates if c.chosen] == [
        (f"{choice.chosen.estimator}, {choice.chosen.family}", choice.chosen.strength)
    ]
    lines = list(dict.fromkeys(candidate.name for candidate in summary.candidates))
    assert lines == ["base", "ridge, dual", "ridge, shared"]
    subsets = [row.subset for row in summary.comparisons]
    assert subsets == ["all", "all", "unseen", "unseen", "negative only"]
    assert (summary.reproduction.command, summary.reproduction.seed) == ("how", 4)
    assert FitSummary.from_json(json.loads(json.dumps(summary.to_json(), allow_nan=False))) == summary


def test_the_most_helped_and_most_hurt_are_in_order(delivery: Delivery) -> None:
    summary = delivery.summary
    gains = {query.query_id: query.gain for query in summary.per_query}
    assert len(gains) == 30
    helped, hurt = [case.gain for case in summary.helped], [case.gain for case in summary.hurt]
    assert helped == sorted((gain for gain in gains.values() if gain > 0), reverse=True)[:10]
    assert hurt == sorted(gain for gain in gains.values() if gain < 0)[:10]


def test_cases_show_documents_before_and_after(delivery: Delivery) -> None:
    found = delivery.trial.parts[0][1]
    for case in (*delivery.summary.helped, *delivery.summary.hurt):
        assert [document.doc_id for document in case.before] == list(found.base_run.documents(case.query_id)[:5])
        assert [document.doc_id for document in case.after] == list(found.adapted_run.documents(case.query_id)[:5])
        for document in (*case.before, *case.after):
            assert document.relevant is (document.doc_id == "d" + case.query_id[1:])
            assert document.grade == (1.0 if document.relevant else None)
            assert len(document.text) == 300


def test_too_few_labels_give_a_summary_without_candidates(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    few = train.only(train.qrels.queries[:5])
    summary = deliver(few, test, tmp_path / "a").summary
    assert summary.verdict.decision == "keep"
    assert (summary.verdict.gain, summary.verdict.standard_error, summary.verdict.threshold) == (None, None, None)
    assert (summary.candidates, summary.operator, summary.helped, summary.hurt) == ((), None, (), ())
    assert summary.verdict.sentence == ("5 labelled queries are too few to tell a gain from luck: label at least 10.")


def test_one_test_query_makes_a_summary(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    summary = deliver(train, test.only(["q70"]), tmp_path / "a", report=tmp_path / "a.html").summary
    leading = summary.comparisons[0]
    assert (leading.n, leading.low, leading.high) == (1, -1, 1)  # nothing is known, and nothing narrower is claimed


def test_graded_and_negative_judgements_reach_the_cases(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    graded = Qrels({query: {**judged, "d0": -1, "d1": 0} for query, judged in test.qrels.grades.items()})
    summary = deliver(train, replace(test, qrels=graded), tmp_path / "a").summary
    shown = [document for case in (*summary.helped, *summary.hurt) for document in (*case.before, *case.after)]
    assert {document.grade for document in shown} <= {None, -1.0, 0.0, 1.0}
    assert all(document.relevant is (document.grade == 1.0) for document in shown)
