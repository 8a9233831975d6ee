"""The commands about two encoders: `align` and `migrate`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askew.cli.console import difference, emit_json, plain_table, progress_bar, say, show, show_findings
from askew.cli.options import (
    AsJson,
    BadRows,
    BadRowsPolicy,
    JudgedSplit,
    Measures,
    Quiet,
    Seed,
    SimilarityName,
    SimilarityOption,
    similarity,
)
from askew.errors import counted

if TYPE_CHECKING:
    from askew.workflows.align import Aligned

__all__ = ["align", "migrate"]

# The exit code of a migration that keeps too little: that of no error, so that a gate can tell the two apart.
_REFUSED = 8


class MethodName(StrEnum):
    """Which maps are looked among."""

    RIDGE = "ridge"
    PROCRUSTES = "procrustes"


Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A folder, as for fit; some documents are embedded by both encoders."),
]
QueryEncoder = Annotated[str, typer.Option(metavar="NAME", help="What is to embed queries.")]
IndexEncoder = Annotated[str, typer.Option(metavar="NAME", help="What has embedded the index.")]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="PATH", help="The folder to write the adapter to.")
]
Method = Annotated[MethodName, typer.Option(help="Any linear map, or an orthogonal one.")]
Centre = Annotated[
    float,
    typer.Option(
        metavar="X", help="How much of the intercept the map leaves out: 0 is plain ridge, 1 is centred.", min=0, max=1
    ),
]
Fused = Annotated[bool, typer.Option("--fused", help="Write the adapter that takes both encoders' query vectors.")]
Beta = Annotated[
    float, typer.Option(metavar="X", help="What the query encoder counts for in the fusion.", min=0.001, max=100)
]


def align(
    data: Data,
    query_encoder: QueryEncoder,
    document_encoder: IndexEncoder,
    output: Output = None,
    split: JudgedSplit = None,
    method: Method = MethodName.RIDGE,
    centre: Centre = 0.25,
    fused: Fused = False,
    beta: Beta = 0.25,
    measure: Measures = None,
    similarity_name: SimilarityOption = SimilarityName.DOT,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Map one encoder's queries to another's index without labels, and say what that keeps."""
    from askew.workflows.align import align_folder
    from askew.workflows.assess import MEASURES
    from askew.workflows.two_encoders import ALIGNED, FUSED

    with progress_bar(quiet) as named:
        found = align_folder(
            data,
            output,
            query_encoder=query_encoder,
            document_encoder=document_encoder,
            split=split,
            fused=fused,
            bad_rows=bad_rows.value,
            method=method.value,
            centre=centre,
            beta=beta,
            measures=tuple(measure or MEASURES),
            similarity=similarity(similarity_name) or "dot",
            seed=seed,
            progress=named("aligning"),
        )
    if not quiet:
        show_findings(found.findings)
    if as_json:
        emit_json({**found.to_json(), "adapter": None if output is None else str(output)})
        return
    _show(found)
    if output is not None:
        written = FUSED if fused else ALIGNED
        other = "" if written == found.advice.system else " (not the recommended one)"
        say(f"adapter of the {written} system{other}: {output}")


def migrate(
    data: Data,
    query_encoder: QueryEncoder,
    document_encoder: IndexEncoder,
    output: Output = None,
    split: JudgedSplit = None,
    least_retention: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Of the old system's mean of the first measure.  [default: 0.95, where it can be measured]",
            min=0,
            max=1,
        ),
    ] = None,
    least_overlap: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Of the old encoder's first ten, on held-out documents.  [default: 0.8, where nothing is judged]",
            min=0,
            max=1,
        ),
    ] = None,
    method: Method = MethodName.RIDGE,
    centre: Centre = 0.25,
    measure: Measures = None,
    similarity_name: SimilarityOption = SimilarityName.DOT,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Put a new query encoder on an old index, if that keeps enough; exit code 8 if not."""
    from askew.workflows.align import migrate_folder
    from askew.workflows.assess import MEASURES
    from askew.workflows.two_encoders import OLD

    with progress_bar(quiet) as named:
        found, gated = migrate_folder(
            data,
            output,
            query_encoder=query_encoder,
            document_encoder=document_encoder,
            split=split,
            least_retention=least_retention,
            least_overlap=least_overlap,
            bad_rows=bad_rows.value,
            method=method.value,
            centre=centre,
            measures=tuple(measure or MEASURES),
            similarity=similarity(similarity_name) or "dot",
            seed=seed,
            progress=named("aligning"),
        )
    if not quiet:
        show_findings(found.findings)
    written = output is not None and gated.passed
    if as_json:
        emit_json({**found.to_json(), "gate": gated.to_json(), "adapter": str(output) if written else None})
    else:
        _show(found)
        say(f"migration: {'passed' if gated.passed else 'refused'}: {gated.reason}.")
        if gated.passed and found.standings and found.advice.system == OLD:
            say("The gate bears what is lost; the recommendation goes by quality alone.")
        if output is not None:
            say(f"adapter: {output}" if written else "No adapter was written.")
    if not gated.passed:
        raise typer.Exit(_REFUSED)


def _show(found: Aligned) -> None:
    alignment = found.alignment
    learned = f"{counted(alignment.documents, 'document')} that both have embedded"
    fit = "" if alignment.cosine is None else f"; held-out cosine {alignment.cosine:.3f}, R² {alignment.explained:.3f}"
    say(f"{found.names[0]} → {found.names[1]}: {alignment.method} from {learned}{fit}")
    say("")
    _show_kept(found)
    if found.standings:
        say("")
        _show_standings(found)
    say("")
    say(f"recommended: {found.advice.system}{'' if found.advice.sure else ' (not sure)'}")
    say(found.advice.reason)


def _show_kept(found: Aligned) -> None:
    columns = ("asked", f"of {found.names[0]}'s own", f"of {found.names[1]}'s own")
    table = plain_table("first ten kept", "by", *columns, right=columns)
    for one in found.kept:
        own = "-" if one.of_document_encoder is None else f"{one.of_document_encoder:.3f}"
        table.add_row(one.system, one.asked, f"{one.count:,}", f"{one.of_query_encoder:.3f}", own)
    show(table)


def _show_standings(found: Aligned) -> None:
    measure = next(iter(found.standings[0].evaluation.values))
    table = plain_table("system", measure, "difference [95% interval]", "costs", right=(measure,))
    for one in found.standings:
        row = one.against
        told = "" if row is None else difference(row)
        table.add_row(one.system, f"{one.mean:.4f}", told, one.cost)
    say(f"split: {found.split}")
    show(table)
