"""What a study gives: tables with the paper's numbers beside ours, pictures, and plain data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from askew._atomic import writing_file

__all__ = ["Study", "Table", "rank_correlation"]

Cell = str | int | float | bool | None


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        title: what it shows.
        head: names of the columns.
        rows: values; floats are printed to four significant digits.
        note: what to know to read it.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"title": self.title, "head": [*self.head], "rows": [[*row] for row in self.rows], "note": self.note}

    def to_markdown(self) -> str:
        """A heading, the note and a pipe table."""
        lines = [self.head, ["---"] * len(self.head), *([_told(cell) for cell in row] for row in self.rows)]
        body = "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
        return "\n\n".join(part for part in (f"## {self.title}", self.note, body) if part)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study, run.

    Attributes:
        name: as the command calls it.
        title: what it is about, with the paper's table or figure.
        settings: sizes, seeds and versions that it was run with.
        findings: what it says, a sentence each.
        tables: at least one.
        pictures: title → SVG.
    """

    name: str
    title: str
    settings: Mapping[str, Any]
    findings: Sequence[str]
    tables: Sequence[Table]
    pictures: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As plain values, without the pictures."""
        return {
            "study": self.name,
            "title": self.title,
            "settings": dict(self.settings),
            "findings": [*self.findings],
            "tables": [table.to_json() for table in self.tables],
        }

    def to_markdown(self) -> str:
        """Findings first, then the tables, then how it was run."""
        told = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        findings = "\n".join(f"- {finding}" for finding in self.findings)
        return "\n\n".join(
            [f"# {self.title}", findings, *(t.to_markdown() for t in self.tables), f"Run with {told}.\n"]
        )

    def write(self, folder: str | PathLike[str]) -> tuple[Path, ...]:
        """Write ``NAME.md``, ``NAME.json`` and an SVG a picture.

        Raises:
            OutputError: a file cannot be written.
        """
        home = Path(folder)
        texts = {f"{self.name}.md": self.to_markdown()}
        texts[f"{self.name}.json"] = json.dumps(self.to_json(), indent=1, allow_nan=False) + "\n"
        for title, svg in self.pictures.items():
            texts[f"{self.name}-{re.sub('[^a-z0-9]+', '-', title.lower()).strip('-')}.svg"] = svg
        for name, text in texts.items():
            with writing_file(home / name) as temporary:
                temporary.write_text(text, encoding="utf-8")
        return tuple(home / name for name in texts)


def rank_correlation(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Spearman's correlation of two (n,) sequences: that of their ranks, ties in the order given.

    >>> rank_correlation([1.0, 2.0, 9.0], [3.0, 4.0, 5.0])
    1.0
    """
    one, two = (np.argsort(np.argsort(values)).astype(float) for values in (first, second))
    return float(np.round(np.corrcoef(one, two)[0, 1], 12))


def _told(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
