"""What a recipe may learn from: labelled queries, their relevant documents, and the corpus for negatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt

from askew.estimators import Labels

Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Regime = Literal["fresh", "recurring"]


@dataclass(frozen=True, eq=False)
class Lessons:
    """n labelled queries, p pairs with relevant documents, m documents.

    Attributes:
        labels: queries, pairs and folds.
        documents: (m, d) unit rows.
        barred: (m,) documents held out: nobody's relevant document, nobody's negative.
    """

    labels: Labels
    documents: Float32Array
    barred: BoolArray

    @classmethod
    def of(cls, labels: Labels, documents: Float32Array) -> Lessons:
        return cls(labels, documents, np.zeros(len(documents), dtype=bool))

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def queries(self) -> Float32Array:
        """(n, d) unit rows."""
        return self.labels.queries.astype(np.float32)

    @property
    def pair_query(self) -> IntArray:
        """(p,) rows of queries, ascending."""
        return self.labels.pair_query

    @cached_property
    def pair_row(self) -> IntArray:
        """(p,) rows of documents."""
        return np.asarray(self.labels.item_row[self.labels.pair_item])

    @cached_property
    def first_positive(self) -> IntArray:
        """(n,) the row of each query's relevant document of the highest grade."""
        order = np.lexsort((self.pair_row, -self.labels.pair_weight, self.pair_query))
        _, first = np.unique(self.pair_query[order], return_index=True)
        return np.asarray(self.pair_row[order][first])

    @cached_property
    def closed(self) -> BoolArray:
        """(n, m) documents that are no negatives of a query: its relevant ones and what is held out."""
        table = np.tile(self.barred, (len(self), 1))
        table[self.pair_query, self.pair_row] = True
        return table

    def folds(self, regime: Regime) -> IntArray:
        """(n,) the fold of each query."""
        return self.labels.query_fold if regime == "fresh" else self.labels.plain_fold

    def without_fold(self, fold: int, regime: Regime) -> Lessons:
        """Hold out a fold of queries and, for fresh traffic, the relevant documents that belong to it."""
        held = self.folds(regime) == fold
        if regime == "recurring":
            return Lessons(self.labels.holding_out(held), self.documents, self.barred)
        items = self.labels.item_fold == fold
        barred = self.barred.copy()
        barred[self.labels.item_row[items]] = True
        return Lessons(self.labels.holding_out(held, items), self.documents, barred)

    def parted(self, regime: Regime) -> tuple[Lessons, Lessons]:
        """Training and validation queries, about 4 to 1: the lowest fold validates."""
        fold = int(self.folds(regime).min())
        kept = Lessons(self.labels.holding_out(self.folds(regime) != fold), self.documents, self.barred)
        return self.without_fold(fold, regime), kept
