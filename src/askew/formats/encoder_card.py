"""The card beside embeddings: what made them, and a few vectors to tell that encoder by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from askew._version import __version__
from askew.adapters import Canaries
from askew.data import EmbeddingSet
from askew.errors import AskewError, EncoderMismatchError, FormatError, OutputError
from askew.formats._json import parse_json
from askew.formats._sources import is_file
from askew.formats.text import PathLike, read_whole, write_lines

__all__ = ["EncoderCard", "check_card", "name_beside", "read_card", "write_card"]

_NAME = "encoder.json"
_FILES = ("queries.npy", "docs.npy")
_FORMAT, _VERSION = "askew-embeddings", 1


@dataclass(frozen=True, eq=False)
class EncoderCard:
    """What made the embeddings of a folder.

    Attributes:
        name: what the encoder is called.
        dim: d.
        made_by: what tells the encoder apart, such as endpoint and model or a hash of the weights.
        prompts: what went before every query and every document.
        model: what made the vectors, as the encoder's answers said.
        canaries: side (``"queries"``, ``"documents"``) → a few of its vectors, with ids and texts.
    """

    name: str
    dim: int
    made_by: Mapping[str, Any]
    prompts: Mapping[str, str]
    model: str | None = None
    canaries: Mapping[str, Canaries] = field(default_factory=dict)

    def same_encoder(self, other: EncoderCard) -> bool:
        """Whether another card is of the same encoder and prompts, as far as cards can tell."""
        return (dict(self.made_by), dict(self.prompts)) == (dict(other.made_by), dict(other.prompts))


def write_card(card: EncoderCard, folder: PathLike) -> None:
    """Write ``encoder.json`` into a folder of embeddings, atomically.

    Raises:
        OutputError: it cannot be written, or what made the embeddings is not plain values.
    """
    path = Path(folder) / _NAME
    record = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "askew": __version__,
        "encoder": card.name,
        "dim": card.dim,
        "made_by": dict(card.made_by),
        "prompts": dict(card.prompts),
        "model": card.model,
        "canaries": {side: _put(held) for side, held in card.canaries.items()},
    }
    try:
        text = json.dumps(record, indent=2, allow_nan=False)
    except (TypeError, ValueError) as error:
        remedy = "Keep texts, finite numbers, lists and mappings in an encoder's signature"
        raise OutputError(f"it cannot be written as JSON ({error})", where=path, remedy=remedy) from error
    write_lines(path, [text])


def read_card(folder: PathLike) -> EncoderCard | None:
    """Read ``encoder.json``; None if a folder has none.

    Raises:
        FormatError: it is damaged, or something else.
    """
    path = Path(folder) / _NAME
    if not is_file(path):
        return None
    record = parse_json(read_whole(path), str(path))
    if not isinstance(record, dict) or record.get("format") != _FORMAT or record.get("format_version") != _VERSION:
        raise FormatError("it is no card of embeddings, or of another version", where=path, remedy="Embed them again")
    try:
        return EncoderCard(
            str(record["encoder"]),
            int(record["dim"]),
            dict(record["made_by"]),
            dict(record["prompts"]),
            record["model"],
            {side: _get(held, int(record["dim"])) for side, held in record["canaries"].items()},
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, AskewError) as error:
        raise FormatError(f"it is damaged ({error})", where=path, remedy="Embed them again") from error


def check_card(folder: PathLike, embeddings: EmbeddingSet, side: Literal["queries", "documents"]) -> None:
    """Compare embeddings with the card of their encoder, if it has one.

    Args:
        folder: the data set's.
        embeddings: of ``embeddings/<encoder>`` in it.
        side: which.

    Raises:
        FormatError: the card is damaged, or its vectors are not those of the file beside it.
    """
    if embeddings.encoder is None:
        return
    place = Path(folder) / "embeddings" / embeddings.encoder
    card = read_card(place)
    if card is None:
        return
    remedy = "Embed again (askew embed), or remove the card if the files are right"
    if card.dim != embeddings.dim:
        problem = f"the {side} have {embeddings.dim:,} dimensions, and the encoder {card.dim:,}"
        raise FormatError(problem, where=place / _NAME, remedy=remedy)
    try:
        if side in card.canaries:
            card.canaries[side].check(embeddings, side)
    except EncoderMismatchError as error:
        problem = f"{error.problem.partition(' (')[0]} since it was written"
        raise FormatError(problem, where=place / _NAME, remedy=remedy) from error


def name_beside(path: Path, dim: int) -> str | None:
    """The encoder that the card beside a file of embeddings names; None without a card, or where it is of others.

    In ``embeddings/<encoder>`` it is the folder's name, as for readers of the whole data set.

    Args:
        path: of the file; only ``queries.npy`` and ``docs.npy`` are what the card is about.
        dim: its dimensions.

    Raises:
        FormatError: the card is damaged.
    """
    if path.name not in _FILES:
        return None
    card = read_card(path.parent)
    if card is None or card.dim != dim:
        return None
    place = path.absolute().parent
    return place.name if place.parent.name == "embeddings" else card.name


def _put(canaries: Canaries) -> list[dict[str, Any]]:
    rows = zip(canaries.ids, canaries.texts, canaries.vectors.tolist(), strict=True)
    return [{"id": name, "text": text, "vector": vector} for name, text, vector in rows]


def _get(held: list[dict[str, Any]], dim: int) -> Canaries:
    vectors = np.array([item["vector"] for item in held], dtype=np.float32).reshape(len(held), dim)
    ids, texts = (tuple(str(item[key]) for item in held) for key in ("id", "text"))
    return Canaries(ids, vectors, texts)
