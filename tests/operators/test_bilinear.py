"""One table of operators, crossed: prior × correction × shape × dtype, each held against its dense matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.errors import DimensionError, InputError, ParameterError
from askew.linalg import FloatArray, svd
from askew.linalg.fixed import Float64Array
from askew.operators import BilinearOperator, Dense, Factored, Identity, Stacked, Term, Zero
from askew.operators.terms import product

SHAPES = [(6, 6), (7, 4), (4, 7), (1, 1)]
PRIORS = ["identity", "zero", "dense", "stacked", "beside"]
DELTAS = ["none", "rank 0", "rank 1", "rank 3", "rank 9", "dense", "zero"]
DTYPES = ["float16", "float32", "float64"]


def draw(shape: tuple[int, int], dtype: str, seed: int) -> FloatArray:
    return np.random.default_rng([*shape, seed]).normal(size=shape).astype(dtype)


def make_prior(kind: str, shape: tuple[int, int], dtype: str, seed: int) -> Term:
    if kind == "identity":
        return Identity(shape[0])
    if kind == "beside":
        return make_prior("stacked", shape[::-1], dtype, seed).T
    if kind == "stacked":
        top = shape[0] // 2
        rest = draw((shape[0] - top, 1), dtype, seed + 4), draw((shape[1], 1), dtype, seed + 5)
        return Stacked((Dense(draw((top, shape[1]), dtype, seed)), Factored(*rest)))
    return Zero(*shape) if kind == "zero" else Dense(draw(shape, dtype, seed))


def make_delta(kind: str, shape: tuple[int, int], dtype: str, seed: int) -> Term | None:
    if kind == "none":
        return None
    if kind == "zero":
        return Zero(*shape)
    if kind == "dense":
        return Dense(draw(shape, dtype, seed + 1))
    rank = int(kind.removeprefix("rank "))
    return Factored(draw((shape[0], rank), dtype, seed + 2), draw((shape[1], rank), dtype, seed + 3))


def make(prior: str, delta: str, shape: tuple[int, int], dtype: str = "float64", seed: int = 0) -> BilinearOperator:
    return BilinearOperator(make_prior(prior, shape, dtype, seed), make_delta(delta, shape, dtype, seed))


CASES = [
    pytest.param(prior, delta, shape, dtype, id=f"{prior}-{delta}-{shape[0]}x{shape[1]}-{dtype}")
    for prior in PRIORS
    for delta in DELTAS
    for shape in SHAPES
    for dtype in DTYPES
    if prior != "identity" or shape[0] == shape[1]
]
table = pytest.mark.parametrize(("prior", "delta", "shape", "dtype"), CASES)


def dense_of(operator: BilinearOperator) -> Float64Array:
    """M from the raw parts, without asking the operator."""

    def matrix(term: Term | None) -> Float64Array:
        match term:
            case Identity():
                return np.eye(term.dim)
            case Dense():
                return term.matrix.astype(np.float64)
            case Factored():
                return np.asarray(np.einsum("ir,jr->ij", *(f.astype(np.float64) for f in (term.left, term.right))))
            case Stacked():
                return np.concatenate([matrix(part) for part in term.parts], axis=1 if term.beside else 0)
        return np.zeros(operator.shape)

    return np.asarray(matrix(operator.prior) + matrix(operator.delta))


@table
def test_dense_score_and_transpose_agree(prior: str, delta: str, shape: tuple[int, int], dtype: str) -> None:
    operator = make(prior, delta, shape, dtype)
    dense = dense_of(operator)
    assert operator.shape == shape
    for same in (operator.to_dense(), operator.fold()):
        assert same.dtype == np.float64
        np.testing.assert_allclose(same, dense, atol=1e-12)
    np.testing.assert_array_equal(operator.T.to_dense(), operator.to_dense().T)
    assert operator.T.shape == shape[::-1]
    x, y = draw((5, shape[0]), dtype, 7), draw((8, shape[1]), dtype, 8)
    expected = x.astype(np.float64) @ dense @ y.astype(np.float64).T
    np.testing.assert_allclose(operator.score(x, y), expected, atol=1e-9)
    np.testing.assert_allclose(operator.T.score(y, x), expected.T, atol=1e-9)
    np.testing.assert_allclose(operator.score_pairs(x, y[:5]), np.diagonal(expected[:, :5]), atol=1e-9)
    np.testing.assert_allclose(operator.query_side(x), x.astype(np.float64) @ dense, atol=1e-9)
    np.testing.assert_allclose(operator.document_side(y), y.astype(np.float64) @ dense.T, atol=1e-9)
    correction = operator.correction.to_dense()
    np.testing.assert_allclose(correction, dense - dense_of(BilinearOperator(operator.prior)), atol=1e-12)


@table
def test_query_side_has_the_same_bits_in_every_batch(
    prior: str, delta: str, shape: tuple[int, int], dtype: str
) -> None:
    operator = make(prior, delta, shape, dtype)
    x = draw((11, shape[0]), dtype, 3)
    whole = operator.query_side(x)
    if prior == "identity" and delta == "none":
        assert whole is x
        return
    assert whole.dtype == np.float64
    for parts in ([x[:4], x[4:]], [row[None] for row in x], [x[::2], x[1::2]]):
        alone = np.vstack([operator.query_side(part) for part in parts])
        order = [np.flatnonzero((x == row).all(axis=1))[0] for part in parts for row in part]
        assert alone.tobytes() == np.ascontiguousarray(whole[order]).tobytes()


@table
def test_facts_are_those_of_the_dense_matrix(prior: str, delta: str, shape: tuple[int, int], dtype: str) -> None:
    operator = make(prior, delta, shape, dtype)
    assert_facts(operator)


def assert_facts(operator: BilinearOperator, tolerance: float = 1e-6) -> None:
    dense = dense_of(operator)
    values = np.linalg.svd(dense, compute_uv=False)
    largest = float(values.max(initial=0.0))
    held = operator.singular_values()
    np.testing.assert_allclose(held, values[: len(held)], atol=1e-9 * (1 + largest))
    assert np.all(values[len(held) :] < 1e-9 * (1 + largest))
    assert operator.rank() == int(np.linalg.matrix_rank(dense, tol=tolerance * largest))
    square = dense.shape[0] == dense.shape[1]
    if not square:
        assert not operator.is_symmetric()
        assert not operator.is_psd()
        for energy in (operator.symmetric_energy, operator.skew_energy):
            with pytest.raises(DimensionError, match=rf"\({dense.shape[0]}, {dense.shape[1]}\)"):
                energy()
        return
    symmetric, skew = (dense + dense.T) / 2, (dense - dense.T) / 2
    total = float(np.sum(dense**2))
    assert operator.symmetric_energy() == pytest.approx(np.sum(symmetric**2), rel=1e-9, abs=1e-12 * total)
    assert operator.skew_energy() == pytest.approx(np.sum(skew**2), rel=1e-9, abs=1e-12 * total)
    is_symmetric = bool(np.linalg.norm(skew) <= tolerance * np.linalg.norm(dense))
    eigenvalues = np.linalg.eigvalsh(symmetric)
    assert operator.is_symmetric() == is_symmetric
    is_psd = is_symmetric and bool(eigenvalues.min() >= -tolerance * np.abs(eigenvalues).max())
    assert operator.is_psd() == is_psd


def basis(dim: int, rank: int, seed: int = 0) -> Float64Array:
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, rank)))[0])


def spectral(values: list[float], dim: int = 8, scale: float = 1.0) -> Factored:
    """A symmetric correction of these eigenvalues, the factors scaled against each other."""
    vectors = basis(dim, len(values))
    return Factored(vectors * np.array(values) * scale, vectors / scale)


def skew(dim: int = 8, size: float = 1.0) -> Factored:
    u, v = basis(dim, 2).T[:, :, None] * np.array([size, 1.0])[:, None, None]
    return Factored(np.hstack([u, -v]), np.hstack([v, u]))


CORNERS: dict[str, tuple[BilinearOperator, int, bool, bool]] = {
    # operator, rank, symmetric, psd
    "identity": (BilinearOperator.identity(8), 8, True, True),
    "zero": (BilinearOperator(Zero(8, 8)), 0, True, True),
    "zero and zero": (BilinearOperator(Zero(8, 8), Zero(8, 8)), 0, True, True),
    "clipped once": (BilinearOperator(Identity(8), spectral([-1.0])), 7, True, True),
    "clipped thrice": (BilinearOperator(Identity(8), spectral([-1.0, -1.0, 0.5, -1.0])), 5, True, True),
    "clipped, unbalanced": (BilinearOperator(Identity(8), spectral([-1.0, -1.0], scale=1e6)), 6, True, True),
    "clipped everywhere but once": (BilinearOperator(Identity(8), spectral([-1.0] * 7)), 1, True, True),
    "almost clipped": (BilinearOperator(Identity(8), spectral([-0.999])), 8, True, True),
    "just below": (BilinearOperator(Identity(8), spectral([-1.001])), 8, True, False),
    "far below": (BilinearOperator(Identity(8), spectral([-3.0])), 8, True, False),
    "dwarfed identity": (BilinearOperator(Identity(8), spectral([1e9])), 1, True, True),
    "negative definite": (BilinearOperator(Zero(8, 8), spectral([-1.0] * 8)), 8, True, False),
    "minus identity": (BilinearOperator(Identity(8), spectral([-2.0] * 8)), 8, True, False),
    "positive factors": (BilinearOperator(Zero(8, 8), spectral([2.0, 1.0])), 2, True, True),
    "mixed factors": (BilinearOperator(Zero(8, 8), spectral([2.0, -1.0])), 2, True, False),
    "skew": (BilinearOperator(Zero(8, 8), skew()), 2, False, False),
    "identity and skew": (BilinearOperator(Identity(8), skew()), 8, False, False),
    "slightly skew": (BilinearOperator(Identity(8), skew(size=1e-4)), 8, False, False),
    "skew by rounding": (BilinearOperator(Identity(8), skew(size=1e-9)), 8, True, True),
    "dense skew": (BilinearOperator(Dense(skew().to_dense())), 2, False, False),
    "dense, clipped": (BilinearOperator(Dense(np.eye(8)), spectral([-1.0])), 7, True, True),
    "defective": (
        BilinearOperator(Identity(2), Factored(np.array([[0.0], [1.0]]), np.array([[1e3], [-1.0]]))),
        1,
        False,
        False,
    ),
}


@pytest.mark.parametrize("name", CORNERS)
def test_facts_at_the_corners(name: str) -> None:
    operator, rank, symmetric, psd = CORNERS[name]
    assert operator.rank() == rank
    assert operator.is_symmetric() == symmetric
    assert operator.is_psd() == psd
    assert_facts(operator)


def test_a_skew_operator_has_no_symmetric_energy() -> None:
    operator = BilinearOperator(Zero(8, 8), skew())
    assert operator.symmetric_energy() < 1e-28
    assert operator.skew_energy() == pytest.approx(2.0)


@pytest.mark.parametrize(("prior", "delta"), [(p, d) for p in PRIORS for d in DELTAS])
@pytest.mark.parametrize(("other_prior", "other_delta"), [(p, d) for p in PRIORS for d in DELTAS])
def test_composition_is_the_dense_product(prior: str, delta: str, other_prior: str, other_delta: str) -> None:
    first, second = make(prior, delta, (5, 5), seed=0), make(other_prior, other_delta, (5, 5), seed=50)
    composed = first @ second
    np.testing.assert_allclose(composed.to_dense(), first.to_dense() @ second.to_dense(), atol=1e-9)
    if not {"dense", "stacked", "beside"} & {prior, other_prior, delta, other_delta}:
        assert not isinstance(composed.prior, Dense)
        assert not isinstance(composed.delta, Dense)
    if prior == other_prior == "identity":
        assert composed.prior == Identity(5)


@pytest.mark.parametrize("shapes", [((3, 5), (5, 2)), ((6, 2), (2, 6)), ((1, 4), (4, 1))])
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("prior", ["zero", "dense", "stacked", "beside"])
def test_composition_of_rectangles(prior: str, delta: str, shapes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    first, second = make(prior, delta, shapes[0], seed=1), make(prior, delta, shapes[1], seed=2)
    composed = first @ second
    assert composed.shape == (shapes[0][0], shapes[1][1])
    np.testing.assert_allclose(composed.to_dense(), first.to_dense() @ second.to_dense(), atol=1e-9)


@pytest.mark.parametrize(("rank", "other"), [(1, 3), (3, 1), (2, 2)])
def test_a_product_of_factors_keeps_the_fewer(rank: int, other: int) -> None:
    first, second = (make_delta(f"rank {r}", (6, 6), "float64", r) for r in (rank, other))
    assert isinstance(first, Factored)
    assert isinstance(second, Factored)
    both = product(first, second)
    assert isinstance(both, Factored)
    assert both.rank == min(rank, other)
    np.testing.assert_allclose(both.to_dense(), first.to_dense() @ second.to_dense(), atol=1e-12)


@table
def test_compression_is_the_best_of_its_rank(prior: str, delta: str, shape: tuple[int, int], dtype: str) -> None:
    operator = make(prior, delta, shape, dtype)
    dense = dense_of(operator)
    values = svd(dense).values
    for rank in (1, 2, 4, 12):
        query, document = operator.compress(rank)
        assert query.shape == (rank, shape[0])
        assert document.shape == (rank, shape[1])
        error = np.linalg.norm(dense - query.T @ document)
        assert error == pytest.approx(np.linalg.norm(values[rank:]), abs=1e-9 * (1 + float(values.max(initial=0.0))))
        assert not query[len(values) :].any()
        assert not document[len(values) :].any()
        if np.all(np.diff(values) < -1e-6):  # of equal singular values any basis is as good
            np.testing.assert_allclose(query @ query.T, np.diag(np.diag(query @ query.T)), atol=1e-9)


@pytest.mark.parametrize("rank", [0, -1])
def test_compression_to_no_dimension_is_refused(rank: int) -> None:
    with pytest.raises(ParameterError, match="rank"):
        BilinearOperator.identity(3).compress(rank)


def test_psd_is_one_shared_projection() -> None:
    operator = BilinearOperator(Identity(8), spectral([-1.0, 2.0]))
    query, document = operator.compress(8)
    np.testing.assert_allclose(query, document, atol=1e-7)


@pytest.mark.parametrize("wrong", [(4, 5), (6,), (2, 3, 6), (6, 0)])
@pytest.mark.parametrize("prior", PRIORS)
def test_rows_of_another_width_are_named(prior: str, wrong: tuple[int, ...]) -> None:
    operator, rows, right = make(prior, "rank 1", (6, 6)), np.ones(wrong), np.ones((4, 6))
    for use in (
        lambda: operator.query_side(rows),
        lambda: operator.score(rows, right),
    ):
        with pytest.raises(DimensionError, match=r"queries of shape .* takes 6 dimensions"):
            use()
    for use in (
        lambda: operator.document_side(rows),
        lambda: operator.score(right, rows),
        lambda: operator.score_pairs(right, rows),
    ):
        with pytest.raises(DimensionError, match=r"documents of shape .* takes 6 dimensions"):
            use()


def test_pairs_of_unequal_number_are_refused() -> None:
    with pytest.raises(DimensionError, match="2 queries and 3 documents"):
        BilinearOperator.identity(4).score_pairs(np.ones((2, 4)), np.ones((3, 4)))


def test_shapes_that_do_not_meet_are_refused() -> None:
    with pytest.raises(DimensionError, match=r"\(3, 3\).*\(3, 4\)"):
        BilinearOperator(Identity(3), Zero(3, 4))
    with pytest.raises(DimensionError, match="composed"):
        BilinearOperator.identity(3) @ BilinearOperator.identity(4)
    with pytest.raises(DimensionError, match="2 and 3 columns"):
        Factored(np.ones((4, 2)), np.ones((4, 3)))


def test_a_product_with_a_stack_keeps_its_blocks() -> None:
    stack, right = make_prior("stacked", (6, 4), "float64", 0), Dense(draw((4, 3), "float64", 1))
    for found in (product(stack, right), product(right.T, stack.T).T):
        assert isinstance(found, Stacked)
        assert [type(part) for part in found.parts] == [Dense, Factored]
        np.testing.assert_allclose(found.to_dense(), stack.to_dense() @ right.matrix, atol=1e-12)


def test_a_stack_gives_each_block_its_own_columns() -> None:
    x, other = draw((5, 4), "float16", 1), draw((5, 3), "float16", 2)
    block = draw((3, 4), "float64", 3)
    stack = Stacked((Identity(4), Dense(block)))
    np.testing.assert_allclose(
        stack.left_apply(np.hstack([x, other])), x + other.astype(np.float64) @ block, atol=1e-12
    )
    own = Stacked((Identity(4), Zero(3, 4))).left_apply(np.hstack([x, other]))
    assert own.tobytes() == x.astype(np.float64).tobytes()


@pytest.mark.parametrize(
    "parts", [(), (Identity(3), Zero(3, 4)), (Stacked((Identity(3),)), Identity(3))], ids=["none", "widths", "nested"]
)
def test_what_does_not_stack_is_refused(parts: tuple[Term, ...]) -> None:
    with pytest.raises(DimensionError, match="stack"):
        Stacked(parts)


@pytest.mark.parametrize(
    "bad", [np.ones(3), np.ones((2, 2, 2)), np.ones((2, 2), dtype=int), np.ones((2, 2), dtype=complex)]
)
def test_terms_refuse_what_is_no_float_matrix(bad: Any) -> None:
    good = np.ones((2, 2))
    for build in (lambda: Dense(bad), lambda: Factored(bad, good), lambda: Factored(good, bad)):
        with pytest.raises(DimensionError, match="two-dimensional float"):
            build()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_terms_refuse_what_is_not_finite(value: float) -> None:
    good = np.ones((2, 2))
    bad = np.array([[1.0, value], [0.0, 1.0]])
    for build in (lambda: Dense(bad), lambda: Factored(bad, good), lambda: Factored(good, bad)):
        with pytest.raises(InputError, match="NaN or infinite"):
            build()


@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("prior", PRIORS)
def test_no_rows_give_no_scores(prior: str, delta: str) -> None:
    operator = make(prior, delta, (6, 6))
    assert operator.score(np.empty((0, 6)), np.ones((3, 6))).shape == (0, 3)
    assert operator.score(np.ones((3, 6)), np.empty((0, 6))).shape == (3, 0)
