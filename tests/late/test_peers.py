"""Beside the peers: the same scores where they are right, and the inputs where they are not.

They are not among the packages for development: sentence-transformers brings torch, and maxsim-cpu is built
for some platforms only. Where they are installed, these tests run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.data import TokenEmbeddings
from askew.late import maxsim, search


def drawn() -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(0)

    def unit(count: int) -> Any:
        rows = rng.normal(size=(count, 32)).astype(np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    return [unit(n) for n in (4, 1, 7)], [unit(n) for n in (3, 9, 1, 20)]


def tokens(items: Any) -> TokenEmbeddings:
    return TokenEmbeddings.from_list(range(len(items)), items)


def test_sentence_transformers_gives_the_same_scores() -> None:
    util = pytest.importorskip("sentence_transformers.util")
    torch = pytest.importorskip("torch")
    queries, documents = drawn()
    ours = maxsim(tokens(queries), tokens(documents))
    theirs = util.maxsim([torch.tensor(one) for one in queries], [torch.tensor(one) for one in documents])
    assert np.allclose(ours, theirs.numpy(), rtol=0, atol=1e-5)
    # Its tensors are taken as they come, bfloat16 too.
    mine = tokens([torch.tensor(one, requires_grad=True) for one in queries])
    assert np.array_equal(maxsim(mine, tokens(documents)), ours)
    half = tokens([torch.tensor(one).bfloat16() for one in queries])
    assert np.allclose(maxsim(half, tokens(documents)), ours, atol=0.1)
    # A mask that leaves a document empty: ours is lowest and says so.
    mask = torch.ones((1, 3))
    padded = torch.tensor(documents[0])[None]
    theirs = util.maxsim(torch.tensor(queries[0])[None], padded, b_mask=mask * 0)
    empty = TokenEmbeddings.from_padded(["d"], padded, mask * 0)
    assert maxsim(tokens(queries[:1]), empty).tolist() == [[-np.inf]]
    assert not theirs.isnan().any()


def test_maxsim_cpu_gives_the_same_scores_and_refuses_what_we_take() -> None:
    peer = pytest.importorskip("maxsim_cpu")
    queries, documents = drawn()
    ours = maxsim(tokens(queries), tokens(documents))
    theirs = np.array([peer.maxsim_scores_variable(one, documents) for one in queries])
    assert np.allclose(ours, theirs, rtol=0, atol=1e-5)
    half = [one.astype(np.float16) for one in documents]
    with pytest.raises(TypeError):
        peer.maxsim_scores_variable(queries[0].astype(np.float16), half)
    assert np.allclose(maxsim(tokens([one.astype(np.float16) for one in queries]), tokens(half)), ours, atol=5e-3)


def test_padding_that_is_multiplied_by_zero_beats_an_all_negative_document() -> None:
    """What a mask by multiplication makes of a document whose tokens are all unlike the query's."""
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    padded = np.array([[[-1.0, 0.0], [0.0, 0.0]], [[-0.1, 0.9], [-0.2, 0.9]]], dtype=np.float32)
    mask = np.array([[1, 0], [1, 1]])
    wrong = ((query @ padded.transpose(0, 2, 1)) * mask[:, None, :]).max(axis=2).sum(axis=1)
    assert wrong.argmax() == 0
    documents = TokenEmbeddings.from_padded(["unlike", "near"], padded, mask)
    assert search(tokens([query]), documents).documents("0") == ("near", "unlike")
