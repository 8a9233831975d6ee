"""What to do next: the steps that a verdict leads to, with commands to paste."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from askew.report._words import count, signed

if TYPE_CHECKING:
    from askew.report.summary import FitSummary, Learning

__all__ = ["Step", "next_steps"]

# A number of labels that a command names; the rerun asks for twice as many.
_LABELS = re.compile(r"(?<=--labels[ =])\d+\b")


@dataclass(frozen=True)
class Step:
    """One thing to do: why, and the command if there is one."""

    words: str
    command: str = ""


def next_steps(summary: FitSummary) -> list[Step]:
    """The steps in the order to take them; file names in small letters stand for the reader's own."""
    mapped = summary.written is not None and summary.written.maps
    if summary.verdict.decision == "adapt" or mapped:
        return [*_use(summary), _rerun(summary)]
    return [
        Step("Go on searching as you do: the adapter written changes nothing, as nothing learned is worth using yet"),
        _rerun(summary),
        *_look(summary),
    ]


def _use(summary: FitSummary) -> list[Step]:
    adapter = shlex.quote(summary.reproduction.adapter or "adapter")
    written = summary.written
    asked = "" if written is None else f" by {written.needs}"
    second = "" if written is None or written.vectors < 2 else " --second-queries others.npy"
    return [
        Step(
            f"Adapt your query vectors{asked}, and search the index you have with them; stored documents stay as they "
            "are",
            f"askew apply {adapter} queries.npy{second} -o adapted.npy",
        ),
        Step(
            "Or search here, exactly, with the vectors of both sides",
            f"askew search queries.npy docs.npy{second} --adapter {adapter} -o run.trec",
        ),
    ]


def _rerun(summary: FitSummary) -> Step:
    command = summary.reproduction.command
    again = command if command.startswith("askew ") else ""
    named = _LABELS.search(again)
    if named:
        again = _LABELS.sub(str(2 * int(named[0])), again)
    return Step(f"{_labels(summary)}{'' if named else ': add them to the judgements'}, then run again", again)


def _labels(summary: FitSummary) -> str:
    """How many labels to collect, by the curve where there is one."""
    curve = summary.learning
    if curve is None:
        return "Label more queries"
    if summary.verdict.decision == "adapt":
        return f"Label more queries{_added(curve)}"
    if curve.pays_from is None:
        return (
            "More labels are not expected to change this answer within 16 times as many; to be sure of it, label "
            f"{count(round(2 * curve.labels))} queries in all"
        )
    return f"From about {count(round(curve.pays_from))} labels in all, adapting is expected to pay, so label that many"


def _added(curve: Learning) -> str:
    if curve.twice is None:
        return ""
    some = "" if curve.twice.low > 0 else ", possibly none"
    more = count(round(curve.twice.labels - curve.labels))
    return (
        f" ({more} more, {count(round(curve.twice.labels))} in all, are expected to bring "
        f"{signed(curve.twice.gain)}{some}; the curve's table has other numbers)"
    )


def _look(summary: FitSummary) -> list[Step]:
    if not summary.reproduction.data:
        return []
    data = shlex.quote(summary.reproduction.data)
    return [
        Step("See whether these labels ask for one geometry or for two, and how sure that is", f"askew select {data}")
    ]
