"""Pairs: what an alignment learns from documents that two encoders have embedded, as sums that add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from askew._blocks import blocks
from askew.data import EmbeddingSet, stable_hashes
from askew.errors import DimensionError, EmbeddingError, MatchError, name_some
from askew.linalg import FloatArray
from askew.linalg.fixed import BoolArray, Float64Array, IntArray

__all__ = ["PairMoments", "Pairs"]

# Rows that are multiplied at once. A constant: sums in another order differ in their last bits.
_ROWS = 2048
# One document in so many is held out.
_HELD_OUT = 10


@dataclass(frozen=True, eq=False)
class PairMoments:
    """Sums over n pairs of rows x (d_query) and y (d_document): additive, so that parts may be merged.

    Attributes:
        count: n.
        source_sum: (d_query,) Σ x.
        target_sum: (d_document,) Σ y.
        source: (d_query, d_query) Σ x xᵀ.
        cross: (d_query, d_document) Σ x yᵀ.
        target: Σ ‖y‖².

    >>> one, two = (PairMoments.of(np.eye(2)[[row]], np.ones((1, 1))) for row in (0, 1))
    >>> (one + two).cross.tolist()
    [[1.0], [1.0]]
    """

    count: int
    source_sum: Float64Array
    target_sum: Float64Array
    source: Float64Array
    cross: Float64Array
    target: float

    @classmethod
    def of(cls, source: FloatArray, target: FloatArray) -> PairMoments:
        """The sums of a block of rows.

        Args:
            source: (n, d_query).
            target: (n, d_document).

        Raises:
            DimensionError: the two have not the same number of rows.
        """
        if len(source) != len(target):
            raise DimensionError(f"{len(source):,} rows are paired with {len(target):,}", remedy="Pair row with row")
        x, y = np.asarray(source, dtype=np.float64), np.asarray(target, dtype=np.float64)
        return cls(len(x), x.sum(axis=0), y.sum(axis=0), x.T @ x, x.T @ y, float(np.sum(np.square(y))))

    def __add__(self, other: PairMoments) -> PairMoments:
        return PairMoments(
            self.count + other.count,
            self.source_sum + other.source_sum,
            self.target_sum + other.target_sum,
            self.source + other.source,
            self.cross + other.cross,
            self.target + other.target,
        )

    @property
    def source_mean(self) -> Float64Array:
        """(d_query,) μ."""
        return self.source_sum / max(self.count, 1)

    @property
    def target_mean(self) -> Float64Array:
        """(d_document,) ν."""
        return self.target_sum / max(self.count, 1)

    @cached_property
    def centred(self) -> PairMoments:
        """The same about the means: n times covariances in place of second moments."""
        count, x, y = self.count, self.source_mean, self.target_mean
        return PairMoments(
            self.count,
            np.zeros_like(x),
            np.zeros_like(y),
            self.source - count * np.outer(x, x),
            self.cross - count * np.outer(x, y),
            self.target - count * float(y @ y),
        )


@dataclass(frozen=True, eq=False)
class Pairs:
    """n distinct documents that two encoders have embedded, some of them held out by a hash of their ids.

    A document with a zero vector on either side has no direction and is left out; of documents with the same two
    vectors the first stands for all, so that none is learned from and judged by at once.

    Attributes:
        source: the query encoder's embeddings.
        target: the document encoder's.
        source_rows: (n,) rows of the first.
        target_rows: (n,) rows of the second, of the same documents.
        held_out: (n,) True for documents to judge by; all False where there are too few.
        order: (n,) hashes of their ids.
        left_out: how many common documents have a zero vector.
        copies: how many are copies of one that is kept.
    """

    source: EmbeddingSet
    target: EmbeddingSet
    source_rows: IntArray
    target_rows: IntArray
    held_out: BoolArray
    order: npt.NDArray[np.uint64]
    left_out: int
    copies: int

    @classmethod
    def build(cls, source: EmbeddingSet, target: EmbeddingSet, *, seed: int = 0) -> Pairs:
        """Pair documents by id.

        Args:
            source: documents by the query encoder.
            target: documents by the document encoder.
            seed: of the hash.

        Raises:
            MatchError: no document is in both.
            EmbeddingError: every common document has a zero vector.
        """
        common = [name for name in target.ids if name in source]
        if not common:
            raise MatchError(
                f"no document is embedded by both encoders: {name_some(source.ids, 3) or 'none'} by "
                f"{source.encoder or 'the query encoder'}, {name_some(target.ids, 3) or 'none'} by "
                f"{target.encoder or 'the document encoder'}",
                where=source.source,
                remedy="Embed some documents of the index with the query encoder too, under the same ids",
            )
        rows = source.rows(common), target.rows(common)
        whole = (source.norms[rows[0]] > 0) & (target.norms[rows[1]] > 0)
        if not whole.any():
            raise EmbeddingError(
                f"each of the {len(common):,} common documents has a zero vector",
                where=source.source,
                remedy="Check how the documents were embedded",
            )
        first = _distinct(source, target, rows[0][whole], rows[1][whole])
        kept = np.flatnonzero(whole)[first]
        order = stable_hashes((common[row] for row in kept), f"held-{seed}")
        held = order % _HELD_OUT == 0
        if not 0 < held.sum() < len(held):
            held[:] = False
        left_out = len(common) - int(whole.sum())
        return cls(source, target, rows[0][kept], rows[1][kept], held, order, left_out, int(whole.sum()) - len(kept))

    def __len__(self) -> int:
        return len(self.source_rows)

    @property
    def held_ids(self) -> tuple[str, ...]:
        """The ids of documents held out."""
        return tuple(self.target.ids[row] for row in self.target_rows[self.held_out])

    def blocks(self) -> Iterator[tuple[Float64Array, Float64Array, BoolArray]]:
        """Unit rows of both sides in float64, and which are held out, block by block."""
        for part in blocks(len(self), _ROWS):
            rows = self.source_rows[part], self.target_rows[part]
            yield self.source.unit(rows[0]), self.target.unit(rows[1]), self.held_out[part]

    def held_blocks(self) -> Iterator[tuple[Float64Array, Float64Array]]:
        """Unit rows of the documents held out, block by block."""
        there = np.flatnonzero(self.held_out)
        for part in blocks(len(there), _ROWS):
            yield self.asked(there[part]), self.told(there[part])

    def sample(self, count: int, *, held_out: bool) -> IntArray:
        """The first `count` by hash of the documents held out, or of the others."""
        there = np.flatnonzero(self.held_out == held_out)
        return np.asarray(there[np.argsort(self.order[there], kind="stable")[:count]])

    def asked(self, places: IntArray) -> Float64Array:
        """Unit rows of the first side."""
        return self.source.unit(self.source_rows[places])

    def told(self, places: IntArray) -> Float64Array:
        """Unit rows of the second side."""
        return self.target.unit(self.target_rows[places])

    def moments(self) -> tuple[PairMoments, PairMoments]:
        """Of the documents to learn from, and of those held out, in one pass."""
        shape = self.source.dim, self.target.dim
        found = [PairMoments.of(np.empty((0, shape[0])), np.empty((0, shape[1])))] * 2
        for x, y, held in self.blocks():
            found = [found[0] + PairMoments.of(x[~held], y[~held]), found[1] + PairMoments.of(x[held], y[held])]
        return found[0], found[1]


def _distinct(source: EmbeddingSet, target: EmbeddingSet, first: IntArray, second: IntArray) -> IntArray:
    """Ascending places of the first of each set of pairs that are equal byte for byte."""
    keys = np.empty(len(first), dtype=np.uint64)
    for part in blocks(len(first), _ROWS):
        sides = _keys(source.matrix[first[part]], 0), _keys(target.matrix[second[part]], 1)
        keys[part] = sides[0] + sides[1]
    return np.sort(np.unique(keys, return_index=True)[1])


def _keys(rows: FloatArray, salt: int) -> npt.NDArray[np.uint64]:
    """(n,) hashes of rows: 64-bit words of their bytes, mixed (MurmurHash3's last step) and summed with odd factors."""
    data = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), -1)
    words = np.pad(data, ((0, 0), (0, -data.shape[1] % 8))).view(np.uint64)
    words ^= words >> np.uint64(33)
    words *= np.uint64(0xFF51AFD7ED558CCD)
    words ^= words >> np.uint64(33)
    factors = np.random.default_rng(salt).integers(1 << 63, size=words.shape[1], dtype=np.uint64) * 2 + 1
    return np.asarray((words * factors).sum(axis=1, dtype=np.uint64))
