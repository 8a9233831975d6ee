"""The summary as one HTML page that needs nothing else: no network, no script, no other file."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from askew.report import _words
from askew.report._paint import BANDS
from askew.report.advice import next_steps
from askew.report.bands import bands, rescues, tally, tied
from askew.report.curves import drift_figure, learning_figure
from askew.report.expect import expected, memory, unalike
from askew.report.figures import (
    comparison_figure,
    gains_figure,
    sort_gains,
    spectrum_figure,
    strength_figure,
)
from askew.report.glossary import GLOSSARY, spread_words
from askew.report.seen import MEANINGS, seen_figure, seen_rows
from askew.report.systems import systems_figure

if TYPE_CHECKING:
    from jinja2 import Environment

    from askew.report.cases import QueryGain
    from askew.report.summary import FitSummary, HealthFinding

__all__ = ["render_html"]

_CASES = 10
# Both ends of the sorted gains; nobody reads more, and the JSON report holds them all.
_ROWS = 200


def render_html(summary: FitSummary) -> str:
    """The page as a string that UTF-8 can encode; equal summaries give equal pages.

    Every string of the summary is escaped, and a character that a page cannot show becomes U+FFFD.
    """
    shown = _words.presentable(summary)
    template = _environment().get_template("page.html.j2")
    return template.render(s=shown, figures=_figures(shown), **_derived(shown))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - when first used

    environment = Environment(
        loader=PackageLoader("askew.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for words in ("count", "number", "p_value", "percent", "shorten", "signed", "strength"):
        environment.filters[words] = getattr(_words, words)
    return environment


def _figures(summary: FitSummary) -> dict[str, str]:
    from markupsafe import Markup  # noqa: PLC0415 - with jinja2

    drawn = {
        "gains": gains_figure(summary),
        "comparison": comparison_figure(summary),
        "seen": seen_figure(summary),
        "strength": strength_figure(summary),
        "systems": systems_figure(summary),
        "spectrum": spectrum_figure(summary),
        "drift": drift_figure(summary.drift),
        "learning": learning_figure(summary.learning, measure=summary.measure),
    }
    # Not to be escaped again: matplotlib and ElementTree escape what they write.
    return {name: Markup(svg) for name, svg in drawn.items()}  # noqa: S704 - the line above


def _derived(summary: FitSummary) -> dict[str, Any]:
    """What the page says of the summary in other words: sorted, counted, picked out."""
    helped, unchanged, hurt = tally(summary.per_query)
    rows, steps = sort_gains(summary.per_query), next_steps(summary)
    return {
        "crowded": len({c.name for c in summary.candidates if (c.strength or 0) > 0}) > BANDS,
        "bands": bands(summary.per_query),
        "rescues": rescues(summary.per_query),
        "expected": expected(summary),
        "few": _words.FEW,
        "glossary": GLOSSARY,
        "sections": _sections(summary),
        "spread": spread_words(summary.operator.singular_values) if summary.operator else "",
        "memory": memory(summary),
        "steps": steps,
        "vectors": [name for name in ("queries", "others", "docs") if any(f"{name}.npy" in s.command for s in steps)],
        "unalike": unalike(summary),
        "rows": _ends(rows),
        "left_out": max(0, len(rows) - _ROWS),
        "helped": helped,
        "unchanged": unchanged,
        "hurt": hurt,
        "cases": [
            (heading, found[:_CASES], tied(found[:_CASES], summary.per_query))
            for heading, found in (("Most helped", summary.helped), ("Most hurt", summary.hurt))
        ],
        "seen": seen_rows(summary),
        "meanings": MEANINGS,
        "prior": next((c for c in summary.candidates if c.strength is None), None),
        "best": next((c for c in summary.candidates if c.chosen), None),
        "findings": sorted(summary.findings, key=_gravity),
    }


def _sections(summary: FitSummary) -> list[tuple[str, str]]:
    """Anchors and short names of the sections that the page has, in its order."""
    compared = bool(summary.comparisons) and summary.tried
    there = [
        ("systems", "which system", summary.systems is not None),
        ("expect", "what to expect", bool(expected(summary))),
        ("next", "what to do next", True),
        ("queries", "who gains", bool(summary.per_query)),
        ("compared", "base and adapted", compared),
        ("seen", "seen or new", compared and len(seen_rows(summary)) > 1),
        ("elsewhere", "other data", bool(summary.elsewhere)),
        ("strength-chosen", "strength", bool(summary.candidates)),
        ("labels", "more labels", summary.learning is not None),
        ("thresholds", "thresholds", summary.drift is not None),
        ("cases", "single queries", bool(summary.helped or summary.hurt)),
        ("data", "the data", True),
        ("again", "to get this again", True),
        ("operator", "the correction", True),
        ("words", "words", True),
    ]
    return [(anchor, name) for anchor, name, shown in there if shown]


def _ends(rows: list[QueryGain]) -> list[tuple[int, QueryGain]]:
    placed = list(enumerate(rows, start=1))
    half = _ROWS // 2
    return placed if len(placed) <= _ROWS else placed[:half] + placed[-half:]


def _gravity(finding: HealthFinding) -> bool:
    return finding.level != "warning"
