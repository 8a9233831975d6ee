"""The commands that fit: `fit` and `demo`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from askew.cli.console import comparison_table, emit_json, progress_bar, say, show, show_findings
from askew.cli.options import (
    AsJson,
    BadRows,
    BadRowsPolicy,
    DocumentEncoder,
    Encoder,
    Measures,
    Quiet,
    Seed,
    SimilarityName,
    similarity,
)
from askew.workflows.assess import MEASURES
from askew.workflows.deliver import Delivery, deliver, read_splits
from askew.workflows.demo import run_demo

__all__ = ["demo", "fit"]


def fit(
    data: Annotated[Path, typer.Argument(help="A folder: qrels/SPLIT.tsv and embeddings/ENCODER/{docs,queries}.npy.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to write the adapter to.")],
    split: Annotated[str | None, typer.Option(help="Where the labels are; train by default.")] = None,
    test_split: Annotated[str | None, typer.Option(help="Reported on, never chosen by; test by default.")] = None,
    labels: Annotated[int | None, typer.Option(help="Use this many labelled queries; all by default.", min=1)] = None,
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    similarity_name: Annotated[
        SimilarityName, typer.Option("--similarity", help="How your index scores.")
    ] = SimilarityName.DOT,
    measure: Measures = None,
    folds: Annotated[int, typer.Option(help="Two-way folds of the cross-fit.", min=2)] = 5,
    threshold: Annotated[float, typer.Option(help="Standard errors that the gain has to exceed.", min=0)] = 1.0,
    report: Annotated[Path | None, typer.Option(help="The HTML report; OUTPUT.html by default.")] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit an adapter to labels, and say whether it is worth it."""
    train, test, findings = read_splits(
        data,
        split=split,
        test_split=test_split,
        labels=labels,
        encoder=encoder,
        document_encoder=document_encoder,
        bad_rows=bad_rows.value,
        seed=seed,
    )
    with progress_bar(quiet) as named:
        delivery = deliver(
            train,
            test,
            output,
            report=None if no_report else report or output.with_name(output.name + ".html"),
            similarity=similarity(similarity_name),
            measures=tuple(measure or MEASURES),
            folds=folds,
            threshold=threshold,
            seed=seed,
            findings=findings,
            command=shlex.join(["askew", *sys.argv[1:]]),
            progress=named("cross-fitting"),
        )
    _print(delivery, as_json=as_json, quiet=quiet)


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="For adapter and report.")] = Path("demo-out"),
    labels: Annotated[int, typer.Option(help="Labelled queries to fit on.", min=1)] = 600,
    test: Annotated[int, typer.Option(help="Other queries to test on.", min=1)] = 1200,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Adapt a static encoder to Python's own standard library: docstring → function."""
    with progress_bar(quiet) as named:
        delivery = run_demo(output, labels=labels, test=test, seed=seed, named=named)
    _print(delivery, as_json=as_json, quiet=quiet)


def _print(delivery: Delivery, *, as_json: bool, quiet: bool) -> None:
    if not quiet:
        show_findings(delivery.fit.findings)
    if as_json:
        emit_json(delivery.to_json())
        return
    choice = delivery.fit.choice
    adapt = choice.verdict.decision == "adapt"
    say(f"verdict: {'adapt' if adapt else 'keep your base'}: {choice.verdict.reason}")
    say(f"chosen:  {choice.chosen} of {len(choice.candidates)} candidates, by {len(choice.query_ids)} labelled queries")
    if delivery.comparisons:
        say("")
        show(comparison_table(delivery.comparisons, adapted="adapted" if adapt else "candidate"))
        if not adapt:
            say("The candidate was not written: the adapter holds your base.")
    say("")
    say(f"adapter: {delivery.adapter_path}")
    if delivery.report_path is not None:
        say(f"report:  {delivery.report_path}")
