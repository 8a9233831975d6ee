"""The finder of compiled loops: maxima and their places in one pass, and exact routes in another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew.late.kernels import LANES, Kernels, Nearest
from askew.late.prepared import Asked, Block
from askew.late.routes import Room, Routes
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["Fused"]

# Tokens a block: some milliseconds of work, so that threads end together and what surrounds a block costs little.
_MOST_TOKENS, _MOST_ENTRIES = 8192, 2**21
# Bytes of a query token and a document: two products, a place, a similarity, a contribution, a weight and its place.
_BYTES_A_PAIR = 64


@dataclass(frozen=True, eq=False)
class Fused:
    """A `Finder` (`askew.late.routes`).

    Attributes:
        kernels: the loops.
    """

    kernels: Kernels

    def room(self, asked: Asked) -> Room:
        """Documents converted or gathered, and what is kept of a pair."""
        count, dim = asked.tokens.shape
        columns = -(-count // LANES) * LANES
        return Room(16 * dim, _BYTES_A_PAIR * columns, max(_MOST_TOKENS, _MOST_ENTRIES // count))

    def bounds(self, asked: Asked, block: Block) -> tuple[Float64Array, Float64Array]:
        """From the largest products; a route that is not sure is settled first."""
        offsets = _offsets(block)
        found = self.kernels.nearest(asked.narrow, block.narrow, offsets)
        if block.weights is None:
            contribution = found.largest[:, : len(asked.tokens)] * (asked.weights * asked.unit)
        else:
            similarity = self._similarity(asked, block, found, offsets, every=False)
            contribution = similarity * asked.weights * block.weights[_tokens(asked, block, found)]
        middle = np.add.reduceat(contribution, asked.starts, axis=1).T
        reach = asked.score_error(block.weights)
        return middle - reach, middle + reach

    def settle(self, asked: Asked, block: Block) -> Routes:
        """One token of each document is multiplied again, and where its route is not sure, some more."""
        offsets = _offsets(block)
        found = self.kernels.nearest(asked.narrow, block.narrow, offsets)
        similarity = self._similarity(asked, block, found, offsets, every=True)
        return Routes.of(asked, block, similarity.T, _tokens(asked, block, found).T)

    def _similarity(
        self, asked: Asked, block: Block, found: Nearest, offsets: IntArray, *, every: bool
    ) -> Float64Array:
        # float16 is the same in float32, and never scaled.
        exact: FloatArray = block.narrow if block.tokens.dtype == np.float16 else block.tokens
        return self.kernels.settle(
            found,
            (asked.tokens, asked.narrow),
            (exact, block.narrow),
            offsets,
            reach=2 * asked.close,
            unit=asked.unit,
            every=every,
        )


def _offsets(block: Block) -> IntArray:
    return np.append(block.starts, len(block.tokens)).astype(np.int64)


def _tokens(asked: Asked, block: Block, found: Nearest) -> IntArray:
    """(f, t) routes as indices in the block."""
    return block.starts[:, None] + found.token[:, : len(asked.tokens)]
