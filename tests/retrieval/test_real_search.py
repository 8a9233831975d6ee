"""Exact search on real embeddings (SciFact by MiniLM) against float64 brute force, ids, order and ties."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from askew.data import EmbeddingSet
from askew.retrieval import search

SCIFACT = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "scifact"

pytestmark = pytest.mark.skipif(not SCIFACT.is_dir(), reason="the real data sets are not beside this checkout")


def read(side: str) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float16]]]:
    folder = SCIFACT / "embeddings" / "minilm-l6"
    return (folder / f"{side}.ids").read_text().split(), np.load(folder / f"{side}.npy", mmap_mode="r")


def test_the_hundred_best_of_every_test_query() -> None:
    with (SCIFACT / "qrels" / "test.tsv").open() as handle:
        judged = list(dict.fromkeys(row["query-id"] for row in csv.DictReader(handle, delimiter="\t")))
    query_ids, all_queries = read("queries")
    document_ids, documents = read("docs")
    queries = all_queries[[query_ids.index(name) for name in judged]]
    assert len(judged) == 300
    run = search(EmbeddingSet(judged, queries), EmbeddingSet(document_ids, documents), k=100)
    # Products of float16 values below 1 are multiples of 2^-48, so float64 sums are exact in any order.
    scores = queries.astype(np.float64) @ documents.astype(np.float64).T
    place = np.argsort(np.argsort(np.array(document_ids)))
    for row, name in zip(scores, judged, strict=True):
        best = np.lexsort((place, -row))[:100]
        assert run.documents(name) == tuple(document_ids[number] for number in best)
        assert run.scores(name).tolist() == row[best].tolist()
