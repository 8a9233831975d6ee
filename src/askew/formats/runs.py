"""Runs in TREC's format: query, ``Q0``, document, rank, score, tag."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

from askew.data import Run
from askew.errors import FormatError, counted
from askew.formats._columns import check_names, number, shown, split_words
from askew.formats.text import PathLike, read_lines, write_lines

__all__ = ["read_run", "run_lines", "write_run"]

_EXPECTED = "Expected six columns: query Q0 document rank score tag"
_WHITESPACE = re.compile(r"\s|\0")


def read_run(path: PathLike) -> Run:
    r"""Read a run; its name is the tag of the first line.

    Columns are apart by spaces or tabs. Neither the order of the lines nor the rank column matters:
    documents are ranked by score, then by id.

    Args:
        path: a text file, gzip or not.

    Raises:
        FormatError: a line has not six columns, a score is NaN or no number, a document stands
            twice for one query, or there is no line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "bm25.run"
    ...     _ = file.write_text("q1 Q0 d1 1 0.5 bm25\nq1 Q0 d2 2 0.75 bm25\n")
    ...     run = read_run(file)
    >>> run, run.documents("q1")
    (Run('bm25', 1 query), ('d2', 'd1'))
    """
    path = Path(path)
    scores: dict[str, dict[str, float]] = {}
    name = ""
    for query, document, score, tag, where in _rows(path):
        name = name or tag
        scored = scores.setdefault(query, {})
        if document in scored:
            raise FormatError(
                f"document {shown(document)} stands twice for query {shown(query)}",
                where=where,
                remedy="Keep one of the two lines",
            )
        scored[document] = score
    if not scores:
        raise FormatError("it holds no ranking", where=path, remedy=_EXPECTED)
    return Run(scores, name=name)


def write_run(run: Run, path: PathLike) -> None:
    r"""Write a run, ranks from 1, with scores that read back as the same floats.

    Queries with an empty ranking have no line, and so are not there when the file is read. The tag
    is the run's name, with `_` for whitespace.

    Raises:
        OutputError: the place cannot be written to, or an id holds whitespace.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "base.run"
    ...     write_run(Run({"q1": {"d1": 0.1}}, name="base"), file)
    ...     file.read_text()
    'q1 Q0 d1 1 0.1 base\n'
    """
    write_lines(Path(path), run_lines(run, where=path))


def run_lines(run: Run, *, where: object = "run") -> list[str]:
    """The lines of a run in TREC's format, without line ends.

    Raises:
        OutputError: an id holds whitespace, or the name is no text that UTF-8 can hold; `where`
            names the place in the message.

    >>> run_lines(Run({"q1": {"d1": 0.1}}, name="base"))
    ['q1 Q0 d1 1 0.1 base']
    """
    tag = _WHITESPACE.sub("_", run.name) or "askew"
    check_names([tag], where, _WHITESPACE, "TREC files cannot hold whitespace in a tag")
    for query, documents, _ in run.items():
        check_names((query, *documents), where, _WHITESPACE, "TREC files cannot hold whitespace in an id")
    return [
        f"{query} Q0 {document} {rank} {score!r} {tag}"
        for query, documents, scores in run.items()
        for rank, (document, score) in enumerate(zip(documents, scores.tolist(), strict=True), start=1)
    ]


def _rows(path: Path) -> Iterator[tuple[str, str, float, str, str]]:
    for line, text in read_lines(path):
        where = f"{path}:{line}"
        cells = split_words(text)
        if len(cells) != 6:
            raise FormatError(f"the line has {counted(len(cells), 'column')}", where=where, remedy=_EXPECTED)
        query, _, document, _, score, tag = cells
        yield query, document, _score(score, where), tag, where


def _score(cell: str, where: str) -> float:
    score = number(cell)
    if score is None:
        raise FormatError(f"the score {shown(cell)} is not a number", where=where, remedy=_EXPECTED)
    if math.isnan(score):
        raise FormatError("the score is NaN", where=where, remedy="Drop the line, or give it a number")
    return score
