"""Systems over one index: how each stands by cross-fitting, in one picture with its table and what a test says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from askew.report._paint import plain
from askew.report._plain import Record
from askew.report._rows import dumbbell, height, rows_axes
from askew.report._svg import FLAT, GAIN, LOSS, MUTED, draw
from askew.report._words import number, signed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from askew.report.summary import FitSummary

__all__ = ["SearchSystem", "SystemTest", "Systems", "systems_figure"]


@dataclass(frozen=True, kw_only=True)
class SearchSystem(Record):
    """One way to search the index; numbers are cross-fitted means, and None where nothing could be measured.

    The cheapest one, the first, has no lead.

    Attributes:
        name: as in ``"fused"``.
        needs: what embeds a query.
        cost: what it costs, in words.
        decision: the verdict on its correction: ``"adapt"`` or ``"keep"``.
        shipped: what its verdict ships, in words.
        vectors: how many a query needs.
        maps: whether a query is mapped from another encoder even where the verdict keeps the base.
        base: the mean of its base.
        ships: the mean of what ships.
        lead: that, less what the cheapest system ships.
        standard_error: of the lead, over queries.
        recommended: whether it is the one to use.
        written: whether it is what was written.
    """

    name: str
    needs: str
    cost: str
    decision: Literal["adapt", "keep"]
    shipped: str
    vectors: int = 1
    maps: bool = False
    base: float | None = None
    ships: float | None = None
    lead: float | None = None
    standard_error: float | None = None
    recommended: bool = False
    written: bool = False


@dataclass(frozen=True, kw_only=True)
class SystemTest(Record):
    """What one system scores on test queries, beside the reference.

    Attributes:
        name: of the system, or of the reference.
        documents: ``"all"`` or ``"unseen"``.
        n: the number of queries.
        mean: over them.
        difference: less the reference's; None for the reference itself.
        low: the lower bound of the difference.
        high: its upper bound.
    """

    name: str
    documents: str
    n: int
    mean: float
    difference: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class Systems(Record):
    """Every system that was fitted, from the cheapest, and which to use.

    Attributes:
        rows: one a system.
        sentence: which is recommended, and why.
        measure: of the cross-fitted means.
        tests: what ships of each, on test queries; the reference stands first. Empty without a test split.
        tested_by: their measure.
        confidence: of their intervals.
    """

    rows: tuple[SearchSystem, ...]
    sentence: str
    measure: str = "nDCG@10"
    tests: tuple[SystemTest, ...] = ()
    tested_by: str = "nDCG@10"
    confidence: float = 0.95


def systems_figure(summary: FitSummary) -> str:
    """From each system's base to what it ships, beside what the cheapest ships; "" for one alone, or unmeasured."""
    rows = [] if summary.systems is None else [row for row in summary.systems.rows if row.ships is not None]
    if summary.systems is None or len(rows) < 2:
        return ""
    told = "; ".join(
        f"{row.name}: {number(row.base)} to {number(row.ships)}, {signed(row.lead)} over the cheapest with a standard "
        f"error of {number(row.standard_error)}{', recommended' if row.recommended else ''}"
        for row in rows
    )
    measure = summary.systems.measure
    return draw(
        "systems",
        lambda figure: _paint(figure, rows, measure),
        height=height(len(rows)),
        title="Systems by cross-fitted score",
        description=f"{told}.",
    )


def _paint(figure: Figure, rows: list[SearchSystem], measure: str) -> None:
    ends = [value for row in rows for value in (*_sides(row), *_band(row))]
    axes = rows_axes(figure, len(rows), ends, f"cross-fitted mean {measure}", ["base", "ships", "1 std. error"])
    # Along the marks alone, or it would cross out the names.
    low, high = ([-(place + part) for place in range(len(rows))] for part in (0.88, 0.44))
    axes.vlines(
        [_sides(rows[0])[1]] * len(rows),
        low,
        high,
        color=MUTED,
        linewidth=1,
        linestyle=(0, (3, 2)),
        gid="mark-cheapest",
    )
    for place, row in enumerate(rows):
        name = plain(row.name, f"system {place + 1}")
        heading = f"{name}, recommended" if row.recommended else name, "cheapest" if not place else signed(row.lead)
        dumbbell(figure, axes, place, heading, _sides(row), _band(row), colour=_tone(row), marks=("base", "ships"))


def _sides(row: SearchSystem) -> tuple[float, float]:
    ships = row.ships or 0.0
    return ships if row.base is None else row.base, ships


def _band(row: SearchSystem) -> tuple[float, float]:
    """One standard error of the lead to each side of what ships."""
    ships, error = row.ships or 0.0, row.standard_error or 0.0
    return ships - error, ships + error


def _tone(row: SearchSystem) -> str:
    """Blue or orange where the lead is more than its standard error, grey where it is not."""
    lead, error = row.lead or 0.0, row.standard_error or 0.0
    return GAIN if lead > error else LOSS if -lead > error else FLAT
