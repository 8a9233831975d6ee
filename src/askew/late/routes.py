"""Which document token a query token meets: found by a fast product, settled in a fixed order.

The *route* of a query token in a document is the document token of the largest similarity, of the lowest
index among equals. A `Finder` bounds every score from a fast product alone, and settles what is wanted
exactly: tokens within two errors of the largest product are multiplied again by `row_dots`, whose bits
depend on nothing but the two rows. So every finder settles the same. Here is the one that the BLAS serves;
`askew.late.fused` has the one that is compiled.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from askew._blocks import blocks, rows_within
from askew.late.prepared import Asked, Block
from askew.linalg import row_dots, tree_sum
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["Blas", "Finder", "Room", "Routes", "query_sums"]

# Document tokens a product, or more for few query tokens: the result stays in cache (2^20 float32 are 4 MiB).
_MOST_TOKENS, _MOST_ENTRIES = 2048, 2**18
# What an entry of a product costs at most, where every token is a candidate: itself, its places, score and bounds.
_BYTES_AN_ENTRY = 128
# Bytes of rows that are multiplied in float64 at a time: what a cache holds.
_GATHERED = 2**20
# Entries of a product that are compared at a time: they and their floors stay in the nearest large cache.
_COMPARED = 2**16


@dataclass(frozen=True, eq=False)
class Routes:
    """Settled routes of t query tokens in f documents.

    Attributes:
        similarity: (t, f) float64.
        token: (t, f) the document token's index in its block.
        contribution: (t, f) the similarity times the signs or weights of both tokens.
    """

    similarity: Float64Array
    token: IntArray
    contribution: Float64Array

    @classmethod
    def of(cls, asked: Asked, block: Block, similarity: Float64Array, token: IntArray) -> Routes:
        """Multiply (t, f) similarities by the signs or weights of both tokens."""
        contribution = similarity * asked.weights[:, None]
        if block.weights is not None:
            contribution *= block.weights[token]
        return cls(similarity, token, contribution)


@dataclass(frozen=True)
class Room:
    """What a block of documents may hold and takes.

    Attributes:
        token: bytes a document token.
        document: bytes a document.
        most: tokens beyond which a larger block runs no faster.
    """

    token: int
    document: int
    most: int


class Finder(Protocol):
    """Multiplies a block of queries with a block of documents, on any thread."""

    def room(self, asked: Asked) -> Room:
        """What a block of documents takes under these queries."""
        ...

    def bounds(self, asked: Asked, block: Block) -> tuple[Float64Array, Float64Array]:
        """(n, f) bounds of the scores of n queries and f documents: none is below the first or above the second."""
        ...

    def settle(self, asked: Asked, block: Block) -> Routes:
        """Exact routes and contributions, the same to the last bit whatever stands beside a pair."""
        ...


@dataclass(frozen=True, eq=False)
class Blas:
    """Products by numpy's BLAS, stored, and looked through by numpy.

    Attributes:
        held: a place for products, one a thread, so that no block asks the system for memory again.
    """

    held: threading.local = field(default_factory=threading.local)

    def room(self, asked: Asked) -> Room:
        """A product that stays in cache."""
        count, dim = asked.tokens.shape
        return Room(_BYTES_AN_ENTRY * count + 16 * dim, 0, max(_MOST_TOKENS, _MOST_ENTRIES // count))

    def bounds(self, asked: Asked, block: Block) -> tuple[Float64Array, Float64Array]:
        """From the largest products; where a route is not sure, over all that are left open."""
        products = self.product(asked.narrow, block.narrow)
        largest = np.maximum.reduceat(products, block.starts, axis=1)
        reach = asked.score_error(block.weights)
        if block.weights is None:
            middle = np.add.reduceat((asked.weights * asked.unit)[:, None] * largest, asked.starts, axis=0)
            return middle - reach, middle + reach
        least, most = _weighted(asked, block, products, largest)
        low = np.add.reduceat(least, asked.starts, axis=0) - reach
        high = low + 2 * reach if most is least else np.add.reduceat(most, asked.starts, axis=0) + reach
        return low, high

    def settle(self, asked: Asked, block: Block) -> Routes:
        """Every token that can be a route is multiplied again."""
        products = self.product(asked.narrow, block.narrow)
        largest = np.maximum.reduceat(products, block.starts, axis=1)
        close = _Close.of(asked, block, products, largest)
        exact = _exact(asked, block, close)
        if len(exact) == largest.size:
            best, route = exact, close.token
        else:
            starts = close.starts()
            best = np.maximum.reduceat(exact, starts)
            place = np.where(exact == best[close.pair], np.arange(len(exact)), len(exact))
            route = close.token[np.minimum.reduceat(place, starts)]
        return Routes.of(asked, block, best.reshape(largest.shape), route.reshape(largest.shape))

    def product(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Left · rightᵀ, good until the next call on this thread."""
        shape = (len(left), len(right))
        size = shape[0] * shape[1]
        flat = getattr(self.held, "flat", None)
        if flat is None or len(flat) < size or flat.dtype != left.dtype:
            flat = self.held.flat = np.empty(size, dtype=left.dtype)
        return np.matmul(left, right.T, out=flat[:size].reshape(shape))


