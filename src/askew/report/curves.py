"""Curves with bands: several series against one axis, for studies and for choices that grow with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING

from askew.errors import ParameterError
from askew.report._paint import LOOKS, few_ticks, plain, spread
from askew.report._svg import GAIN, INK, MUTED, WIDTH, draw, panel, write

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from askew.report.summary import Drift, Learning, LearningPoint

__all__ = ["Mark", "Series", "curves_figure", "drift_figure", "learning_figure"]

_RIGHT = WIDTH - 10
_LINE = 17  # of the legend, in points
_DASHES = ((4.0, 2.0), (1.0, 1.5), (6.0, 2.0, 1.0, 2.0))


@dataclass(frozen=True, kw_only=True)
class Series:
    """One line.

    Attributes:
        name: in the legend.
        x: ascending.
        y: as many.
        low: lower ends of a band, or none.
        high: upper ends.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A line across the picture: vertical at `x`, or level at `y`, with a word to it."""

    text: str
    x: float | None = None
    y: float | None = None


def curves_figure(
    name: str,
    series: Sequence[Series],
    *,
    title: str,
    description: str,
    x_label: str,
    y_label: str,
    marks: Sequence[Mark] = (),
    log_x: bool = False,
    looks: Sequence[tuple[str, str]] = LOOKS,
) -> str:
    """Draw series as an ``<svg>`` element; "" for none.

    Args:
        name: of the figure; no two of a page may have the same.
        series: at most six.
        title: what a screen reader names the figure.
        description: what it shows, in words.
        x_label: under the axis.
        y_label: above the axis.
        marks: lines across.
        log_x: a logarithmic axis, with a tick where there is a point.
        looks: colour and marker of each series.

    Raises:
        ParameterError: more series than can be told apart.

    >>> curves_figure("f", [Series(name="a", x=[1, 2], y=[0, 1])], title="t", description="d",
    ...               x_label="n", y_label="risk")[:4]
    '<svg'
    """
    if not series:
        return ""
    if len(series) > len(LOOKS):
        raise ParameterError(f"{len(series)} lines cannot be told apart", remedy=f"Draw at most {len(LOOKS)}")
    down = 32 + _LINE * -(-(len(series) + len(marks)) // 2)

    def paint(figure: Figure) -> None:
        axes = panel(figure, (52, down, _RIGHT, down + 170))
        handles = [_line(axes, one, place, *look) for place, (one, look) in enumerate(zip(series, looks, strict=False))]
        handles += [_mark(axes, mark, dashes) for mark, dashes in zip(marks, cycle(_DASHES), strict=False)]
        _x_axis(axes, sorted({x for one in series for x in one.x}), log=log_x)
        axes.set_xlabel(plain(x_label, "x"))
        write(figure, (6, 15), plain(y_label, "y"))
        words = [plain(one.name, f"line {place}") for place, one in enumerate(series, start=1)]
        words += [plain(mark.text, "mark") for mark in marks]
        legend = axes.legend(
            handles, words, loc="lower left", bbox_to_anchor=(-0.14, 1.0), ncols=2, frameon=False, fontsize=11
        )
        for text in legend.get_texts():
            text.set_parse_math(False)

    return draw(name, paint, height=down + 210, title=title, description=description)


def learning_figure(learning: Learning | None, *, measure: str = "nDCG@10") -> str:
    """The gain by number of labels, measured and ahead, with its bands and where the reader stands; "" for none."""
    if learning is None:
        return ""
    measured = [point for point in learning.points if point.measured]
    ahead = [point for point in learning.points if not point.measured]
    return curves_figure(
        "learning",
        [_by_labels("measured", measured), _by_labels("forecast", ahead)],
        title="Gain by number of labels",
        description=f"Cross-fitted gain in {measure} over the base, measured and forecast, with 95% bands: "
        f"{learning.sentence}.",
        x_label="labelled queries",
        y_label=f"gain in {measure}",
        marks=[Mark(text="base", y=0.0), Mark(text="labels you have", x=float(round(learning.labels)))],
        log_x=True,
    )


def drift_figure(drift: Drift | None) -> str:
    """The score that a share of the results lies at or above, base and adapted; "" for none."""
    if drift is None:
        return ""
    shares = [100 * row.share for row in drift.rows]
    middle = min(drift.rows, key=lambda row: abs(row.share - 0.5))
    return curves_figure(
        "drift",
        [
            Series(name="base", x=shares, y=[row.base for row in drift.rows]),
            Series(name="adapted", x=shares, y=[row.adapted for row in drift.rows]),
        ],
        title="Scores before and after",
        description=f"Half of the first {drift.depth} results of {drift.queries} queries score {middle.base:.4g} or "
        f"more with the base and {middle.adapted:.4g} or more adapted.",
        x_label="results that pass, %",
        y_label="score",
        looks=((MUTED, "s"), (GAIN, "o")),
    )


def _by_labels(name: str, points: Sequence[LearningPoint]) -> Series:
    return Series(
        name=name,
        x=[float(round(point.labels)) for point in points],
        y=[point.gain for point in points],
        low=[point.low for point in points],
        high=[point.high for point in points],
    )


def _line(axes: Axes, one: Series, place: int, colour: str, marker: str) -> Line2D:
    if len(one.low):
        axes.fill_between(one.x, one.low, one.high, color=colour, alpha=0.18, linewidth=0)
    return axes.plot(
        one.x, one.y, color=colour, marker=marker, markersize=4.5, linewidth=1.6, gid=f"mark-line-{place}"
    )[0]


def _mark(axes: Axes, mark: Mark, dashes: tuple[float, ...]) -> Line2D:
    style = (0, dashes)
    if mark.x is not None:
        return axes.axvline(mark.x, color=INK, linewidth=1.2, linestyle=style)
    return axes.axhline(mark.y or 0.0, color=MUTED, linewidth=1.2, linestyle=style)


def _x_axis(axes: Axes, points: list[float], *, log: bool) -> None:
    from matplotlib.ticker import NullFormatter, NullLocator  # noqa: PLC0415 - with matplotlib

    if not log:
        few_ticks(axes, whole=False)
        return
    axes.set_xscale("log")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())
    ticks = spread(points)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(points[0] / 1.15, points[-1] * 1.15)
