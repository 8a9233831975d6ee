"""Whatever is given where a number, a list or a matrix belongs: an answer, or an error of ours."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from askew import geometry
from askew.errors import AskewError, EmbeddingError, ParameterError
from askew.geometry import RelevanceRows, Spectra

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(2, 12, 4))
ROWS = RelevanceRows(tuple(map(str, range(12))), X, Z)
SPECTRA = Spectra.of(ROWS.moment(), largest=4)

NUMBERS: tuple[Any, ...] = (None, "a", 2.5, -1, 0, float("nan"), float("inf"), True, [1], (), [1, "a"], [[1], [2, 3]])
LISTS: tuple[Any, ...] = (None, "a", 2.5, [2.5], ["a"], [None], [[1]], (), [np.nan], [True], [2.0], np.array([1, 2]))
MATRICES: tuple[Any, ...] = (None, "a", 1, [[1.0]], np.ones(3), np.array([["a"]]), np.eye(4, dtype=int), 1j * np.eye(4))


def scores(_: Any, held: Any) -> Any:
    return (np.ones((len(held), 1)),) * 2


def of_pairs(**options: Any) -> RelevanceRows:
    pairs: dict[str, Any] = {"pair_query": np.arange(12), "pair_item": np.arange(12)}
    return RelevanceRows.of_pairs(ROWS.ids, X, items=Z, **{**pairs, **options})


SMALL = {"ranks": [1], "splits": 1, "groups": 4}
COUNTS: dict[str, Any] = {"counts": [1, 2, 3, 4], "scores": [0, 1, 2, 3], "errors": [1, 1, 1, 1]}
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any], tuple[str, ...], tuple[Any, ...]]] = {
    "cars": (lambda **k: geometry.cars(ROWS, **k), SMALL, ("splits", "groups", "workers", "fallback", "seed"), NUMBERS),
    "cars, ranks": (lambda **k: geometry.cars(ROWS, **k), SMALL, ("ranks",), LISTS),
    "plan": (lambda **k: geometry.plan(ROWS, **k), SMALL, ("ranks",), LISTS),
    "fold_loss": (lambda **k: geometry.fold_loss(ROWS, ranks=[1], **k), {}, ("folds", "groups", "workers"), NUMBERS),
    "fold_separation": (lambda **k: geometry.fold_separation(ROWS, **k), {}, ("ranks",), LISTS),
    "choose_form": (lambda **k: geometry.choose_form(ROWS, **k), {"ranks": [2]}, ("ranks", "fractions"), LISTS),
    "risk_curve": (lambda **k: geometry.risk_curve(ROWS, **k), {"ranks": [1]}, ("ranks", "parts"), LISTS),
    "risk_curve, folds": (lambda **k: geometry.risk_curve(ROWS, ranks=[1], **k), {}, ("folds",), NUMBERS),
    "held_out_ranking": (lambda **k: geometry.held_out_ranking(ROWS, scores, **k), {}, ("ranks",), LISTS),
    "spectra": (lambda **k: Spectra.of_rows(X, Z, **k), {}, ("largest",), NUMBERS),
    "norms": (SPECTRA.norms, {}, ("ranks",), LISTS),
    "inner_products": (lambda **k: geometry.inner_products(SPECTRA, SPECTRA, **k), {}, ("ranks",), LISTS),
    "margins": (lambda **k: geometry.margins(SPECTRA, X, Z, **k), {}, ("ranks",), LISTS),
    "interpolate": (
        lambda **k: geometry.interpolate(SPECTRA, **k),
        {"rank": 1, "weight": 0.5},
        ("rank", "weight"),
        NUMBERS,
    ),
    "weight": (geometry.interpolation_weight, {"signal": 1.0, "price": 1.0}, ("signal", "price"), NUMBERS),
    "power": (geometry.cars_power, {"ratio": 1.0, "dimension": 3}, ("ratio", "dimension", "splits"), NUMBERS),
    "nearest_dual": (lambda **k: geometry.nearest_dual(X[:4], **k), {}, ("rank",), NUMBERS),
    "nearest_partial": (
        lambda **k: geometry.nearest_partial(X[:4], **k),
        {"rank": 2, "untied": 1},
        ("rank", "untied", "starts", "pull", "tolerance"),
        NUMBERS,
    ),
    "curve": (geometry.LearningCurve.fit, COUNTS, ("counts", "scores", "errors", "draws", "seed"), NUMBERS),
    "curve, at": (geometry.LearningCurve.fit(**COUNTS).at, {}, ("count",), NUMBERS),
    "curve, crossing": (geometry.LearningCurve.fit(**COUNTS).crossing, {}, ("level",), NUMBERS),
    "dimension": (geometry.dual_dimension, {"dim": 4, "rank": 1}, ("dim", "rank"), NUMBERS),
    "probability": (geometry.dual_probability, {"signal": 1.0, "degrees": 3}, ("signal", "noise", "splits"), NUMBERS),
    "rotated": (geometry.rotated_target, {"dim": 4, "angle": 1.0}, ("dim", "angle", "strengths"), NUMBERS),
    "rotation_gap": (geometry.rotation_gap, {"angle": 1.0}, ("angle", "strengths"), NUMBERS),
    "errors": (geometry.approximation_errors, {"matrix": X[:4], "ranks": 1}, ("matrix", "ranks"), NUMBERS),
    "rademacher": (
        lambda **k: geometry.rademacher(X, Z, **k),
        {"rank": 1, "generator": RNG},
        ("rank", "generator", "bound", "draws"),
        NUMBERS,
    ),
    "whitening": (
        lambda **k: geometry.Whitening.fit(geometry.Covariance.of(X), geometry.Covariance.of(Z), **k),
        {},
        ("kind", "shrinkage"),
        NUMBERS,
    ),
    "rows": (lambda **k: RelevanceRows(ROWS.ids, **k), {"queries": X, "differences": Z}, ("queries",), MATRICES),
    "covariance": (geometry.Covariance.of, {}, ("rows",), MATRICES),
    "moments": (geometry.Moments.of, {"queries": X, "differences": Z}, ("differences", "weights"), MATRICES),
    "pairs": (of_pairs, {}, ("pair_query", "pair_item", "grades", "negatives", "average", "item_ids"), MATRICES),
}


@pytest.mark.parametrize("name", CALLS)
def test_no_argument_raises_a_foreign_error(name: str) -> None:
    call, given, names, values = CALLS[name]
    call(**given) if given else None
    for argument in names:
        for value in values:
            with contextlib.suppress(AskewError):
                call(**{**given, argument: value})


@pytest.mark.parametrize("ranks", [[2.5], ["a"], "a", None, [True], [0]])
def test_ranks_are_whole_and_positive(ranks: Any) -> None:
    for call in (geometry.cars, geometry.fold_loss, geometry.choose_form, geometry.plan):
        with pytest.raises(ParameterError, match="ranks"):
            call(ROWS, ranks=ranks)


@pytest.mark.parametrize("rows", [None, [1, 2], X])
@pytest.mark.parametrize(
    "rule", [geometry.cars, geometry.plan, geometry.fold_loss, geometry.fold_separation, geometry.choose_form]
)
def test_what_is_no_rows_is_refused(rule: Callable[..., object], rows: Any) -> None:
    with pytest.raises(ParameterError, match="Give RelevanceRows"):
        rule(rows, ranks=[2])
    with pytest.raises(ParameterError, match="Give RelevanceRows"):
        geometry.Units(rows)


@pytest.mark.parametrize("seed", [None, "x", 1.5, -1])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    for call in (geometry.cars, geometry.fold_loss, geometry.choose_form, geometry.risk_curve):
        with pytest.raises(ParameterError, match="the seed is"):
            call(ROWS, ranks=[1], seed=seed)


def test_places_of_pairs_may_be_lists() -> None:
    listed = of_pairs(pair_query=list(range(12)), pair_item=list(range(12)), negatives=[[1]] * 12)
    arrays = of_pairs(negatives=np.ones((12, 1), dtype=int))
    np.testing.assert_array_equal(listed.differences, arrays.differences)


@pytest.mark.parametrize("bad", [np.full(12, 99), np.full(12, -1), np.arange(11)])
@pytest.mark.parametrize("argument", ["pair_query", "pair_item"])
def test_pairs_point_at_rows_that_are_there(argument: str, bad: Any) -> None:
    with pytest.raises(AskewError):
        of_pairs(**{argument: bad})


@pytest.mark.parametrize("size", [1e80, 1e160, 1e300])
def test_entries_whose_scores_would_overflow_are_refused(size: float) -> None:
    makers: tuple[Callable[[], object], ...] = (
        lambda: RelevanceRows(ROWS.ids, X * size, Z),
        lambda: RelevanceRows(ROWS.ids, X * size**0.5, Z * size**0.5),
        lambda: geometry.Covariance.of(X * size),
        lambda: geometry.Moments.of(X * size, Z),
    )
    for make in makers:
        with pytest.raises(EmbeddingError, match="so large that squares of scores would overflow"):
            make()


def test_entries_whose_errors_would_vanish_are_refused() -> None:
    with pytest.raises(EmbeddingError, match="so small that squares of scores would vanish"):
        RelevanceRows(ROWS.ids, X * 1e-50, Z * 1e-50)
    assert not RelevanceRows(ROWS.ids, X, np.zeros_like(Z)).moment().any()
    small = geometry.cars(RelevanceRows(ROWS.ids, X * 1e-36, Z * 1e-36), ranks=[2], splits=2)[0]
    plain = geometry.cars(ROWS, ranks=[2], splits=2)[0]
    assert (small.standard_error or 0) * 1e144 == pytest.approx(plain.standard_error)


def test_entries_just_below_are_judged_as_any_others() -> None:
    large = RelevanceRows(ROWS.ids, X * 1e72, Z)
    for rule in (geometry.cars, geometry.fold_loss, geometry.fold_separation):
        assert rule(large, ranks=[2])[0].choice == rule(ROWS, ranks=[2])[0].choice
    planned, plain = geometry.plan(large, ranks=[2])[0], geometry.plan(ROWS, ranks=[2])[0]
    assert planned.interval == pytest.approx(plain.interval)
    assert geometry.choose_form(large, ranks=[2], fractions=[0.5], whitened=False).chosen.rank == 2


def test_parts_may_come_in_any_order() -> None:
    rows = RelevanceRows(tuple(map(str, range(60))), *RNG.normal(size=(2, 60, 4)))
    first, second = (geometry.risk_curve(rows, ranks=[2], parts=parts) for parts in ((4, 2, 1), (1, 4, 2, 2)))
    assert first.counts.tolist() == second.counts.tolist() == [12.0, 24.0, 48.0]
    np.testing.assert_array_equal(first.dual, second.dual)
