"""The nearest past query: what it must find, what it must leave alone, and where it is shown."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from askew.adapters import Adapter
from askew.adapters.adapter import Similarity
from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.estimators import Labels, Ridge
from askew.operators import BilinearOperator, Identity, Term, Zero
from askew.report import FitSummary
from askew.workflows import fit
from askew.workflows.deliver import deliver
from askew.workflows.nearest import NEAREST, NearestPast, assess_nearest, choose_nearest, outdone

pytestmark = pytest.mark.usefixtures("few_candidates")


def recurring(*, topics: int = 20, askers: int = 6, spread: float = 0.15, seed: int = 0) -> tuple[Dataset, Dataset]:
    """Topics asked about again and again; what answers them lies anywhere: memory is all that there is."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(topics, 24))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    rows = [(topic, asker) for asker in range(askers) for topic in range(topics)]
    vectors = np.array([centres[topic] + spread * rng.normal(size=24) / 24**0.5 for topic, _ in rows])
    ids = [f"q{topic}-{asker}" for topic, asker in rows]
    documents = EmbeddingSet([f"d{row}" for row in range(100)], rng.normal(size=(100, 24)), encoder="e")
    qrels = Qrels({name: {f"d{topic}": 2, f"d{topic + 50}": 1} for name, (topic, _) in zip(ids, rows, strict=True)})
    task = Dataset(EmbeddingSet(ids, vectors, encoder="e"), documents, qrels)
    return task.only(ids[topics:]), task.only(ids[:topics])


def chosen(train: Dataset, prior: Term | None = None, similarity: Similarity = "dot") -> tuple[NearestPast, Adapter]:
    """The baseline without the fit around it, and the base."""
    known = prior or Identity(train.queries.dim)
    labels = Labels.build(train, TwoWayFolds.build(train), prior=known, similarity=similarity)
    return choose_nearest(train, labels, known, similarity=similarity), Adapter(BilinearOperator(known), similarity)


def test_where_all_comes_back_the_look_up_is_perfect() -> None:
    train, test = recurring()
    nearest, base = chosen(train)
    assert nearest.threshold == 0.95  # of equally good ones the least daring
    assert nearest.means[0.95] == nearest.means[0.5] == pytest.approx(1.0)
    assert nearest.gain == pytest.approx(1.0 - nearest.means[None])
    found = assess_nearest(nearest, test, base)
    assert found.adapted.mean("nDCG@10") == pytest.approx(1.0)
    assert (found.base.run_name, found.adapted.run_name) == ("base", NEAREST)
    for query in test.qrels.queries:
        topic = int(query[1:].partition("-")[0])
        assert found.adapted_run.documents(query)[:2] == (f"d{topic}", f"d{topic + 50}")
        rest = [name for name in found.base_run.documents(query) if name not in (f"d{topic}", f"d{topic + 50}")]
        assert list(found.adapted_run.documents(query)[2:]) == rest[:98]


def test_where_nothing_comes_back_nothing_is_looked_up(train: Dataset, test: Dataset) -> None:
    nearest, base = chosen(train)
    assert nearest.threshold is None
    assert nearest.gain == nearest.standard_error == 0
    found = assess_nearest(nearest, test, base)
    assert all(row.difference == 0 == row.wins == row.losses for row in found.comparisons)


def test_the_scores_are_what_a_loop_over_folds_gives() -> None:
    train, _ = recurring(spread=1.5)
    labels = Labels.build(train, TwoWayFolds.build(train), prior=Identity(24))
    nearest, base = chosen(train)
    for threshold in (None, 0.8):
        total = 0.0
        for fold in range(5):
            outside = [name for name, place in zip(labels.query_ids, labels.plain_fold, strict=True) if place != fold]
            inside = [name for name in labels.query_ids if name not in outside]
            lookup = NearestPast(threshold, {}, 0, 0, chosen(train.only(outside))[0].past)
            found = assess_nearest(lookup, train.only(inside), base, measures=["nDCG@10"])
            total += float(found.adapted.per_query("nDCG@10").sum())
        assert nearest.means[threshold] == pytest.approx(total / len(labels))


