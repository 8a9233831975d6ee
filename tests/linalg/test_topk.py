"""Exact top-k, and places without it, against a slow and obvious reference, to the last bit.

The reference multiplies and sums every pair in plain Python, in the documented halving order, and
sorts by (-score, tie). Where products are exact (float16 rows below 1) it is `math.fsum` too.
"""

from __future__ import annotations

import functools
import math
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from askew.errors import DimensionError, ParameterError
from askew.linalg import FloatArray, places, top_k
from askew.linalg.fixed import Float64Array

IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

QUERIES, DOCUMENTS, WIDTH = 9, 101, 13
DTYPES = ["float16", "float32", "float64"]
# What float16 and float32 can hold, as powers of ten.
SPAN = {"float16": 4.0, "float32": 25.0, "float64": 149.0}
DENORMAL = {"float16": 2.0**-24, "float32": 2.0**-149, "float64": 2.0**-1074}


Pair = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Draw:
    """Normal rows to bend into a kind of data: (n, d) queries and (m, d) documents."""

    x: Float64Array
    y: Float64Array
    rng: np.random.Generator
    dtype: str

    @property
    def span(self) -> float:
        return SPAN[self.dtype]

    def powers(self, *shape: int) -> Float64Array:
        return np.asarray(10.0 ** self.rng.uniform(-self.span / 2, self.span / 2, size=shape))


def few_values(draw: Draw) -> Pair:
    return draw.rng.integers(-1, 2, draw.x.shape) / 4, draw.rng.integers(-1, 2, draw.y.shape) / 4


def one_hot(draw: Draw) -> Pair:
    return np.eye(WIDTH)[draw.rng.integers(0, WIDTH, QUERIES)], np.eye(WIDTH)[draw.rng.integers(0, WIDTH, DOCUMENTS)]


def last_bit(draw: Draw) -> Pair:
    """Copies of three documents, with some entries a last bit up."""
    copies = draw.y[draw.rng.integers(0, 3, DOCUMENTS)].astype(draw.dtype)
    up = draw.rng.integers(0, 3, size=copies.shape) == 0
    return draw.x, np.where(up, np.nextafter(copies, np.array(np.inf, draw.dtype)), copies)


def one_giant(draw: Draw) -> Pair:
    draw.y[40] *= 10.0 ** (draw.span - 1)
    return draw.x, draw.y


def some_zeros(draw: Draw) -> Pair:
    draw.x[::3], draw.y[::4] = 0.0, -0.0
    return draw.x, draw.y


def cancelling(draw: Draw) -> Pair:
    """Large terms whose sum is small, for the first query."""
    x = np.abs(draw.x)
    draw.y[:, 1::2] = -draw.y[:, :-1:2] * x[0, :-1:2] / x[0, 1::2]
    return x, draw.y


KINDS: dict[str, Callable[[Draw], Pair]] = {
    "normal": lambda draw: (draw.x, draw.y),
    "unit": lambda draw: (unit(draw.x), unit(draw.y)),
    "few values": few_values,
    "constant": lambda draw: (draw.x, np.repeat(draw.y[:1], DOCUMENTS, axis=0)),
    "one-hot": one_hot,
    "last bit": last_bit,
    "mixed norms": lambda draw: (draw.x * draw.powers(QUERIES, 1), draw.y * draw.powers(DOCUMENTS, 1)),
    "huge": lambda draw: (draw.x * 10 ** (draw.span - 1), draw.y * 10 ** (draw.span - 1)),
    "tiny": lambda draw: (draw.x * 10**-draw.span, draw.y * 10**-draw.span),
    "one giant": one_giant,
    "spikes": lambda draw: (draw.x, draw.y * draw.powers(DOCUMENTS, WIDTH)),
    "some zeros": some_zeros,
    "zero documents": lambda draw: (draw.x, draw.y * 0.0),
    "zero queries": lambda draw: (draw.x * -0.0, draw.y),
    "denormal": lambda draw: (draw.x, draw.rng.integers(-3, 4, draw.y.shape) * DENORMAL[draw.dtype]),
    "cancelling": cancelling,
}


