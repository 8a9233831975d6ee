"""Moments as states that add up, rows of pairs, and whitening by its identities."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import AskewError, DimensionError, EmbeddingError, InputError, LabelError, ParameterError
from askew.geometry.moments import Covariance, Moments
from askew.geometry.rows import RelevanceRows
from askew.geometry.whitening import Whitening, ledoit_wolf
from askew.linalg.fixed import Float64Array

RNG = np.random.default_rng


def assert_same_state(first: Covariance, second: Covariance) -> None:
    assert first.count == second.count
    size = 1 + first.quartic**0.25
    np.testing.assert_allclose(first.mean, second.mean, atol=1e-12 * size)
    np.testing.assert_allclose(first.scatter, second.scatter, atol=1e-11 * size**2)
    np.testing.assert_allclose(first.cubic, second.cubic, atol=1e-11 * size**3)
    np.testing.assert_allclose(first.quartic, second.quartic, atol=1e-11 * size**4)


@given(
    st.integers(0, 2**32), st.lists(st.integers(0, 7), min_size=1, max_size=5), st.floats(-30, 30), st.integers(1, 4)
)
def test_the_sum_of_blocks_is_the_whole(seed: int, sizes: list[int], shift: float, dim: int) -> None:
    rows = RNG(seed).normal(size=(sum(sizes), dim)) + shift
    parts = np.split(rows, np.cumsum(sizes)[:-1])
    merged = reduce(Covariance.__add__, [Covariance.of(part) for part in parts], Covariance.empty(dim))
    assert_same_state(merged, Covariance.of(rows))


@given(st.integers(0, 2**32), st.lists(st.integers(1, 7), min_size=1, max_size=5))
def test_merged_moments_are_those_of_all_rows(seed: int, sizes: list[int]) -> None:
    rng = RNG(seed)
    count = sum(sizes)
    x, z, y = rng.normal(size=(count, 3)), rng.normal(size=(count, 4)), rng.normal(size=(count, 4))
    w = rng.uniform(0.1, 1, size=count)
    ends = np.cumsum(sizes)[:-1]
    parts = [np.split(each, ends) for each in (x, z, y, w)]
    found = Moments.merge(
        Moments.of(one, two, weights=weight, documents=three) for one, two, three, weight in zip(*parts, strict=True)
    )
    np.testing.assert_allclose(found.relevance, (x * w[:, None]).T @ z / w.sum(), atol=1e-12)
    assert_same_state(found.queries, Covariance.of(x))
    assert_same_state(found.documents, Covariance.of(y))


def test_a_state_is_what_numpy_says() -> None:
    rows = RNG(0).normal(size=(50, 4)) * [1, 2, 3, 4] + 5
    state = Covariance.of(rows, budget=1)
    np.testing.assert_allclose(state.matrix, np.cov(rows.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(state.second, rows.T @ rows / 50, atol=1e-11)
    norms = np.linalg.norm(rows - rows.mean(axis=0), axis=1)
    np.testing.assert_allclose(state.quartic, np.sum(norms**4))


def test_a_large_mean_cancels_nothing() -> None:
    rows = RNG(0).normal(size=(100, 3))
    far = Covariance.of(rows[:40] + 1e7) + Covariance.of(rows[40:] + 1e7)
    np.testing.assert_allclose(far.matrix, np.cov(rows.T, bias=True), rtol=1e-7)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_short_floats_are_summed_in_float64(dtype: Any) -> None:
    rows = RNG(0).normal(size=(3000, 2)).astype(dtype) * dtype(200)  # sums of squares beyond float16
    state = Moments.of(rows, rows, documents=rows, budget=1000)
    wide = rows.astype(np.float64)
    np.testing.assert_allclose(state.relevance, wide.T @ wide / len(wide), rtol=1e-12)
    np.testing.assert_allclose(state.documents.matrix, np.cov(wide.T, bias=True), rtol=1e-10)


def test_documents_are_added_by_themselves() -> None:
    x, y = RNG(0).normal(size=(5, 2)), RNG(1).normal(size=(9, 3))
    state = Moments.of(x, RNG(2).normal(size=(5, 3))).with_documents(y[:4]).with_documents(y[4:])
    assert_same_state(state.documents, Covariance.of(y))
    assert (Moments.empty(2, 3) + state).weight == 5


def test_pairs_weigh_by_grade_and_queries_alike() -> None:
    rng = RNG(0)
    items, queries = rng.normal(size=(6, 3)), rng.normal(size=(2, 3))
    rows = RelevanceRows.of_pairs(
        ["a", "b"],
        queries,
        items=items,
        pair_query=np.array([0, 1, 1]),
        pair_item=np.array([0, 1, 2]),
        grades=np.array([5.0, 1.0, 3.0]),
        negatives=np.array([[3, 4], [-1, -1]]),
        average=items[5],
        item_ids=list("uvwxyz"),
    )
    np.testing.assert_allclose(rows.differences[0], items[0] - (items[3] + items[4]) / 2)
    np.testing.assert_allclose(rows.differences[1], items[1] / 4 + 3 * items[2] / 4 - items[5])
    np.testing.assert_allclose(rows.moment(), sum(np.outer(queries[i], rows.differences[i]) for i in range(2)) / 2)
    assert rows.documents == (("u",), ("v", "w"))


def test_grades_of_any_size_make_weights() -> None:
    rows = RelevanceRows.of_pairs(
        ["a"],
        np.ones((1, 2)),
        items=np.eye(2),
        pair_query=np.array([0, 0]),
        pair_item=np.array([0, 1]),
        grades=np.array([1.7e308, 1.7e308]),
    )
    assert rows.differences.tolist() == [[0.5, 0.5]]


def slow_ledoit_wolf(rows: Float64Array) -> float:
    """The textbook's loop over rows."""
    count, dim = rows.shape
    centred = rows - rows.mean(axis=0)
    covariance = centred.T @ centred / count
    target = np.trace(covariance) / dim * np.eye(dim)
    distance = np.sum((covariance - target) ** 2)
    noise = sum(np.sum((np.outer(row, row) - covariance) ** 2) for row in centred) / count**2
    return float(min(noise, distance) / distance)


