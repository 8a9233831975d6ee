"""Several systems in one report: drawn, told, and kept apart from what a test says of them."""

from __future__ import annotations

import dataclasses
import html
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from askew.report import FitSummary, SearchSystem, Systems, render_html, render_json, render_markdown, systems_figure
from askew.report.advice import next_steps

_SVG = "{http://www.w3.org/2000/svg}"


def systems_of(summary: FitSummary) -> Systems:
    assert summary.systems is not None
    return summary.systems


def with_rows(summary: FitSummary, *rows: SearchSystem, **changes: Any) -> FitSummary:
    return dataclasses.replace(summary, systems=dataclasses.replace(systems_of(summary), rows=rows, **changes))


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def section(summary: FitSummary) -> str:
    page = render_html(summary)
    start = page.index('<h2 id="systems">')
    return words(page[start : page.index("</section>", start)])


def test_every_system_has_a_row_of_its_numbers(several: FitSummary) -> None:
    told, text = section(several), render_markdown(several)
    assert systems_of(several).sentence in told
    row = "aligned recommended written 0.3410 0.3770 +0.0330 0.0090 adapt big <1> softmax of aligned the cost of"
    assert row in told
    assert "fused 0.3230 0.3810 +0.0370 0.0120 adapt static-256 + big <1> softmax of fused" in told
    assert r"Aligned is recommended &lt;&amp;&gt;: it leads by +0.0330." in text
    numbers = "0.3410 | 0.3770 | +0.0330 | 0.0090 |"
    named = r"| aligned (recommended) (written) | big &lt;1&gt; | softmax of aligned | adapt | the cost of aligned |"
    assert f"{named} {numbers}" in text
    assert systems_of(FitSummary.from_json(several.to_json())) == systems_of(several)
    assert '"systems"' in render_json(several)


def test_the_test_stands_apart_and_has_its_reference(several: FitSummary) -> None:
    told, text = section(several), render_markdown(several)
    before, _, after = told.partition("The same systems on the test queries")
    assert "0.3770" in before
    assert "0.3770" not in after
    assert "document encoder alone all 0.3200 – – 300" in after
    assert "aligned all 0.3600 +0.0400 +0.0250 to +0.0550 300" in after
    assert "fused (under 50 queries: too few to judge) unseen 0.3700" in after
    assert "took no part in the recommendation" in after
    assert "| document encoder alone | all | 0.3200 | – | – | 300 |" in text
    assert "| fused (under 50 queries) | unseen | 0.3700 | +0.0500 | +0.0350 to +0.0650 | 49 |" in text
    bare = with_rows(several, *systems_of(several).rows, tests=())
    assert "on the test queries" not in section(bare)
    assert "the recommendation does not go by it" not in render_markdown(bare)


def test_marks_stand_at_the_means_and_the_line_at_the_cheapest(several: FitSummary) -> None:
    root = ET.fromstring(systems_figure(several))

    def across(mark: str) -> float:
        group = next(part for part in root.iter() if part.get("id") == f"systems-mark-{mark}")
        use = next(group.iter(f"{_SVG}use"), None)
        if use is not None:
            return float(use.attrib["x"])
        return float(re.findall(r"-?[\d.]+", next(group.iter(f"{_SVG}path")).attrib["d"])[0])

    rows = systems_of(several).rows
    assert rows[0].base is not None
    assert rows[0].ships is not None
    scale = (across("ships-0") - across("base-0")) / (rows[0].ships - rows[0].base)
    for place, row in enumerate(rows):
        assert row.base is not None
        assert row.ships is not None
        assert (across(f"base-{place}") - across("base-0")) / scale == pytest.approx(row.base - rows[0].base, abs=1e-5)
        assert (across(f"ships-{place}") - across("base-0")) / scale == pytest.approx(
            row.ships - rows[0].base, abs=1e-5
        )
    assert across("cheapest") == pytest.approx(across("ships-0"), abs=1e-3)
    texts = [text.text for text in root.iter(f"{_SVG}text")]
    assert {"aligned, recommended", "cheapest", "+0.0330", "fused"} <= set(texts)


def test_one_system_or_none_measured_is_not_drawn(several: FitSummary, full: FitSummary) -> None:
    first, second, _ = systems_of(several).rows
    assert systems_figure(full) == ""
    assert systems_figure(with_rows(several, first)) == ""
    nothing: dict[str, Any] = dict.fromkeys(("base", "ships", "lead", "standard_error"))
    unmeasured = (dataclasses.replace(row, **nothing) for row in (first, second))
    bare = with_rows(several, *unmeasured)
    assert systems_figure(bare) == ""
    assert "document encoder – – – – adapt" in section(bare)
    for text in (words(render_html(full)), render_markdown(full)):
        assert "Which system to use" not in text


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "$x^2|`*", "\u202eevil\x00", "x" * 2_000, ""])
def test_hostile_strings_are_shown_and_never_acted_on(several: FitSummary, text: str) -> None:
    rows = (
        dataclasses.replace(row, name=text, needs=text, cost=text, shipped=text) for row in systems_of(several).rows
    )
    tests = (dataclasses.replace(row, name=text, documents=text) for row in systems_of(several).tests)
    wild = with_rows(several, *rows, sentence=text, measure=text, tested_by=text, tests=tuple(tests))
    page, prose = render_html(wild), render_markdown(wild)
    assert "<script" not in page
    assert "<script" not in prose
    assert "\x00" not in page + prose
    ET.fromstring(re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)[0])


def test_what_to_do_next_goes_by_what_was_written(several: FitSummary, untested: FitSummary) -> None:
    old, aligned, fused = (dataclasses.replace(row, written=True) for row in systems_of(several).rows)
    steps = next_steps(with_rows(several, fused))
    assert steps[0].command == "askew apply adapter queries.npy --second-queries others.npy -o adapted.npy"
    assert "--second-queries others.npy" in steps[1].command
    assert "by static-256 + big <1>" in steps[0].words
    assert "others.npy (the second encoder's)" in words(render_html(with_rows(several, fused)))
    kept = dataclasses.replace(untested, systems=several.systems)
    assert next_steps(with_rows(kept, aligned))[0].command == "askew apply adapter queries.npy -o adapted.npy"
    assert next_steps(with_rows(kept, old))[0].command == ""
    page = words(render_html(with_rows(kept, aligned)))
    assert "This is the verdict on aligned , the system that was written" in page
    assert "queries.npy and docs.npy stand for" in page
