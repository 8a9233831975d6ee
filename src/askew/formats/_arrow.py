"""Parquet and Arrow files, through pyarrow (the extra ``parquet``), a batch at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from askew._extras import require
from askew.errors import FormatError
from askew.formats._columns import shown
from askew.formats._json import json_id
from askew.formats._layout import Layout, Row
from askew.formats._mapped import Held
from askew.formats._vectors import EXPECTED, LAYOUT
from askew.formats.text import open_bytes
from askew.linalg.fixed import FloatArray

__all__ = [
    "arrow_columns",
    "arrow_matrix",
    "arrow_rows",
    "parquet_columns",
    "parquet_matrix",
    "parquet_rows",
]

# The names of the columns, and the batches of some of them: pyarrow's types, which it does not annotate.
_Table: TypeAlias = tuple[Sequence[str], Callable[[Sequence[str]], Iterator[Any]]]

# Rows that are turned into Python values at a time.
_BATCH = 4096
_DAMAGED = "Copy or write the file again"


def parquet_rows(path: Path, layout: Layout) -> Iterator[Row]:
    """The rows of a parquet file."""
    with _parquet(path) as table:
        yield from _rows(table, path, layout)


def arrow_rows(path: Path, layout: Layout) -> Iterator[Row]:
    """The rows of an Arrow file or stream (Feather is the former; Hugging Face's datasets are the latter)."""
    with _arrow(path) as table:
        yield from _rows(table, path, layout)


def parquet_matrix(path: Path) -> Held:
    """The vectors of a parquet file: (n, d), read into memory.

    Raises:
        FormatError: there is no column of float lists, a list is null, holds a null, or has another
            length than the first; or the file is damaged.
    """
    with _parquet(path) as table:
        return _matrix(table, path)


def arrow_matrix(path: Path) -> Held:
    """The vectors of an Arrow file or stream, as `parquet_matrix`."""
    with _arrow(path) as table:
        return _matrix(table, path)


def parquet_columns(path: Path) -> Sequence[str]:
    """What the columns of a parquet file are called."""
    with _parquet(path) as (columns, _):
        return columns


def arrow_columns(path: Path) -> Sequence[str]:
    """What the columns of an Arrow file or stream are called."""
    with _arrow(path) as (columns, _):
        return columns


def _rows(table: _Table, path: Path, layout: Layout) -> Iterator[Row]:
    columns, batches = table
    layout.check(columns, path)
    found = {role: columns[at] for role, at in layout.named(columns).items()}
    lacking = [role for role in layout.needed if role not in found]
    if lacking:
        raise FormatError(
            f"it has no column for the {lacking[0]}; its columns are {', '.join(shown(name) for name in columns[:20])}",
            where=path,
            remedy=layout.expected,
        )
    number = 0
    for batch in batches(list(dict.fromkeys(found.values()))):
        for record in batch.to_pylist():
            number += 1
            yield Row(f"{path}, row {number}", {role: record[name] for role, name in found.items()}, found)


def _matrix(table: _Table, path: Path) -> Held:
    columns, batches = table
    found = {role: columns[at] for role, at in LAYOUT.named(columns).items()}
    if "vector" not in found:
        listed = ", ".join(shown(name) for name in columns[:20])
        raise FormatError(f"no column is called 'embedding'; its columns are {listed}", where=path, remedy=EXPECTED)
    ids: list[object] = []
    parts: list[FloatArray] = []
    rows = 0
    for batch in batches(list(found.values())):
        if not len(batch):
            continue
        width = parts[0].shape[1] if parts else None
        parts.append(_lists(batch.column(found["vector"]), width, rows, path, found["vector"]))
        if "id" in found:
            where = f"{path}, row {{}}, column {found['id']!r}"
            values = batch.column(found["id"]).to_pylist()
            ids += [json_id(value, where.format(at)) for at, value in enumerate(values, start=rows + 1)]
        rows += len(batch)
    if not parts:
        raise FormatError("it holds no vector", where=path, remedy=EXPECTED)
    matrix = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return Held(matrix, ids if "id" in found else None)


def _lists(column: Any, width: int | None, before: int, path: Path, name: str) -> FloatArray:
    """The lists of one batch as a matrix: (n, d).

    Args:
        column: n lists of floats.
        width: d, if rows came before.
        before: how many rows came before.
        path: the file.
        name: the column's name.
    """
    arrow = require("pyarrow", extra="parquet", purpose="reading parquet")
    held = column.storage if isinstance(column.type, arrow.BaseExtensionType) else column
    kinds = arrow.types
    listed = kinds.is_list(held.type) or kinds.is_large_list(held.type) or kinds.is_fixed_size_list(held.type)
    if not listed or not kinds.is_floating(held.type.value_type):
        raise FormatError(
            f"the column {name!r} is of type {held.type}",
            where=path,
            remedy="Save lists of float16, float32 or float64",
        )
    if kinds.is_fixed_size_list(held.type):
        counts = np.where(held.is_valid().to_numpy(zero_copy_only=False), held.type.list_size, -1)
    else:
        counts = np.asarray(held.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False), dtype=np.int64)
    width = max(0, int(counts[0])) if width is None else width
    odd = np.flatnonzero(counts != width)
    if len(odd):
        count = counts[odd[0]]
        problem = "the vector is null" if count < 0 else f"the vector has {count} values, and the first has {width}"
        raise _at(problem, before + odd[0], path, name)
    values = held.flatten()
    if values.null_count:
        row = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]) // width
        raise _at("the vector holds a null", before + row, path, name)
    return np.asarray(values.to_numpy(zero_copy_only=False)).reshape(len(counts), width)


