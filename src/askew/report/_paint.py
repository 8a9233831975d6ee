"""What each figure puts on its sheet: axes, shapes and words, in points and stand-in colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from askew.report._svg import FLAT, FOURTH, GAIN, INK, LINE, LOSS, MUTED, THIRD, WIDTH, panel, write
from askew.report._words import count, number, percent, shorten, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    from askew.report.summary import Candidate, Comparison

__all__ = [
    "BANDS",
    "LOOKS",
    "comparison",
    "few_ticks",
    "gains",
    "legend_height",
    "plain",
    "spectrum",
    "spread",
    "strength",
]

_RIGHT = WIDTH - 10
# Neighbours in the sorted gains whose heights differ by less than this share of the range share one step: it
# is under half a point on the page, and it bounds the picture's size whatever the number of queries.
_STEP = 1 / 500
# Six lines are told apart by colour and marker together; the table behind the picture holds any others.
LOOKS = ((GAIN, "o"), (LOSS, "s"), (THIRD, "^"), (FOURTH, "D"), (FLAT, "v"), (INK, "P"))
# More lines than this have a band for the chosen one alone, or none could be told from another.
BANDS = 2
# More singular values than this stand without gaps between them, or the gaps would be all one sees.
_GAPS = 60

Outline = list[tuple[float, float]]


def gains(figure: Figure, values: Sequence[float], parts: tuple[int, int, int], measure: str) -> None:
    """Sorted gains as two filled steps about a zero line; `parts` counts helped, unchanged and hurt."""
    helped, unchanged, hurt = parts
    axes = panel(figure, (52, 44, _RIGHT, 196))
    top, bottom = max(values[0], 0.0), min(values[-1], 0.0)
    step = _STEP * (top - bottom)
    _fill(axes, _steps(values[:helped], step), GAIN, "mark-helped")
    losses = [-value for value in reversed(values[len(values) - hurt :])]  # the deepest loss first
    _fill(axes, [(len(values) - x, -y) for x, y in _steps(losses, step)], LOSS, "mark-hurt")
    axes.axhline(0, color=MUTED, linewidth=0.8)
    axes.plot([helped, helped + unchanged], [0, 0], color=FLAT, linewidth=3, solid_capstyle="butt")
    room = 0.05 * (top - bottom) or 1.0
    axes.set_xlim(0, len(values))
    axes.set_ylim(bottom - room, top + room)
    axes.set_xlabel("queries, from most helped to most hurt")
    few_ticks(axes, whole=True)
    write(figure, (6, 15), f"{count(helped)} helped", colour=GAIN)
    write(figure, (WIDTH / 2, 15), f"{count(unchanged)} unchanged", align="center", colour=MUTED)
    write(figure, (_RIGHT, 15), f"{count(hurt)} hurt", align="right", colour=LOSS)
    write(figure, (6, 35), f"gain in {plain(measure, 'the measure')}")


def comparison(figure: Figure, shown: Comparison) -> None:
    """Base and adapted as bars up to the ceiling, and the difference's interval below on its own scale."""
    axes = panel(figure, (138, 28, _RIGHT, 92))
    ceiling = shown.base + shown.headroom
    better = GAIN if shown.difference >= 0 else LOSS
    bars = (("base", shown.base, FLAT), ("adapted", shown.adapted, better))
    for row, (name, value, colour) in enumerate(bars):
        axes.barh(-row, ceiling, height=0.62, color=LINE, alpha=0.55, linewidth=0)
        axes.barh(-row, value, height=0.62, color=colour, linewidth=0, gid=f"mark-{name}")
        write(figure, (6, 48 + 32 * row), name)
        write(figure, (130, 48 + 32 * row), number(value), align="right")
    axes.set_xlim(min(0.0, shown.base, shown.adapted), max(ceiling, shown.base, shown.adapted) or 1.0)
    axes.set_ylim(-1.5, 0.5)
    _rows_only(axes)
    write(figure, (6, 15), plain(shown.measure, "mean"))
    write(figure, (_RIGHT, 15), f"pale: headroom, {number(shown.headroom)}", align="right", colour=MUTED)
    _difference(figure, shown)


