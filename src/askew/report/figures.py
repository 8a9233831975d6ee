"""The four pictures of a report, each an inline SVG, or "" where there is nothing to draw.

They read the summary and nothing else; colours come from the page that holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from askew.report import _paint
from askew.report._svg import draw
from askew.report._words import count, number, percent, signed, strength
from askew.report.bands import tally

if TYPE_CHECKING:
    from askew.report.cases import QueryGain
    from askew.report.summary import FitSummary

__all__ = ["comparison_figure", "gains_figure", "sort_gains", "spectrum_figure", "strength_figure"]


def sort_gains(per_query: Sequence[QueryGain]) -> list[QueryGain]:
    """From the most helped to the most hurt; equal gains by query id."""
    return sorted(per_query, key=lambda query: (-query.gain, query.query_id))


def gains_figure(summary: FitSummary) -> str:
    """Every query's gain, sorted: blue above the line is helped, orange below it is hurt."""
    if not summary.per_query:
        return ""
    gains = [query.gain for query in sort_gains(summary.per_query)]
    parts = tally(summary.per_query)
    helped, unchanged, hurt = (count(part) for part in parts)
    return draw(
        "gains",
        lambda figure: _paint.gains(figure, gains, parts, summary.compared_by),
        height=230,
        title="Gain of each query, sorted",
        description=f"{helped} queries helped, {unchanged} unchanged, {hurt} hurt; "
        f"the gains go from {signed(gains[0])} to {signed(gains[-1])}.",
    )


def comparison_figure(summary: FitSummary) -> str:
    """Base, adapted and headroom on one scale; the difference and its interval on a scale of its own."""
    if not summary.comparisons:
        return ""
    first = summary.comparisons[0]
    return draw(
        "comparison",
        lambda figure: _paint.comparison(figure, first),
        height=236,
        title="Base and adapted",
        description=f"Base {number(first.base)}, adapted {number(first.adapted)}, difference "
        f"{signed(first.difference)} with a {percent(first.confidence)} interval from {signed(first.low)} to "
        f"{signed(first.high)}; headroom above the base {number(first.headroom)}.",
    )


def strength_figure(summary: FitSummary) -> str:
    """The cross-fitted score against the strength of the pull, with the base's line and the choice."""
    drawn = [c for c in summary.candidates if c.strength is not None and c.strength > 0]
    if not drawn:
        return ""
    prior = next((c for c in summary.candidates if c.strength is None), None)
    best = next((c for c in summary.candidates if c.chosen), None)
    told = f" Chosen: strength {strength(best.strength)}, {number(best.mean)}." if best else ""
    kept = f" The base scores {number(prior.mean)}." if prior else ""
    level = summary.level
    lined = f" Level with the best from {number(level)}, one standard error below it." if level is not None else ""
    return draw(
        "strength",
        lambda figure: _paint.strength(figure, drawn, prior, level),
        height=206 + _paint.legend_height(drawn),
        title="Cross-fitted score by strength",
        description=f"{count(len(drawn))} corrections tried.{told}{kept}{lined}",
    )


def spectrum_figure(summary: FitSummary) -> str:
    """The leading singular values of the correction."""
    if summary.operator is None or not summary.operator.singular_values:
        return ""
    values = summary.operator.singular_values
    return draw(
        "spectrum",
        lambda figure: _paint.spectrum(figure, values),
        height=190,
        title="Singular values of the correction",
        description=f"{count(len(values))} values, from {number(values[0])} to {number(values[-1])}.",
    )
