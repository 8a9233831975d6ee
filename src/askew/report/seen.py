"""Seen against unseen: base and adapted by what training knew of the answers, in one picture with its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askew.report._paint import few_ticks, plain
from askew.report._svg import FLAT, GAIN, INK, LINE, LOSS, MUTED, WIDTH, draw, panel, write
from askew.report._words import FEW, count, number, percent, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
_RIGHT = WIDTH - 10
_TOP, _ROW = 30, 48  # of the first row, and of each, in points


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
        height=_TOP + _ROW * len(rows) + 42,
        title="Base and adapted by what training knew of the answers",
        description=f"{told}.",
    )


def _paint(figure: Figure, rows: list[Comparison]) -> None:
    axes = panel(figure, (10, _TOP, _RIGHT, _TOP + _ROW * len(rows)))
    for place, row in enumerate(rows):
        _dumbbell(axes, place, row)
        _heading(figure, _TOP + _ROW * place + 15, row)
    ends = [end for row in rows for end in (row.base, row.adapted, row.base + row.low, row.base + row.high)]
    room = 0.06 * (max(ends) - min(ends)) or 0.01
    axes.set_xlim(min(ends) - room, max(ends) + room)
    axes.set_ylim(-len(rows), 0)
    few_ticks(axes, whole=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(plain(f"mean {rows[0].measure}", "mean of the measure"))
    _legend(axes, rows[0].confidence)


def _dumbbell(axes: Axes, place: int, row: Comparison) -> None:
    """A ring for the base, a dot for adapted, an arrow's shaft between, and the interval of the difference."""
    height, colour = -(place + 0.66), _tone(row)
    if place:
        axes.axhline(-place, color=LINE, linewidth=0.6)
    ends = [row.base + row.low, row.base + row.high]
    axes.plot(ends, [height] * 2, color=colour, alpha=0.35, linewidth=7, solid_capstyle="butt")
    axes.plot([row.base, row.adapted], [height] * 2, color=colour, linewidth=1.6)
    ring = axes.plot([row.base], [height], "o", markersize=8, gid=f"mark-base-{place}")[0]
    ring.set(markerfacecolor="none", markeredgecolor=MUTED, markeredgewidth=1.8)
    axes.plot([row.adapted], [height], "o", color=colour, markersize=8, gid=f"mark-adapted-{place}")


def _heading(figure: Figure, down: float, row: Comparison) -> None:
    few = ": too few to judge" if row.n < FEW else ""
    write(figure, (10, down), f"{row.subset}, {count(row.n)} queries{few}")
    write(figure, (_RIGHT, down), signed(row.difference), align="right", colour=_tone(row))


def _legend(axes: Axes, confidence: float) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - with matplotlib

    ring = Line2D([], [], marker="o", linestyle="", markerfacecolor="none", markeredgecolor=MUTED, markeredgewidth=1.8)
    dot = Line2D([], [], marker="o", linestyle="", color=INK)
    band = Line2D([], [], color=INK, alpha=0.35, linewidth=7)
    words = ["base", "adapted", f"{percent(confidence)} interval"]
    legend = axes.legend(
        [ring, dot, band], words, loc="lower left", bbox_to_anchor=(-0.03, 1.0), ncols=3, frameon=False, fontsize=11
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _tone(row: Comparison) -> str:
    """Blue or orange where the interval excludes 0 over enough queries, grey where it leaves the sign open."""
    if row.n < FEW:
        return FLAT
    return GAIN if row.low > 0 else LOSS if row.high < 0 else FLAT
