"""The summary: plain, checked, and the same after a trip through JSON."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import askew.report
from askew.errors import FormatError, ParameterError
from askew.report import FitSummary, HealthFinding, OperatorFacts, QueryGain, Verdict, render_json


def test_json_brings_the_same_summary_back(full: FitSummary, untested: FitSummary) -> None:
    for summary in (full, untested):
        assert FitSummary.from_json(json.loads(render_json(summary))) == summary
        assert FitSummary.from_json(summary.to_json()) == summary


def test_json_is_ascii_and_strict_and_keeps_lone_surrogates(make_summary: Any) -> None:
    summary = make_summary(1, title="\ud800 \u202e שלום 🎯 \x00")
    text = render_json(summary)
    assert text.isascii()
    assert FitSummary.from_json(json.loads(text)).title == summary.title
    assert json.loads(text)["schema"] == "askew-report/1"


def test_to_json_holds_plain_values_alone(full: FitSummary) -> None:
    def walk(value: object) -> None:
        assert type(value) in {dict, list, str, int, float, bool, type(None)}
        for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            walk(item)

    walk(full.to_json())


def test_numpy_values_become_plain_ones() -> None:
    facts = OperatorFacts(singular_values=np.array([2.0, 1.0], dtype=np.float32), skew_share=np.float64(0.25))  # type: ignore[arg-type]
    assert facts == OperatorFacts(singular_values=(2.0, 1.0), skew_share=0.25)
    assert type(facts.skew_share) is float


def test_records_are_frozen(full: FitSummary) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        full.title = "another"  # type: ignore[misc]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "0.5", None, True])
def test_what_is_no_finite_number_is_refused_with_its_place(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"QueryGain\.base: expected a finite number"):
        QueryGain(query_id="a", text="", base=value, adapted=0.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Verdict(decision="maybe", sentence=""), "'adapt' or 'keep', got 'maybe'"),  # type: ignore[arg-type]
        (lambda: HealthFinding(level="note", message=3), "expected a string"),  # type: ignore[arg-type]
        (lambda: HealthFinding(level="note", message="", examples="abc"), "expected a sequence"),  # type: ignore[arg-type]
    ],
)
def test_wrong_values_are_refused(make: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        make()


def test_counts_are_whole_numbers_and_no_booleans(make_summary: Any) -> None:
    for value in (1.5, True):
        with pytest.raises(ParameterError, match="a whole number"):
            make_summary(1, documents=value)


def test_one_candidate_at_most_is_chosen(full: FitSummary) -> None:
    twice = [dataclasses.replace(candidate, chosen=True) for candidate in full.candidates]
    with pytest.raises(ParameterError, match="more than one candidate"):
        dataclasses.replace(full, candidates=tuple(twice))


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"confidence": 1.5}, r"1\.5 is not in"), ({"low": 0.9}, "crossed")],
)
def test_a_comparison_holds_together(full: FitSummary, changes: dict[str, float], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        dataclasses.replace(full.comparisons[0], **changes)  # type: ignore[arg-type]


def _without(data: dict[str, Any]) -> None:
    del data["verdict"]["sentence"]


@pytest.mark.parametrize(
    ("bend", "message"),
    [
        (lambda data: data.update(schema="other/1"), "summary.schema: expected the schema"),
        (lambda data: data.update(extra=1), "summary: unknown field 'extra'"),
        (_without, r"summary\.verdict: the field 'sentence' is missing"),
        (
            lambda data: data["per_query"][1].update(base="x"),
            r"summary\.per_query\[1\]\.base: expected a finite",
        ),
        (lambda data: data.update(verdict=[1]), r"summary\.verdict: expected an object"),
        (lambda data: data["candidates"][0].update(chosen=True), "more than one candidate"),
    ],
)
def test_a_bent_json_is_refused_with_its_place(make_summary: Any, bend: Any, message: str) -> None:
    data = make_summary(2).to_json()
    bend(data)
    with pytest.raises(FormatError, match=message):
        FitSummary.from_json(data)


def test_importing_the_package_imports_no_drawing_and_no_templates() -> None:
    heavy = ("matplotlib", "jinja2", "numpy")
    code = f"import sys, askew.report; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_sorted_and_there() -> None:
    assert askew.report.__all__ == sorted(askew.report.__all__)
    assert all(hasattr(askew.report, name) for name in askew.report.__all__)
