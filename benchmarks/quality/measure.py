"""How a deployed map is measured: nDCG@10 by exact search, on all documents and on unseen ones alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from askew.data import Dataset
from askew.evaluation import GainTable
from askew.linalg import FloatArray, places, row_norms
from cells import Task
from lessons import BoolArray, IntArray

Float64Array = npt.NDArray[np.float64]
Map = Callable[[FloatArray], FloatArray]
CUTOFF = 10
#: The depth that tuning goes by, as askew's own choice does.
STEADY = 100


@dataclass(frozen=True)
class Deployed:
    """What a recipe ships: a map of queries, perhaps one of documents, and the score of the index."""

    queries: Map
    documents: Map | None = None
    cosine: bool = True


def affine(matrix: FloatArray, offset: FloatArray | float = 0.0) -> Map:
    """x ↦ x · matrix + offset, for rows x."""
    return lambda rows: np.asarray(rows @ matrix + offset)


BASE = Deployed(lambda rows: rows, cosine=False)


class Scorer:
    """nDCG@10 of some queries of a data set under deployed maps."""

    def __init__(self, dataset: Dataset, query_ids: Sequence[str]) -> None:
        documents = dataset.documents
        self.documents = np.asarray(documents.matrix, dtype=np.float32)
        self.norms, self.ties = documents.norms, documents.tie_rank
        self.gains = GainTable.build(dataset.qrels, query_ids, documents.ids)
        rows = dataset.queries.rows(query_ids)
        lengths = dataset.queries.norms[rows]
        wide = np.asarray(dataset.queries.matrix[rows], dtype=np.float64)
        self.queries = (wide / np.where(lengths > 0, lengths, 1.0)[:, None]).astype(np.float32)

    def ndcg(
        self, deployed: Deployed, rows: IntArray, without: BoolArray | None = None, depth: int = CUTOFF
    ) -> Float64Array:
        """(q,) by query; `without` are documents that leave the ranking, the judgements and the ideal."""
        documents, norms = self.documents, self.norms
        if deployed.documents is not None:
            documents = np.asarray(deployed.documents(documents), dtype=np.float32)
            norms = row_norms(documents)
        return self._ndcg(deployed.queries(self.queries[rows]), rows, documents, norms, deployed.cosine, without, depth)

    def ndcg_of_many(
        self, maps: Sequence[Deployed], rows: IntArray, without: BoolArray, depth: int = CUTOFF
    ) -> Float64Array:
        """(C, q) as `ndcg` of each; where the documents stay as they are, one search serves all."""
        if any(one.documents is not None or not one.cosine for one in maps):
            return np.stack([self.ndcg(one, rows, without, depth) for one in maps])
        adapted = np.concatenate([one.queries(self.queries[rows]) for one in maps])
        scores = self._ndcg(adapted, np.tile(rows, len(maps)), self.documents, self.norms, True, without, depth)
        return scores.reshape(len(maps), len(rows))

    def _ndcg(
        self,
        adapted: FloatArray,
        rows: IntArray,
        documents: FloatArray,
        norms: Float64Array,
        cosine: bool,
        without: BoolArray | None,
        depth: int,
    ) -> Float64Array:
        place = places(
            adapted,
            documents,
            *self.gains.targets(rows, without),
            k=depth,
            tie_rank=self.ties,
            cosine=cosine,
            document_norms=norms,
            without=without,
        )
        return self.gains.ndcg_of_places(rows, place, k=depth, without=without)


@dataclass(frozen=True, eq=False)
class Reading:
    """nDCG@10 of the t test queries; NaN in `unseen` for a query all of whose relevant documents were seen."""

    everything: Float64Array
    unseen: Float64Array


class TestBench:
    """The test queries of a task; documents relevant to a training query count as seen."""

    def __init__(self, task: Task) -> None:
        self.query_ids = task.test.labelled
        self.scorer = Scorer(task.test, self.query_ids)
        self.rows = np.arange(len(self.query_ids))
        self.seen = np.zeros(len(task.test.documents), dtype=bool)
        self.seen[task.labels.seen_rows] = True
        self.answerable = self.scorer.gains.answerable(self.rows, self.seen)

    def read(self, deployed: Deployed) -> Reading:
        unseen = np.full(len(self.rows), np.nan)
        left = self.rows[self.answerable]
        if len(left):
            unseen[left] = self.scorer.ndcg(deployed, left, self.seen)
        return Reading(self.scorer.ndcg(deployed, self.rows), unseen)
