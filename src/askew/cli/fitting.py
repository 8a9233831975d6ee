"""The commands that fit: `fit` and `demo`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askew.cli.comparing import show_systems
from askew.cli.console import (
    difference,
    emit_json,
    plain_table,
    progress_bar,
    say,
    show,
    show_base,
    show_comparisons,
    show_findings,
)
from askew.cli.options import (
    AsJson,
    BadRows,
    BadRowsPolicy,
    DocumentEncoder,
    Encoder,
    LabelCount,
    Measures,
    MergeDuplicates,
    NegativesPolicy,
    Quiet,
    Seed,
    SimilarityName,
    SimilarityOption,
    Split,
    similarity,
    traffic_share,
)
from askew.errors import ParameterError, counted

if TYPE_CHECKING:
    from askew.workflows.deliver import Delivery
    from askew.workflows.systems import Systems
    from askew.workflows.trial import Trial

__all__ = ["demo", "fit"]


class SystemName(StrEnum):
    """Ways to search an index with two encoders at hand."""

    SYMMETRIC = "symmetric"
    ALIGNED = "aligned"
    FUSED = "fused"


def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A folder: qrels/SPLIT.tsv and embeddings/ENCODER/{docs,queries}.npy, or other formats: see "
            "docs/formats.md.",
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="PATH", help="The folder to write the adapter to.")],
    split: Split = None,
    test_split: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Reported on, never chosen by; test by default where there is one."),
    ] = None,
    labels: LabelCount = None,
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    query_encoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Align this encoder's queries to --document-encoder's index; fit that, the index's own queries, and "
            "both fused.",
        ),
    ] = None,
    system: Annotated[
        SystemName | None, typer.Option(help="Of these, the one to write; the recommended one by default.")
    ] = None,
    similarity_name: SimilarityOption = SimilarityName.DOT,
    traffic: Annotated[
        str, typer.Option(metavar="KIND", help="fresh, recurring, or the share of recurring traffic, such as 0.3.")
    ] = "fresh",
    measure: Measures = None,
    rank: Annotated[
        list[int] | None,
        typer.Option(metavar="R", help="Also try corrections of at most this rank. Repeatable.", min=1),
    ] = None,
    negatives: Annotated[
        NegativesPolicy,
        typer.Option(help="Mine what ranks high and scores below the margin, what ranks high, or any document."),
    ] = NegativesPolicy.MARGIN,
    margin: Annotated[
        float | None,
        typer.Option(metavar="X", help="Of the relevant document's score; above 0, at most 1.  [default: 0.95]"),
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="Folds of the cross-fit.", min=3, max=20)] = 5,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Standard errors that the gain has to exceed.  [default: 1; over an alignment what is chosen ships]",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="The adapter in service: compare the new one with it on the test queries."),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="The report: HTML, Markdown or JSON by its ending, .html, .md or .json; by default OUTPUT.html, "
            "beside the adapter.",
        ),
    ] = None,
    also: Annotated[
        list[Path] | None,
        typer.Option(metavar="DATA", help="Also judge by this data: keep the base if it loses there. Repeatable."),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(metavar="X", help="The loss in nDCG@10 that --also tolerates.", min=0)
    ] = 0.01,
    keep_scale: Annotated[
        bool, typer.Option("--keep-scale", help="Give adapted scores the base's size, so that thresholds survive.")
    ] = False,
    no_curve: Annotated[bool, typer.Option("--no-curve", help="Do not measure the gain by number of labels.")] = False,
    no_report: Annotated[bool, typer.Option("--no-report", help="Write no report.")] = False,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    merge_duplicates: MergeDuplicates = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fit an adapter to labels, and say whether it is worth it."""
    from askew.estimators import Mining
    from askew.formats import read_dataset
    from askew.workflows.assess import MEASURES
    from askew.workflows.deliver import deliver, read_splits
    from askew.workflows.fit import NEGATIVES
    from askew.workflows.score import default_split
    from askew.workflows.systems import fit_systems

    if margin is not None and negatives is not NegativesPolicy.MARGIN:
        raise ParameterError(
            f"a margin means nothing to --negatives {negatives.value}", where="--margin", remedy="Leave one of them out"
        )
    mining = Mining(negatives.value, NEGATIVES, 0.95 if margin is None else margin)
    place = None if no_report else report or Path(f"{output}.html")
    settings: dict[str, Any] = {
        "similarity": similarity(similarity_name) or "dot",
        "traffic": traffic_share(traffic),
        "ranks": tuple(rank or ()),
        "mining": mining,
        "folds": folds,
        **({} if threshold is None else {"threshold": threshold}),
        "curve": not no_curve,
        "keep_scale": keep_scale,
        "tolerance": tolerance,
        "seed": seed,
    }
    if query_encoder is not None or system is not None:
        _check_two(query_encoder, encoder, document_encoder)
        with progress_bar(quiet) as named:
            systems = fit_systems(
                data,
                output,
                query_encoder=query_encoder or "",
                document_encoder=document_encoder or "",
                system=None if system is None else _SYSTEMS[system],
                split=split,
                test_split=test_split,
                labels=labels,
                bad_rows=bad_rows.value,
                merge_duplicates=merge_duplicates,
                also=also or (),
                against=against,
                report=place,
                measures=tuple(measure or MEASURES),
                command=shlex.join(["askew", *sys.argv[1:]]),
                named=named,
                **settings,
            )
        _print_systems(systems, as_json=as_json, quiet=quiet)
        return
    train, test, findings = read_splits(
        data,
        split=split,
        test_split=test_split,
        labels=labels,
        encoder=encoder,
        document_encoder=document_encoder,
        bad_rows=bad_rows.value,
        merge_duplicates=merge_duplicates,
        seed=seed,
    )
    with progress_bar(quiet) as named:
        delivery = deliver(
            train,
            test,
            output,
            report=place,
            against=against,
            measures=tuple(measure or MEASURES),
            also=[
                read_dataset(
                    folder,
                    split=default_split(folder, None),
                    encoder=encoder,
                    document_encoder=document_encoder,
                    bad_rows=bad_rows.value,
                    texts=False,
                )
                for folder in also or ()
            ],
            findings=findings,
            command=shlex.join(["askew", *sys.argv[1:]]),
            data=data,
            progress=named("cross-fitting"),
            **settings,
        )
    _print(delivery, as_json=as_json, quiet=quiet)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PATH", help="The folder for adapter and report.")
    ] = Path("demo-out"),
    labels: Annotated[int, typer.Option(metavar="N", help="Labelled queries to fit on.", min=1)] = 600,
    test: Annotated[int, typer.Option(metavar="N", help="Other queries to test on.", min=1)] = 1200,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Adapt a static encoder to Python's own standard library: docstring → function."""
    from askew.workflows.demo import run_demo

    with progress_bar(quiet) as named:
        delivery = run_demo(output, labels=labels, test=test, seed=seed, named=named)
    _print(delivery, as_json=as_json, quiet=quiet)


