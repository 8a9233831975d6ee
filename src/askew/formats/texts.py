"""Texts of queries and documents: an id, perhaps a title, and a text in every row."""

from __future__ import annotations

from askew.errors import FormatError
from askew.formats._columns import shown
from askew.formats._json import SURROGATES, json_id, kind_of
from askew.formats._layout import ID_NAMES, Layout, Row, briefly
from askew.formats._sources import Source, read_rows
from askew.formats.text import PathLike

__all__ = ["LAYOUT", "read_texts"]

_EXPECTED = (
    'Expected a line such as {"_id": "d1", "title": "", "text": "..."} for each, '
    "or a table with the columns id, text and perhaps title"
)
_TEXT_NAMES = ("text", "contents", "content", "body", "passage", "document", "query", "question", "sentence")
#: The columns of a table of texts.
LAYOUT = Layout(
    roles={"id": ID_NAMES, "title": ("title",), "text": _TEXT_NAMES},
    needed=("id", "text"),
    positions={2: ("id", "text"), 3: ("id", "title", "text")},
    expected=_EXPECTED,
)


def read_texts(path: PathLike | Source) -> dict[str, str]:
    """Read a corpus or queries: id → text, in the order of the file.

    An id stands under ``_id``, ``id`` or a name such as ``doc_id``; a title that is not empty goes
    before the text, with a space between. Halves of surrogate pairs, which no encoder takes, become
    U+FFFD.

    Args:
        path: JSON lines, CSV, TSV, parquet or Arrow, as its ending says (JSON lines if it says
            nothing); text may be gzip. A folder of shards, or the name that shards share, is read
            as one.

    Raises:
        FormatError: a row has no id or no text, an id occurs twice, or there is no row.
        MissingExtraError: parquet or Arrow without pyarrow.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "corpus.jsonl"
    ...     _ = file.write_text('{"_id": "d1", "title": "Newts", "text": "They swim."}')
    ...     read_texts(file)
    {'d1': 'Newts They swim.'}
    """
    texts: dict[str, str] = {}
    places: dict[str, str] = {}
    for row in read_rows(path, LAYOUT, otherwise=".jsonl"):
        name, content = _record(row)
        if name in texts:
            raise FormatError(
                f"the id {shown(name)} stands in {briefly(places[name], row.where)} too",
                where=row.at("id"),
                remedy="Keep one row for each id",
            )
        texts[name], places[name] = content, row.where
    if not texts:
        where = path.path if isinstance(path, Source) else path
        raise FormatError("it holds no text", where=where, remedy=_EXPECTED)
    return texts


def _record(row: Row) -> tuple[str, str]:
    if "id" not in row.values:
        raise FormatError("the object has neither '_id' nor 'id'", where=row.where, remedy=_EXPECTED)
    if row.values.get("text") is None:
        problem = "the text is null" if "text" in row.columns else "the object has no 'text'"
        raise FormatError(problem, where=row.at("text"), remedy=_EXPECTED)
    title, text = _text(row, "title"), _text(row, "text")
    return json_id(row.values["id"], row.at("id")), f"{title} {text}".strip() if title else text


def _text(row: Row, role: str) -> str:
    value = row.values.get(role)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise FormatError(f"the '{role}' is {kind_of(value)}", where=row.at(role), remedy=_EXPECTED)
    return SURROGATES.sub("\ufffd", value)
