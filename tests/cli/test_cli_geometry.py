"""`select` and `plan` at the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

Askew = Callable[..., Any]


@pytest.mark.parametrize("command", ["select", "plan"])
def test_prose_fits_in_80_columns_and_json_says_the_same(
    turned: Any, askew: Askew, tmp_path: Path, command: str
) -> None:
    figure = tmp_path / "made" / "curve.svg"
    options = [command, turned.root, "--rank", 4, "--rank", 8, "--figure", figure, "--seed", 1]
    prose, told = askew(*options), askew(*options, "--json").json()
    assert (prose.code, prose.err) == (0, "")
    table = [
        line for line in prose.out.splitlines() if not line.startswith(("figure", "  ", "Adapting", "The curve is"))
    ]
    assert all(len(line) <= 80 for line in table)
    assert prose.out.startswith("120 labelled queries, 300 documents, ")
    assert prose.out.endswith(f"\nfigure: {figure}\n")
    assert told["figure"] == str(figure)
    assert ET.parse(figure).getroot().tag.endswith("svg")
    assert told["queries"] == 120


def test_turned_queries_ask_for_two_geometries(turned: Any, askew: Askew) -> None:
    found = askew("select", turned.root, "--rank", 24, "--json").json()
    assert [answer["choice"] for answer in found["recommendations"]] == ["dual", "dual"]
    assert found["figure"] is None
    prose = askew("select", turned.root, "--rank", 24)
    assert "\noperator risk: dual (rank 24)\n" in prose.out
    assert "\nranking: dual (rank 24)\n" in prose.out
    assert "The two targets differ" not in prose.out


def test_partly_shared_fits_are_tried_on_request(turned: Any, askew: Askew) -> None:
    options = ["select", turned.root, "--rank", 2, "--rank", 4, "--partial"]
    prose, form = askew(*options).out, askew(*options, "--json").json()["form"]
    assert "rank  shared  25% untied  50% untied  75% untied    dual" in prose
    assert len([row for row in form["table"] if row["rank"] == 2]) == 3
    assert f"\nseparation: {form['family']}" in prose
    assert f"(rank {form['rank']}" in prose
    assert f"  {form['reason']}.\n" in prose
    assert "the best partly shared fit (" in form["reason"]
    assert all(len(line) <= 80 for line in prose.splitlines() if not line.startswith("  "))
    assert askew("select", turned.root, "--rank", 4, "--json").json()["form"] is None


def test_evidence_inside_the_noise_is_an_answer(straight: Any, askew: Askew) -> None:
    said = askew("select", straight.root, "--rank", 8, "--labels", 40)
    assert said.code == 0
    assert "shared, not settled (rank 8)" in said.out
    assert "shared ~" in said.out
    assert "inside the noise: shared, the smaller family" in said.out


def test_too_few_labels_for_an_error_settle_nothing(turned: Any, askew: Askew) -> None:
    options = ["select", turned.root, "--rank", 2, "--labels", 8]
    told, prose = askew(*options, "--json").json(), askew(*options).out
    unknown = [one for rule in told["evidence"] if rule["rule"] != "CARS" for one in rule["selections"]]
    assert all((one["choice"], one["standard_error"]) == ("shared", None) for one in unknown)
    assert "ranking: shared, not settled (rank 2)" in prose
    assert "separation says shared, too few queries for an error" in prose
    assert prose.count(" shared ~\n") >= 3
    assert "Where there is no interval, queries are too few for an error." in prose


def test_a_plan_without_a_crossing_has_no_interval(straight: Any, askew: Askew) -> None:
    said = askew("plan", straight.root, "--rank", 2, "--labels", 8).out
    row = next(line for line in said.splitlines() if "no crossing in sight" in line)
    assert row.split() == ["2", "-", "-", "no", "crossing", "in", "sight"]


def test_four_queries_are_said_to_be_too_few_to_see_a_crossing(turned: Any, askew: Askew) -> None:
    said = askew("plan", turned.root, "--rank", 2, "--labels", 4)
    assert "\n4 queries are too few to see a crossing.\n" in said.out


def test_the_curve_of_a_plan_is_named_and_its_intervals_are_of_one_level(turned: Any, askew: Askew) -> None:
    prose, told = askew("plan", turned.root, "--rank", 4).out, askew("plan", turned.root, "--rank", 4, "--json").json()
    head = next(line for line in prose.splitlines() if line.startswith("labels"))
    assert "95% interval" in head
    assert "95% interval" in told["reason"]
    assert f"\n{told['note']}.\n" in prose
    twice = next(row for row in told["gain"]["forecast"] if row["labels"] == 240)
    assert f"[{twice['low']:+.4f}, {twice['high']:+.4f}]" in prose


def test_the_coordinates_are_named(turned: Any, askew: Askew) -> None:
    for options, name in (
        (["--whitening", "pooled"], "pooled whitening"),
        (["--residual", "--by-document"], "raw coordinates, about the base, no document on both sides of a split"),
    ):
        assert askew("select", turned.root, "--rank", 4, "--labels", 30, *options).out.splitlines()[1] == name
    said = askew("select", turned.root, "--rank", 4, "--labels", 30, "--whitening", "per-view")
    assert "warning: each view was whitened by itself" in said.err
    quiet = askew("select", turned.root, "--rank", 4, "--labels", 30, "--whitening", "per-view", "-q")
    assert quiet.err == ""


def test_few_labels_make_no_figure_of_a_plan(turned: Any, askew: Askew, tmp_path: Path) -> None:
    said = askew("plan", turned.root, "--rank", 4, "--labels", 30, "--figure", tmp_path / "a.svg")
    assert said.code == 0
    assert "30 labels give 1 of the 3 points that a learning curve takes" in said.out
    assert said.out.endswith(
        "No figure: 30 labels give 1 of the 3 points that a learning curve takes: label at least 64.\n"
    )
    assert not (tmp_path / "a.svg").exists()
    assert askew("plan", turned.root, "--rank", 4, "--labels", 30, "--json").json()["gain"] is None


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("select {data} --rank 25", 2, "ranks (25,) are not all between 1 and 24"),
        ("plan {data} --rank 25", 2, "none above the dimension 24"),
        ("select {data} --labels 3", 3, "3 rows make 3 queries ~ at least 5 different queries"),
        ("select {data} --labels 4", 3, "4 rows make 4 queries ~ at least 5 different queries"),
        ("plan {data} --labels 3", 3, "3 rows make 3 queries ~ at least 4 different queries"),
        ("select {data} --split nowhere", 2, "there is no split 'nowhere'"),
        ("select {data} --whitening pooled --residual", 2, "base is no identity ~ Leave out one"),
        ("select {data} --figure {data}", 2, "End its name in .svg"),
        ("plan {data} --figure {docs}/a.svg", 6, "is not a folder"),
        ("plan {data} --figure a.png", 2, "no figure is drawn as .png ~ End its name in .svg"),
        ("select {data} --figure a", 2, "no figure is drawn as a name without an ending"),
        ("select {data} --whitening white", 2, "white"),
    ],
)
def test_refused(refuses: Callable[[str, int, str], None], command: str, code: int, says: str) -> None:
    refuses(command, code, says)


@pytest.mark.parametrize("command", ["select", "plan"])
def test_the_remedy_for_equal_queries_fits_the_mode(task: Any, askew: Askew, command: str) -> None:
    vectors = np.load(task.queries)
    for equal, says in ((36, "leave out what hangs together"), (40, "different queries")):
        vectors[:equal] = vectors[0]
        task.embed("queries", vectors)
        task.judge("train", [(f"q{row}", f"d{row}", 1) for row in range(40)])
        apart = askew(command, task.root, "--rank", 2).refused(3)
        assert "documents" not in apart
        together = askew(command, task.root, "--rank", 2, "--by-document").refused(3)
        assert "et splits share documents" in together
        assert says in together


@pytest.mark.parametrize("command", ["select", "plan"])
def test_unequal_dimensions_have_nothing_to_choose(task: Any, askew: Askew, command: str) -> None:
    task.embed("queries", np.load(task.queries)[:, :12])
    message = askew(command, task.root).refused(3)
    assert "queries have 12 dimensions and documents 24" in message
    assert "there is nothing to choose" in message