def unit(rows: Float64Array) -> Float64Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@functools.cache
def case(kind: str, dtype: str) -> tuple[FloatArray, FloatArray, IntArray]:
    """Queries, documents and ties of one kind."""
    rng = np.random.default_rng([len(kind), ord(kind[0]), len(dtype)])
    drawn = Draw(rng.normal(size=(QUERIES, WIDTH)), rng.normal(size=(DOCUMENTS, WIDTH)), rng, dtype)
    x, y = KINDS[kind](drawn)
    return x.astype(dtype), y.astype(dtype), rng.permutation(DOCUMENTS).astype(np.int64)


def tree(values: list[float]) -> float:
    while len(values) > 1:
        half = len(values) // 2
        tail = values[len(values) - half :]
        values = [a + b for a, b in zip(values[:half], tail, strict=True)] + values[half : len(values) - half]
    return values[0]


def norm(row: list[float]) -> float:
    """Summed in the same order, of a row that squares cannot take out of range."""
    exponent = math.frexp(max(map(abs, row)))[1] - 1
    scaled = [math.ldexp(value, -exponent) for value in row]
    return math.ldexp(math.sqrt(tree([value * value for value in scaled])), exponent)  # pow would round otherwise


def score(x: list[float], y: list[float], cosine: bool) -> float:
    if cosine:
        if not any(x) or not any(y):
            return 0.0
        exponent = math.frexp(norm(x))[1]  # a power of two changes no cosine
        x = [math.ldexp(value, -exponent) for value in x]
    dot = tree([a * b for a, b in zip(x, y, strict=True)])
    return (dot / (norm(x) * norm(y)) if cosine else dot) + 0.0


def rank_all(x: FloatArray, y: FloatArray, ties: IntArray, cosine: bool) -> list[list[tuple[float, int, int]]]:
    """For every query, all documents as (-score, tie, row), best first."""
    documents = y.astype(np.float64).tolist()
    return [
        sorted((-score(query, row, cosine), int(ties[number]), number) for number, row in enumerate(documents))
        for query in x.astype(np.float64).tolist()
    ]


@functools.cache
def reference(kind: str, dtype: str, cosine: bool) -> list[list[tuple[float, int, int]]]:
    return rank_all(*case(kind, dtype), cosine)


def assert_best(
    found: tuple[IntArray, Float64Array], ranked: list[list[tuple[float, int, int]]], k: int, without: Mask | None
) -> None:
    rows, scores = found
    kept = [[hit for hit in hits if without is None or not without[hit[2]]][:k] for hits in ranked]
    assert rows.tolist() == [[row for _, _, row in hits] for hits in kept]
    # 0.0 - s instead of -s, so that no expected zero is negative
    expected = np.array([[0.0 - negative for negative, _, _ in hits] for hits in kept]).reshape(scores.shape)
    assert scores.tobytes() == expected.tobytes()


def assert_places(search: dict[str, Any], ranked: list[list[tuple[float, int, int]]], targets: list[list[int]]) -> None:
    """Every query's targets, some of which may be left out, stand where the reference ranks them."""
    k, without = search["k"], search["without"]
    kept = [[hit[2] for hit in hits if without is None or not without[hit[2]]] for hits in ranked]
    wanted = [[row for row in rows if row in hits] for rows, hits in zip(targets, kept, strict=True)]
    expected = [min(hits.index(row), k) for rows, hits in zip(wanted, kept, strict=True) for row in rows]
    owner = np.repeat(np.arange(len(wanted)), [len(rows) for rows in wanted])
    rows = np.array([row for rows in wanted for row in rows], dtype=np.int64)
    assert places(target_query=owner, target_row=rows, **search).tolist() == expected


