"""A fit, summed up once in plain values and rendered as HTML, Markdown or JSON strings.

Nothing here opens or writes a file: the caller does. matplotlib and jinja2 are imported when first used.
"""

from askew.report.cases import Move, NearestLabel, QueryCase, QueryGain, RankedDocument
from askew.report.curves import Mark, Series, curves_figure, drift_figure, learning_figure
from askew.report.figures import comparison_figure, gains_figure, spectrum_figure, strength_figure
from askew.report.html import render_html
from askew.report.jsonout import render_json
from askew.report.markdown import render_markdown
from askew.report.seen import seen_figure
from askew.report.summary import (
    Candidate,
    Chosen,
    Comparison,
    Drift,
    DriftRow,
    FitSummary,
    Geometry,
    HealthFinding,
    Learning,
    LearningPoint,
    OperatorFacts,
    Reproduction,
    Verdict,
)
from askew.report.systems import SearchSystem, Systems, SystemTest, systems_figure

__all__ = [
    "Candidate",
    "Chosen",
    "Comparison",
    "Drift",
    "DriftRow",
    "FitSummary",
    "Geometry",
    "HealthFinding",
    "Learning",
    "LearningPoint",
    "Mark",
    "Move",
    "NearestLabel",
    "OperatorFacts",
    "QueryCase",
    "QueryGain",
    "RankedDocument",
    "Reproduction",
    "SearchSystem",
    "Series",
    "SystemTest",
    "Systems",
    "Verdict",
    "comparison_figure",
    "curves_figure",
    "drift_figure",
    "gains_figure",
    "learning_figure",
    "render_html",
    "render_json",
    "render_markdown",
    "seen_figure",
    "spectrum_figure",
    "strength_figure",
    "systems_figure",
]
