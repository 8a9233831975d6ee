"""Off-domain: a loss on other data that nobody tolerates keeps the base."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.errors import DimensionError, LabelError, ParameterError
from askew.estimators import Ridge
from askew.workflows.deliver import deliver
from askew.workflows.off_domain import look_elsewhere

QUICK: dict[str, Any] = {"estimators": [Ridge(strengths=(0.01, 0.1))]}


@pytest.fixture(scope="module")
def task(new_task: Callable[..., Dataset]) -> Dataset:
    return new_task(queries=60, documents=120)


@pytest.fixture(scope="module")
def general(task: Dataset) -> Dataset:
    """Queries that point at their documents as they are: what a turn can only spoil."""
    rng = np.random.default_rng(5)
    corpus = rng.normal(size=(80, 16))
    corpus /= np.linalg.norm(corpus, axis=1, keepdims=True)
    return Dataset(
        EmbeddingSet([f"g{row}" for row in range(40)], corpus[:40] + 0.05 * rng.normal(size=(40, 16)), encoder="tiny"),
        EmbeddingSet([f"e{row}" for row in range(80)], corpus, encoder="tiny"),
        Qrels({f"g{row}": {f"e{row}": 1} for row in range(40)}),
        name="general",
    )


def test_a_loss_elsewhere_keeps_the_base_and_says_so(task: Dataset, general: Dataset) -> None:
    alone = askew.fit(task, **QUICK)
    assert alone.choice.verdict.decision == "adapt"
    found = askew.fit(task, **QUICK, also=[general])
    (elsewhere,) = found.elsewhere
    row = elsewhere.comparisons[0]
    assert (row.measure, row.n, row.base_mean) == ("nDCG@10", 40, 1.0)
    assert row.difference < -0.01
    assert found.choice.verdict.decision == "keep"
    assert found.adapter.is_base
    assert not found.candidate.is_base
    assert found.adapter.provenance.record["verdict"]["decision"] == "keep"
    assert "but on general the change is -0." in found.choice.verdict.reason
    assert "more than the loss of 0.01 that is tolerated" in found.choice.verdict.reason


def test_a_loss_that_is_tolerated_changes_nothing(task: Dataset, general: Dataset) -> None:
    found = askew.fit(task, **QUICK, also=[general], tolerance=1.0)
    assert found.choice.verdict == askew.fit(task, **QUICK).choice.verdict
    assert not found.adapter.is_base
    assert not found.elsewhere[0].exceeded
    assert "within the loss of 1" in found.elsewhere[0].reason


def test_the_report_and_the_json_name_the_other_data(task: Dataset, general: Dataset, tmp_path: Path) -> None:
    found = deliver(task, None, tmp_path / "adapter", report=tmp_path / "r.html", also=[general], curve=False)
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert told["also"][0]["dataset"] == "general"
    assert told["also"][0]["exceeded"] is True
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "On other data" in page
    assert "<bdi>general</bdi>, nDCG@10" in page


def test_data_that_cannot_be_compared_on_is_refused_before_the_fit(task: Dataset, general: Dataset) -> None:
    narrow = EmbeddingSet(general.queries.ids, np.asarray(general.queries.matrix)[:, :8])
    calls: list[int] = []

    def progress(done: int, _: int) -> None:
        calls.append(done)

    with pytest.raises(DimensionError, match="its query vectors have 8 dimensions, those of turned 16"):
        askew.fit(task, **QUICK, also=[replace(general, queries=narrow)], progress=progress)
    with pytest.raises(LabelError, match="no judged query has both"):
        askew.fit(task, **QUICK, also=[replace(general, qrels=Qrels({"g0": {"e0": 0}}))], progress=progress)
    with pytest.raises(ParameterError, match="the tolerated loss is -1"):
        askew.fit(task, **QUICK, also=[general], tolerance=-1, progress=progress)
    assert not calls


def test_the_base_loses_nothing_anywhere(task: Dataset, general: Dataset) -> None:
    base = askew.fit(task, **QUICK, also=[general]).adapter
    (found,) = look_elsewhere(base, [general], tolerance=0.0)
    assert found.comparisons[0].difference == 0.0
    assert not found.exceeded
