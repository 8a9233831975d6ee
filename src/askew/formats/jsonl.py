"""Texts of queries and documents: BEIR's JSON lines."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from askew.data import as_id
from askew.errors import FormatError
from askew.formats._columns import shown
from askew.formats.text import PathLike, read_lines

__all__ = ["json_id", "parse_json", "read_texts"]

_EXPECTED = 'Expected an object such as {"_id": "d1", "title": "", "text": "..."} in every line'
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def read_texts(path: PathLike) -> dict[str, str]:
    """Read a corpus or queries: id → text, in the order of the file.

    An id stands under ``_id`` or ``id``; a title that is not empty goes before the text, with a
    space between. Halves of surrogate pairs, which no encoder takes, become U+FFFD.

    Args:
        path: a file of JSON lines, gzip or not.

    Raises:
        FormatError: a line is not a JSON object with an id and a text, an id occurs twice, or there
            is no line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "corpus.jsonl"
    ...     _ = file.write_text('{"_id": "d1", "title": "Newts", "text": "They swim."}')
    ...     read_texts(file)
    {'d1': 'Newts They swim.'}
    """
    path = Path(path)
    texts: dict[str, str] = {}
    lines: dict[str, int] = {}
    for line, text in read_lines(path):
        where = f"{path}:{line}"
        name, content = _record(parse_json(text, where), where)
        if name in texts:
            raise FormatError(
                f"the id {shown(name)} stands in line {lines[name]} too",
                where=where,
                remedy="Keep one line for each id",
            )
        texts[name], lines[name] = content, line
    if not texts:
        raise FormatError("it holds no text", where=path, remedy=_EXPECTED)
    return texts


def parse_json(text: str, where: str) -> Any:
    """Any JSON value, NaN and infinities included.

    Raises:
        FormatError: it is not JSON, nests too deeply, or has a number of too many digits.

    >>> parse_json("[1, null]", "here")
    [1, None]
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"it is not JSON ({error.msg}, character {error.pos + 1})"
    except ValueError:  # Python reads integers of up to 4,300 digits
        problem = "a number in it has too many digits"
    except RecursionError:
        problem = "it is nested too deeply"
    raise FormatError(problem, where=where, remedy="Check what wrote the file")


def json_id(value: object, where: str) -> str:
    """An id that came from JSON: a string or an integer.

    Raises:
        FormatError: it is something else, empty, or holds half a surrogate pair.

    >>> json_id(7, "here")
    '7'
    """
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise FormatError(f"an id is {_kind(value)}", where=where, remedy="Give ids as strings or integers")
    if value == "":
        raise FormatError("an id is empty", where=where, remedy="Give ids as strings or integers")
    name = as_id(value)
    if _SURROGATES.search(name):
        raise FormatError(
            f"the id {shown(name)} holds half a surrogate pair",
            where=where,
            remedy="Write ids that UTF-8 can hold",
        )
    return name


def _record(record: object, where: str) -> tuple[str, str]:
    if not isinstance(record, dict):
        raise FormatError(f"the line is {_kind(record)}, not an object", where=where, remedy=_EXPECTED)
    key = "_id" if "_id" in record else "id"
    if key not in record:
        raise FormatError("the object has neither '_id' nor 'id'", where=where, remedy=_EXPECTED)
    if record.get("text") is None:
        raise FormatError("the object has no 'text'", where=where, remedy=_EXPECTED)
    title, text = _text(record, "title", where), _text(record, "text", where)
    return json_id(record[key], where), f"{title} {text}".strip() if title else text


def _text(record: dict[str, Any], key: str, where: str) -> str:
    value = record.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError(f"the '{key}' is {_kind(value)}", where=where, remedy=_EXPECTED)
    return _SURROGATES.sub("\ufffd", value)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), type(value).__name__)
