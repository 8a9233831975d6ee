"""Which document token a query token meets: found by a fast product, settled in a fixed order.

The *route* of a query token in a document is the document token of the largest similarity, of the lowest
index among equals. `find` bounds every score from a fast product alone; `settle` gives the exact ones:
tokens within two errors of the largest product are multiplied again by `row_dots`, whose bits depend on
nothing but the two rows.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np

from askew._blocks import blocks, rows_within
from askew.late.prepared import Asked, Block
from askew.linalg import row_dots, tree_sum
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["Routes", "Scratch", "find", "query_sums", "settle"]

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


@dataclass(frozen=True, eq=False)
class Scratch:
    """A place for products, one a thread, so that no block asks the system for memory again."""

    held: threading.local = field(default_factory=threading.local)

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


def find(asked: Asked, block: Block, scratch: Scratch) -> tuple[Float64Array, Float64Array]:
    """Bounds of the scores of n queries and f documents, from one fast product.

    Args:
        asked: n queries.
        block: f documents.
        scratch: where the product goes.

    Returns:
        low: (n, f) no settled score is below it.
        high: (n, f) none is above it.
    """
    products = scratch.product(asked.narrow, block.narrow)
    largest = np.maximum.reduceat(products, block.starts, axis=1)
    reach = np.add.reduceat(np.abs(asked.weights) * asked.error, asked.starts)[:, None]
    if block.weights is None:
        middle = np.add.reduceat((asked.weights * asked.unit)[:, None] * largest, asked.starts, axis=0)
        return middle - reach, middle + reach
    least, most = _weighted(asked, block, products, largest)
    reach *= float(np.abs(block.weights).max())
    low = np.add.reduceat(least, asked.starts, axis=0) - reach
    high = low + 2 * reach if most is least else np.add.reduceat(most, asked.starts, axis=0) + reach
    return low, high


def settle(asked: Asked, block: Block, scratch: Scratch) -> Routes:
    """Exact routes and contributions, the same to the last bit whatever stands beside a pair."""
    products = scratch.product(asked.narrow, block.narrow)
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
    route, similarity = route.reshape(largest.shape), best.reshape(largest.shape)
    contribution = similarity * asked.weights[:, None]
    if block.weights is not None:
        contribution *= block.weights[route]
    return Routes(similarity, route, contribution)


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
