"""Passes over documents: blocks of queries and documents to a byte budget, side by side on some threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from askew._blocks import rows_within
from askew.data import TokenEmbeddings
from askew.late.fused import Fused
from askew.late.given import check_budget
from askew.late.kernels import kernels
from askew.late.prepared import Asked, Block, Corpus
from askew.late.routes import Blas, Finder, query_sums
from askew.linalg import blas_threads, side_by_side
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["Scan"]

_Result = TypeVar("_Result")

# Query tokens a product: from here on a larger one runs no faster.
_MOST_QUERY_TOKENS = 512
# Multiplications that are worth compiling for: the BLAS takes a fifth of a second over them.
_WORTH_COMPILING = 2**32


@dataclass(frozen=True, eq=False)
class Scan:
    """Queries, documents, and what goes over them.

    Attributes:
        queries: n items.
        corpus: m documents.
        finder: what multiplies blocks.
        budget: bytes of scratch, of all threads together.
        workers: threads, as many as the BLAS may use.
    """

    queries: TokenEmbeddings
    corpus: Corpus
    finder: Finder
    budget: int
    workers: int

    @classmethod
    def prepare(
        cls, queries: TokenEmbeddings, documents: TokenEmbeddings, budget: int, *, products: int | None = None
    ) -> Scan:
        """Check that both sides meet, and take the fastest finder there is.

        Args:
            queries: n items.
            documents: m items.
            budget: bytes of scratch.
            products: how many pairs of tokens will meet; all by default.

        Raises:
            DimensionError: they do not meet in one dimension.
            EmbeddingError: a query has no tokens, or scores could overflow.
        """
        check_budget(budget)
        corpus = Corpus.prepare(queries, documents)
        products = len(queries.tokens) * len(documents.tokens) if products is None else products
        made = kernels(corpus.narrow_type, worth=products * documents.dim >= _WORTH_COMPILING)
        return cls(queries, corpus, Blas() if made is None else Fused(made), budget, blas_threads())

    def ask(self, part: slice) -> Asked:
        """Some queries, made ready."""
        return self.corpus.ask(self.queries, part)

    def query_blocks(self) -> Iterator[tuple[slice, Asked]]:
        """Queries that are multiplied together."""
        lengths = self.queries.lengths
        most = rows_within(self.budget // 8, 32 * self.queries.dim, most=_MOST_QUERY_TOKENS)
        for rows in _runs(np.arange(len(lengths)), lengths, most):
            part = slice(int(rows[0]), int(rows[-1]) + 1)
            yield part, self.ask(part)

    def over_documents(
        self, work: Callable[[Block], _Result], asked: Asked, rows: IntArray | None = None
    ) -> Iterator[tuple[IntArray, _Result]]:
        """Some work on blocks of documents, side by side on the threads there are.

        Args:
            work: what to do with a block.
            asked: the queries.
            rows: documents that are not empty; all of these by default.

        Yields:
            The documents of a block, and what the work gave, in order.
        """
        corpus = self.corpus
        room = self.finder.room(asked)
        chosen = corpus.filled if rows is None else rows
        lengths = corpus.documents.lengths[chosen]
        costs = room.token * lengths + room.document
        whole, tokens = int(costs.sum()), int(lengths.sum())
        most = min(self.budget // self.workers, room.most * whole // max(1, tokens))
        if whole <= most:  # threads would cost more than they bring
            if len(chosen):
                yield chosen, work(corpus.block(chosen))
            return
        with side_by_side(self.workers) as each:
            yield from each(lambda part: (part, work(corpus.block(part))), _runs(chosen, costs, most))

    def settled(self, asked: Asked, block: Block) -> Float64Array:
        """(n, f) exact scores of a block of documents."""
        return query_sums(self.finder.settle(asked, block), asked)

    def scores_of(self, asked: Asked, rows: IntArray) -> Float64Array:
        """(r,) exact scores of some documents, none of them empty, for one query."""
        found = [part[0] for _, part in self.over_documents(partial(self.settled, asked), asked, rows)]
        return np.concatenate([np.empty(0), *found])


def _runs(rows: IntArray, costs: IntArray, most: int) -> Iterator[IntArray]:
    """Cut rows into runs of at most so much cost, and at least one row."""
    ends = np.cumsum(costs)
    begin = 0
    while begin < len(rows):
        held = ends[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, held + most, side="right")))
        yield rows[begin:end]
        begin = end
