"""Vectors on disk, under a hash of what they were made from: one SQLite file an encoder.

A batch is one transaction in SQLite's write-ahead log, synced before `write` returns. A process that
is killed leaves every batch whole or not at all, and several processes may use a file at once.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from askew._blocks import blocks
from askew.errors import EncoderError, FormatError, OutputError

__all__ = ["VectorStore"]

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, cut INTEGER NOT NULL, vector BLOB NOT NULL);
"""
# Keys looked up by one statement: SQLite took 999 parameters at most before 3.32.
_KEYS = 500
# Bytes a page: vectors of 384 to 1,536 dimensions fill it better than SQLite's 4,096. Larger ones make every batch
# rewrite more: its keys are hashes, which touch as many pages of the index.
_PAGE = 16_384
# Seconds to wait for another process, whose transactions take milliseconds.
_PATIENCE = 60.0
_FLOAT = np.dtype("<f4")


class VectorStore:
    """Vectors of one encoder, by key.

    Args:
        folder: where the files of all encoders lie; it is made if it is not there.
        signature: what tells encoders apart; the file's name holds its hash and, for people, its
            ``encoder``, ``model`` and ``name``.

    Attributes:
        path: the file.

    Raises:
        OutputError: the folder or the file cannot be written to.
        FormatError: the file is damaged, or of a later version.
    """

    def __init__(self, folder: Path, signature: Mapping[str, Any]) -> None:
        text = json.dumps(signature, sort_keys=True)
        told = "-".join(str(signature[part]) for part in ("encoder", "model", "name") if part in signature)
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", told).strip("-.")[:60]
        self.path = folder / f"{plain}-{hashlib.sha256(text.encode()).hexdigest()[:16]}.sqlite3"
        with self._told():
            folder.mkdir(parents=True, exist_ok=True)
            # Autocommit, so that transactions are where they are written out.
            self._base = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
            try:
                self._prepare(text)
            except BaseException:
                self._base.close()
                raise

    def _prepare(self, signature: str) -> None:
        self._base.execute(f"PRAGMA page_size={_PAGE}")  # of a new file
        self._log_ahead()
        self._base.execute("PRAGMA synchronous=FULL")  # what is paid for outlives a power cut too
        version = self._base.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            raise FormatError(
                f"it is a cache of version {version}, and this askew reads version {_VERSION}",
                where=self.path,
                remedy="Name another --cache, or use the askew that wrote it",
            )
        with self._transaction():
            for statement in _SCHEMA.split(";"):
                self._base.execute(statement)
            self._note("signature", signature)
            self._base.execute(f"PRAGMA user_version={_VERSION}")

    def _log_ahead(self) -> None:
        """Switch to the write-ahead log, for which SQLite does not wait by itself if two processes begin at once."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self._base.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return

    @property
    def dim(self) -> int | None:
        """The dimension of its vectors; None before the first."""
        found = self._fact("dim")
        return None if found is None else int(found)

    @property
    def model(self) -> str | None:
        """What made them, as the first answer said."""
        return self._fact("model")

    def held(self, keys: Sequence[bytes]) -> dict[bytes, bool]:
        """The keys that have a vector, each with whether its text was cut off."""
        with self._told():
            return {key: bool(cut) for key, cut in self._select("key, cut", keys)}

    def read(self, keys: Sequence[bytes]) -> npt.NDArray[np.float32]:
        """(n, d) vectors of keys that are held, in their order.

        Raises:
            FormatError: one of them is not there, or is damaged.
        """
        dim = self.dim or 0
        with self._told():
            found = dict(self._select("key, vector", keys))
        if any(len(found.get(key, b"")) != dim * _FLOAT.itemsize for key in keys):
            raise FormatError("a vector in it is missing or damaged", where=self.path, remedy=_REMOVE)
        joined = b"".join(found[key] for key in keys)
        return np.frombuffer(joined, dtype=_FLOAT).reshape(len(keys), dim).astype(np.float32)

    def write(
        self,
        keys: Sequence[bytes],
        vectors: npt.NDArray[np.float32],
        cut: npt.NDArray[np.bool_],
        *,
        model: str | None = None,
    ) -> None:
        """Keep vectors, (n, d), all or none; a key that is held already keeps its own.

        Raises:
            EncoderError: another process keeps vectors of another dimension here, or of another model.
            OutputError: they cannot be written.
        """
        rows = np.ascontiguousarray(vectors, dtype=_FLOAT)
        records = [(key, int(short), row.tobytes()) for key, short, row in zip(keys, cut, rows, strict=True)]
        with self._told(), self._transaction():
            for name, value in (("dim", str(rows.shape[1])), ("model", model)):
                if value is not None and (known := self._note(name, value)) != value:
                    raise EncoderError(
                        f"its vectors have the {name} {known}, and new ones {value}",
                        where=self.path,
                        remedy="Two models answer under one name: find out which, or name another --cache",
                    )
            self._base.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?, ?)", records)

    def close(self) -> None:
        """Close the file; the write-ahead log is merged into it if nobody else has it open."""
        self._base.close()

    def _fact(self, name: str) -> str | None:
        with self._told():
            found = self._base.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def _note(self, name: str, value: str) -> str | None:
        """Note a fact unless it is known; what is known."""
        self._base.execute("INSERT OR IGNORE INTO facts VALUES (?, ?)", (name, value))
        return self._fact(name)

    def _select(self, columns: str, keys: Sequence[bytes]) -> Iterator[tuple[bytes, Any]]:
        for part in blocks(len(keys), _KEYS):
            marks = ",".join("?" * len(keys[part]))
            statement = f"SELECT {columns} FROM vectors WHERE key IN ({marks})"  # noqa: S608 - names and marks of ours
            yield from self._base.execute(statement, keys[part])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._base.execute("BEGIN IMMEDIATE")  # the lock at once: one taken later could not wait for another's
        try:
            yield
        except BaseException:
            self._base.execute("ROLLBACK")
            raise
        self._base.execute("COMMIT")

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Give what SQLite and the system say as errors of ours."""
        try:
            yield
        except sqlite3.ProgrammingError:  # ours, such as another thread: no fault of the file
            raise
        except (sqlite3.OperationalError, OSError) as error:
            raise OutputError(
                f"the cache cannot be used ({getattr(error, 'strerror', None) or error})",
                where=self.path,
                remedy="Check the path, its permissions and the free space, or name another --cache on a local disk",
            ) from error
        except sqlite3.DatabaseError as error:
            raise FormatError(f"the cache is damaged ({error})", where=self.path, remedy=_REMOVE) from error


_REMOVE = "Restore it from a copy, or remove it: what it held is then asked for again"
