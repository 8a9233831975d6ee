"""Near-duplicate vectors: the same document in two copies."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.data.embeddings import EmbeddingSet
from askew.linalg import row_dots
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["joined", "near_duplicate_groups", "near_duplicate_pairs"]


# Vectors this close are the same document in two copies: a fit on one has seen the other.
_NEAR_DUPLICATE = 0.999


def near_duplicate_groups(embeddings: EmbeddingSet, rows: IntArray, *, budget: int = DEFAULT_BUDGET) -> IntArray:
    """Group rows whose cosine is at least 0.999, by single linkage.

    Cost: u²d flops in float32 GEMMs; pairs within rounding of the limit are decided in a fixed order.

    Args:
        embeddings: (m, d).
        rows: (u,) distinct row numbers.
        budget: bytes of scratch.

    Returns:
        (u,) for each row, the position in `rows` of the first member of its group.

    >>> near_duplicate_groups(EmbeddingSet("abc", np.array([[1.0, 0], [0, 1], [2, 0]])), np.arange(3)).tolist()
    [0, 1, 0]
    """
    unit = embeddings.unit(rows)
    leader = np.arange(len(rows))
    for part in blocks(len(rows), rows_within(budget, 40 * len(rows))):
        left, right = _near(unit[part], unit[part.start :], budget)  # pairs with earlier rows are known
        leader = joined(leader, left + part.start, right + part.start)
    return leader


def near_duplicate_pairs(embeddings: EmbeddingSet, rows: IntArray, *, budget: int = DEFAULT_BUDGET) -> IntArray:
    """Pairs of some row and any other whose cosine is at least 0.999.

    Cost: 2umd flops in float32 GEMMs.

    Args:
        embeddings: (m, d).
        rows: (u,) distinct row numbers.
        budget: bytes of scratch.

    Returns:
        (p, 2) a row of `rows` and another row, ordered by both.

    >>> near_duplicate_pairs(EmbeddingSet("abc", np.array([[1.0, 0], [0, 1], [2, 0]])), np.array([0])).tolist()
    [[0, 2]]
    """
    unit = embeddings.unit(rows)
    found = [np.empty((0, 2), dtype=np.int64)]
    for part in blocks(len(embeddings), rows_within(budget // 2, 24 * embeddings.dim)):
        others = embeddings.unit(part)
        for some in blocks(len(rows), rows_within(budget // 2, 20 * len(others))):
            left, right = _near(unit[some], others, budget)
            found.append(np.column_stack([rows[some][left], right + part.start]))
    pairs = np.concatenate(found)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    return np.asarray(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))], dtype=np.int64)


def joined(leader: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Join groups, each led by its least member, along some pairs.

    Args:
        leader: (u,) the least member of each member's group.
        left: (p,) members.
        right: (p,) members to be in the same group.

    Returns:
        (u,) the new leaders.

    >>> joined(np.arange(4), np.array([0]), np.array([2])).tolist()
    [0, 1, 0, 3]
    """
    size = len(leader)
    pairs = (np.append(left, np.arange(size)), np.append(right, leader))
    graph = coo_array((np.ones(len(pairs[0]), dtype=bool), pairs), shape=(size, size))
    _, group = connected_components(graph, directed=False)
    _, first = np.unique(group, return_index=True)
    return np.asarray(first[group], dtype=np.int64)


def _near(left: Float64Array, right: Float64Array, budget: int) -> tuple[IntArray, IntArray]:
    """Positions of the pairs of unit rows that are near-duplicates; what rounding leaves open is settled exactly."""
    dim = left.shape[1]
    cosine = left.astype(np.float32) @ right.astype(np.float32).T
    near = cosine >= _NEAR_DUPLICATE
    open_left, open_right = np.nonzero(np.abs(cosine - _NEAR_DUPLICATE) <= (dim + 4) * 2.0**-23)
    for some in blocks(len(open_left), rows_within(budget, 24 * dim)):
        exact = row_dots(left[open_left[some]], right[open_right[some]])
        near[open_left[some], open_right[some]] = exact >= _NEAR_DUPLICATE
    first, second = np.nonzero(near)
    return first, second
