"""Where data of some name lie: in one file, in shards, or in a folder of shards."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from askew.errors import FormatError, name_some
from askew.formats._layout import Layout, Row
from askew.formats._registry import FORMATS, Format, split_name
from askew.formats.text import STDIN, PathLike, unreadable

__all__ = ["Source", "inside", "is_file", "is_folder", "is_stream", "locate", "read_rows", "sources_in"]

_SHARD = re.compile(r"(?P<stem>.+)-(?P<index>\d{5})-of-(?P<count>\d{5})")


@dataclass(frozen=True)
class Source:
    """One table or matrix, in one file or several.

    Attributes:
        path: what to call it in messages: the file, the folder, or the first shard.
        stem: its name without ending and shard number; ids beside it are called so.
        ending: as in `FORMATS`, ``".gz"`` taken off; or what the name ends in.
        parts: the files, in order.
    """

    path: Path
    stem: str
    ending: str
    parts: tuple[Path, ...]

    @property
    def format(self) -> Format | None:
        """How to read it, if that is known."""
        return FORMATS.get(self.ending)

    def check(self) -> None:
        """Refuse shards that are not all there.

        Raises:
            FormatError: one is missing, or two folders of shards are mixed.
        """
        found = [match for part in self.parts if (match := _SHARD.fullmatch(split_name(part.name)[0]))]
        if not found:
            return
        counts = sorted({int(match["count"]) for match in found})
        missing = sorted(set(range(counts[-1])) - {int(match["index"]) for match in found})
        if len(counts) > 1 or missing or len(found) != len(self.parts) or counts[-1] != len(found):
            problem = f"{len(found)} shards of {counts[-1]} are there"
            if missing:
                problem += f"; missing: {name_some((f'{index:05d}' for index in missing), 3)}"
            raise FormatError(problem, where=self.path, remedy="Copy the missing shards, or remove those left over")


def locate(path: PathLike) -> Source:
    """What a path names: a file or pipe, a folder of shards, the name that shards share, or a pattern with ``*``.

    ``queries.npy`` stands for ``queries-00000-of-00002.npy`` and ``queries-00001-of-00002.npy``
    where there is no file of that name.

    Raises:
        FormatError: a folder without a file that can be read, or a pattern that nothing matches.
    """
    path = Path(path)
    stem, ending = split_name(path.name)
    if is_file(path) or is_stream(path):
        return Source(path, stem, ending, (path,))
    if is_folder(path):
        held = _folder(path, FORMATS)
        if held is None:
            remedy = f"Expected files that end in {', '.join(FORMATS)}"
            raise FormatError("it is a folder without a file that can be read", where=path, remedy=remedy)
        return held
    if "*" in path.name:
        parts = tuple(item for item in inside(path.parent) if item.match(path.name) and is_file(item))
        if not parts:
            raise FormatError("no file matches the pattern", where=path, remedy="Check the path")
        return Source(path, stem.replace("*", "").rstrip("-"), ending, parts)
    shared = sources_in(path.parent, [ending], [stem], folders=False).get(stem)
    return shared or Source(path, stem, ending, (path,))


def sources_in(
    folder: Path, endings: Collection[str], stems: Collection[str] | None = None, *, folders: bool = True
) -> dict[str, Source]:
    """What a folder holds, by stem; of several under one stem the first of `FORMATS`, files before folders.

    Args:
        folder: a folder; nothing is found in one that is not there.
        endings: which formats.
        stems: which names; all by default.
        folders: whether a folder of shards counts, its name being the stem.

    Raises:
        FormatError: the folder cannot be listed.
    """
    found: dict[str, dict[str, list[Path]]] = {}
    below: list[Path] = []
    for item in inside(folder):
        stem, ending = split_name(item.name)
        shard = _SHARD.fullmatch(stem)
        stem = shard["stem"] if shard else stem
        if is_folder(item):
            below.append(item)
        elif ending in endings and (stems is None or stem in stems):
            found.setdefault(stem, {}).setdefault(ending, []).append(item)
    held = {stem: _first(stem, kinds) for stem, kinds in found.items()}
    for item in below if folders else ():
        if item.name not in held and (stems is None or item.name in stems):
            inner = _folder(item, endings)
            if inner is not None:
                held[item.name] = inner
    return held


def read_rows(path: PathLike | Source, layout: Layout, *, otherwise: str) -> Iterator[Row]:
    """The rows of a table, shard after shard.

    Args:
        path: what `locate` takes, or found already.
        layout: the columns to look for.
        otherwise: the format of a file whose ending says nothing.

    Raises:
        FormatError: the format holds no table, or its reader refuses it.
    """
    source = path if isinstance(path, Source) else locate(path)
    source.check()
    form = source.format or FORMATS[otherwise]
    if form.rows is None:
        raise FormatError(f"a {source.ending} file holds no table", where=source.path, remedy=layout.expected)
    for part in source.parts:
        yield from form.rows(part, layout)


def inside(folder: Path) -> list[Path]:
    """What a folder holds, in ascending order, hidden files apart; nothing if it is not there."""
    if not is_folder(folder):
        return []
    try:
        return sorted(item for item in folder.iterdir() if not item.name.startswith("."))
    except OSError as error:
        raise unreadable(folder, error) from error


# Unlike those of Path, these two are False, not an error, for a name too long or a folder forbidden.
def is_file(path: Path) -> bool:
    """Whether there is such a file."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether there is such a folder."""
    return os.path.isdir(path)  # noqa: PTH112


def is_stream(path: Path) -> bool:
    """Whether it is standard input, or there as neither a file nor a folder: a pipe, a device."""
    there = os.path.exists(path) and not (is_file(path) or is_folder(path))  # noqa: PTH110
    return path == STDIN or there


def _folder(folder: Path, endings: Iterable[str]) -> Source | None:
    """A folder of shards, all of the first format that it holds files of."""
    wanted = set(endings)
    kinds: dict[str, list[Path]] = {}
    for item in inside(folder):
        ending = split_name(item.name)[1]
        if ending in wanted and is_file(item):
            kinds.setdefault(ending, []).append(item)
    if not kinds:
        return None
    held = _first(folder.name, kinds)
    return Source(folder, folder.name, held.ending, held.parts)


def _first(stem: str, kinds: dict[str, list[Path]]) -> Source:
    ending = next((ending for ending in FORMATS if ending in kinds), min(kinds))
    parts = kinds[ending]
    whole = [part for part in parts if _SHARD.fullmatch(split_name(part.name)[0]) is None]
    if len(whole) == 1 or (whole and len({split_name(part.name)[0] for part in whole}) == 1):
        parts = whole[:1]  # a whole file goes before shards of its name, plain before gzip
    return Source(parts[0], stem, ending, tuple(parts))
