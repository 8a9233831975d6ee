"""Which document token a query token meets: found by a fast product, settled in a fixed order.

The *route* of a query token in a document is the document token of the largest similarity, of the lowest
index among equals. `find` bounds every contribution from a fast product alone; `settle` gives the exact
ones: tokens within two errors of the largest product are multiplied again by `row_dots`, whose bits depend
on nothing but the two rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from askew._blocks import blocks, rows_within
from askew.late.prepared import Asked, Block
from askew.linalg import row_dots, tree_sum
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["Routes", "find", "query_sums", "settle"]

# Bytes of rows that are multiplied in float64 at a time: what a cache holds.
_GATHERED = 2**20


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


def find(asked: Asked, block: Block, out: FloatArray | None = None) -> tuple[Float64Array, Float64Array]:
    """Bounds of the scores of n queries and f documents, from one fast product.

    Args:
        asked: n queries.
        block: f documents.
        out: scratch for the product, of at least t · tokens entries, in the product's type.

    Returns:
        low: (n, f) no settled score is below it.
        high: (n, f) none is above it.
    """
    products = _products(asked, block, out)
    largest = np.maximum.reduceat(products, block.starts, axis=1)
    if block.weights is None:
        middle = asked.weights[:, None] * (largest * asked.unit[:, None])
        reach = np.add.reduceat(np.abs(asked.weights) * asked.error, asked.starts)[:, None]
        total = np.add.reduceat(middle, asked.starts, axis=0)
        return total - reach, total + reach
    low, high = _weighted(asked, block, products, largest)
    return np.add.reduceat(low, asked.starts, axis=0), np.add.reduceat(high, asked.starts, axis=0)


def settle(asked: Asked, block: Block) -> Routes:
    """Exact routes and contributions, the same to the last bit whatever stands beside a pair."""
    products = _products(asked, block, None)
    largest = np.maximum.reduceat(products, block.starts, axis=1)
    query, token = _close(asked, block, products, largest)
    exact = _exact(asked, block, query, token)
    groups = _groups(query, token, block)
    best = np.maximum.reduceat(exact, groups)
    sizes = np.diff(np.append(groups, len(exact)))
    place = np.where(exact == np.repeat(best, sizes), np.arange(len(exact)), len(exact))
    route = token[np.minimum.reduceat(place, groups)].reshape(largest.shape)
    similarity = best.reshape(largest.shape)
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


def _products(asked: Asked, block: Block, out: FloatArray | None) -> FloatArray:
    shape = (len(asked.narrow), len(block.narrow))
    held = None if out is None else out[: shape[0] * shape[1]].reshape(shape)
    return np.matmul(asked.narrow, block.narrow.T, out=held)


def _exact(asked: Asked, block: Block, query: IntArray, token: IntArray) -> Float64Array:
    """(h,) products of some rows in a fixed order; few at a time, since each is gathered in float64."""
    exact = np.empty(len(query))
    for part in blocks(len(query), rows_within(_GATHERED, 24 * asked.tokens.shape[1])):
        exact[part] = row_dots(asked.tokens[query[part]], block.tokens[token[part]])
    exact += 0.0  # turns a -0.0 into 0.0
    return exact


def _close(asked: Asked, block: Block, products: FloatArray, largest: FloatArray) -> tuple[IntArray, IntArray]:
    """Query tokens and document tokens of products within two errors of the largest, in ascending order."""
    reach = 2 * asked.close[:, None]
    # Rounded down, so that the product's type cannot lose what is too close to call.
    lowest = np.nextafter((largest - reach).astype(products.dtype), products.dtype.type(-np.inf))
    hits = np.flatnonzero(products >= np.repeat(lowest, block.lengths, axis=1))
    query, token = np.divmod(hits, products.shape[1])
    return query, token


def _groups(query: IntArray, token: IntArray, block: Block) -> IntArray:
    """Where each pair of query token and document begins, among hits in ascending order."""
    document = np.repeat(np.arange(len(block.lengths)), block.lengths)[token]
    key = query * len(block.lengths) + document
    return np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))


def _weighted(
    asked: Asked, block: Block, products: FloatArray, largest: FloatArray
) -> tuple[Float64Array, Float64Array]:
    """(t, f) bounds of contributions where document tokens have weights, over every route that is possible."""
    assert block.weights is not None  # noqa: S101 - the one caller has looked
    query, token = _close(asked, block, products, largest)
    weight = asked.weights[query] * block.weights[token]
    middle = weight * (products[query, token] * asked.unit[query])
    reach = np.abs(weight) * asked.error[query]
    low, high = middle - reach, middle + reach
    if len(query) != largest.size:
        groups = _groups(query, token, block)
        low, high = np.minimum.reduceat(low, groups), np.maximum.reduceat(high, groups)
    return low.reshape(largest.shape), high.reshape(largest.shape)
