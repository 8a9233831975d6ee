"""Embed tasks: every task below a folder by one encoder, each where its own commands look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from askew.encoders import TextEncoder
from askew.errors import FormatError
from askew.formats import holds_task, is_mair, list_tasks
from askew.protocols import Progress
from askew.workflows.embed import Embedded, embed

__all__ = ["embed_tasks", "tasks_to_embed"]


def tasks_to_embed(folder: str | PathLike[str]) -> tuple[str, ...]:
    """The tasks below a folder; none where it is a task itself, or holds nothing.

    Raises:
        FormatError: these are MAIR's files, whose queries and instructions are not joined yet.
    """
    if not Path(folder).is_dir() or holds_task(folder):
        return ()
    if is_mair(folder):
        raise FormatError(
            "these are MAIR's files: instructions are to be joined to queries first",
            where=folder,
            remedy=f"askew convert {folder} -o DATA, then askew embed DATA",
        )
    return list_tasks(folder)


def embed_tasks(
    folder: str | PathLike[str],
    encoder: TextEncoder,
    *,
    named: Callable[[str], Progress] | None = None,
    **options: Any,
) -> Mapping[str, Embedded]:
    """Embed every task below a folder; see `embed`.

    Whatever ends the run, the next one asks only for what no answer has come for, over all tasks.

    Args:
        folder: see `askew.formats.list_tasks`.
        encoder: what embeds; it stays open.
        named: makes a progress callback for a named piece of work.
        options: as `embed` takes them, but for its output.

    Returns:
        Task → what was written; `usage` counts from the first task on.

    Raises:
        AskewError: as `embed` and `tasks_to_embed` do.
        FormatError: there is no task.
    """
    tasks = tasks_to_embed(folder)
    if not tasks:
        raise FormatError("there is no task below it", where=folder, remedy="Name a folder of folders with texts")
    done: dict[str, Embedded] = {}
    for place, name in enumerate(tasks, start=1):
        count = f"task {place} of {len(tasks)}, {name}"
        step = None if named is None else _named(named, count)
        done[name] = embed(Path(folder, *name.split("/")), encoder, named=step, **options)
    return done


def _named(named: Callable[[str], Progress], task: str) -> Callable[[str], Progress]:
    return lambda what: named(f"{task}: {what}")
