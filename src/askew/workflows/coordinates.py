"""Coordinates: the rows of the relevance moment as a geometry is to be judged in, named, and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askew.adapters.adapter import Similarity
from askew.data import Dataset, Finding, hash_order
from askew.errors import ParameterError
from askew.estimators.labels import document_scale
from askew.geometry import Covariance, RelevanceRows, Whitening
from askew.geometry.spectra import check_ranks
from askew.geometry.splits import Units
from askew.geometry.whitening import WhiteningKind
from askew.linalg.fixed import Float64Array
from askew.operators import Identity
from askew.workflows.footing import check_labelled, prior_of
from askew.workflows.relevance import relevance_rows

__all__ = ["Coordinates", "default_ranks", "ranks_to_judge", "set_out", "shared_documents"]

# Documents that stand for the corpus where its covariance is asked for: ten a dimension of the widest encoders.
_SAMPLE = 20_000
# Default ranks end here: one of more is seldom wanted, and every factorisation is as large as the largest.
_LARGEST, _SMALLEST = 128, 4
# Share of queries that have a relevant document in common with another, from which on it should be known.
_MANY_SHARED = 0.25


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Where a geometry is judged.

    Attributes:
        name: in words.
        raw: n rows before whitening: unit queries, and documents on one scale.
        rows: the same, whitened.
        whitening: the maps between the two.
        documents: (m', d_document) raw documents that stand for the corpus.
        residual: whether the moment is about the identity.
        has_base: whether the prior is the identity, so that ranking is judged by corrections of it.
    """

    name: str
    raw: RelevanceRows
    rows: RelevanceRows
    whitening: Whitening
    documents: Float64Array
    residual: bool
    has_base: bool

    def correcting(self, rows: RelevanceRows) -> RelevanceRows:
        """Rows for fits that correct the base: signed, as the sum alone has to be positive semi-definite.

        Args:
            rows: in these coordinates.
        """
        return replace(rows, signed=self.has_base)


def set_out(
    dataset: Dataset,
    *,
    whitening: WhiteningKind = "none",
    residual: bool = False,
    similarity: Similarity = "dot",
    seed: int = 0,
) -> Coordinates:
    """Collect the rows of the relevance moment, and whiten them once, before anything is split.

    Args:
        dataset: n labelled queries.
        whitening: ``"none"``, ``"pooled"`` or ``"per-view"``, shrunk by a tenth, from the labelled queries and
            a sample of documents.
        residual: the moment about the identity, of what the base does not explain.
        similarity: as the index scores.
        seed: of the hashes.

    Raises:
        DimensionError: queries and documents differ in dimension.
        LabelError: no labelled query can teach.
        ParameterError: the dataset is none; no such whitening; or a residual moment is asked for in whitened
            coordinates, or where two encoders have no base.
        InputError: all queries, or all documents, are equal.
    """
    check_labelled(dataset)
    if residual and whitening != "none":
        raise ParameterError(
            f"the residual moment was asked for with {whitening} whitening, and in whitened coordinates the base is "
            "no identity",
            where="whitening",
            remedy="Leave out one of the two",
        )
    has_base = isinstance(prior_of(dataset), Identity)
    if residual and not has_base:
        raise ParameterError(
            "the residual moment was asked for, and queries and documents come from two encoders, which have no base",
            where="residual",
            remedy="Leave it out",
        )
    raw = relevance_rows(dataset, similarity=similarity, residual=residual, seed=seed)
    documents = _sample(dataset, similarity, seed)
    maps = Whitening.fit(Covariance.of(raw.queries), Covariance.of(documents), kind=whitening)
    name = "raw coordinates" if whitening == "none" else f"{whitening} whitening"
    name = f"{name}, about the base" if residual else name
    return Coordinates(name, raw, maps.rows(raw), maps, documents, residual, has_base)


def default_ranks(rows: RelevanceRows, *, by_document: bool = False) -> tuple[int, ...]:
    """Powers of two from 4 to 128 that the data support: none above the dimension or what half of the rows hold.

    Args:
        rows: n rows.
        by_document: halves share no document.

    Raises:
        LabelError: fewer than four queries.

    >>> x = np.eye(40)
    >>> default_ranks(RelevanceRows(tuple(map(str, range(40))), x, x))
    (4, 8, 16)
    """
    Units(rows, by_document=by_document)  # refuses too few
    most = min(rows.shape[0], len(rows) // 2)
    held = [2**power for power in range(_LARGEST.bit_length()) if 2**power <= most]
    return tuple(rank for rank in held if rank >= _SMALLEST) or (held[-1],)


def ranks_to_judge(rows: RelevanceRows, ranks: Sequence[int] | None, *, by_document: bool) -> tuple[int, ...]:
    """The ranks asked for, each once, or the default ones.

    Args:
        rows: n rows.
        ranks: None for `default_ranks`.
        by_document: halves share no document.

    Raises:
        DimensionError: the sides differ in dimension.
        ParameterError: a rank is not between 1 and the dimension.
        LabelError: fewer than four queries.
    """
    chosen = default_ranks(rows, by_document=by_document) if ranks is None else ranks
    check_ranks(chosen, rows.shape)
    return tuple(dict.fromkeys(chosen))


def _sample(dataset: Dataset, similarity: Similarity, seed: int) -> Float64Array:
    """(m', d_document) documents by a hash of their ids, scaled as fits scale them."""
    documents = dataset.documents
    if len(documents) <= _SAMPLE:
        rows = np.arange(len(documents))
    else:
        rows = np.sort(documents.rows(hash_order(documents.ids, seed=seed)[:_SAMPLE]))
    return np.asarray(documents.matrix[rows] / document_scale(documents, rows, similarity), dtype=np.float64)


def shared_documents(dataset: Dataset, *, by_document: bool) -> tuple[Finding, ...]:
    """A warning where many queries share a relevant document, and splits may hold it on both sides.

    Such halves are not independent, and what they share counts as signal: on SciFact, where two queries of three
    share a document, half-splits by query have called dual what held-out documents call shared.

    Args:
        dataset: the labels.
        by_document: whether splits keep documents apart.
    """
    relevant = [dataset.qrels.positives(query).keys() for query in dataset.labelled]
    owners = Counter(document for each in relevant for document in each)
    sharing = sum(any(owners[document] > 1 for document in each) for each in relevant)
    if by_document or sharing <= _MANY_SHARED * len(relevant):
        return ()
    return (
        Finding(
            "shared-documents",
            "warning",
            f"{sharing:,} of {len(relevant):,} labelled queries have a relevant document in common with another: "
            "splits by query can hold it on both sides, and count it as signal for two geometries",
            sharing,
            remedy="Keep documents apart: --by-document (by_document=True)",
        ),
    )
