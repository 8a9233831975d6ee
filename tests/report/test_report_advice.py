"""What to expect and what to do next, told from the summary's own numbers."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from askew.report import Comparison, FitSummary, LearningPoint, Reproduction, render_html, render_markdown
from askew.report.advice import next_steps
from askew.report.expect import expected, memory, unalike


def told(summary: FitSummary, **place: Any) -> FitSummary:
    where = {
        "command": "askew fit DATA -o 'my adapter' --labels 64",
        "adapter": "my adapter",
        "data": "my data",
        **place,
    }
    return dataclasses.replace(summary, reproduction=Reproduction(**where))


def with_rows(summary: FitSummary, **rows: tuple[float, int]) -> FitSummary:
    """Comparisons of one leading measure: subset → difference and number of queries, intervals of ± 0.01."""
    first = summary.comparisons[0]

    def row(subset: str, difference: float, n: int) -> Comparison:
        return dataclasses.replace(
            first,
            subset=subset.replace("_", " "),
            n=n,
            difference=difference,
            adapted=first.base + difference,
            low=difference - 0.01,
            high=difference + 0.01,
        )

    return dataclasses.replace(summary, comparisons=tuple(row(name, *given) for name, given in rows.items()))


def test_adapt_leads_to_the_adapter_by_its_own_path(full: FitSummary) -> None:
    steps = next_steps(told(full))
    assert [step.command for step in steps] == [
        "askew apply 'my adapter' queries.npy -o adapted.npy",
        "askew search queries.npy docs.npy --adapter 'my adapter' -o run.trec",
        "askew fit DATA -o 'my adapter' --labels 128",
    ]
    for command in (step.command for step in steps):
        assert command in render_markdown(told(full))
        assert command.replace("'", "&#39;") in render_html(told(full))


def test_keep_leads_to_labels_and_to_select(untested: FitSummary) -> None:
    steps = next_steps(told(untested, command="askew fit DATA -o a"))
    assert [step.command for step in steps] == ["", "askew fit DATA -o a", "askew select 'my data'"]
    assert steps[1].words == (
        "From about 600 labels in all, adapting is expected to pay, so label that many: add them to the judgements, "
        "then run again"
    )
    assert len(next_steps(told(untested, data=""))) == 2
    assert not next_steps(told(untested, command="askew.fit", data=""))[1].command  # that is no command


def test_the_step_to_more_labels_goes_by_the_curve(full: FitSummary, untested: FitSummary) -> None:
    assert full.learning is not None

    def last(summary: FitSummary, **changes: Any) -> str:
        learning = dataclasses.replace(summary.learning, **changes) if summary.learning else None
        return next_steps(dataclasses.replace(told(summary), learning=learning))[-1 if summary is full else 1].words

    more = LearningPoint(labels=1200.0, gain=0.008, low=-0.001, high=0.02, measured=False)
    assert "(600 more, 1,200 in all, are expected to bring +0.0080, possibly none;" in last(full, twice=more)
    assert "are expected to bring +0.0080; the curve" in last(full, twice=dataclasses.replace(more, low=0.001))
    assert "not expected to change this answer within 16 times as many" in last(untested, pays_from=None)
    assert next_steps(told(dataclasses.replace(full, learning=None)))[-1].words == "Label more queries, then run again"


def test_every_gain_is_named_once_and_related_to_the_others(full: FitSummary) -> None:
    told_ = " ".join(expected(full))
    for words in (
        "In use, expect about +0.0211 in nDCG@10 for queries like the test's (test, all documents)",
        "about +0.0150 where no label has named a document yet",
        "What decided is the nested gain, +0.0212",
        "beside it is +0.0150 (unseen documents)",
        "the curve's +0.0400 and the chosen candidate's +0.0390 (0.3620 less the base's 0.3230), tend to be",
    ):
        assert words in told_, words
    recurring = dataclasses.replace(full, verdict=dataclasses.replace(full.verdict, traffic=1.0))
    assert "beside it is +0.0211 (all documents)" in " ".join(expected(recurring))
    mixed = dataclasses.replace(full, verdict=dataclasses.replace(full.verdict, traffic=0.3))
    assert "30\xa0% of them over all documents and the rest over unseen ones" in " ".join(expected(mixed))
    assert "beside it" not in " ".join(expected(mixed))
    ungated = dataclasses.replace(full, verdict=dataclasses.replace(full.verdict, threshold=None))
    assert "The nested gain, which decided nothing here, is +0.0212" in " ".join(expected(ungated))


def test_on_keep_the_correction_would_have_brought_it(full: FitSummary, untested: FitSummary) -> None:
    kept = dataclasses.replace(full, verdict=untested.verdict)
    assert expected(kept)[0].startswith("In use nothing changes; the correction would have brought about +0.0211 in")


def test_without_a_test_the_nested_gain_is_what_to_expect(full: FitSummary, untested: FitSummary) -> None:
    assert expected(dataclasses.replace(full, comparisons=()))[0].startswith(
        "In use, expect about the nested gain, +0.0212"
    )
    assert expected(untested)[0] == "In use nothing changes: what was written is the base."
    assert not expected(dataclasses.replace(untested, candidates=(), operator=None))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"all": (0.03, 300), "never_seen": (0.03, 300)}, "so none of the gain here is memory"),
        (
            {"all": (0.04, 300), "positive_in_training": (0.08, 100), "never_seen": (0.02, 200)},
            "the gain is +0.0200. So about +0.0200 of the whole +0.0400 is memory.",
        ),
        (
            {"all": (0.04, 250), "positive_in_training": (0.08, 100), "never_seen": (0.02, 200)},
            "What the first gain more than the second is memory.",
        ),
        ({"all": (0.02, 300), "positive_in_training": (0.01, 100), "never_seen": (0.02, 200)}, "adds nothing here"),
        ({"all": (0.04, 249), "positive_in_training": (0.08, 49), "never_seen": (0.02, 200)}, "too few to judge"),
        ({"all": (0.08, 100), "positive_in_training": (0.08, 100)}, "memory cannot be told apart here"),
    ],
)
def test_how_much_is_memory(full: FitSummary, rows: dict[str, tuple[float, int]], words: str) -> None:
    assert words in memory(with_rows(full, **rows))


def test_wrong_answers_and_new_ones_are_set_side_by_side(full: FitSummary) -> None:
    def words(wrong: float, new: float, n: int = 100) -> str:
        return unalike(with_rows(full, all=(0.03, 2 * n), negative_only=(wrong, n), never_seen=(new, n)))

    assert "A likely reason: fitting pushes wrong answers away" in words(0.02, 0.1)
    assert "no clear difference" in words(0.02, 0.03)
    assert "gains more than what is new" in words(0.1, 0.02)
    assert not words(0.02, 0.1, n=49)
    assert not memory(with_rows(full, all=(0.03, 100)))
