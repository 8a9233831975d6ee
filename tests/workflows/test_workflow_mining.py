"""What mining found: counted, warned of where it is little, and checked against hidden relevant documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.estimators import Labels, Mining
from askew.operators import Identity, Term, Zero
from askew.workflows import fit
from askew.workflows.deliver import deliver
from askew.workflows.mining_report import false_negatives, report_mining


def deep(*, queries: int = 40, each: int = 6, documents: int = 400, near: bool = True, seed: int = 0) -> Dataset:
    """Queries with several relevant documents: the nearest ones, or any."""
    rng = np.random.default_rng(seed)
    corpus, asked = rng.normal(size=(documents, 8)), rng.normal(size=(queries, 8))
    order = (
        np.argsort(-(asked @ corpus.T), axis=1)
        if near
        else rng.permuted(np.tile(np.arange(documents), (queries, 1)), axis=1)
    )
    qrels = Qrels({f"q{row}": {f"d{name}": 1 for name in order[row, :each]} for row in range(queries)})
    names = [f"d{row}" for row in range(documents)]
    return Dataset(EmbeddingSet([f"q{row}" for row in range(queries)], asked), EmbeddingSet(names, corpus), qrels)


def labels_of(task: Dataset, mining: Mining, prior: Term | None = None) -> Labels:
    return Labels.build(task, TwoWayFolds.build(task), prior=prior or Identity(8), mining=mining)


def test_every_hidden_document_that_is_mined_is_counted() -> None:
    task, mining = deep(), Mining("top", 3)
    found = false_negatives(task, labels_of(task, mining), Identity(8), mining)
    assert found is not None
    # The six nearest are relevant: with three hidden, the three hardest negatives are just these.
    assert (found.queries, found.hidden, found.mined, found.found, found.rate) == (40, 120, 120, 120, 1.0)


def test_a_random_document_is_rarely_relevant() -> None:
    task, mining = deep(near=False), Mining("top", 16)
    found = false_negatives(task, labels_of(task, mining), Identity(8), mining)
    assert found is not None
    assert found.mined == 640
    assert found.rate < 0.03  # 3 of 397 would be 0.008
    assert found.to_json()["rate"] == found.rate


def test_the_half_is_of_each_query_and_by_hash() -> None:
    task, mining = deep(each=3), Mining("top", 5)
    found = false_negatives(task, labels_of(task, mining), Identity(8), mining)
    assert found is not None
    assert found.hidden == 40  # one of three
    again = false_negatives(task, labels_of(task, mining), Identity(8), mining)
    other = false_negatives(task, labels_of(task, mining), Identity(8), mining, seed=1)
    assert found == again
    assert other is not None


def test_few_deep_queries_tell_nothing() -> None:
    mining = Mining("top", 5)
    for task in (deep(queries=19), deep(each=1)):
        assert false_negatives(task, labels_of(task, mining), Identity(8), mining) is None
    task = deep()
    assert false_negatives(task, labels_of(task, Mining(count=0)), Identity(8), Mining(count=0)) is None


def test_no_more_than_200_queries_take_part() -> None:
    task, mining = deep(queries=230, each=2), Mining("top", 2)
    found = false_negatives(task, labels_of(task, mining), Identity(8), mining)
    assert found is not None
    assert found.queries == 200


@pytest.mark.parametrize(
    ("mining", "documents", "says"),
    [
        (Mining(count=16, margin=0.05), 400, "the margin of 0.05 left 40 of 40 queries with under half of the 16"),
        (Mining("top", 500), 150, "the corpus left 40 of 40 queries with under half of the 500 negatives wanted"),
        (Mining("top", 8), 400, ""),
        (Mining(count=0), 400, ""),
    ],
)
def test_too_few_negatives_are_told_with_the_cause(mining: Mining, documents: int, says: str) -> None:
    task = deep(documents=documents)
    if mining.policy == "margin":  # every score is near the best
        asked, corpus = (EmbeddingSet(held.ids, np.abs(held.matrix) + 0.3) for held in (task.queries, task.documents))
        task = Dataset(asked, corpus, task.qrels)
    facts, findings = report_mining(task, labels_of(task, mining), Identity(8), mining)
    warnings = [finding for finding in findings if finding.level == "warning"]
    assert facts["queries_with_under_half"] == sum(finding.count for finding in warnings) == (40 if says else 0)
    assert [finding.message for finding in warnings if not finding.message.startswith(says)] == []
    assert len(findings) == (mining.count > 0) + len(warnings)


def test_without_a_base_there_are_no_hard_negatives_and_no_word_of_it() -> None:
    task, mining = deep(), Mining(count=4)
    facts, (note,) = report_mining(task, labels_of(task, mining, Zero(8, 8)), Zero(8, 8), mining)
    assert (facts["mean_kept"], note.level) == (0.0, "note")


def test_a_fit_tells_it_in_json_and_in_the_report(few_candidates: None, tmp_path: Path) -> None:
    task = deep()
    held = deliver(task, None, tmp_path / "a", report=tmp_path / "a.html")
    told = json.loads(json.dumps(held.to_json(), allow_nan=False))["mined"]
    assert told == dict(held.fit.mined) == dict(fit(task).mined)
    assert (told["policy"], told["margin"], told["wanted"]) == ("margin", 0.95, 16)
    assert told["false_negatives"]["queries"] == 40
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "of 16 negatives wanted were mined a query" in page
    assert "were hidden relevant documents" in page


def test_a_margin_that_leaves_easy_negatives_is_told() -> None:
    task = deep(queries=40, documents=400)
    for margin, says in ((1e-9, True), (0.95, False)):
        mining = Mining(count=16, margin=margin)
        facts, findings = report_mining(task, labels_of(task, mining), Identity(8), mining)
        told = [finding for finding in findings if finding.code == "easy-negatives"]
        assert (facts["mean_kept"], len(told)) == (16, says)
    mining = Mining(count=16, margin=1e-9)
    (told_of,) = report_mining(task, labels_of(task, mining), Identity(8), mining)[1][1:]
    assert told_of.level == "warning"
    assert told_of.message.startswith("the margin of 1e-09 turned away ")
    assert told_of.remedy is not None
    assert "--margin" in told_of.remedy
