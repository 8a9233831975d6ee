"""Scores as they are measured, on disk: a study of hours that is stopped goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from askew.workflows.two_encoders import TwoEncoders

if TYPE_CHECKING:
    from askew.workflows.efficiency import Score

__all__ = ["ScoreStore", "print_of"]


class ScoreStore:
    """Lists of scores by what they were measured on, a line of JSON each; a line that is not whole is passed over.

    Args:
        path: the file; it is made with the first score.
        of: what all scores depend on, such as `print_of` the tasks; lines that were written for something else are kept
            and not used.
    """

    def __init__(self, path: Path, of: str) -> None:
        self._path, self._of = path, of
        self._held: dict[str, list[dict[str, Any]]] = {}
        if path.is_file():
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                    if entry["of"] == of:
                        self._held[entry["key"]] = entry["scores"]
                except (ValueError, LookupError, TypeError):
                    continue

    def get(self, key: list[Any], measure: Callable[[], list[Score]]) -> list[Score]:
        """The scores under a key, measured if they are not there."""
        from askew.workflows.efficiency import Score  # noqa: PLC0415 - it imports this module

        name = json.dumps(key)
        if name in self._held:
            return [Score(**{**one, "per_query": np.array(one["per_query"])}) for one in self._held[name]]
        found = measure()
        plain = [{**one.__dict__, "means": dict(one.means), "per_query": one.per_query.tolist()} for one in found]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._torn() + json.dumps({"of": self._of, "key": name, "scores": plain}) + "\n")
        self._held[name] = plain
        return found

    def _torn(self) -> bool:
        """Whether the file ends within a line."""
        with self._path.open("rb") as file:
            return bool(file.seek(0, 2)) and bool(file.seek(-1, 2)) and file.read(1) != b"\n"


def print_of(tasks: list[TwoEncoders], *settings: Any) -> str:
    """A hash of tasks, settings and askew's own code: scores of another one are not these.

    Args:
        tasks: their vectors, ids and judgements count.
        settings: anything whose `repr` tells it.
    """
    digest = hashlib.sha256(repr(settings).encode())
    for source in sorted(Path(str(files("askew"))).rglob("*.py")):
        digest.update(source.read_bytes())
    for task in tasks:
        for side in (task.documents, task.index, task.queries, task.own_queries):
            if side is not None:
                digest.update(repr((side.encoder, side.ids)).encode())
                digest.update(np.ascontiguousarray(side.matrix).tobytes())
        if task.qrels is not None:
            digest.update(repr([(query, dict(task.qrels[query])) for query in task.qrels.queries]).encode())
    return digest.hexdigest()
