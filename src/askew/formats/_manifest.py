"""Folders that askew writes: a JSON manifest that says what they are, and the tensors that it vouches for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy.typing as npt
import safetensors
import safetensors.numpy

from askew._version import __version__
from askew.errors import ArtefactError, FormatError, OutputError

__all__ = ["MANIFEST", "FolderKind", "Tensors"]

MANIFEST = "manifest.json"

Tensors = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class FolderKind:
    """One kind of such folders, and how it is read and guarded.

    Attributes:
        format: what a manifest calls it.
        version: that is written and read.
        noun: what messages call it, such as ``"an adapter"``.
        lacking: what they say where there is none.
        writer: what writes one.
        again: how to have it written again.
        tensors: the safetensors file that the manifest has the checksum of.
        checksum: under which name.
        others: what else may stand in the folder.
        error: raised for one that cannot be read.
    """

    format: str
    version: int
    noun: str
    lacking: str
    writer: str
    again: str
    tensors: str
    checksum: str = "tensors_sha256"
    others: frozenset[str] = frozenset()
    error: type[ArtefactError | FormatError] = ArtefactError

    def head(self, payload: bytes) -> dict[str, Any]:
        """What every manifest of this kind holds, where these are the bytes of its tensors."""
        return {
            "format": self.format,
            "format_version": self.version,
            "askew": __version__,
            self.checksum: hashlib.sha256(payload).hexdigest(),
        }

    def read(self, folder: Path) -> dict[str, Any]:
        """The manifest of a folder; raises this kind's error for none, or one that is damaged or of another kind."""
        path, named = folder / MANIFEST, f"Name a folder that {self.writer} wrote"
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise self.error(f"{self.lacking} ({error.strerror or error})", where=path, remedy=named) from error
        except (ValueError, RecursionError) as error:
            raise self.error(f"the manifest is not JSON ({error})", where=path, remedy=self.again) from error
        if not isinstance(manifest, dict) or manifest.get("format") != self.format:
            raise self.error(f"this is not the manifest of {self.noun}", where=path, remedy=named)
        if manifest.get("format_version") != self.version:
            raise self.error(
                f"it has format {manifest.get('format_version')}, this askew ({__version__}) reads {self.version}",
                where=path,
                remedy=f"Upgrade askew, or use this one: {self.again[0].lower()}{self.again[1:]}",
            )
        return manifest

    def read_tensors(self, folder: Path, manifest: Mapping[str, Any]) -> Tensors:
        """The tensors of a folder; raises this kind's error for those that its manifest does not vouch for."""
        path = folder / self.tensors
        try:
            payload = path.read_bytes()
        except OSError as error:
            raise self.error(f"it cannot be read ({error.strerror or error})", where=path, remedy=self.again) from error
        if hashlib.sha256(payload).hexdigest() != manifest.get(self.checksum):
            raise self.error(
                "the file is cut short or not the one that was saved with the manifest (its checksum differs)",
                where=path,
                remedy=f"Copy the whole folder, or {self.again[0].lower()}{self.again[1:]}",
            )
        try:
            return dict(safetensors.numpy.load(payload))
        except safetensors.SafetensorError as error:
            raise self.error(f"it is not a safetensors file ({error})", where=path, remedy=self.again) from error

    def refuse_foreign(self, folder: Path) -> None:
        """Raise OutputError unless such a folder, or nothing at all, stands at a place to write to."""
        try:
            names = {item.name for item in folder.iterdir()} if folder.is_dir() else set()
            known = {MANIFEST, self.tensors, *self.others}
            ours = not names or (MANIFEST in names and names <= known and self._may_be_ours(folder))
        except OSError as error:
            raise OutputError(
                f"it cannot be looked into ({error.strerror or error})", where=folder, remedy="Name another folder"
            ) from error
        if not ours:
            raise OutputError(
                f"the folder holds other things than {self.noun}",
                where=folder,
                remedy=f"Name a new folder, or one that holds {self.noun} to replace",
            )

    def claims(self, folder: Path) -> bool:
        """Whether a folder's manifest says that it is of this kind."""
        try:
            manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(manifest, dict) and manifest.get("format") == self.format

    def _may_be_ours(self, folder: Path) -> bool:
        """Whether the manifest is of this kind, or so damaged that nobody can say."""
        try:
            json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        except (ValueError, RecursionError):
            return (folder / self.tensors).is_file()
        return self.claims(folder)
