"""Convert: MAIR's files become a folder a task, as every command reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from askew.errors import ParameterError, name_some
from askew.formats import list_mair, read_mair, write_task
from askew.formats.mair import Template
from askew.protocols import Progress

__all__ = ["ConvertedTask", "convert_mair"]


@dataclass(frozen=True)
class ConvertedTask:
    """One task that was laid down.

    Attributes:
        name: its folder below the root: domain and task, where tasks are sorted into domains.
        queries: how many.
        documents: how many.
        judgements: how many.
    """

    name: str
    queries: int
    documents: int
    judgements: int

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def convert_mair(
    folder: str | PathLike[str],
    output: str | PathLike[str],
    *,
    template: Template = "instruct",
    tasks: Sequence[str] | None = None,
    named: Callable[[str], Progress] | None = None,
) -> tuple[ConvertedTask, ...]:
    """Lay MAIR's tasks down as folders of ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``.

    A run that was cut short goes on when it is repeated: what stands there already is left alone.

    Args:
        folder: see `askew.formats.list_mair`.
        output: the folder of the tasks' folders.
        template: how instructions are joined to queries; see `askew.formats.read_mair`.
        tasks: these tasks, or all of a domain, alone; all by default.
        named: makes a progress callback for a piece of work.

    Raises:
        FormatError: there is no task, or one is damaged.
        ParameterError: there is no such task or template.
        OutputError: another text stands there, such as one by another template, or it cannot be written.
    """
    chosen = _chosen(folder, tasks)
    progress = None if named is None else named("tasks")
    done: list[ConvertedTask] = []
    for name in chosen:
        task = read_mair(folder, name, template=template)
        write_task(Path(output, *name.split("/")), task.queries, task.documents, task.qrels)
        done.append(ConvertedTask(name, len(task.queries), len(task.documents), task.qrels.judgements))
        if progress is not None:
            progress(len(done), len(chosen))
    return tuple(done)


def _chosen(folder: str | PathLike[str], tasks: Sequence[str] | None) -> list[str]:
    there = list_mair(folder)
    if not tasks:
        return list(there)
    found = {asked: [name for name in there if name == asked or name.startswith(f"{asked}/")] for asked in tasks}
    unknown = next((asked for asked, names in found.items() if not names), None)
    if unknown is not None:
        raise ParameterError(
            f"there is no task or domain {unknown!r}", where=folder, remedy=f"There: {name_some(there, 20)}"
        )
    return list(dict.fromkeys(name for names in found.values() for name in names))
