"""Dataset: queries, documents and judgements, aligned by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

from askew.data.embeddings import EmbeddingSet
from askew.data.qrels import Qrels
from askew.errors import MatchError, name_some

__all__ = ["Dataset"]


@dataclass(frozen=True, eq=False)
class Dataset:
    """One retrieval task: embedded queries and documents, and judgements between them.

    Judged queries without an embedding and judged documents outside the corpus are listed, not
    dropped: they stay in every denominator.

    Args:
        queries: (n, d_query) embeddings.
        documents: (m, d_document) embeddings, the whole corpus.
        qrels: the judgements.
        query_texts: query id → text, where known.
        document_texts: document id → text, where known.
        name: what to call it.

    Raises:
        MatchError: no judged query, or no judged document, has an embedding.

    >>> import numpy as np
    >>> data = Dataset(EmbeddingSet(["q"], np.eye(2)[:1]), EmbeddingSet(["a", "b"], np.eye(2)), Qrels({"q": {"a": 1}}))
    >>> data.missing_documents
    ()
    """

    queries: EmbeddingSet
    documents: EmbeddingSet
    qrels: Qrels
    query_texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    document_texts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    name: str = "data"

    def __post_init__(self) -> None:
        judged = self.qrels.documents()
        for side, wanted, held in (
            ("queries", self.qrels.queries, self.queries),
            ("documents", sorted(judged), self.documents),
        ):
            if not any(name in held for name in wanted):
                raise MatchError(
                    f"none of the {len(wanted):,} judged {side} ({name_some(wanted, 3)}) has an embedding; "
                    f"the embedded {side} are {name_some(held.ids, 3)}",
                    where=self.name,
                    remedy="Check that judgements and embeddings use the same ids",
                )

    @cached_property
    def missing_queries(self) -> tuple[str, ...]:
        """Judged queries that have no embedding."""
        return tuple(query for query in self.qrels.queries if query not in self.queries)

    @cached_property
    def missing_documents(self) -> tuple[str, ...]:
        """Judged documents that are not in the corpus, in ascending order."""
        return tuple(sorted(document for document in self.qrels.documents() if document not in self.documents))

    @cached_property
    def labelled(self) -> tuple[str, ...]:
        """Queries that can teach: embedded, with a relevant document in the corpus."""
        return tuple(
            query
            for query in self.qrels.queries
            if query in self.queries and any(name in self.documents for name in self.qrels.positives(query))
        )

    def only(self, queries: Iterable[str]) -> Dataset:
        """The same task with the judgements of some queries.

        Raises:
            LabelError: a query has no judgement.
        """
        return replace(self, qrels=self.qrels.only(queries))
