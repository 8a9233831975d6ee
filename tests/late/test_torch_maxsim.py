"""What torch finds on a device, settled here: on the CPU as the device, beside the path without torch."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from askew.data import TokenEmbeddings
from askew.errors import DimensionError, EmbeddingError, MissingExtraError, ParameterError
from askew.late import TorchMaxSim, maxsim, search


def drawn(seed: int, dtype: str, *, weights: bool, copies: bool, scale: float = 1.0) -> list[TokenEmbeddings]:
    rng = np.random.default_rng(seed)

    def made(prefix: str, lengths: Any) -> TokenEmbeddings:
        flat = rng.normal(size=(int(lengths.sum()), 24)) * scale
        if copies:  # equal tokens of different weights, at which a product cannot tell the route
            flat = flat[rng.integers(0, max(1, len(flat) // 4), len(flat))]
        held = rng.normal(size=len(flat)) if weights else None
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return TokenEmbeddings(
            [f"{prefix}{row}" for row in range(len(lengths))], flat.astype(dtype), offsets, weights=held
        )

    return [made("q", rng.integers(1, 9, 6)), made("d", rng.integers(0, 12, 80))]


@pytest.mark.parametrize("copies", [False, True], ids=["apart", "copies"])
@pytest.mark.parametrize("weights", [False, True], ids=["plain", "signed"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("budget", [2**14, 2**27])
def test_search_has_the_same_bits_and_scores_are_right_to_rounding(
    dtype: str, weights: bool, copies: bool, budget: int
) -> None:
    pytest.importorskip("torch")
    queries, documents = drawn(3, dtype, weights=weights, copies=copies)
    held = TorchMaxSim(documents, device="cpu", budget=budget)
    exact = maxsim(queries, documents)
    found = held.scores(queries)
    assert np.array_equal(np.isneginf(found), np.isneginf(exact))
    filled = documents.lengths > 0
    assert np.allclose(found[:, filled], exact[:, filled], rtol=0, atol=1e-12 if dtype == "float64" else 1e-4)
    assert np.array_equal(held.scores(queries, mean=True), found / queries.lengths[:, None])
    for k in (1, 5, 80):
        for mean in (False, True):
            mine, theirs = (
                run.items()
                for run in (search(queries, documents, k=k, mean=mean), held.search(queries, k=k, mean=mean))
            )
            for one, other in zip(mine, theirs, strict=True):
                assert one[:2] == other[:2]
                assert one[2].tolist() == other[2].tolist()


@pytest.mark.parametrize("scale", [1e-30, 1e25])
def test_tokens_far_from_length_one_are_brought_near(scale: float) -> None:
    pytest.importorskip("torch")
    queries, documents = drawn(5, "float32", weights=True, copies=True, scale=1.0)
    tokens = (documents.tokens * np.float32(scale)).astype(np.float32)
    documents = TokenEmbeddings(documents.ids, tokens, documents.offsets, weights=documents.weights)
    mine, theirs = search(queries, documents, k=9), TorchMaxSim(documents, device="cpu").search(queries, k=9)
    assert [mine.documents(query) for query in queries.ids] == [theirs.documents(query) for query in queries.ids]


def test_denormal_tokens_are_scored_as_they_are_without_torch() -> None:
    pytest.importorskip("torch")
    documents = TokenEmbeddings(["a", "b"], np.array([[1e-40, 0], [0, 2e-40]], np.float32), [0, 1, 2])
    query = TokenEmbeddings(["q"], np.eye(2, dtype=np.float32), [0, 2])
    held = TorchMaxSim(documents, device="cpu")
    assert np.array_equal(held.scores(query), maxsim(query, documents))
    assert held.search(query).documents("q") == ("b", "a")


def test_no_documents_are_no_answer() -> None:
    pytest.importorskip("torch")
    queries, documents = drawn(9, "float32", weights=False, copies=False)
    held = TorchMaxSim(documents.take([]), device="cpu")
    assert held.search(queries).documents("q0") == ()
    assert held.scores(queries).shape == (6, 0)


def test_low_precision_that_was_set_outside_is_not_used_and_is_left_as_it_was() -> None:
    torch = pytest.importorskip("torch")
    queries, documents = drawn(7, "float32", weights=False, copies=False)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        found = TorchMaxSim(documents, device="cpu").scores(queries)
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)
    filled = documents.lengths > 0
    assert np.allclose(found[:, filled], maxsim(queries, documents)[:, filled], rtol=0, atol=1e-4)


def test_what_cannot_be_scored_is_told_and_torch_is_asked_for_by_its_extra(monkeypatch: Any) -> None:
    pytest.importorskip("torch")
    documents = drawn(9, "float32", weights=False, copies=False)[1]
    with pytest.raises(ParameterError, match="no device 'nowhere'"):
        TorchMaxSim(documents, device="nowhere")
    held = TorchMaxSim(documents, device="cpu")
    with pytest.raises(ParameterError, match="from_list"):
        held.search(np.eye(24))  # type: ignore[arg-type]
    with pytest.raises(DimensionError, match="have 2 dimensions"):
        held.search(TokenEmbeddings(["q"], [[1.0, 0.0]], [0, 1]))
    with pytest.raises(EmbeddingError, match="no tokens: 'q'"):
        held.scores(TokenEmbeddings(["q"], np.empty((0, 24), np.float32), [0, 0]))
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="needs the package 'torch'"):
        TorchMaxSim(documents)