@pytest.mark.parametrize(("count", "dim"), [(5, 8), (30, 6), (400, 3)])
def test_ledoit_wolf_from_streamed_sums(count: int, dim: int) -> None:
    rows = RNG(count).normal(size=(count, dim)) * np.linspace(1, 3, dim) + 2
    halves = Covariance.of(rows[: count // 2]) + Covariance.of(rows[count // 2 :])
    np.testing.assert_allclose(ledoit_wolf(halves), slow_ledoit_wolf(rows), rtol=1e-9)


def test_ledoit_wolf_of_what_is_round_already_shrinks_fully() -> None:
    assert ledoit_wolf(Covariance.of(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]))) == 1.0


@pytest.mark.parametrize("kind", ["pooled", "per-view"])
def test_whitened_covariance_is_the_identity(kind: Any) -> None:
    rng = RNG(0)
    x, y = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)), rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4))
    found = Whitening.fit(Covariance.of(x), Covariance.of(y), kind=kind, shrinkage=0.0)
    after = [np.cov(rows.T, bias=True) for rows in (found.queries(x), found.documents(y))]
    if kind == "pooled":
        assert found.query is found.document
        np.testing.assert_allclose((after[0] + after[1]) / 2, np.eye(4), atol=1e-9)
    else:
        for covariance in after:
            np.testing.assert_allclose(covariance, np.eye(4), atol=1e-9)


