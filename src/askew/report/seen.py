"""Seen against unseen: base and adapted by what training knew of the answers, in one picture with its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askew.report._rows import dumbbell, height, rows_axes
from askew.report._svg import FLAT, GAIN, LOSS, draw
from askew.report._words import FEW, count, number, percent, signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from askew.report.summary import Comparison, FitSummary

__all__ = ["MEANINGS", "seen_figure", "seen_rows"]

#: What each subset of answers means, for a reader who has met none of the words.
MEANINGS = {
    "all": "every test query and every document: what users get if traffic is like the test queries",
    "unseen": "the same, with every document that was a right answer in training taken out of the index, for base and "
    "adapted alike: what adapting brings to documents that no label has named",
    "positive in training": "the right answer was a right answer in training too: the adapter may remember it",
    "negative only": "the right answer took part in training, but only as a wrong answer to other queries",
    "never seen": "the right answer took no part in training: new to the adapter",
}


def seen_rows(summary: FitSummary) -> list[Comparison]:
    """Base against adapted under the leading measure, one row for each subset of `MEANINGS` that was measured."""
    lead = [row for row in summary.comparisons if row.measure == summary.compared_by and row.label == row.subset]
    return [row for subset in MEANINGS for row in lead if row.subset == subset]


def seen_figure(summary: FitSummary) -> str:
    """From base to adapted, a line for each subset; "" where only one was measured."""
    rows = seen_rows(summary)
    if len(rows) < 2:
        return ""
    told = "; ".join(
        f"{row.subset}: {number(row.base)} to {number(row.adapted)}, {signed(row.difference)}, {count(row.n)} queries"
        for row in rows
    )
    return draw(
        "seen",
        lambda figure: _paint(figure, rows),
        height=height(len(rows)),
        title="Base and adapted by what training knew of the answers",
        description=f"{told}.",
    )


def _paint(figure: Figure, rows: list[Comparison]) -> None:
    ends = [end for row in rows for end in (row.base, row.adapted, *_band(row))]
    words = ["base", "adapted", f"{percent(rows[0].confidence)} interval"]
    axes = rows_axes(figure, len(rows), ends, f"mean {rows[0].measure}", words)
    for place, row in enumerate(rows):
        few = ": too few to judge" if row.n < FEW else ""
        heading = f"{row.subset}, {count(row.n)} queries{few}", signed(row.difference)
        sides = row.base, row.adapted
        dumbbell(figure, axes, place, heading, sides, _band(row), colour=_tone(row), marks=("base", "adapted"))


def _band(row: Comparison) -> tuple[float, float]:
    """The interval of the difference, from the base on."""
    return row.base + row.low, row.base + row.high


def _tone(row: Comparison) -> str:
    """Blue or orange where the interval excludes 0 over enough queries, grey where it leaves the sign open."""
    if row.n < FEW:
        return FLAT
    return GAIN if row.low > 0 else LOSS if row.high < 0 else FLAT
