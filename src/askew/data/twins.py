"""Twins: one document under several ids, and judgements that only one of them has."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from askew.data.dataset import Dataset
from askew.data.duplicates import joined, near_duplicate_pairs
from askew.data.embeddings import EmbeddingSet
from askew.data.health import Finding
from askew.data.qrels import Qrels
from askew.errors import counted
from askew.linalg.fixed import IntArray

__all__ = ["Twins", "find_twins", "merge_duplicates"]


@dataclass(frozen=True)
class Twins:
    """Documents that are there under several ids.

    Attributes:
        groups: the ids of one document, ascending; groups in the order of their first ids.
        alike: pairs of near-duplicate vectors whose texts differ, which are *not* taken for one
            document: "with" and "without" can be that close.
    """

    groups: tuple[tuple[str, ...], ...]
    alike: tuple[tuple[str, str], ...]

    def spread(self, qrels: Qrels, corpus: Container[str]) -> Qrels:
        """Give every twin in the corpus the judgements of the others: the highest grade that any has.

        Args:
            qrels: the judgements.
            corpus: the documents that there are; no other becomes judged.

        >>> twins = Twins((("a", "b"),), ())
        >>> dict(twins.spread(Qrels({"q": {"a": 2, "c": 0}}), {"a", "b", "c"})["q"])
        {'a': 2.0, 'b': 2.0, 'c': 0.0}
        """
        of = {name: group for group in self.groups for name in group}
        grades: dict[str, dict[str, float]] = {}
        for query, judged in qrels.grades.items():
            held = grades[query] = {}
            for document in judged:
                group = of.get(document, (document,))
                best = max(judged[name] for name in group if name in judged)
                held.update({name: best for name in (document, *group) if name in judged or name in corpus})
        return Qrels(grades)

    def changes(self, qrels: Qrels, corpus: Container[str]) -> list[tuple[str, str, float | None, float]]:
        """What `spread` changes: query, document, the grade before (None if there was none), and after.

        Args:
            qrels: the judgements.
            corpus: the documents that there are.
        """
        return [
            (query, document, qrels[query].get(document), grade)
            for query, judged in self.spread(qrels, corpus).grades.items()
            for document, grade in judged.items()
            if qrels[query].get(document) != grade
        ]

    def findings(self, qrels: Qrels, corpus: Container[str]) -> tuple[Finding, ...]:
        """What there is to know about twins, and about judgements that not all of them have.

        Args:
            qrels: the judgements.
            corpus: the documents that there are.
        """
        changes = self.changes(qrels, corpus)
        lacking = [f"{query} {document}" for query, document, before, _ in changes if before is None]
        lower = [f"{query} {document}" for query, document, before, _ in changes if before is not None]
        copies = [name for group in self.groups for name in group[1:]]
        alike = [f"{left} {right}" for left, right in self.alike]
        rows: tuple[tuple[str, Literal["note", "warning"], list[str], str, str, str | None], ...] = (
            (
                "duplicate-documents",
                "note",
                copies,
                "document is a copy of another: the same text, or near-duplicate vectors where a text is missing",
                "documents are copies of another: the same text, or near-duplicate vectors where a text is missing",
                None,
            ),
            (
                "half-judged-duplicates",
                "warning",
                lacking,
                "judgement is lacking on a copy of a judged document; a search that finds the copy scores 0 for it",
                "judgements are lacking on copies of judged documents; a search that finds the copy scores 0 for it",
                "Say --merge-duplicates, which gives every copy the judgement",
            ),
            (
                "contradicting-duplicates",
                "warning",
                lower,
                "judgement is lower than that of a copy for the same query",
                "judgements are lower than that of a copy for the same query",
                "Correct them, or say --merge-duplicates, which takes the highest",
            ),
            (
                "alike-documents",
                "note",
                alike,
                "pair of documents has near-duplicate vectors and different texts",
                "pairs of documents have near-duplicate vectors and different texts",
                None,
            ),
        )
        return tuple(
            Finding(code, level, counted(len(found), one, many), len(found), tuple(found[:5]), remedy)
            for code, level, found, one, many, remedy in rows
            if found
        )


def find_twins(
    documents: EmbeddingSet | None, texts: Mapping[str, str], judged: Collection[str], *, corpus: Container[str]
) -> Twins:
    """Find documents that are there under several ids.

    Two documents are one if their texts are the same but for white space; or, where one has no text,
    if their vectors have a cosine of 0.999 or more and one of them is judged.

    Args:
        documents: (m, d) embeddings, if there are any.
        texts: document id → text, where known.
        judged: the judged documents; the others' vectors are not compared with each other.
        corpus: the documents that there are.

    >>> find_twins(None, {"a": "one  two", "b": "one two", "c": "three"}, [], corpus="abc").groups
    (('a', 'b'),)
    """
    told = {name: " ".join(text.split()) for name, text in texts.items() if name in corpus or name in judged}
    told = {name: text for name, text in told.items() if text}
    first: dict[str, str] = {}
    pairs = [(first.setdefault(text, name), name) for name, text in told.items()]
    alike: list[tuple[str, str]] = []
    for left, right in () if documents is None else _near(documents, judged):
        if left not in told or right not in told:
            pairs.append((left, right))
        elif told[left] != told[right]:
            alike.append((min(left, right), max(left, right)))
    return Twins(_groups([pair for pair in pairs if pair[0] != pair[1]]), tuple(sorted(set(alike))))


def merge_duplicates(dataset: Dataset) -> tuple[Dataset, tuple[Finding, ...]]:
    """Give every copy of a judged document its judgements.

    The corpus stays as it is, for so does the index: both copies will be found there.

    Args:
        dataset: the task, with texts if it has any.

    Returns:
        The task, and a note of what was done, if anything was.

    >>> pair = EmbeddingSet("ab", np.ones((2, 2)))
    >>> task, findings = merge_duplicates(Dataset(pair, pair, Qrels({"a": {"a": 1}})))
    >>> dict(task.qrels["a"]), findings[0].message
    ({'a': 1.0, 'b': 1.0}, '1 judgement was given to copies of judged documents')
    """
    twins = find_twins(dataset.documents, dataset.document_texts, dataset.qrels.documents(), corpus=dataset.documents)
    changes = twins.changes(dataset.qrels, dataset.documents)
    if not changes:
        return dataset, ()
    message = f"{counted(len(changes), 'judgement was', 'judgements were')} given to copies of judged documents"
    examples = tuple(f"{query} {document}" for query, document, _, _ in changes[:5])
    merged = replace(dataset, qrels=twins.spread(dataset.qrels, dataset.documents))
    return merged, (Finding("merged-duplicates", "note", message, len(changes), examples),)


def _near(documents: EmbeddingSet, judged: Collection[str]) -> list[tuple[str, str]]:
    rows = np.sort(documents.rows([name for name in judged if name in documents]))
    return [(documents.ids[left], documents.ids[right]) for left, right in near_duplicate_pairs(documents, rows)]


def _groups(pairs: Collection[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Single linkage along pairs of ids."""
    names = sorted({name for pair in pairs for name in pair})
    at = {name: place for place, name in enumerate(names)}
    ends: IntArray = np.array([[at[left], at[right]] for left, right in pairs], dtype=np.int64).reshape(-1, 2)
    found: dict[int, list[str]] = {}
    for name, leader in zip(names, joined(np.arange(len(names)), ends[:, 0], ends[:, 1]), strict=True):
        found.setdefault(int(leader), []).append(name)
    return tuple(tuple(group) for group in found.values())
