"""Cells of a text table: how they are split, read as numbers, shown, and what ids they can hold."""

from __future__ import annotations

import re
from collections.abc import Iterable

from askew.errors import OutputError

__all__ = ["check_names", "number", "shown", "split_cells", "split_words"]

_SHOWN = 60
_BLANKS = re.compile("[ \t]+")


def split_cells(text: str) -> list[str]:
    r"""The columns of a line: at tabs if it has one, else at runs of spaces.

    Spaces around a cell between tabs are dropped; those inside belong to it.

    >>> split_cells("q 1\td 2 \t1"), split_cells("q1  d2 1 ")
    (['q 1', 'd 2', '1'], ['q1', 'd2', '1'])
    """
    if "\t" in text:
        return [cell.strip(" ") for cell in text.split("\t")]
    return split_words(text)


def split_words(text: str) -> list[str]:
    r"""The columns of a line whose cells hold neither spaces nor tabs.

    >>> split_words(" q1 Q0\td2  1")
    ['q1', 'Q0', 'd2', '1']
    """
    return [word for word in _BLANKS.split(text) if word]


def number(cell: str) -> float | None:
    """A cell as a number, infinite or NaN included; None if it is not one.

    >>> number("1e-3"), number("one"), number("1_000")
    (0.001, None, None)
    """
    if not cell.isascii() or "_" in cell:  # float() takes both; no file of numbers means them as numbers
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def shown(cell: str) -> str:
    """A cell for a message: quoted, and cut if it is long.

    >>> shown("a"), len(shown("a" * 1000))
    ("'a'", 63)
    """
    return repr(cell if len(cell) <= _SHOWN else cell[:_SHOWN] + "…")


def check_names(names: Iterable[str], where: object, forbidden: re.Pattern[str], why: str) -> None:
    """Refuse ids that a text file would not give back as they were.

    Args:
        names: ids.
        where: the file that they are to be written to.
        forbidden: what no id may match, beside what no UTF-8 line can hold.
        why: what the pattern stands for, as in "TREC files cannot hold whitespace in an id".

    Raises:
        OutputError: some id is one of these.
    """
    for name in names:
        if forbidden.search(name):
            raise _unwritable(name, where, why)
        if name.startswith("\ufeff") or not _is_text(name):
            raise _unwritable(name, where, "it holds a byte-order mark or half a surrogate pair")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unwritable(name: str, where: object, why: str) -> OutputError:
    return OutputError(f"the id {shown(name)} cannot be written: {why}", where=where, remedy="Rename it")
