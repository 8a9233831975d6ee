"""MaxSim and Signed MaxSim against a slow and obvious reference, to the last bit."""

from __future__ import annotations

import dataclasses
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from askew.data import Run, TokenEmbeddings
from askew.errors import AskewError, DimensionError, EmbeddingError, MatchError, ParameterError
from askew.late import MaxSimScorer, explain, maxsim, maxsim_pairs, search
from askew.linalg import blas_threads, row_dots, tree_sum
from askew.linalg.fixed import Float64Array
from askew.retrieval import rerank

DTYPES = ("float16", "float32", "float64")
ENGINES = ("blas", "compiled")
KINDS = ("normal", "few values", "copies", "huge", "tiny", "zeros", "denormal")


@contextmanager
def engine(name: str) -> Iterator[None]:
    """Products by the BLAS, as where llvmlite is not installed, or by compiled loops, however few they are."""
    if name == "compiled":
        pytest.importorskip("llvmlite")
        with mock.patch("askew.late.scan._WORTH_COMPILING", 0):
            yield
    else:
        with mock.patch("askew.late.scan.kernels", return_value=None):
            yield


def obvious(queries: TokenEmbeddings, documents: TokenEmbeddings) -> Float64Array:
    """Every pair in plain Python: route by the raw similarity, then multiply by both weights."""
    scores = np.full((len(queries), len(documents)), -np.inf)
    for q, asked in enumerate(queries.ids):
        for d, held in enumerate(documents.ids):
            tokens, own = documents.tokens_of(held), queries.tokens_of(asked)
            if not len(tokens):
                continue
            terms = []
            for place, token in enumerate(own):
                exact = [float(row_dots(token[None], other[None])[0]) + 0.0 for other in tokens]
                route = max(range(len(exact)), key=lambda at: (exact[at], -at))
                term = exact[route]
                if queries.weights is not None:
                    term *= queries.weights[queries.offsets[q] + place]
                if documents.weights is not None:
                    term *= documents.weights[documents.offsets[d] + route]
                terms.append(term)
            scores[q, d] = tree_sum(np.array([terms]))[0] + 0.0
    return scores


def side(
    rng: np.random.Generator, kind: str, dtype: str, lengths: list[int], weights: str, prefix: str
) -> TokenEmbeddings:
    total, width = sum(lengths), 5
    flat: Any = rng.normal(size=(total, width))
    if kind == "few values":
        flat = rng.integers(-1, 2, flat.shape) / 2
    elif kind == "copies":
        flat = flat[rng.integers(0, max(1, min(3, total)), total)] if total else flat
        up = rng.integers(0, 3, flat.shape) == 0
        flat = flat.astype(dtype)
        flat = np.where(up, np.nextafter(flat, np.array(np.inf, dtype)), flat)
    elif kind in ("huge", "tiny"):
        span = {"float16": 3, "float32": 20, "float64": 100}[dtype]
        flat = flat * 10.0 ** (span if kind == "huge" else -span)
    elif kind == "zeros":
        flat[::2] = -0.0
    elif kind == "denormal":
        flat = rng.integers(-3, 4, flat.shape) * float(np.finfo(dtype).smallest_subnormal)
    held: Any = None
    if weights == "signs":
        held = rng.choice([-1.0, 1.0], total)
    elif weights == "weights":
        held = rng.normal(size=total)
    ids = [f"{prefix}{name}" for name in rng.permutation(len(lengths))]
    return TokenEmbeddings(ids, flat.astype(dtype), np.concatenate([[0], np.cumsum(lengths, dtype=int)]), weights=held)


def case(seed: int, kind: str, dtype: str, weights: tuple[str, str]) -> tuple[TokenEmbeddings, TokenEmbeddings]:
    rng = np.random.default_rng(seed)
    queries = side(rng, kind, dtype, rng.integers(1, 5, 3).tolist(), weights[0], "q")
    return queries, side(rng, kind, dtype, rng.integers(0, 7, 11).tolist(), weights[1], "d")


def ranked(queries: TokenEmbeddings, documents: TokenEmbeddings, scores: Float64Array, k: int) -> Run:
    order = np.array([np.lexsort((documents.tie_rank, -row))[:k] for row in scores])
    return Run.from_rows(queries.ids, documents.ids, order, np.take_along_axis(scores, order, axis=1))


def same(one: Run, other: Run) -> bool:
    pairs = zip(one.items(), other.items(), strict=True)
    return all(a[:2] == b[:2] and np.array_equal(a[2], b[2]) for a, b in pairs)


