"""Relevance: the rows of the relevance moment, from a dataset."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from askew.adapters.adapter import Similarity
from askew.data import Dataset, TwoWayFolds
from askew.errors import DimensionError
from askew.estimators import Labels, Mining
from askew.geometry import RelevanceRows
from askew.linalg.fixed import IntArray
from askew.operators import Identity
from askew.workflows.footing import check_labelled

__all__ = ["relevance_rows", "rows_of"]


def relevance_rows(
    dataset: Dataset,
    *,
    negatives: int = 1,
    similarity: Similarity = "dot",
    residual: bool = False,
    seed: int = 0,
) -> RelevanceRows:
    """One row a labelled query: the query, and its relevant documents less its hardest unjudged ones.

    Documents are weighed by grade, copies of relevant ones are nobody's negatives, and both sides are brought
    to one scale, as `Labels` does for every fit.

    Args:
        dataset: n labelled queries.
        negatives: the highest-ranked documents that are not relevant, meaned; 0 for none.
        similarity: as the index scores.
        residual: the moment about the identity in place of the one about zero: z = ȳ⁺ - x, what the prior does
            not explain. It has no negatives, and a shared correction of the identity may have negative
            eigenvalues: the rows are signed.
        seed: of the hashes.

    Raises:
        DimensionError: queries and documents differ in dimension: there is no shared geometry to choose.
        LabelError: no labelled query can teach.

    >>> from askew.data import EmbeddingSet, Qrels
    >>> eye = np.eye(3)
    >>> task = Dataset(EmbeddingSet("ab", eye[:2]), EmbeddingSet("xyz", eye), Qrels({"a": {"y": 1}, "b": {"z": 2}}))
    >>> relevance_rows(task).differences.round(3).tolist()
    [[-1.0, 1.0, 0.0], [0.0, -1.0, 1.0]]
    """
    check_labelled(dataset)
    width, other = dataset.queries.dim, dataset.documents.dim
    if width != other:
        raise DimensionError(
            f"queries have {width} dimensions and documents {other}",
            where=dataset.name,
            remedy="One geometry for both sides needs one dimension: there is nothing to choose",
        )
    labels = Labels.build(
        dataset,
        TwoWayFolds.build(dataset, seed=seed),
        prior=Identity(width),
        similarity=similarity,
        mining=Mining("top", 0 if residual else negatives),
        seed=seed,
    )
    return rows_of(labels, dataset, negatives=negatives, residual=residual)


def rows_of(labels: Labels, dataset: Dataset, *, negatives: int = 1, residual: bool = False) -> RelevanceRows:
    """The rows of the moment of labels, or of those that some fold leaves.

    Args:
        labels: n queries, with their negatives mined.
        dataset: whose labels they are.
        negatives: how many of a query's remaining negatives to mean, the hardest first; 0 for none.
        residual: the moment about the identity.
    """
    rows = RelevanceRows.of_pairs(
        labels.query_ids,
        labels.queries,
        items=labels.items,
        pair_query=labels.pair_query,
        pair_item=labels.pair_item,
        grades=labels.pair_weight,
        negatives=None if residual or negatives == 0 else _hardest(labels.negatives, negatives),
        item_ids=[dataset.documents.ids[row] for row in labels.item_row],
    )
    if not residual:
        return rows
    return replace(rows, differences=np.asarray(rows.differences - rows.queries), signed=True)


def _hardest(negatives: IntArray, count: int) -> IntArray:
    """(n, count) the first negatives that are left, in their order."""
    order = np.argsort(negatives < 0, axis=1, kind="stable")[:, :count]
    return np.take_along_axis(negatives, order, axis=1)
