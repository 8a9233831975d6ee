"""Judgements: every shape that is read, and the line of every one that is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from askew.data import Qrels
from askew.errors import FormatError, OutputError
from askew.formats import read_qrels, write_qrels

Grades = dict[str, dict[str, float]]
ONE: Grades = {"q1": {"d1": 1.0, "d2": 0.0}, "q2": {"d1": 2.0}}

GOOD: dict[str, tuple[str, Grades]] = {
    "beir-header": ("query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n", ONE),
    "beir-no-header": ("q1\td1\t1\nq1\td2\t0\nq2\td1\t2\n", ONE),
    "beir-spaces": ("query-id corpus-id score\nq1 d1   1\n q1 d2 0\nq2 d1 2  \n", ONE),
    "beir-blank-lines": ("\n\nq1\td1\t1\n\n \t \nq1\td2\t0\nq2\td1\t2\n\n", ONE),
    "trec-spaces": ("q1 0 d1 1\nq1 0 d2 0\nq2 Q0 d1 2\n", ONE),
    "trec-tabs": ("q1\t0\td1\t1\nq1\t0\td2\t0\nq2\t0\td1\t2\n", ONE),
    "trec-header": ("topic iteration document relevance\nq1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n", ONE),
    "header-underscores": ("query_id\tdoc_id\trelevance\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n", ONE),
    "header-capitals-spaces": ("Query ID\tDoc ID\tScore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n", ONE),
    "header-comment": ("#qid\tdocid\trel\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n", ONE),
    "header-quoted": ('"qid" "docid" "rel"\nq1 d1 1\nq1 d2 0\nq2 d1 2\n', ONE),
    "header-one-known-name": ("qid\twhat\thow much\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n", ONE),
    "pairs": ("q1\td1\nq2 d2\n", {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}),
    "pairs-header": ("query-id\tcorpus-id\nq1\td1\n", {"q1": {"d1": 1.0}}),
    "pairs-first-line-is-no-header": ("q1 doc\nq1 score\n", {"q1": {"doc": 1.0, "score": 1.0}}),
    "header-in-another-order": ("corpus-id\tquery-id\tscore\nd1\tq1\t2\n", {"q1": {"d1": 2.0}}),
    "pairs-header-in-another-order": ("docid qid\nd1 q1\n", {"q1": {"d1": 1.0}}),
    "header-with-more-columns": ("rel note qid docid rank\n2 x q1 d1 9\n0 y q1 d2 8\n", {"q1": {"d1": 2.0, "d2": 0.0}}),
    "header-without-grade": ("qid docid note author\nq1 d1 2 x\n", {"q1": {"d1": 1.0}}),
    "clicks-add-up": ("qid\tdocid\tclicks\nq\td\t3\nq\te\t0\nq\td\t4\n", {"q": {"d": 7.0, "e": 0.0}}),
    "a-grade-goes-before-a-count": ("qid docid weight grade\nq d 0.5 2\n", {"q": {"d": 2.0}}),
    "pairs-numbers": ("1\t2\n1\t3\n", {"1": {"2": 1.0, "3": 1.0}}),
    "tabs-and-spaces-by-line": ("q1\td1\t1\nq1 d2 0\nq2\td1\t2\n", ONE),
    "ids-with-spaces": ("q 1\td 1\t1\n", {"q 1": {"d 1": 1.0}}),
    "spaces-around-tabs": ("q1 \t d1 \t 1 \n", {"q1": {"d1": 1.0}}),
    "float-grades": (
        "q d1 0.5\nq d2 1e-3\nq d3 -1\nq d4 +2.\n",
        {"q": {"d1": 0.5, "d2": 1e-3, "d3": -1, "d4": 2}},
    ),
    "same-line-twice": ("q d 1\nq d 1.0\n", {"q": {"d": 1.0}}),
    "unicode-ids": ("q\u00e9\t日本\t1\n", {"q\u00e9": {"日本": 1.0}}),
    "no-break-space-is-no-separator": ("q\u00a01 d 1\n", {"q\u00a01": {"d": 1.0}}),
    "ids-keep-zeros": ("007 0.0 1\n", {"007": {"0.0": 1.0}}),
    "id-equal-to-query": ("7 7 1\n", {"7": {"7": 1.0}}),
}


@pytest.mark.parametrize(("text", "grades"), GOOD.values(), ids=GOOD.keys())
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "bom"])
def test_read(tmp_path: Path, text: str, grades: Grades, ending: str, start: str) -> None:
    file = tmp_path / "a.tsv"
    file.write_bytes((start + text.replace("\n", ending)).encode())
    qrels = read_qrels(file)
    assert qrels.grades == grades
    assert qrels.queries == tuple(grades)


BAD = {
    "grade-word": ("q1 d1 1\nq1 d2 high\n", 2, "'high' is not a number"),
    "grade-word-first-line": ("q1 d1 high\n", 1, "'high' is not a number"),
    "grade-underscore": ("q1 d1 1_0\n", 1, "not a number"),
    "grade-other-digits": ("q1 d1 ١\n", 1, "not a number"),
    "grade-nan": ("q1 d1 1\n\nq1 d2 nan\n", 3, "not finite"),
    "grade-inf": ("q1 d1 -inf\n", 1, "not finite"),
    "grade-overflow": ("q1 d1 1e999\n", 1, "not finite"),
    "grade-empty": ("q1\td1\t1\nq1\td2\t\n", 2, "'' is not a number"),
    "second-header": ("query-id corpus-id score\nquery-id corpus-id score\n", 2, "not a number"),
    "unknown-header": ("x\ty\tz\nq1\td1\t1\n", 1, "'z' is not a number"),
    "one-column": ("q1\n", 1, "has 1 column"),
    "commas": ("query-id,corpus-id,score\nq1,d1,1\n", 1, "not by commas"),
    "five-columns": ("q1 0 d1 1 x\n", 1, "has 5 columns"),
    "a-run": ("q1 Q0 d1 1 0.5 bm25\n", 1, "are a run"),
    "width-changes": ("q1 0 d1 1\nq1 d2 0\n", 2, "has 3 columns, and line 1 has 4"),
    "width-differs-from-header": (
        "query-id corpus-id score\n\nq1 0 d1 1\n",
        3,
        "has 4 columns, and line 1 has 3",
    ),
    "pairs-then-three": ("q1 d1\nq1 d2\nq1 d3 1\n", 3, "has 3 columns, and line 1 has 2"),
    "empty-query": ("q1\td1\t1\n\td2\t1\n", 2, "query id is empty"),
    "empty-document": ("q1\t \t1\n", 1, "document id is empty"),
    "contradiction": ("q d 1\nq e 1\nq d 2\n", 3, "has grade 2 for query 'q' here and 1 in line 1"),
    "negative-count": ("qid docid clicks\nq d 1\nq e -1\n", 3, "the count -1 is negative"),
    "huge-cell": (f"q1 d1 {'x' * 100_000}\n", 1, "…"),
}


@pytest.mark.parametrize(("text", "line", "words"), BAD.values(), ids=BAD.keys())
def test_refuse(tmp_path: Path, text: str, line: int, words: str) -> None:
    file = tmp_path / "a.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError) as caught:
        read_qrels(file)
    assert caught.value.where == f"{file}:{line}"
    assert words in str(caught.value)
    assert caught.value.remedy
    assert len(str(caught.value)) < len(str(file)) + 400


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff", "query-id\tcorpus-id\tscore\n"])
def test_no_judgement(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.tsv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match="holds no judgement") as caught:
        read_qrels(file)
    assert caught.value.where == str(file)


@pytest.mark.parametrize("name", ["a.tsv", "a.tsv.gz", "new/folder/a.tsv"])
def test_write_and_read_back(tmp_path: Path, name: str) -> None:
    qrels = Qrels({"q 1": {"d": 1, "e": 0.1, "f": -2, "g": 1e300, "h": 5e-324}, "é": {"query-id": 0, "日本": 2}})
    write_qrels(qrels, tmp_path / name)
    back = read_qrels(tmp_path / name)
    assert back == qrels
    assert back.queries == qrels.queries


def test_written_form(tmp_path: Path) -> None:
    write_qrels(Qrels({"q": {"d": 2, "e": 0.5}}), tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_bytes() == b"query-id\tcorpus-id\tscore\nq\td\t2\nq\te\t0.5\n"


@pytest.mark.parametrize("name", ["a\tb", "a\nb", "a\r", " a", "a ", "\0", "\ud800", "\ufeffa"], ids=ascii)
@pytest.mark.parametrize("side", ["query", "document"])
def test_an_id_that_would_not_come_back_is_not_written(tmp_path: Path, name: str, side: str) -> None:
    qrels = Qrels({name: {"d": 1}} if side == "query" else {"q": {name: 1}})
    with pytest.raises(OutputError, match="cannot be written"):
        write_qrels(qrels, tmp_path / "a.tsv")
    assert not list(tmp_path.iterdir())


def test_write_into_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").mkdir()
    with pytest.raises(OutputError):
        write_qrels(Qrels({"q": {"d": 1}}), tmp_path / "a.tsv")


@pytest.mark.parametrize(
    ("grade", "says"),
    [
        ("NaN", "the grade nan is not finite"),
        ("-Infinity", "the grade -inf is not finite"),
        ("[1]", "the grade is a list, not a number"),
        ('"high"', "the grade 'high' is not a number"),
    ],
)
def test_a_grade_in_json_that_is_none_is_named(grade: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    file.write_text(f'{{"query": "q", "document": "d", "grade": {grade}}}\n')
    with pytest.raises(FormatError, match=re.escape(f"train.jsonl:1: {says}.")):
        read_qrels(file)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "query,query,document\nq1,q2,d\n", "a.csv:1: the columns 'query' and 'query' both mean the query."),
        ("a.csv", "query_id,qid,doc_id\nq1,q2,d\n", "a.csv:1: the columns 'query_id' and 'qid' both mean the query."),
        ("a.tsv", "qid\tdocno\tdid\tscore\nq\td\te\t1\n", "the columns 'docno' and 'did' both mean the document."),
        ("a.tsv", "query score score\nq d 1\n", "the columns 'score' and 'score' both mean the grade."),
        ("a.jsonl", '{"Query": "q", "query": "r", "document": "d"}\n', "'Query' and 'query' both mean the query."),
        ("a.jsonl", '{"query": "q", "query": "r", "document": "d"}\n', "an object in it has the key 'query' twice."),
    ],
)
def test_two_columns_that_mean_the_same_are_refused(name: str, text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=re.escape(says)):
        read_qrels(tmp_path / name)


def test_a_text_beside_its_id_is_no_second_id(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("query,query_id,document\nhow so,q,d\n")
    assert read_qrels(tmp_path / "a.csv").queries == ("q",)
