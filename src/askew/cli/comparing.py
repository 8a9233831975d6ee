"""The command that compares several systems: `compare`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askew.cli.console import FEW, difference, emit_json, plain_table, say, show, show_findings
from askew.cli.options import (
    AsJson,
    BadRows,
    BadRowsPolicy,
    DocumentEncoder,
    Encoder,
    JudgedSplit,
    Measures,
    Quiet,
    Seed,
    SimilarityName,
    similarity,
)
from askew.errors import counted

if TYPE_CHECKING:
    from rich.table import Table

    from askew.evaluation import Evaluation
    from askew.workflows.compare import Standing, SystemComparison

__all__ = ["compare", "show_systems"]

_NUMBERS = ("queries", "mean", "difference [95% interval]", "p", "p (Holm)")


def compare(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A folder, as for fit; runs alone need no embeddings in it.")
    ],
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="SYSTEM",
            help="Two or more adapters' folders, TREC runs, or the word base; the first is the reference.",
        ),
    ],
    split: JudgedSplit = None,
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    measure: Measures = None,
    similarity_name: Annotated[
        SimilarityName | None,
        typer.Option("--similarity", help="How your index scores; as each adapter says by default, else dot."),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh/--no-fresh", help="Leave out queries that a compared adapter was fitted on.")
    ] = True,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare adapters, runs and the base on the same judged queries."""
    from askew.workflows.assess import MEASURES
    from askew.workflows.compare import compare_folder

    used, result = compare_folder(
        data,
        systems,
        split=split,
        encoder=encoder,
        document_encoder=document_encoder,
        measures=tuple(measure or MEASURES),
        similarity=similarity(similarity_name),
        bad_rows=bad_rows.value,
        fresh=fresh,
        seed=seed,
    )
    if not quiet:
        show_findings(result.findings)
    if as_json:
        emit_json({"split": used, **result.to_json()})
        return
    say(f"split: {used}")
    show_systems(result)


def show_systems(result: SystemComparison) -> None:
    """Write how systems stand: the reference and every other, by measure and documents."""
    if result.left_out:
        left_out = counted(len(result.left_out), "judged query", "judged queries")
        say(f"Left out: {left_out} that a compared adapter was fitted on.")
    table = plain_table("measure", "docs", "system", *_NUMBERS, right=_NUMBERS)
    few = False
    for documents, held in result.evaluations:
        for measure in held[0].values:
            _reference(table, documents, measure, held[0])
            for standing in result.standings:
                if (standing.documents, standing.comparison.measure) == (documents, measure):
                    _other(table, standing)
        few |= len(held[0].queries) < FEW
    show(table)
    if few:
        say(f"* Under {FEW} queries are too few to judge by.")


def _reference(table: Table, documents: str, measure: str, held: Evaluation) -> None:
    count = len(held.queries)
    mean = f"{held.mean(measure):.4f}"
    table.add_row(
        measure, documents, held.run_name, f"{count:,}{'*' if count < FEW else ''}", mean, "reference", "", ""
    )


def _other(table: Table, standing: Standing) -> None:
    row = standing.comparison
    table.add_row(
        row.measure,
        standing.documents,
        row.other_name,
        f"{row.n:,}{'*' if row.n < FEW else ''}",
        f"{row.other_mean:.4f}",
        difference(row),
        f"{row.p_value:.4f}",
        "" if standing.p_holm is None else f"{standing.p_holm:.4f}",
    )