@pytest.mark.parametrize("by", ENGINES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weights", [("", ""), ("signs", "signs"), ("weights", "weights"), ("", "signs")], ids="/".join)
def test_all_pairs_some_pairs_and_search_are_the_reference_to_the_last_bit(
    dtype: str, kind: str, weights: tuple[str, str], by: str
) -> None:
    queries, documents = case(7, kind, dtype, weights)
    wanted = obvious(queries, documents)
    with engine(by):
        assert np.array_equal(maxsim(queries, documents), wanted)
        pairs = [(q, d) for q in queries.ids for d in reversed(documents.ids)]
        assert np.array_equal(maxsim_pairs(queries, documents, pairs), wanted[:, ::-1].ravel())
        for k in (1, 3, 20):
            assert same(search(queries, documents, k=k), ranked(queries, documents, wanted, k))


@given(
    seed=st.integers(0, 2**32),
    kind=st.sampled_from(KINDS),
    dtype=st.sampled_from(DTYPES),
    weights=st.tuples(*[st.sampled_from(["", "signs", "weights"])] * 2),
    budget=st.sampled_from([1, 3000, 10**6]),
    k=st.integers(1, 12),
    by=st.sampled_from(ENGINES),
)
def test_no_budget_changes_a_bit(
    seed: int, kind: str, dtype: str, weights: tuple[str, str], budget: int, k: int, by: str
) -> None:
    queries, documents = case(seed, kind, dtype, weights)
    wanted = obvious(queries, documents)
    with engine(by):
        assert np.array_equal(maxsim(queries, documents, budget=budget), wanted)
        assert same(search(queries, documents, k=k, budget=budget), ranked(queries, documents, wanted, k))


def large(weights: bool, dtype: str = "float32") -> tuple[TokenEmbeddings, TokenEmbeddings]:
    rng = np.random.default_rng(3)
    lengths, own = rng.integers(0, 60, 60), rng.integers(1, 20, 7)

    def made(prefix: str, counts: npt.NDArray[np.int64]) -> TokenEmbeddings:
        flat = rng.normal(size=(counts.sum(), 64))
        flat /= np.linalg.norm(flat, axis=1, keepdims=True)
        held = np.tanh(rng.normal(size=len(flat))) if weights else None
        ids = [f"{prefix}{row}" for row in range(len(counts))]
        return TokenEmbeddings(ids, flat.astype(dtype), np.concatenate([[0], np.cumsum(counts)]), weights=held)

    return made("q", own), made("d", lengths)


@pytest.mark.parametrize("weights", [False, True], ids=["plain", "signed"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_threads_and_budgets_change_no_bit_and_search_is_the_best_of_all_pairs(weights: bool, dtype: str) -> None:
    queries, documents = large(weights, dtype)
    with engine("blas"):
        scores = maxsim(queries, documents)
    wanted = ranked(queries, documents, scores, 10)
    for by in ENGINES:
        for threads in (1, 2):
            with engine(by), threadpool_limits(threads):
                for budget in (2**17, 2**27):
                    assert np.array_equal(maxsim(queries, documents, budget=budget), scores)
                    assert same(search(queries, documents, k=10, budget=budget), wanted)
    row = documents.rows(["d7"])[0]
    assert maxsim(queries, documents.take(["d7"]))[:, 0].tolist() == scores[:, row].tolist()


@pytest.mark.parametrize("by", ENGINES)
def test_memory_goes_by_the_budget(by: str) -> None:
    rng = np.random.default_rng(0)
    documents = TokenEmbeddings(range(800), rng.normal(size=(40_000, 32)).astype(np.float16), np.arange(0, 40_001, 50))
    queries = TokenEmbeddings(range(10), rng.normal(size=(320, 32)).astype(np.float16), np.arange(0, 321, 32))
    for work in (maxsim, search):
        with engine(by):
            work(queries.take(["0"]), documents.take(["0"]))  # what is compiled stays
            tracemalloc.start()
            work(queries, documents, budget=2**22)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
        assert peak < 2**22 + 2 * 10 * 800 * 8 + 2**20, work


@pytest.mark.parametrize("dim", [1, 2, 3, 31, 32, 33, 100, 129])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_compiled_loops_take_every_dimension_and_length(dim: int, dtype: str) -> None:
    """Rows that fill no vector, documents that fill no step, and runs of equal tokens, at which no route is sure."""
    rng = np.random.default_rng(dim)

    def made(prefix: str, lengths: list[int]) -> TokenEmbeddings:
        flat = rng.normal(size=(sum(lengths), dim))
        flat[1::3] = flat[::3][: len(flat[1::3])]
        ids = [f"{prefix}{row}" for row in range(len(lengths))]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        return TokenEmbeddings(ids, flat.astype(dtype), offsets, weights=rng.normal(size=len(flat)))

    queries, documents = made("q", [1, 33, 5]), made("d", [1, 2, 3, 4, 7, 40])
    with engine("compiled"):
        assert np.array_equal(maxsim(queries, documents), obvious(queries, documents))
        found = search(queries, documents, k=6)
    with engine("blas"):
        assert same(found, search(queries, documents, k=6))


def test_equal_routes_go_to_the_lowest_token_and_its_sign_decides() -> None:
    twice = [[1.0, 0.0], [1.0, 0.0]]
    queries = TokenEmbeddings(["q"], [[1.0, 0.0]], [0, 1])
    for signs, score in (([1, -1], 1.0), ([-1, 1], -1.0)):
        documents = TokenEmbeddings(["d"], twice, [0, 2], weights=signs)
        assert maxsim(queries, documents).tolist() == [[score]]
        (match,) = explain(queries, documents, "q", "d")
        assert (match.document_token, match.document_weight, match.contribution) == (0, signs[0], score)


def test_the_paper_s_worked_example() -> None:
    """ "Open-source AI tools that do not mention Google": both documents offer 0.4 to the incidental token."""
    wanted, unwanted = [[1.0, 0.0, 0.4]], [[1.0, 0.0, 0.4], [0.0, 1.0, 0.4]]
    documents = TokenEmbeddings.from_list(["open", "google"], [wanted, unwanted])
    query = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    plain = maxsim(TokenEmbeddings.from_list(["q"], [query]), documents)
    assert plain[0, 0] == plain[0, 1]
    signed = TokenEmbeddings.from_list(["q"], [[*query, [0.0, 1.0, 0.0]]], weights=[[1, 1, -1]])
    told = maxsim(signed, documents)
    assert (told[0, 0], told[0, 1]) == (1.4, pytest.approx(0.4))


def test_explanations_add_up_to_the_score() -> None:
    queries, documents = case(5, "normal", "float32", ("weights", "weights"))
    scores = maxsim(queries, documents)
    for q, query in enumerate(queries.ids):
        for d, document in enumerate(documents.ids):
            told = explain(queries, documents, query, document)
            if not documents.lengths[d]:
                assert told == ()
                continue
            assert [match.query_token for match in told] == list(range(queries.lengths[q]))
            assert sum(match.contribution for match in told) == pytest.approx(scores[q, d], abs=1e-12)
            for match in told:
                parts = dataclasses.asdict(match)
                product = parts["similarity"] * parts["query_weight"] * parts["document_weight"]
                assert product == pytest.approx(match.contribution, rel=1e-15)
                sims = documents.tokens_of(document) @ queries.tokens_of(query)[match.query_token]
                assert int(np.argmax(sims)) == match.document_token


def test_masks_never_enter_a_maximum_and_the_mean_counts_what_is_left() -> None:
    padded = np.array([[[-1.0, 0.0], [0.0, 0.0]], [[-0.5, 0.0], [-2.0, 0.0]]])
    mask = np.array([[1, 0], [1, 1]])
    documents = TokenEmbeddings.from_padded(["a", "b"], padded, mask)
    queries = TokenEmbeddings(["q"], [[1.0, 0.0], [9.0, 9.0], [1.0, 0.0]], [0, 3])
    keep = [True, False, True]
    assert maxsim(queries, documents, query_mask=keep).tolist() == [[-2.0, -1.0]]
    assert maxsim(queries, documents, query_mask=keep, mean=True).tolist() == [[-1.0, -0.5]]
    whole = TokenEmbeddings.from_padded(["a", "b"], padded)
    assert maxsim(queries, whole, query_mask=[keep], document_mask=mask).tolist() == [[-2.0, -1.0]]
    assert search(queries, whole, query_mask=keep, document_mask=mask, mean=True, k=1).scores("q").tolist() == [-0.5]
    gone = maxsim(queries, whole, document_mask=[[0, 0], [1, 1]])
    assert gone[0, 0] == -np.inf
    assert np.isfinite(gone[0, 1])


def test_documents_without_tokens_come_last_by_id() -> None:
    documents = TokenEmbeddings.from_list(["c", "z", "b"], [[], [[-5.0, 0.0]], []])
    run = search(TokenEmbeddings(["q"], [[1.0, 0.0]], [0, 1]), documents)
    assert run.documents("q") == ("z", "b", "c")
    assert run.scores("q").tolist() == [-5.0, -np.inf, -np.inf]
    none = search(TokenEmbeddings(["q"], [[1.0]], [0, 1]), TokenEmbeddings.from_list(["a"], [[]]))
    assert none.documents("q") == ("a",)


def test_no_documents_are_no_answer() -> None:
    empty = TokenEmbeddings.from_list([], [])
    assert [(query, held) for query, held, _ in search(items([[1.0]]), empty).items()] == [("x0", ())]
    assert list(search(empty, empty).items()) == []
    assert maxsim(items([[1.0]]), empty).shape == (1, 0)


def test_searches_at_once_leave_the_threads_of_the_process() -> None:
    rng = np.random.default_rng(4)
    documents = items(*rng.normal(size=(200, 50, 16)))
    queries = items(rng.normal(size=(8, 16)))
    with threadpool_limits(2), engine("blas"), ThreadPoolExecutor(3) as pool:
        found = list(pool.map(lambda _: search(queries, documents, k=3, budget=2**18).documents("x0"), range(24)))
        assert blas_threads() == 2
    assert set(found) == {search(queries, documents, k=3).documents("x0")}


def test_a_constant_corpus_is_settled_in_parts() -> None:
    documents = TokenEmbeddings([f"{row:05}" for row in range(9000)], np.ones((9000, 2)), np.arange(9001))
    run = search(TokenEmbeddings(["q"], [[1.0, 1.0]], [0, 1]), documents, k=5)
    assert run.documents("q") == ("00000", "00001", "00002", "00003", "00004")


def test_two_stages_give_the_documents_of_the_first_in_the_order_of_the_second() -> None:
    queries, documents = large(weights=True)
    scorer = MaxSimScorer(queries, documents)
    whole = search(queries, documents, k=60)
    first = Run({query: dict.fromkeys(documents.ids, 0.0) for query in queries.ids})
    assert same(rerank(first, scorer), whole)
    kept = rerank(first, scorer, k=2, depth=10)
    shallow = set(sorted(documents.ids)[:10])
    assert all(set(kept.documents(query)) <= shallow and len(kept.documents(query)) == 2 for query in queries.ids)
    with pytest.raises(MatchError, match="'nobody'"):
        rerank(Run({"q0": {"nobody": 1.0}}), scorer)
    with pytest.raises(ParameterError, match="depth is 0"):
        rerank(first, scorer, depth=0)


@pytest.mark.parametrize(
    ("make", "kind", "told"),
    [
        (lambda: maxsim(items([[1.0, 0.0]]), items([[1.0]])), DimensionError, "have 2 dimensions and those"),
        (lambda: maxsim(items([]), items([[1.0]])), EmbeddingError, "1 query has no tokens: 'x0'"),
        (lambda: maxsim(items([[1e149]]), items([[1e149]]), mean=True), AskewError, ""),
        (lambda: maxsim(items([[1e149]], weights=[[1e9]]), items([[1e149]])), EmbeddingError, "could overflow"),
        (lambda: search(items([[1.0]]), items([[1.0]]), k=0), ParameterError, "k: 0 documents"),
        (lambda: search(items([[1.0]]), items([[1.0]]), k=1.5), ParameterError, "k: 1.5 documents"),  # type: ignore[arg-type]
        (lambda: search(items([[1.0]]), items([[1.0]]), budget=0), ParameterError, "budget: 0 bytes"),
        (lambda: search(np.eye(2), items([[1.0]])), ParameterError, "queries: it is a ndarray.*from_list"),  # type: ignore[arg-type]
        (lambda: maxsim(items([[1.0]]), np.eye(2)), ParameterError, "documents: .*from_padded"),  # type: ignore[arg-type]
        (lambda: MaxSimScorer(np.eye(2), items([[1.0]])), ParameterError, "from_list"),  # type: ignore[arg-type]
        (lambda: maxsim_pairs(items([[1.0]]), items([[1.0]]), [("x0", "y")]), MatchError, "'y'"),
    ],
)
def test_what_cannot_be_scored_is_told(make: Any, kind: Any, told: str) -> None:
    if not told:
        assert np.isfinite(make()).all()
        return
    with pytest.raises(kind, match=told):
        make()


def items(*held: Any, weights: Any = None) -> TokenEmbeddings:
    return TokenEmbeddings.from_list([f"x{row}" for row in range(len(held))], held, weights=weights)


@pytest.mark.parametrize("mib", [4, 16])
def test_copies_with_weights_stay_within_the_budget(mib: int) -> None:
    """Where every token of a document is a candidate, all that is kept of them counts."""
    rng = np.random.default_rng(0)
    tokens = np.repeat(rng.normal(size=(1, 64)).astype(np.float32), 300 * 60, axis=0)
    documents = TokenEmbeddings(range(300), tokens, np.arange(301) * 60, weights=rng.normal(size=len(tokens)))
    asked = rng.normal(size=(256, 64)).astype(np.float32)
    queries = TokenEmbeddings(range(8), asked, np.arange(9) * 32, weights=rng.normal(size=256))
    for run in (
        lambda: search(queries, documents, k=5, budget=mib << 20),
        lambda: maxsim(queries, documents, budget=mib << 20),
    ):
        run()
        tracemalloc.start()
        try:
            run()
            assert tracemalloc.get_traced_memory()[1] <= mib << 20
        finally:
            tracemalloc.stop()