@dataclass(frozen=True, eq=False)
class _Close:
    """Products within two errors of the largest of their query token and document: at least one of each pair.

    Attributes:
        at: (h,) places in the flat product, ascending.
        query: (h,) query tokens.
        token: (h,) document tokens.
        pair: (h,) query token · f + document, never falling.
    """

    at: IntArray
    query: IntArray
    token: IntArray
    pair: IntArray

    @classmethod
    def of(cls, asked: Asked, block: Block, products: FloatArray, largest: FloatArray) -> _Close:
        reach = 2 * asked.close[:, None]
        # Rounded down, so that the product's type cannot lose what is too close to call.
        lowest = np.nextafter((largest - reach).astype(products.dtype), products.dtype.type(-np.inf))
        count, width = products.shape
        found = [
            np.flatnonzero(products[part] >= np.repeat(lowest[part], block.lengths, axis=1)) + part.start * width
            for part in blocks(count, rows_within(_COMPARED, width))
        ]
        at = np.concatenate(found)
        # Sorted, so the ends of rows tell the row of each at a fraction of a division's cost.
        query = np.repeat(np.arange(count), np.diff(np.searchsorted(at, width * np.arange(count + 1))))
        token = at - query * width
        document = np.repeat(np.arange(len(block.lengths)), block.lengths)
        return cls(at, query, token, query * len(block.lengths) + document[token])

    def starts(self) -> IntArray:
        """(t · f,) where each pair begins."""
        return np.flatnonzero(np.concatenate([[True], self.pair[1:] != self.pair[:-1]]))


def query_sums(routes: Routes, asked: Asked) -> Float64Array:
    """(n, f) exact scores: contributions summed over each query's tokens in a fixed order."""
    ends = np.append(asked.starts[1:], len(asked.tokens))
    sums = np.empty((len(asked.starts), routes.contribution.shape[1]))
    for row, (begin, end) in enumerate(zip(asked.starts, ends, strict=True)):
        sums[row] = tree_sum(np.ascontiguousarray(routes.contribution[begin:end].T))
    return sums + 0.0


def _exact(asked: Asked, block: Block, close: _Close) -> Float64Array:
    """(h,) products of some rows in a fixed order; few at a time, since each is gathered in float64."""
    exact = np.empty(len(close.at))
    for part in blocks(len(exact), rows_within(_GATHERED, 24 * asked.tokens.shape[1])):
        exact[part] = row_dots(asked.tokens[close.query[part]], block.tokens[close.token[part]])
    exact += 0.0  # turns a -0.0 into 0.0
    return exact


def _weighted(
    asked: Asked, block: Block, products: FloatArray, largest: FloatArray
) -> tuple[Float64Array, Float64Array]:
    """(t, f) least and most that contributions can be, but for errors of products, over all routes left open.

    They are one array where every route is sure.
    """
    assert block.weights is not None  # noqa: S101 - the one caller has looked
    close = _Close.of(asked, block, products, largest)
    factor = (asked.weights * asked.unit)[close.query] * block.weights[close.token]
    middle = factor * products.ravel()[close.at]
    if len(middle) == largest.size:
        held = middle.reshape(largest.shape)
        return held, held
    least, most = np.empty((2, largest.size))
    least[close.pair] = most[close.pair] = middle
    open_ = np.flatnonzero(close.pair[1:] == close.pair[:-1])
    for place in (open_, open_ + 1):
        np.minimum.at(least, close.pair[place], middle[place])
        np.maximum.at(most, close.pair[place], middle[place])
    return least.reshape(largest.shape), most.reshape(largest.shape)
