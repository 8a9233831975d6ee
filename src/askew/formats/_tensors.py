"""One matrix in a ``.safetensors`` file: mapped when read, written in blocks.

The format is an 8-byte length, a JSON header and the values, so a matrix can be mapped where it
lies; the `safetensors` package would copy it into memory. The tests hold both against each other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from askew._atomic import writing_file
from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.errors import FormatError, OutputError, name_some
from askew.formats._columns import shown
from askew.formats._json import id_list, parse_json
from askew.formats._mapped import Held, MatrixPlace, as_shape, map_matrix, wrong_dtype
from askew.formats.text import open_bytes

if TYPE_CHECKING:
    from askew.linalg.fixed import FloatArray

__all__ = ["TENSOR_NAME", "map_tensor", "write_tensor"]

#: What the matrix is called in files written here.
TENSOR_NAME = "embeddings"
_DTYPES = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
# The format's own limit on its header.
_LONGEST_HEADER = 100_000_000
_DAMAGED = "Write the file again"


def map_tensor(path: Path) -> Held:
    """Map the tensor called ``embeddings``, or the only one with two axes; ids and encoder are in the metadata.

    Raises:
        FormatError: the file is damaged or cut short, has no such tensor, or one that is not
            float16, float32 or float64.
    """
    with open_bytes(path) as handle:
        size = os.fstat(handle.fileno()).st_size
        length = int.from_bytes(handle.read(8), "little")
        if not 2 <= length <= min(_LONGEST_HEADER, size - 8):
            raise FormatError("it is not a safetensors file, or is cut short", where=path, remedy=_DAMAGED)
        raw = handle.read(length)
    header = _header(raw, path)
    metadata = _mapping(header.pop("__metadata__", None) or {}, path)
    place = _place(_mapping(_chosen(header, path), path), 8 + length, path)
    texts = {key: value for key, value in metadata.items() if isinstance(value, str)}
    matrix, encoder = map_matrix(path, place, size), texts.get("encoder")
    try:
        ids = id_list(texts["ids"], f"{path} (metadata 'ids')") if "ids" in texts else None
    except FormatError as error:
        return Held(matrix, encoder=encoder, refused=error)
    return Held(matrix, ids, encoder)


def write_tensor(path: Path, matrix: FloatArray, metadata: Mapping[str, str]) -> None:
    """Write a matrix and its metadata, atomically and in blocks.

    Args:
        path: the file.
        matrix: (n, d) float16, float32 or float64.
        metadata: name → text.

    Raises:
        OutputError: the place cannot be written to, or the metadata do not fit a header.
    """
    count, dim = matrix.shape
    target = matrix.dtype.newbyteorder("<")
    code = {2: "F16", 4: "F32", 8: "F64"}[target.itemsize]
    entry = {"dtype": code, "shape": [count, dim], "data_offsets": [0, count * dim * target.itemsize]}
    header = json.dumps({"__metadata__": dict(metadata), TENSOR_NAME: entry}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # so that the values are aligned
    if len(header) > _LONGEST_HEADER:
        raise OutputError("its ids do not fit a safetensors header", where=path, remedy="Write .npy instead")
    with writing_file(path) as temporary, temporary.open("wb") as handle:
        handle.write(len(header).to_bytes(8, "little") + header)
        for rows in blocks(count, rows_within(DEFAULT_BUDGET, dim * target.itemsize)):
            handle.write(np.ascontiguousarray(matrix[rows], dtype=target).data)


def _header(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise FormatError("it is not a safetensors file", where=path, remedy=_DAMAGED) from error
    return _mapping(parse_json(text, f"{path} (header)"), path)


def _mapping(value: object, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError("its header is damaged", where=path, remedy=_DAMAGED)
    return value


def _chosen(tensors: dict[str, Any], path: Path) -> object:
    if TENSOR_NAME in tensors:
        return tensors[TENSOR_NAME]
    shapes = {name: _list(_mapping(entry, path).get("shape"), path) for name, entry in tensors.items()}
    flat = [name for name, shape in shapes.items() if len(shape) == 2]
    if len(flat) != 1:
        named = f": {name_some(flat or tensors)}" if tensors else ""
        raise FormatError(
            f"{len(flat)} of its {len(tensors)} tensors have two axes{named}",
            where=path,
            remedy=f"Save one matrix, or call it '{TENSOR_NAME}'",
        )
    return tensors[flat[0]]


def _place(entry: dict[str, Any], start: int, path: Path) -> MatrixPlace:
    shape = as_shape(_list(entry.get("shape"), path), path)
    held = entry.get("dtype")
    if not isinstance(held, str) or held not in _DTYPES:
        named = shown(held) if isinstance(held, str) else "unknown"
        raise wrong_dtype("bfloat16" if held == "BF16" else named, path)
    dtype = np.dtype(_DTYPES[held])
    offsets = _list(entry.get("data_offsets"), path)
    whole = all(type(offset) is int and offset >= 0 for offset in offsets)  # a bool is no offset
    if len(offsets) != 2 or not whole or offsets[1] - offsets[0] != shape[0] * shape[1] * dtype.itemsize:
        raise FormatError("its offsets do not fit its shape", where=path, remedy=_DAMAGED)
    return MatrixPlace(dtype, shape, start + offsets[0])


def _list(value: object, path: Path) -> list[Any]:
    if not isinstance(value, list):
        raise FormatError("its header is damaged", where=path, remedy=_DAMAGED)
    return value