def depths_and_masks() -> list[tuple[int, Mask | None]]:
    some = np.random.default_rng(0).integers(0, 2, DOCUMENTS).astype(bool)
    first = np.arange(DOCUMENTS) < 40  # whole blocks at the smallest budget
    all_but_one = np.arange(DOCUMENTS) != 77
    every = np.ones(DOCUMENTS, dtype=bool)
    plain = [(k, None) for k in (1, 7, DOCUMENTS, DOCUMENTS + 5)]
    return [*plain, (7, some), (DOCUMENTS, some), (20, first), (3, all_but_one), (3, every)]


CASES = [
    pytest.param(kind, dtype, cosine, id=f"{kind}-{dtype}-{'cosine' if cosine else 'dot'}")
    for kind in KINDS
    for dtype in DTYPES
    for cosine in (False, True)
    # The norm of a few of the least float64 has no precision that a cosine could have.
    if (kind, dtype, cosine) != ("denormal", "float64", True)
]


@pytest.mark.parametrize(("kind", "dtype", "cosine"), CASES)
def test_the_best_are_those_of_the_reference(kind: str, dtype: str, cosine: bool) -> None:
    x, y, ties = case(kind, dtype)
    ranked = reference(kind, dtype, cosine)
    for k, without in depths_and_masks():
        for budget in (1, 40_000, 2**27):
            found = top_k(x, y, k=k, tie_rank=ties, cosine=cosine, without=without, budget=budget)
            assert_best(found, ranked, k, without)


@pytest.mark.parametrize(("kind", "dtype", "cosine"), CASES)
def test_places_are_those_of_the_reference(kind: str, dtype: str, cosine: bool) -> None:
    x, y, ties = case(kind, dtype)
    rng = np.random.default_rng(0)
    few = [rng.permutation(DOCUMENTS)[: rng.integers(0, 5)].tolist() for _ in range(QUERIES)]
    every = [rng.permutation(DOCUMENTS).tolist() for _ in range(QUERIES)]
    for k, without in depths_and_masks():
        for budget, targets in ((1, few), (40_000, few), (2**27, every)):
            search = {"queries": x, "documents": y, "tie_rank": ties, "k": k, "cosine": cosine, "budget": budget}
            assert_places({**search, "without": without}, reference(kind, dtype, cosine), targets)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dots_of_rows_below_one_are_the_exact_ones(dtype: str) -> None:
    rng = np.random.default_rng(3)
    x, y = (rng.uniform(-1, 1, size=(n, 48)).astype(np.float16).astype(dtype) for n in (5, 300))
    rows, scores = top_k(x, y, k=20, tie_rank=np.arange(300))
    for query, row, found in zip(x.astype(float), rows, scores, strict=True):
        exact = [math.fsum((query * document).tolist()) for document in y.astype(float)]
        best = sorted(range(300), key=lambda number: (-exact[number], number))[:20]
        assert row.tolist() == best
        assert found.tolist() == [exact[number] for number in best]


ANY_FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
# Norms up to what EmbeddingSet lets in; of ordinary numbers, so that every norm has full precision.
ANY_FLOAT64 = st.one_of(st.just(0.0), st.floats(1e-300, 1e149), st.floats(-1e149, -1e-300))
FEW = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 1.0 + 2.0**-23])


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    dtype, elements = draw(st.sampled_from([(np.float32, ANY_FLOAT32), (np.float64, ANY_FLOAT64), (np.float32, FEW)]))
    n, m, d = draw(st.integers(1, 3)), draw(st.integers(1, 40)), draw(st.integers(1, 5))
    seeds = draw(hnp.arrays(dtype, (draw(st.integers(1, 6)), d), elements=elements))
    x = draw(hnp.arrays(dtype, (n, d), elements=elements))
    y = seeds[draw(hnp.arrays(np.int64, m, elements=st.integers(0, len(seeds) - 1)))]  # so that there are ties
    return {
        "queries": x,
        "documents": y,
        "tie_rank": np.array(draw(st.permutations(range(m))), dtype=np.int64),
        "k": draw(st.integers(1, m + 2)),
        "cosine": draw(st.booleans()),
        "without": draw(st.none() | hnp.arrays(np.bool_, m)),
        "budget": draw(st.sampled_from([1, 2_000, 2**27])),
    }


