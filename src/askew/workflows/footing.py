"""Footing: what every fit stands on. Labels that can teach, the prior, and a score of adapted queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from askew._checks import check_kind
from askew.adapters.adapter import Similarity
from askew.data import Dataset
from askew.errors import DimensionError, LabelError, ParameterError
from askew.evaluation import GainTable
from askew.linalg import FloatArray, places
from askew.linalg.fixed import Float64Array, IntArray
from askew.operators import Identity, Term, Zero

__all__ = ["check_labelled", "prior_of", "priors_of", "rank_score"]

# Depths of the nDCG that is judged, and of the one that choosing goes by.
_CUTOFF, _STEADY = 10, 100
# Bytes of a corpus that may be held in float32.
_IN_MEMORY = 2**30


def check_labelled(dataset: Dataset) -> None:
    """Refuse a dataset of which no query can teach.

    Raises:
        ParameterError: it is no Dataset.
        LabelError: no judged query has both an embedding and a relevant document in the corpus.
    """
    check_kind(dataset, Dataset, "dataset", "Give a Dataset; askew.read_dataset reads one from a folder")
    if not dataset.labelled:
        raise LabelError(
            "no judged query has both an embedding and a relevant document in the corpus",
            where=dataset.name,
            remedy="Check the ids, and that some grades are above 0",
        )


def prior_of(dataset: Dataset) -> Term:
    """M0: the identity if queries and documents come from one encoder, zero otherwise."""
    queries, documents = dataset.queries, dataset.documents
    if queries.dim == documents.dim and queries.encoder == documents.encoder:
        return Identity(queries.dim)
    return Zero(queries.dim, documents.dim)


def priors_of(dataset: Dataset, given: Mapping[str, Term] | None = None) -> Mapping[str, Term]:
    """Name → M0: what was given, or `prior_of` alone.

    Raises:
        ParameterError: none was given.
        DimensionError: one does not map queries to documents.
    """
    if given is None:
        prior = prior_of(dataset)
        return {"zero" if isinstance(prior, Zero) else "identity": prior}
    if not given:
        raise ParameterError("there is no prior", where="priors", remedy="Name at least one, the base")
    wanted = dataset.queries.dim, dataset.documents.dim
    for name, term in given.items():
        if term.shape != wanted:
            raise DimensionError(
                f"the prior {name!r} maps {term.shape[0]} dimensions to {term.shape[1]}, the queries have {wanted[0]} "
                f"and the documents {wanted[1]}",
                where=dataset.name,
                remedy="Give the prior that these encoders were aligned by",
            )
    return given


def rank_score(
    dataset: Dataset, query_ids: Sequence[str], *, similarity: Similarity = "dot"
) -> Callable[[FloatArray, IntArray, IntArray], Float64Array]:
    """A score of adapted queries: nDCG@10 and nDCG@100 over the corpus without what fitting has seen.

    Args:
        dataset: the corpus of m documents, and the judgements.
        query_ids: n ids; what is scored names queries by their place here.
        similarity: ``"dot"`` or ``"cosine"``.

    Returns:
        ``score(adapted, query_rows, seen_rows)``: (q, d_document) adapted queries, (q,) which queries they
        are, and the rows of documents that leave ranking, judgements and ideal; (2, q) values. A query with
        no relevant document left scores 0.

    >>> from askew.data import EmbeddingSet, Qrels
    >>> both = EmbeddingSet("ab", np.eye(2))
    >>> score = rank_score(Dataset(both, both, Qrels({"a": {"a": 1}, "b": {"b": 1}})), ["a", "b"])
    >>> score(np.eye(2), np.array([0, 1]), np.array([1])).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    documents = dataset.documents
    # One conversion for hundreds of searches, where it fits; a larger corpus is read in blocks.
    matrix = documents.matrix
    if matrix.dtype == np.float16 and 4 * matrix.size <= _IN_MEMORY:
        matrix = matrix.astype(np.float32)
    gains = GainTable.build(dataset.qrels, query_ids, documents.ids)

    def score(adapted: FloatArray, query_rows: IntArray, seen_rows: IntArray) -> Float64Array:
        without = np.zeros(len(documents), dtype=bool)
        without[seen_rows] = True
        place = places(
            adapted,
            matrix,
            *gains.targets(query_rows, without),
            k=_STEADY,
            tie_rank=documents.tie_rank,
            cosine=similarity == "cosine",
            document_norms=documents.norms,
            without=without,
        )
        depths = (_CUTOFF, _STEADY)
        return np.stack([gains.ndcg_of_places(query_rows, place, k=depth, without=without) for depth in depths])

    return score
