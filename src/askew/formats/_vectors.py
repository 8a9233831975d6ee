"""Embeddings in tables of text: a row an item, its vector in one cell or in a cell a number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from askew.errors import FormatError, counted
from askew.formats._columns import number, shown
from askew.formats._json import json_id, kind_of, parse_json
from askew.formats._layout import ID_NAMES, Layout
from askew.formats._mapped import Held
from askew.formats._rows import csv_cells, json_records, tsv_cells
from askew.linalg.fixed import Float64Array

__all__ = ["EXPECTED", "LAYOUT", "csv_matrix", "gathered", "json_matrix", "tsv_matrix"]

EXPECTED = 'Expected an id and a vector in every row, such as {"id": "d1", "embedding": [0.1, 0.2]}'
#: The columns of a table of embeddings.
LAYOUT = Layout(
    roles={"id": ID_NAMES, "vector": ("embedding", "embeddings", "vector", "vectors", "values", "emb")},
    needed=("vector",),
    positions={},
    expected=EXPECTED,
)


def json_matrix(path: Path) -> Held:
    """Read JSON lines of an id and a vector: float64, as the numbers stand there.

    Raises:
        FormatError: a line has no id or no list of numbers, or one of another length.
    """
    ids: list[object] = []
    rows: list[Float64Array] = []
    for where, record in json_records(path, EXPECTED):
        keys = list(record)
        found = {role: record[keys[at]] for role, at in LAYOUT.named(keys).items()}
        if len(found) < 2:
            problem = f"the object has no {'vector' if 'id' in found else 'id'}"
            raise FormatError(problem, where=where, remedy=EXPECTED)
        ids.append(json_id(found["id"], where))
        rows.append(_vector(found["vector"], where))
        _check_width(rows, where)
    return gathered(ids, rows, path)


def csv_matrix(path: Path) -> Held:
    """Read a CSV file of embeddings, as `_table` does."""
    return _table(csv_cells(path), path)


def tsv_matrix(path: Path) -> Held:
    """Read lines of embeddings with tabs between cells, as `_table` does."""
    return _table(tsv_cells(path), path)


def gathered(ids: Sequence[object], rows: Sequence[Float64Array], path: Path) -> Held:
    """The rows as one matrix, (n, d).

    Raises:
        FormatError: there is no row.
    """
    if not rows:
        raise FormatError("it holds no vector", where=path, remedy=EXPECTED)
    return Held(np.stack(rows), ids)


def _table(cells: Iterable[tuple[int, list[str]]], path: Path) -> Held:
    """Rows of an id and a vector: a JSON list in one cell, or all the other cells.

    With a header the id's column is found by its name, else it is the first.
    """
    ids: list[object] = []
    rows: list[Float64Array] = []
    width = id_at = 0
    vector_at: int | None = None
    for line, row in cells:
        where = f"{path}:{line}"
        if not width:
            width = len(row)
            found = LAYOUT.named(row)
            vector_at = found.get("vector")
            if vector_at is not None or any(number(cell) is None and cell[:1] != "[" for cell in row[1:]):
                id_at = found.get("id", 0)
                continue
        if len(row) != width or width < 2:
            problem = f"the line has {counted(len(row), 'column')}, and the first has {width}"
            raise FormatError(problem, where=where, remedy=EXPECTED)
        ids.append(json_id(row[id_at], where))
        given = [cell for at, cell in enumerate(row) if at != id_at] if vector_at is None else [row[vector_at]]
        one = len(given) == 1 and given[0][:1] == "["
        rows.append(_vector(parse_json(given[0], where), where) if one else _numbers(given, where))
        _check_width(rows, where)
    return gathered(ids, rows, path)


def _numbers(cells: Sequence[str], where: str) -> Float64Array:
    values = [number(cell) for cell in cells]
    for value, cell in zip(values, cells, strict=True):
        if value is None:
            raise FormatError(f"{shown(cell)} is not a number", where=where, remedy=EXPECTED)
    return np.array(values, dtype=np.float64)


def _vector(value: object, where: str) -> Float64Array:
    if not isinstance(value, list):
        raise FormatError(f"the vector is {kind_of(value)}, not a list", where=where, remedy=EXPECTED)
    for position, item in enumerate(value, start=1):
        if type(item) not in (float, int):
            problem = f"item {position} of the vector is {kind_of(item)}, not a number"
            raise FormatError(problem, where=where, remedy=EXPECTED)
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:  # an integer past the largest float
        raise FormatError("a number of the vector is too large", where=where, remedy=EXPECTED) from None


def _check_width(rows: Sequence[Float64Array], where: str) -> None:
    if len(rows[-1]) != len(rows[0]):
        raise FormatError(
            f"the vector has {len(rows[-1])} numbers, and the first has {len(rows[0])}",
            where=where,
            remedy="Give vectors of one length",
        )
