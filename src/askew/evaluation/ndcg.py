"""nDCG as an array kernel: many rankings, graded float gains, and judgements that can be left out.

    DCG@k = Σ_{i=1..k} gain_i / log2(i + 1)        nDCG@k = DCG@k / ideal DCG@k

The gain is the grade itself (linear gains, as trec_eval's `ndcg_cut`); the ideal ranks every judged
positive, in the corpus or not. Source: Järvelin and Kekäläinen, *Cumulated gain-based evaluation of
IR techniques*, ACM TOIS 20(4), 2002, with the discount log2(i + 1) that trec_eval uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from askew.errors import DimensionError, ParameterError
from askew.linalg.fixed import BoolArray, Float64Array, IntArray

if TYPE_CHECKING:
    from askew.data import Qrels

__all__ = ["GainTable", "dcg", "ndcg", "ndcg_against"]


def dcg(gains: npt.ArrayLike) -> Float64Array:
    """Discounted cumulative gain of many rankings.

    Summed rank by rank, never pairwise: zeros after the last rank, the number of rankings and the
    memory layout change no bit, so two places that rank alike score alike.

    Args:
        gains: (n, k) gain of the document at each rank, best rank first; 0 for an empty rank.

    Returns:
        (n,) float64.

    >>> dcg([[3.0, 2.0, 0.0], [0.0, 0.0, 1.0]]).round(4).tolist()
    [4.2619, 0.5]
    """
    table = np.asarray(gains, dtype=np.float64)
    if table.ndim != 2:
        raise DimensionError(f"gains have shape {table.shape}", remedy="Give (rankings, ranks)")
    if table.shape[1] == 0:
        return np.zeros(len(table))
    discounted = table / np.log2(np.arange(2, table.shape[1] + 2))
    return np.asarray(np.cumsum(discounted, axis=1)[:, -1])


def ndcg(gains: npt.ArrayLike, ideal: npt.ArrayLike) -> Float64Array:
    """Normalised DCG of many rankings; 0 where nothing could be gained.

    Args:
        gains: (n, k) gain of the document at each rank.
        ideal: (n,) DCG of the best ranking of the same depth.

    Returns:
        (n,) float64 in [0, 1].

    >>> ndcg([[0.0, 2.0], [0.0, 0.0]], ideal=[2.0, 0.0]).round(4).tolist()
    [0.6309, 0.0]
    """
    best = np.asarray(ideal, dtype=np.float64)
    reached = dcg(gains)
    if best.shape != reached.shape:
        raise DimensionError(f"{len(reached):,} rankings have ideals of shape {best.shape}")
    # Gains that differ by less than one rounding can put a ranking one bit above its ideal.
    return np.minimum(np.divide(reached, best, out=np.zeros_like(reached), where=best > 0), 1.0)


def ndcg_against(gains: Float64Array, best: Float64Array) -> Float64Array:
    """Normalised DCG whose ideal is given as gains, for gains of any size.

    Each ranking is scaled by the power of two at its largest ideal gain: that loses no bit of the
    ratio, and keeps sums of very large or very small gains within float64.

    Args:
        gains: (n, k) gain of the document at each rank.
        best: (n, j) the judged gains, descending, padded with 0.

    Returns:
        (n,) float64 in [0, 1].

    >>> ndcg_against(np.array([[1e308, 1e308]]), np.array([[1e308, 1e308]])).tolist()
    [1.0]
    """
    if best.shape[1] == 0:
        return np.zeros(len(gains))
    exponent = -np.frexp(best[:, :1])[1]
    return ndcg(np.ldexp(gains, exponent), dcg(np.ldexp(best, exponent)))


@dataclass(frozen=True, eq=False)
class GainTable:
    """The positive gains of n queries over m documents, ready to score thousands of rankings a call.

    Arrays in CSR order: query row i holds `columns[starts[i]:starts[i + 1]]`, gains descending. Judged
    positives outside the corpus have columns from `documents` on: no ranking reaches them, the ideal does.

    Attributes:
        query_ids: n ids, in row order.
        documents: m, the size of the corpus.
        width: m and the judged positives outside the corpus.
        starts: (n + 1,) int64.
        columns: (p,) int64 document rows, or m and above.
        gains: (p,) float64, all above 0.

    >>> from askew.data import Qrels
    >>> qrels = Qrels({"q": {"a": 1.0, "b": 0.5, "elsewhere": 0.5}, "none": {"a": 0}})
    >>> table = GainTable.build(qrels, ["q", "none"], ["a", "b", "c"])
    >>> rankings = np.array([[0, 1], [0, 1]])
    >>> table.ndcg(np.array([0, 1]), rankings, k=2).tolist()
    [1.0, 0.0]
    >>> seen = np.array([True, False, False])  # residual: "a" leaves gains and ideal
    >>> table.ndcg(np.array([0]), np.array([[1, 2]]), k=2, without=seen).round(4).tolist()
    [0.6131]
    >>> table.answerable(np.array([0, 1]), seen).tolist()
    [True, False]
    """

    query_ids: tuple[str, ...]
    documents: int
    width: int
    starts: IntArray
    columns: IntArray
    gains: Float64Array

    @classmethod
    def build(cls, qrels: Qrels, query_ids: Sequence[str], document_ids: Sequence[str]) -> GainTable:
        """Collect the positives of some queries.

        Args:
            qrels: the judgements; a query that has none gets an empty row.
            query_ids: n ids, in the order that rows shall have.
            document_ids: m distinct ids, the corpus in row order.
        """
        place = {document: row for row, document in enumerate(document_ids)}
        starts = np.zeros(len(query_ids) + 1, dtype=np.int64)
        columns: list[int] = []
        gains: list[float] = []
        for row, query in enumerate(query_ids):
            positives = qrels.positives(query).items()
            pairs = sorted((-gain, place.setdefault(name, len(place))) for name, gain in positives)
            columns += [column for _, column in pairs]
            gains += [-gain for gain, _ in pairs]
            starts[row + 1] = len(columns)
        return cls(
            tuple(query_ids),
            len(document_ids),
            len(place),
            starts,
            np.array(columns, dtype=np.int64),
            np.array(gains, dtype=np.float64),
        )

    def ndcg(
        self,
        query_rows: npt.ArrayLike,
        ranked: npt.ArrayLike,
        *,
        k: int,
        without: npt.ArrayLike | None = None,
    ) -> Float64Array:
        """nDCG@k of one ranking for each of q query rows; a row may come many times.

        Cost: q·k binary searches among p positives; scratch of a few (q, k) arrays.

        Args:
            query_rows: (q,) row numbers of queries.
            ranked: (q, j) row numbers of documents, best first; −1 for an empty rank. Ranks after k are
                not looked at; ranks that are not there gain nothing.
            k: the cutoff.
            without: (m,) bool, documents that leave gains and ideal (residual scoring). They must have
                left the rankings too.

        Returns:
            (q,) float64 in [0, 1]; 0 for a query that is not `answerable`.

        Raises:
            ParameterError: k below 1, a row number out of range, or a ranked document of `without`.
            DimensionError: shapes that do not fit together.
        """
        if k < 1:
            raise ParameterError(f"the cutoff k is {k}", remedy="Give 1 or more")
        rows = self._checked_rows(query_rows)
        left_out = self._checked_mask(without)
        reached = self._gains_of(rows, self._checked_ranking(ranked, len(rows), left_out)[:, :k])
        return ndcg_against(reached, self._ideal(len(rows), k, self._remaining(rows, left_out)))

    def targets(self, query_rows: npt.ArrayLike, without: npt.ArrayLike | None = None) -> tuple[IntArray, IntArray]:
        """The positives inside the corpus whose places decide the nDCG of q rankings.

        Args:
            query_rows: (q,) row numbers of queries; a row may come many times.
            without: (m,) bool, documents left out.

        Returns:
            (t,) numbers of rankings, ascending, and (t,) row numbers of documents.
        """
        owner, entry, _ = self._remaining(self._checked_rows(query_rows), self._checked_mask(without))
        inside = self.columns[entry] < self.documents
        return owner[inside], self.columns[entry[inside]]

    def ndcg_of_places(
        self,
        query_rows: npt.ArrayLike,
        places: npt.ArrayLike,
        *,
        k: int,
        without: npt.ArrayLike | None = None,
    ) -> Float64Array:
        """nDCG@k from the places of the `targets` alone: the same bits as `ndcg` of the rankings.

        Args:
            query_rows: (q,) row numbers of queries.
            places: (t,) the place of each target in its ranking, from 0; k or more where it is not reached.
            k: the cutoff.
            without: (m,) bool, documents left out.

        Returns:
            (q,) float64 in [0, 1]; 0 for a query that is not `answerable`.

        Raises:
            ParameterError: k below 1, a negative place, or a row number out of range.
            DimensionError: there is not one place a target.
        """
        if k < 1:
            raise ParameterError(f"the cutoff k is {k}", remedy="Give 1 or more")
        rows = self._checked_rows(query_rows)
        remaining = self._remaining(rows, self._checked_mask(without))
        inside = self.columns[remaining[1]] < self.documents
        owner, entry = remaining[0][inside], remaining[1][inside]
        place = np.asarray(places, dtype=np.int64)
        if place.shape != owner.shape:
            raise DimensionError(f"{len(owner):,} targets have places of shape {place.shape}")
        if place.size and place.min() < 0:
            raise ParameterError(f"a place is {place.min()}", remedy="Count from 0")
        reached = np.zeros((len(rows), k))
        hit = place < k
        reached[owner[hit], place[hit]] = self.gains[entry[hit]]
        return ndcg_against(reached, self._ideal(len(rows), k, remaining))

    def _ideal(self, count: int, k: int, remaining: tuple[IntArray, IntArray, IntArray]) -> Float64Array:
        """(count, j) the largest gains that are left, descending, at most k of them."""
        owner, entry, place = remaining
        depth = place < k
        best = np.zeros((count, int(place[depth].max(initial=-1)) + 1))
        best[owner[depth], place[depth]] = self.gains[entry[depth]]
        return best

    def answerable(self, query_rows: npt.ArrayLike, without: npt.ArrayLike | None = None) -> BoolArray:
        """Which queries have a positive left, inside the corpus or outside it.

        Args:
            query_rows: (q,) row numbers of queries.
            without: (m,) bool, documents left out.

        Returns:
            (q,) bool.
        """
        rows = self._checked_rows(query_rows)
        owner, _, _ = self._remaining(rows, self._checked_mask(without))
        return np.bincount(owner, minlength=len(rows)) > 0

    @cached_property
    def _owners(self) -> IntArray:
        return np.repeat(np.arange(len(self.query_ids)), np.diff(self.starts))

    @cached_property
    def _lookup(self) -> tuple[IntArray, Float64Array]:
        """(p + 1,) ascending row·width + column and its gains; the last entry stops every search."""
        keys = self._owners * self.width + self.columns
        order = np.argsort(keys)
        return np.append(keys[order], np.iinfo(np.int64).max), np.append(self.gains[order], 0.0)

    def _gains_of(self, rows: IntArray, ranked: IntArray) -> Float64Array:
        """(q, j) gains of ranked documents."""
        keys, gains = self._lookup
        wanted = rows[:, None] * self.width + ranked
        found = np.searchsorted(keys, wanted)
        return np.where((keys[found] == wanted) & (ranked >= 0), gains[found], 0.0)

    def _remaining(self, rows: IntArray, left_out: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
        """Positives that count, as parallel arrays: place in `rows`, entry, rank in the ideal (from 0)."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        owner = np.repeat(np.arange(len(rows)), lengths)
        shift = self.starts[rows] - (np.cumsum(lengths) - lengths)
        entry = np.arange(len(owner)) + shift[owner]
        kept = ~left_out[self.columns[entry]]
        owner, entry = owner[kept], entry[kept]
        counts = np.bincount(owner, minlength=len(rows))
        return owner, entry, np.arange(len(owner)) - (np.cumsum(counts) - counts)[owner]

    def _checked_rows(self, query_rows: npt.ArrayLike) -> IntArray:
        rows = np.asarray(query_rows, dtype=np.int64)
        if rows.ndim != 1:
            raise DimensionError(f"query rows have shape {rows.shape}", remedy="Give one a ranking")
        if rows.size and not 0 <= rows.min() <= rows.max() < len(self.query_ids):
            raise ParameterError(f"a query row is outside 0 to {len(self.query_ids) - 1:,}")
        return rows

    def _checked_mask(self, without: npt.ArrayLike | None) -> BoolArray:
        """(width,) documents left out: none of those outside the corpus."""
        mask = np.zeros(self.width, dtype=np.bool_)
        if without is not None:
            given = np.asarray(without)
            if given.dtype != np.bool_ or given.shape != (self.documents,):
                found = f"{given.dtype} of shape {given.shape}"
                raise DimensionError(f"`without` is {found}, not bool of ({self.documents},)")
            mask[: self.documents] = given
        return mask

    def _checked_ranking(self, ranked: npt.ArrayLike, count: int, left_out: BoolArray) -> IntArray:
        table = np.asarray(ranked, dtype=np.int64)
        if table.ndim != 2 or len(table) != count:
            raise DimensionError(f"{count:,} queries have rankings of shape {table.shape}")
        if table.size and not -1 <= table.min() <= table.max() < self.documents:
            raise ParameterError(f"a document row is outside -1 to {self.documents - 1:,}")
        if np.any(left_out[table[table >= 0]]):
            raise ParameterError(
                "a ranking holds a document that `without` leaves out", remedy="Rank without these documents"
            )
        return table