def _at(problem: str, row: Any, path: Path, name: str) -> FormatError:
    return FormatError(
        problem, where=f"{path}, row {row + 1}, column {name!r}", remedy="Embed the item again, or leave it out"
    )


@contextmanager
def _parquet(path: Path) -> Iterator[_Table]:
    parquet = require("pyarrow.parquet", extra="parquet", purpose="reading parquet")
    with open_bytes(path) as handle, _refusing(path, "parquet"):
        file = parquet.ParquetFile(handle)

        def batches(columns: Sequence[str]) -> Iterator[Any]:
            return iter(file.iter_batches(batch_size=_BATCH, columns=columns, use_threads=False))

        yield file.schema_arrow.names, batches


@contextmanager
def _arrow(path: Path) -> Iterator[_Table]:
    ipc = require("pyarrow.ipc", extra="parquet", purpose="reading Arrow files")
    with open_bytes(path) as handle, _refusing(path, "Arrow"):
        start = handle.peek(6)[:6]  # type: ignore[attr-defined]  # buffered
        reader = ipc.open_file(handle) if start == b"ARROW1" else ipc.open_stream(handle)

        def batches(columns: Sequence[str]) -> Iterator[Any]:
            whole = map(reader.get_batch, range(reader.num_record_batches)) if start == b"ARROW1" else reader
            for batch in whole:
                held = batch.select(columns)
                held.validate(full=True)  # offsets that lead outside the buffers would be followed
                for first in range(0, len(held), _BATCH):
                    yield held.slice(first, _BATCH)

        yield reader.schema.names, batches


# How pyarrow says that a name stands for several columns.
_TWICE = re.compile(r'Field "(.*?)" exists \d+ times')


@contextmanager
def _refusing(path: Path, what: str) -> Iterator[None]:
    """Say of whatever pyarrow raises that the file is damaged."""
    arrow = require("pyarrow", extra="parquet", purpose=f"reading {what}")
    try:
        yield
    except (arrow.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError) as error:
        told = " ".join(str(error).split())[:200]
        twice = _TWICE.search(told)
        if twice:
            raise FormatError(
                f"the column {shown(twice[1])} is there more than once", where=path, remedy="Keep one column of a name"
            ) from error
        raise FormatError(f"it is not a whole {what} file ({told})", where=path, remedy=_DAMAGED) from error