def test_whitened_operators_score_raw_vectors_alike() -> None:
    rng = RNG(0)
    x, y = rng.normal(size=(40, 4)), rng.normal(size=(40, 4)) * [1, 2, 3, 4]
    rows = RelevanceRows(tuple(map(str, range(40))), x, y)
    whitening = Whitening.fit(Covariance.of(x), Covariance.of(y), kind="per-view", shrinkage="ledoit-wolf")
    white = whitening.rows(rows)
    np.testing.assert_allclose(whitening.moment(Moments.of(x, y)), white.moment(), atol=1e-12)
    from askew.operators import Factored

    operator = Factored(rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
    raw = x @ whitening.raw(operator).to_dense() @ y.T
    np.testing.assert_allclose(raw, white.queries @ operator.to_dense() @ white.differences.T, atol=1e-10)
    assert whitening.shrinkage == (ledoit_wolf(Covariance.of(x)), ledoit_wolf(Covariance.of(y)))


def test_no_whitening_is_the_identity() -> None:
    x = RNG(0).normal(size=(5, 3))
    found = Whitening.fit(Covariance.of(x), Covariance.of(x), kind="none")
    assert found.queries(x) is x
    assert found.moment(Moments.of(x, x)).tolist() == Moments.of(x, x).relevance.tolist()


def columns(kind: str) -> Float64Array:
    rows = RNG(0).normal(size=(30, 4))
    match kind:
        case "constant column":
            rows[:, 1] = 0.1
        case "duplicate column":
            rows[:, 1] = rows[:, 2]
        case "fewer rows than columns":
            rows = rows[:3]
    return rows


@pytest.mark.parametrize("kind", ["constant column", "duplicate column", "fewer rows than columns"])
def test_singular_whitening_is_refused_or_shrunk(kind: str) -> None:
    state = Covariance.of(columns(kind))
    with pytest.raises(InputError, match=r"singular.*[Rr]aise the shrinkage"):
        Whitening.fit(state, state, shrinkage=0.0)
    found = Whitening.fit(state, state, shrinkage="ledoit-wolf")
    assert found.query is not None
    assert np.all(np.isfinite(found.query))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8])
def test_equal_rows_cannot_be_whitened(value: float) -> None:
    state = Covariance.of(np.full((7, 3), value))
    with pytest.raises(InputError, match="nothing to whiten"):
        Whitening.fit(state, state)


NAN = np.array([[1.0, np.nan]])
REFUSED: dict[str, tuple[Any, type[AskewError]]] = {
    "nan in rows": (lambda: Covariance.of(NAN), EmbeddingError),
    "infinity in a block": (lambda: Moments.of(np.ones((1, 2)), np.full((1, 2), np.inf)), EmbeddingError),
    "integers": (lambda: Covariance.of(np.ones((2, 2), dtype=int)), EmbeddingError),
    "one dimension": (lambda: Covariance.of(np.ones(3)), EmbeddingError),
    "widths": (lambda: Covariance.of(np.ones((1, 2))) + Covariance.of(np.ones((1, 3))), DimensionError),
    "shapes": (lambda: Moments.empty(2, 2) + Moments.empty(2, 3), DimensionError),
    "counts": (lambda: Moments.of(np.ones((2, 2)), np.ones((1, 2))), DimensionError),
    "nothing": (lambda: Moments.empty(2, 2).relevance, LabelError),
    "no states": (lambda: Moments.merge([]), LabelError),
    "no rows": (lambda: RelevanceRows((), np.ones((0, 2)), np.ones((0, 2))).moment(), LabelError),
    "ids": (lambda: RelevanceRows(("a",), np.ones((2, 2)), np.ones((2, 2))), DimensionError),
    "a nan row": (lambda: RelevanceRows(("a",), NAN, np.ones((1, 2))), EmbeddingError),
    "a query without pairs": (
        lambda: RelevanceRows.of_pairs(
            ["a", "b"], np.ones((2, 2)), items=np.eye(2), pair_query=np.array([0]), pair_item=np.array([1])
        ),
        LabelError,
    ),
    "a grade of zero": (
        lambda: RelevanceRows.of_pairs(
            ["a"],
            np.ones((1, 2)),
            items=np.eye(2),
            pair_query=np.array([0]),
            pair_item=np.array([1]),
            grades=np.array([0.0]),
        ),
        LabelError,
    ),
    "pooling two dimensions": (lambda: Whitening.fit(Covariance.empty(2), Covariance.empty(3)), DimensionError),
    "a kind": (lambda: Whitening.fit(Covariance.empty(2), Covariance.empty(2), kind="zca"), ParameterError),  # type: ignore[arg-type]
    "a shrinkage": (lambda: Whitening.fit(Covariance.empty(2), Covariance.empty(2), shrinkage=1.5), ParameterError),
    "a nan shrinkage": (
        lambda: Whitening.fit(Covariance.empty(2), Covariance.empty(2), shrinkage=float("nan")),
        ParameterError,
    ),
}


@pytest.mark.parametrize(("call", "error"), list(REFUSED.values()), ids=list(REFUSED))
def test_bad_input_is_refused_with_a_reason(call: Any, error: type[AskewError]) -> None:
    with pytest.raises(error):
        call()
