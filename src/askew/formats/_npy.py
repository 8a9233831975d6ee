"""numpy's ``.npy``, its header read here: nothing is unpickled, and no numpy error escapes."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from askew.errors import FormatError
from askew.formats._columns import shown
from askew.formats._mapped import MatrixPlace, as_shape, map_matrix, wrong_dtype
from askew.formats.text import open_bytes

if TYPE_CHECKING:
    from askew.linalg.fixed import FloatArray

__all__ = ["map_npy", "read_header"]

_MAGIC = b"\x93NUMPY"
# Version → bytes of the header's length, and the header's encoding.
_VERSIONS = {1: (2, "latin-1"), 2: (4, "latin-1"), 3: (4, "utf-8")}
# numpy's own limit; longer ones can crash Python's parser.
_LONGEST_HEADER = 10_000
_FLOAT = re.compile(r"[<>=]?f[248]")
_NUMBER = re.compile(r"[<>=|]?[biufc]\d{1,2}")
_PYTHON_2_LONG = re.compile(r"(?<=\d)L\b")
_DAMAGED = "Write the file again with numpy.save"


def map_npy(path: Path) -> FloatArray:
    """Map the matrix of a ``.npy`` file: (n, d), read-only.

    Raises:
        FormatError: the file is not ``.npy``, is damaged or cut short, or holds anything but a
            float matrix.
    """
    with open_bytes(path) as handle:
        header = read_header(handle, path)
        offset = handle.tell()
        size = os.fstat(handle.fileno()).st_size
    dtype, shape, column_major = (header.get(key) for key in ("descr", "shape", "fortran_order"))
    if not isinstance(shape, tuple) or not isinstance(column_major, bool):
        raise FormatError("its header is damaged", where=path, remedy=_DAMAGED)
    place = MatrixPlace(_dtype(dtype, path), as_shape(shape, path), offset, column_major)
    return map_matrix(path, place, size)


def read_header(handle: IO[bytes], path: Path) -> dict[str, Any]:
    """The header of ``.npy`` data; what is read next are its values.

    Raises:
        FormatError: it is damaged, or no header at all.
    """
    start = handle.read(8)
    if len(start) < 8 or not start.startswith(_MAGIC):
        raise _not_npy(start, path)
    length_bytes, encoding = _VERSIONS.get(start[6], (0, ""))
    length = int.from_bytes(handle.read(length_bytes), "little")
    if not 0 < length <= _LONGEST_HEADER:
        raise FormatError("its header is damaged, or of an unknown version", where=path, remedy=_DAMAGED)
    raw = handle.read(length)
    try:
        header = ast.literal_eval(_PYTHON_2_LONG.sub("", raw.decode(encoding)).strip())
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError) as error:
        # These are all that literal_eval is documented to raise.
        raise FormatError("its header is damaged", where=path, remedy=_DAMAGED) from error
    if len(raw) < length or not isinstance(header, dict):
        raise FormatError("its header is damaged", where=path, remedy=_DAMAGED)
    return header


def _dtype(described: object, path: Path) -> np.dtype[Any]:
    if isinstance(described, str) and _FLOAT.fullmatch(described):
        return np.dtype(described)
    raise wrong_dtype(_dtype_name(described), path)


def _dtype_name(described: object) -> str:
    if not isinstance(described, str):
        return "structured"
    if described.endswith("V2"):
        return "2-byte raw (bfloat16 is saved so)"
    if described.endswith("O"):
        return "pickled object"
    try:
        return np.dtype(described).name if _NUMBER.fullmatch(described) else shown(described)
    except TypeError:  # no type of numpy's has that many bytes
        return shown(described)


def _not_npy(start: bytes, path: Path) -> FormatError:
    if not start:
        return FormatError("it is empty", where=path, remedy=_DAMAGED)
    if start.startswith(b"PK"):
        found = "a zip archive (numpy's .npz, or torch's .pt)"
    elif start.startswith(b"\x80"):
        found = "a pickle, which is not opened"
    elif start.startswith(b"\x1f\x8b"):
        found = "gzip data"
    else:
        found = "not a .npy file"
    return FormatError(f"it is {found}", where=path, remedy="Save the matrix with numpy.save")