def _difference(figure: Figure, shown: Comparison) -> None:
    axes = panel(figure, (138, 156, _RIGHT, 194))
    colour = GAIN if shown.low > 0 else LOSS if shown.high < 0 else INK
    axes.axvline(0, color=MUTED, linewidth=1, linestyle=(0, (3, 2)))
    axes.plot([shown.low, shown.high], [0, 0], color=colour, linewidth=3, gid="mark-interval")
    axes.plot([shown.difference], [0], "o", color=colour, markersize=9)
    points = (0.0, shown.low, shown.high, shown.difference)
    room = 0.12 * (max(points) - min(points)) or 0.01
    axes.set_xlim(min(points) - room, max(points) + room)
    axes.set_ylim(-1, 1)
    _rows_only(axes)
    interval = f"{percent(shown.confidence)} interval {signed(shown.low)} to {signed(shown.high)}"
    write(figure, (_RIGHT, 144), interval, align="right", colour=MUTED)
    write(figure, (6, 179), "difference")
    write(figure, (130, 179), signed(shown.difference), align="right")


def legend_height(drawn: Sequence[Candidate]) -> int:
    """What the legend of `strength` takes, in points: two columns of names, prior, level and choice."""
    return 17 * -(-(len(_names(drawn)) + 3) // 2)


def strength(figure: Figure, drawn: Sequence[Candidate], prior: Candidate | None, level: float | None) -> None:
    """One line a name, the prior's dashed line, the level's dotted one, a ring around the choice, bands if legible."""
    names, down = _names(drawn), legend_height(drawn)
    axes = panel(figure, (52, 8 + down, _RIGHT, 166 + down))
    looks = dict(zip(names, LOOKS, strict=False))
    handles = [_path(axes, [c for c in drawn if c.name == name], look) for name, look in looks.items()]
    for name in names if len(names) <= BANDS else names[:1]:
        _band(axes, [c for c in drawn if c.name == name], looks[name][0])
    labels = [plain(name, f"candidate {place}") for place, name in enumerate(names, start=1)]
    if prior is not None:
        handles.append(_prior(axes, prior))
        labels.append("base" + " (chosen)" * prior.chosen)
    if level is not None:
        handles.append(axes.axhline(level, color=INK, linewidth=1.2, linestyle=(0, (1, 1.5)), gid="mark-level"))
        labels.append("best less 1 std. error")
    for best in (candidate for candidate in drawn if candidate.chosen):
        handles += _ring(axes, best)
        labels.append("chosen")
    _strength_axis(axes, sorted({candidate.strength or 0.0 for candidate in drawn}))
    legend = axes.legend(
        handles, labels, loc="lower left", bbox_to_anchor=(-0.14, 1.0), ncols=2, frameon=False, fontsize=11
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _path(axes: Axes, line: Sequence[Candidate], look: tuple[str, str]) -> Line2D:
    points = sorted((candidate.strength or 0.0, candidate.mean) for candidate in line)
    xs, means = [x for x, _ in points], [mean for _, mean in points]
    return axes.plot(xs, means, color=look[0], marker=look[1], markersize=4.5, linewidth=1.6)[0]


def _band(axes: Axes, line: Sequence[Candidate], colour: str) -> None:
    ordered = sorted(line, key=lambda candidate: candidate.strength or 0.0)
    xs = [candidate.strength or 0.0 for candidate in ordered]
    low = [candidate.mean - candidate.standard_error for candidate in ordered]
    high = [candidate.mean + candidate.standard_error for candidate in ordered]
    if len(ordered) == 1:  # a band of no width cannot be seen
        axes.vlines(xs, low, high, color=colour, linewidth=1.5)
    axes.fill_between(xs, low, high, color=colour, alpha=0.18, linewidth=0, gid=f"mark-band-{colour[-1]}")


def _prior(axes: Axes, prior: Candidate) -> Line2D:
    width = 2.4 if prior.chosen else 1.4
    return axes.axhline(prior.mean, color=MUTED, linewidth=width, linestyle=(0, (4, 2)), gid="mark-prior")


def _ring(axes: Axes, best: Candidate) -> list[Line2D]:
    return axes.plot(
        [best.strength or 0.0],
        [best.mean],
        "o",
        markersize=13,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.6,
        gid="mark-chosen",
    )


def _strength_axis(axes: Axes, strengths: list[float]) -> None:
    from matplotlib.ticker import NullFormatter  # noqa: PLC0415 - with matplotlib

    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    ticks = _decades(strengths) or spread(strengths)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlim(strengths[0] / 1.8, strengths[-1] * 1.8)
    axes.set_xlabel("strength of the pull towards the base")
    axes.locator_params(axis="y", nbins=5)


def _decades(strengths: list[float]) -> list[float]:
    """The powers of ten among rising strengths, every other one where they are many; none for fewer than two."""
    first, last = (math.log10(end) for end in (strengths[0], strengths[-1]))
    powers = range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1)
    return [10.0**power for power in powers[:: -(-len(powers) // 7) or 1]] if len(powers) > 1 else []


def spread(strengths: list[float]) -> list[float]:
    """The rising strengths whose labels have room: a seventh of the axis, on its log scale, between them."""
    room = (strengths[-1] / strengths[0]) ** (1 / 7)
    kept = strengths[:1]
    for value in strengths[1:]:
        if value >= 0.99 * kept[-1] * room:  # even steps may miss the seventh by rounding
            kept.append(value)
    return kept


def spectrum(figure: Figure, values: Sequence[float]) -> None:
    """Singular values as bars of one outline."""
    axes = panel(figure, (52, 28, _RIGHT, 154))
    half = 0.4 if len(values) <= _GAPS else 0.5
    outline: Outline = []
    for place, value in enumerate(values, start=1):
        outline += [(place - half, 0.0), (place - half, value), (place + half, value), (place + half, 0.0)]
    _fill(axes, outline, GAIN, "mark-values")
    axes.set_xlim(0.4, len(values) + 0.6)
    axes.set_ylim(0, 1.05 * max(values) or 1.0)
    axes.set_xlabel("place in the spectrum")
    few_ticks(axes, whole=True)
    write(figure, (6, 15), "singular value")


def _steps(values: Sequence[float], step: float) -> Outline:
    """The outline of descending bars of width 1; bars within `step` of the first of their run join it."""
    if not values:
        return []
    level = values[0]
    outline: Outline = [(0, 0.0), (0, level)]
    for place, value in enumerate(values):
        if level - value > step:
            outline += [(place, level), (place, value)]
            level = value
    return [*outline, (len(values), level), (len(values), 0.0)]


def _fill(axes: Axes, outline: Outline, colour: str, mark: str) -> None:
    if outline:
        axes.fill([x for x, _ in outline], [y for _, y in outline], color=colour, linewidth=0, gid=mark)


def few_ticks(axes: Axes, *, whole: bool) -> None:
    """Some five ticks on both axes; at whole numbers on the lower one, if they are counts."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - with matplotlib

    axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=whole))
    axes.yaxis.set_major_locator(MaxNLocator(nbins=5))


def _rows_only(axes: Axes) -> None:
    few_ticks(axes, whole=False)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _names(drawn: Iterable[Candidate]) -> list[str]:
    """The names that are drawn: the chosen one's first, then as they come, six at most."""
    ordered = sorted(drawn, key=lambda candidate: not candidate.chosen)
    return list(dict.fromkeys(candidate.name for candidate in ordered))[: len(LOOKS)]


def plain(name: str, otherwise: str) -> str:
    """A name that the drawing's font has every letter of, or other words: tables give it in full."""
    short = shorten(name, 26).replace("…", "...").lstrip("_")
    return short if short and short.isascii() and short.isprintable() else otherwise
