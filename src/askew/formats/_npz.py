"""numpy's ``.npz``: one matrix in a zip archive, perhaps with its ids; nothing is unpickled."""

from __future__ import annotations

import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from askew.errors import FormatError, name_some
from askew.formats._columns import shown
from askew.formats._json import json_id
from askew.formats._mapped import Held, as_shape, wrong_dtype
from askew.formats._npy import read_header
from askew.formats.text import open_bytes

__all__ = ["is_sparse", "read_npz"]

# What a matrix may be called where the archive holds several arrays.
_MATRIX_NAMES = ("embeddings", "embedding", "vectors", "matrix", "arr_0")
_ID_NAMES = ("ids", "id", "names")
_SPARSE_NAMES = {"indptr.npy", "indices.npy"}
_PLAIN = re.compile(r"[<>=|]?[fUSiu]\d{1,9}")
_DAMAGED = "Write the file again with numpy.savez"
# All that zipfile and the decompressors are known to raise on bytes that are no archive.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError),
    *(NotImplementedError, RuntimeError, OverflowError, KeyError),
)


def read_npz(path: Path) -> Held:
    """Read the matrix of an archive, into memory, and the array ``ids`` beside it, if there is one.

    Raises:
        FormatError: the file is no archive, is damaged, holds a sparse matrix, or no float matrix
            that can be told from the others.
    """
    with _opened(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
        if set(archive.namelist()) >= _SPARSE_NAMES:
            raise FormatError(
                "it holds a sparse matrix, which is not supported",
                where=path,
                remedy="Save a dense one with numpy.save",
            )
        ids = next((name for name in _ID_NAMES if name in names), None)
        others = [name for name in names if name != ids]
        chosen = next((name for name in _MATRIX_NAMES if name in others), others[0] if len(others) == 1 else None)
        if chosen is None:
            raise FormatError(
                f"it holds {len(others)} arrays{': ' if others else ''}{name_some(others)}",
                where=path,
                remedy=f"Call the matrix '{_MATRIX_NAMES[0]}', and its ids '{_ID_NAMES[0]}'",
            )
        matrix = _array(archive, chosen, path)
        listed = None if ids is None else _ids(_array(archive, ids, path), path)
    as_shape(matrix.shape, path)
    if matrix.dtype.kind != "f":
        raise wrong_dtype(matrix.dtype.name, path)
    return Held(matrix, listed)


def is_sparse(path: Path) -> bool:
    """Whether an archive holds a sparse matrix of scipy's; False if it cannot be opened."""
    try:
        with _opened(path) as archive:
            return set(archive.namelist()) >= _SPARSE_NAMES
    except FormatError:
        return False


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    with open_bytes(path) as handle:
        try:
            with zipfile.ZipFile(handle) as archive:
                yield archive
        except _BROKEN as error:
            raise FormatError(f"it is not a whole .npz archive ({error})", where=path, remedy=_DAMAGED) from error


def _array(archive: zipfile.ZipFile, name: str, path: Path) -> np.ndarray[Any, np.dtype[Any]]:
    """One array of an archive: float, text or whole numbers, of any shape."""
    with archive.open(f"{name}.npy") as handle:
        header = read_header(handle, path)
        described, shape = header.get("descr"), header.get("shape")
        if not isinstance(described, str) or not _PLAIN.fullmatch(described):
            held = shown(described) if isinstance(described, str) else "structured"
            raise wrong_dtype("pickled object" if str(described).endswith("O") else held, path, name)
        if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
            raise FormatError("its header is damaged", where=path, remedy=_DAMAGED)
        try:
            dtype = np.dtype(described)
        except TypeError:  # no type of numpy's has that many bytes
            raise wrong_dtype(shown(described), path, name) from None
        needed = math.prod(shape) * dtype.itemsize
        raw = handle.read(min(needed, archive.getinfo(f"{name}.npy").file_size) + 1)
    if len(raw) != needed:
        raise FormatError(
            f"the array {shown(name)} has {len(raw):,} bytes, and its header says {needed:,}",
            where=path,
            remedy=_DAMAGED,
        )
    order: Any = "F" if header.get("fortran_order") is True else "C"
    return np.frombuffer(raw, dtype).reshape(shape, order=order)


def _ids(array: np.ndarray[Any, np.dtype[Any]], path: Path) -> list[object]:
    if array.ndim != 1 or array.dtype.kind == "f":
        raise FormatError(
            f"its ids are {array.dtype.name} of {array.ndim} axes", where=path, remedy="Give one text or integer a row"
        )
    values = [value.decode("utf-8") if isinstance(value, bytes) else value for value in array.tolist()]
    return [json_id(value, f"{path} (ids), item {position}") for position, value in enumerate(values, start=1)]
