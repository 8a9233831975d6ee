"""The page as a browser shows it: visible words, and shapes where the screen has them.

The page allows no script, so a second page holds it in a frame and reads it from outside.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from askew.report import FitSummary, render_html

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--dump-dom")
_READER = """<!DOCTYPE html><meta charset="utf-8"><iframe width="{width}" height="4000" srcdoc="{page}"></iframe>
<pre id="told"></pre><script>
const middle = (part) => {{
  const box = part.getBoundingClientRect();
  return [box.x + box.width / 2, box.y + box.height / 2];
}};
addEventListener("load", () => {{
  const page = document.querySelector("iframe").contentDocument;
  const marks = {{}};
  for (const part of page.querySelectorAll("[id*='-mark-']")) marks[part.id] = middle(part);
  const words = {{}};
  for (const svg of page.querySelectorAll("svg"))
    words[svg.getAttribute("aria-labelledby").split("-title")[0]] =
      [...svg.querySelectorAll("text")].map((text) => [text.textContent, ...middle(text)]);
  const told = {{
    text: page.body.innerText, marks, words,
    ink: getComputedStyle(page.body).color,
    width: page.documentElement.scrollWidth,
    foreign: performance.getEntriesByType("resource").length,
  }};
  document.getElementById("told").textContent = JSON.stringify(told);
}});
</script>"""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium: apt-get install chromium")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """What a browser makes of a summary's page."""

    def show(summary: FitSummary, *flags: str, width: int = 1200) -> Any:
        folder = tmp_path_factory.mktemp("browser")
        reader = _READER.format(width=width, page=html.escape(render_html(summary)))
        (folder / "reader.html").write_text(reader, encoding="utf-8")
        command = [
            str(CHROMIUM),
            *_FLAGS,
            *flags,
            f"--user-data-dir={folder / 'profile'}",
            f"file://{folder}/reader.html",
        ]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=180, check=True)
        found = re.search(r'<pre id="told">(.+?)</pre>', done.stdout, flags=re.DOTALL)
        assert found, done.stderr[-2_000:]
        return json.loads(html.unescape(found[1]))

    return show


@pytest.fixture(scope="module")
def page(shown: Callable[..., Any], full: FitSummary) -> Any:
    return shown(full)


def number(text: str) -> float | None:
    """A tick's number; None for other words."""
    plain = text.replace("\N{MINUS SIGN}", "-")
    return float(plain) if re.fullmatch(r"-?[\d.]+", plain) else None


def axis(page: Any, figure: str, *, across: bool) -> Callable[[float], float]:
    """From a place on the screen to a number, by the labels that stand in line with most others."""
    ticks = [(value, x, y) for text, x, y in page["words"][figure] if (value := number(text)) is not None]
    groups = [round(y if across else x) for _, x, y in ticks]
    kept = [tick for tick, group in zip(ticks, groups, strict=True) if group == max(groups, key=groups.count)]
    values, places = [tick[0] for tick in kept], [tick[1 if across else 2] for tick in kept]
    assert len(kept) >= 3
    slope, start = np.polyfit(places, values, 1)
    return lambda place: float(slope * place + start)


def test_the_reader_sees_verdict_captions_and_closed_tables(page: Any, full: FitSummary) -> None:
    text = " ".join(page["text"].split())
    assert full.verdict.sentence in text
    assert "Blue above the line is helped, orange below it is hurt" in text
    assert "unseen: the same, with every document that was a right answer in training taken out" in text
    case = full.helped[0]
    assert case.move is not None
    assert case.move.sentence in text
    assert "Table: each query's gain" in text
    assert "The 2,000 queries" not in text
    assert not re.search(r"\bmark\b|undefined|NaN|None", text)


def test_drawn_numbers_are_the_summarys(page: Any, full: FitSummary) -> None:
    """Marks on the screen, mapped back through the labels of their axes, give the numbers again."""
    seen = axis(page, "seen", across=True)
    for place, row in enumerate(full.comparisons):
        for side, value in (("base", row.base), ("adapted", row.adapted)):
            assert seen(page["marks"][f"seen-mark-{side}-{place}"][0]) == pytest.approx(value, abs=3e-4)
    height = axis(page, "strength", across=False)
    best = max(candidate.mean for candidate in full.candidates)
    (error,) = {candidate.standard_error for candidate in full.candidates if candidate.mean == best}
    chosen = next(candidate for candidate in full.candidates if candidate.chosen)
    wanted = {"chosen": chosen.mean, "prior": full.candidates[0].mean, "level": best - error}
    for mark, value in wanted.items():
        assert height(page["marks"][f"strength-mark-{mark}"][1]) == pytest.approx(value, abs=1e-3)


@pytest.mark.parametrize("width", [1200, 390])
def test_several_systems_are_drawn_as_told_on_any_screen(
    shown: Callable[..., Any], several: FitSummary, width: int
) -> None:
    page = shown(several, width=width)
    assert page["width"] <= width
    assert several.systems is not None
    across = axis(page, "systems", across=True)
    for place, row in enumerate(several.systems.rows):
        for side, value in (("base", row.base), ("ships", row.ships)):
            assert across(page["marks"][f"systems-mark-{side}-{place}"][0]) == pytest.approx(value, abs=3e-4)
    text = " ".join(page["text"].split())
    assert several.systems.sentence in text
    assert text.index("Which system to use") < text.index("What to do next")


def test_nothing_is_fetched_and_a_phone_has_no_sideways_scroll(shown: Callable[..., Any], full: FitSummary) -> None:
    narrow = shown(full, "--blink-settings=preferredColorScheme=0", width=390)
    assert narrow["foreign"] == 0
    assert narrow["width"] <= 390
    assert full.verdict.sentence in " ".join(narrow["text"].split())


def test_a_dark_page_has_light_ink(shown: Callable[..., Any], page: Any, untested: FitSummary) -> None:
    dark = shown(untested, "--blink-settings=preferredColorScheme=0")
    inks = [sum(map(int, re.findall(r"\d+", found["ink"]))) for found in (page, dark)]
    assert inks[0] < 200
    assert inks[1] > 500
