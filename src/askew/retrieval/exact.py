"""Exact search over all documents."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from askew._blocks import DEFAULT_BUDGET
from askew._checks import check_count, check_kind
from askew.adapters import Adapter
from askew.adapters.adapter import Similarity, check_similarity
from askew.data import EmbeddingSet, Run
from askew.errors import DimensionError
from askew.linalg import top_k

__all__ = ["search"]


def search(
    queries: EmbeddingSet,
    documents: EmbeddingSet,
    *,
    k: int = 100,
    adapter: Adapter | None = None,
    similarity: Similarity | None = None,
    exclude_self: bool = False,
    without: Collection[str] = (),
    budget: int = DEFAULT_BUDGET,
) -> Run:
    """The k best documents of every query, exactly.

    Scores are accumulated in float64 in a fixed order, so results are the same to the last bit for
    every budget and thread count. Ties: score descending, then document id ascending.

    Args:
        queries: (n, d_query).
        documents: (m, d_document).
        k: how many documents a query gets; fewer when m < k.
        adapter: applied to the queries first; None searches with them as they are.
        similarity: ``"dot"`` or ``"cosine"``; the adapter's own by default, else dot.
        exclude_self: leave out the document whose id equals the query's.
        without: ids of documents to leave out for every query; ids outside the corpus are ignored.
        budget: bytes of scratch.

    Raises:
        DimensionError: queries and documents do not meet in one dimension.
        EncoderMismatchError: the vectors are not the adapter's encoder's.
        ParameterError: k is no whole number of 1 or more, there is no such similarity, or an argument is of another
            kind.

    >>> import numpy as np
    >>> docs = EmbeddingSet(["a", "b"], np.eye(2))
    >>> search(EmbeddingSet(["q"], np.array([[0.0, 1.0]])), docs, k=1).documents("q")
    ('b',)
    """
    check_count(k, "documents", least=1, where="k")
    for given, where in ((queries, "queries"), (documents, "documents")):
        check_kind(given, EmbeddingSet, where, "Give an EmbeddingSet: ids and a matrix")
    if adapter is not None:
        check_kind(adapter, Adapter, "adapter", "Give an Adapter; askew.load reads one from its folder")
        adapter.check_documents(documents)
        queries = adapter.apply(queries)
    kind = similarity or (adapter.similarity if adapter is not None else "dot")
    check_similarity(kind)
    if queries.dim != documents.dim:
        raise DimensionError(
            f"the queries ({queries.encoder or 'unnamed encoder'}) have {queries.dim} dimensions and the documents "
            f"({documents.encoder or 'unnamed encoder'}) {documents.dim}",
            remedy="Embed both with one encoder, or fit an adapter between the two",
        )
    rows, scores = top_k(
        queries.matrix,
        documents.matrix,
        k=k + 1 if exclude_self else k,
        tie_rank=documents.tie_rank,
        cosine=kind == "cosine",
        document_norms=documents.norms,
        without=_mask(documents, without),
        budget=budget,
    )
    run = Run.from_rows(queries.ids, documents.ids, rows, scores)
    return _without_self(run, k) if exclude_self else run


def _mask(documents: EmbeddingSet, without: Collection[str]) -> npt.NDArray[np.bool_] | None:
    if not without:
        return None
    mask = np.zeros(len(documents), dtype=bool)
    mask[documents.rows(name for name in without if name in documents)] = True
    return mask


def _without_self(run: Run, k: int) -> Run:
    kept = {
        query: dict([(name, score) for name, score in zip(names, scores, strict=True) if name != query][:k])
        for query, names, scores in run.items()
    }
    return Run(kept, name=run.name)
