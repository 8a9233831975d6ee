"""The command that turns texts into vectors: `embed`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from askew.cli.console import emit_json, progress_bar, say, show_findings
from askew.cli.options import AsJson, Quiet
from askew.errors import counted

if TYPE_CHECKING:
    from askew.workflows.embed import Embedded

__all__ = ["embed"]


class VectorType(StrEnum):
    """What vectors are written as."""

    FLOAT16 = "float16"
    FLOAT32 = "float32"


class EmptyPolicy(StrEnum):
    """What to do with empty texts."""

    RAISE = "raise"
    ZERO = "zero"


def embed(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A folder with corpus.jsonl and queries.jsonl, or one of them.")
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
            help="The folder to write; DATA/embeddings/NAME by default.",
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
    with maker, progress_bar(quiet) as named:
        result = embed_folder(
            data,
            maker,
            output=output,
            cache=cache,
            dtype=dtype.value,
            empty=empty.value,
            max_characters=max_characters,
            verify=verify,
            overwrite=overwrite,
            named=named,
        )
    if not quiet:
        show_findings(result.findings)
    if as_json:
        emit_json(result.to_json())
    else:
        _print(result)


def _print(result: Embedded) -> None:
    for side, held in result.sides.items():
        empty = f", {held.empty:,} empty" if held.empty else ""
        asked = held.distinct - held.cached
        say(
            f"{side}: {counted(held.texts, 'text')}, {held.distinct:,} distinct{empty}; "
            f"{held.cached:,} from the cache, {asked:,} embedded"
        )
    usage = result.usage
    tokens = f"; {counted(usage.tokens, 'token')} counted" if usage.tokens else ""
    say(f"requests: {usage.requests:,}, {usage.retries:,} of them repeated{tokens}")
    say(f"cache: {result.cache}")
    say(f"embeddings: {result.folder} ({counted(result.dim, 'dimension')}, {result.dtype})")
