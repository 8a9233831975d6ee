"""The figures: XML, of bounded size, with shapes that have the extents of the numbers given."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest

from askew.report import (
    Candidate,
    FitSummary,
    OperatorFacts,
    QueryGain,
    comparison_figure,
    gains_figure,
    seen_figure,
    spectrum_figure,
    strength_figure,
)

Figure = Callable[[FitSummary], str]
FIGURES: tuple[Figure, ...] = (gains_figure, comparison_figure, strength_figure, spectrum_figure, seen_figure)
_SVG = "{http://www.w3.org/2000/svg}"


def marked(svg: str, mark: str) -> list[tuple[float, float]]:
    """The points of the path that bears a mark, y upwards."""
    group = next(part for part in ET.fromstring(svg).iter() if part.get("id", "").endswith(f"-mark-{mark}"))
    path = next(group.iter(f"{_SVG}path"))
    numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.attrib["d"])]
    return [(x, -y) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def extent(points: list[tuple[float, float]], axis: int) -> float:
    values = [point[axis] for point in points]
    return max(values) - min(values)


def with_gains(summary: FitSummary, gains: list[float]) -> FitSummary:
    queries = (QueryGain(query_id=f"q{i}", text="", base=0.5, adapted=0.5 + g) for i, g in enumerate(gains))
    return dataclasses.replace(summary, per_query=tuple(queries))


@pytest.mark.parametrize("draw", FIGURES)
def test_a_figure_is_xml_of_its_own_names_colours_and_words(full: FitSummary, draw: Figure) -> None:
    svg = draw(full)
    root = ET.fromstring(svg)
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    name = ids[0].removesuffix("-title")
    assert root.tag == f"{_SVG}svg"
    assert root.get("role") == "img"
    assert root.get("aria-labelledby") == f"{name}-title {name}-desc"
    assert all(found.startswith(f"{name}-") for found in ids)
    assert len(set(ids)) == len(ids)
    assert set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg)) <= set(ids)
    assert "currentColor" in svg
    assert not re.search("a5e00|DejaVu|<style|<metadata|<image|black|#000000", svg)
    assert all(element.text for element in root.iter(f"{_SVG}text"))


def test_no_two_figures_share_an_id(full: FitSummary) -> None:
    ids = [found for draw in FIGURES for found in re.findall(r'\bid="([^"]+)"', draw(full))]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("draw", FIGURES)
def test_equal_summaries_give_equal_bytes_whatever_the_users_style(full: FitSummary, draw: Figure) -> None:
    before = draw(full)
    with mpl.rc_context({"lines.linewidth": 9, "font.size": 30, "text.usetex": True}):
        assert draw(FitSummary.from_json(full.to_json())) == before
        assert mpl.rcParams["font.size"] == 30
    assert mpl.rcParams["svg.fonttype"] != "none"


def test_the_gains_have_the_extents_of_the_numbers(full: FitSummary) -> None:
    gains = [0.4, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0, -0.05, -0.2, -0.25]
    svg = gains_figure(with_gains(full, gains))
    helped, hurt = marked(svg, "helped"), marked(svg, "hurt")
    assert extent(helped, 1) / extent(hurt, 1) == pytest.approx(0.4 / 0.25, rel=1e-4)
    assert extent(helped, 0) == pytest.approx(extent(hurt, 0), rel=1e-4)  # three queries each
    gap = min(x for x, _ in hurt) - max(x for x, _ in helped)
    assert gap / extent(helped, 0) == pytest.approx(4 / 3, rel=1e-4)


def test_many_queries_keep_the_area_and_the_extremes(full: FitSummary) -> None:
    gains = [gain for query in full.per_query if (gain := query.gain) > 1e-9]
    drawn = marked(gains_figure(full), "helped")
    heights = [(x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(drawn)]
    base = min(y for _, y in drawn)
    area = sum(heights) - base * extent(drawn, 0)
    # Area over the box that holds it is mean over maximum; the steps round by 1/500 of the range at most.
    assert area / (extent(drawn, 0) * extent(drawn, 1)) == pytest.approx(
        sum(gains) / len(gains) / max(gains), abs=0.005
    )


@pytest.mark.parametrize("n", [1_200, 5_000])
def test_the_picture_of_many_queries_is_small(make_summary: Any, n: int) -> None:
    summary = make_summary(n)
    assert len(gains_figure(summary)) < 40_000


def test_the_gains_are_told_in_words(full: FitSummary) -> None:
    svg = gains_figure(with_gains(full, [0.5, 0.0, 1e-12, -0.25]))
    for words in ("1 helped", "2 unchanged", "1 hurt", "from +0.5000 to −0.2500", "gain in nDCG@10"):
        assert words in svg


@pytest.mark.parametrize("gains", [[0.2], [-0.2], [0.0], [0.0] * 40, [0.3] * 40, [-0.3] * 40])
def test_degenerate_gains_are_drawn(full: FitSummary, gains: list[float]) -> None:
    svg = gains_figure(with_gains(full, gains))
    ET.fromstring(svg)
    assert "nan" not in svg


def test_the_bars_stand_to_each_other_as_the_means(full: FitSummary) -> None:
    svg = comparison_figure(full)
    first = full.comparisons[0]
    ratio = extent(marked(svg, "base"), 0) / extent(marked(svg, "adapted"), 0)
    assert ratio == pytest.approx(first.base / first.adapted, rel=1e-4)
    for words in ("0.3231", "0.3442", "+0.0211", "95\xa0% interval +0.0143 to +0.0281", "headroom, 0.6769"):
        assert words in svg


@pytest.mark.parametrize(
    "values",
    [
        {"base": 0.0, "adapted": 0.0, "difference": 0.0, "low": 0.0, "high": 0.0, "headroom": 0.0},
        {"base": 1.0, "adapted": 1.0, "difference": 0.0, "low": 0.0, "high": 0.0, "headroom": 0.0},
        {"base": 0.98, "adapted": 0.9, "difference": -0.08, "low": -0.1, "high": -0.06, "headroom": 0.02},
    ],
)
def test_degenerate_comparisons_are_drawn(full: FitSummary, values: dict[str, float]) -> None:
    row = dataclasses.replace(full.comparisons[0], **values)  # type: ignore[arg-type]
    ET.fromstring(comparison_figure(dataclasses.replace(full, comparisons=(row,))))


def test_the_ring_and_the_priors_line_stand_at_their_scores(full: FitSummary) -> None:
    svg = strength_figure(full)
    (_, prior), *_ = marked(svg, "prior")
    ring = next(e for e in ET.fromstring(svg).iter() if e.get("id") == "strength-mark-chosen")
    chosen = -float(next(ring.iter(f"{_SVG}use")).attrib["y"])
    ticks = [(float(t.attrib["y"]), float(t.text or "")) for t in ET.fromstring(svg).iter(f"{_SVG}text")
             if re.fullmatch(r"0\.[23]\d", t.text or "")]  # fmt: skip
    scale = (ticks[0][0] - ticks[-1][0]) / (ticks[-1][1] - ticks[0][1])
    best = next(c for c in full.candidates if c.chosen)
    assert (chosen - prior) / scale == pytest.approx(best.mean - full.candidates[0].mean, rel=1e-3)


def test_the_level_lies_one_standard_error_below_the_best(full: FitSummary) -> None:
    svg = strength_figure(full)
    level, prior = marked(svg, "level")[0][1], marked(svg, "prior")[0][1]
    best = max(full.candidates, key=lambda candidate: candidate.mean)
    ring = next(e for e in ET.fromstring(svg).iter() if e.get("id") == "strength-mark-chosen")
    top = -float(next(ring.iter(f"{_SVG}use")).attrib["y"])
    assert best.chosen
    share = best.standard_error / (best.mean - full.candidates[0].mean)
    assert (top - level) / (top - prior) == pytest.approx(share, rel=1e-3)
    assert "best less 1 std. error" in svg


@pytest.mark.parametrize(
    ("strengths", "labels"),
    [
        ((0.001, 0.00464, 0.01, 0.0215, 0.1), ["0.001", "0.01", "0.1"]),
        ((0.00464, 0.01, 0.0215, 0.1, 0.464), ["0.01", "0.1"]),
        ((2.0, 3.0, 8.0), ["2", "3", "8"]),  # a decade holds all of them
        ((0.5, 1.0, 3.0), ["0.5", "1", "3"]),
        ((1e-9, 1e9), ["1e-09", "1e-06", "0.001", "1", "1000", "1e+06", "1e+09"]),
    ],
)
def test_strengths_are_labelled_at_decades(full: FitSummary, strengths: tuple[float, ...], labels: list[str]) -> None:
    points = tuple(Candidate(name="x", strength=s, mean=0.3, standard_error=0.01) for s in strengths)
    svg = strength_figure(dataclasses.replace(full, candidates=points))
    shown = [text.text for text in ET.fromstring(svg).iter(f"{_SVG}text")]
    assert shown[: shown.index("strength of the pull towards the base")] == labels


def test_seen_and_unseen_stand_at_their_means(full: FitSummary) -> None:
    svg = seen_figure(full)
    root = ET.fromstring(svg)

    def across(mark: str) -> float:
        group = next(part for part in root.iter() if part.get("id") == f"seen-mark-{mark}")
        return float(next(group.iter(f"{_SVG}use")).attrib["x"])

    whole, unseen, negatives = full.comparisons
    scale = (across("adapted-0") - across("base-0")) / whole.difference
    for place, row in enumerate((whole, unseen, negatives)):
        assert (across(f"base-{place}") - across("base-0")) / scale == pytest.approx(row.base - whole.base, abs=1e-5)
        assert (across(f"adapted-{place}") - across("base-0")) / scale == pytest.approx(
            row.adapted - whole.base, abs=1e-5
        )
    for words in ("all, 1,200 queries", "unseen, 1,200 queries", "negative only, 1,200 queries"):
        assert words in svg


def test_few_queries_and_other_systems_are_not_judged_as_seen(full: FitSummary) -> None:
    whole, unseen, _ = full.comparisons
    few = dataclasses.replace(unseen, n=49)
    assert "unseen, 49 queries: too few to judge" in seen_figure(dataclasses.replace(full, comparisons=(whole, few)))
    other = dataclasses.replace(unseen, system="nearest past query")
    recall = dataclasses.replace(unseen, measure="R@100")
    assert seen_figure(dataclasses.replace(full, comparisons=(whole, other, recall))) == ""


def test_the_path_takes_odd_candidates(full: FitSummary) -> None:
    odd = ("$x^2", "_hidden", "日本語", "a" * 200, "<b>", "x", "y", "z")
    points = (Candidate(name=name, strength=2**i, mean=0.3, standard_error=0.0) for i, name in enumerate(odd))
    zero = Candidate(name="x", strength=0.0, mean=0.3, standard_error=0.01)
    svg = strength_figure(dataclasses.replace(full, candidates=(*points, zero)))
    ET.fromstring(svg)
    assert "$x^2" in svg
    assert "&lt;b&gt;" in svg
    assert "candidate 3" in svg


def test_a_chosen_prior_is_named(full: FitSummary) -> None:
    prior = dataclasses.replace(full.candidates[0], chosen=True)
    rest = [dataclasses.replace(c, chosen=False) for c in full.candidates[1:]]
    svg = strength_figure(dataclasses.replace(full, candidates=(prior, *rest)))
    assert "base (chosen)" in svg
    assert "mark-chosen" not in svg


@pytest.mark.parametrize("n", [1, 2, 60, 61, 256])
def test_singular_values_stand_to_each_other_as_given(full: FitSummary, n: int) -> None:
    values = tuple(0.95**place for place in range(n))
    svg = spectrum_figure(dataclasses.replace(full, operator=OperatorFacts(singular_values=values)))
    heights = [y for _, y in marked(svg, "values")]
    floor = min(heights)
    assert (heights[-3] - floor) / (max(heights) - floor) == pytest.approx(values[-1] / values[0], abs=1e-4)


def test_nothing_to_draw_is_an_empty_string(make_summary: Any) -> None:
    empty = make_summary(0, comparisons=(), candidates=(), operator=None)
    assert [draw(empty) for draw in FIGURES] == [""] * len(FIGURES)
    assert strength_figure(make_summary(0, candidates=make_summary(0).candidates[:1])) == ""
    assert spectrum_figure(make_summary(0, operator=OperatorFacts(singular_values=()))) == ""


def test_a_zero_operator_is_drawn(full: FitSummary) -> None:
    nothing = OperatorFacts(singular_values=(0.0, 0.0))
    ET.fromstring(spectrum_figure(dataclasses.replace(full, operator=nothing)))
