"""Judgements in files: BEIR (3 columns), TREC (4 columns) or bare pairs (2 columns)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from askew.data import Qrels
from askew.errors import FormatError
from askew.formats._columns import check_names, number, shown, split_cells
from askew.formats.text import PathLike, read_lines, write_lines

__all__ = ["read_qrels", "write_qrels"]

# How many columns → where the query, the document and the grade stand.
_COLUMNS: dict[int, tuple[int, int, int | None]] = {2: (0, 1, None), 3: (0, 1, 2), 4: (0, 2, 3)}
_EXPECTED = (
    "Expected the columns query-id, corpus-id, score (BEIR), "
    "query, iteration, document, grade (TREC), or query, document"
)

# What headers call a column, in lower case and with hyphens.
_QUERY_NAMES = {"query", "query-id", "queryid", "qid", "q-id", "topic", "topic-id", "topicid"}
_DOCUMENT_NAMES = {
    *("corpus", "corpus-id", "corpusid", "doc", "doc-id", "docid", "docno", "did"),
    *("document", "document-id", "documentid", "passage", "passage-id", "pid"),
}
_GRADE_NAMES = {
    *("score", "grade", "rel", "relevance", "relevancy", "judgement", "judgment"),
    *("label", "gain", "qrel", "rating"),
}

_UNSAFE = re.compile(r"^ | $|[\t\r\n\0]")
# Integers up to here are exact in a float, so "3" reads back as 3.0.
_EXACT = 2**53


@dataclass(frozen=True)
class _Judgement:
    line: int
    query: str
    document: str
    grade: float


def read_qrels(path: PathLike) -> Qrels:
    r"""Read judgements.

    Columns are split at tabs if the line has one (so ids may hold spaces), else at runs of spaces.
    Two columns are pairs of grade 1; three are query, document, grade (BEIR, with its header or
    without); four are query, iteration, document, grade (TREC). The first line says how many.

    Args:
        path: a text file, gzip or not.

    Raises:
        FormatError: a line has another number of columns than the first, an empty id, a grade that
            is not a finite number, or contradicts an earlier line; or there is no judgement.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "test.tsv"
    ...     _ = file.write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    ...     read_qrels(file).grades["q1"]["d1"]
    2.0
    """
    path = Path(path)
    grades: dict[str, dict[str, float]] = {}
    seen: dict[tuple[str, str], int] = {}
    for row in _judgements(path):
        judged = grades.setdefault(row.query, {})
        earlier = seen.setdefault((row.query, row.document), row.line)
        if judged.setdefault(row.document, row.grade) != row.grade:
            raise FormatError(
                f"document {shown(row.document)} has grade {row.grade:g} for query {shown(row.query)} here "
                f"and {judged[row.document]:g} in line {earlier}",
                where=f"{path}:{row.line}",
                remedy="Keep one of the two lines",
            )
    if not grades:
        raise FormatError("it holds no judgement", where=path, remedy=_EXPECTED)
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


def _judgements(path: Path) -> Iterator[_Judgement]:
    width = first = 0
    for line, text in read_lines(path):
        cells, where = split_cells(text), f"{path}:{line}"
        if not width:
            width, first = _width(cells, where), line
            if _is_header(cells, where):
                continue
        if len(cells) != width:
            raise FormatError(
                f"the line has {_columns(len(cells))}, and line {first} has {width}",
                where=where,
                remedy=_EXPECTED,
            )
        yield _judgement(cells, line, where)


def _judgement(cells: Sequence[str], line: int, where: str) -> _Judgement:
    query_at, document_at, grade_at = _COLUMNS[len(cells)]
    query, document = cells[query_at], cells[document_at]
    if not query or not document:
        raise FormatError(
            f"the {'document' if query else 'query'} id is empty",
            where=where,
            remedy="Give the line both ids",
        )
    return _Judgement(line, query, document, 1.0 if grade_at is None else _grade(cells[grade_at], where))


def _grade(cell: str, where: str) -> float:
    grade = number(cell)
    if grade is None:
        raise FormatError(f"the grade {shown(cell)} is not a number", where=where, remedy=_EXPECTED)
    if not math.isfinite(grade):
        raise FormatError(f"the grade {shown(cell)} is not finite", where=where, remedy="Give a number")
    return grade


def _width(cells: Sequence[str], where: str) -> int:
    if len(cells) in _COLUMNS:
        return len(cells)
    remedy = _EXPECTED
    if len(cells) == 1 and "," in cells[0]:
        remedy = "Separate the columns by tabs, not by commas"
    if len(cells) == 6:
        remedy = "Six columns are a run: read it as one (read_run)"
    problem = f"the line has {_columns(len(cells))}; judgements have 2, 3 or 4"
    raise FormatError(problem, where=where, remedy=remedy)


def _is_header(cells: Sequence[str], where: str) -> bool:
    """Whether the first line names its columns; one that names them in another order is refused."""
    if number(cells[-1]) is not None:
        return False
    names = [cell.lower().strip("#\"'").replace("_", "-").replace(" ", "-") for cell in cells]
    if len(names) == 2:  # the last is an id, so both must be names for this to be a header
        named = names[0] in _QUERY_NAMES | _DOCUMENT_NAMES and names[1] in _QUERY_NAMES | _DOCUMENT_NAMES
    else:
        named = names[0] in _QUERY_NAMES or names[-1] in _GRADE_NAMES
    if not named:
        return False
    query_at, document_at, _ = _COLUMNS[len(cells)]
    if names[query_at] in _DOCUMENT_NAMES or names[document_at] in _QUERY_NAMES:
        raise FormatError("the header puts the document before the query", where=where, remedy=_EXPECTED)
    return True


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"
