"""Embed: the texts of a folder become vectors beside them, and nothing is paid for twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from askew._atomic import writing_folder
from askew._blocks import blocks
from askew.adapters import Canaries
from askew.data import Finding
from askew.data.fusion import JOINT
from askew.encoders import CachedEncoder, TextEncoder, Usage
from askew.errors import EncoderError, FormatError, InputError, OutputError, ParameterError, counted, name_some
from askew.formats import (
    EncoderCard,
    read_card,
    read_embeddings,
    read_side_texts,
    write_card,
    write_embedding_blocks,
)
from askew.protocols import Kind, Progress

__all__ = ["Embedded", "EmbeddedSide", "embed"]

Side = Literal["queries", "documents"]
# Queries first: they are fewer, so what is wrong with encoder or options shows early.
_SIDES: Mapping[Side, tuple[str, Kind]] = {"queries": ("queries", "query"), "documents": ("docs", "document")}
# Rows copied at once from the cache to a file.
_ROWS = 4096
_FILES = {f"{stem}{ending}" for stem, _ in _SIDES.values() for ending in (".npy", ".ids")} | {"encoder.json"}


@dataclass(frozen=True)
class EmbeddedSide:
    """What became of the queries or of the documents.

    Attributes:
        texts: how many.
        distinct: how many different ones, empty ones apart.
        cached: distinct texts whose vector was there already.
        empty: texts that got a zero vector.
        shortened: ids of texts that were cut at `max_characters`.
        cut: ids of texts of which the encoder saw only the beginning.
    """

    texts: int
    distinct: int
    cached: int
    empty: int
    shortened: tuple[str, ...]
    cut: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As plain values; ids as counts."""
        counts = {"shortened": len(self.shortened), "cut": len(self.cut)}
        return {**asdict(self), "asked": self.distinct - self.cached, **counts}


@dataclass(frozen=True)
class Embedded:
    """Embeddings that were written, and what they took.

    Attributes:
        folder: where they are.
        encoder: what the encoder is called.
        dim: d.
        dtype: of the files.
        sides: those that had texts.
        usage: requests, retries and tokens of this run.
        cache: the file that keeps the vectors.
        limit: tokens of a text that the encoder sees, if that is known.
    """

    folder: Path
    encoder: str
    dim: int
    dtype: str
    sides: Mapping[Side, EmbeddedSide]
    usage: Usage
    cache: Path
    limit: int | None

    @property
    def findings(self) -> list[Finding]:
        """What was cut off, as warnings."""
        found = []
        window = "what it sees" if self.limit is None else f"its {self.limit:,} tokens"
        for side, held in self.sides.items():
            for code, ids, verbs, told in (
                ("cut", held.cut, ("is", "are"), f"longer than the encoder takes: what comes after {window} is lost"),
                ("shortened", held.shortened, ("was", "were"), "cut at the number of characters asked for"),
            ):
                if ids:
                    which = counted(len(ids), f"{_SIDES[side][1]} {verbs[0]}", f"{side} {verbs[1]}")
                    found.append(Finding(f"{code}-{side}", "warning", f"{which} {told}", len(ids), ids[:5]))
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "folder": str(self.folder),
            "encoder": self.encoder,
            "dim": self.dim,
            "dtype": self.dtype,
            **{side: held.to_json() for side, held in self.sides.items()},
            "usage": asdict(self.usage),
            "cache": str(self.cache),
            "findings": [finding.to_json() for finding in self.findings],
        }


@dataclass(frozen=True)
class _Texts:
    """The texts of a side, as they are embedded."""

    ids: list[str]
    texts: list[str]
    shortened: tuple[str, ...]
    empty: npt.NDArray[np.bool_]

    @property
    def full(self) -> list[str]:
        return [text for text, empty in zip(self.texts, self.empty, strict=True) if not empty]


def embed(
    folder: str | PathLike[str],
    encoder: TextEncoder,
    *,
    output: str | PathLike[str] | None = None,
    cache: str | PathLike[str] | None = None,
    dtype: Literal["float16", "float32"] = "float32",
    empty: Literal["raise", "zero"] = "raise",
    max_characters: int | None = None,
    verify: bool = False,
    overwrite: bool = False,
    named: Callable[[str], Progress] | None = None,
) -> Embedded:
    """Embed the texts of a folder, and write them where `askew.formats.read_dataset` looks for them.

    Every answer goes to the cache as it comes. Whatever ends the run, the next one asks only for what
    no answer has come for. The folder is written at the end, whole.

    Args:
        folder: holds ``corpus.jsonl`` and ``queries.jsonl``, or one of them; see `read_side_texts`.
        encoder: what embeds; it stays open.
        output: the folder to write, which names the encoder to readers; by default
            ``embeddings/<name of the encoder>`` in `folder`.
        cache: where vectors are kept, see `CachedEncoder`.
        dtype: of the files.
        empty: ``"raise"`` on empty texts, or give them ``"zero"`` vectors, which score 0.
        max_characters: cut texts after so many; how many were cut is told.
        verify: ask for a few kept texts again first, and refuse an encoder that has changed.
        overwrite: also replace embeddings of another encoder, or of unknown making.
        named: makes a progress callback for a named piece of work.

    Raises:
        FormatError: there are no texts, or they or the cache are damaged.
        InputError: texts are empty.
        EncoderError: the encoder fails, gives what cannot be used, or has changed since vectors were kept.
        OutputError: something stands in the way, or cannot be written.
        ParameterError: the encoder's name is no name of a folder, or stands for two encoders.
    """
    place = _place(folder, encoder.name) if output is None else Path(output)
    for name in (encoder.name, place.name if place.parent.name == "embeddings" else ""):
        if JOINT in name:
            raise ParameterError(
                f"the encoder's name {name!r} holds a {JOINT!r}, which joins the names of two encoders",
                where="name",
                remedy="Name it otherwise (--name)",
            )
    _refuse_foreign(place, encoder, overwrite=overwrite)
    given = {side: _read(folder, side, empty=empty, most=max_characters) for side in _SIDES}
    texts = {side: held for side, held in given.items() if held is not None}
    if not any(len(held.full) for held in texts.values()):
        raise FormatError("there are no texts", where=folder, remedy="Expected corpus.jsonl and queries.jsonl")
    cached = CachedEncoder(encoder, cache)
    try:
        if verify:
            for side, held in texts.items():
                cached.verify(held.full, kind=_SIDES[side][1])
        sides = {side: _fill(side, held, cached, named) for side, held in texts.items()}
        _write(place, texts, cached, encoder, dtype)
    finally:
        cached.close()
    return Embedded(place, encoder.name, cached.dim or 0, dtype, sides, encoder.usage, cached.path, encoder.limit)


