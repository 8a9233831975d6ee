"""Splits of queries by hash, and two-way folds of queries and documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from askew._blocks import DEFAULT_BUDGET
from askew.data.dataset import Dataset
from askew.data.duplicates import near_duplicate_groups
from askew.data.ids import stable_hash
from askew.errors import ParameterError

__all__ = ["TwoWayFolds", "hash_order", "split_queries"]


def hash_order(ids: Iterable[str], *, seed: int = 0) -> list[str]:
    """Ids in the order of a seeded hash: a shuffle that no insertion elsewhere disturbs.

    >>> sorted(hash_order(["a", "b", "c"])) == ["a", "b", "c"]
    True
    """
    return sorted(ids, key=lambda name: (stable_hash(name, f"order-{seed}"), name))


def split_queries(ids: Sequence[str], *, labels: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Two disjoint parts of some queries, by hash: `labels` of them, and the rest.

    Raises:
        ParameterError: `labels` is not between 1 and the number of queries.

    >>> train, rest = split_queries(["a", "b", "c"], labels=1)
    >>> len(train), len(rest)
    (1, 2)
    """
    if not 1 <= labels <= len(ids):
        raise ParameterError(f"{labels} labels were asked for, of {len(ids)} queries", where="labels")
    order = hash_order(ids, seed=seed)
    return order[:labels], order[labels:]


@dataclass(frozen=True)
class TwoWayFolds:
    """Folds of queries *and* of documents, so that nothing learned can be remembered.

    Every relevant document gets a fold by a hash of its id (near-duplicate vectors share one); a
    query goes to the fold of one of its relevant documents, that of the lowest hash. To hold out
    fold f: fit on the queries of the other folds, without their judgements of documents in f, and
    score the queries of f. Each then has at least one relevant document that no fit has seen.

    Attributes:
        count: number of folds.
        query_fold: query id → fold, of the queries that can teach.
        document_fold: document id → fold, of their relevant documents.
    """

    count: int
    query_fold: Mapping[str, int]
    document_fold: Mapping[str, int]

    @classmethod
    def build(cls, dataset: Dataset, *, count: int = 5, seed: int = 0, budget: int = DEFAULT_BUDGET) -> TwoWayFolds:
        """Fold the labelled queries of a dataset and their relevant documents.

        Args:
            dataset: the task; only `dataset.labelled` queries take part.
            count: number of folds wanted, at least 2.
            seed: salt of the hash.
            budget: bytes of scratch for the search for near-duplicates.

        Raises:
            ParameterError: fewer than two folds are asked for.

        >>> import numpy as np
        >>> from askew.data import EmbeddingSet, Qrels
        >>> eye = np.eye(6)
        >>> both = EmbeddingSet(range(6), eye)
        >>> task = Dataset(both, both, Qrels({i: {i: 1} for i in range(6)}))
        >>> folds = TwoWayFolds.build(task, count=2)
        >>> all(folds.query_fold[q] == folds.document_fold[q] for q in folds.query_fold)
        True
        """
        if count < 2:
            raise ParameterError(f"{count} folds were asked for", where="folds", remedy="Ask for at least 2")
        positives = {
            query: [name for name in dataset.qrels.positives(query) if name in dataset.documents]
            for query in dataset.labelled
        }
        names = sorted({name for held in positives.values() for name in held})
        leaders = near_duplicate_groups(dataset.documents, dataset.documents.rows(names), budget=budget)
        hashes = {name: stable_hash(names[leader], f"fold-{seed}") for name, leader in zip(names, leaders, strict=True)}
        document_fold = {name: value % count for name, value in hashes.items()}
        query_fold = {
            query: document_fold[min(held, key=lambda name: (hashes[name], name))] for query, held in positives.items()
        }
        return cls(count, query_fold, document_fold)

    def queries_in(self, fold: int) -> list[str]:
        """The queries of a fold."""
        return [query for query, place in self.query_fold.items() if place == fold]
