"""Recognise: an adapter on other data than it was fitted on, where the same ids may stand for other texts."""

from __future__ import annotations

from dataclasses import replace
from os import PathLike

from askew.adapters import Adapter
from askew.data import Dataset
from askew.errors import EncoderMismatchError
from askew.formats import read_side_texts

__all__ = ["recognising"]


def recognising(adapter: Adapter, dataset: Dataset, folder: str | PathLike[str] | None = None) -> Adapter:
    """The adapter, checked against the vectors of a dataset, less the canaries that are other texts there.

    A canary vector is found by its id. Where its text is known on both sides and differs, it says nothing about the
    encoder. Texts that the dataset does not hold are read from its folder, and only where a vector differs.

    Args:
        adapter: what will be applied.
        dataset: to its queries and documents.
        folder: where the dataset is from.

    Raises:
        DimensionError: vectors of another dimension.
        EncoderMismatchError: vectors of another encoder, by its name or by a canary of the same text.
    """
    told = _less(adapter, dataset)
    try:
        _check(told, dataset)
    except EncoderMismatchError:
        if folder is None:
            raise
        told = _less(adapter, _with_texts(dataset, folder))
        _check(told, dataset)
    return told


def _less(adapter: Adapter, dataset: Dataset) -> Adapter:
    return replace(adapter, provenance=adapter.provenance.among(dataset.query_texts, dataset.document_texts))


def _with_texts(dataset: Dataset, folder: str | PathLike[str]) -> Dataset:
    return replace(
        dataset,
        query_texts=dataset.query_texts or read_side_texts(folder, "queries"),
        document_texts=dataset.document_texts or read_side_texts(folder, "documents"),
    )


def _check(adapter: Adapter, dataset: Dataset) -> None:
    adapter.check_documents(dataset.documents)
    adapter.check_queries(dataset.queries)
