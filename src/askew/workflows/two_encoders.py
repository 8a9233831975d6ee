"""Two encoders: what a folder holds of a task whose documents both have embedded, and the systems made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from askew._version import __version__
from askew.adapters import Adapter, Canaries, Provenance
from askew.adapters.adapter import Similarity
from askew.data import Dataset, EmbeddingSet, Qrels, side_by_side
from askew.errors import ParameterError
from askew.estimators import Alignment, fused
from askew.estimators.align import own_alone
from askew.formats import list_encoders, list_splits, read_side, read_side_texts, read_split
from askew.operators import BilinearOperator, Term
from askew.workflows.score import default_split

__all__ = ["ALIGNED", "COSTS", "FUSED", "OLD", "REINDEXED", "TwoEncoders", "prior_adapter", "read_two"]

#: The systems, by what searches the documents: both are named by the side that they were given for.
OLD, ALIGNED, FUSED, REINDEXED = "document encoder", "aligned", "fused", "query encoder, own index"
#: What each costs beside the index there is.
COSTS: Mapping[str, str] = MappingProxyType(
    {
        OLD: "nothing new: the index and its own encoder",
        ALIGNED: "one embedding a query, by the query encoder",
        FUSED: "one more embedding a query: by both encoders",
        REINDEXED: "every document embedded and stored again",
    }
)


@dataclass(frozen=True, eq=False)
class TwoEncoders:
    """One task, embedded by a query encoder and a document encoder.

    Attributes:
        name: of the folder.
        index: (m, d_document) the documents by the document encoder: what is searched.
        documents: documents by the query encoder; perhaps only some of them.
        queries: by the query encoder, if there are any.
        own_queries: by the document encoder, if there are any.
        qrels: judgements of one split, if there are any.
        split: its name.
        texts: side → id → text.
    """

    name: str
    index: EmbeddingSet
    documents: EmbeddingSet
    queries: EmbeddingSet | None = None
    own_queries: EmbeddingSet | None = None
    qrels: Qrels | None = None
    split: str | None = None
    texts: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}), repr=False)

    @property
    def names(self) -> tuple[str, str]:
        """What to call the query encoder and the document encoder."""
        return self.documents.encoder or "query encoder", self.index.encoder or "document encoder"

    @property
    def reindexed(self) -> bool:
        """Whether the query encoder has embedded every document of the index."""
        return all(name in self.documents for name in self.index.ids)

    @property
    def judged_by_all(self) -> list[str]:
        """The judged queries that each encoder with any queries has embedded: systems are compared on these alone."""
        asked = [side for side in (self.queries, self.own_queries) if side is not None]
        named = () if self.qrels is None or not asked else self.qrels.queries
        return [name for name in named if all(name in side for side in asked)]

    @property
    def unjudged(self) -> str:
        """Why no judgement tells of the query encoder's queries, where none does."""
        if self.qrels is None:
            return "Nothing is judged here"
        lacking = f"no queries by {self.names[0]}" if self.queries is None else "of no query that each has embedded"
        return f"There are judgements, but {lacking}"

    def asked(self, system: str) -> EmbeddingSet | None:
        """The queries that a system searches with; None where a side of them is not there."""
        if system == OLD:
            return self.own_queries
        if system == FUSED:
            if self.queries is None or self.own_queries is None:
                return None
            common = [name for name in self.own_queries.ids if name in self.queries]
            return side_by_side(self.own_queries.take(common), self.queries) if common else None
        return self.queries

    def dataset(self, system: str) -> Dataset | None:
        """The task as a system meets it; None without its queries or judgements of any."""
        asked = self.asked(system)
        if asked is None or self.qrels is None or not any(name in asked for name in self.qrels.queries):
            return None
        documents = self.documents.take(self.index.ids) if system == REINDEXED else self.index
        return Dataset(
            asked, documents, self.qrels, self.texts.get("queries", {}), self.texts.get("documents", {}), self.name
        )

    def only_common(self) -> TwoEncoders:
        """The same with the documents that both have embedded."""
        common = [name for name in self.index.ids if name in self.documents]
        if len(common) == len(self.index) and self.documents.ids == self.index.ids:
            return self
        return replace(self, index=self.index.take(common), documents=self.documents.take(common))


def read_two(
    folder: str | PathLike[str],
    *,
    query_encoder: str,
    document_encoder: str,
    split: str | None = None,
    judged: bool = True,
    bad_rows: Literal["raise", "drop"] = "raise",
    texts: bool = False,
) -> TwoEncoders:
    """Read a task by two encoders; of queries and judgements what there is.

    Args:
        folder: see `askew.formats.read_dataset`.
        query_encoder: the encoder of queries; some documents must be embedded by it too.
        document_encoder: the encoder of the index.
        split: whose judgements; ``test``, else ``train``, else the only one, by default.
        judged: read judgements, where there are any.
        bad_rows: ``"raise"`` or ``"drop"``.
        texts: read texts too.

    Raises:
        InputError: something is missing or damaged.
        ParameterError: the two are one encoder, there is no such encoder or split, or there are several splits and
            none is named.
    """
    if query_encoder == document_encoder:
        raise ParameterError(
            f"both sides are to be embedded by {query_encoder!r}: there is nothing to align",
            where=folder,
            remedy="Name two encoders, or use 'askew fit --encoder'",
        )
    index = read_side(folder, "documents", document_encoder, bad_rows=bad_rows)
    documents = read_side(folder, "documents", query_encoder, bad_rows=bad_rows)
    asking = list_encoders(folder, "queries")
    queries, own = (
        read_side(folder, "queries", name, bad_rows=bad_rows) if name in asking else None
        for name in (query_encoder, document_encoder)
    )
    there = judged and (split is not None or bool(list_splits(folder)))
    split = default_split(folder, split) if there else None
    held = {side: read_side_texts(folder, side) for side in ("queries", "documents")} if texts else {}
    qrels = read_split(folder, split) if there else None
    return TwoEncoders(
        Path(folder).resolve().name,
        index,
        documents,
        queries,
        own,
        qrels,
        split,
        MappingProxyType(held),
    )


def prior_adapter(
    task: TwoEncoders,
    alignment: Alignment,
    system: str,
    *,
    beta: float,
    similarity: Similarity = "dot",
    judged: bool = False,
) -> Adapter | None:
    """The adapter without labels of a system: its prior alone; None where it searches without one.

    Args:
        task: whose vectors its canaries are.
        alignment: of its encoders.
        system: which.
        beta: of the fusion.
        similarity: as the index scores.
        judged: with the map that has not seen the held-out documents.
    """
    if system not in (ALIGNED, FUSED):
        return None
    known = replace(alignment, map=alignment.judged) if judged else alignment
    prior: Term = known.term if system == ALIGNED else fused(known, beta)
    asked = task.asked(system)
    name = None if asked is None else asked.encoder
    provenance = Provenance(
        query_encoder=alignment.query_encoder if system == ALIGNED else name,
        document_encoder=alignment.document_encoder,
        query_canaries=None if asked is None else Canaries.pick(asked, task.texts.get("queries", {})),
        document_canaries=Canaries.pick(task.index, task.texts.get("documents", {})),
        record={
            "askew": __version__,
            "dataset": task.name,
            "system": system,
            "alignment": alignment.to_json(),
            **({"beta": beta} if system == FUSED else {}),
        },
    )
    base = own_alone(alignment) if system == FUSED else None
    return Adapter(BilinearOperator(prior), similarity, provenance, base=base)