@given(searches())
def test_the_best_of_anything_finite_are_those_of_the_reference(search: dict[str, Any]) -> None:
    ranked = rank_all(search["queries"], search["documents"], search["tie_rank"], search["cosine"])
    found = top_k(search.pop("queries"), search.pop("documents"), **search)
    assert_best(found, ranked, search["k"], search["without"])


@given(searches(), st.data())
def test_places_in_anything_finite_are_those_of_the_reference(search: dict[str, Any], data: st.DataObject) -> None:
    ranked = rank_all(search["queries"], search["documents"], search["tie_rank"], search["cosine"])
    rows = st.lists(st.integers(0, len(search["documents"]) - 1), unique=True)
    assert_places(search, ranked, [data.draw(rows) for _ in search["queries"]])


@pytest.mark.parametrize("cosine", [False, True], ids=["dot", "cosine"])
@pytest.mark.parametrize(("a", "b"), [(-600, -400), (-900, -60), (400, 400), (-300, 450), (0, -500)])
def test_powers_of_two_scale_scores_and_change_no_order(a: int, b: int, cosine: bool) -> None:
    x, y, ties = case("normal", "float64")
    rows, scores = top_k(x, y, k=20, tie_rank=ties, cosine=cosine)
    scaled_rows, scaled = top_k(np.ldexp(x, a), np.ldexp(y, b), k=20, tie_rank=ties, cosine=cosine)
    assert scaled_rows.tolist() == rows.tolist()
    assert scaled.tolist() == (scores if cosine else np.ldexp(scores, a + b)).tolist()


def test_scores_that_vanish_below_the_least_float_tie() -> None:
    x, y, ties = case("normal", "float64")
    rows, scores = top_k(x * 1e-200, y * 1e-200, k=10, tie_rank=ties, budget=1)
    assert not scores.any()
    assert rows.tolist() == [np.argsort(ties)[:10].tolist()] * QUERIES


