"""Gate: whether a new query encoder on an old index keeps enough to migrate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from askew.errors import ParameterError
from askew.workflows.advise import FEW, LEAST_OVERLAP, too_few
from askew.workflows.retention import aligned_on_held_out

if TYPE_CHECKING:
    from askew.workflows.align import Aligned

__all__ = ["Gate", "gate"]

# What a migration keeps at least of the old system's quality, unless it is told otherwise.
_LEAST_RETENTION = 0.95


@dataclass(frozen=True)
class Gate:
    """Whether a migration keeps enough.

    Attributes:
        passed: whether it does; never on too little evidence.
        reason: a sentence.
        retention: of the old system's quality, if that was asked for or could be measured.
        overlap: of the old system's first ten, on held-out documents, likewise.
        interval: 95%, of the retention over queries.
    """

    passed: bool
    reason: str
    retention: float | None
    overlap: float | None
    interval: tuple[float, float] | None

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(self.__dict__)


def gate(found: Aligned, *, least_retention: float | None = None, least_overlap: float | None = None) -> Gate:
    """Whether queries by the new encoder on the old index keep enough of the old system.

    Args:
        found: the query encoder is the new one, the document encoder the old one.
        least_retention: of the old system's mean of the first measure; 0.95 by default where it can be measured.
        least_overlap: of the old encoder's first ten, on held-out documents; 0.8 by default where quality cannot be
            measured.

    Fewer than 50 judged queries pass nothing, nor do few documents: see `askew.workflows.advise.too_few`.

    Raises:
        ParameterError: a bound is not between 0 and 1, or cannot be measured here.
    """
    for name, bound in (("least_retention", least_retention), ("least_overlap", least_overlap)):
        if bound is not None and not 0 <= bound <= 1:
            raise ParameterError(f"the bound is {bound}", where=name, remedy="Give a share from 0 to 1")
    kept = aligned_on_held_out(found.kept)
    overlap = None if kept is None else kept.of_document_encoder
    if least_retention is not None and found.retained is None:
        raise ParameterError(
            "there are no judged queries by both encoders to measure what is retained on",
            where="least_retention",
            remedy="Bound the overlap, or add queries by both encoders and their judgements",
        )
    if least_retention is None and least_overlap is None:
        if found.retained is None:
            least_overlap = LEAST_OVERLAP
        else:
            least_retention = _LEAST_RETENTION
    if least_overlap is not None and overlap is None:
        raise ParameterError(
            "too few documents are embedded by both encoders to hold any out",
            where="least_overlap",
            remedy="Embed 1,000 or more with the new encoder",
        )
    interval = found.retained_interval
    around = "" if interval is None else f" (95% interval {interval[0]:.1%} to {interval[1]:.1%})"
    checks = [
        (value, bound, what)
        for value, bound, what in (
            (found.retained, least_retention, f"of the old system's quality is retained{around}"),
            (overlap, least_overlap, "of its first ten results are kept on held-out documents"),
        )
        if value is not None and bound is not None
    ]
    told = [f"{value:.1%} {what}, {bound:.1%} was asked for" for value, bound, what in checks]
    lacking = []
    if least_retention is not None:
        count = len(found.standings[0].evaluation.queries)
        if count < FEW:
            lacking.append(f"{count} judged queries are too few to pass, fewer than {FEW}")
    if least_overlap is not None and kept is not None:
        lacking += filter(None, [too_few(kept, found.index)])
    passed = not lacking and all(value >= bound for value, bound, _ in checks)
    return Gate(passed, "; ".join([*told, *lacking]), found.retained, overlap, interval)
