"""Options that several commands take."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

import typer

__all__ = [
    "AsJson",
    "BadRows",
    "DocumentEncoder",
    "Encoder",
    "Measures",
    "Quiet",
    "Seed",
    "SimilarityName",
    "similarity",
]


class SimilarityName(StrEnum):
    """How scores are made."""

    DOT = "dot"
    COSINE = "cosine"


class BadRowsPolicy(StrEnum):
    """What to do with rows that hold NaN or infinite values."""

    RAISE = "raise"
    DROP = "drop"


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of prose.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no warnings on stderr.")]
Seed = Annotated[int, typer.Option(help="Salt of every hash and seed of every resampling.", min=0)]
Encoder = Annotated[str | None, typer.Option(help="Whose embeddings, if the folder has several.")]
DocumentEncoder = Annotated[str | None, typer.Option(help="Whose embeddings of documents, if not --encoder's.")]
BadRows = Annotated[BadRowsPolicy, typer.Option(help="Rows with NaN or infinite values: raise an error, or drop them.")]
Measures = Annotated[
    list[str] | None, typer.Option("--measure", "-m", help="An ir-measures name, such as nDCG@10; repeatable.")
]


def similarity(name: SimilarityName) -> Literal["dot", "cosine"]:
    """The plain string."""
    return "cosine" if name is SimilarityName.COSINE else "dot"
