"""MaxSim and Signed MaxSim on a GPU, or wherever torch computes.

The products and maxima are found there, in full float32 (float64 for float64 documents), with the error bound
that any order of summation has. What lies too close to call is settled here, by the same code as without torch:
`TorchMaxSim.search` gives what `askew.late.search` gives, to the last bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np

from askew._blocks import DEFAULT_BUDGET, rows_within
from askew._extras import require
from askew.data import Run, TokenEmbeddings
from askew.errors import ParameterError
from askew.late.given import check_budget, check_tokens
from askew.late.prepared import Asked
from askew.late.scan import Scan
from askew.late.search import best
from askew.linalg.fixed import Float64Array, IntArray

__all__ = ["TorchMaxSim"]

# What an entry of a product takes on the device: itself, its mark, and a weight in float64, twice.
_BYTES_AN_ENTRY = 32


class TorchMaxSim:
    """Documents on a device, to be scored and searched there.

    Args:
        documents: m documents; their tokens are copied to the device in their own type.
        device: torch's name of it, such as "cuda:1"; by default "cuda" where there is one, else "cpu".
        budget: bytes for products on the device, and as many for what is settled here.

    Raises:
        MissingExtraError: torch is not installed.
        ParameterError: torch has no such device.

    >>> documents = TokenEmbeddings(["a", "b"], np.eye(2, dtype=np.float32), [0, 1, 2])
    >>> query = TokenEmbeddings(["q"], np.eye(2, dtype=np.float32)[:1], [0, 1], weights=[-1])
    >>> held = TorchMaxSim(documents, device="cpu")  # doctest: +SKIP
    >>> held.search(query).documents("q")  # doctest: +SKIP
    ('b', 'a')
    """

    def __init__(
        self, documents: TokenEmbeddings, *, device: str | None = None, budget: int = 8 * DEFAULT_BUDGET
    ) -> None:
        self.torch: ModuleType = require("torch", extra="torch", purpose="MaxSim on a device")
        check_tokens(documents=documents)
        check_budget(budget)
        self.documents, self.budget = documents, budget
        self.device = device or ("cuda" if self.torch.cuda.is_available() else "cpu")
        try:
            self.torch.empty(0, device=self.device)
        except (AssertionError, RuntimeError) as error:  # a torch without CUDA asserts
            raise ParameterError(
                f"torch has no device {device!r} here", where="device", remedy='Say "cpu", or leave it out'
            ) from error
        self.tokens = self._there(np.asarray(documents.tokens))
        self.weights = None if documents.weights is None else self._there(documents.weights)

    def scores(self, queries: TokenEmbeddings, *, mean: bool = False) -> Float64Array:
        """Scores of all pairs, right to the rounding of products; `askew.late.maxsim` has exact ones.

        Pairs in which two tokens of different weights are too close to call are settled here.

        Args:
            queries: n queries, each of a token or more.
            mean: divide each score by the number of query tokens.

        Returns:
            (n, m) float64; -inf for documents without tokens.

        Raises:
            DimensionError: queries and documents do not meet in one dimension.
            EmbeddingError: a query has no tokens, or scores could overflow.
        """
        check_tokens(queries=queries)
        scan = Scan.prepare(queries, self.documents, self.budget, products=0)
        scores = np.full((len(queries), len(self.documents)), -np.inf)
        for part, asked in scan.query_blocks():
            for rows, least, most in self._found(scan, asked):
                for query in np.flatnonzero(np.any(least < most, axis=1)):
                    open_ = np.flatnonzero(least[query] < most[query])
                    least[query, open_] = scan.scores_of(asked.only(int(query)), rows[open_])
                scores[part, rows] = least
        return scores / queries.lengths[:, None] if mean else scores

    def search(self, queries: TokenEmbeddings, *, k: int = 100, mean: bool = False) -> Run:
        """What `askew.late.search` gives, to the last bit; it has the arguments and errors."""
        rows, scores = best(queries, self.documents, k, bounds=self._bounds, budget=self.budget)
        if mean:
            scores /= queries.lengths[:, None]
        return Run.from_rows(queries.ids, self.documents.ids, rows, scores)

    def _bounds(self, scan: Scan, asked: Asked) -> Iterator[tuple[IntArray, tuple[Float64Array, Float64Array]]]:
        for rows, least, most in self._found(scan, asked):
            # A token that may be the route has a product within two errors of the one that stands for it.
            weights = self.documents.weights
            reach = asked.score_error(None if weights is None else 3 * weights)
            yield rows, (least - reach, most + reach)

    def _found(self, scan: Scan, asked: Asked) -> Iterator[tuple[IntArray, Float64Array, Float64Array]]:
        """Documents, and the least and most that their (n, f) scores are over routes left open, but for errors."""
        torch, corpus = self.torch, scan.corpus
        narrow = self._there(asked.narrow)
        factor = self._there(asked.weights * asked.unit)[:, None]
        reach = self._there(2 * asked.close)[:, None]
        owner = self._there(np.repeat(np.arange(len(asked.starts)), np.diff(asked.starts, append=len(asked.tokens))))

        def summed(terms: Any) -> Any:
            sums = torch.zeros((len(asked.starts), terms.shape[1]), dtype=torch.float64, device=self.device)
            return sums.index_add_(0, owner, terms).cpu().numpy()

        with full_precision(torch):
            for rows in self._parts(scan, asked):
                places, known = self._places(rows)
                tokens = self.tokens[places]
                if corpus.scale != 1.0:  # a power of two that float32 may lack
                    tokens = tokens.to(torch.float64) * corpus.scale
                tokens = tokens.to(narrow.dtype)
                products = (narrow @ tokens.flatten(0, 1).T).unflatten(1, places.shape)
                products.masked_fill_(~known, -torch.inf)
                largest = products.amax(dim=2)
                terms = factor * largest
                if self.weights is None:
                    sums = summed(terms)
                    yield rows, sums, sums.copy()
                    continue
                # Rounded down, so that the product's type cannot lose what is too close to call.
                lowest = (largest - reach).to(narrow.dtype)
                lowest = torch.nextafter(lowest, torch.full_like(lowest, -torch.inf))
                open_, weights = products >= lowest[:, :, None], self.weights[places]
                ends = [
                    terms * torch.where(open_, weights, -sign * torch.inf).mul_(sign).amax(dim=2) * sign
                    for sign in (-1.0, 1.0)
                ]
                yield rows, summed(torch.minimum(*ends)), summed(torch.maximum(*ends))

    def _parts(self, scan: Scan, asked: Asked) -> Iterator[IntArray]:
        """Documents of about one length, as many as the budget holds with their padding."""
        lengths = self.documents.lengths
        order = scan.corpus.filled[np.argsort(lengths[scan.corpus.filled], kind="stable")]
        count, dim = asked.tokens.shape
        most = rows_within(self.budget, _BYTES_AN_ENTRY * count + 16 * dim)
        begin = 0
        while begin < len(order):
            held = order[begin : begin + max(1, most // int(lengths[order[begin]]))]
            fits = int(np.count_nonzero(np.arange(1, len(held) + 1) * lengths[held] <= most))
            yield held[: max(1, fits)]
            begin += max(1, fits)

    def _places(self, rows: IntArray) -> tuple[Any, Any]:
        """(f, L) places of tokens, and which of them are there."""
        lengths = self.documents.lengths[rows]
        within = np.arange(int(lengths.max()))
        places = self.documents.offsets[rows][:, None] + np.minimum(within, lengths[:, None] - 1)
        return self._there(places), self._there(within < lengths[:, None])

    def _there(self, values: Any) -> Any:
        return self.torch.tensor(values, device=self.device)


@contextmanager
def full_precision(torch: Any) -> Iterator[None]:
    """Products of float32 with all its bits, whatever the user has set: the bounds count on them."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
