from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from askew.data import take_shares
from askew.errors import AskewError, FormatError, LabelError, ParameterError
from askew.formats import list_mair, read_mair

QUERY = {"qid": "q1", "instruction": "Find it.", "query": "newts?", "labels": [{"id": "d1", "score": 2}]}
DOCUMENT = {"id": "d1", "doc": "They {swim}."}


def write(place: Path, queries: list[object], documents: list[object], prefix: str = "") -> None:
    place.mkdir(parents=True, exist_ok=True)
    for name, rows in (("queries", queries), ("docs", documents)):
        (place / f"{prefix}{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))


def test_tasks_at_any_depth_and_several_in_a_folder(tmp_path: Path) -> None:
    write(tmp_path / "IFEval", [QUERY], [DOCUMENT])
    write(tmp_path / "Legal" / "AILA", [QUERY], [DOCUMENT])
    for prefix in ("a_", "b_"):
        write(tmp_path / "SWE", [QUERY], [DOCUMENT], prefix)
    assert list_mair(tmp_path) == ("IFEval", "Legal/AILA", "SWE/a", "SWE/b")
    assert read_mair(tmp_path, "Legal/AILA").domain == "Legal"
    assert read_mair(tmp_path, "IFEval").domain is None


def test_the_two_published_data_sets_side_by_side_gzip_too(tmp_path: Path) -> None:
    for part, name, row in (("MAIR-Queries", "queries", QUERY), ("MAIR-Docs", "docs", DOCUMENT)):
        (tmp_path / part / "Task").mkdir(parents=True)
        with gzip.open(tmp_path / part / "Task" / f"{name}.jsonl.gz", "wt") as file:
            file.write(json.dumps(row))
    assert list_mair(tmp_path) == ("Task",)
    assert read_mair(tmp_path, "Task").documents == {"d1": "They {swim}."}


@pytest.mark.parametrize(
    ("template", "expected"),
    [("instruct", "Instruct: Find it.\nQuery: newts?"), ("joined", "Find it.\nnewts?"), ("none", "newts?")],
)
def test_instructions_are_joined_to_queries(tmp_path: Path, template: str, expected: str) -> None:
    write(tmp_path / "T", [QUERY, {**QUERY, "qid": 2, "instruction": None}], [DOCUMENT])
    found = read_mair(tmp_path, "T", template=template)  # type: ignore[arg-type]  # one of three names
    assert found.queries == {"q1": expected, "2": "newts?"}
    assert found.qrels["2"] == {"d1": 2.0}


@pytest.mark.parametrize(
    ("query", "document", "said"),
    [
        ({**QUERY, "query": 3}, DOCUMENT, "queries.jsonl:1: the 'query' is a number"),
        ({"query": "a"}, DOCUMENT, "queries.jsonl:1: the object has no 'qid'"),
        ([], DOCUMENT, "queries.jsonl:1: the line is a list"),
        ({**QUERY, "labels": "d1"}, DOCUMENT, "'labels' are no list"),
        ({**QUERY, "labels": [{"id": "d1", "score": "high"}]}, DOCUMENT, "the score of 'd1' is a string"),
        ({**QUERY, "labels": [{"id": "d", "score": 1}, {"id": "d", "score": 0}]}, DOCUMENT, "judged 1 and 0"),
        ({**QUERY, "labels": [{"id": "d", "score": float("nan")}]}, DOCUMENT, "is nan"),
        ({**QUERY, "labels": []}, DOCUMENT, "no query has labels"),
        (QUERY, {"id": "d1"}, "docs.jsonl:1: the object has no 'doc'"),
        (QUERY, {"doc": "text"}, "docs.jsonl:1: the object has no 'id'"),
    ],
)
def test_damage_is_told_with_its_place(tmp_path: Path, query: object, document: object, said: str) -> None:
    write(tmp_path / "T", [query], [document])
    with pytest.raises(FormatError, match=said.replace(".", r"\.")):
        read_mair(tmp_path, "T")


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such folder"):
        list_mair(tmp_path / "nowhere")
    with pytest.raises(FormatError, match="there is no task"):
        list_mair(tmp_path)
    write(tmp_path / "T", [QUERY, QUERY], [DOCUMENT])
    with pytest.raises(FormatError, match="stands in line 1 too"):
        read_mair(tmp_path, "T")
    with pytest.raises(ParameterError, match=r"no task 'U'\. There: 'T'"):
        read_mair(tmp_path, "U")
    with pytest.raises(ParameterError, match="no template"):
        read_mair(tmp_path, "T", template="loud")  # type: ignore[arg-type]
    write(tmp_path / "T", [QUERY], [DOCUMENT])
    (tmp_path / "T" / "docs.jsonl").unlink()
    with pytest.raises(FormatError, match=r"there is no docs\.jsonl for it"):
        read_mair(tmp_path, "T")


def test_shares_are_disjoint_nested_and_keep_what_tests() -> None:
    ids = [f"q{row}" for row in range(100)]
    few, many = (take_shares(ids, train=share) for share in (0.05, 0.4))
    assert (len(few.train), len(many.train), len(few.validation), len(few.test)) == (5, 40, 10, 50)
    assert (few.validation, few.test) == (many.validation, many.test)
    assert few.train == many.train[:5]
    assert len({*many.train, *many.validation, *many.test}) == 100
    assert take_shares(reversed(ids), train=7).train == many.train[:7]


@pytest.mark.parametrize("train", [0, -1, 0.6, 41, float("nan"), "5"])
def test_shares_that_are_not_there(train: object) -> None:
    with pytest.raises(AskewError):
        take_shares([f"q{row}" for row in range(100)], train=train)  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="3 queries"):
        take_shares("abc", train=1)
