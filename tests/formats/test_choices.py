"""Choices: read by split, and every bad line named."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.errors import FormatError
from askew.formats import read_choices

HEAD = "split\tquery-id\tpositives\tnegatives\n"
DATA = Path(__file__).parents[3] / "shared" / "data"


def test_they_come_by_split_and_query(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(f"{HEAD}train\tq\ta|b|a\tc\n\ntest\tq\ta\tc|d\n")
    assert read_choices(tmp_path / "pairs.tsv") == {
        "train": {"q": (("a", "b"), ("c",))},
        "test": {"q": (("a",), ("c", "d"))},
    }


@pytest.mark.parametrize(
    "line",
    ["train\tq\ta", "train\tq\t\tb", "train\tq\ta\t|", "train\t\ta\tb", "train\tq\ta\ta", "train\tq\ta\tb\nx\ty\tz"],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "pairs.tsv").write_text(HEAD + line)
    with pytest.raises(FormatError, match=rf"pairs\.tsv, line {2 + line.count(chr(10))}"):
        read_choices(tmp_path / "pairs.tsv")


def test_a_query_twice_and_other_columns_are_refused(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text(f"{HEAD}train\tq\ta\tb\ntrain\tq\tc\td\n")
    with pytest.raises(FormatError, match="line 3"):
        read_choices(tmp_path / "pairs.tsv")
    (tmp_path / "pairs.tsv").write_text("query\tdoc\n")
    with pytest.raises(FormatError, match="does not name the columns"):
        read_choices(tmp_path / "pairs.tsv")


@pytest.mark.parametrize(("name", "test"), [("semantoneg", 1569), ("condaqa-neg", 1540)])
def test_the_sets_of_negation_are_read(name: str, test: int) -> None:
    path = DATA / name / "pairs.tsv"
    if not path.is_file():
        pytest.skip(f"no {name} beside the project")
    assert len(read_choices(path)["test"]) == test
