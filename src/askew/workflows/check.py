"""Check: read all that a folder holds, fit nothing, and say what is wrong and what is odd."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from os import PathLike
from typing import Any, Literal, ParamSpec, TypeVar

from askew.adapters.adapter import Similarity
from askew.data import Dataset, EmbeddingSet, Finding, Qrels, Twins, examine, find_twins
from askew.errors import AskewError, counted
from askew.formats import (
    check_card,
    encoder_of_documents,
    list_encoders,
    list_splits,
    read_side,
    read_side_texts,
    read_split,
)

__all__ = ["Check", "check"]

_T = TypeVar("_T")
_P = ParamSpec("_P")
_Placed = tuple[str, Finding]
Side = Literal["queries", "documents"]
_SIDES: tuple[Side, Side] = ("queries", "documents")
Change = tuple[str, str, float | None, float]


@dataclass(frozen=True, eq=False)
class Check:
    """What was read, and what there is to know about it.

    Attributes:
        splits: split → its judgements.
        encoders: encoder → its embeddings of queries and documents, those that could be read.
        texts: how many texts of queries and of documents.
        findings: what is odd, each with the place it concerns, such as a split.
        errors: why something could not be read or used.
        twins: the documents that are there under several ids.
        changes: split → what giving copies their judgements would change: query, document, grade
            before and after.
    """

    splits: Mapping[str, Qrels] = field(default_factory=dict)
    encoders: Mapping[str, Mapping[Side, EmbeddingSet]] = field(default_factory=dict)
    texts: Mapping[Side, int] = field(default_factory=dict)
    findings: tuple[tuple[str, Finding], ...] = ()
    errors: tuple[AskewError, ...] = ()
    twins: Twins = field(default_factory=lambda: Twins((), ()))
    changes: Mapping[str, list[Change]] = field(default_factory=dict)

    @property
    def warnings(self) -> int:
        """How many findings are warnings."""
        return sum(finding.level == "warning" for _, finding in self.findings)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "splits": {name: _judged(qrels) for name, qrels in self.splits.items()},
            "encoders": {
                name: {side: _embedded(held) for side, held in sides.items()} for name, sides in self.encoders.items()
            },
            "texts": dict(self.texts),
            "findings": [{"place": place, **finding.to_json()} for place, finding in self.findings],
            "errors": [str(error) for error in self.errors],
            "duplicates": {
                "groups": [list(group) for group in self.twins.groups],
                "alike": [list(pair) for pair in self.twins.alike],
                "changes": {
                    split: [
                        {"query": query, "document": document, "before": before, "after": after}
                        for query, document, before, after in changes
                    ]
                    for split, changes in self.changes.items()
                },
            },
        }


class _Errors(list[AskewError]):
    """Errors met on the way, each once."""

    def trying(self, read: Callable[_P, _T], *args: _P.args, **options: _P.kwargs) -> _T | None:
        """What `read` gives; None, and the error kept, if it refuses."""
        try:
            return read(*args, **options)
        except AskewError as error:
            if str(error) not in map(str, self):
                self.append(error)
            return None


def check(
    folder: str | PathLike[str],
    *,
    encoder: str | None = None,
    document_encoder: str | None = None,
    similarity: Similarity = "dot",
    bad_rows: Literal["raise", "drop"] = "raise",
) -> Check:
    """Read every split, every encoder and all texts of a folder, and look them over.

    Args:
        folder: see `askew.formats.read_dataset`.
        encoder: of queries and documents; every one by default. ``"A+B"`` are queries by both, and documents by A.
        document_encoder: of documents, if another.
        similarity: how the index scores; under ``"cosine"`` norms do not matter.
        bad_rows: ``"raise"`` makes rows with NaN or infinite values an error, ``"drop"`` a warning.

    Raises:
        FormatError: there is no such folder.
    """
    errors = _Errors()
    names = list_splits(folder) or (None,)  # without any, the reader says so
    read = {name: errors.trying(read_split, folder, name) for name in names}
    judged = {str(name): qrels for name, qrels in read.items() if qrels is not None}
    texts = {side: errors.trying(read_side_texts, folder, side) or {} for side in _SIDES}
    held: dict[str, dict[Side, EmbeddingSet]] = {}
    for name, makers in (errors.trying(_makers, folder, encoder, document_encoder) or {}).items():
        sides = {
            side: errors.trying(read_side, folder, side, maker, bad_rows=bad_rows) for side, maker in makers.items()
        }
        held[name] = {side: found for side, found in sides.items() if found is not None}
        for side, made in held[name].items():
            errors.trying(check_card, folder, made, side)
    findings = _overlaps(judged)
    for name, embedded in held.items():
        findings += _textless(name, embedded, texts)
        if len(embedded) == 2:
            findings += _unequal(name, embedded)
            findings += _examined(name, embedded, judged, similarity, errors)
    twins, changes, told = _duplicates(held, judged, texts["documents"])
    counts = {side: len(found) for side, found in texts.items()}
    return Check(judged, held, counts, (*findings, *told), tuple(errors), twins, changes)


def _makers(
    folder: str | PathLike[str], encoder: str | None, document_encoder: str | None
) -> dict[str, dict[Side, str]]:
    """What is looked over together: a name, and the encoder of each side."""
    if encoder is not None and document_encoder is not None:
        return {f"{encoder} and {document_encoder}": {"queries": encoder, "documents": document_encoder}}
    if encoder is not None and encoder not in list_encoders(folder):  # perhaps of two
        return {encoder: {"queries": encoder, "documents": encoder_of_documents(folder, encoder)}}
    if encoder is not None or document_encoder is not None:
        name = encoder or document_encoder or ""
        return {name: dict.fromkeys(_SIDES, name)}
    found: dict[str, dict[Side, str]] = {}
    for side in _SIDES:
        for name in list_encoders(folder, side):
            found.setdefault(name, {})[side] = name
    return found or {"embeddings": {"documents": "embeddings"}}  # without any, the reader says so


def _textless(name: str, sides: Mapping[Side, EmbeddingSet], texts: Mapping[Side, Mapping[str, str]]) -> list[_Placed]:
    found: list[_Placed] = []
    for side, held in sides.items():
        lacking = [item for item in held.ids if item not in texts[side]] if texts[side] else []
        if lacking:
            one = "query" if side == "queries" else "document"
            message = counted(len(lacking), f"embedded {one} has no text", f"embedded {side} have no text")
            found.append((name, Finding(f"no-text-{side}", "note", message, len(lacking), tuple(lacking[:5]))))
    return found


def _unequal(name: str, sides: Mapping[Side, EmbeddingSet]) -> list[_Placed]:
    """Sides of one encoder with different dimensions have no base, and are mostly a slip."""
    dims = sides["queries"].dim, sides["documents"].dim
    if dims[0] == dims[1] or sides["queries"].encoder != sides["documents"].encoder:
        return []
    message = f"queries have {dims[0]} dimensions and documents {dims[1]}, under one encoder: no base can compare them"
    remedy = "Embed both with one encoder, or name each side's own (--encoder, --document-encoder)"
    return [(name, Finding("unequal-dimensions", "warning", message, 1, remedy=remedy))]


def _examined(
    name: str,
    sides: Mapping[Side, EmbeddingSet],
    judged: Mapping[str, Qrels],
    similarity: Similarity,
    errors: _Errors,
) -> list[_Placed]:
    """What `examine` finds; what it finds in every split concerns none of them."""
    places: dict[Finding, list[str]] = {}
    for split, qrels in judged.items():
        place = f"{name}, {split}"
        data = errors.trying(Dataset, sides["queries"], sides["documents"], qrels, name=place)
        for finding in () if data is None else examine(data, similarity=similarity):
            places.setdefault(finding, []).append(place)
    return [(name if len(held) == len(judged) else ", ".join(held), finding) for finding, held in places.items()]


def _overlaps(judged: Mapping[str, Qrels]) -> list[_Placed]:
    found: list[_Placed] = []
    for left, right in combinations(judged, 2):
        both = [query for query in judged[left].queries if query in judged[right]]
        if both:
            message = f"{counted(len(both), 'query is', 'queries are')} judged in both splits"
            remedy = "Take them out of one; fit takes test queries out of training"
            finding = Finding("split-overlap", "warning", message, len(both), tuple(both[:5]), remedy)
            found.append((f"{left} and {right}", finding))
    return found


def _duplicates(
    held: Mapping[str, Mapping[Side, EmbeddingSet]], judged: Mapping[str, Qrels], texts: Mapping[str, str]
) -> tuple[Twins, dict[str, list[Change]], list[_Placed]]:
    """Twins by text and, of the first encoder that has documents, by vector."""
    documents = next((sides["documents"] for sides in held.values() if "documents" in sides), None)
    corpus = set(texts) if documents is None else set(documents.ids)
    if not corpus:
        return Twins((), ()), {}, []
    every = {name for qrels in judged.values() for name in qrels.documents()}
    twins = find_twins(documents, texts, every, corpus=corpus)
    changes = {split: found for split, qrels in judged.items() if (found := twins.changes(qrels, corpus))}
    told = [("documents", finding) for finding in twins.findings(Qrels({}), corpus)]
    for split, qrels in judged.items():
        told += [(split, finding) for finding in twins.findings(qrels, corpus) if finding.level == "warning"]
    return twins, changes, told


def _judged(qrels: Qrels) -> dict[str, int]:
    relevant = sum(len(qrels.positives(query)) for query in qrels.queries)
    return {"queries": len(qrels), "judgements": qrels.judgements, "relevant": relevant}


def _embedded(held: EmbeddingSet) -> dict[str, Any]:
    return {"rows": len(held), "dim": held.dim, "dtype": held.dtype.name, "dropped": list(held.dropped)}
