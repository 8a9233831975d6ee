"""Near-duplicate vectors: the same document in two copies."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from askew._blocks import DEFAULT_BUDGET, blocks, rows_within
from askew.data.embeddings import EmbeddingSet
from askew.linalg import row_dots
from askew.linalg.fixed import IntArray

__all__ = ["near_duplicate_groups"]


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
    norms = embeddings.norms[rows]
    unit = np.asarray(embeddings.matrix[rows], dtype=np.float64) / np.where(norms > 0, norms, 1.0)[:, None]
    narrow = unit.astype(np.float32)
    leader = np.arange(len(rows))
    for part in blocks(len(rows), rows_within(budget, 40 * len(rows))):
        later = slice(part.start, None)  # pairs with earlier rows are known
        cosine = narrow[part] @ narrow[later].T
        near = cosine >= _NEAR_DUPLICATE
        left, right = np.nonzero(np.abs(cosine - _NEAR_DUPLICATE) <= (embeddings.dim + 4) * 2.0**-23)
        for some in blocks(len(left), rows_within(budget, 24 * embeddings.dim)):
            exact = row_dots(unit[part][left[some]], unit[later][right[some]])
            near[left[some], right[some]] = exact >= _NEAR_DUPLICATE
        left, right = np.nonzero(near)
        leader = _joined(leader, left + part.start, right + part.start)
    return leader


def _joined(leader: IntArray, left: IntArray, right: IntArray) -> IntArray:
    """Join groups, each led by its least member, along some pairs."""
    size = len(leader)
    pairs = (np.append(left, np.arange(size)), np.append(right, leader))
    graph = coo_array((np.ones(len(pairs[0]), dtype=bool), pairs), shape=(size, size))
    _, group = connected_components(graph, directed=False)
    _, first = np.unique(group, return_index=True)
    return np.asarray(first[group], dtype=np.int64)
