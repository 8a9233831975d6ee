"""The summary as a short Markdown text, for a pull request or a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from askew.report._words import FEW, count, number, p_value, percent, presentable, shorten, signed, strength
from askew.report.advice import next_steps
from askew.report.bands import bands, rescues
from askew.report.expect import expected, memory, unalike
from askew.report.seen import MEANINGS, seen_rows

if TYPE_CHECKING:
    from askew.report.cases import QueryCase
    from askew.report.summary import Candidate, Comparison, FitSummary, HealthFinding
    from askew.report.systems import Systems

__all__ = ["render_markdown"]

_CASES = 3
_SPECIAL = re.compile(r"([\\`*_{}\[\]|~#$!])")


def render_markdown(summary: FitSummary) -> str:
    """The verdict, its evidence, the settings and the largest changes.

    Every string of the summary is escaped, so that it can neither open a tag nor break a table.
    """
    shown = presentable(summary)
    parts = [
        f"# {_text(shown.title)}",
        _verdict(shown),
        _systems(shown.systems),
        _expected(shown),
        _next(shown),
        _comparisons(shown),
        _kinds(shown),
        _elsewhere(shown.elsewhere),
        _candidates(shown),
        _learning(shown),
        _cases("Most helped", shown.helped),
        _cases("Most hurt", shown.hurt),
        _findings(shown.findings),
        _again(shown),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _verdict(summary: FitSummary) -> str:
    verdict = summary.verdict
    head = "Keep your base" if verdict.decision == "keep" else "Adapt"
    lines = [f"**{head}.** {_text(verdict.sentence)}"]
    if verdict.gain is not None:
        told = [f"Nested cross-fitted gain, {_text(summary.measure)}: {signed(verdict.gain)}"]
        told += [f"standard error {number(e)}" for e in (verdict.standard_error,) if e is not None]
        told += [f"needed more than {number(t)}" for t in (verdict.threshold,) if t is not None]
        lines.append(", ".join(told) + ".")
    tests = "" if summary.test_queries is None else f", {count(summary.test_queries)} test queries"
    data = f"{count(summary.training_labels)} training labels, {count(summary.documents)} documents{tests}"
    lines.append(f"{_text(summary.dataset)}: {data}.")
    return "\n\n".join(lines)


def _systems(systems: Systems | None) -> str:
    if systems is None:
        return ""
    head = ("system", "queries by", "what ships", "verdict", "costs", "base", "ships", "lead", "standard error")
    rows = [
        (
            _text(row.name) + "".join(f" ({word})" for word in ("recommended", "written") if getattr(row, word)),
            *map(_text, (row.needs, row.shipped, row.decision, row.cost)),
            *(number(row.base), number(row.ships), signed(row.lead), number(row.standard_error)),
        )
        for row in systems.rows
    ]
    told = f"{_text(systems.sentence)}\n\nCross-fitted {_text(systems.measure)}, on the same queries and folds:\n\n"
    return f"## Which system to use\n\n{told}{_table(head, rows, words=5)}{_tests(systems)}"


def _tests(systems: Systems) -> str:
    if not systems.tests:
        return ""
    head = ("system", "documents", "mean", "difference", f"{percent(systems.confidence)} interval", "n")
    rows = [
        (
            _text(row.name) + (f" (under {FEW} queries)" if row.n < FEW else ""),
            *(_text(row.documents), number(row.mean), signed(row.difference)),
            "–" if row.low is None or row.high is None else f"{signed(row.low)} to {signed(row.high)}",
            count(row.n),
        )
        for row in systems.tests
    ]
    beside = f"{_text(systems.tested_by)} beside {_text(systems.tests[0].name)}"
    told = f"What each ships on the test queries, {beside}; the recommendation does not go by it:"
    return f"\n\n{told}\n\n" + _table(head, rows, words=2)


def _expected(summary: FitSummary) -> str:
    told = " ".join(map(_text, expected(summary)))
    parts = [part for part in (memory(summary), unalike(summary)) if part]
    known = " ".join(_text(part[:1].upper() + part[1:]) for part in parts)
    return "\n\n".join(["## What to expect", told, *([known] if known else [])]) if told else ""


def _next(summary: FitSummary) -> str:
    steps = [
        f"{_text(step.words)}:\n\n{_fenced(step.command)}" if step.command else f"{_text(step.words)}."
        for step in next_steps(summary)
    ]
    return "\n\n".join(["## What to do next", *steps])


def _comparisons(summary: FitSummary) -> str:
    if not summary.comparisons:
        return "No test queries were given: the evidence is the cross-fitted one."
    if summary.tried:
        words = "".join(f"\n- {row.subset}: {MEANINGS[row.subset]}." for row in seen_rows(summary)[1:])
        return "## Base against adapted\n\n" + _compared(summary.comparisons) + (f"\n{words}" if words else "")
    whole = [row for row in summary.comparisons if row.label == summary.comparisons[0].label]
    rows = [(_text(row.measure), count(row.n), number(row.base), number(row.headroom)) for row in whole]
    told = "No correction was tried, so there is nothing to compare with the base.\n\n"
    return "## The base\n\n" + told + _table(("measure", "n", "base", "headroom"), rows, words=1)


def _kinds(summary: FitSummary) -> str:
    head = (
        f"base {_text(summary.compared_by)}",
        "queries",
        "helped",
        "unchanged",
        "hurt",
        "mean gain",
        "share of the gain",
    )
    rows = [
        (
            row.name,
            count(row.n),
            count(row.helped),
            count(row.unchanged),
            count(row.hurt),
            signed(row.gain),
            signed(row.share),
        )
        for row in bands(summary.per_query)
    ]
    return f"## Which queries gain\n\n{rescues(summary.per_query)}\n\n" + _table(head, rows, words=1) if rows else ""


def _elsewhere(comparisons: Sequence[Comparison]) -> str:
    return "## On other data\n\n" + _compared(comparisons) if comparisons else ""


def _compared(comparisons: Sequence[Comparison]) -> str:
    rows = [
        (
            _text(row.measure),
            _text(row.label) + (f" (under {FEW} queries)" if row.n < FEW else ""),
            count(row.n),
            number(row.base),
            number(row.adapted),
            signed(row.difference),
            f"{signed(row.low)} to {signed(row.high)} ({percent(row.confidence)})",
            p_value(row.p_value),
            f"{count(row.wins)} / {count(row.losses)} / {count(row.ties)}",
            number(row.headroom),
        )
        for row in comparisons
    ]
    head = "measure,subset,n,base,adapted,difference,interval,p,won / lost / tied,headroom"
    return _table(head.split(","), rows, words=2)


def _candidates(summary: FitSummary) -> str:
    chosen = summary.chosen
    rank = "not bounded" if chosen.rank is None else count(chosen.rank)
    settings = f"{_text(chosen.estimator)}, strength {strength(chosen.strength)}, rank {rank}."
    if not summary.candidates:
        return f"## Settings\n\n{settings}"
    head = ("candidate", "strength", f"mean {_text(summary.measure)}", "standard error", "bound", "chosen")
    best, every = _one_of_each_name(summary.candidates), count(len(summary.candidates))
    by = f" The bound is what the choice went by: {_text(summary.chosen_by)}." if summary.chosen_by else ""
    maps = f"{_text(summary.geometry.sentence)}\n\n" if summary.geometry else ""
    if summary.level is not None:
        level, least = sum(row.mean >= summary.level for row in summary.candidates), number(summary.level)
        by += f" {count(level)} of {every} lie within one standard error of the best mean: {least} or more."
    told = f"{maps}Of {every} candidates, one of each kind: the chosen one, or the best.{by}\n\n"
    return f"## Settings\n\n{settings}\n\n{told}" + _table(head, map(_candidate, best), words=1)


def _learning(summary: FitSummary) -> str:
    if summary.learning is None:
        return ""
    told = summary.learning.sentence
    rows = [
        (
            "measured" if point.measured else "forecast",
            count(round(point.labels)),
            signed(point.gain),
            f"{signed(point.low)} to {signed(point.high)}",
        )
        for point in summary.learning.rows
    ]
    head = ("", "labels", f"gain in {_text(summary.measure)}", "95% interval")
    return f"## Labels\n\n{_text(told[:1].upper() + told[1:])}.\n\n" + _table(head, rows, words=1)


def _one_of_each_name(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The chosen one, or else the best, in the order of the first of each name."""
    best: dict[str, Candidate] = {}
    for row in candidates:
        held = best.setdefault(row.name, row)
        if (row.chosen, row.mean) > (held.chosen, held.mean):
            best[row.name] = row
    return list(best.values())


