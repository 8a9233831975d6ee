"""The summary as a JSON string."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from askew.report.summary import FitSummary

__all__ = ["render_json"]


def render_json(summary: FitSummary) -> str:
    """The whole summary as indented JSON in ASCII, which any encoding can write."""
    return json.dumps(summary.to_json(), indent=2, allow_nan=False) + "\n"
