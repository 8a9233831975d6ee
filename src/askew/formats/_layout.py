"""What the columns of a table mean: found by their names, or by where they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from askew.errors import FormatError, counted
from askew.formats._columns import number, shown

__all__ = ["DOCUMENT_NAMES", "ID_NAMES", "QUERY_NAMES", "Layout", "Row", "briefly", "plain_name"]

QUERY_NAMES = (
    *("query-id", "queryid", "qid", "q-id", "topic-id", "topicid", "topic", "query"),
    *("query-text", "question", "search-term"),
)
DOCUMENT_NAMES = (
    *("corpus-id", "corpusid", "doc-id", "docid", "docno", "did", "document-id", "documentid", "passage-id", "pid"),
    *("corpus", "doc", "document", "passage"),
)
ID_NAMES = ("-id", "id", *QUERY_NAMES[:6], *DOCUMENT_NAMES[:10], "key", "name")


class Row(NamedTuple):
    """A row of a table.

    Attributes:
        where: file and line, or file and row.
        values: role → value, of the columns that were found.
        columns: role → column, where a message should name it.
    """

    where: str
    values: Mapping[str, Any]
    columns: Mapping[str, str] = MappingProxyType({})

    def at(self, role: str) -> str:
        """The place of a value, for a message."""
        return f"{self.where}, column {self.columns[role]!r}" if role in self.columns else self.where


@dataclass(frozen=True)
class Layout:
    """The columns that a reader looks for.

    Attributes:
        roles: role → the names that its column may have, best first, as `plain_name` writes them.
        needed: the roles without which a row means nothing.
        positions: for tables without a header, number of columns → their roles in order.
        last: a role that is found in the last of three columns if no name tells it.
        expected: what a remedy says.
        words: whether columns may be apart by spaces too.
        ids: names of which a table may have one a role: with two, nothing says which is meant.
    """

    roles: Mapping[str, tuple[str, ...]]
    needed: tuple[str, ...]
    positions: Mapping[int, tuple[str | None, ...]]
    expected: str
    last: str | None = None
    words: bool = False
    ids: tuple[str, ...] = ()

    def named(self, columns: Sequence[str]) -> dict[str, int]:
        """Role → position of its column, of the roles whose name is there.

        >>> Layout({"id": ("-id", "id")}, ("id",), {}, "").named(["text", "ID"])
        {'id': 1}
        """
        names = [plain_name(column) for column in columns]
        best = {role: next((name for name in wanted if name in names), None) for role, wanted in self.roles.items()}
        return {role: names.index(name) for role, name in best.items() if name is not None}

    def check(self, columns: Sequence[str], where: object) -> None:
        """Refuse columns of which two mean the same: one name twice, or two of `ids`.

        Raises:
            FormatError: there are such columns.
        """
        names = [plain_name(column) for column in columns]
        for role, place in self.named(columns).items():
            same = {names[place], *(name for name in self.ids if names[place] in self.ids and name in self.roles[role])}
            found = [column for column, name in zip(columns, names, strict=True) if name in same]
            if len(found) > 1:
                problem = f"the columns {shown(found[0])} and {shown(found[1])} both mean the {role}"
                raise FormatError(problem, where=where, remedy="Take one of them out, or rename it")

    def order(self, cells: Sequence[str], where: str) -> tuple[dict[str, int], bool]:
        """Role → column, and whether the cells are a header rather than a row.

        Raises:
            FormatError: no header, and a number of columns that means nothing; or two columns that mean the same.
        """
        found = self.named(cells)
        if all(role in found for role in self.needed):
            self.check(cells, where)
            other = len(cells) == 3 and self.last is not None and len(found) == 2
            return ({**found, str(self.last): 2} if other and 2 not in found.values() else found), True
        if len(cells) not in self.positions:
            raise FormatError(self._width(cells), where=where, remedy=self._advice(cells))
        placed = {role: at for at, role in enumerate(self.positions[len(cells)]) if role is not None}
        # One name alone tells a header of three columns or more, in which no number stands at the end.
        told = any(role in found and found[role] == at for role, at in placed.items())
        header = told and len(cells) > 2 and number(cells[-1]) is None
        if header:
            self.check(cells, where)
        return placed, header

    def _width(self, cells: Sequence[str]) -> str:
        able = [str(width) for width in sorted(self.positions)]
        listed = " or ".join([", ".join(able[:-1]), able[-1]] if len(able) > 1 else able)
        return f"the line has {counted(len(cells), 'column')}; without a header that names them there are {listed}"

    def _advice(self, cells: Sequence[str]) -> str:
        if len(cells) == 1 and "," in cells[0]:
            return "Separate the columns by tabs, not by commas, or call the file .csv"
        if len(cells) == 6 and self.words:
            return "Six columns are a run: read it as one (read_run)"
        return self.expected


def plain_name(column: str) -> str:
    """A column's name for comparison: lower case, hyphens, no quotes.

    >>> plain_name('"Query ID"'), plain_name("_id")
    ('query-id', '-id')
    """
    return column.strip().lower().strip("#\"'").replace("_", "-").replace(" ", "-")


def briefly(place: str, here: str) -> str:
    """The line or row of a place, without the file if that is the same: "line 3", "row 7".

    >>> briefly("a.tsv:3", "a.tsv:9"), briefly("a.parquet, row 7", "b.parquet, row 1")
    ('line 3', 'a.parquet, row 7')
    """
    for mark, word in ((", row ", "row"), (":", "line")):
        file, found, at = place.rpartition(mark)
        if found and here.startswith(f"{file}{mark}"):
            return f"{word} {at}"
    return place
