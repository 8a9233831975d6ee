"""Labels: training queries and their relevant documents, in scale-free coordinates."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from askew.adapters.adapter import Similarity
from askew.data import Dataset, TwoWayFolds
from askew.errors import LabelError
from askew.linalg import FloatArray
from askew.linalg.fixed import Float64Array

__all__ = ["Labels"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Labels:
    """n queries that can teach, and p pairs of a query with a relevant document.

    Rows are scaled so that a strength means the same on every data set, and no ranking changes:
    queries to norm 1 (a query's norm never orders its documents); documents to norm 1 under cosine,
    and by one number, the root mean square of the corpus' norms, under dot.

    Attributes:
        query_ids: n ids.
        queries: (n, d_query) float64 unit rows.
        pair_query: (p,) row of `queries`, ascending.
        pair_row: (p,) row of the corpus.
        pair_document: (p, d_document) float64 scaled rows.
        pair_weight: (p,) grade over the sum of the query's grades; a query's weights sum to 1.
        query_fold: (n,) fold numbers.
        pair_fold: (p,) fold of the document.
    """

    query_ids: tuple[str, ...]
    queries: Float64Array
    pair_query: IntArray
    pair_row: IntArray
    pair_document: Float64Array
    pair_weight: Float64Array
    query_fold: IntArray
    pair_fold: IntArray

    @classmethod
    def build(cls, dataset: Dataset, folds: TwoWayFolds, *, similarity: Similarity = "dot") -> Labels:
        """Collect what a dataset teaches.

        Raises:
            LabelError: every labelled query is a zero vector.
        """
        documents = dataset.documents
        names = tuple(name for name in dataset.labelled if dataset.queries.norms[dataset.queries.row(name)] > 0)
        if not names:
            raise LabelError("every labelled query is a zero vector", remedy="Check how the queries were embedded")
        rows = dataset.queries.rows(names)
        pairs = [
            (number, document, grade)
            for number, name in enumerate(names)
            for document, grade in sorted(dataset.qrels.positives(name).items())
            if document in documents
        ]
        number, ids, grades = (list(column) for column in zip(*pairs, strict=True))
        pair_row = documents.rows(ids)
        if similarity == "cosine":
            scale = np.where(documents.norms[pair_row] > 0, documents.norms[pair_row], 1.0)
        else:
            scale = np.full(len(pairs), np.sqrt(np.mean(np.square(documents.norms))) or 1.0)
        return cls(
            query_ids=names,
            queries=_wide(dataset.queries.matrix[rows]) / dataset.queries.norms[rows][:, None],
            pair_query=np.array(number, dtype=np.int64),
            pair_row=pair_row,
            pair_document=_wide(documents.matrix[pair_row]) / scale[:, None],
            pair_weight=_normalised(np.array(grades), np.array(number)),
            query_fold=np.array([folds.query_fold[name] for name in names], dtype=np.int64),
            pair_fold=np.array([folds.document_fold[name] for name in ids], dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.query_ids)

    @cached_property
    def folds(self) -> tuple[int, ...]:
        """The folds that hold a query, ascending."""
        return tuple(int(fold) for fold in np.unique(self.query_fold))

    def without_folds(self, folds: Collection[int]) -> Labels:
        """What is left to fit on when some folds are held out: neither their queries nor their documents."""
        held = np.array(sorted(folds), dtype=np.int64)
        kept = ~np.isin(self.pair_fold, held) & ~np.isin(self.query_fold, held)[self.pair_query]
        teaching = np.unique(self.pair_query[kept])
        number = np.searchsorted(teaching, self.pair_query[kept])
        return replace(
            self,
            query_ids=tuple(self.query_ids[row] for row in teaching),
            queries=self.queries[teaching],
            pair_query=number,
            pair_row=self.pair_row[kept],
            pair_document=self.pair_document[kept],
            pair_weight=_normalised(self.pair_weight[kept], number),
            query_fold=self.query_fold[teaching],
            pair_fold=self.pair_fold[kept],
        )

    def mean_positives(self) -> Float64Array:
        """(n, d_document) each query's relevant documents, averaged by weight."""
        mean = np.zeros((len(self), self.pair_document.shape[1]))
        np.add.at(mean, self.pair_query, self.pair_document * self.pair_weight[:, None])
        return mean


def _normalised(weights: Float64Array, group: IntArray) -> Float64Array:
    if not len(weights):
        return weights
    return weights / np.bincount(group, weights=weights)[group]


def _wide(matrix: FloatArray) -> Float64Array:
    return np.asarray(matrix, dtype=np.float64)
