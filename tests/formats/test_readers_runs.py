"""Runs in TREC's format."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from askew.data import Run
from askew.errors import FormatError, OutputError
from askew.formats import read_run, run_lines, write_run

GOOD = {
    "in-order": "q1 Q0 a 1 2.0 tag\nq1 Q0 b 2 1.0 tag\nq2 Q0 c 1 -0.5 tag\n",
    "tabs": "q1\tQ0\ta\t1\t2\ttag\nq1\tQ0\tb\t2\t1\ttag\nq2\tQ0\tc\t1\t-5e-1\ttag\n",
    "mixed-blanks": " q1 Q0\ta 1  2.0\ttag \n\nq1 Q0 b 2 1.0 tag\nq2 Q0 c 1 -.5 tag",
    "ranks-are-ignored": "q1 Q0 a 9 2.0 tag\nq1 Q0 b x 1.0 other\nq2 Q0 c 0 -0.5 tag\n",
    "iteration-is-ignored": "q1 0 a 1 2.0 tag\nq1 0 b 2 1.0 tag\nq2 0 c 1 -0.5 tag\n",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD.keys())
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_read(tmp_path: Path, text: str, ending: str) -> None:
    file = tmp_path / "a.run"
    file.write_bytes(text.replace("\n", ending).encode())
    run = read_run(file)
    assert run.queries == ("q1", "q2")
    assert run.documents("q1") == ("a", "b")
    assert run.scores("q1").tolist() == [2.0, 1.0]
    assert run.scores("q2").tolist() == [-0.5]
    assert run.name == "tag"


def test_the_order_of_lines_does_not_matter(tmp_path: Path) -> None:
    lines = ["q1 Q0 a 1 3 t", "q1 Q0 c 2 1 t", "q1 Q0 b 3 1 t", "q2 Q0 z 1 1 t"]
    rankings = []
    for order in ([0, 1, 2, 3], [2, 3, 1, 0]):
        (tmp_path / "a.run").write_text("\n".join(lines[place] for place in order))
        run = read_run(tmp_path / "a.run")
        rankings.append({query: run.documents(query) for query in run.queries})
    assert rankings[0] == rankings[1] == {"q1": ("a", "b", "c"), "q2": ("z",)}


BAD = {
    "five-columns": ("q Q0 a 1 1.0 t\nq Q0 b 2 1.0\n", 2, "has 5 columns"),
    "seven-columns": ("q Q0 a b 1 1.0 t\n", 1, "has 7 columns"),
    "one-column": ("q\n", 1, "has 1 column"),
    "nan": ("q Q0 a 1 1.0 t\n\nq Q0 b 2 NaN t\n", 3, "is NaN"),
    "score-word": ("q Q0 a 1 best t\n", 1, "'best' is not a number"),
    "twice": ("q Q0 a 1 2 t\nr Q0 a 1 2 t\nq Q0 a 2 1 t\n", 3, "'a' stands twice for query 'q'"),
    "header": ("qid Q0 docid rank score tag\nq Q0 a 1 1 t\n", 1, "'score' is not a number"),
}


@pytest.mark.parametrize(("text", "line", "words"), BAD.values(), ids=BAD.keys())
def test_refuse(tmp_path: Path, text: str, line: int, words: str) -> None:
    file = tmp_path / "a.run"
    file.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_run(file)
    assert caught.value.where == f"{file}:{line}"
    assert words in str(caught.value)
    assert caught.value.remedy


def test_empty(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("\n")
    with pytest.raises(FormatError, match="holds no ranking"):
        read_run(tmp_path / "a.run")


@pytest.mark.parametrize("name", ["a.run", "a.run.gz"])
def test_write_and_read_back(tmp_path: Path, name: str) -> None:
    scores = np.random.default_rng(3).standard_normal(50) * 10.0 ** np.arange(-25, 25)
    first: dict[object, float] = {f"d{place}": float(score) for place, score in enumerate(scores)}
    run = Run({"q1": first, "é": {"x": math.inf, "y": -math.inf, "z": 5e-324, "w": -0.0}}, name="mine")
    write_run(run, tmp_path / name)
    back = read_run(tmp_path / name)
    assert back.name == "mine"
    for (query, documents, values), (query2, documents2, values2) in zip(run.items(), back.items(), strict=True):
        assert (query, documents) == (query2, documents2)
        assert values.tobytes() == values2.tobytes()


def test_ranks_count_from_one_and_the_tag_has_no_blank(tmp_path: Path) -> None:
    write_run(Run({"q": {"a": 0.25, "b": 0.5}}, name="dual, r = 8"), tmp_path / "a.run")
    lines = (tmp_path / "a.run").read_text().splitlines()
    assert lines == ["q Q0 b 1 0.5 dual,_r_=_8", "q Q0 a 2 0.25 dual,_r_=_8"]


@pytest.mark.parametrize("name", ["a b", "a\tb", "a\n", "\u00a0", "\u2028", "\ud800", "\ufeffq", "a\0"], ids=ascii)
@pytest.mark.parametrize("side", ["query", "document"])
def test_an_id_that_trec_cannot_hold(tmp_path: Path, name: str, side: str) -> None:
    run = Run({name: {"d": 1.0}} if side == "query" else {"q": {name: 1.0}})
    with pytest.raises(OutputError, match="cannot be written"):
        write_run(run, tmp_path / "a.run")
    assert not list(tmp_path.iterdir())


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(OutputError):
        write_run(Run({"q": {"d": 1.0}}, name="\ud800"), tmp_path / "a.run")


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    run = Run({"q": {"a": 0.25, "b": 0.5}, "none": {}, "r": {"a": 1.0}})
    write_run(run, tmp_path / "a.run")
    assert (tmp_path / "a.run").read_text().splitlines() == run_lines(run)
    with pytest.raises(OutputError, match="stdout"):
        run_lines(Run({"q": {"a b": 1.0}}), where="stdout")


def test_an_empty_name_gets_one(tmp_path: Path) -> None:
    write_run(Run({"q": {"d": 1.0}}, name=""), tmp_path / "a.run")
    assert read_run(tmp_path / "a.run").name == "askew"