def _place(folder: str | PathLike[str], name: str) -> Path:
    if Path(name).name != name or name.startswith("."):
        raise ParameterError(
            f"the encoder's name {name!r} is no name of a folder", where="name", remedy="Name it otherwise (--name)"
        )
    return Path(folder) / "embeddings" / name


def _refuse_foreign(place: Path, encoder: TextEncoder, *, overwrite: bool) -> None:
    """Before anything is paid for: is this a place to write to?"""
    names = {item.name for item in place.iterdir()} if place.is_dir() else set()
    foreign = sorted(names - _FILES)
    if foreign or (place.exists() and not place.is_dir()):
        held = f" ({name_some(foreign)})" if foreign else ""
        raise OutputError(f"something else stands there{held}", where=place, remedy="Name another --output")
    card = read_card(place) if names and not overwrite else None
    if names and not overwrite and (card is None or not card.same_encoder(_card(encoder))):
        maker = "of unknown making" if card is None else f"by another encoder or other prompts, {card.name!r}"
        raise OutputError(
            f"embeddings {maker} stand there", where=place, remedy="Name another --output, or replace them: --overwrite"
        )


def _card(encoder: TextEncoder, canaries: Mapping[str, Canaries] | None = None) -> EncoderCard:
    prompts = {str(kind): prompt for kind, prompt in encoder.prompts.items()}
    return EncoderCard(encoder.name, encoder.dim or 0, encoder.signature, prompts, encoder.model, canaries or {})


def _read(
    folder: str | PathLike[str], side: Side, *, empty: Literal["raise", "zero"], most: int | None
) -> _Texts | None:
    texts = read_side_texts(folder, side)
    if not texts:
        return None
    blank = np.array([not text.strip() for text in texts.values()])
    if blank.any() and empty == "raise":
        ids = [name for name, text in texts.items() if not text.strip()]
        raise InputError(
            f"{len(ids):,} of {len(texts):,} {side} {'is an empty text' if len(ids) == 1 else 'are empty texts'}: "
            f"{name_some(ids)}",
            where=folder,
            remedy="Leave them out, or give them zero vectors, which score 0 (--empty zero)",
        )
    long = tuple(name for name, text in texts.items() if most is not None and len(text) > most)
    return _Texts(list(texts), [text[:most] for text in texts.values()], long, blank)


def _fill(side: Side, held: _Texts, cached: CachedEncoder, named: Callable[[str], Progress] | None) -> EmbeddedSide:
    full_ids = [name for name, empty in zip(held.ids, held.empty, strict=True) if not empty]
    progress = None if named is None else named(f"embedding {side}")
    try:
        filled = cached.fill(held.full, kind=_SIDES[side][1], progress=progress)
    except EncoderError as error:
        raise _with_ids(error, side, held) from error
    cut = tuple(full_ids[place] for place in filled.cut)
    return EmbeddedSide(len(held.ids), filled.distinct, filled.held, int(held.empty.sum()), held.shortened, cut)


def _with_ids(error: EncoderError, side: Side, held: _Texts) -> EncoderError:
    """An encoder's error, with the ids of the texts that it concerns and what there is to do."""
    concerned = set(error.texts)
    ids = [name for name, text in zip(held.ids, held.texts, strict=True) if text in concerned]
    problem = f"{error.problem} ({side} {name_some(ids)})" if ids else error.problem
    kept = "What was answered is kept; the same command goes on from there"
    remedy = f"{error.remedy.rstrip('.')}. {kept}" if error.remedy else kept
    return EncoderError(problem, where=error.where, remedy=remedy, texts=error.texts)


def _write(
    place: Path,
    texts: Mapping[Side, _Texts],
    cached: CachedEncoder,
    encoder: TextEncoder,
    dtype: Literal["float16", "float32"],
) -> None:
    canaries: dict[str, Canaries] = {}
    with writing_folder(place) as fresh:
        for side, held in texts.items():
            stem, kind = _SIDES[side]
            path = fresh / f"{stem}.npy"
            write_embedding_blocks(held.ids, _rows(held, cached, kind), path, dim=cached.dim or 0, dtype=dtype)
            written = read_embeddings(path, encoder=encoder.name)
            canaries[side] = Canaries.pick(written, dict(zip(held.ids, held.texts, strict=True)))
        write_card(_card(encoder, canaries), fresh)


def _rows(held: _Texts, cached: CachedEncoder, kind: Kind) -> Iterator[npt.NDArray[np.float32]]:
    for part in blocks(len(held.ids), _ROWS):
        full = np.flatnonzero(~held.empty[part])
        rows = np.zeros((part.stop - part.start, cached.dim or 0), dtype=np.float32)
        rows[full] = cached.read([held.texts[part.start + place] for place in full], kind=kind)
        yield rows
