"""What comes in: embeddings, judgements, runs, and the folds and splits of their ids."""

from askew.data.dataset import Dataset
from askew.data.duplicates import near_duplicate_groups, near_duplicate_pairs
from askew.data.embeddings import EmbeddingSet
from askew.data.folds import TwoWayFolds, hash_order, split_queries
from askew.data.fusion import joined_name, side_by_side
from askew.data.health import Finding, examine
from askew.data.ids import as_id, stable_hash, stable_hashes, tie_rank
from askew.data.qrels import Qrels
from askew.data.run import Run
from askew.data.shares import Shares, take_shares
from askew.data.token_embeddings import TokenEmbeddings
from askew.data.twins import Twins, find_twins, merge_duplicates

__all__ = [
    "Dataset",
    "EmbeddingSet",
    "Finding",
    "Qrels",
    "Run",
    "Shares",
    "TokenEmbeddings",
    "Twins",
    "TwoWayFolds",
    "as_id",
    "examine",
    "find_twins",
    "hash_order",
    "joined_name",
    "merge_duplicates",
    "near_duplicate_groups",
    "near_duplicate_pairs",
    "side_by_side",
    "split_queries",
    "stable_hash",
    "stable_hashes",
    "take_shares",
    "tie_rank",
]