_SYSTEMS = {
    SystemName.SYMMETRIC: "document encoder",
    SystemName.ALIGNED: "aligned",
    SystemName.FUSED: "fused",
}


def _check_two(query_encoder: str | None, encoder: str | None, document_encoder: str | None) -> None:
    """Refuse options that do not go with two encoders."""
    if query_encoder is None or document_encoder is None:
        raise ParameterError(
            "an alignment needs --query-encoder and --document-encoder", remedy="Name the encoder of each side"
        )
    if encoder is not None:
        raise ParameterError("it does not go with --query-encoder", where="--encoder", remedy="Leave one of them out")


def _print_systems(systems: Systems, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        if not quiet:
            show_findings(systems.delivery.fit.findings)
        emit_json(systems.to_json())
        return
    numbers = ("base", "ships", "lead (s.e.)")
    table = plain_table("system", "queries by", "verdict", *numbers, "costs", right=numbers)
    for one in systems.fits:
        verdict = one.fit.choice.verdict
        lead = f"{one.lead:+.4f} ({one.standard_error:.4f})"
        table.add_row(
            one.system, one.needs, verdict.decision, f"{verdict.base:.4f}", f"{one.ships:.4f}", lead, one.cost
        )
    show(table)
    say(f"recommended: {systems.recommended}")
    say(f"{systems.reason[:1].upper()}{systems.reason[1:]}.")
    if systems.tests is not None:
        say("")
        say("What each ships on the test queries, which the recommendation does not go by:")
        show_systems(systems.tests)
    say("")
    say(f"written: {systems.written}")
    _print(systems.delivery, as_json=False, quiet=quiet)


def _print(delivery: Delivery, *, as_json: bool, quiet: bool) -> None:
    if not quiet:
        show_findings(delivery.fit.findings)
    if as_json:
        emit_json(delivery.to_json())
        return
    choice = delivery.fit.choice
    adapt = choice.verdict.decision == "adapt"
    say(f"verdict: {'adapt' if adapt else 'keep your base'}")
    say(delivery.summary.verdict.sentence)
    if choice.verdict.queries:
        labelled = counted(choice.verdict.queries, "labelled query", "labelled queries")
        tried = f"of {counted(len(choice.candidates), 'candidate')}, by {labelled}"
        say(f"Chosen: {choice.chosen}, {tried}.")
    if delivery.summary.geometry is not None:
        say(delivery.summary.geometry.sentence)
    for found in delivery.fit.elsewhere:
        say(f"Elsewhere: {found.reason}.")
    if delivery.fit.curve is not None:
        say(f"Labels: {delivery.fit.curve.reason}.")
    if delivery.fit.nearest is not None:
        say(f"To beat, for traffic that recurs: {delivery.fit.nearest}.")
    say("")
    _print_trial(delivery.trial, adapt=adapt, tried=choice.verdict.queries > 0)
    say("")
    say(f"adapter: {delivery.adapter_path}")
    if delivery.report_path is not None:
        say(f"report:  {delivery.report_path}")


def _print_trial(trial: Trial, *, adapt: bool, tried: bool) -> None:
    if not trial.parts:
        say("No test queries: the verdict rests on cross-fitting alone.")
        return
    if tried:
        show_comparisons(trial.comparisons)
    else:
        say("No correction was tried. Your base, on the test queries:")
        show_base(trial.comparisons)
    if trial.nearest is not None:
        row = trial.nearest.comparisons[0]
        told = f"{row.other_mean:.4f}, {difference(row)}"
        say(f"{row.other_name.capitalize()}, instead: {row.measure} {told}.")
    if tried and not adapt:
        say("What these numbers call adapted was not written: the adapter holds your base.")
    if trial.against is not None:
        say("")
        show_systems(trial.against)