def test_fresh_traffic_has_no_past(train: Dataset) -> None:
    assert fit(train).nearest is None
    mixed = fit(train, traffic=0.5)
    assert mixed.nearest is not None
    assert [finding.code for finding in mixed.findings if finding.level == "warning"] == []


def test_memory_that_beats_the_adapter_is_told() -> None:
    train, _ = recurring()
    fitted = fit(train, traffic="recurring", estimators=[Ridge(strengths=(10.0,))])
    (told,) = [finding for finding in fitted.findings if finding.code == "nearest-past-query"]
    assert told.level == "warning"
    assert f"and the adapter {fitted.choice.verdict.gain:+.4f}" in told.message
    assert fitted.nearest is not None
    assert outdone(fitted.nearest, fitted.nearest.gain, 100) == ()


def test_a_kept_base_tells_what_memory_would_gain() -> None:
    train, _ = recurring()
    fitted = fit(train, threshold=5.0)
    assert fitted.choice.verdict.decision == "keep", fitted.choice.verdict
    (told,) = [finding for finding in fitted.findings if finding.code == "memory-gains"]
    assert told.level == "note"
    assert "--traffic recurring" in str(told.remedy)
    (record,) = [record for record in fitted.choice.evidence if record.regime == "recurring"]
    names = [str(candidate) for candidate in fitted.choice.candidates]
    (row,) = [row for row, name in enumerate(names) if f"all documents {name} gains" in told.message]
    gain = float(record.gains()[row].mean())
    assert f"gains {gain:+.4f} nDCG@10" in told.message
    assert gain > 0.1
    asked = fit(train, traffic="recurring")
    assert asked.choice.verdict.decision == "adapt"
    assert asked.choice.verdict.gain == pytest.approx(gain, abs=0.1)
    assert not [finding for finding in asked.findings if finding.code == "memory-gains"]


def test_memory_is_not_told_of_where_it_gains_nothing(train: Dataset) -> None:
    drawn = np.random.default_rng(5).normal(size=(len(train.queries), train.queries.dim))
    noise = Dataset(EmbeddingSet(train.queries.ids, drawn), train.documents, train.qrels)
    fitted = fit(noise)
    assert fitted.choice.verdict.decision == "keep"
    assert not [finding for finding in fitted.findings if finding.code == "memory-gains"]


def test_it_stands_in_table_json_and_report(tmp_path: Path) -> None:
    train, test = recurring()
    held = deliver(train, test, tmp_path / "a", report=tmp_path / "a.html", traffic="recurring")
    assert held.trial.nearest is not None
    assert [(documents, row.other_name) for documents, row in held.trial.others] == [("all", NEAREST)] * 2
    told = json.loads(json.dumps(held.to_json(), allow_nan=False))["nearest_past_query"]
    assert told["threshold"] == 0.95
    assert [row["threshold"] for row in told["thresholds"]] == [None, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5]
    assert [row["other_mean"] for row in told["tests"]] == [row.other_mean for row in held.trial.nearest.comparisons]
    last = held.summary.comparisons[-1]
    assert (last.system, last.reference, last.subset) == (NEAREST, "base", "all")
    assert held.summary.comparisons[0].system == "adapted"
    assert "R@100, all: nearest past query against base" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert FitSummary.from_json(json.loads(json.dumps(held.summary.to_json()))) == held.summary


def test_it_is_shown_without_a_test_split_too(tmp_path: Path) -> None:
    train, _ = recurring()
    told = deliver(train, None, tmp_path / "a", traffic="recurring").to_json()["nearest_past_query"]
    assert told["tests"] == []
    assert told["gain"] > 0


@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_two_encoders_have_a_past_too(similarity: Similarity) -> None:
    train, test = recurring()
    longer = EmbeddingSet(train.documents.ids, np.tile(train.documents.matrix, (1, 2)) * 3, encoder="other")
    nearest, base = chosen(Dataset(train.queries, longer, train.qrels), Zero(24, 48), similarity)
    found = assess_nearest(nearest, Dataset(test.queries, longer, test.qrels), base)
    assert found.adapted.mean("nDCG@10") == pytest.approx(1.0)
