"""Sparse vectors as token embeddings: (Signed) MaxSim over them is their inner product.

A query token stands for one nonzero u_i and a document token for one nonzero v_j, each coded so that it meets
its own index alone (`askew.late.codes`); a zero token, of sign +1, answers where the document lacks an index.
Magnitudes make the tokens and signs become their weights: a query token is routed to the same index, and both
signs multiply what it finds there. For vectors without negative entries all signs are +1 and plain MaxSim does.

So a SPLADE-like index can be searched exactly by an engine of many vectors; and what such an engine can say
about signs, MaxSim cannot: over non-negative routes it never falls below the zero token's 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from askew.data import TokenEmbeddings
from askew.data.ids import as_ids
from askew.data.ragged import number_differs, plain_array, running_count
from askew.errors import DimensionError, EmbeddingError, name_some
from askew.late.codes import Code, as_dtype, choose_code
from askew.linalg.fixed import Float64Array, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["sparse_documents", "sparse_queries", "unpreservable_pair"]


def sparse_queries(
    ids: Iterable[object],
    vectors: csr_array[Any, Any],
    *,
    code: Code | None = None,
    dtype: npt.DTypeLike = np.float32,
    encoder: str | None = None,
) -> TokenEmbeddings:
    """Queries of sparse vectors, for documents of `sparse_documents` under the same code and type.

    Args:
        ids: n ids.
        vectors: (n, N) sparse; every query has a nonzero entry, or gets one zero token.
        code: how indices become vectors; by default `choose_code` of N and the type, so both sides need the same
            width and type. Tokens by different codes are refused where they meet.
        dtype: float16, float32 or float64.
        encoder: the encoder's name.

    Returns:
        A token for each nonzero entry; signs are its weights.

    Raises:
        DimensionError: the code is for fewer indices than N.
        EmbeddingError: entries that are not finite, or too large or too small for the type; no (n, N) array.

    >>> from scipy.sparse import csr_array
    >>> from askew.late import maxsim
    >>> queries = sparse_queries(["q"], csr_array([[-1.0, 0.0, 2.0]]), dtype="float64")
    >>> maxsim(queries, sparse_documents(["d"], csr_array([[1.0, 0.0, 0.0]]), dtype="float64")).tolist()
    [[-1.0]]
    """
    return _tokens(ids, vectors, code, dtype, encoder, side="query")


def sparse_documents(
    ids: Iterable[object],
    vectors: csr_array[Any, Any],
    *,
    code: Code | None = None,
    dtype: npt.DTypeLike = np.float32,
    encoder: str | None = None,
) -> TokenEmbeddings:
    """Documents of sparse vectors: a token for each nonzero entry, and one zero token, which comes first.

    Args:
        ids: m ids.
        vectors: (m, N) sparse.
        code: as for `sparse_queries`.
        dtype: likewise.
        encoder: the encoder's name.

    Raises:
        DimensionError: the code is for fewer indices than N.
        EmbeddingError: entries that are not finite, or too large or too small for the type; no (n, N) array.
    """
    return _tokens(ids, vectors, code, dtype, encoder, side="document")


def unpreservable_pair(left: npt.ArrayLike, right: npt.ArrayLike) -> tuple[int, int, float]:
    """Where single vectors fail: the entry of the identity that d-dimensional encodings miss the most.

    The inner products of d + 1 basis vectors are the identity of d + 1 rows. No encodings φ and ψ into R^d
    give it: their products have rank d at most, so some entry is wrong by at least 1/(d + 1). (The spectral
    norm of I - φψᵀ is at least 1, and that of a matrix at most d + 1 times its largest entry.) Sets of vectors
    under MaxSim have no such bottleneck: three dimensions suffice for any number of indices.

    Args:
        left: (d + 1, d) φ of each basis vector.
        right: (d + 1, d) ψ of each.

    Returns:
        The two basis vectors, and by how much their product is off.

    Raises:
        DimensionError: there are not more rows than columns, or the sides differ in shape.

    >>> unpreservable_pair([[1.0], [0.0]], [[1.0], [0.0]])
    (1, 1, 1.0)
    """
    phi, psi = np.asarray(left, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if phi.ndim != 2 or phi.shape != psi.shape or len(phi) <= phi.shape[1]:
        raise DimensionError(
            f"the encodings have the shapes {phi.shape} and {psi.shape}", remedy="Give more vectors than dimensions"
        )
    off = np.abs(np.eye(len(phi)) - phi @ psi.T)
    row, column = np.unravel_index(int(np.argmax(off)), off.shape)
    return int(row), int(column), float(off[row, column])


def _tokens(
    ids: Iterable[object],
    vectors: csr_array[Any, Any],
    code: Code | None,
    dtype: npt.DTypeLike,
    encoder: str | None,
    *,
    side: str,
) -> TokenEmbeddings:
    stored = as_dtype(dtype)
    source = f"sparse {side} vectors"
    names = as_ids(ids)
    held, places, values = _entries(vectors, names, source)
    code = choose_code(held[1], stored) if code is None else code
    if code.size < held[1]:
        raise DimensionError(f"the code tells {code.size:,} indices apart, and the vectors have {held[1]:,}")
    encode = code.query if side == "query" else code.document
    rows = np.repeat(np.arange(held[0]), np.diff(places[0]))
    # A zero token before each document's own, and in the place of a query that would be empty.
    zeros = np.ones(held[0], np.int64) if side == "document" else (np.diff(places[0]) == 0).astype(np.int64)
    offsets = running_count(np.diff(places[0]) + zeros)
    own = np.arange(len(values)) + np.cumsum(zeros)[rows]
    tokens = np.zeros((int(offsets[-1]), code.dim), dtype=stored)
    with np.errstate(over="ignore"):  # an infinity is refused by id
        exact = encode(places[1], np.abs(values))
        tokens[own] = exact.astype(stored)
    least = float(np.finfo(stored).tiny)
    lost = rows[np.any((exact != 0) & (np.abs(exact) < least), axis=1)]
    if len(lost):
        raise EmbeddingError(
            f"entries are too small for {stored} and this code, of {_named(names, lost)}: coded they fall below "
            f"{least:.3g}, where bits are lost",
            where=source,
            remedy="Scale the vectors up, store a wider type, or leave such entries out",
        )
    signs = np.ones(len(tokens))
    signs[own] = np.where(values < 0, -1.0, 1.0)
    weights = signs if np.any(signs < 0) else None
    return TokenEmbeddings(names, tokens, offsets, weights=weights, encoder=encoder, code=code.name, source=source)


def _named(names: Sequence[str], rows: IntArray) -> str:
    return name_some(names[row] for row in dict.fromkeys(rows.tolist()))


def _entries(
    vectors: csr_array[Any, Any], names: Sequence[str], source: str
) -> tuple[tuple[int, int], tuple[IntArray, IntArray], Float64Array]:
    """Shape, (offsets, indices) and values of the nonzero entries, each index once a row."""
    from scipy.sparse import csr_array, issparse  # noqa: PLC0415 - half a second that dense tokens need not wait for

    given: Any = vectors
    given = given if issparse(given) else plain_array(given, source)
    if given.ndim != 2 or given.dtype.kind not in "fiub":
        raise EmbeddingError(
            f"they are {given.dtype.name} of shape {given.shape}",
            where=source,
            remedy="Give an (n, N) sparse array of real numbers",
        )
    if given.shape[0] != len(names):
        raise number_differs(f"{given.shape[0]:,} vectors", len(names), source)
    held: Any = csr_array(given).astype(np.float64)  # a copy: what follows is in place
    held.sum_duplicates()
    rows, columns = held.shape
    bad = np.repeat(np.arange(rows), np.diff(held.indptr))[~np.isfinite(held.data)]
    if len(bad):
        raise EmbeddingError(
            f"the vectors of {_named(names, bad)} hold NaN or infinite values", where=source, remedy="Encode them again"
        )
    held.eliminate_zeros()
    return (rows, columns), (held.indptr.astype(np.int64), held.indices.astype(np.int64)), held.data
