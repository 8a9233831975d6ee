"""The rows that a relevance moment is the mean of: one query, and its relevant documents less its negatives."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from askew._checks import as_numbers, listed
from askew.data.ids import as_ids
from askew.errors import DimensionError, EmbeddingError, LabelError, ParameterError
from askew.linalg.fixed import Float64Array, FloatArray, IntArray

__all__ = ["RelevanceRows", "as_rows", "check_rows"]

# Scores are of the fourth power of entries, and their errors square them: larger ones would leave float64's range, and
# of smaller ones an error would come out as 0, which says that a score is certain.
_LARGEST, _SMALLEST = 1e74, 1e-74
_RESCALE = "Scale them to ordinary size: no ranking and no choice depends on it"


@dataclass(frozen=True, eq=False)
class RelevanceRows:
    """The relevance moment before it is summed: C = (1/n) Σ x zᵀ with z = ȳ⁺ - ȳ⁻, one row a query.

    Rows need not come from `of_pairs`. With a prior, z less what the prior explains makes the moment
    of the residual; whitened rows make the whitened moment.

    Attributes:
        ids: n ids of queries; rows of one id are never parted by a split.
        queries: (n, d_query) float64 rows x.
        differences: (n, d_document) float64 rows z.
        documents: n tuples of the ids of the documents behind each z, or None; only a split that keeps
            documents apart needs them.
        signed: whether a shared fit may have negative eigenvalues. True for the moment about a positive
            prior: there the sum has to be positive semi-definite, and a shared correction may take weight away.

    Raises:
        EmbeddingError: a matrix is no finite float matrix, its entries are too large or too small for squares of
            scores, or an id is none.
        DimensionError: the numbers of ids and rows differ.

    >>> rows = RelevanceRows(("a", "b"), np.eye(2), np.array([[1.0, 0.0], [0.0, 3.0]]))
    >>> rows.moment().tolist()
    [[0.5, 0.0], [0.0, 1.5]]
    """

    ids: tuple[str, ...]
    queries: Float64Array
    differences: Float64Array
    documents: tuple[tuple[str, ...], ...] | None = None
    signed: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", as_ids(self.ids))
        object.__setattr__(self, "queries", as_rows(self.queries, "queries"))
        object.__setattr__(self, "differences", as_rows(self.differences, "differences"))
        counts = {len(self.ids), len(self.queries), len(self.differences)}
        if self.documents is not None:
            counts.add(len(self.documents))
        product = _peak(self.queries) * _peak(self.differences)
        _check_size(product, "queries and differences")
        if product < _SMALLEST and self.queries.any() and self.differences.any():
            raise EmbeddingError(
                "the entries are so small that squares of scores would vanish",
                where="queries and differences",
                remedy=_RESCALE,
            )
        if len(counts) > 1:
            raise DimensionError(
                f"there are {len(self.ids)} ids, {len(self.queries)} queries and {len(self.differences)} differences",
                remedy="Give one of each a row",
            )

    @classmethod
    def of_pairs(
        cls,
        ids: Iterable[object],
        queries: FloatArray,
        *,
        items: FloatArray,
        pair_query: IntArray,
        pair_item: IntArray,
        grades: FloatArray | None = None,
        negatives: IntArray | None = None,
        average: FloatArray | None = None,
        item_ids: Sequence[str] | None = None,
    ) -> RelevanceRows:
        """Collect each query's relevant documents, weighed by grade, less the mean of its negatives.

        Pair (i, j) weighs w_ij = g_ij / Σ_j g_ij, so that a query of forty relevant documents counts
        as much as a query of one.

        Args:
            ids: n ids.
            queries: (n, d_query).
            items: (u, d_document) documents in use.
            pair_query: (m,) row of `queries`.
            pair_item: (m,) row of `items`.
            grades: (m,) positive; all equal by default.
            negatives: (n, c) rows of `items`, -1 for none.
            average: (d_document,) subtracted for a query that has no negative, such as the corpus' mean;
                nothing is by default.
            item_ids: u ids, kept for splits by document.

        Raises:
            LabelError: a query has no pair, or a grade is not positive.
            EmbeddingError: a matrix is no finite float matrix.
            DimensionError: two lengths that must agree do not.
            ParameterError: a row is asked for that is not there.

        >>> documents = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> pairs = {"pair_query": np.array([0, 0]), "pair_item": np.array([0, 1]), "grades": np.array([3.0, 1.0])}
        >>> rows = RelevanceRows.of_pairs(
        ...     ["a"], np.ones((1, 2)), items=documents, negatives=np.array([[2, -1]]), **pairs
        ... )
        >>> rows.differences.tolist()
        [[-0.25, -0.75]]
        """
        known = as_rows(items, "items")
        names = as_ids(ids)
        pair_query = _as_places(pair_query, len(names), "pair_query")
        pair_item = _as_places(pair_item, len(known), "pair_item")
        if len(pair_query) != len(pair_item):
            raise DimensionError(f"there are {len(pair_query)} queries and {len(pair_item)} documents of pairs")
        weights = _weights(grades, pair_query, names)
        difference = np.zeros((len(names), known.shape[1]))
        np.add.at(difference, pair_query, known[pair_item] * weights[:, None])
        difference -= _mean_negatives(known, negatives, average, len(names))
        held = None
        if item_ids is not None:
            if len(listed(item_ids)) != len(known):
                raise DimensionError(
                    f"there are {len(listed(item_ids))} ids of {len(known)} documents", where="item_ids"
                )
            found: list[list[str]] = [[] for _ in names]
            for query, item in zip(pair_query.tolist(), pair_item.tolist(), strict=True):
                found[query].append(item_ids[item])
            held = tuple(tuple(group) for group in found)
        return cls(names, as_rows(queries, "queries"), difference, held)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def shape(self) -> tuple[int, int]:
        """(d_query, d_document)."""
        return (int(self.queries.shape[1]), int(self.differences.shape[1]))

    def moment(self) -> Float64Array:
        """C = (1/n) Σ x zᵀ: (d_query, d_document).

        Raises:
            LabelError: there is no row.
        """
        if not len(self):
            raise LabelError("there is no query to take a moment of", remedy="Give judged queries")
        return np.asarray(self.queries.T @ self.differences / len(self))


def as_rows(rows: FloatArray, what: str) -> Float64Array:
    """Rows as float64; EmbeddingError unless they are a finite float matrix."""
    check_rows(rows, what)
    wide = np.asarray(rows, dtype=np.float64)
    if not np.all(np.isfinite(wide)):
        place = int(np.flatnonzero(~np.all(np.isfinite(wide), axis=1))[0])
        raise EmbeddingError(
            "a row holds NaN or infinite values", where=f"{what}, row {place}", remedy="Drop it or embed it again"
        )
    _check_size(_peak(wide), what)
    return wide


def _peak(rows: Float64Array) -> float:
    """The largest norm that entries of this size allow a row."""
    return float(max(rows.max(initial=0.0), -rows.min(initial=0.0)) * np.sqrt(rows.shape[1]))


def _check_size(peak: float, what: str) -> None:
    if peak > _LARGEST:
        raise EmbeddingError(
            "the entries are so large that squares of scores would overflow",
            where=what,
            remedy=_RESCALE,
        )


def check_rows(rows: object, what: str) -> None:
    """Raise EmbeddingError unless it is a two-dimensional float array."""
    if isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.dtype.kind == "f":
        return
    given = f"a {type(rows).__name__}"
    if isinstance(rows, np.ndarray):
        given = f"a matrix of shape {rows.shape} and dtype {rows.dtype.name}"
    raise EmbeddingError(
        f"{given} was given", where=what, remedy="Give a two-dimensional float array of one row an item"
    )


def _as_places(places: object, count: int, where: str, *, shape: tuple[int, ...] = (), least: int = 0) -> IntArray:
    """Rows of a matrix of `count` rows, as an array of a shape but for its last axis; an error for anything else."""
    given = as_numbers(places, where)
    if np.asarray(places).dtype.kind not in "iu" or given.ndim != len(shape) + 1 or given.shape[:-1] != shape:
        raise DimensionError(f"numbers of rows have shape {given.shape}, or are not whole", where=where)
    if given.size and not least <= given.min() <= given.max() < count:
        raise ParameterError(f"a row is asked for that is not among {count}", where=where, remedy="Count from 0")
    return np.asarray(places, dtype=np.int64)


def _weights(grades: FloatArray | None, pair_query: IntArray, names: Sequence[str]) -> Float64Array:
    """(m,) each grade over the sum of its query's."""
    plain = np.ones(len(pair_query)) if grades is None else as_numbers(grades, "grades")
    if plain.shape != pair_query.shape:
        raise DimensionError(f"there are {len(pair_query)} pairs and grades of shape {plain.shape}", where="grades")
    if not np.all((plain > 0) & np.isfinite(plain)):
        raise LabelError("a grade of a relevant document is not a positive number", remedy="Leave such pairs out")
    bare = np.flatnonzero(np.bincount(pair_query, minlength=len(names)) == 0)
    if bare.size:
        raise LabelError("a query has no relevant document", where=names[bare[0]], remedy="Leave it out")
    peak = np.zeros(len(names))
    np.maximum.at(peak, pair_query, plain)
    relative = plain / peak[pair_query]  # so that no sum overflows
    return np.asarray(relative / np.bincount(pair_query, weights=relative)[pair_query])


def _mean_negatives(
    items: Float64Array, negatives: IntArray | None, average: FloatArray | None, count: int
) -> Float64Array:
    """(count, d) the mean of each query's negatives; `average`, or zeros, where there are none."""
    rest = np.zeros(items.shape[1]) if average is None else as_numbers(average, "average")
    if rest.shape != items.shape[1:] or not np.all(np.isfinite(rest)):
        raise DimensionError(
            f"the average is no finite vector of {items.shape[1]} entries",
            where="average",
            remedy="Give one document",
        )
    mean = np.repeat(rest[None], count, axis=0)
    if negatives is None:
        return mean
    negatives = _as_places(negatives, len(items), "negatives", shape=(count,), least=-1)
    held = negatives >= 0
    some = held.any(axis=1)
    sums = np.zeros_like(mean)
    for column in range(negatives.shape[1]):  # column by column: n × c × d need not fit memory
        sums[held[:, column]] += items[negatives[held[:, column], column]]
    mean[some] = sums[some] / held[some].sum(axis=1)[:, None]
    return mean
