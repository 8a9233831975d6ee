"""Choices in a table: ``split  query-id  positives  negatives``, several ids in a cell parted by ``|``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from askew.errors import FormatError
from askew.evaluation import Choices
from askew.formats.text import PathLike, read_whole

__all__ = ["read_choices"]

_HEAD = ("split", "query-id", "positives", "negatives")


def read_choices(path: PathLike) -> Mapping[str, Choices]:
    r"""Read choices by split; see `askew.evaluation.choice_accuracy`.

    Args:
        path: a table with tabs between cells, whose first line names the columns.

    Returns:
        Split → query → right documents, wrong documents.

    Raises:
        FormatError: it is missing, has other columns, or a line without a query, a positive or a negative, with the
            same document on both sides, or of a query that the split has; the message names the line.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     place = Path(home) / "pairs.tsv"
    ...     _ = place.write_text("split\tquery-id\tpositives\tnegatives\ntest\tq\ta\tb|c\n")
    ...     read_choices(place)
    {'test': {'q': (('a',), ('b', 'c'))}}
    """
    place = Path(path)
    lines = read_whole(place).splitlines()
    if not lines or tuple(lines[0].split("\t")) != _HEAD:
        raise FormatError(
            "the first line does not name the columns",
            where=place,
            remedy=f"Begin with {' '.join(_HEAD)}, tabs between",
        )
    found: dict[str, dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {}
    for number, line in enumerate(lines[1:], start=2):
        if not line.strip():
            continue
        cells = line.split("\t")
        right, wrong = (tuple(dict.fromkeys(filter(None, cell.split("|")))) for cell in [*cells[2:4], "", ""][:2])
        split = found.setdefault(cells[0], {})
        if (
            len(cells) != len(_HEAD)
            or not cells[1]
            or not right
            or not wrong
            or {*right} & {*wrong}
            or cells[1] in split
        ):
            raise FormatError(
                "no new query with positives and other negatives",
                where=f"{place}, line {number}",
                remedy="Write split, query, positives and negatives; | between several; a query once a split",
            )
        split[cells[1]] = right, wrong
    return dict(found)
