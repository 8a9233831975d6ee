"""Judgements in files: BEIR, TREC, bare pairs and click counts, in every format that holds a table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from askew.data import Qrels
from askew.errors import FormatError
from askew.formats._columns import check_names, number, shown
from askew.formats._json import json_id, kind_of
from askew.formats._layout import DOCUMENT_NAMES, QUERY_NAMES, Layout, Row, briefly
from askew.formats._sources import Source, read_rows
from askew.formats.text import PathLike, write_lines

__all__ = ["read_qrels", "write_qrels"]

_EXPECTED = (
    "Expected the columns query-id, corpus-id, score (BEIR), "
    "query, iteration, document, grade (TREC), or query, document"
)
_LAYOUT = Layout(
    roles={
        "query": QUERY_NAMES,
        "document": DOCUMENT_NAMES,
        "grade": (
            *("score", "grade", "rel", "relevance", "relevancy", "judgement", "judgment"),
            *("label", "gain", "qrel", "rating"),
        ),
        "count": ("clicks", "click", "count", "counts", "weight", "frequency"),
    },
    needed=("query", "document"),
    positions={2: ("query", "document"), 3: ("query", "document", "grade"), 4: ("query", None, "document", "grade")},
    last="grade",
    expected=_EXPECTED,
    words=True,
    ids=(*QUERY_NAMES[:4], *DOCUMENT_NAMES[:8]),
)

_UNSAFE = re.compile(r"^ | $|[\t\r\n\0]")
# Integers up to here are exact in a float, so "3" reads back as 3.0.
_EXACT = 2**53


def read_qrels(path: PathLike | Source) -> Qrels:
    r"""Read judgements, pairs or clicks.

    Columns are found by their names where there is a header (or the format has names): a query id,
    a document id, and a grade or a count (``clicks``, ``count``, ``weight``), which becomes the
    grade. The same pair twice adds its counts up; its grades have to agree. Without a header, two
    columns are pairs of grade 1; three are query, document, grade (BEIR); four are query,
    iteration, document, grade (TREC); the first line says how many.

    Args:
        path: a ``.csv``, ``.jsonl``, ``.parquet``, ``.arrow`` or ``.feather`` file, or any other
            name for a text table: split at tabs if the line has one (so ids may hold spaces), else
            at runs of spaces. Text may be gzip; ``-`` is standard input, a text table. A folder of
            shards, or the name that shards share, is read as one.

    Raises:
        FormatError: a line has another number of columns than the first, an empty id, a grade that
            is not a finite number, a negative count, or contradicts an earlier line; or there is
            no judgement.
        MissingExtraError: parquet or Arrow without pyarrow.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "test.tsv"
    ...     _ = file.write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    ...     read_qrels(file).grades["q1"]["d1"]
    2.0
    """
    grades: dict[str, dict[str, float]] = {}
    seen: dict[tuple[str, str], str] = {}
    for row in read_rows(path, _LAYOUT, otherwise=".tsv"):
        query, document = _id(row, "query"), _id(row, "document")
        judged = grades.setdefault(query, {})
        earlier = seen.setdefault((query, document), row.where)
        if "grade" not in row.values and "count" in row.values:
            judged[document] = judged.get(document, 0.0) + _number(row, "count")
            continue
        grade = _number(row, "grade") if "grade" in row.values else 1.0
        if judged.setdefault(document, grade) != grade:
            raise FormatError(
                f"document {shown(document)} has grade {grade:g} for query {shown(query)} here "
                f"and {judged[document]:g} in {briefly(earlier, row.where)}",
                where=row.where,
                remedy="Keep one of the two",
            )
    if not grades:
        where = path.path if isinstance(path, Source) else path
        raise FormatError("it holds no judgement", where=where, remedy=_EXPECTED)
    return Qrels(grades)


def write_qrels(qrels: Qrels, path: PathLike) -> None:
    r"""Write judgements in BEIR's format: a header, then query, document and grade, apart by tabs.

    Raises:
        OutputError: the place cannot be written to, or an id holds a tab, a line ending or spaces
            at an end.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "train.tsv"
    ...     write_qrels(Qrels({"q": {"d": 1, "e": 0.5}}), file)
    ...     file.read_text().splitlines()[1:]
    ['q\td\t1', 'q\te\t0.5']
    """
    path = Path(path)
    names = {*qrels.queries, *qrels.documents()}
    check_names(sorted(names), path, _UNSAFE, "it holds a tab, a line ending or spaces at an end")
    rows = (
        f"{query}\t{document}\t{_grade_text(grade)}"
        for query, judged in qrels.grades.items()
        for document, grade in judged.items()
    )
    write_lines(path, _with_header(rows))


def _with_header(rows: Iterator[str]) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore"
    yield from rows


def _grade_text(grade: float) -> str:
    return str(int(grade)) if grade.is_integer() and abs(grade) <= _EXACT else repr(grade)


def _id(row: Row, role: str) -> str:
    if row.values.get(role, "") == "":
        raise FormatError(f"the {role} id is empty", where=row.at(role), remedy="Give every row both ids")
    return json_id(row.values[role], row.at(role))


def _number(row: Row, role: str) -> float:
    """The grade or the count of a row."""
    value = row.values[role]
    grade = number(value) if isinstance(value, str) else _as_float(value)
    if grade is not None and math.isfinite(grade) and (role != "count" or grade >= 0):
        return grade
    if grade is None:
        told = f"{shown(value)} is not" if isinstance(value, str) else f"is {kind_of(value)}, not"
        raise FormatError(f"the {role} {told} a number", where=row.at(role), remedy=_EXPECTED)
    if not math.isfinite(grade):
        told = shown(value) if isinstance(value, str) else str(grade)
        raise FormatError(f"the {role} {told} is not finite", where=row.at(role), remedy="Give a number")
    raise FormatError(f"the count {grade:g} is negative", where=row.at(role), remedy="Give counts of 0 or more")


def _as_float(value: object) -> float | None:
    if not isinstance(value, (int, float)):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf
