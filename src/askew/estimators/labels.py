"""Labels: training queries, their relevant documents and their negatives, in scale-free coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from askew.adapters.adapter import Similarity
from askew.data import Dataset, EmbeddingSet, TwoWayFolds, near_duplicate_groups, stable_hashes
from askew.errors import LabelError
from askew.estimators.negatives import Mined, Mining, mine
from askew.linalg.fixed import BoolArray, Float64Array, IntArray
from askew.operators import Term

__all__ = ["Labels", "document_scale"]


@dataclass(frozen=True, eq=False)
class Labels:
    """n queries that can teach, p pairs of a query with a relevant document, and u documents in use.

    Rows are scaled so that a strength means the same on every data set, and no ranking changes:
    queries to norm 1 (a query's norm never orders its documents); documents to norm 1 under cosine,
    and by one number, the root mean square of the corpus' norms, under dot.

    Attributes:
        query_ids: n ids.
        queries: (n, d_query) float64 unit rows.
        query_fold: (n,) two-way folds.
        plain_fold: (n,) folds by a hash of the query's id, for scoring on all documents.
        pair_query: (p,) row of `queries`, ascending.
        pair_item: (p,) row of `items`.
        pair_weight: (p,) grade over the sum of the query's grades; a query's weights sum to 1.
        negatives: (n, c) rows of `items`, hardest first; -1 for none.
        known: (q, 2) query and item that must never meet as negatives: relevant ones and their copies.
        items: (u, d_document) float32 scaled rows.
        item_row: (u,) row of the corpus.
        item_fold: (u,) fold of a relevant document and of its copies; -1 for a document that is nobody's.
        item_hash: (u,) for drawing some of them.
        mined: how the mining went.

    >>> from askew.data import Qrels
    >>> from askew.operators import Identity
    >>> relevant = Qrels({"q": {"a": 1, "b": 3}, "r": {"a": 1}})
    >>> task = Dataset(EmbeddingSet("qr", 2 * np.eye(2)), EmbeddingSet("ab", np.eye(2)), relevant)
    >>> labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(2))
    >>> labels.queries.tolist(), labels.pair_weight.tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [0.25, 0.75, 1.0])
    """

    query_ids: tuple[str, ...]
    queries: Float64Array
    query_fold: IntArray
    plain_fold: IntArray
    pair_query: IntArray
    pair_item: IntArray
    pair_weight: Float64Array
    negatives: IntArray
    known: IntArray
    items: npt.NDArray[np.float32]
    item_row: IntArray
    item_fold: IntArray
    item_hash: npt.NDArray[np.uint64]
    mined: Mined

    @classmethod
    def build(
        cls,
        dataset: Dataset,
        folds: TwoWayFolds,
        *,
        prior: Term,
        similarity: Similarity = "dot",
        mining: Mining | None = None,
        seed: int = 0,
    ) -> Labels:
        """Collect what a dataset teaches.

        Args:
            dataset: the task.
            folds: of its labelled queries and their relevant documents.
            prior: M0, under which negatives are mined.
            similarity: ``"dot"`` or ``"cosine"``.
            mining: how negatives are chosen; none are mined by default.
            seed: of the hashes.

        Raises:
            LabelError: every labelled query is a zero vector.
        """
        documents = dataset.documents
        names = tuple(name for name in dataset.labelled if dataset.queries.norms[dataset.queries.row(name)] > 0)
        if not names:
            raise LabelError("every labelled query is a zero vector", remedy="Check how the queries were embedded")
        rows = dataset.queries.rows(names)
        queries = np.asarray(dataset.queries.matrix[rows], dtype=np.float64) / dataset.queries.norms[rows][:, None]
        pairs = [
            (number, document, grade)
            for number, name in enumerate(names)
            for document, grade in sorted(dataset.qrels.positives(name).items())
            if document in documents
        ]
        number, ids, grades = (list(column) for column in zip(*pairs, strict=True))
        pair_query, pair_row = np.array(number, dtype=np.int64), documents.rows(ids)
        mined = mine(
            prior.left_apply(queries),
            documents,
            pair_query=pair_query,
            pair_row=pair_row,
            mining=mining or Mining(count=0),
            similarity=similarity,
            seed=seed,
        )
        item_row, place = np.unique(np.append(pair_row, mined.rows[mined.rows >= 0]), return_inverse=True)
        pair_item = place[: len(pair_row)].astype(np.int64)
        group = near_duplicate_groups(documents, item_row)
        known = _known(group, pair_query, pair_item)
        negatives = np.full(mined.rows.shape, -1, dtype=np.int64)
        negatives[mined.rows >= 0] = place[len(pair_row) :]
        scale = document_scale(documents, item_row, similarity)
        item_ids = [documents.ids[row] for row in item_row]
        item_fold = np.array([folds.document_fold.get(name, -1) for name in item_ids], dtype=np.int64)
        return cls(
            query_ids=names,
            queries=queries,
            query_fold=np.array([folds.query_fold[name] for name in names], dtype=np.int64),
            plain_fold=(stable_hashes(names, f"plain-{seed}") % np.uint64(folds.count)).astype(np.int64),
            pair_query=pair_query,
            pair_item=pair_item,
            pair_weight=_normalised(np.array(grades), pair_query),
            negatives=_without(negatives, known),
            known=known,
            items=(documents.matrix[item_row] / scale).astype(np.float32),
            item_row=item_row,
            item_fold=_with_copies(item_fold, group),
            item_hash=stable_hashes(item_ids, f"draw-{seed}"),
            mined=mined,
        )

    def __len__(self) -> int:
        return len(self.query_ids)

    @cached_property
    def seen_rows(self) -> IntArray:
        """Rows of the corpus that are relevant to some query here, ascending."""
        return np.unique(self.item_row[self.pair_item])

    def holding_out(self, queries: BoolArray, items: BoolArray | None = None) -> Labels:
        """What is left to fit on when some queries, and some documents, are held out.

        A document held out is nobody's relevant document and nobody's negative; a query left with
        no relevant document does not teach.

        Args:
            queries: (n,) True to hold out.
            items: (u,) True to hold out.
        """
        gone = np.zeros(len(self.items), dtype=bool) if items is None else items
        kept = ~gone[self.pair_item] & ~queries[self.pair_query]
        teaching = np.unique(self.pair_query[kept])
        pair_query = np.searchsorted(teaching, self.pair_query[kept])
        known = self.known[np.isin(self.known[:, 0], teaching)]
        negatives = self.negatives[teaching]
        return replace(
            self,
            query_ids=tuple(self.query_ids[row] for row in teaching),
            queries=self.queries[teaching],
            query_fold=self.query_fold[teaching],
            plain_fold=self.plain_fold[teaching],
            pair_query=pair_query,
            pair_item=self.pair_item[kept],
            pair_weight=_normalised(self.pair_weight[kept], pair_query),
            negatives=np.where((negatives >= 0) & ~gone[negatives], negatives, -1),
            known=np.column_stack([np.searchsorted(teaching, known[:, 0]), known[:, 1]]),
        )

    def mean_positives(self) -> Float64Array:
        """(n, d_document) each query's relevant documents, averaged by weight."""
        mean = np.zeros((len(self), self.items.shape[1]))
        np.add.at(mean, self.pair_query, self.items[self.pair_item] * self.pair_weight[:, None])
        return mean


def document_scale(documents: EmbeddingSet, rows: IntArray, similarity: Similarity) -> Float64Array:
    """(u, 1) or (1, 1) what documents are divided by in fits: their norms under cosine, one number under dot.

    Args:
        documents: the corpus.
        rows: (u,) rows of it.
        similarity: ``"dot"`` or ``"cosine"``.
    """
    scale = documents.norms[rows] if similarity == "cosine" else _root_mean_square(documents.norms)
    return np.where(scale > 0, scale, 1.0).reshape(-1, 1)


def _known(group: IntArray, pair_query: IntArray, pair_item: IntArray) -> IntArray:
    """(q, 2) every query with every item that is a relevant document of it, or a copy of one."""
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(group) + 1))
    rows = [
        (query, item)
        for query, positive in zip(pair_query.tolist(), pair_item.tolist(), strict=True)
        for item in order[starts[group[positive]] : starts[group[positive] + 1]].tolist()
    ]
    return np.unique(np.array(rows, dtype=np.int64).reshape(-1, 2), axis=0)


def _without(negatives: IntArray, known: IntArray) -> IntArray:
    """Negatives less what single linkage makes a copy of a relevant document, though it is not near it."""
    width = int(max(negatives.max(initial=0), known.max(initial=0))) + 1
    keys = np.arange(len(negatives))[:, None] * width + negatives
    return np.where(np.isin(keys, known[:, 0] * width + known[:, 1]), -1, negatives)


def _with_copies(fold: IntArray, group: IntArray) -> IntArray:
    """Give a document that has no fold the fold of the relevant document that it is a copy of."""
    lead = np.full(len(fold), -1, dtype=np.int64)
    np.maximum.at(lead, group, fold)
    return np.where(fold >= 0, fold, lead[group])


def _root_mean_square(norms: Float64Array) -> Float64Array:
    peak = norms.max()
    return np.asarray(peak * np.sqrt(np.mean(np.square(norms / peak))) if peak > 0 else 1.0)


def _normalised(weights: Float64Array, group: IntArray) -> Float64Array:
    """Weights over their sum in each group; none becomes 0, however unequal they are."""
    peak = np.zeros(int(group.max(initial=-1)) + 1)
    np.maximum.at(peak, group, weights)
    weights = np.maximum(weights / peak[group], np.finfo(np.float64).tiny)
    return np.asarray(weights / np.bincount(group, weights=weights)[group])
