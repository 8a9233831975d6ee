"""EmbeddingSet: string ids and a matrix, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from askew.data.ids import as_ids, rows_of, tie_rank
from askew.errors import EmbeddingError, MatchError, ParameterError, counted, name_some
from askew.linalg import row_norms
from askew.linalg.fixed import Float64Array, FloatArray

__all__ = ["EmbeddingSet", "as_matrix", "repeated"]

# A float64 above this overflows when two of them are multiplied and summed; float16 and float32 cannot.
_LARGEST_NORM = 1e150


class EmbeddingSet:
    """Embeddings of one side (queries or documents) by one encoder.

    The matrix is kept as it comes (memory-mapped stays memory-mapped, float16 stays float16). It is
    read once, in blocks, to find its norms and every row that cannot be used.

    Args:
        ids: n ids; integers and numpy strings become `str`.
        matrix: (n, d) float16, float32 or float64.
        encoder: the name of the encoder that made it, if known.
        bad_rows: what to do with rows that hold NaN or infinite values: ``"raise"``, or ``"drop"``
            them and list their ids in `dropped`.
        source: what to call it in messages, such as a path.

    Raises:
        EmbeddingError: wrong shape or dtype, ids and rows of unequal number, duplicate ids, rows
            that are not finite.
        ParameterError: `bad_rows` is neither.

    >>> docs = EmbeddingSet(["a", "b"], np.eye(2, dtype=np.float32), encoder="demo")
    >>> docs, docs.row("b")
    (EmbeddingSet(2 × 2 float32, encoder='demo'), 1)
    """

    def __init__(
        self,
        ids: Iterable[object],
        matrix: npt.ArrayLike,
        *,
        encoder: str | None = None,
        bad_rows: Literal["raise", "drop"] = "raise",
        source: object = None,
    ) -> None:
        where = source if source is not None else "embeddings"
        self.ids: tuple[str, ...] = as_ids(ids)
        self.matrix: FloatArray = as_matrix(matrix, where)
        self.encoder = encoder
        self.source = where
        self.dropped: tuple[str, ...] = ()
        if len(self.ids) != len(self.matrix):
            raise EmbeddingError(
                f"{counted(len(self.ids), 'id')} for {counted(len(self.matrix), 'row')}",
                where=where,
                remedy="Give one id a row, in the order of the rows",
            )
        if len(self._rows) != len(self.ids):
            twice = repeated(self.ids)
            raise EmbeddingError(
                f"{counted(len(twice), 'id occurs', 'ids occur')} more than once: {name_some(twice)}",
                where=where,
                remedy="Keep one row for each id",
            )
        self.norms: Float64Array = row_norms(self.matrix)
        if bad_rows not in ("raise", "drop"):
            raise ParameterError(f"bad_rows is {bad_rows!r}", where=where, remedy="Say 'raise' or 'drop'")
        self._check_rows(bad_rows)

    def _check_rows(self, bad_rows: str) -> None:
        bad = np.flatnonzero(~np.isfinite(self.norms) | (self.norms > _LARGEST_NORM))
        if not len(bad):
            return
        names = [self.ids[row] for row in bad]
        if bad_rows != "drop":
            raise EmbeddingError(
                f"{len(bad):,} of {len(self.ids):,} rows hold NaN, infinite or overflowing values: {name_some(names)}",
                where=self.source,
                remedy="Embed them again, or drop them (--bad-rows drop, bad_rows='drop')",
            )
        keep = np.setdiff1d(np.arange(len(self.ids)), bad)
        self.dropped = tuple(names)
        self.ids = tuple(self.ids[row] for row in keep)
        self.matrix, self.norms = self.matrix[keep], self.norms[keep]
        self.__dict__.pop("_rows", None)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    @cached_property
    def tie_rank(self) -> npt.NDArray[np.int64]:
        """(n,) the place of each id in ascending order: what breaks ties of scores."""
        return tie_rank(self.ids)

    @property
    def dim(self) -> int:
        """The embedding dimension d."""
        return int(self.matrix.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float16, float32 or float64."""
        return self.matrix.dtype

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __repr__(self) -> str:
        named = f", encoder={self.encoder!r}" if self.encoder else ""
        return f"EmbeddingSet({len(self):,} × {self.dim} {self.dtype.name}{named})"

    def row(self, name: str) -> int:
        """The row number of an id.

        Raises:
            MatchError: the id is not here.
        """
        try:
            return self._rows[name]
        except KeyError:
            raise MatchError(f"there is no embedding with the id {name!r}", where=self.source) from None

    def rows(self, names: Iterable[str]) -> npt.NDArray[np.int64]:
        """The row numbers of ids, in their order.

        Raises:
            MatchError: some id is not here.
        """
        return rows_of(names, self._rows, lacking="have no embedding", where=self.source)

    def unit(self, rows: npt.NDArray[np.int64] | slice = slice(None)) -> Float64Array:
        """Some rows, or all, scaled to norm 1: (r, d) float64; a zero vector stays one.

        >>> EmbeddingSet("ab", np.array([[3.0, 4.0], [0.0, 0.0]])).unit().tolist()
        [[0.6, 0.8], [0.0, 0.0]]
        """
        norms = self.norms[rows]
        return np.asarray(self.matrix[rows], dtype=np.float64) / np.where(norms > 0, norms, 1.0)[:, None]

    def take(self, names: Sequence[str]) -> EmbeddingSet:
        """The embeddings of some ids, in the order asked for.

        Raises:
            MatchError: some id is not here.

        >>> EmbeddingSet(["a", "b"], np.eye(2)).take(["b"]).matrix.tolist()
        [[0.0, 1.0]]
        """
        rows = self.rows(names)
        return EmbeddingSet(
            (self.ids[row] for row in rows), self.matrix[rows], encoder=self.encoder, source=self.source
        )


def as_matrix(matrix: npt.ArrayLike, where: object) -> FloatArray:
    """A matrix of floats in the machine's byte order, of at most 64 bits; mapped stays mapped.

    Raises:
        EmbeddingError: ragged rows, another number of axes than two, no dimension, or no floats.
    """
    try:
        array = matrix if isinstance(matrix, np.memmap) else np.asarray(matrix)
    except ValueError as error:  # ragged rows
        raise EmbeddingError(
            f"the rows do not form a matrix ({error})", where=where, remedy="Give rows of one length"
        ) from None
    if array.dtype.kind != "f":
        raise EmbeddingError(
            f"the matrix holds {array.dtype.name} values",
            where=where,
            remedy="Give float16, float32 or float64 embeddings",
        )
    if array.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # an infinity is found later, with its id
            array = array.astype(np.float64)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.ndim != 2:
        raise EmbeddingError(
            f"the array has {array.ndim} axes, of shape {array.shape}",
            where=where,
            remedy="Give a matrix with one row an item; for one vector, vector[None, :]",
        )
    if array.shape[1] == 0:
        raise EmbeddingError("the embeddings have no dimension", where=where, remedy="Give rows with values")
    return array


def repeated(ids: Sequence[str]) -> list[str]:
    """The ids that occur more than once, each once.

    >>> repeated(["a", "b", "a"])
    ['a']
    """
    seen: set[str] = set()
    twice: dict[str, None] = {}
    for name in ids:
        if name in seen:
            twice[name] = None
        seen.add(name)
    return list(twice)
