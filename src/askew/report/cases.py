"""Records of single queries: what each gained, and for the largest changes what moved, and why."""

from __future__ import annotations

from dataclasses import dataclass

from askew.report._plain import Record

__all__ = ["Move", "NearestLabel", "QueryCase", "QueryGain", "RankedDocument"]


@dataclass(frozen=True, kw_only=True)
class QueryGain(Record):
    """One query's value before and after, by the first measure; `text` may be empty."""

    query_id: str
    text: str
    base: float
    adapted: float

    @property
    def gain(self) -> float:
        """How much the correction adds: adapted − base."""
        return self.adapted - self.base


@dataclass(frozen=True, kw_only=True)
class RankedDocument(Record):
    """One retrieved document.

    Attributes:
        doc_id: its id.
        text: the beginning of its text, or "".
        relevant: whether it is judged relevant to the query.
        grade: its judgement; None if it has none.
        score: what it was ranked by; None if that is not finite.
    """

    doc_id: str
    text: str
    relevant: bool
    grade: float | None = None
    score: float | None = None


@dataclass(frozen=True, kw_only=True)
class NearestLabel(Record):
    """The labelled training query of the largest cosine with a query, in the encoder's own space.

    Attributes:
        query_id: its id.
        text: its text, or "".
        cosine: with the query.
        shares: whether a document is relevant to both.
    """

    query_id: str
    text: str
    cosine: float
    shares: bool


@dataclass(frozen=True, kw_only=True)
class Move(Record):
    """Why a query gained or lost: the relevant document whose place counts most, and what it changed places with.

    Attributes:
        sentence: the rest of this record in prose.
        doc_id: the relevant document.
        before: its place in the base's ranking, from 1; None where it is not among the first `depth`.
        after: its place in the adapted ranking, likewise.
        depth: how many places were looked at.
        others: how many documents it passed, or was passed by, among those looked at.
        others_known: how many of these were relevant to a training query.
        examples: the ids of the highest few of them.
        known: whether the document was relevant to a training query.
        nearest: the nearest labelled training query; None without one.
    """

    sentence: str
    doc_id: str
    before: int | None
    after: int | None
    depth: int
    others: int
    others_known: int
    examples: tuple[str, ...] = ()
    known: bool = False
    nearest: NearestLabel | None = None


@dataclass(frozen=True, kw_only=True)
class QueryCase(Record):
    """One query with its first documents before and after, best first, and why they moved where that is known."""

    query_id: str
    text: str
    base: float
    adapted: float
    before: tuple[RankedDocument, ...]
    after: tuple[RankedDocument, ...]
    move: Move | None = None

    @property
    def gain(self) -> float:
        """How much the correction adds: adapted − base."""
        return self.adapted - self.base
