"""What the commands share: results to stdout, progress and findings to stderr."""

# ruff: noqa: PLC0415 - rich is imported when something is shown, so that --help does without it

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from askew.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from askew.data import Finding
    from askew.evaluation import Comparison

__all__ = [
    "FEW",
    "WHOLE",
    "difference",
    "emit_json",
    "plain_table",
    "progress_bar",
    "say",
    "show",
    "show_base",
    "show_comparisons",
    "show_error",
    "show_findings",
    "told",
    "write",
]

#: A cell with fewer queries is printed, not judged; the report says the same.
FEW = 50
#: What is counted under every measure; classes of documents stand in a table of their own.
WHOLE = ("all", "unseen")


def write(text: str) -> None:
    """Write to stdout as it is; leave in silence if nobody reads it any more.

    Raises:
        typer.Exit: the reader of the pipe has gone.
        OutputError: stdout is a file on a full disk, or the like.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left is flushed at shutdown
        raise typer.Exit from None
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nor can the rest be written at shutdown
        raise OutputError(
            f"it cannot be written to ({error.strerror or error})",
            where="stdout",
            remedy="Free some space, or write to a file elsewhere",
        ) from error


def say(text: str) -> None:
    """Write a line of result."""
    write(f"{text}\n")


def emit_json(value: dict[str, Any]) -> None:
    """Write one JSON object, in ASCII."""
    write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def show(table: Table, *, whole: bool = True) -> None:
    """Write a table.

    Args:
        table: what to write.
        whole: rather make it wider than the terminal than cut a cell short.
    """
    from rich.measure import Measurement

    console = _console(sys.stdout)
    if whole:
        wide = console.options.update(max_width=10_000)
        console.width = max(console.width, Measurement.get(console, wide, table).maximum)
    with console.capture() as captured:
        console.print(table)
    write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def show_error(text: str) -> None:
    """Write an error to stderr, in one line."""
    _diagnose("error:", "red", text)


def show_findings(findings: Iterable[Finding]) -> None:
    """Write warnings about the data to stderr, a line each."""
    for finding in findings:
        if finding.level == "warning":
            _diagnose("warning:", "yellow", told(finding))


def told(finding: Finding) -> str:
    """A finding in one line: what, which, and what to do."""
    more = ", …" if finding.count > len(finding.examples) else ""
    names = f" ({', '.join(finding.examples)}{more})" if finding.examples else ""
    advice = f" {finding.remedy}." if finding.remedy else ""
    return " ".join(f"{finding.message}{names}.{advice}".splitlines())


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Any]:
    """Give a function that makes a callback ``(done, total)`` for one named piece of work."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = _console(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bars:

        def named(description: str) -> Any:
            task = bars.add_task(description, total=None)

            def step(done: int, total: int) -> None:
                bars.update(task, completed=done, total=total)

            return step

        yield named


def plain_table(*columns: str, right: Iterable[str] = (), header: bool = True) -> Table:
    """An empty table without lines, the columns `right` aligned to the right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=header)
    for name in columns:
        table.add_column(name, justify="right" if name in right else "left", no_wrap=header)
    return table


def show_comparisons(rows: Sequence[tuple[str, Comparison]]) -> None:
    """Write base, adapted, difference, interval and headroom, a line a measure; then what training knew of.

    Args:
        rows: over which documents, and the comparison.
    """
    numbers = ("queries", "base", "adapted", "difference [95% interval]")
    table = plain_table("measure", "docs", *numbers, "headroom", right=(*numbers, "headroom"))
    classes = plain_table(f"{rows[0][1].measure}, relevant docs", *numbers, right=numbers)
    for documents, row in rows:
        if documents in WHOLE:
            table.add_row(row.measure, documents, *_numbers(row), f"{row.headroom:.4f}")
        else:
            classes.add_row(documents, *_numbers(row))
    show(table)
    if classes.row_count:
        say("")
        show(classes)
    if any(row.n < FEW for _, row in rows):
        say(f"* Under {FEW} queries are too few to judge by.")


def show_base(rows: Sequence[tuple[str, Comparison]]) -> None:
    """Write the base and its headroom over all documents, a line a measure: what is known where nothing was tried.

    Args:
        rows: over which documents, and the comparison.
    """
    numbers = ("queries", "base", "headroom")
    table = plain_table("measure", *numbers, right=numbers)
    whole = [row for documents, row in rows if documents == WHOLE[0]]
    for row in whole:
        table.add_row(row.measure, *_numbers(row)[:2], f"{row.headroom:.4f}")
    show(table)
    if any(row.n < FEW for row in whole):
        say(f"* Under {FEW} queries are too few to judge by.")


def difference(row: Comparison) -> str:
    """The difference with its interval, which one query does not have."""
    interval = f"[{row.low:+.4f}, {row.high:+.4f}]" if math.isfinite(row.low) else "(one query)"
    return f"{row.difference:+.4f} {interval}"


def _numbers(row: Comparison) -> tuple[str, ...]:
    return (
        f"{row.n:,}{'*' if row.n < FEW else ''}",
        f"{row.base_mean:.4f}",
        f"{row.other_mean:.4f}",
        difference(row),
    )


def _console(stream: Any) -> Console:
    """A console that takes every string as it is: no markup, no emoji names, no highlighting."""
    from rich.console import Console

    return Console(file=stream, markup=False, emoji=False, highlight=False)


def _diagnose(label: str, style: str, text: str) -> None:
    from rich.text import Text

    line = " ".join(text.splitlines())
    _console(sys.stderr).print(Text.assemble((label, style), " ", line), soft_wrap=True)
