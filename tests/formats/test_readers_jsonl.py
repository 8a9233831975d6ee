"""Texts in JSON lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.errors import FormatError
from askew.formats import read_texts

GOOD = {
    "beir": ('{"_id": "d1", "title": "", "text": "a"}', {"d1": "a"}),
    "title": ('{"_id": "d1", "title": "T", "text": "a"}', {"d1": "T a"}),
    "title-alone": ('{"_id": "d1", "title": "T", "text": ""}', {"d1": "T"}),
    "title-null": ('{"_id": "d1", "title": null, "text": "a"}', {"d1": "a"}),
    "empty-text": ('{"_id": "d1", "text": ""}', {"d1": ""}),
    "text-is-kept-as-it-is": ('{"_id": "d1", "text": " a\\n b "}', {"d1": " a\n b "}),
    "id": ('{"id": "d1", "text": "a"}', {"d1": "a"}),
    "_id-before-id": ('{"id": "x", "_id": "d1", "text": "a"}', {"d1": "a"}),
    "integer-id": ('{"_id": 7, "text": "a"}', {"7": "a"}),
    "zero-id": ('{"_id": 0, "text": "a"}', {"0": "a"}),
    "order": ('{"_id": "b", "text": "1"}\n\n{"_id": "a", "text": "2"}', {"b": "1", "a": "2"}),
    "more-keys": ('{"_id": "d", "text": "a", "metadata": {"n": [NaN, Infinity, 1e999]}}', {"d": "a"}),
    "pair-of-surrogates": ('{"_id": "d", "text": "\\ud83e\\udd8e"}', {"d": "🦎"}),
    "lone-surrogate-in-text": ('{"_id": "d", "text": "a\\ud83e b"}', {"d": "a\ufffd b"}),
    "nul-in-text": ('{"_id": "d", "text": "a\\u0000"}', {"d": "a\0"}),
    "line-separator-in-text": ('{"_id": "d", "text": "a\u2028b"}', {"d": "a\u2028b"}),
}


@pytest.mark.parametrize(("text", "expected"), GOOD.values(), ids=GOOD.keys())
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_read(tmp_path: Path, text: str, expected: dict[str, str], start: bytes) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_bytes(start + text.encode())
    texts = read_texts(file)
    assert texts == expected
    assert list(texts) == list(expected)
    for value in texts.values():
        value.encode()


BAD = {
    "not-json": ("{'_id': 'd'}", "not JSON"),
    "cut": ('{"_id": "d", "text": "a', "not JSON"),
    "two-objects": ('{"_id": "d", "text": "a"} {}', "not JSON"),
    "control-character": ('{"_id": "d", "text": "a\tb"}', "not JSON"),
    "list": ('["d", "a"]', "is a list, not an object"),
    "string": ('"d"', "is a string"),
    "null": ("null", "is null"),
    "nan": ("NaN", "is a number"),
    "number": ("12", "is a number"),
    "true": ("true", "is true or false"),
    "no-id": ('{"text": "a"}', "neither '_id' nor 'id'"),
    "null-id": ('{"_id": null, "text": "a"}', "an id is null"),
    "empty-id": ('{"_id": "", "text": "a"}', "an id is empty"),
    "float-id": ('{"_id": 1.5, "text": "a"}', "the id 1.5 is not an integer"),
    "true-id": ('{"_id": true, "text": "a"}', "an id is true or false"),
    "list-id": ('{"_id": ["d"], "text": "a"}', "an id is a list"),
    "deep-id": ('{"_id": ' + "[" * 500 + "]" * 500 + ', "text": "a"}', "an id is a list"),
    "lone-surrogate-id": ('{"_id": "d\\ud800", "text": "a"}', "half a surrogate pair"),
    "no-text": ('{"_id": "d"}', "has no 'text'"),
    "null-text": ('{"_id": "d", "text": null}', "has no 'text'"),
    "number-text": ('{"_id": "d", "text": 3}', "the 'text' is a number"),
    "list-title": ('{"_id": "d", "title": [], "text": "a"}', "the 'title' is a list"),
    "huge-integer": ('{"_id": ' + "9" * 5000 + ', "text": "a"}', "too many digits"),
    "deep-lists": ("[" * 200_000, "nested too deeply"),
    "deep-objects": ('{"a":' * 200_000, "nested too deeply"),
    "same-id": ('{"_id": "z", "text": "b"}', "stands in line 1 too"),
    "same-id-as-number": ('{"_id": 7, "text": "b"}', "stands in line 3 too"),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_refuse(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "corpus.jsonl"
    file.write_text('{"_id": "z", "text": "a"}\n\n{"_id": "7", "text": "a"}\r\n' + text)
    with pytest.raises(FormatError) as caught:
        read_texts(file)
    assert caught.value.where == f"{file}:4"
    assert words in str(caught.value)
    assert caught.value.remedy


def test_empty(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("\n \n")
    with pytest.raises(FormatError, match="holds no text"):
        read_texts(tmp_path / "a.jsonl")
