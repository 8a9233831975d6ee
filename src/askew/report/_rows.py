"""Rows of a ring, a dot and a band, one below another: what pictures of several systems or subsets are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from askew.report._paint import few_ticks, plain
from askew.report._svg import INK, LINE, MUTED, WIDTH, panel, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["dumbbell", "height", "rows_axes"]

_RIGHT = WIDTH - 10
_TOP, _ROW = 30, 48  # of the first row, and of each, in points


def height(rows: int) -> float:
    """Of a figure of so many rows, in points."""
    return _TOP + _ROW * rows + 42


def rows_axes(figure: Figure, rows: int, ends: Sequence[float], label: str, words: Sequence[str]) -> Axes:
    """Axes for rows, from the least to the largest of `ends`; `words` say what ring, dot and band are."""
    axes = panel(figure, (10, _TOP, _RIGHT, _TOP + _ROW * rows))
    room = 0.06 * (max(ends) - min(ends)) or 0.01
    axes.set_xlim(min(ends) - room, max(ends) + room)
    axes.set_ylim(-rows, 0)
    few_ticks(axes, whole=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(plain(label, "mean of the measure"))
    _legend(axes, words)
    return axes


def dumbbell(
    figure: Figure,
    axes: Axes,
    place: int,
    heading: tuple[str, str],
    ends: tuple[float, float],
    band: tuple[float, float],
    *,
    colour: str,
    marks: tuple[str, str],
) -> None:
    """One row: its heading at the left and the right, a ring and a dot at `ends`, a line between, and a band."""
    level, down = -(place + 0.66), _TOP + _ROW * place + 15
    if place:
        axes.axhline(-place, color=LINE, linewidth=0.6)
    axes.plot(band, [level] * 2, color=colour, alpha=0.35, linewidth=7, solid_capstyle="butt")
    axes.plot(ends, [level] * 2, color=colour, linewidth=1.6)
    ring = axes.plot(ends[:1], [level], "o", markersize=8, gid=f"mark-{marks[0]}-{place}")[0]
    ring.set(markerfacecolor="none", markeredgecolor=MUTED, markeredgewidth=1.8)
    axes.plot(ends[1:], [level], "o", color=colour, markersize=8, gid=f"mark-{marks[1]}-{place}")
    write(figure, (10, down), heading[0])
    write(figure, (_RIGHT, down), heading[1], align="right", colour=colour)


def _legend(axes: Axes, words: Sequence[str]) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - with matplotlib

    ring = Line2D([], [], marker="o", linestyle="", markerfacecolor="none", markeredgecolor=MUTED, markeredgewidth=1.8)
    dot = Line2D([], [], marker="o", linestyle="", color=INK)
    band = Line2D([], [], color=INK, alpha=0.35, linewidth=7)
    legend = axes.legend(
        [ring, dot, band], words, loc="lower left", bbox_to_anchor=(-0.03, 1.0), ncols=3, frameon=False, fontsize=11
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
