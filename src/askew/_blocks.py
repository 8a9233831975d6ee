"""Byte budgets and block iteration: memory is bounded by a number, not by the corpus."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["DEFAULT_BUDGET", "blocks", "rows_within"]

#: Bytes that one blocked pass may hold at once, beside its input and its result.
DEFAULT_BUDGET = 128 * 2**20


def rows_within(budget: int, bytes_per_row: int, *, least: int = 1, most: int | None = None) -> int:
    """How many rows fit a budget, at least `least` and at most `most`.

    >>> rows_within(1000, 300), rows_within(10, 300), rows_within(1000, 1, most=50)
    (3, 1, 50)
    """
    rows = max(least, budget // max(1, bytes_per_row))
    return rows if most is None else max(1, min(rows, most))


def blocks(total: int, size: int) -> Iterator[slice]:
    """Slices that cover ``range(total)`` in order, each of at most `size` rows.

    >>> [(s.start, s.stop) for s in blocks(5, 2)]
    [(0, 2), (2, 4), (4, 5)]
    """
    for start in range(0, total, size):
        yield slice(start, min(start + size, total))
