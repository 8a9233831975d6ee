"""Checkpoints of training: one safetensors file each, its facts and a checksum in the header.

    CHECKPOINTS/
      step-000000100.safetensors      what `Snapshot` holds after step 100
      step-000000200.safetensors

Each is written beside its place and renamed, so what stands there is whole. The last two are kept: should the disk cut
the newest short, the one before it is used.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

from askew._atomic import writing_file
from askew.errors import FormatError, OutputError
from askew.estimators.snapshots import Snapshot
from askew.formats._json import parse_json
from askew.formats.text import unreadable

__all__ = ["last_checkpoint", "read_checkpoint", "write_checkpoint"]

_FORMAT = "askew-checkpoint-1"
_NAME = re.compile(r"step-(\d{9,})\.safetensors")
_KEPT = 2


def write_checkpoint(snapshot: Snapshot, folder: str | PathLike[str]) -> Path:
    """Write a checkpoint, then remove those before the last two.

    Args:
        snapshot: what to write.
        folder: of the checkpoints of one run; made where it is missing.

    Returns:
        The file.

    Raises:
        OutputError: it cannot be written; those that stand there stay.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     path = write_checkpoint(Snapshot({"own.w": np.ones(2)}, {"step": 7}), home)
    ...     path.name, read_checkpoint(path).step
    ('step-000000007.safetensors', 7)
    """
    path = Path(folder) / f"step-{snapshot.step:09d}.safetensors"
    tensors = {name: np.ascontiguousarray(array) for name, array in snapshot.tensors.items()}
    try:
        facts = json.dumps(dict(snapshot.facts), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OutputError(
            f"its facts are not plain values ({error})", where=path, remedy="Keep plain values"
        ) from error
    head = {"format": _FORMAT, "facts": facts, "sha256": _checksum(tensors, facts)}
    with writing_file(path) as temporary:
        temporary.write_bytes(safetensors.numpy.save(tensors, metadata=head))
    older = [other for step, other in _listed(path.parent) if step < snapshot.step]
    for other in older[: -(_KEPT - 1)]:
        other.unlink(missing_ok=True)
    return path


def read_checkpoint(path: str | PathLike[str]) -> Snapshot:
    """Read a checkpoint.

    Raises:
        FormatError: it is missing, cut short, changed, or none.
    """
    place = Path(path)
    try:
        payload = place.read_bytes()
    except OSError as error:
        raise unreadable(place, error) from error
    try:
        tensors = dict(safetensors.numpy.load(payload))
    except safetensors.SafetensorError as error:
        raise _damaged(place, f"it is cut short or damaged ({error})") from error
    length = int.from_bytes(payload[:8], "little")
    head = json.loads(payload[8 : 8 + length]).get("__metadata__") or {}
    if head.get("format") != _FORMAT:
        raise _damaged(place, "it is no checkpoint, or of another version")
    if head.get("sha256") != _checksum(tensors, head.get("facts", "")):
        raise _damaged(place, "its checksum differs from the one it was written with")
    facts = parse_json(head["facts"], f"{place} (facts)")
    if not isinstance(facts, dict):
        raise _damaged(place, "its facts are no object")
    return Snapshot(tensors, facts)


def last_checkpoint(folder: str | PathLike[str]) -> tuple[Snapshot, tuple[FormatError, ...]] | None:
    """The newest good checkpoint of a folder, and what was wrong with newer ones; None where there is none.

    Raises:
        FormatError: there are some, and none is good; the error is the newest one's.
    """
    wrong: list[FormatError] = []
    for _, path in reversed(_listed(Path(folder))):
        try:
            return read_checkpoint(path), tuple(wrong)
        except FormatError as error:
            wrong.append(error)
    if wrong:
        raise wrong[0]
    return None


def _listed(folder: Path) -> list[tuple[int, Path]]:
    """Checkpoints by step, ascending."""
    if not folder.is_dir():
        return []
    found = [(_NAME.fullmatch(item.name), item) for item in folder.iterdir()]
    return sorted((int(match[1]), item) for match, item in found if match)


def _checksum(tensors: Mapping[str, npt.NDArray[Any]], facts: str) -> str:
    digest = hashlib.sha256(facts.encode())
    for name, array in sorted(tensors.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _damaged(path: Path, problem: str) -> FormatError:
    return FormatError(problem, where=path, remedy="Go on from the checkpoint before it, or begin anew")
