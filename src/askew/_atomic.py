"""Write, then rename: what stands at a path is the old thing whole, or the new thing whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from askew.errors import OutputError

__all__ = ["writing_file", "writing_folder"]


@contextmanager
def writing_file(path: Path) -> Iterator[Path]:
    """Give a temporary path beside `path`; move it there if the block ends without an error.

    Raises:
        OutputError: the place cannot be written to. Nothing is left behind.
    """
    path = _followed(path)
    with _staging(path) as staging:
        temporary = staging / path.name
        yield temporary
        _sync(temporary)
        temporary.replace(path)


@contextmanager
def writing_folder(path: Path) -> Iterator[Path]:
    """Give a temporary folder beside `path`; put it in the place of `path` at the end.

    An existing folder there is moved aside before and deleted after, so a crash leaves the old
    folder or the new one (in the instant between two renames, the old one as ``.NAME.*.old``
    beside its place).

    Raises:
        OutputError: the place cannot be written to, or is a file. Nothing is left behind.
    """
    path = _followed(path)
    with _staging(path) as staging:
        if path.exists() and not path.is_dir():
            raise OutputError("a file stands where a folder should go", where=path, remedy="Name another folder")
        fresh = staging / "new"
        fresh.mkdir()
        yield fresh
        for item in fresh.rglob("*"):
            if item.is_file():
                _sync(item)
        if path.exists():
            aside = staging.with_name(staging.name + ".old")
            path.replace(aside)
            try:
                fresh.replace(path)
            except BaseException:
                aside.replace(path)
                raise
            shutil.rmtree(aside, ignore_errors=True)
        else:
            fresh.replace(path)


def _followed(path: Path) -> Path:
    """Where a link leads: what it points to is replaced, and the link stays."""
    try:
        return path.resolve() if path.is_symlink() else path
    except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a name too long, a NUL
        raise _unwritable(path, error) from error


@contextmanager
def _staging(path: Path) -> Iterator[Path]:
    """A temporary folder on the same file system as `path`, gone at the end whatever happens."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # A name may be as long as a file system allows; the temporary one must not be longer.
        staging = Path(tempfile.mkdtemp(prefix=f".{path.name[:32]}.", dir=path.parent))
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unwritable(path, error) from error
    try:
        yield staging
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _unwritable(path: Path, error: Exception) -> OutputError:
    return OutputError(
        f"it cannot be written ({getattr(error, 'strerror', None) or error})",
        where=path,
        remedy="Check the path, its permissions and the free space, or name another place",
    )


def _sync(path: Path) -> None:
    with path.open("rb") as handle:
        os.fsync(handle.fileno())
