"""Tables of text, row by row: CSV, TSV, lines of words, and JSON lines."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

from askew.errors import FormatError, counted
from askew.formats._columns import split_cells
from askew.formats._json import kind_of, parse_json
from askew.formats._layout import Layout, Row
from askew.formats.text import read_lines

__all__ = [
    "csv_cells",
    "csv_columns",
    "csv_rows",
    "json_columns",
    "json_records",
    "json_rows",
    "tsv_cells",
    "tsv_columns",
    "tsv_rows",
]


def csv_rows(path: Path, layout: Layout) -> Iterator[Row]:
    """The rows of a CSV file, as `csv_cells` splits it."""
    return _laid_out(csv_cells(path), path, layout)


def tsv_rows(path: Path, layout: Layout) -> Iterator[Row]:
    """The rows of lines with tabs or, where the layout allows it, spaces between cells."""
    return _laid_out(tsv_cells(path, words=layout.words), path, layout)


def json_rows(path: Path, layout: Layout) -> Iterator[Row]:
    """The rows of JSON lines: an object each, its keys for columns."""
    keys: list[str] = []
    found: dict[str, str] = {}
    for where, record in json_records(path, layout.expected):
        if keys != list(record):  # most lines have the keys of the line before
            keys = list(record)
            layout.check(keys, where)
            found = {role: keys[at] for role, at in layout.named(keys).items()}
        yield Row(where, {role: record[key] for role, key in found.items()})


def csv_columns(path: Path) -> list[str]:
    """The cells of the first row of a CSV file."""
    return next((cells for _, cells in csv_cells(path)), [])


def tsv_columns(path: Path) -> list[str]:
    """The cells of the first line between tabs."""
    return next((cells for _, cells in tsv_cells(path)), [])


def json_columns(path: Path) -> list[str]:
    """The keys of the first line of JSON lines."""
    return next((list(record) for _, record in json_records(path, "Expected an object in every line")), [])


def json_records(path: Path, expected: str) -> Iterator[tuple[str, dict[str, object]]]:
    """Where each line of JSON lines stands, and the object it is.

    Raises:
        FormatError: a line is not a JSON object.
    """
    for line, text in read_lines(path):
        where = f"{path}:{line}"
        record = parse_json(text, where)
        if not isinstance(record, dict):
            raise FormatError(f"the line is {kind_of(record)}, not an object", where=where, remedy=expected)
        yield where, record


def csv_cells(path: Path) -> Iterator[tuple[int, list[str]]]:
    r"""The rows of a CSV file that are not blank, with the number of their first line.

    Quotes are Excel's: a cell in double quotes may hold separators and line endings. The separator
    is the comma, semicolon or tab that occurs most in the first line.

    Raises:
        FormatError: a quote is not closed or not where it can be, or a cell is longer than
            ``csv.field_size_limit()``.
    """
    lines = ((number, f"{text}\n") for number, text in read_lines(path, blank=True))
    first = next((pair for pair in lines if pair[1].strip()), None)
    if first is None:
        return
    skipped = first[0] - 1
    reader = csv.reader(_texts(first, lines), delimiter=max(",;\t", key=first[1].count), strict=True)
    while True:
        start = skipped + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise FormatError(
                f"it is not CSV ({error})",
                where=f"{path}:{start}",
                remedy="Close every quote, and double quotes inside a quoted cell; a cell longer than the "
                "limit needs csv.field_size_limit, or JSON lines instead",
            ) from None
        if cells is None:
            return
        if any(cell.strip() for cell in cells):
            yield start, [cell.strip(" ") for cell in cells]


def tsv_cells(path: Path, *, words: bool = False) -> Iterator[tuple[int, list[str]]]:
    """The lines of a table split at tabs, where quotes are characters like others.

    Args:
        path: a text file.
        words: split lines that hold no tab at spaces.
    """
    for line, text in read_lines(path):
        yield line, split_cells(text) if words else [cell.strip(" ") for cell in text.split("\t")]


def _texts(first: tuple[int, str], rest: Iterable[tuple[int, str]]) -> Iterator[str]:
    yield first[1]
    for _, text in rest:
        yield text


def _laid_out(rows: Iterable[tuple[int, list[str]]], path: Path, layout: Layout) -> Iterator[Row]:
    order: dict[str, int] = {}
    width = first = 0
    file = str(path)
    for line, cells in rows:
        where = f"{file}:{line}"
        if not width:
            width, first = len(cells), line
            order, header = layout.order(cells, where)
            if header:
                continue
        if len(cells) != width:
            raise FormatError(
                f"the line has {counted(len(cells), 'column')}, and line {first} has {width}",
                where=where,
                remedy=layout.expected,
            )
        yield Row(where, {role: cells[at] for role, at in order.items()})
