"""What to expect: which of a report's gains is which, and how much of them is memory, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from askew.report._words import FEW, count, number, percent, signed
from askew.report.seen import seen_rows

if TYPE_CHECKING:
    from askew.report.summary import Comparison, FitSummary

__all__ = ["expected", "memory", "unalike"]


def expected(summary: FitSummary) -> list[str]:
    """Which gain to expect in use, which one decided, and why the others differ; nothing where none was measured."""
    if not summary.tried:
        return []
    told = [_in_use(summary), _decided(summary), _before_nesting(summary)]
    return [sentence for sentence in told if sentence]


def _row(summary: FitSummary, subset: str) -> Comparison | None:
    return next((row for row in seen_rows(summary) if row.subset == subset), None)


def _in_use(summary: FitSummary) -> str:
    kept = summary.verdict.decision == "keep"
    whole, unseen = _row(summary, "all"), _row(summary, "unseen")
    if whole is None:
        gain = summary.verdict.gain
        if kept or gain is None:
            return "In use nothing changes: what was written is the base." if kept else ""
        return f"In use, expect about the nested gain, {signed(gain)} in {summary.measure}."
    start = "In use nothing changes; the correction would have brought" if kept else "In use, expect"
    told = (
        f"{start} about {signed(whole.difference)} in {whole.measure} for queries like the test's (test, all documents)"
    )
    if unseen is None or unseen.difference == whole.difference:
        return f"{told}."
    return (
        f"{told}, and about {signed(unseen.difference)} where no label has named a document yet (test, unseen "
        "documents). The two differ because labelled documents, which adapting may pull up or push down, are in the "
        "first index and not in the second."
    )


def _decided(summary: FitSummary) -> str:
    verdict = summary.verdict
    if verdict.gain is None:
        return ""
    about = "unseen" if verdict.traffic == 0 else "all"
    mixed = 0 < verdict.traffic < 1
    where = f"over {about} documents"
    if mixed:
        where = f"{percent(verdict.traffic)} of them over all documents and the rest over unseen ones"
    start = (
        "The nested gain, which decided nothing here, is"
        if verdict.threshold is None
        else "What decided is the nested gain,"
    )
    told = (
        f"{start} {signed(verdict.gain)}: from the training queries, {where}, with the choice "
        "of settings made anew for each part"
    )
    beside = None if mixed else _row(summary, about)
    if beside is None:
        return f"{told}."
    return f"{told}; the test's number to set beside it is {signed(beside.difference)} ({about} documents)."


def _before_nesting(summary: FitSummary) -> str:
    """The curve's gain and the best candidate's, which the same queries measured and picked."""
    base = next((c for c in summary.candidates if c.strength is None), None)
    best = next((c for c in summary.candidates if c.chosen and c.strength is not None), None)
    measured = [point for point in summary.learning.points if point.measured] if summary.learning else []
    told = [f"the curve's {signed(measured[-1].gain)}"] if measured else []
    if base is not None and best is not None:
        gain = f"{signed(best.mean - base.mean)} ({number(best.mean)} less the base's {number(base.mean)})"
        told.append(f"the chosen candidate's {gain}")
    if not told:
        return ""
    return (
        f"The gain{'s' if len(told) > 1 else ''} before nesting, {' and '.join(told)}, tend to be a little too high: "
        "the queries that measure them also picked the settings."
    )


def memory(summary: FitSummary) -> str:
    """How much of the gain on the test queries is memory; "" where that was not measured."""
    rows = {row.subset: row for row in seen_rows(summary)}
    known = rows.get("positive in training")
    others = [rows[name] for name in ("negative only", "never seen") if name in rows]
    if not summary.tried or len(rows) < 2:
        return ""
    if known is None:
        return "No right answer to a test query was a right answer in training, so none of the gain here is memory."
    return _against(known, others, rows.get("all"))


def _against(known: Comparison, others: list[Comparison], whole: Comparison | None) -> str:
    """The gain on answers that training knew beside that on the others; the difference is memory."""
    n = sum(row.n for row in others)
    told = f"{count(known.n)} test queries have a right answer that was one in training, and gain "
    told += signed(known.difference)
    if not n:
        return f"{told}; all have, so memory cannot be told apart here."
    rest = sum(row.n * row.difference for row in others) / n
    told = f"{told}; over the answers that were none, the gain is {signed(rest)}."
    if min(known.n, n) < FEW:
        return f"{told} One side has under {FEW} queries: too few to judge."
    if known.difference <= rest:
        return f"{told} So memory adds nothing here that can be seen."
    if whole is None or whole.n != known.n + n:  # some queries count twice
        return f"{told} What the first gain more than the second is memory."
    part = known.n * (known.difference - rest) / whole.n
    return f"{told} So about {signed(part)} of the whole {signed(whole.difference)} is memory."


def unalike(summary: FitSummary) -> str:
    """How answers that were wrong ones in training fare beside new ones; "" where either was not measured."""
    rows = {row.subset: row for row in seen_rows(summary)}
    wrong, new = rows.get("negative only"), rows.get("never seen")
    if wrong is None or new is None or min(wrong.n, new.n) < FEW:
        return ""
    numbers = f"“never seen” gains {signed(new.difference)}, “negative only” {signed(wrong.difference)}"
    if new.low <= wrong.high and wrong.low <= new.high:
        return f"{numbers}: no clear difference, as their intervals overlap."
    if new.difference < wrong.difference:
        return f"{numbers}: what fitting has met, if only as a wrong answer, gains more than what is new."
    return (
        f"{numbers}. A likely reason: fitting pushes wrong answers away from the queries they were wrong for, and so "
        f"from others like these. The two also start apart (base {number(new.base)} and {number(wrong.base)}), and "
        "what starts lower has more to gain. A document that you add later is of the first kind."
    )