def _candidate(row: Candidate) -> tuple[str, ...]:
    chosen = "yes" if row.chosen else ""
    numbers = (strength(row.strength), number(row.mean), number(row.standard_error), signed(row.bound))
    return (_text(row.name), *numbers, chosen)


def _cases(heading: str, cases: Sequence[QueryCase]) -> str:
    lines = [_case(case) for case in cases[:_CASES]]
    return f"## {heading}\n\n" + "\n".join(lines) if lines else ""


def _case(case: QueryCase) -> str:
    told = f"- {signed(case.gain)}: {_text(shorten(case.text or case.query_id, 120))}"
    if case.move is None:
        return told
    nearest = case.move.nearest
    name = "" if nearest is None else shorten(nearest.text or nearest.query_id, 120)
    beside = f" Nearest training query: {_text(name)}" if name else ""
    return f"{told}\n  {_text(case.move.sentence)}{beside}"


def _findings(findings: Sequence[HealthFinding]) -> str:
    lines = []
    for finding in sorted(findings, key=lambda finding: finding.level != "warning"):
        remedy = f" What to do: {_text(finding.remedy)}" if finding.remedy else ""
        lines.append(f"- **{finding.level.capitalize()}.** {_text(finding.message).rstrip('.')}.{remedy}")
    return "## The data\n\n" + "\n".join(lines) if lines else ""


def _again(summary: FitSummary) -> str:
    again = summary.reproduction
    lines = [f"askew {_text(summary.askew_version)}"]
    lines += [f"seed {again.seed}"] if again.seed is not None else []
    lines += [f"fingerprint {_text(again.fingerprint)}"] if again.fingerprint else []
    return f"## To get this again\n\n{_fenced(again.command)}\n\n{', '.join(lines)}"


def _fenced(command: str) -> str:
    longest = max((len(run) for run in re.findall("`+", command)), default=0)
    fence = "`" * max(3, longest + 1)  # a command may hold a fence of its own
    return f"{fence}\n{command}\n{fence}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int) -> str:
    """A table whose first `words` columns are words, the others numbers."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))


def _text(text: str) -> str:
    """A string on one line, with nothing that Markdown or HTML would act on."""
    line = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", line)
