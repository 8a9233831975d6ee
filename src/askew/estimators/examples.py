"""Pairs and triplets, drawn as each published recipe draws them. All are rows: of queries, and of documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from askew._checks import check_count, is_number
from askew.errors import LabelError, ParameterError
from askew.estimators.lessons import BoolArray, Lessons
from askew.linalg.fixed import Float32Array, Float64Array, IntArray

__all__ = [
    "MOST",
    "EraNegatives",
    "Examples",
    "GradedDraw",
    "first_pairs",
    "hard_triplets",
    "opposite_triplets",
    "random_triplets",
]

#: Triplets a fit. Sets with dozens of relevant documents a query would otherwise have a million of them.
MOST = 10_000
_POOL = 10
_DEEPEST = 2_000
_BLOCK = 1_000


@dataclass(frozen=True, eq=False)
class Examples:
    """e examples: a query, a relevant document, and k negatives (0 where the batch gives them).

    Attributes:
        query: (e,) rows of queries.
        positive: (e,) rows of documents.
        negative: (e, k) rows of documents.
        gap: (e, k) how far the positive's grade is above a negative's; None where all count alike.
    """

    query: IntArray
    positive: IntArray
    negative: IntArray
    gap: Float64Array | None = None


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


@dataclass(frozen=True)
class EraNegatives:
    """One relevant document a query, drawn, and negatives by one of ERA's strategies.

    Attributes:
        policy: ``"margin"`` (TopK-PercPos): of the best 2,000 documents those that score below `margin` times the
            relevant one, of them the first 2·count; the hardest is taken always, the others are drawn.
            ``"top"``: the first `count` outright. ``"random"``: any.
        count: negatives a query.
        margin: of the relevant document's score. A score below 0 would turn the rule around, so the limit is
            always below the score: s - (1 - margin)·|s|.

    Random documents fill what is missing; judged ones are never negatives.

    Raises:
        ParameterError: an unknown policy, no negative, or a margin outside (0, 1].

    Source: ERA, arXiv 2604.03403; de Souza P. Moreira et al., "NV-Retriever", arXiv 2407.15831.

    >>> EraNegatives("top")
    EraNegatives(policy='top', count=5, margin=0.95)
    """

    policy: Literal["margin", "top", "random"] = "margin"
    count: int = 5
    margin: float = 0.95

    def __post_init__(self) -> None:
        if self.policy not in ("margin", "top", "random"):
            raise ParameterError(f"there is no policy {self.policy!r}", remedy="Say margin, top or random")
        check_count(self.count, "negatives a query", least=1, where="count")
        if not is_number(self.margin) or not 0 < self.margin <= 1:
            raise ParameterError(f"the margin is {self.margin!r}", remedy="Give a number above 0 and at most 1")

    def __call__(self, lessons: Lessons, rng: np.random.Generator) -> Examples:
        """Draw.

        Raises:
            LabelError: every document is judged for some query, so it has no negative.
        """
        positive = _one_positive(lessons, rng)
        full = np.flatnonzero(lessons.closed.all(axis=1))
        if len(full):
            raise LabelError(f"{len(full):,} queries have no document left to be a negative", remedy="Leave them out")
        if self.policy == "random":
            scores = np.full(lessons.closed.shape, -np.inf, dtype=np.float32)
        else:
            scores = self._ranked(lessons, positive)
        width = 2 * self.count if self.policy == "margin" else self.count
        return Examples(
            np.arange(len(lessons)), positive, _from_pool(scores, lessons.closed, rng, width=width, count=self.count)
        )

    def _ranked(self, lessons: Lessons, positive: IntArray) -> Float32Array:
        """(n, m) scores of what may be taken, -inf elsewhere."""
        scores = lessons.asked @ lessons.documents.T
        out = lessons.closed
        if self.policy == "margin":
            reached = scores[np.arange(len(lessons)), positive]
            limit = reached - (1 - self.margin) * np.abs(reached)
            deep = min(_DEEPEST, scores.shape[1])
            deepest = np.partition(scores, -deep, axis=1)[:, -deep]
            out = lessons.closed | (scores >= limit[:, None]) | (scores < deepest[:, None])
        return np.where(out, np.float32(-np.inf), scores)


@dataclass(frozen=True)
class GradedDraw:
    """Every pair with `count` documents of a lower grade: first those judged so, then random ones (Search-Adaptor)."""

    count: int = 10

    def __call__(self, lessons: Lessons, rng: np.random.Generator) -> Examples:
        """Draw."""
        chosen = _drawn(rng, np.arange(len(lessons.pair_query)))
        query, positive = lessons.pair_query[chosen], lessons.pair_row[chosen]
        grade = lessons.pair_grade[chosen]
        negative = np.empty((len(chosen), self.count), dtype=np.int64)
        gap = np.empty((len(chosen), self.count))
        for place, (one, own) in enumerate(zip(query.tolist(), grade.tolist(), strict=True)):
            lower = (lessons.pair_query == one) & (lessons.pair_grade < own)
            rows, steps = lessons.pair_row[lower][: self.count], own - lessons.pair_grade[lower][: self.count]
            open_rows = np.flatnonzero(~lessons.closed[one])
            if not len(open_rows):
                raise LabelError("a query has no document left to be a negative", remedy="Leave it out")
            filler = rng.choice(open_rows, self.count - len(rows))
            negative[place] = np.concatenate([rows, filler])
            gap[place] = np.concatenate([steps, np.full(len(filler), own)])
        return Examples(query, positive, negative, gap)


def _from_pool(
    scores: Float32Array, closed: BoolArray, rng: np.random.Generator, *, width: int, count: int
) -> IntArray:
    """(n, count) the best of each row, others of its `width` best, and random ones where there are fewer."""
    width = min(width, scores.shape[1])
    pool = np.argpartition(-scores, width - 1, axis=1)[:, :width]
    pool = np.take_along_axis(pool, np.argsort(-np.take_along_axis(scores, pool, axis=1), axis=1, kind="stable"), 1)
    missing = ~np.isfinite(np.take_along_axis(scores, pool, axis=1))
    # Survivors first in a random order, so that a random filler never displaces one.
    place = np.argsort(rng.random((len(pool), width - 1)) + missing[:, 1:], axis=1)[:, : count - 1]
    kept = np.concatenate([pool[:, :1], np.take_along_axis(pool[:, 1:], place, axis=1)], axis=1)
    lacking = np.concatenate([missing[:, :1], np.take_along_axis(missing[:, 1:], place, axis=1)], axis=1)
    short = count - kept.shape[1]  # a corpus of fewer documents than negatives
    kept = np.pad(kept, ((0, 0), (0, short)))
    lacking = np.pad(lacking, ((0, 0), (0, short)), constant_values=True)
    for row, column in zip(*np.nonzero(lacking), strict=True):
        kept[row, column] = rng.choice(np.flatnonzero(~closed[row]))
    return np.asarray(kept, dtype=np.int64)


def _one_positive(lessons: Lessons, rng: np.random.Generator) -> IntArray:
    starts = np.searchsorted(lessons.pair_query, np.arange(len(lessons) + 1))
    drawn = starts[:-1] + (rng.random(len(lessons)) * np.diff(starts)).astype(np.int64)
    return np.asarray(lessons.pair_row[drawn])


def _drawn(rng: np.random.Generator, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    return rows if len(rows) <= MOST else np.sort(rng.choice(rows, MOST, replace=False))
