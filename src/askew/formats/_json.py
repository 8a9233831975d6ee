"""JSON values and the ids in them."""

from __future__ import annotations

import json
import re
from typing import Any

from askew.data import as_id
from askew.errors import FormatError
from askew.formats._columns import shown

__all__ = ["SURROGATES", "id_list", "json_id", "kind_of", "parse_json"]

#: Halves of surrogate pairs, which JSON can spell and UTF-8 cannot.
SURROGATES = re.compile(r"[\ud800-\udfff]")
_ODD = re.compile(r"[\t\r\n\0\ud800-\udfff]")


class _TwiceError(ValueError):
    """An object has one key twice, and nothing says which is meant."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(next(name for name in held if names.count(name) > 1))
    return held


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def parse_json(text: str, where: str) -> Any:
    """Any JSON value, NaN and infinities included.

    Raises:
        FormatError: it is not JSON, nests too deeply, has a key twice in an object, or has a number of too many digits.

    >>> parse_json("[1, null]", "here")
    [1, None]
    """
    try:
        return _DECODER.decode(text)
    except _TwiceError as error:
        problem = f"an object in it has the key {shown(str(error))} twice"
    except json.JSONDecodeError as error:
        problem = f"it is not JSON ({error.msg}, character {error.pos + 1})"
    except ValueError:  # Python reads integers of up to 4,300 digits
        problem = "a number in it has too many digits"
    except RecursionError:
        problem = "it is nested too deeply"
    raise FormatError(problem, where=where, remedy="Check what wrote the file")


def json_id(value: object, where: str) -> str:
    """An id that came from a file: a string or an integer.

    Raises:
        FormatError: it is something else, empty, or holds half a surrogate pair, a tab, a line
            ending or a NUL, which neither a run nor a list of ids could hold.

    >>> json_id(7, "here")
    '7'
    """
    if isinstance(value, float):
        raise FormatError(f"the id {value} is not an integer", where=where, remedy="Give ids as strings or integers")
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise FormatError(f"an id is {kind_of(value)}", where=where, remedy="Give ids as strings or integers")
    if value == "":
        raise FormatError("an id is empty", where=where, remedy="Give ids as strings or integers")
    name = as_id(value)
    if not _ODD.search(name):
        return name
    if SURROGATES.search(name):
        raise FormatError(
            f"the id {shown(name)} holds half a surrogate pair",
            where=where,
            remedy="Write ids that UTF-8 can hold",
        )
    raise FormatError(
        f"the id {shown(name)} holds a tab, a line ending or a NUL",
        where=where,
        remedy="Rename it: no list of ids and no run can hold it",
    )


def id_list(text: str, where: str) -> list[object]:
    """The ids of a JSON list.

    Raises:
        FormatError: it is no list, or something in it is no id.

    >>> id_list('["d1", 2]', "here")
    ['d1', '2']
    """
    values = parse_json(text, where)
    if not isinstance(values, list):
        raise FormatError("it is not a list of ids", where=where, remedy='Expected JSON such as ["d1", "d2"]')
    return [json_id(value, f"{where}, item {position}") for position, value in enumerate(values, start=1)]


def kind_of(value: object) -> str:
    """What a value is called in a message.

    >>> kind_of(None), kind_of([1])
    ('null', 'a list')
    """
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
