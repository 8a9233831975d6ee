"""TokenEmbeddings: string ids and a ragged number of token vectors each, checked once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.data.embeddings import as_matrix, repeated
from askew.data.ids import as_ids, rows_of, tie_rank
from askew.data.ragged import as_mask, number_differs, plain_array, running_count, shape_differs, token_places
from askew.errors import DimensionError, EmbeddingError, counted, name_some
from askew.linalg import row_norms
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["TokenEmbeddings"]

# As for single vectors: a float64 above this overflows when two of them are multiplied and summed.
_LARGEST_NORM = 1e150
# Squares in float32 below this have lost bits or vanished: their roots are no bound of a norm.
_SMALLEST_SQUARE = 1e-30


class TokenEmbeddings:
    """Token vectors of queries or documents, for late interaction.

    The tokens of item i are the rows ``offsets[i]:offsets[i + 1]`` of one flat matrix, which is kept as it
    comes (memory-mapped stays memory-mapped, float16 stays float16) and read once, to refuse what is not
    finite and to find the largest norm. An item may have no tokens.

    Args:
        ids: m ids; integers and numpy strings become `str`.
        tokens: (T, d) float16, float32 or float64.
        offsets: (m + 1,) integers from 0 to T that never fall.
        weights: (T,) a sign or weight for each token, in Signed MaxSim; all 1 where None.
        encoder: the name of the encoder that made them, if known.
        code: the name of the code of indices, where they stand for sparse vectors (`askew.late.sparse_queries`).
        source: what to call them in messages, such as a path.

    Raises:
        EmbeddingError: wrong shape or dtype, offsets that fall or do not span the tokens, duplicate ids,
            tokens or weights that are not finite; the message names the items.

    >>> docs = TokenEmbeddings(["a", "b"], np.eye(3), [0, 2, 3])
    >>> docs, docs.tokens_of("b").tolist()
    (TokenEmbeddings(2 items, 3 tokens × 3 float64), [[0.0, 0.0, 1.0]])
    """

    def __init__(
        self,
        ids: Iterable[object],
        tokens: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None = None,
        encoder: str | None = None,
        code: str | None = None,
        source: object = None,
    ) -> None:
        self.source = source if source is not None else "token embeddings"
        self.ids: tuple[str, ...] = as_ids(ids)
        tensor = hasattr(tokens, "detach")
        self.tokens: FloatArray = as_matrix(plain_array(tokens, self.source) if tensor else tokens, self.source)
        self.encoder, self.code = encoder, code
        if len(self._rows) != len(self.ids):
            twice = repeated(self.ids)
            raise EmbeddingError(
                f"{counted(len(twice), 'id occurs', 'ids occur')} more than once: {name_some(twice)}",
                where=self.source,
                remedy="Keep one entry for each id",
            )
        self.offsets: IntArray = self._as_offsets(offsets)
        self.weights: Float64Array | None = None if weights is None else self._as_weights(weights)
        self.peak: float = self._largest_norm()

    @classmethod
    def from_list(
        cls,
        ids: Iterable[object],
        items: Iterable[Any],
        *,
        weights: Iterable[npt.ArrayLike] | None = None,
        encoder: str | None = None,
        code: str | None = None,
        source: object = None,
    ) -> TokenEmbeddings:
        """From one (tokens, d) matrix an item, as most multi-vector encoders give them.

        Args:
            ids: m ids.
            items: m matrices: numpy arrays, nested lists, or tensors of a library that can make them
                numpy arrays. ``[]`` is an item without tokens.
            weights: m sequences of a weight a token, or None.
            encoder: the encoder's name.
            code: as for the class.
            source: what to call them in messages.

        Raises:
            EmbeddingError: an item is no matrix of floats, or ids, items and weights differ in number.
            DimensionError: two items differ in dimension.

        >>> TokenEmbeddings.from_list(["a", "b"], [np.eye(2), np.ones((1, 2))]).offsets.tolist()
        [0, 2, 3]
        """
        where = source if source is not None else "token embeddings"
        names = as_ids(ids)
        _check_listed(items, "items", where)
        given = list(items)
        if len(given) != len(names):
            raise number_differs(f"{len(given):,} items", len(names), where)
        matrices = [plain_array(item, f"{where}, {name!r}") for name, item in zip(names, given, strict=True)]
        kept = [_item(matrix, name, where) for matrix, name in zip(matrices, names, strict=True)]
        filled = [(matrix, name) for matrix, name in zip(kept, names, strict=True) if len(matrix)]
        for matrix, name in filled:
            if matrix.shape[1] != filled[0][0].shape[1]:
                raise DimensionError(
                    f"the tokens of {name!r} have {matrix.shape[1]} dimensions and those of {filled[0][1]!r} "
                    f"{filled[0][0].shape[1]}",
                    where=where,
                    remedy="Give tokens of one encoder",
                )
        lengths = [len(matrix) for matrix in kept]
        flat = np.concatenate([matrix for matrix, _ in filled]) if filled else np.empty((0, 1), np.float32)
        if weights is not None:
            _check_listed(weights, "weights", where)
        held = None if weights is None else _joined_weights(list(weights), lengths, names, where)
        return cls(names, flat, running_count(lengths), weights=held, encoder=encoder, code=code, source=source)

    @classmethod
    def from_padded(
        cls,
        ids: Iterable[object],
        padded: npt.ArrayLike,
        mask: npt.ArrayLike | None = None,
        *,
        weights: npt.ArrayLike | None = None,
        encoder: str | None = None,
        source: object = None,
    ) -> TokenEmbeddings:
        """From one padded array and a mask. What is masked is dropped, so that it never enters a maximum.

        Args:
            ids: m ids.
            padded: (m, L, d).
            mask: (m, L), true or 1 for tokens that count; all by default.
            weights: (m, L), or None.
            encoder: the encoder's name.
            source: what to call them in messages.

        Raises:
            EmbeddingError: the array has not three axes, or mask or weights another shape than (m, L).

        >>> mask = [[1, 0], [1, 1]]
        >>> TokenEmbeddings.from_padded(["a", "b"], np.ones((2, 2, 4)), mask).lengths.tolist()
        [1, 2]
        """
        where = source if source is not None else "token embeddings"
        array = plain_array(padded)
        if array.ndim != 3:
            raise EmbeddingError(
                f"the array has {array.ndim} axes, of shape {array.shape}",
                where=where,
                remedy="Give (items, tokens, dimensions)",
            )
        names = as_ids(ids)
        if len(names) != len(array):
            raise number_differs(f"{len(array):,} items", len(names), where)
        keep = np.ones(array.shape[:2], dtype=bool) if mask is None else as_mask(mask, array.shape[:2], where)
        held = None if weights is None else plain_array(weights)
        if held is not None and held.shape != keep.shape:
            raise shape_differs("weights", held.shape, keep.shape, where)
        return cls(
            names,
            array[keep],
            running_count(keep.sum(axis=1)),
            weights=None if held is None else held[keep],
            encoder=encoder,
            source=source,
        )

    @property
    def dim(self) -> int:
        """The embedding dimension d."""
        return int(self.tokens.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """float16, float32 or float64."""
        return self.tokens.dtype

    @property
    def lengths(self) -> IntArray:
        """(m,) tokens an item."""
        return np.diff(self.offsets)

    @cached_property
    def tie_rank(self) -> IntArray:
        """(m,) the place of each id in ascending order: what breaks ties of scores."""
        return tie_rank(self.ids)

    @cached_property
    def heaviest(self) -> float:
        """The largest size of a weight; 1 without weights."""
        return 1.0 if self.weights is None else float(np.abs(self.weights).max(initial=0.0))

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __repr__(self) -> str:
        signed = ", weighted" if self.weights is not None else ""
        return (
            f"TokenEmbeddings({len(self):,} items, {len(self.tokens):,} tokens × {self.dim} {self.dtype.name}{signed})"
        )

    def rows(self, names: Iterable[str]) -> IntArray:
        """The numbers of some items, in the order of their ids.

        Raises:
            MatchError: some id is not here.
        """
        return rows_of(names, self._rows, lacking="have no token embeddings", where=self.source)

    def tokens_of(self, name: str) -> FloatArray:
        """(tokens, d) of one item.

        Raises:
            MatchError: the id is not here.
        """
        (row,) = self.rows([name])
        return self.tokens[self.offsets[row] : self.offsets[row + 1]]

    def take(self, names: Sequence[str]) -> TokenEmbeddings:
        """Some items, in the order asked for.

        Raises:
            MatchError: some id is not here.

        >>> TokenEmbeddings(["a", "b"], np.eye(3), [0, 2, 3]).take(["b"]).tokens.tolist()
        [[0.0, 0.0, 1.0]]
        """
        rows = self.rows(names)
        places, offsets = token_places(self.offsets, rows)
        weights = None if self.weights is None else self.weights[places]
        return TokenEmbeddings(
            (self.ids[row] for row in rows),
            self.tokens[places],
            offsets,
            weights=weights,
            encoder=self.encoder,
            code=self.code,
            source=self.source,
        )

    def masked(self, mask: npt.ArrayLike) -> TokenEmbeddings:
        """Without the tokens that a mask leaves out: they never enter a maximum.

        Args:
            mask: (T,) over the flat tokens, or (m, L) padded, L at least the longest item; true or 1 for
                tokens that count.

        Raises:
            EmbeddingError: the mask has another shape.

        >>> TokenEmbeddings(["a", "b"], np.eye(3), [0, 2, 3]).masked([True, False, True]).lengths.tolist()
        [1, 1]
        """
        held = plain_array(mask)
        if held.ndim == 2:
            width = int(self.lengths.max(initial=0))
            if held.shape[0] != len(self) or held.shape[1] < width:
                raise shape_differs("mask", held.shape, (len(self), width), self.source)
            held = held[np.arange(held.shape[1]) < self.lengths[:, None]]
        keep = as_mask(held, (len(self.tokens),), self.source)
        kept = np.concatenate([[0], np.cumsum(keep)])[self.offsets]
        weights = None if self.weights is None else self.weights[keep]
        return TokenEmbeddings(
            self.ids,
            self.tokens[keep],
            kept,
            weights=weights,
            encoder=self.encoder,
            code=self.code,
            source=self.source,
        )

    def _owners(self, tokens: IntArray) -> str:
        """Which items some tokens belong to, for a message."""
        rows = dict.fromkeys(np.searchsorted(self.offsets, tokens, side="right") - 1)
        return name_some([self.ids[row] for row in rows])

    def _as_offsets(self, values: npt.ArrayLike) -> IntArray:
        held = plain_array(values, self.source)
        if held.ndim != 1 or len(held) != len(self.ids) + 1 or (held.size and held.dtype.kind not in "iu"):
            raise EmbeddingError(
                f"the offsets are {held.dtype.name} of shape {held.shape} for {len(self.ids):,} ids",
                where=self.source,
                remedy="Give one integer more than there are ids",
            )
        offsets = held.astype(np.int64)
        falls = np.flatnonzero(np.diff(offsets) < 0)
        if len(falls):
            raise EmbeddingError(
                f"the offsets go backwards at {name_some(self.ids[row] for row in falls)}",
                where=self.source,
                remedy="Give the running count of tokens before each item",
            )
        if offsets[0] != 0 or offsets[-1] != len(self.tokens):
            raise EmbeddingError(
                f"the offsets run from {offsets[0]:,} to {offsets[-1]:,}, and there are {len(self.tokens):,} tokens",
                where=self.source,
                remedy="Begin at 0 and end at the number of tokens",
            )
        return offsets

    def _as_weights(self, values: npt.ArrayLike) -> Float64Array:
        held = plain_array(values, self.source)
        if held.dtype.kind not in "fiub":
            raise EmbeddingError(
                f"the weights are {held.dtype.name}", where=self.source, remedy="Give a real number a token"
            )
        if held.shape != (len(self.tokens),):
            raise shape_differs("weights", held.shape, (len(self.tokens),), self.source)
        weights = held.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(weights) | (np.abs(weights) > _LARGEST_NORM))
        if len(bad):
            raise EmbeddingError(
                f"{len(bad):,} signs or weights are NaN, infinite or above {_LARGEST_NORM:g}, of {self._owners(bad)}",
                where=self.source,
                remedy="Give every token a finite weight",
            )
        return weights

    def _largest_norm(self) -> float:
        """A bound, not less than the largest norm and hardly more; refuses tokens that are not finite."""
        peak = 0.0
        for part in blocks(len(self.tokens), rows_within(DEFAULT_BUDGET // 8, 8 * self.dim)):
            block: FloatArray = self.tokens[part]
            block = block.astype(np.float32) if self.dtype == np.float16 else block
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                squares: FloatArray = np.einsum("td,td->t", block, block)
            # Quick sums cannot tell what is not finite from what overflows or vanishes on the way: look closer.
            odd = np.flatnonzero(~np.isfinite(squares) | (squares < _SMALLEST_SQUARE))
            norms = row_norms(block[odd])
            bad = odd[~np.isfinite(norms) | (norms > _LARGEST_NORM)]
            if len(bad):
                raise EmbeddingError(
                    f"tokens of {self._owners(bad + part.start)} hold NaN, infinite or overflowing values",
                    where=self.source,
                    remedy="Embed them again, or leave them out",
                )
            squares[odd] = 0.0
            peak = max(peak, 1.001 * float(np.sqrt(squares.max(initial=0.0))), float(norms.max(initial=0.0)))
        return peak


def _item(matrix: npt.NDArray[Any], name: str, where: object) -> FloatArray:
    """One item's tokens: (tokens, d); those of an empty list have no dimension yet."""
    if matrix.size == 0 and matrix.ndim in (1, 2) and not matrix.shape[0]:
        return np.empty((0, 1), dtype=np.float32)
    return as_matrix(matrix, f"{where}, {name!r}")


def _check_listed(values: object, what: str, where: object) -> None:
    if not isinstance(values, Iterable):
        raise EmbeddingError(f"the {what} are a {type(values).__name__}", where=where, remedy="Give one an id")


def _joined_weights(
    weights: Sequence[npt.ArrayLike], lengths: Sequence[int], names: Sequence[str], where: object
) -> npt.NDArray[Any]:
    if len(weights) != len(names):
        raise number_differs(f"{len(weights):,} sequences of weights", len(names), where)
    held = [plain_array(values, f"{where}, {name!r}") for values, name in zip(weights, names, strict=True)]
    for values, length, name in zip(held, lengths, names, strict=True):
        if values.shape != (length,):
            raise shape_differs("weights", values.shape, (length,), f"{where}, {name!r}")
    return np.concatenate(held) if held else np.empty(0)
