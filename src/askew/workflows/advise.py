"""Advise: which system to use over an index, from judgements where there are any, else from what is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from askew.evaluation import Comparison, compare
from askew.workflows.retention import Kept, Standing, aligned_on_held_out
from askew.workflows.two_encoders import ALIGNED, FUSED, OLD, REINDEXED

__all__ = ["FEW", "LEAST_OVERLAP", "Advice", "advise", "too_few"]

#: Fewer judged queries are no evidence; the report's tables say the same.
FEW = 50
#: Without judgements: an aligned system that shares fewer of the document encoder's first ten may be much worse. Pairs
#: that lose up to half by judgements share up to 0.78 among 1,000 documents (benchmarks/alignment_guess.py).
LEAST_OVERLAP = 0.8
# Among few documents the first ten agree by chance, and near ones are missing: of an index of 800, of which 200 are
# embedded by both, an alignment that retains a quarter kept half.
_FEWEST_ASKED, _FEWEST_DOCUMENTS = 20, 1000


@dataclass(frozen=True)
class Advice:
    """Which system to use.

    Attributes:
        system: its name.
        sure: whether judged queries say so outside the noise.
        reason: a sentence.
    """

    system: str
    sure: bool
    reason: str

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return dict(self.__dict__)


def advise(
    standings: Sequence[Standing],
    kept: Sequence[Kept],
    names: tuple[str, str],
    *,
    index: int,
    unjudged: str = "Nothing is judged here",
    seed: int = 0,
) -> Advice:
    """Which system to use over the index of the document encoder.

    Args:
        standings: of the systems on judged queries; empty without any.
        kept: of both encoders' rankings.
        names: of the query encoder and the document encoder.
        index: how many documents the index has.
        unjudged: why there are none, in words.
        seed: of the resampling.
    """
    held = {one.system: one for one in standings}
    if ALIGNED not in held:
        return _guess(kept, names, index, unjudged)
    aligned = held[ALIGNED].against
    if aligned is None:
        return _without_own(held, kept, names, index)
    found = _measured(held, aligned, names, seed)
    count = len(held[ALIGNED].evaluation.queries)
    if count >= FEW:
        return found
    return Advice(found.system, False, f"{found.reason} {count} judged queries are too few to be sure.")


def too_few(kept: Kept, index: int) -> str:
    """Why what is kept says nothing, in words; empty where it says something.

    Args:
        kept: on held-out documents.
        index: how many documents the index has.
    """
    if kept.documents < min(index, _FEWEST_DOCUMENTS):
        return (
            f"{kept.documents:,} of {index:,} documents are embedded by both encoders, and among fewer than "
            f"{min(index, _FEWEST_DOCUMENTS):,} the first ten agree by chance"
        )
    if kept.count < _FEWEST_ASKED:
        return f"{kept.count:,} held-out documents are too few to ask with, fewer than {_FEWEST_ASKED}"
    return ""


def _measured(held: Mapping[str, Standing], aligned: Comparison, names: tuple[str, str], seed: int) -> Advice:
    """By the differences to the document encoder with its own queries."""
    fused = held[FUSED].against if FUSED in held else None
    told = f"{names[0]} aligned to {names[1]}'s index is at {_said(aligned)} against {names[1]}'s own queries"
    if aligned.high < 0:
        told += ", clearly below"
    if fused is not None:
        told += f"; both fused are at {_said(fused)}"
    told += _ceiling(held, names, seed, below=aligned.high < 0)
    pays = fused is not None and fused.low > 0
    # An alignment that pays leaves less for a second embedding to bring.
    if pays and (aligned.low <= 0 or _difference(held, ALIGNED, FUSED, seed).low > 0):
        return Advice(FUSED, True, f"{told}. Embed each query with both.")
    if aligned.low > 0:
        return Advice(ALIGNED, True, f"{told}.")
    if aligned.high < 0:
        return Advice(OLD, True, f"{told}. Keep embedding queries with {names[1]}.")
    system = ALIGNED if aligned.difference > 0 else OLD
    return Advice(system, False, f"{told}. Neither can be told from noise, so let cost decide.")


def _difference(held: Mapping[str, Standing], first: str, second: str, seed: int) -> Comparison:
    """Of two systems, by the first measure."""
    one, two = held[first].evaluation, held[second].evaluation
    return compare(one, two, next(iter(one.values)), seed=seed)


def _ceiling(held: Mapping[str, Standing], names: tuple[str, str], seed: int, *, below: bool) -> str:
    """What an index of the query encoder's own would bring, where that is clearly more or tells why it is below."""
    row = held[REINDEXED].against if REINDEXED in held else None
    if row is None or (row.low <= 0 and not below):
        return ""
    told = f"; an index of {names[0]}'s own would be at {_said(row)}"
    if not below:
        return told
    if _difference(held, REINDEXED, ALIGNED, seed).high < 0:
        return f"{told}: a linear map does not carry that over"
    return f"{told}, so it is not for the map" if row.difference <= 0 else told


def _without_own(held: Mapping[str, Standing], kept: Sequence[Kept], names: tuple[str, str], index: int) -> Advice:
    """No queries by the document encoder: nothing to compare with but what the map keeps of documents."""
    mean, rest = held[ALIGNED].mean, ""
    if REINDEXED in held and held[REINDEXED].mean > 0:
        share = mean / held[REINDEXED].mean
        rest = f", {share:.0%} of what {names[0]} reaches on an index of its own"
    system, why = _carried(kept, names, index)
    return Advice(
        system,
        False,
        f"{names[0]} aligned to {names[1]}'s index scores {mean:.4f}{rest}; there are no queries by {names[1]} to "
        f"compare it with: embed them too before you decide. {why}.",
    )


def _guess(kept: Sequence[Kept], names: tuple[str, str], index: int, unjudged: str) -> Advice:
    """No judged queries: a guess by held-out documents."""
    system, why = _carried(kept, names, index)
    return Advice(system, False, f"{unjudged}, so this is a guess. {why}.")


def _carried(kept: Sequence[Kept], names: tuple[str, str], index: int) -> tuple[str, str]:
    """A system and why, by whether the map searches like the document encoder, on held-out documents.

    A perfect map gives the document encoder's own results for a document. One that gives others may be better or
    worse: nothing here can tell.
    """
    found = aligned_on_held_out(kept)
    if found is None:
        return OLD, "Nothing could be measured on documents: too few are embedded by both encoders"
    lacking = too_few(found, index)
    if lacking:
        return OLD, f"What is kept tells nothing: {lacking}"
    own = found.of_document_encoder or 0.0
    told = (
        f"For documents that it has not seen the map finds {own:.0%} of the first ten results that {names[1]} finds, "
        f"and {found.of_query_encoder:.0%} of {names[0]}'s"
    )
    if own < LEAST_OVERLAP:
        return OLD, (
            f"{told}; pairs that lose much find up to 78%, so keep embedding queries with {names[1]}, or fuse the "
            "two, and see to judged queries by both"
        )
    return ALIGNED, f"{told}: it searches much as {names[1]} does"


def _said(row: Comparison) -> str:
    return f"{row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}] {row.measure}"
