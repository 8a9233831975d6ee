"""Text files, opened in the one way that every reader here shares.

UTF-8 with or without a byte-order mark; lines that end in LF, CRLF or CR (and nowhere else: a form
feed or U+2028 is part of its line); gzip recognised by its first bytes, whatever the file is called.
The path ``-`` is standard input.
"""

from __future__ import annotations

import gzip
import io
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, TypeAlias

from askew._atomic import writing_file
from askew.errors import FormatError

__all__ = [
    "LONGEST_LINE",
    "LONGEST_TEXT",
    "STDIN",
    "PathLike",
    "open_bytes",
    "read_lines",
    "read_whole",
    "unreadable",
    "write_lines",
]

PathLike: TypeAlias = "str | os.PathLike[str]"

#: Characters that one line may hold. Past this the file is not made of lines, and memory would be its size.
LONGEST_LINE = 16 * 2**20
#: Characters that a file read whole may hold, such as a JSON list of ids.
LONGEST_TEXT = 2**30

#: The path that stands for standard input.
STDIN = Path("-")

_PART = 2**20
_GZIP_MAGIC = b"\x1f\x8b"
# Bytes that are not UTF-8 arrive as U+DC80..U+DCFF ("surrogateescape"), which UTF-8 itself never yields.
_ESCAPE = 0xDC00


def read_lines(path: PathLike, *, blank: bool = False) -> Iterator[tuple[int, str]]:
    r"""The lines of a text file that are not blank, with their numbers from 1.

    Args:
        path: a text file, gzip or not; ``-`` is standard input.
        blank: blank lines too.

    Yields:
        (line number, text without its line ending).

    Raises:
        FormatError: the file cannot be read, is not UTF-8, is damaged gzip, or has a line of more
            than `LONGEST_LINE` characters.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "a.txt"
    ...     _ = file.write_bytes(b"one\r\n\r\ntwo")
    ...     list(read_lines(file))
    [(1, 'one'), (3, 'two')]
    """
    path = Path(path)
    number = 0
    with _reading(path, after=lambda: f" after line {number}" if number else "") as stream:
        while line := stream.readline(LONGEST_LINE + 1):
            number += 1
            text = line.removesuffix("\n")
            if number == 1:
                text = text.removeprefix("\ufeff")
            _check_line(text, path, number)
            if blank or text.strip():
                yield number, text


def read_whole(path: PathLike) -> str:
    """The whole of a text file, without its byte-order mark.

    Raises:
        FormatError: as `read_lines`, for more than `LONGEST_TEXT` characters.
    """
    path = Path(path)
    with _reading(path) as stream:
        parts, length = [], 0
        while part := stream.read(_PART):  # in parts: one read of the whole limit would allocate it
            parts.append(part)
            length += len(part)
            if length > LONGEST_TEXT:
                problem = f"it holds more than {LONGEST_TEXT:,} characters"
                raise FormatError(problem, where=path, remedy="Split the file")
    text = "".join(parts).removeprefix("\ufeff")
    _check_utf8(text, path, 1)
    return text


def write_lines(path: PathLike, lines: Iterable[str]) -> None:
    """Write lines as UTF-8 with LF, atomically; gzip if the name ends in ``.gz``.

    The same lines give the same bytes: gzip's time stamp is left at zero.

    Raises:
        OutputError: the place cannot be written to.
    """
    path = Path(path)
    with writing_file(path) as temporary, temporary.open("wb") as raw:
        if path.suffix.lower() == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                packed.writelines(f"{line}\n".encode() for line in lines)
        else:
            raw.writelines(f"{line}\n".encode() for line in lines)


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or standard input, for reading bytes; what goes wrong with it is a FormatError.

    Raises:
        FormatError: the file is missing, a folder, forbidden, or fails while it is read.
    """
    try:
        handle = io.BufferedReader(_stdin()) if path == STDIN else path.open("rb")
    except (OSError, ValueError) as error:  # ValueError: the path itself holds a NUL character
        raise unreadable(path, error) from error
    try:
        with handle:
            yield handle
    except OSError as error:
        raise unreadable(path, error) from error


def unreadable(path: Path, error: Exception) -> FormatError:
    """The FormatError for a file that the system does not let us read."""
    if isinstance(error, FileNotFoundError):
        return FormatError("there is no such file", where=path, remedy="Check the path")
    if isinstance(error, IsADirectoryError):
        return FormatError("it is a folder, not a file", where=path, remedy="Name a file in it")
    reason = getattr(error, "strerror", None) or error
    return FormatError(f"it cannot be read ({reason})", where=path, remedy="Check path and permissions")


def _stdin() -> io.RawIOBase:
    """Standard input as bytes, under a second handle: closing that leaves the process its own."""
    if sys.stdin is None:
        raise OSError(0, "there is no standard input")
    try:
        return io.FileIO(os.dup(sys.stdin.fileno()))
    except io.UnsupportedOperation:  # it was replaced by something in memory
        return io.BytesIO(sys.stdin.buffer.read())  # type: ignore[return-value]  # reads as one


@contextmanager
def _reading(path: Path, after: Callable[[], str] = str) -> Iterator[TextIO]:
    """A text file, opened; `after` says how far it has been read, for a message."""
    with open_bytes(path) as raw:
        packed = path.suffix.lower() == ".gz" or raw.peek(2)[:2] == _GZIP_MAGIC  # type: ignore[attr-defined]  # buffered
        binary = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            with io.TextIOWrapper(binary, encoding="utf-8", errors="surrogateescape", newline=None) as stream:
                yield stream
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(
                f"its gzip data are damaged or cut short{after()} ({error})",
                where=path,
                remedy="Copy or compress the file again",
            ) from error


def _check_line(text: str, path: Path, number: int) -> None:
    if len(text) > LONGEST_LINE:
        raise FormatError(
            f"the line holds more than {LONGEST_LINE:,} characters",
            where=f"{path}:{number}",
            remedy="Check that this is a text file of one item a line",
        )
    _check_utf8(text, path, number)
    if "\0" in text:
        raise FormatError(
            "the line holds a NUL character, so the file is not UTF-8 text",
            where=f"{path}:{number}",
            remedy="If it is UTF-16, save it as UTF-8",
        )


def _check_utf8(text: str, path: Path, number: int) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        line = number + text.count("\n", 0, error.start)
        byte = ord(text[error.start]) - _ESCAPE
        raise FormatError(
            f"the text is not UTF-8 (byte 0x{byte:02x})",
            where=f"{path}:{line}",
            remedy="Save the file as UTF-8",
        ) from None
