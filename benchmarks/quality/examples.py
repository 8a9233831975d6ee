"""Pairs and triplets, drawn as each peer draws them. All are rows: of queries, and of documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lessons import BoolArray, Float32Array, IntArray, Lessons

# Triplets a fit. Sets with dozens of relevant documents a query would otherwise have a million of them.
MOST = 10_000
_POOL = 10
_MARGIN = 0.95
_DEEPEST = 2_000
_BLOCK = 1_000


@dataclass(frozen=True, eq=False)
class Examples:
    """e examples: a query, a relevant document, and k negatives (0 where the batch gives them)."""

    query: IntArray
    positive: IntArray
    negative: IntArray


def first_pairs(lessons: Lessons, rng: np.random.Generator) -> Examples:
    """Each query with its first relevant document (LlamaIndex)."""
    del rng
    count = len(lessons)
    return Examples(np.arange(count), lessons.first_positive, np.empty((count, 0), dtype=np.int64))


def random_triplets(lessons: Lessons, rng: np.random.Generator) -> Examples:
    """Every pair ten times, each with any document of the corpus, relevant ones not excepted (Chroma)."""
    chosen = _drawn(rng, np.repeat(np.arange(len(lessons.pair_query)), _POOL))
    negative = rng.choice(np.flatnonzero(~lessons.barred), (len(chosen), 1))
    return Examples(lessons.pair_query[chosen], lessons.pair_row[chosen], negative)


def opposite_triplets(lessons: Lessons, rng: np.random.Generator) -> Examples:
    """Every pair with one of the ten documents least like the relevant one (linear-adapter-trainer)."""
    return _pooled_triplets(lessons, rng, sign=-1.0)


def hard_triplets(lessons: Lessons, rng: np.random.Generator) -> Examples:
    """Every pair with one of the ten documents most like the relevant one (its other strategy)."""
    return _pooled_triplets(lessons, rng, sign=1.0)


def _pooled_triplets(lessons: Lessons, rng: np.random.Generator, sign: float) -> Examples:
    chosen = _drawn(rng, np.arange(len(lessons.pair_query)))
    query, positive = lessons.pair_query[chosen], lessons.pair_row[chosen]
    pool = np.empty((len(chosen), _POOL), dtype=np.int64)
    for start in range(0, len(chosen), _BLOCK):
        part = slice(start, start + _BLOCK)
        likeness = sign * (lessons.documents[positive[part]] @ lessons.documents.T)
        likeness[lessons.closed[query[part]]] = -np.inf
        pool[part] = np.argpartition(-likeness, _POOL, axis=1)[:, :_POOL]
    drawn = rng.integers(0, _POOL, (len(chosen), 1))
    return Examples(query, positive, np.take_along_axis(pool, drawn, axis=1))


def margin_negatives(lessons: Lessons, rng: np.random.Generator) -> Examples:
    """One relevant document a query, drawn, and five negatives by TopK-PercPos (ERA).

    The pool is the first ten documents among the best 2,000 that score below 0.95 times the relevant one;
    the hardest is taken always, four others are drawn, and random documents fill what is missing.
    """
    positive = _one_positive(lessons, rng)
    scores = lessons.queries @ lessons.documents.T
    reached = scores[np.arange(len(lessons)), positive]
    limit = reached - (1 - _MARGIN) * np.abs(reached)  # below the score, also where it is negative
    deepest = np.partition(scores, -min(_DEEPEST, scores.shape[1]), axis=1)[:, -min(_DEEPEST, scores.shape[1])]
    out = lessons.closed | (scores >= limit[:, None]) | (scores < deepest[:, None])
    return Examples(np.arange(len(lessons)), positive, _from_pool(np.where(out, -np.inf, scores), lessons.closed, rng))


def _from_pool(scores: Float32Array, closed: BoolArray, rng: np.random.Generator) -> IntArray:
    """(n, 5) the best of each row, four others of its ten best, and random ones where there are fewer."""
    pool = np.argpartition(-scores, _POOL, axis=1)[:, :_POOL]
    pool = np.take_along_axis(pool, np.argsort(-np.take_along_axis(scores, pool, axis=1), axis=1, kind="stable"), 1)
    missing = ~np.isfinite(np.take_along_axis(scores, pool, axis=1))
    # Survivors first in a random order, so that a random filler never displaces one.
    place = np.argsort(rng.random((len(pool), _POOL - 1)) + missing[:, 1:], axis=1)
    kept = np.concatenate([pool[:, :1], np.take_along_axis(pool[:, 1:], place, axis=1)[:, :4]], axis=1)
    lacking = np.concatenate([missing[:, :1], np.take_along_axis(missing[:, 1:], place, axis=1)[:, :4]], axis=1)
    for row, column in zip(*np.nonzero(lacking), strict=True):
        kept[row, column] = rng.choice(np.flatnonzero(~closed[row]))
    return np.asarray(kept, dtype=np.int64)


def _one_positive(lessons: Lessons, rng: np.random.Generator) -> IntArray:
    starts = np.searchsorted(lessons.pair_query, np.arange(len(lessons) + 1))
    drawn = starts[:-1] + (rng.random(len(lessons)) * np.diff(starts)).astype(np.int64)
    return np.asarray(lessons.pair_row[drawn])


def _drawn(rng: np.random.Generator, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    return rows if len(rows) <= MOST else np.sort(rng.choice(rows, MOST, replace=False))
