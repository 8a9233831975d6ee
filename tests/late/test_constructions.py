"""Sparse vectors through (Signed) MaxSim are their inner products, within the bound that each code states."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from askew.data import TokenEmbeddings
from askew.errors import DimensionError, EmbeddingError, ParameterError
from askew.formats import read_tokens, write_tokens
from askew.late import (
    DigitCode,
    OneHotCode,
    choose_code,
    excluding,
    maxsim,
    search,
    sparse_documents,
    sparse_queries,
    unpreservable_pair,
)
from askew.linalg.fixed import Float64Array

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def drawn(seed: int, size: int, *, neighbours: bool, signed: bool, count: int = 12, nonzero: int = 16) -> Any:
    """Sparse rows of entries U(0.1, 1); neighbours all lie in the last 40 indices."""
    rng = np.random.default_rng(seed)
    low = max(0, size - 40) if neighbours else 0
    rows = []
    for _ in range(count):
        places = np.unique(rng.integers(low, size, nonzero))
        values = rng.uniform(0.1, 1.0, len(places)) * (rng.choice([-1, 1], len(places)) if signed else 1)
        rows.append(sparse.csr_array((values, (np.zeros(len(places), int), places)), shape=(1, size)))
    return sparse.csr_array(sparse.vstack(rows))


def error_of(queries: Any, documents: Any, code: Any, dtype: str) -> float:
    """The largest error as a share of Σ|u_i v_i|, over pairs that share an index; 0 elsewhere must be exact."""
    names = [str(row) for row in range(queries.shape[0])]
    scores = maxsim(
        sparse_queries(names, queries, code=code, dtype=dtype),
        sparse_documents(names, documents, code=code, dtype=dtype),
    )
    wanted: Float64Array = (queries @ documents.T).toarray()
    scale: Float64Array = (abs(queries) @ abs(documents).T).toarray()
    assert np.all(scores[scale == 0] == 0)
    return float(np.max(np.abs(scores - wanted)[scale > 0] / scale[scale > 0], initial=0.0))


@pytest.mark.parametrize("neighbours", [False, True], ids=["random", "neighbours"])
@pytest.mark.parametrize("signed", [False, True], ids=["non-negative", "signed"])
@pytest.mark.parametrize(
    ("code", "dtype", "most"),
    [
        (DigitCode(1000, 1), "float64", 1e-9),
        (DigitCode(2000, 2), "float64", 1e-12),
        (DigitCode(30_522, 3), "float64", 1e-12),
        (DigitCode(30_522, 4), "float64", 1e-12),
        (DigitCode(30_522, 7), "float64", 1e-12),
        (DigitCode(10**6, 4), "float64", 1e-12),
        (DigitCode(10**7, 5), "float64", 1e-12),
        (choose_code(30_522, "float32"), "float32", 1e-5),
        (choose_code(10**7, "float32"), "float32", 1e-5),
        (choose_code(30_522, "float64"), "float64", 1e-12),
        (choose_code(10**7, "float64"), "float64", 1e-12),
        (choose_code(30_522, "float16"), "float16", 4e-3),
        (OneHotCode(83_521, 17, 4), "float16", 4e-3),
        (OneHotCode(83_521, 17, 4), "float64", 1e-14),
    ],
    ids=str,
)
def test_signed_maxsim_is_the_inner_product(code: Any, dtype: str, most: float, signed: bool, neighbours: bool) -> None:
    queries = drawn(1, code.size, neighbours=neighbours, signed=signed)
    documents = drawn(2, code.size, neighbours=neighbours, signed=signed)
    found = error_of(queries, documents, code, dtype)
    assert found <= most
    assert found <= code.error(dtype)


@given(
    seed=st.integers(0, 2**32),
    size=st.integers(1, 10**7),
    dtype=st.sampled_from(["float16", "float32", "float64"]),
    neighbours=st.booleans(),
    data=st.data(),
)
def test_no_code_errs_by_more_than_it_says(seed: int, size: int, dtype: Any, neighbours: bool, data: Any) -> None:
    codes = [DigitCode(size, digits) for digits in (1, 2, 3, 5, 8)]
    codes = [code for code in codes if code.error(dtype) < 0.1 and code.holds(dtype)]
    code = data.draw(st.sampled_from([choose_code(size, dtype), *codes]))
    queries, documents = (
        drawn(seed + side, size, neighbours=neighbours, signed=True, count=4, nonzero=9) for side in range(2)
    )
    assert error_of(queries, documents, code, dtype) <= code.error(dtype)


def test_r3_cannot_do_without_float64() -> None:
    queries, documents = (drawn(side, 1000, neighbours=True, signed=False) for side in range(2))
    assert error_of(queries, documents, DigitCode(1000, 1), "float32") > 0.01
    assert DigitCode(1000, 1).error("float32") > 0.1


def test_the_choice_takes_the_fewest_dimensions_that_are_exact_enough() -> None:
    assert choose_code(1000, "float64", tolerance=1e-8) == DigitCode(1000, 1)
    assert isinstance(choose_code(30_522, "float32"), OneHotCode)
    for size in (1, 2, 1000, 30_522, 10**7):
        for dtype, tolerance in (("float16", 4e-3), ("float32", 1e-6), ("float64", 1e-12)):
            code = choose_code(size, dtype)
            assert code.error(dtype) <= tolerance  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="within 1e-09 in float16"):
        choose_code(1000, "float16", tolerance=1e-9)


def test_signs_are_what_plain_maxsim_cannot_say() -> None:
    one, minus = (sparse.csr_array(np.array([[value, 0.0]])) for value in (1.0, -1.0))
    documents = sparse_documents(["d"], one, dtype="float64")
    signed = sparse_queries(["q"], minus, dtype="float64")
    assert maxsim(signed, documents).tolist() == [[-1.0]]
    unsigned = TokenEmbeddings(["q"], -sparse_queries(["q"], one, dtype="float64").tokens, [0, 1])
    assert maxsim(unsigned, documents).tolist() == [[0.0]]


def test_empty_vectors_score_nothing() -> None:
    none, some = sparse.csr_array((1, 9)), sparse.csr_array([[0.0] * 8 + [2.0]])
    for queries, documents in ((none, some), (some, none), (none, none)):
        assert maxsim(sparse_queries(["q"], queries), sparse_documents(["d"], documents)).tolist() == [[0.0]]


def test_two_codes_do_not_meet(tmp_path: Path) -> None:
    wide = np.zeros((1, 1001))
    wide[0, [3, 500, 999]] = 1
    queries = sparse_queries(["q"], sparse.csr_array(wide[:, :1000]), dtype="float64")  # base 10
    documents = sparse_documents(["d"], sparse.csr_array(wide), dtype="float64")  # base 11
    kept = read_tokens(write_tokens(documents, tmp_path / "docs"))
    for other in (documents, documents.take(["d"]), documents.masked(np.ones(4)), kept):
        with pytest.raises(
            EmbeddingError, match="3 digits of base 10 in sparse query vectors, and 3 digits of base 11"
        ):
            maxsim(queries, other)
    with pytest.raises(EmbeddingError, match="one dtype"):
        search(sparse_queries(["q"], sparse.csr_array(wide)), documents)
    with pytest.raises(EmbeddingError, match="base 11"):
        excluding(sparse_queries(["d"], sparse.csr_array(wide[:, :1000]), dtype="float64"), documents)
    code = choose_code(1001, "float64")
    queries = sparse_queries(["q"], sparse.csr_array(wide[:, :1000]), code=code, dtype="float64")
    assert maxsim(queries, documents) == pytest.approx(3)


@pytest.mark.parametrize("dim", [1, 2, 5, 20])
def test_no_single_vectors_of_d_dimensions_keep_d_plus_one_basis_vectors_apart(dim: int) -> None:
    rng = np.random.default_rng(dim)
    best = np.linalg.svd(rng.normal(size=(dim + 1, dim + 1)))[0][:, :dim]
    spread = np.full(dim + 1, (dim + 1) ** -0.5)
    even = np.linalg.svd(np.eye(dim + 1) - np.outer(spread, spread))[0][:, :dim]  # the best there is: off by 1/(d + 1)
    for left, right in ((best, best), (rng.normal(size=(dim + 1, dim)),) * 2, (even, even)):
        row, column, off = unpreservable_pair(left, right)
        assert off >= 1 / (dim + 1) - 1e-12
        assert off == pytest.approx(abs(float(row == column) - float(left[row] @ right[column])))
    assert unpreservable_pair(even, even)[2] == pytest.approx(1 / (dim + 1))
    basis = sparse.csr_array(np.eye(dim + 1))
    names = [str(row) for row in range(dim + 1)]
    code = DigitCode(dim + 1, 1)
    kept = maxsim(*(make(names, basis, code=code, dtype="float64") for make in (sparse_queries, sparse_documents)))
    assert code.dim == 3
    assert np.array_equal(kept, np.eye(dim + 1))
    with pytest.raises(DimensionError, match="more vectors than dimensions"):
        unpreservable_pair(np.eye(dim), np.eye(dim))


@pytest.mark.parametrize(
    ("make", "kind", "told"),
    [
        (lambda: sparse_queries(["q"], sparse.csr_array([[np.nan]])), EmbeddingError, "of 'q' hold NaN or infinite"),
        (lambda: sparse_queries(["q"], np.array([1.0, 0.0])), EmbeddingError, "of shape \\(2,\\)"),  # type: ignore[arg-type]
        (lambda: sparse_queries(["q"], None), EmbeddingError, "object"),  # type: ignore[arg-type]
        (lambda: sparse_queries(["q"], sparse.csr_array([[1j]])), EmbeddingError, "complex128"),
        (lambda: sparse_queries(["p", "q"], sparse.csr_array([[1.0]])), EmbeddingError, "2 ids for 1 vectors"),
        (lambda: sparse_queries(["q"], sparse.csr_array([[1e-6, 1]]), dtype="float16"), EmbeddingError, "small.*'q'"),
        (lambda: sparse_queries(["q"], sparse.csr_array([[1e-46, 1]])), EmbeddingError, "too small for float32.*'q'"),
        (lambda: sparse_documents(["d"], sparse.csr_array([[1e-39, 1]])), EmbeddingError, "too small for float32.*'d'"),
        (lambda: choose_code(9, "int8"), ParameterError, "int8"),
        (lambda: choose_code(2.5), ParameterError, "2.5 ids"),  # type: ignore[arg-type]
        (lambda: sparse_documents(["d"], sparse.csr_array((1, 9)), code=DigitCode(8, 1)), DimensionError, "tells 8"),
        (lambda: sparse_documents(["d"], sparse.csr_array([[1e9]]), dtype="float16"), EmbeddingError, "'d'"),
        (lambda: sparse_documents(["d"], sparse.csr_array([[1.0]]), dtype="int8"), ParameterError, "int8"),
        (lambda: DigitCode(9, 2).query([9], [1.0]), ParameterError, "from 0 to 8"),
        (lambda: OneHotCode(100, 9, 3), ParameterError, "9\\^3 words"),
        (lambda: choose_code(0), ParameterError, "0 ids"),
    ],
)
def test_what_cannot_be_coded_is_told(make: Any, kind: Any, told: str) -> None:
    with pytest.raises(kind, match=told):
        make()


@pytest.mark.parametrize("name", ["semantoneg", "cranfield"])
def test_splade_through_the_construction_has_the_top_of_the_sparse_product(name: str) -> None:
    home = DATA / name / "embeddings" / "splade-tiny"
    if not home.is_dir():
        pytest.skip("the data are not here")
    queries, documents = (
        sparse.csr_array(sparse.load_npz(home / f"{side}.npz")).astype(np.float64) for side in ("queries", "docs")
    )
    queries = queries[:40]
    names = [f"{row:05}" for row in range(documents.shape[0])]
    asked = [str(row) for row in range(queries.shape[0])]
    run = search(
        sparse_queries(asked, queries, dtype="float64"), sparse_documents(names, documents, dtype="float64"), k=100
    )
    exact: Float64Array = (queries @ documents.T).toarray()
    for query, row in zip(asked, exact, strict=True):
        order = np.argsort(-row, kind="stable")[:100]
        assert run.documents(query) == tuple(names[at] for at in order)
        assert np.allclose(run.scores(query), row[order], rtol=0, atol=1e-12 * row.max())
