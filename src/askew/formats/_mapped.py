"""A float matrix somewhere in a file, mapped into memory rather than read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from askew.errors import FormatError
from askew.formats._columns import shown
from askew.formats.text import unreadable

if TYPE_CHECKING:
    from askew.linalg.fixed import FloatArray

__all__ = ["Held", "MatrixPlace", "as_shape", "map_matrix", "wrong_dtype"]

# numpy counts bytes in a signed 64-bit integer; a shape past this is a damaged header anyway.
_MOST_BYTES = 2**62


@dataclass(frozen=True)
class Held:
    """What a file of embeddings holds.

    Attributes:
        matrix: (n, d).
        ids: n ids, if they are in the file.
        encoder: the encoder's name, if it is in the file.
        refused: why the ids in the file cannot be used; others can be given in their place.
    """

    matrix: FloatArray
    ids: Sequence[object] | None = None
    encoder: str | None = None
    refused: FormatError | None = None


@dataclass(frozen=True)
class MatrixPlace:
    """Where a matrix lies in its file.

    Attributes:
        dtype: float16, float32 or float64, in either byte order.
        shape: (n, d).
        offset: bytes before its first value.
        column_major: whether columns, not rows, are contiguous (Fortran's order).
    """

    dtype: np.dtype[Any]
    shape: tuple[int, int]
    offset: int
    column_major: bool = False


def as_shape(value: Sequence[object], path: Path) -> tuple[int, int]:
    """A shape from a header, checked to be that of a matrix.

    Raises:
        FormatError: it has not two axes, or sizes that no file has.
    """
    sizes = [size for size in value if isinstance(size, int) and not isinstance(size, bool) and size >= 0]
    if len(sizes) != len(value) or math.prod(max(1, size) for size in sizes) > _MOST_BYTES // 8:
        raise FormatError("its header gives an impossible shape", where=path, remedy="Write the file again")
    if len(sizes) != 2:
        raise FormatError(
            f"the array has {len(sizes)} axes, of shape {tuple(sizes)}",
            where=path,
            remedy="Save a matrix with one row an item; for one vector, vector[None, :]",
        )
    return sizes[0], sizes[1]


def wrong_dtype(held: str, path: Path, name: str = "") -> FormatError:
    """The FormatError for a matrix, or an array of some name, of a type that is not used here."""
    return FormatError(
        f"the array {shown(name)} holds {held} values" if name else f"the matrix holds {held} values",
        where=path,
        remedy=f"Save {'a matrix' if name else 'it'} as float16, float32 or float64{', ids as text' if name else ''}",
    )


def map_matrix(path: Path, place: MatrixPlace, size: int) -> FloatArray:
    """Map a matrix: (n, d), read-only.

    Args:
        path: the file.
        place: where in the file.
        size: how many bytes the file has.

    Raises:
        FormatError: the file is shorter than its header says, or cannot be mapped.
    """
    needed = place.offset + math.prod(place.shape) * place.dtype.itemsize
    if size < needed:
        raise FormatError(
            f"it is cut short: {place.shape[0]:,} × {place.shape[1]:,} {place.dtype.name} "
            f"need {needed:,} bytes, and it has {size:,}",
            where=path,
            remedy="Copy or write the file again",
        )
    order: Any = "F" if place.column_major else "C"
    if 0 in place.shape:  # nothing to map
        return np.empty(place.shape, dtype=place.dtype, order=order)
    try:
        return np.memmap(path, place.dtype, "r", offset=place.offset, shape=place.shape, order=order)
    except (OSError, ValueError) as error:  # ValueError: the file shrank since its size was taken
        raise unreadable(path, error) from error
