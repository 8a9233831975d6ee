"""Domains: tasks that two encoders have embedded, one by one or pooled, and which documents a sample of them costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from os import PathLike

import numpy as np

from askew.data import EmbeddingSet, Qrels, hash_order
from askew.errors import LabelError, ParameterError
from askew.formats import list_splits, read_split
from askew.workflows.two_encoders import ALIGNED, TwoEncoders, read_two

__all__ = [
    "SAMPLE",
    "TokenCost",
    "domain_of",
    "origin_of",
    "pool",
    "pooled_id",
    "read_domain",
    "sample_documents",
    "token_cost",
]

#: Documents of a task that ERA's alignment takes.
SAMPLE = 1000
# Between the name of a task and an id of it, once tasks are pooled.
_JOINT = "::"
# Of English text under byte-pair vocabularies, about.
_CHARACTERS_A_TOKEN = 4


def read_domain(
    folder: str | PathLike[str],
    *,
    query_encoder: str,
    document_encoder: str,
    name: str | None = None,
    most: int | None = None,
    texts: bool = False,
    seed: int = 0,
) -> TwoEncoders:
    """Read a task with the judgements of all its splits, as ERA's protocol parts queries itself.

    Args:
        folder: see `askew.formats.read_dataset`; queries and documents by both encoders.
        query_encoder: the encoder of queries.
        document_encoder: the encoder of the index.
        name: what to call the task; as its folder by default.
        most: take this many queries at most, by hash.
        texts: read texts too.
        seed: of the hash.

    Returns:
        The task, its judgements those of queries that can teach and that both encoders have embedded.

    Raises:
        InputError: something is missing or damaged.
        LabelError: no query can teach.
    """
    task = read_two(
        folder, query_encoder=query_encoder, document_encoder=document_encoder, judged=False, texts=texts
    ).only_common()
    grades: dict[str, dict[str, float]] = {}
    for split in list_splits(folder):
        for query, judged in read_split(folder, split).grades.items():
            grades.setdefault(query, {}).update(judged)
    whole = replace(task, qrels=Qrels(grades))
    dataset = whole.dataset(ALIGNED)
    own = task.own_queries
    taught = [] if dataset is None or own is None else [name for name in dataset.labelled if name in own]
    if not taught:
        raise LabelError(
            f"no judged query is embedded by both {query_encoder!r} and {document_encoder!r}",
            where=folder,
            remedy="Embed the queries with both encoders",
        )
    return replace(whole, name=name or whole.name, qrels=Qrels(grades).only(hash_order(taught, seed=seed)[:most]))


def pool(tasks: Sequence[TwoEncoders]) -> TwoEncoders:
    """Several tasks as one: ids get the name of their task before them, see `origin_of`.

    Raises:
        ParameterError: there is none, or two have one name.
        EmbeddingError: they are not by the same encoders.
    """
    names = [task.name for task in tasks]
    if not tasks or len(set(names)) < len(names):
        raise ParameterError(f"the tasks {names} cannot be pooled", remedy="Give tasks of different names")
    grades = {
        pooled_id(task.name, query): {pooled_id(task.name, name): grade for name, grade in judged.items()}
        for task in tasks
        if task.qrels is not None
        for query, judged in task.qrels.grades.items()
    }
    return TwoEncoders(
        "+".join(names),
        _pooled(names, [task.index for task in tasks]),
        _pooled(names, [task.documents for task in tasks]),
        _pooled(names, [task.queries for task in tasks if task.queries is not None]),
        _pooled(names, [task.own_queries for task in tasks if task.own_queries is not None]),
        Qrels(grades),
    )


def _pooled(names: Sequence[str], sets: Sequence[EmbeddingSet]) -> EmbeddingSet:
    widths, encoders = {one.dim for one in sets}, {one.encoder for one in sets}
    if len(widths) > 1 or len(encoders) > 1 or len(sets) < len(names):
        raise ParameterError("the tasks are not embedded by the same two encoders", remedy="Embed them all with both")
    ids = chain.from_iterable(
        (pooled_id(name, held) for held in one.ids) for name, one in zip(names, sets, strict=True)
    )
    return EmbeddingSet(ids, np.vstack([np.asarray(one.matrix) for one in sets]), encoder=sets[0].encoder)


def pooled_id(task: str, name: str) -> str:
    """What an id of a task becomes in a pool."""
    return f"{task}{_JOINT}{name}"


def origin_of(name: str) -> str:
    """The task that a pooled id comes from.

    >>> origin_of("scifact::d1")
    'scifact'
    """
    return name.partition(_JOINT)[0]


def domain_of(name: str) -> str:
    """The domain of a task: the folder it stands in; a task that stands alone is a domain of its own.

    >>> domain_of("Finance/FinQA"), domain_of("scifact")
    ('Finance', 'scifact')
    """
    return name.partition("/")[0]


def sample_documents(tasks: Sequence[TwoEncoders], *, count: int = SAMPLE, seed: int = 42) -> list[list[str]]:
    """For each task the ids of `count` documents, by hash, or of all where it has fewer."""
    return [hash_order(task.index.ids, seed=seed)[:count] for task in tasks]


@dataclass(frozen=True)
class TokenCost:
    """What embedding costs in tokens, one task.

    Attributes:
        task: its name.
        documents: of the whole corpus.
        sampled: documents that the alignment takes.
        tokens: of the whole corpus: what a new index by the query encoder costs.
        sampled_tokens: of the sample: what the alignment costs.
        query_tokens: of the queries.
    """

    task: str
    documents: int
    sampled: int
    tokens: int
    sampled_tokens: int
    query_tokens: int

    @property
    def share(self) -> float:
        """Of the corpus's tokens that the alignment needs."""
        return self.sampled_tokens / self.tokens if self.tokens else 0.0


def token_cost(
    task: TwoEncoders, sample: Sequence[str], *, count: Callable[[str], int] | None = None
) -> TokenCost | None:
    """Count the tokens that an alignment and a new index would cost; None without texts.

    Args:
        task: with texts.
        sample: ids of the documents that the alignment takes.
        count: the encoder's own count of a text's tokens; by default a token for every four characters, begun ones
            counted, which is near it for English.

    >>> from askew.data import EmbeddingSet
    >>> both = EmbeddingSet("ab", np.eye(2))
    >>> task = TwoEncoders("t", both, both, texts={"documents": {"a": "newt", "b": "newts swim."}, "queries": {}})
    >>> token_cost(task, ["a"]).share
    0.25
    """
    texts: Mapping[str, str] = task.texts.get("documents", {})
    if not texts:
        return None
    counted = count or (lambda text: -(-len(text) // _CHARACTERS_A_TOKEN))
    lengths = {name: counted(texts.get(name, "")) for name in task.index.ids}
    asked = task.texts.get("queries", {})
    return TokenCost(
        task.name,
        len(lengths),
        len(sample),
        sum(lengths.values()),
        sum(lengths[name] for name in sample),
        sum(counted(text) for text in asked.values()),
    )
