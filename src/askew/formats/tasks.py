"""Folders of tasks: which folders below one hold a task, and a task's texts and judgements written as one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from askew.data import Qrels
from askew.errors import FormatError, OutputError
from askew.formats._registry import TABLES
from askew.formats._sources import inside, is_folder, sources_in
from askew.formats.qrels import read_qrels, write_qrels
from askew.formats.text import PathLike, write_lines
from askew.formats.texts import read_texts

__all__ = ["holds_task", "list_tasks", "write_task"]

# A task, in a domain, in a collection: no deeper, or a wrong path would be looked through for long.
_DEPTH = 4
_NAMES = ("corpus", "queries", "qrels")


def holds_task(folder: PathLike) -> bool:
    """Whether a folder holds texts or judgements itself: a corpus, queries or qrels, in any format that is read.

    >>> holds_task("/nowhere")
    False
    """
    return bool(sources_in(Path(folder), TABLES, _NAMES))


def list_tasks(folder: PathLike) -> tuple[str, ...]:
    """The folders below one that hold a task, as paths from it with ``/``, in ascending order.

    A path such as ``Finance/FinQA`` is a task and the domain that it stands in. Nothing is looked for within a task.

    Raises:
        FormatError: there is no such folder, or one cannot be listed.
    """
    root = Path(folder)
    if not is_folder(root):
        raise FormatError("there is no such folder", where=root, remedy="Name the folder that the tasks stand in")
    return tuple(_below(root, "", _DEPTH))


def _below(place: Path, before: str, depth: int) -> list[str]:
    found: list[str] = []
    for item in inside(place) if depth else ():
        name = f"{before}{item.name}"
        if is_folder(item):
            found += [name] if holds_task(item) else _below(item, f"{name}/", depth - 1)
    return sorted(found)


def write_task(
    folder: PathLike, queries: Mapping[str, str], documents: Mapping[str, str], qrels: Qrels, *, split: str = "test"
) -> None:
    """Write a task in BEIR's layout: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/SPLIT.tsv``.

    A file that says the same already is left alone, so that a run cut short can be repeated; embeddings beside it stay.

    Args:
        folder: to be made, if it is not there.
        queries: id → text.
        documents: id → text.
        qrels: judgements.
        split: what they are called.

    Raises:
        OutputError: another text or judgement stands there, or it cannot be written.
    """
    place = Path(folder)
    texts = {place / "corpus.jsonl": documents, place / "queries.jsonl": queries}
    judged = place / "qrels" / f"{split}.tsv"
    missing = [path for path, held in texts.items() if not _there(path, dict(held), read_texts)]
    new = not _there(judged, dict(qrels.grades), lambda path: dict(read_qrels(path).grades))
    for path in missing:
        write_lines(path, (json.dumps(_record(path, *row), ensure_ascii=False) for row in texts[path].items()))
    if new:
        write_qrels(qrels, judged)


def _there(path: Path, wanted: object, read: Any) -> bool:
    """Whether a file says what is to be written; refuses one that says something else."""
    if not path.exists():
        return False
    with suppress(FormatError):
        if read(path) == wanted:
            return True
    raise OutputError("something else stands there", where=path, remedy="Name another folder to write to")


def _record(path: Path, name: str, text: str) -> dict[str, str]:
    # BEIR's own reader wants a title of a document.
    return {"_id": name, "title": "", "text": text} if path.stem == "corpus" else {"_id": name, "text": text}
