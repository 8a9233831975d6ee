"""What a recipe may learn from, with the folds that it is tuned on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from askew.estimators import Labels
from askew.estimators.lessons import Lessons as PlainLessons

Float32Array = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Regime = Literal["fresh", "recurring"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Lessons(PlainLessons):
    """Lessons that know their folds; `labels` holds the same queries, pairs and folds."""

    labels: Labels

    @classmethod
    def of(cls, labels: Labels, documents: Float32Array, barred: BoolArray | None = None) -> Self:
        return cls(
            queries=labels.queries.astype(np.float32),
            documents=documents,
            pair_query=labels.pair_query,
            pair_row=np.asarray(labels.item_row[labels.pair_item]),
            pair_grade=labels.pair_weight,
            barred=np.zeros(len(documents), dtype=bool) if barred is None else barred,
            labels=labels,
        )

    def folds(self, regime: Regime) -> IntArray:
        """(n,) the fold of each query."""
        return self.labels.query_fold if regime == "fresh" else self.labels.plain_fold

    def without_fold(self, fold: int, regime: Regime) -> Lessons:
        """Hold out a fold of queries and, for fresh traffic, the relevant documents that belong to it."""
        held = self.folds(regime) == fold
        if regime == "recurring":
            return Lessons.of(self.labels.holding_out(held), self.documents, self.barred)
        items = self.labels.item_fold == fold
        barred = self.barred.copy()
        barred[self.labels.item_row[items]] = True
        return Lessons.of(self.labels.holding_out(held, items), self.documents, barred)

    def parted(self, regime: Regime) -> tuple[Lessons, Lessons]:
        """Training and validation queries, about 4 to 1: the lowest fold validates."""
        fold = int(self.folds(regime).min())
        kept = Lessons.of(self.labels.holding_out(self.folds(regime) != fold), self.documents, self.barred)
        return self.without_fold(fold, regime), kept
