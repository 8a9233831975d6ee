"""The formats that are read, by ending: the one place that says which reader takes which file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from askew.formats import _arrow, _npz, _rows, _vectors
from askew.formats._layout import Layout, Row
from askew.formats._mapped import Held
from askew.formats._npy import map_npy
from askew.formats._tensors import map_tensor

__all__ = ["FORMATS", "MATRICES", "TABLES", "Format", "split_name"]

_Rows: TypeAlias = Callable[[Path, Layout], Iterator[Row]]
_Matrix: TypeAlias = Callable[[Path], Held]


def _no_columns(path: Path) -> Sequence[str]:
    """Of a file that holds no table."""
    del path
    return ()


@dataclass(frozen=True)
class Format:
    """What can be read from files of one ending.

    Attributes:
        rows: its table, given the columns to look for; None if it holds none.
        matrix: its matrix, with ids and encoder where it says them; None if it holds none.
        columns: what the columns of its table are called, without a header the cells of its first
            row; empty if it holds none.
        packed: whether it is text, and may be gzip.
    """

    rows: _Rows | None = None
    matrix: _Matrix | None = None
    columns: Callable[[Path], Sequence[str]] = _no_columns
    packed: bool = False


_JSON_LINES = Format(_rows.json_rows, _vectors.json_matrix, _rows.json_columns, packed=True)
_ARROW = Format(_arrow.arrow_rows, _arrow.arrow_matrix, _arrow.arrow_columns)
_TSV = Format(_rows.tsv_rows, _vectors.tsv_matrix, _rows.tsv_columns, packed=True)

#: Ending → format; where one name has files of several, the first goes before the others.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        ".npy": Format(matrix=lambda path: Held(map_npy(path))),
        ".safetensors": Format(matrix=map_tensor),
        ".npz": Format(matrix=_npz.read_npz),
        ".tsv": _TSV,
        ".csv": Format(_rows.csv_rows, _vectors.csv_matrix, _rows.csv_columns, packed=True),
        ".jsonl": _JSON_LINES,
        ".ndjson": _JSON_LINES,
        ".parquet": Format(_arrow.parquet_rows, _arrow.parquet_matrix, _arrow.parquet_columns),
        ".arrow": _ARROW,
        ".feather": _ARROW,
    }
)
#: The endings of formats that hold tables, and of those that hold a matrix.
TABLES = tuple(ending for ending, form in FORMATS.items() if form.rows is not None)
MATRICES = tuple(ending for ending, form in FORMATS.items() if form.matrix is not None)


def split_name(name: str) -> tuple[str, str]:
    """The stem and the ending of a file's name, in lower case and without the ``.gz`` of packed text.

    >>> split_name("train.tsv.gz"), split_name("docs.npy"), split_name("a.b")
    (('train', '.tsv'), ('docs', '.npy'), ('a', '.b'))
    """
    plain = name.removesuffix(".gz")
    for ending, form in FORMATS.items():
        if plain.lower().endswith(ending) and (form.packed or plain == name):
            return plain[: -len(ending)], ending
    held = Path(name)
    return held.stem, held.suffix.lower()
