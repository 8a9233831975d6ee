"""Ordinary texts: a sample of a collection in which heads will be used, and which they must rank as before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from askew.data import hash_order
from askew.errors import InputError
from askew.formats import read_side_texts

__all__ = ["ordinary_texts"]

_SENTENCE = re.compile(r"(?<=[.!?])\s")
_MOST_WORDS = 32


def ordinary_texts(
    folders: Sequence[str | PathLike[str]], *, most: int, seed: int = 0
) -> tuple[dict[str, str], dict[str, str]]:
    """Draw queries and documents by a hash of their ids, as many from each folder.

    Args:
        folders: each with ``corpus.jsonl`` and perhaps ``queries.jsonl``; without it, first sentences of documents, of
            at most 32 words, stand for queries.
        most: texts of each side, of all folders together.
        seed: of the hash.

    Raises:
        InputError: a folder has no text of a document.
        FormatError: a folder is missing or damaged.
    """
    queries, documents = dict[str, str](), dict[str, str]()
    for place, folder in enumerate(folders):
        each = max(1, most // len(folders))
        told = _drawn(read_side_texts(folder, "documents"), each, seed)
        if not told:
            raise InputError("no document has a text", where=Path(folder), remedy="Give a corpus.jsonl with texts")
        asked = _drawn(read_side_texts(folder, "queries"), each, seed) or {
            name: _first_sentence(text) for name, text in told.items()
        }
        for held, texts in ((queries, asked), (documents, told)):
            held.update({f"{place}/{name}": text for name, text in texts.items()})
    return queries, documents


def _drawn(texts: dict[str, str], most: int, seed: int) -> dict[str, str]:
    there = {name: text for name, text in texts.items() if text.strip()}
    return {name: there[name] for name in hash_order(there, seed=seed)[:most]}


def _first_sentence(text: str) -> str:
    """The first sentence of a text, as far as a query would go on.

    >>> _first_sentence("Flow past a plate. It is laminar.")
    'Flow past a plate.'
    """
    return " ".join(_SENTENCE.split(text.strip(), maxsplit=1)[0].split()[:_MOST_WORDS])
