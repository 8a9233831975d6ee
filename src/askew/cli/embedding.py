"""The commands that turn texts into vectors, and MAIR's files into texts: `embed` and `convert`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askew.cli.console import emit_json, plain_table, progress_bar, say, show, show_error, show_findings
from askew.cli.options import AsJson, Quiet
from askew.errors import ParameterError, counted

if TYPE_CHECKING:
    from askew.encoders import Usage
    from askew.workflows.embed import Embedded

__all__ = ["convert", "embed"]


class VectorType(StrEnum):
    """What vectors are written as."""

    FLOAT16 = "float16"
    FLOAT32 = "float32"


class EmptyPolicy(StrEnum):
    """What to do with empty texts."""

    RAISE = "raise"
    ZERO = "zero"


class TemplateName(StrEnum):
    """How an instruction stands before its query."""

    INSTRUCT = "instruct"
    JOINED = "joined"
    NONE = "none"


def convert(
    mair: Annotated[
        Path, typer.Argument(metavar="MAIR", help="MAIR's tasks: a folder each, with queries.jsonl and docs.jsonl.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DATA", help="The folder to write the tasks' folders to.")
    ],
    template: Annotated[
        TemplateName,
        typer.Option(
            help="How instructions are joined to queries: 'Instruct: ...' and 'Query: ...' on a line each, the two "
            "alone on a line each, or the query alone."
        ),
    ] = TemplateName.INSTRUCT,
    task: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="This task or domain alone. Repeatable.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Lay MAIR's tasks down as folders that every command reads."""
    from askew.workflows.convert import convert_mair

    with progress_bar(quiet) as named:
        done = convert_mair(mair, output, template=template.value, tasks=task, named=named)
    if as_json:
        emit_json({"folder": str(output), "template": template.value, "tasks": [one.to_json() for one in done]})
        return
    counts = ("queries", "documents", "judgements")
    table = plain_table("task", *counts, right=counts)
    for one in done:
        table.add_row(one.name, f"{one.queries:,}", f"{one.documents:,}", f"{one.judgements:,}")
    show(table)
    say(f"tasks: {output}")


def embed(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="A folder with corpus.jsonl and queries.jsonl, or one of them; or a folder of such folders.",
        ),
    ],
    encoder: Annotated[
        str,
        typer.Option(
            metavar="SPEC",
            help="wordllama, st:PATH_OR_NAME (sentence-transformers), or openai:MODEL[@URL] (an endpoint; the key is "
            "read from OPENAI_API_KEY).",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="The folder to write; DATA/embeddings/NAME by default. Not for a folder of folders.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the encoder is called, if not as its model.")
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keeps every vector; $ASKEW_CACHE or ~/.cache/askew by default."),
    ] = None,
    query_prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Goes before every query; st takes the model's own by default, or as @NAME."),
    ] = None,
    document_prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Goes before every document, likewise.")
    ] = None,
    dtype: Annotated[VectorType, typer.Option(help="What is written.")] = VectorType.FLOAT32,
    empty: Annotated[
        EmptyPolicy, typer.Option(help="Empty texts: raise an error, or give them zero vectors.")
    ] = EmptyPolicy.RAISE,
    max_characters: Annotated[
        int | None, typer.Option(metavar="N", help="Cut texts after so many characters.", min=1)
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="Texts at once.  [default: 64 for endpoints, 32 for st]", min=1),
    ] = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", help="Requests at once, to an endpoint.  [default: 4]", min=1)
    ] = None,
    dimensions: Annotated[
        int | None, typer.Option(metavar="N", help="Asked of an endpoint's model, if it can choose.", min=1)
    ] = None,
    retries: Annotated[
        int | None,
        typer.Option(metavar="N", help="How often a request is repeated before the end.  [default: 8]", min=0),
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="X", help="Seconds to wait for an answer.  [default: 60]", min=0.001)
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="First ask for a few kept texts again: has the model changed?")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Also replace embeddings of another encoder or of unknown making.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Embed the texts of a folder; what was answered once is never asked for again."""
    from askew.encoders import encoder_from_spec
    from askew.workflows.embed import embed as embed_folder
    from askew.workflows.embed_tasks import embed_tasks, tasks_to_embed

    tasks = tasks_to_embed(data)
    if tasks and output is not None:
        raise ParameterError(
            f"it names one folder, and there are {counted(len(tasks), 'task')} below {data}",
            where="--output",
            remedy="Leave it out: each gets its own embeddings/NAME",
        )
    maker = encoder_from_spec(
        encoder,
        name=name,
        query_prompt=query_prompt,
        document_prompt=document_prompt,
        batch=batch,
        concurrency=concurrency,
        dimensions=dimensions,
        retries=retries,
        timeout=timeout,
    )
    options: dict[str, Any] = {
        "cache": cache,
        "dtype": dtype.value,
        "empty": empty.value,
        "max_characters": max_characters,
        "verify": verify,
        "overwrite": overwrite,
    }
    try:
        with maker, progress_bar(quiet) as named:
            if tasks:
                done = dict(embed_tasks(data, maker, named=named, **options))
            else:
                done = {"": embed_folder(data, maker, output=output, named=named, **options)}
    except KeyboardInterrupt:
        show_error("stopped; what was answered is kept, and the same command goes on from there")
        raise
    if not quiet:
        for task, result in done.items():
            show_findings(replace(one, message=f"{task}: {one.message}") if task else one for one in result.findings)
    if as_json:
        told = {task: result.to_json() for task, result in done.items()}
        emit_json({"tasks": told} if tasks else told[""])
        return
    for task, result in done.items():
        _print(result, f"{task}: " if task else "")
    _print_usage(maker.usage)


def _print(result: Embedded, task: str) -> None:
    for side, held in result.sides.items():
        empty = f", {held.empty:,} empty" if held.empty else ""
        asked = held.distinct - held.cached
        say(
            f"{task}{side}: {counted(held.texts, 'text')}, {held.distinct:,} distinct{empty}; "
            f"{held.cached:,} from the cache, {asked:,} embedded"
        )
    say(f"cache: {result.cache}")
    say(f"embeddings: {result.folder} ({counted(result.dim, 'dimension')}, {result.dtype})")


def _print_usage(usage: Usage) -> None:
    tokens = f"; {counted(usage.tokens, 'token')} counted" if usage.tokens else ""
    say(f"requests: {usage.requests:,}, {usage.retries:,} of them repeated{tokens}")