def clustered(n: int, m: int, d: int, dtype: Any) -> tuple[FloatArray, FloatArray]:
    """Unit rows in tight clusters, with exact copies: far more near-ties at every depth than real data has."""
    rng = np.random.default_rng([n, m, d])
    centres = rng.normal(size=(m // 50, d))
    y = centres[rng.integers(0, len(centres), m)] + rng.normal(size=(m, d)) * 10.0 ** rng.uniform(-9, -1, (m, 1))
    y[rng.integers(0, m, m // 10)] = y[rng.integers(0, m, m // 10)]
    x = centres[rng.integers(0, len(centres), n)] + rng.normal(size=(n, d)) * 0.1
    return unit(x).astype(dtype), unit(y).astype(dtype)


@pytest.mark.parametrize("cosine", [False, True], ids=["dot", "cosine"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_same_bits_for_every_batch_budget_thread_count_and_layout(dtype: str, cosine: bool, tmp_path: Path) -> None:
    x, y = clustered(40, 3_000, 48, dtype)
    ties = np.random.default_rng(0).permutation(len(y)).astype(np.int64)
    mapped = np.memmap(tmp_path / "y", dtype=dtype, mode="w+", shape=y.shape)
    mapped[:] = y
    options: dict[str, Any] = {"k": 30, "tie_rank": ties, "cosine": cosine}
    rows, scores = top_k(x, y, **options)
    order = np.random.default_rng(1).permutation(len(y))

    def in_batches(size: int) -> tuple[IntArray, Float64Array]:
        parts = [top_k(x[start : start + size], y, **options) for start in range(0, len(x), size)]
        return np.vstack([part[0] for part in parts]), np.vstack([part[1] for part in parts])

    def on_threads(count: int) -> tuple[IntArray, Float64Array]:
        with threadpool_limits(limits=count, user_api="blas"):
            return top_k(x, y, **options)

    moved_rows, moved = top_k(x, y[order], **{**options, "tie_rank": ties[order]})
    alike = {
        "batches of 1": in_batches(1),
        "batches of 7": in_batches(7),
        "no budget": top_k(x, y, **options, budget=1),
        "256 KiB": top_k(x, y, **options, budget=2**18),
        "2 MiB": top_k(x, y, **options, budget=2**21),
        "1 thread": on_threads(1),
        "2 threads": on_threads(2),
        "memory-mapped": top_k(x, mapped, **options),
        "column-major": top_k(np.asfortranarray(x), np.asfortranarray(y), **options),
        "documents in another order": (order[moved_rows], moved),
    }
    for name, (other_rows, other) in alike.items():
        assert np.array_equal(other_rows, rows), name
        assert other.tobytes() == scores.tobytes(), name


@pytest.mark.parametrize("dtype", DTYPES)
def test_many_near_ties_are_settled_as_by_scoring_everything(dtype: str) -> None:
    """The whole score matrix by the kernel itself, sorted: no pruning at all."""
    from askew.linalg import row_dots

    x, y = clustered(12, 3_000, 32, dtype)
    ties = np.random.default_rng(0).permutation(len(y)).astype(np.int64)
    scores = np.stack([row_dots(np.broadcast_to(query, y.shape), y) for query in x.astype(np.float64)])
    expected = np.stack([np.lexsort((ties, -row))[:100] for row in scores])
    for budget in (1, 2**18, 2**27):
        rows, found = top_k(x, y, k=100, tie_rank=ties, budget=budget)
        assert np.array_equal(rows, expected)
        owner = np.repeat(np.arange(12), 100)
        found_places = places(x, y, owner, expected.ravel(), k=60, tie_rank=ties, budget=budget)
        assert np.array_equal(found_places.reshape(12, 100), np.tile(np.minimum(np.arange(100), 60), (12, 1)))
        assert np.array_equal(found, np.take_along_axis(scores, expected, axis=1))


@pytest.mark.parametrize(
    ("owner", "row", "k", "error", "said"),
    [
        ([1, 0], [0, 1], 2, ParameterError, "not in the order"),
        ([0, 2], [0, 1], 2, ParameterError, "outside 2 queries and 3 documents"),
        ([0, 1], [0, -1], 2, ParameterError, "outside 2 queries"),
        ([0, 1], [0, 3], 2, ParameterError, "outside 2 queries"),
        ([0, 1], [0, 1], 0, ParameterError, "depth k is 0"),
        ([0, 1], [0], 2, DimensionError, "targets of shapes"),
    ],
)
def test_targets_that_are_none(owner: list[int], row: list[int], k: int, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        places(np.eye(3)[:2], np.eye(3), owner, row, k=k, tie_rank=np.arange(3))


@pytest.mark.parametrize("shape", [(0, 5, 3), (3, 0, 3), (0, 0, 3)])
def test_nothing_to_search(shape: tuple[int, int, int]) -> None:
    n, m, d = shape
    rows, scores = top_k(np.ones((n, d)), np.ones((m, d)), k=4, tie_rank=np.arange(m))
    assert rows.shape == scores.shape == (n, min(4, m))


@pytest.mark.parametrize("data", ["ties", "distinct"])
@pytest.mark.parametrize("budget", [2**20, 2**23])
def test_memory_stays_within_a_few_budgets(budget: int, data: str) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(128, 24)).astype(np.float32), rng.normal(size=(3_000, 24)).astype(np.float32)
    if data == "ties":
        y[:] = y[0]
    ties = np.arange(len(y))
    tracemalloc.start()
    try:
        rows, _ = top_k(x, y, k=10, tie_rank=ties, budget=budget)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    results = 2 * rows.nbytes + 8 * len(y)  # and the norms
    assert peak - results < 4 * budget
