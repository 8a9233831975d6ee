"""The one way in which text files are opened."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path

import pytest

from askew.errors import FormatError, OutputError
from askew.formats import text as text_module
from askew.formats.text import LONGEST_LINE, read_lines, read_whole, write_lines

ENDINGS = {
    "lf": (b"a\nb\n", [(1, "a"), (2, "b")]),
    "crlf": (b"a\r\nb\r\n", [(1, "a"), (2, "b")]),
    "cr": (b"a\rb\r", [(1, "a"), (2, "b")]),
    "mixed": (b"a\r\nb\nc\rd", [(1, "a"), (2, "b"), (3, "c"), (4, "d")]),
    "no-last-ending": (b"a\nb", [(1, "a"), (2, "b")]),
    "bom": (b"\xef\xbb\xbfa\nb", [(1, "a"), (2, "b")]),
    "bom-alone": (b"\xef\xbb\xbf", []),
    "bom-inside-is-text": (b"a\n\xef\xbb\xbfb", [(1, "a"), (2, "\ufeffb")]),
    "blank-lines-count": (b"\n \t\na\n\n\nb\n", [(3, "a"), (6, "b")]),
    "other-separators-are-text": (
        "a\x0bb\x0cc\u2028d\x85e\n".encode(),
        [(1, "a\x0bb\x0cc\u2028d\x85e")],
    ),
    "unicode": ("café 日本 🦎\n".encode(), [(1, "café 日本 🦎")]),
    "empty": (b"", []),
}


@pytest.mark.parametrize(("raw", "expected"), ENDINGS.values(), ids=ENDINGS.keys())
@pytest.mark.parametrize("packed", ["plain", "gzip", "gzip-without-its-name"])
def test_lines_are_the_same_however_they_end(
    tmp_path: Path, raw: bytes, expected: list[tuple[int, str]], packed: str
) -> None:
    file = tmp_path / ("a.txt.gz" if packed == "gzip" else "a.txt")
    file.write_bytes(raw if packed == "plain" else gzip.compress(raw))
    assert list(read_lines(file)) == expected
    assert list(read_lines(str(file))) == expected


BAD_BYTES = {
    "latin-1": (b"one\ntwo caf\xe9\n", 2, "0xe9"),
    "utf-16": ("q1 d1".encode("utf-16"), 1, "UTF-8"),
    "utf-16-without-bom": ("q1 d1".encode("utf-16-le"), 1, "NUL"),
    "surrogate": (b"\n\n\xed\xa0\x80", 3, "0xed"),
    "cut-character": ("a\nb é".encode()[:-1], 2, "0xc3"),
    "nul": (b"a\nb\0\n", 2, "NUL"),
}


@pytest.mark.parametrize(("raw", "line", "words"), BAD_BYTES.values(), ids=BAD_BYTES.keys())
def test_what_is_not_utf8_is_named_with_its_line(tmp_path: Path, raw: bytes, line: int, words: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(raw)
    with pytest.raises(FormatError) as caught:
        list(read_lines(file))
    assert caught.value.where == f"{file}:{line}"
    assert words in str(caught.value)


def test_a_whole_file_names_the_line_too(tmp_path: Path) -> None:
    file = tmp_path / "ids.json"
    file.write_bytes(b'[\n"a",\n"\xff"]')
    with pytest.raises(FormatError) as caught:
        read_whole(file)
    assert caught.value.where == f"{file}:3"


def test_a_whole_file_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "ids.json"
    file.write_text("12345")
    monkeypatch.setattr(text_module, "LONGEST_TEXT", 5)
    assert read_whole(file) == "12345"
    file.write_text("123456")
    with pytest.raises(FormatError, match="more than 5 characters"):
        read_whole(file)


def test_the_longest_line_is_read_and_one_more_character_is_not(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"x\n" + b"a" * LONGEST_LINE + b"\n")
    assert [len(line) for _, line in read_lines(file)] == [1, LONGEST_LINE]
    file.write_bytes(b"x\n" + b"a" * (LONGEST_LINE + 1))
    with pytest.raises(FormatError, match="more than") as caught:
        list(read_lines(file))
    assert caught.value.where == f"{file}:2"


def test_a_gzip_bomb_of_one_line_stops_at_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "a.gz"
    file.write_bytes(gzip.compress(bytes([97]) * (4 * LONGEST_LINE), compresslevel=1))
    with pytest.raises(FormatError, match="more than"):
        list(read_lines(file))


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file") as caught:
        list(read_lines(tmp_path / "none.tsv"))
    assert caught.value.where == str(tmp_path / "none.tsv")


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is a folder"):
        list(read_lines(tmp_path))


@pytest.mark.parametrize("name", ["a\0b", "x" * 5000, "\ud800"], ids=["nul", "too-long", "surrogate"])
def test_a_path_that_no_file_can_have(name: str) -> None:
    with pytest.raises(FormatError):
        list(read_lines(name))


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> io.BytesIO:
        raise PermissionError(13, os.strerror(13))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(FormatError, match=r"Permission denied.*permissions"):
        list(read_lines(tmp_path / "a.txt"))


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_that_fails_while_it_is_read() -> None:
    with pytest.raises(FormatError, match=r"/proc/self/mem: it cannot be read"):
        list(read_lines("/proc/self/mem"))


DAMAGED = {
    "cut": gzip.compress(os.urandom(20_000))[:-4000],
    "cut-header": gzip.compress(b"abc")[:5],
    "wrong-bits": gzip.compress(b"abc" * 100)[:12] + b"\xff" * 40,
    "wrong-checksum": gzip.compress(b"abc" * 100)[:-8] + b"\0" * 8,
    "rubbish-after": gzip.compress(b"abc\n") + b"rubbish",
    "not-gzip": b"a\tb\t1\n",
}


@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_gzip(tmp_path: Path, raw: bytes) -> None:
    file = tmp_path / "a.tsv.gz"
    file.write_bytes(raw)
    with pytest.raises(FormatError) as caught:
        list(read_lines(file))
    assert str(file) in str(caught.value)


def test_written_gzip_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    for name in ("one.gz", "two.gz"):
        write_lines(tmp_path / name, ["a", "é"])
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()
    assert list(read_lines(tmp_path / "one.gz")) == [(1, "a"), (2, "é")]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    write_lines(file, ["old"])

    def lines() -> object:
        yield "new"
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        write_lines(file, lines())  # type: ignore[arg-type]  # a generator, for its failure
    assert file.read_text() == "old\n"
    assert [item.name for item in tmp_path.iterdir()] == ["a.txt"]


def test_damaged_gzip_says_how_far_it_was_read(tmp_path: Path) -> None:
    file = tmp_path / "a.txt.gz"
    lines = b"".join(b"%d %s\n" % (number, os.urandom(50).hex().encode()) for number in range(5000))
    file.write_bytes(gzip.compress(lines)[:-2000])
    with pytest.raises(FormatError, match=r"a\.txt\.gz: its gzip data are damaged or cut short after line \d{4} \("):
        list(read_lines(file))
