"""Which kinds of queries gain: counts and mean gains by what the base made of a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from askew.report._words import count, signed

if TYPE_CHECKING:
    from askew.report.cases import QueryCase, QueryGain

__all__ = ["NOTHING", "Band", "bands", "rescues", "tally", "tied"]

# A change below this is the rounding of two means, not a gain.
NOTHING = 1e-9


@dataclass(frozen=True)
class Band:
    """Queries that the base scored alike.

    Attributes:
        name: what the base scored.
        n: how many queries.
        helped: of these.
        unchanged: of these.
        hurt: of these.
        gain: their mean.
        share: what they add to the mean gain of all queries.
    """

    name: str
    n: int
    helped: int
    unchanged: int
    hurt: int
    gain: float
    share: float


def tally(per_query: Sequence[QueryGain]) -> tuple[int, int, int]:
    """How many queries are helped, unchanged and hurt."""
    helped = sum(query.gain > NOTHING for query in per_query)
    hurt = sum(query.gain < -NOTHING for query in per_query)
    return helped, len(per_query) - helped - hurt, hurt


def bands(per_query: Sequence[QueryGain]) -> list[Band]:
    """Queries that the base missed, had in part, and had wholly right; those kinds that there are."""
    kinds: dict[str, list[QueryGain]] = {"0": [], "in between": [], "1": []}
    for query in per_query:
        kinds["0" if query.base <= NOTHING else "1" if query.base >= 1 - NOTHING else "in between"].append(query)
    return [_band(name, held, len(per_query)) for name, held in kinds.items() if held]


def _band(name: str, queries: Sequence[QueryGain], of: int) -> Band:
    total = sum(query.gain for query in queries)
    return Band(name, len(queries), *tally(queries), total / len(queries), total / of)


def rescues(per_query: Sequence[QueryGain]) -> str:
    """A sentence: how many queries are rescued and broken, and what the unchanged ones are; "" for no query."""
    rows = {band.name: band for band in bands(per_query)}
    if not rows:
        return ""
    missed, right, between = (rows.get(name) for name in ("0", "1", "in between"))
    rescued, broken = (missed.helped if missed else 0), (right.hurt if right else 0)
    stay = [(missed, "stayed at 0"), (right, "stayed at 1"), (between, "stayed in between")]
    kept = ", ".join(f"{count(band.unchanged)} {what}" for band, what in stay if band and band.unchanged)
    told = f"It rescues {count(rescued)} queries that the base missed and breaks {count(broken)} that it had right"
    told += f". Of the unchanged, {kept}." if kept else "."
    return (
        f"{told} Part of this any change would bring: a query at 0 can only rise and one at 1 only fall, so read the "
        f"whole, {signed(sum(band.share for band in rows.values()))}, as the gain, and not one line alone."
    )


def tied(shown: Sequence[QueryCase], per_query: Sequence[QueryGain]) -> str:
    """That more queries gain as much as the last one shown than are shown; "" where none is left out so."""
    if not shown:
        return ""
    last = shown[-1].gain
    here, all_ = (sum(abs(one.gain - last) <= NOTHING for one in held) for held in (shown, per_query))
    return f"{count(here)} of {count(all_)} that change by {signed(last)}" if all_ > here else ""
