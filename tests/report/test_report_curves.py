from __future__ import annotations

import re

import pytest

from askew.errors import ParameterError
from askew.report import Mark, Series, curves_figure


def draw(series: list[Series], **options: object) -> str:
    words = {"title": "Risk", "description": "Risk by labels.", "x_label": "labels", "y_label": "risk"}
    return curves_figure("risk", series, **{**words, **options})  # type: ignore[arg-type]


def test_every_series_and_mark_is_named_and_drawn() -> None:
    series = [Series(name="dual", x=[32, 64, 128], y=[3, 2, 1], low=[2, 1, 0], high=[4, 3, 2])]
    series += [
        Series(name="shared", x=[32, 64, 128], y=[1.0, 1.1, 1.2]),
        Series(name="seen", x=[64], y=[2]),
    ]
    svg = draw(series, marks=[Mark(text="crossing", x=70), Mark(text="null", y=0)], log_x=True)
    for word in ("dual", "shared", "seen", "crossing", "null", "labels", "risk", "Risk by labels."):
        assert f">{word}<" in svg
    assert len(re.findall('id="risk-mark-line-', svg)) == 3
    assert [tick for tick in ("32", "64", "128") if f">{tick}<" in svg] == ["32", "64", "128"]
    assert svg == draw(series, marks=[Mark(text="crossing", x=70), Mark(text="null", y=0)], log_x=True)


def test_nothing_to_draw_is_no_picture() -> None:
    assert not draw([])


def test_more_lines_than_can_be_told_apart_are_refused() -> None:
    with pytest.raises(ParameterError, match="7 lines"):
        draw([Series(name=str(row), x=[1, 2], y=[row, row]) for row in range(7)])


def test_a_name_cannot_break_the_picture() -> None:
    svg = draw([Series(name="<script>$x$ & more", x=[1, 2], y=[0, 1])])
    assert "<script>" not in svg
    assert "&lt;script&gt;$x$ &amp; more" in svg
