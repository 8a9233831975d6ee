"""The synthetic task of the third paper: attribute documents, and queries of wanted terms and one that is not wanted.

A document is a set of 4 to 12 attributes. A query names 1 to 4 that a document must have and exactly one that it must
not have, after a marker: ``a b NOT c d``. For each query two documents are planted: one that satisfies it, and a near
miss that has everything, the unwanted attribute too. What is relevant is decided by the Boolean rule, over every
document of a collection. The paper says how many queries and documents there are, and not their sizes: those here
make 97% of the documents relevant to a query that only excludes, as in the trial that FORMULAS 5.10 reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from askew.estimators.tokens_ragged import Ragged
from askew.late import Query, all_of, none_of
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["ATTRIBUTES", "BEGIN", "NOT", "Benchmark", "Lesson", "benchmark", "training"]

#: Attributes of a vocabulary; the second vocabulary begins where the first ends.
ATTRIBUTES = 300
_SHORTEST, _LONGEST, _MOST_WANTED = 4, 12, 4
#: The marker of what is not wanted, and what stands before a query's first token.
NOT, BEGIN = 2 * ATTRIBUTES, 2 * ATTRIBUTES + 1

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Asked:
    """n queries: (n, 4) wanted attributes, -1 where there are fewer, and (n,) the unwanted one."""

    wanted: IntArray
    unwanted: IntArray

    def relevant(self, has: BoolArray) -> BoolArray:
        """(n, m) by the Boolean rule; `has` is (m, attributes) of documents."""
        all_there = np.ones((len(self.unwanted), len(has)), dtype=bool)
        for column in self.wanted.T:
            all_there &= np.where(column[:, None] < 0, True, has.T[np.maximum(column, 0)])
        return np.asarray(all_there & ~has.T[self.unwanted])


@dataclass(frozen=True, eq=False)
class Lesson:
    """Training material.

    Attributes:
        queries: n token sequences.
        documents: 2n: those that satisfy, then the near misses.
        asked: what the queries say.
    """

    queries: Ragged
    documents: Ragged
    asked: _Asked

    @cached_property
    def _has(self) -> BoolArray:
        return _membership(self.documents)

    def known(self, queries: IntArray, documents: IntArray) -> BoolArray:
        """(b, c) which documents are relevant to which queries."""
        part = _Asked(self.asked.wanted[queries], self.asked.unwanted[queries])
        return part.relevant(self._has[documents])


@dataclass(frozen=True, eq=False)
class Benchmark:
    """Queries against fresh documents.

    Attributes:
        name: which of the three.
        queries: n token sequences.
        documents: m attribute sets.
        asked: what the queries say.
        relevant: (n, m) by the Boolean rule.
    """

    name: str
    queries: Ragged
    documents: Ragged
    asked: _Asked
    relevant: BoolArray

    @cached_property
    def boolean(self) -> dict[str, Query]:
        """The queries as Boolean ones, for the oracle."""
        said = zip(self.asked.wanted, self.asked.unwanted, strict=True)
        return {
            f"q{row}": all_of(*(str(term) for term in wanted if term >= 0), none_of(str(unwanted)))
            for row, (wanted, unwanted) in enumerate(said)
        }

    @cached_property
    def terms(self) -> dict[str, list[str]]:
        """The documents as terms, for the oracle."""
        held = self.documents
        return {
            f"d{row}": [str(term) for term in held.values[held.offsets[row] : held.offsets[row + 1]]]
            for row in range(len(held))
        }

    def first(self, count: int) -> Benchmark:
        """The first few of the queries, against all documents."""
        rows = np.arange(count)
        asked = _Asked(self.asked.wanted[rows], self.asked.unwanted[rows])
        return Benchmark(self.name, self.queries.take(rows), self.documents, asked, self.relevant[rows])

    def random_ndcg(self, cutoff: int = 10) -> Float64Array:
        """(n,) what a ranking at random is expected to score: share of relevant × gain of all ranks over the ideal."""
        gains = np.cumsum(1 / np.log2(np.arange(2, cutoff + 2)))
        count = self.relevant.sum(axis=1)
        best = gains[np.minimum(count, cutoff) - 1]
        return np.asarray(count / self.relevant.shape[1] * gains[-1] / best)


def training(queries: int, *, seed: int) -> Lesson:
    """Training material over the first vocabulary.

    Args:
        queries: n; there are twice as many documents.
        seed: of the draw.
    """
    rng = np.random.default_rng([seed, 0])
    asked, documents = _planted(queries, 0, rng)
    return Lesson(_spoken(asked, rng), Ragged.of_lists(documents), asked)


def benchmark(name: str, queries: int, documents: int, *, seed: int) -> Benchmark:
    """One of the three benchmarks, with documents that training has not seen.

    Args:
        name: ``"in-domain"``, ``"different vocabulary"`` or ``"negation only"``.
        queries: n.
        documents: m, at least 2n: two are planted for each query, the rest drawn at random.
        seed: of the draw.

    >>> made = benchmark("negation only", 5, 400, seed=0)
    >>> made.queries.lengths.tolist(), bool(made.relevant.mean() > 0.95)
    ([2, 2, 2, 2, 2], True)
    """
    place = ("in-domain", "different vocabulary", "negation only").index(name) + 1
    rng = np.random.default_rng([seed, place])
    asked, planted = _planted(queries, ATTRIBUTES if place == 2 else 0, rng)
    if place == 3:
        asked = _Asked(np.full_like(asked.wanted, -1), asked.unwanted)
    others = [_document([], [], ATTRIBUTES if place == 2 else 0, rng) for _ in range(documents - len(planted))]
    held = Ragged.of_lists([*planted, *others])
    return Benchmark(name, _spoken(asked, rng), held, asked, asked.relevant(_membership(held)))


def _planted(count: int, first: int, rng: np.random.Generator) -> tuple[_Asked, list[IntArray]]:
    """Queries, the documents that satisfy them, and the near misses."""
    wanted, unwanted = np.full((count, _MOST_WANTED), -1), np.empty(count, dtype=np.int64)
    good, bad = [], []
    for row in range(count):
        size = int(rng.integers(1, _MOST_WANTED + 1))
        drawn = first + rng.choice(ATTRIBUTES, size + 1, replace=False)
        wanted[row, :size], unwanted[row] = drawn[:-1], drawn[-1]
        good.append(_document(drawn[:-1], drawn[-1:], first, rng))
        bad.append(_document(drawn, [], first, rng))
    return _Asked(wanted, unwanted), [*good, *bad]


def _document(has: npt.ArrayLike, lacks: npt.ArrayLike, first: int, rng: np.random.Generator) -> IntArray:
    """A set of attributes that has some and lacks some, in ascending order."""
    some, without = np.asarray(has, dtype=np.int64), np.asarray(lacks, dtype=np.int64)
    size = int(rng.integers(max(_SHORTEST, len(some)), _LONGEST + 1))
    drawn = first + rng.choice(ATTRIBUTES, _LONGEST + 2 + len(some), replace=False)
    others = drawn[~np.isin(drawn, np.concatenate([some, without]))]
    return np.sort(np.concatenate([some, others[: size - len(some)]]))


def _spoken(asked: _Asked, rng: np.random.Generator) -> Ragged:
    """Queries as tokens: the wanted terms, and the marked unwanted one at a random place among them."""
    said = []
    for wanted, unwanted in zip(asked.wanted, asked.unwanted, strict=True):
        terms = wanted[wanted >= 0]
        place = int(rng.integers(len(terms) + 1))
        said.append(np.concatenate([terms[:place], [NOT, unwanted], terms[place:]]))
    return Ragged.of_lists(said)


def _membership(documents: Ragged) -> BoolArray:
    """(m, 2·attributes) which document has which."""
    has = np.zeros((len(documents), 2 * ATTRIBUTES), dtype=bool)
    has[np.repeat(np.arange(len(documents)), documents.lengths), documents.values] = True
    return has
