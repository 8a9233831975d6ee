"""Which rows stay together, and how they are dealt into halves, folds and groups: by hash, the same every time."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from askew._checks import check_count, check_kind
from askew.data.ids import stable_hash
from askew.errors import LabelError, ParameterError
from askew.geometry.rows import RelevanceRows
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["FEWEST_UNITS", "Units", "half_splits", "halves_of_groups"]

#: Fewer queries than two a half have no variance to speak of.
FEWEST_UNITS = 4
# A half with less than this share of the rows is no half.
_LEAST_SHARE = 0.25


class Units:
    """Sets of rows that no split may part: those of one query id or of one query vector.

    Equal vectors under two ids would bring the same noise into both halves, where it looks like signal.

    Args:
        rows: n rows.
        by_document: also keep together the rows that share a document, so that halves are disjoint in
            documents too; rows that hang together through others stay together.
        least: refuse fewer units than this.

    Attributes:
        of_row: (n,) number of the unit of each row.
        names: the least id of each unit.
        by_document: as given.

    Raises:
        LabelError: there are fewer units than `least`.
        ParameterError: the rows are none, or documents are to be kept apart and the rows name none.

    >>> x = np.array([[1.0], [2.0], [2.0], [3.0], [4.0], [5.0]])
    >>> Units(RelevanceRows(("a", "b", "c", "d", "e", "a"), x, x)).of_row.tolist()
    [0, 1, 1, 2, 3, 0]
    """

    def __init__(self, rows: RelevanceRows, *, by_document: bool = False, least: int = FEWEST_UNITS) -> None:
        check_kind(rows, RelevanceRows, "rows", "Give RelevanceRows; RelevanceRows.of_pairs makes them of judged pairs")
        self.by_document = by_document
        keys: list[Iterable[Hashable]] = [
            (("id", name), ("vector", vector)) if vector else (("id", name),)
            for name, vector in zip(rows.ids, _vector_keys(rows.queries), strict=True)
        ]
        if by_document:
            if rows.documents is None:
                raise ParameterError(
                    "the rows do not say which documents they come from",
                    where="by_document",
                    remedy="Give `documents`, or `item_ids` to RelevanceRows.of_pairs",
                )
            named = ((("document", name) for name in held) for held in rows.documents)
            keys = [(*own, *more) for own, more in zip(keys, named, strict=True)]
        self.of_row = _components(keys)
        names: dict[int, str] = {}
        for unit, name in zip(self.of_row.tolist(), rows.ids, strict=True):
            names[unit] = min(name, names.get(unit, name))
        self.names = tuple(names[unit] for unit in range(len(names)))
        if len(self) < least:
            found = "1 query" if len(self) == 1 else f"{len(self)} queries"
            raise LabelError(
                f"{'1 row makes' if len(rows) == 1 else f'{len(rows)} rows make'} {found} that can be told apart, by id"
                f"{', by vector and by documents' if by_document else ' and by vector'}",
                remedy=f"Label at least {least} different queries"
                + (", or let splits share documents" if by_document else ""),
            )

    def __len__(self) -> int:
        return len(self.names)

    def deal(self, parts: int, salt: str) -> IntArray:
        """The part of each row: (n,), parts of sizes as equal as the units allow.

        Units go by size, then by a hash of their names, each into the lightest part.
        """
        sizes = np.bincount(self.of_row).tolist()
        order = sorted(range(len(self)), key=lambda unit: (-sizes[unit], stable_hash(self.names[unit], salt)))
        heap = [(0, part) for part in range(parts)]
        part_of = np.empty(len(self), dtype=np.int64)
        for unit in order:
            weight, part = heapq.heappop(heap)
            part_of[unit] = part
            heapq.heappush(heap, (weight + sizes[unit], part))
        return part_of[self.of_row]


def half_splits(units: Units, count: int, *, seed: int = 0) -> list[IntArray]:
    """Random halves by query: `count` arrays (n,) of 0 and 1.

    Raises:
        ParameterError: `count` is below 1.
        LabelError: units are so large that a half would have less than a quarter of the rows.

    >>> x = np.arange(8.0)[:, None]
    >>> halves = half_splits(Units(RelevanceRows(tuple("abcdefgh"), x, x)), 3)
    >>> [int(half.sum()) for half in halves]
    [4, 4, 4]
    """
    check_count(count, "splits", least=1, where="splits", remedy="Ask for 20")
    halves = [units.deal(2, f"half-{seed}-{number}") for number in range(count)]
    share = min(float(np.minimum(half.mean(), 1 - half.mean())) for half in halves)
    if share < _LEAST_SHARE:
        ties = "by id, by equal vectors, by documents" if units.by_document else "by id, by equal vectors"
        raise LabelError(
            f"queries hang together ({ties}), so that a half has {share:.0%} of them",
            remedy="Let splits share documents, or leave out what hangs together"
            if units.by_document
            else "Keep one of the queries that are equal, or label other queries",
        )
    return halves


def halves_of_groups(groups: int, count: int, *, seed: int = 0) -> list[IntArray]:
    """Random halves of groups: `count` arrays (groups,) of 0 and 1."""
    halves = []
    for number in range(count):
        order = sorted(range(groups), key=lambda group: stable_hash(str(group), f"group-half-{seed}-{number}"))
        half = np.zeros(groups, dtype=np.int64)
        half[order[groups // 2 :]] = 1
        halves.append(half)
    return halves


def _vector_keys(queries: Float64Array) -> list[bytes]:
    """What equal vectors share, though a whitening has changed their last bits; nothing for zero vectors."""
    if not queries.size:
        return [b""] * len(queries)
    peak = np.abs(queries).max(axis=1)
    power = np.frexp(peak)[1]
    scaled = np.ldexp(queries, -power[:, None]).astype(np.float32) + np.float32(0)  # -0 is 0
    return [
        scale.tobytes() + row.tobytes() if held else b""
        for scale, row, held in zip(power, scaled, peak > 0, strict=True)
    ]


def _components(keys: Sequence[Iterable[Hashable]]) -> IntArray:
    """Rows that share a key, or are joined through others: (n,) numbers, by first row."""
    number: dict[Hashable, int] = {}
    pairs = [(row, number.setdefault(key, len(number))) for row, held in enumerate(keys) for key in held]
    if not pairs:
        return np.empty(0, dtype=np.int64)
    rows, columns = np.array(pairs, dtype=np.int64).T
    size = len(keys) + len(number)
    graph = coo_array((np.ones(len(rows), dtype=np.int8), (rows, columns + len(keys))), shape=(size, size))
    labels = connected_components(graph.tocsr(), directed=False)[1][: len(keys)]
    first, place = np.unique(labels, return_index=True)
    rank = np.empty(int(labels.max()) + 1, dtype=np.int64)
    rank[first[np.argsort(place)]] = np.arange(len(first))
    return np.asarray(rank[labels])
