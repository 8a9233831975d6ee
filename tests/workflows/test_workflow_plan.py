"""Plan: crossings and learning curves on tasks whose answer is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet
from askew.errors import DimensionError, LabelError, ParameterError
from askew.workflows.pictures import gain_picture, write_picture
from askew.workflows.plan import LabelPlan, plan_labels


def quick(task: Dataset, **options: Any) -> LabelPlan:
    return plan_labels(task, **{"splits": 4, "ranks": [4, 8], "workers": 1, **options})


@pytest.fixture(scope="module")
def turned(new_task: Callable[..., Dataset]) -> Dataset:
    return new_task(queries=140, documents=200)


@pytest.fixture(scope="module")
def found(turned: Dataset) -> LabelPlan:
    return quick(turned)


def test_a_gain_that_grows_is_measured_at_nested_counts(found: LabelPlan) -> None:
    assert found.gain is not None
    assert found.gain.counts == (17.5, 35.0, 70.0, 140.0)
    assert found.gain.gains[-1] > found.gain.gains[0] > 0
    assert found.gain.pays_from() == 140
    assert found.reason.startswith("adapting pays already: the gain of ridge (dual or shared) is +0.")
    assert found.note.startswith("The curve is of ridge (dual or shared) alone")
    assert "fit may choose another estimator, and its report shows the curve of that one" in found.note
    ahead = found.gain.forecast(4)
    assert ahead.low <= ahead.value <= ahead.high


def test_every_rank_has_its_crossing(found: LabelPlan) -> None:
    assert [one.rank for one in found.plans] == [4, 8]
    assert all(one.queries == 140 for one in found.plans)


def test_equal_views_have_no_crossing_in_sight(new_task: Callable[..., Dataset]) -> None:
    told = quick(new_task(queries=60, angle=0.0, noise=0.3), residual=True)
    assert not any(one.in_sight for one in told.plans)
    assert told.to_json()["plans"][0]["interval"][1] is None
    assert "no crossing in sight" in told.plans[0].reason


def test_no_result_depends_on_workers(turned: Dataset, found: LabelPlan) -> None:
    assert quick(turned, workers=3).to_json() == found.to_json()


def test_json_holds_plain_numbers_alone(found: LabelPlan) -> None:
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert [row["labels"] for row in told["gain"]["measured"]] == [17.5, 35.0, 70.0, 140.0]
    assert [row["labels"] for row in told["gain"]["forecast"]] == [140.0, 280.0, 560.0]
    assert set(told["gain"]["forecast"][0]) == {"labels", "value", "low", "high", "needed"}
    assert told["plans"][0]["rank"] == 4
    assert (told["gain"]["level"], told["note"]) == (0.95, found.note)


def test_few_labels_make_no_curve(new_task: Callable[..., Dataset]) -> None:
    told = quick(new_task(queries=40), ranks=[2])
    assert told.gain is None
    assert told.reason == "40 labels give 2 of the 3 points that a learning curve takes: label at least 64"
    assert told.to_json()["gain"] is None
    assert gain_picture(told) == ""


def test_progress_is_told_to_the_end(turned: Dataset) -> None:
    told: list[tuple[int, int]] = []
    quick(turned, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (16, 16)


def test_an_estimate_without_error_can_be_fitted(new_task: Callable[..., Dataset]) -> None:
    same = new_task(queries=64, angle=0.0, noise=0.0)
    told = quick(same)
    assert told.gain is not None
    assert told.gain.gains == (0.0, 0.0, 0.0)
    assert told.reason.startswith("adapting is not expected to pay within 16 times the labels")


def test_bad_input_is_refused(turned: Dataset) -> None:
    narrow = EmbeddingSet(turned.queries.ids, np.asarray(turned.queries.matrix)[:, :8], encoder="tiny")
    with pytest.raises(DimensionError, match="queries have 8 dimensions and documents 16"):
        quick(replace(turned, queries=narrow))
    with pytest.raises(ParameterError, match="not all between 1 and 16"):
        quick(turned, ranks=[32])
    for wrong in (-1, "x", None):
        with pytest.raises(ParameterError, match=f"the threshold is {wrong!r}"):
            quick(turned, threshold=wrong)
    with pytest.raises(ParameterError, match="there is no similarity 'l2'"):
        quick(turned, similarity="l2")
    with pytest.raises(ParameterError, match="progress: it cannot be called"):
        quick(turned, progress=3)
    with pytest.raises(LabelError, match="2 rows make 2 queries"):
        quick(turned.only(["q0", "q1"]), ranks=[1])


def test_the_picture_is_one_svg(found: LabelPlan, tmp_path: Path) -> None:
    write_picture(gain_picture(found), tmp_path / "gain.svg")
    root = ET.parse(tmp_path / "gain.svg").getroot()
    words = "".join(root.itertext())
    assert root.tag.endswith("svg")
    assert "forecast" in words
    assert "gain in nDCG@10" in words
