"""What the commands share: results to stdout, progress and findings to stderr, exit codes."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from askew.data import Finding
from askew.evaluation import Comparison

__all__ = ["comparison_table", "emit_json", "progress_bar", "say", "show", "show_findings"]


def say(text: str) -> None:
    """Print a line of result, as it is."""
    Console().print(escape(text), highlight=False, soft_wrap=True)


def show(table: Table) -> None:
    """Print a table."""
    Console().print(table)


def emit_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def show_findings(findings: Iterable[Finding]) -> None:
    """Print warnings about the data to stderr."""
    console = Console(stderr=True, highlight=False)
    for finding in findings:
        if finding.level == "warning":
            names = f" ({', '.join(finding.examples)}{', …' if finding.count > len(finding.examples) else ''})"
            text = f"{finding.message}{names if finding.examples else ''}."
            advice = f" {finding.remedy}." if finding.remedy else ""
            console.print(f"[yellow]warning:[/yellow] {escape(text + advice)}", soft_wrap=True)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Any]:
    """Give a function that makes a callback ``(done, total)`` for one named piece of work."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=quiet) as bars:

        def named(description: str) -> Any:
            task = bars.add_task(description, total=None)

            def step(done: int, total: int) -> None:
                bars.update(task, completed=done, total=total)

            return step

        yield named


def comparison_table(rows: Iterable[tuple[str, Comparison]], *, adapted: str = "adapted") -> Table:
    """Base, adapted, difference, interval and headroom, a line a measure; 80 columns wide."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("measure", "documents"):
        table.add_column(name, no_wrap=True)
    for name in ("queries", "base", adapted, "difference [95% interval]", "headroom"):
        table.add_column(name, justify="right", no_wrap=True)
    for subset, row in rows:
        table.add_row(
            row.measure,
            subset,
            f"{row.n:,}",
            f"{row.base_mean:.4f}",
            f"{row.other_mean:.4f}",
            f"{row.difference:+.4f} [{row.low:+.4f}, {row.high:+.4f}]",
            f"{row.headroom:.4f}",
        )
    return table
