"""Options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from askew.errors import ParameterError

__all__ = [
    "AdapterFolder",
    "AsJson",
    "BadRows",
    "BadRowsPolicy",
    "DocumentEncoder",
    "Encoder",
    "JudgedSplit",
    "LabelCount",
    "Measures",
    "MergeDuplicates",
    "NegativesPolicy",
    "Queries",
    "Quiet",
    "SecondQueries",
    "Seed",
    "SimilarityName",
    "SimilarityOption",
    "Split",
    "similarity",
    "traffic_share",
]


class SimilarityName(StrEnum):
    """How scores are made."""

    DOT = "dot"
    COSINE = "cosine"


class BadRowsPolicy(StrEnum):
    """What to do with rows that hold NaN or infinite values."""

    RAISE = "raise"
    DROP = "drop"


class NegativesPolicy(StrEnum):
    """Which documents become hard negatives."""

    MARGIN = "margin"
    TOP = "top"
    RANDOM = "random"


AdapterFolder = Annotated[Path, typer.Argument(metavar="ADAPTER", help="An adapter's folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of prose.")]
BadRows = Annotated[BadRowsPolicy, typer.Option(help="Rows with NaN or infinite values: raise an error, or drop them.")]
DocumentEncoder = Annotated[
    str | None, typer.Option(metavar="NAME", help="Whose embeddings of documents, if not --encoder's.")
]
Encoder = Annotated[str | None, typer.Option(metavar="NAME", help="Whose embeddings, if the folder has several.")]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        metavar="NAME",
        help="As ir-measures calls it; one without a cutoff sees 100 documents. Repeatable.  [default: nDCG@10, R@100]",
    ),
]
LabelCount = Annotated[
    int | None, typer.Option(metavar="N", help="Use this many labelled queries; all by default.", min=1)
]
MergeDuplicates = Annotated[
    bool, typer.Option("--merge-duplicates", help="Give every copy of a judged document its judgements.")
]
Queries = Annotated[
    Path,
    typer.Argument(
        metavar="QUERIES",
        help="Embeddings of queries: .npy with .ids beside it, .safetensors, .npz, .parquet, .arrow, .jsonl, .csv or "
        ".tsv; - reads JSON lines from stdin.",
    ),
]
SecondQueries = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="The same queries by a second encoder, for an adapter that fuses two."),
]
JudgedSplit = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Whose judgements; test by default where there is one, else as for fit."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings on stderr.")]
Split = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where the labels are; train by default, or the only one.")
]
SimilarityOption = Annotated[SimilarityName, typer.Option("--similarity", help="How your index scores.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Salt of every hash and seed of every resampling.", min=0)]


def similarity(name: SimilarityName | None) -> Literal["dot", "cosine"] | None:
    """The plain string, if there is one."""
    if name is None:
        return None
    return "cosine" if name is SimilarityName.COSINE else "dot"


def traffic_share(text: str) -> Literal["fresh", "recurring"] | float:
    """The kind of traffic, or its share of recurring queries; what is neither is refused by the fit."""
    if text == "fresh":
        return "fresh"
    if text == "recurring":
        return "recurring"
    try:
        return float(text)
    except ValueError:
        raise ParameterError(
            f"the traffic is {text!r}", where="--traffic", remedy="Say fresh, recurring, or a share from 0 to 1"
        ) from None
