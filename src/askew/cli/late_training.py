"""The command that trains signed late interaction: `train-late`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from askew.cli.console import emit_json, plain_table, progress_bar, say, show, show_error, show_findings
from askew.cli.options import AsJson, Quiet, Seed
from askew.errors import counted

__all__ = ["train_late"]


class GatesName(StrEnum):
    """The sides that have a head."""

    NONE = "none"
    QUERY = "query"
    DOCUMENT = "document"
    BOTH = "both"


def train_late(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A folder of corpus.jsonl, queries.jsonl, and pairs.tsv (split, query-id, positives, negatives) or "
            "judgements.",
        ),
    ],
    token_encoder: Annotated[
        str,
        typer.Option(
            "--token-encoder", metavar="st:MODEL", help="A model of sentence-transformers: its folder or name."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="HEAD", help="The folder of the head.")],
    ordinary: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="Texts among which the head will be used (corpus.jsonl, perhaps queries.jsonl): they must be ranked "
            "as before. No judgement is read. Repeatable.",
        ),
    ] = None,
    split: Annotated[str, typer.Option(metavar="NAME", help="What to train on; others are only reported.")] = "train",
    gates: Annotated[
        GatesName, typer.Option(help="Which side's tokens get weights; none trains the encoder alone.")
    ] = GatesName.BOTH,
    layers: Annotated[
        int, typer.Option(metavar="N", help="Then tune the encoder's last N layers too; 0 leaves it frozen.", min=0)
    ] = 0,
    epochs: Annotated[int, typer.Option(metavar="N", help="Passes over the queries that train the heads.", min=1)] = 32,
    layer_epochs: Annotated[
        int, typer.Option(metavar="N", help="Passes in which layers are tuned, once the heads are learned.", min=1)
    ] = 8,
    batch: Annotated[int, typer.Option(metavar="N", help="Queries a step.", min=1)] = 32,
    rate: Annotated[float, typer.Option(metavar="RATE", help="Learning rate of the heads.")] = 1e-2,
    encoder_rate: Annotated[float, typer.Option(metavar="RATE", help="Of the tuned layers.")] = 1e-4,
    pull: Annotated[
        float, typer.Option(metavar="WEIGHT", help="How hard ordinary texts are held where they are.", min=0.0)
    ] = 100.0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last good checkpoint.")] = False,
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="Such as cuda or cpu.  [default: a GPU where there is one]")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn which tokens exclude: signs for late interaction on an encoder of your choice."""
    from askew.encoders import token_model
    from askew.workflows.train_late import LateSettings
    from askew.workflows.train_late import train_late as train

    settings = LateSettings(
        gates=gates.value,
        layers=layers,
        epochs=epochs,
        layer_epochs=layer_epochs,
        batch=batch,
        rate=rate,
        encoder_rate=encoder_rate,
        pull=pull,
        device=device,
        seed=seed,
    )
    started = time.time()
    try:
        with progress_bar(quiet) as named:
            found = train(
                data,
                model=token_model(token_encoder),
                output=output,
                ordinary=ordinary or (),
                split=split,
                settings=settings,
                resume=resume,
                named=named,
            )
    except KeyboardInterrupt:
        written = (path.stat().st_mtime for path in Path(f"{output}.checkpoints").glob("*/step-*"))
        if max(written, default=0) >= started:
            show_error("stopped; the same command with --resume goes on from the last checkpoint")
        raise
    if not quiet:
        show_findings(found.findings)
    if as_json:
        emit_json(found.to_json())
        return
    curve = [(step, judged) for step, _, judged in found.history if judged is not None]
    if curve:
        judges = counted(found.held, "query", "queries")
        steps = counted(found.steps, "step")
        say(f"{steps}; the weights after step {found.best_step:,} were the best on {judges} held out.")
        what = "minus the loss" if min(judged for _, judged in curve) < 0 else "pairs in order"
        say(f"By step, {what} on queries held out: {', '.join(f'{step:,}: {judged:.3f}' for step, judged in curve)}.")
    else:
        say(f"{counted(found.steps, 'step')}; too few queries to hold any out, so the last weights are kept.")
    if found.best_step == 0:
        say("Nothing was better than plain MaxSim, so that is what the head does.")
    if found.after:
        _show(found.before, found.after)
    say(str(found.output))


def _show(before: Mapping[str, Mapping[str, float]], after: Mapping[str, Mapping[str, float]]) -> None:
    numbers = ("queries", "strict", "pairwise", "paired")
    table = plain_table("split", "", *numbers, right=numbers)
    for split in after:
        for name, held in (("before", before[split]), ("after", after[split])):
            table.add_row(split, name, f"{held['queries']:,}", *(f"{held[key]:.4f}" for key in numbers[1:]))
    show(table)
