"""What comes in: embeddings, judgements, runs, and the folds and splits of their ids."""

from askew.data.dataset import Dataset
from askew.data.duplicates import near_duplicate_groups
from askew.data.embeddings import EmbeddingSet
from askew.data.folds import TwoWayFolds, hash_order, split_queries
from askew.data.health import Finding, examine
from askew.data.ids import as_id, stable_hash, tie_rank
from askew.data.qrels import Qrels
from askew.data.run import Run

__all__ = [
    "Dataset",
    "EmbeddingSet",
    "Finding",
    "Qrels",
    "Run",
    "TwoWayFolds",
    "as_id",
    "examine",
    "hash_order",
    "near_duplicate_groups",
    "split_queries",
    "stable_hash",
    "tie_rank",
]
