"""Findings: each oddity is counted, named, and comes with advice; clean data give none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Finding, Qrels, examine

RNG = np.random.default_rng(0)
UNIT = RNG.normal(size=(40, 64))
UNIT /= np.linalg.norm(UNIT, axis=1, keepdims=True)


def findings(documents: Any, similarity: str = "dot", **changes: Any) -> dict[str, Finding]:
    ids = [f"d{row}" for row in range(len(documents))]
    parts: dict[str, Any] = {
        "queries": EmbeddingSet(["q"], UNIT[:1]),
        "documents": EmbeddingSet(ids, documents, bad_rows="drop"),
        "qrels": Qrels({"q": {"d1": 1}}),
    }
    found = examine(Dataset(**{**parts, **changes}), similarity=similarity)
    return {finding.code: finding for finding in found}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("similarity", ["dot", "cosine"])
def test_unit_rows_give_no_warning(dtype: Any, similarity: str) -> None:
    found = findings(UNIT.astype(dtype), similarity)
    assert list(found) == ["matched"]
    assert found["matched"].level == "note"
    assert found["matched"].message == "1 of 1 judged queries and 1 of 1 judged documents have embeddings"


def test_large_norms_are_named_with_range_similarity_and_remedy() -> None:
    norms = np.linspace(264, 405, len(UNIT))
    found = findings(UNIT * norms[:, None])["norms-documents"]
    assert found.level == "warning"
    for part in ("264", "405", "334.5", "dot is not cosine"):
        assert part in found.message
    assert "cosine" in (found.remedy or "")
    assert "leading dimensions" not in found.message
    assert "norms-documents" not in findings(UNIT * norms[:, None], "cosine")


def test_vectors_cut_short_are_recognised() -> None:
    found = findings(UNIT[:, :48], queries=EmbeddingSet(["q"], UNIT[:1, :48]))
    assert "48 leading dimensions of longer unit vectors" in found["norms-documents"].message


def test_norms_that_change_no_ranking_give_no_warning() -> None:
    """Queries of any norm, such as two encoders' side by side, and documents of one norm that is not 1."""
    scaled = EmbeddingSet(["q", "r"], UNIT[:2] * np.array([[1.414], [7.0]]))
    assert list(findings(UNIT * 3, queries=scaled)) == ["matched"]
    assert list(findings(UNIT * np.where(np.arange(40) == 5, 1.1, 1.0)[:, None])) == ["matched", "norms-documents"]


def test_zero_rows_are_counted_and_named() -> None:
    documents = UNIT.copy()
    documents[[3, 7]] = 0.0
    found = findings(documents)
    assert (found["zero-documents"].count, found["zero-documents"].examples) == (2, ("d3", "d7"))
    assert "norms-documents" not in found
    assert list(findings(np.zeros((3, 64)))) == ["matched", "zero-documents"]


def test_dropped_rows_are_counted_and_named() -> None:
    documents = UNIT.copy()
    documents[2, 5] = np.nan
    found = findings(documents)["dropped-documents"]
    assert (found.count, found.examples) == (1, ("d2",))


def test_what_does_not_match_is_counted_and_named() -> None:
    judged = {"q": {"d1": 1, "x": 1}, "gone": {"d1": 1}, "hopeless": {"d1": 0}}
    found = findings(UNIT, qrels=Qrels(judged))
    assert found["matched"].message == "1 of 3 judged queries and 1 of 2 judged documents have embeddings"
    assert found["missing-queries"].examples == ("gone", "hopeless")
    assert found["missing-documents"].examples == ("x",)
    assert found["no-relevant"].examples == ("hopeless",)
    assert all(finding.remedy for finding in found.values() if finding.level == "warning")


def test_examples_are_a_few() -> None:
    found = findings(UNIT, qrels=Qrels({"q": {f"x{n}": 1 for n in range(1_200)} | {"d1": 1}}))["missing-documents"]
    assert found.count == 1_200
    assert len(found.examples) == 5
    assert found.message.startswith("1,200 ")
    assert found.to_json() == {
        "code": "missing-documents",
        "level": "warning",
        "message": found.message,
        "count": 1_200,
        "examples": list(found.examples),
        "remedy": found.remedy,
    }
