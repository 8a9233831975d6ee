"""The command that reads and fits nothing: `check`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askew.cli.console import emit_json, plain_table, say, show, told
from askew.cli.options import (
    AsJson,
    BadRows,
    BadRowsPolicy,
    DocumentEncoder,
    Encoder,
    SimilarityName,
    SimilarityOption,
    similarity,
)
from askew.errors import counted

if TYPE_CHECKING:
    from askew.workflows.check import Check

__all__ = ["check"]

# Of what --merge-duplicates would change, the lines that prose shows; JSON has them all.
_SHOWN = 20


def check(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A folder, as for fit.")],
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    similarity_name: SimilarityOption = SimilarityName.DOT,
    merge_duplicates: Annotated[
        bool, typer.Option("--merge-duplicates", help="Show what the option of that name changes in fit and evaluate.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Leave with exit code 1 if there is a warning.")] = False,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    as_json: AsJson = False,
) -> None:
    """Read everything, fit nothing, and say what is wrong with the data."""
    from askew.workflows.check import check as check_folder

    result = check_folder(
        data,
        encoder=encoder,
        document_encoder=document_encoder,
        similarity=similarity(similarity_name) or "dot",
        bad_rows=bad_rows.value,
    )
    if as_json:
        emit_json(result.to_json())
    else:
        _print(result, merging=merge_duplicates)
    if result.errors:
        raise typer.Exit(result.errors[0].exit_code)
    if strict and result.warnings:
        raise typer.Exit(1)


def _print(result: Check, *, merging: bool) -> None:
    _print_counts(result)
    for place, finding in result.findings:
        say(f"{finding.level}: {place}: {told(finding)}")
    for error in result.errors:
        say(f"error: {' '.join(str(error).splitlines())}")
    if merging:
        _print_changes(result)
    say(f"{counted(len(result.errors), 'error')}, {counted(result.warnings, 'warning')}.")


def _print_counts(result: Check) -> None:
    facts = result.to_json()
    numbers = ("queries", "judgements", "relevant")
    table = plain_table("split", *numbers, right=numbers)
    for name, counts in facts["splits"].items():
        table.add_row(name, *(f"{counts[number]:,}" for number in numbers))
    show(table)
    say("")
    table = plain_table("encoder", "side", "rows", "dim", "dtype", right=("rows", "dim"))
    for name, sides in facts["encoders"].items():
        for side, held in sides.items():
            table.add_row(name, side, f"{held['rows']:,}", f"{held['dim']:,}", held["dtype"])
    show(table)
    say("")
    say("texts: " + ", ".join(f"{count:,} of {side}" for side, count in facts["texts"].items()))


def _print_changes(result: Check) -> None:
    if result.errors:  # of what could not be read nothing is known
        say("What --merge-duplicates would change is known once the errors above are mended.")
        return
    if not result.changes:
        say("--merge-duplicates would change nothing.")
    for split, changes in result.changes.items():
        say(f"--merge-duplicates would change {counted(len(changes), 'judgement')} of {split}:")
        for query, document, before, after in changes[:_SHOWN]:
            say(f"  {query} {document} {'unjudged' if before is None else f'{before:g}'} -> {after:g}")
        if len(changes) > _SHOWN:
            say(f"  and {len(changes) - _SHOWN:,} more; --json lists all")
