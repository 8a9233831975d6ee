"""Selectors against dense, obvious versions, on the reference simulation, and on input that is not fit for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import ncx2

from askew.errors import AskewError, DimensionError, EmbeddingError, LabelError, ParameterError
from askew.geometry.crossfit import closed_form_scores, fold_loss, fold_separation, held_out_ranking
from askew.geometry.halving import compact, half_sums, jackknife_covariance
from askew.geometry.rows import RelevanceRows
from askew.geometry.selection import Selection, cars, cars_power, decide, interpolation_weight
from askew.geometry.spectra import Spectra
from askew.geometry.splits import Units, half_splits, halves_of_groups
from askew.linalg.fixed import Float64Array, IntArray
from askew.operators import Factored

RANKS = (1, 2, 4)
Selector = Callable[..., tuple[Selection, ...]]


def named(x: Float64Array, z: Float64Array) -> RelevanceRows:
    return RelevanceRows(tuple(f"q{row}" for row in range(len(x))), x, z)


def noisy(count: int = 40, dim: int = 6, seed: int = 0) -> RelevanceRows:
    rng = np.random.default_rng([seed, count, dim])
    x = rng.normal(size=(count, dim))
    return named(x, x @ rng.normal(size=(dim, dim)) + rng.normal(size=(count, dim)))


def simulated(count: int, angle: float, seed: int) -> RelevanceRows:
    """x = Uz + e, y = (cos θ U + sin θ W)z + e' in 32 dimensions, 8 of them with signal (section 1.10 of the notes)."""
    rng = np.random.default_rng([seed, count])
    basis = np.linalg.qr(rng.normal(size=(32, 16)))[0]
    turned = np.cos(angle) * basis[:, :8] + np.sin(angle) * basis[:, 8:]
    z = rng.normal(size=(count, 8))
    x, y = z @ basis[:, :8].T, z @ turned.T
    return named(x + rng.normal(size=x.shape), y + rng.normal(size=y.shape))


def contrast(rows: RelevanceRows, kept: Any, rank: int) -> Float64Array:
    """V, dense, as the paper writes it."""
    matrix = rows.queries[kept].T @ rows.differences[kept] / len(rows.queries[kept])
    left, values, right = np.linalg.svd(matrix)
    eta, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    eta, vectors = np.maximum(eta[::-1][:rank], 0), vectors[:, ::-1][:, :rank]
    return np.asarray((left[:, :rank] * values[:rank]) @ right[:rank] - (vectors * eta) @ vectors.T)


def rule(first: Float64Array, second: Float64Array) -> float:
    return float(np.sum(first * second) - np.sum((first - second) ** 2) / 4)


@pytest.mark.parametrize(("count", "dim"), [(40, 6), (13, 6), (12, 20), (5, 40)])
def test_the_half_split_rule_is_the_papers(count: int, dim: int) -> None:
    rows = noisy(count, dim)
    halves = half_splits(Units(rows), 4)
    found = cars(rows, ranks=RANKS, splits=4, groups=None)
    for selection in found:
        slow = [rule(*(contrast(rows, half == side, selection.rank) for side in (0, 1))) for half in halves]
        size = float(np.sum(contrast(rows, slice(None), selection.rank) ** 2))
        np.testing.assert_allclose(selection.values, slow, atol=1e-9 * size)
        np.testing.assert_allclose(selection.score, np.mean(slow), atol=1e-9 * size)
        assert selection.choice == ("dual" if np.mean(slow) > 0 else "shared")
        assert selection.standard_error is None


@pytest.mark.parametrize(("count", "dim"), [(24, 5), (16, 30)])
def test_the_jackknife_leaves_each_group_out_of_every_split(count: int, dim: int) -> None:
    rows, groups, splits = noisy(count, dim), 8, 3
    selection = cars(rows, ranks=[2], splits=splits, groups=groups, fallback="none")[0]
    group = Units(rows).deal(groups, "group-0")
    without = np.zeros((groups, 1))
    for half in halves_of_groups(groups, splits):
        for left_out in range(groups):
            parts = [(half[group] == side) & (group != left_out) for side in (0, 1)]
            without[left_out] += rule(*(contrast(rows, part, 2) for part in parts)) / splits
    signal, price = max(selection.signal or 0.0, 0.0), selection.price or 0.0
    once = (2 * signal + price) / (2 * signal + 2 * price)  # what the jackknife counts twice, once
    error = float(np.sqrt(once * jackknife_covariance(without)[0, 0]))
    assert selection.standard_error == pytest.approx(error, rel=1e-7)
    width = 1.8945786 * error  # Student's t with 7 degrees of freedom
    assert selection.interval == pytest.approx((selection.score - width, selection.score + width))


def test_signal_and_price_are_the_two_sides_of_an_identity() -> None:
    """⟨V₁, V₂⟩ - ¼‖V₁ - V₂‖² = ‖V̄‖² - ½‖V₁ - V₂‖²."""
    rows = noisy()
    sums = half_sums(rows, ranks=RANKS, splits=3, groups=None)
    for split, half in enumerate(half_splits(Units(rows), 3)):
        for place, rank in enumerate(RANKS):
            first, second = (contrast(rows, half == side, rank) for side in (0, 1))
            mean, gap = np.sum(((first + second) / 2) ** 2), np.sum((first - second) ** 2)
            np.testing.assert_allclose(sums.signal[split, place] - sums.price[split, place], mean - gap / 2)
            np.testing.assert_allclose(sums.price[split, place], gap / 4)


CELLS = [
    (0.0, 64, -10.6, 2.5),
    (0.0, 256, -2.29, 0.6),
    (0.8, 64, -9.08, 2.5),
    (0.8, 256, -0.58, 0.5),
    (0.8, 512, 1.01, 0.4),
    (1.2, 128, -1.85, 1.2),
    (1.2, 256, 1.02, 0.7),
    (1.2, 1024, 3.65, 0.7),
]


@pytest.mark.parametrize(("angle", "count", "score", "margin"), CELLS)
def test_the_reference_simulation(angle: float, count: int, score: float, margin: float) -> None:
    found = [cars(simulated(count, angle, seed), ranks=[8], splits=8, groups=None)[0].score for seed in range(5)]
    assert abs(np.mean(found) - score) < margin
    assert np.sign(np.mean(found)) == np.sign(score)


@pytest.mark.parametrize("selector", [cars, fold_loss, fold_separation])
def test_every_selector_sees_a_clear_rotation_and_a_clear_identity(selector: Selector) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    turned = x @ np.kron(np.eye(2), [[0.0, 1.0], [-1.0, 0.0]]) + 0.1 * rng.normal(size=x.shape)
    dual = selector(named(x, turned), ranks=[4])[0]
    assert (dual.choice, dual.inside_noise, dual.weight) == ("dual", False, 1.0)
    assert dual.interval is not None
    assert dual.interval[0] > 0
    assert selector(named(x, x), ranks=[2, 4])[1].choice == "shared"


def test_fold_loss_is_the_distance_to_the_held_out_moment() -> None:
    rows = noisy(30)
    found = fold_loss(rows, ranks=RANKS, folds=3, groups=None)
    fold = Units(rows).deal(3, "fold-0")
    for selection in found:
        for number, value in enumerate(selection.values):
            kept, held = fold != number, fold == number
            spectra = Spectra.of(rows.queries[kept].T @ rows.differences[kept] / kept.sum(), largest=6)
            target = rows.queries[held].T @ rows.differences[held] / held.sum()
            loss = [
                np.sum((fit.to_dense() - target) ** 2)
                for fit in (spectra.shared(selection.rank), spectra.dual(selection.rank))
            ]
            np.testing.assert_allclose(value, loss[0] - loss[1])
        assert selection.target == "operator risk"


@pytest.mark.parametrize("kind", ["whitened", "raw", "raw, with documents"])
def test_separation_is_the_mean_margin_over_the_spread(kind: str) -> None:
    rows = noisy(30)
    documents = np.random.default_rng(5).normal(size=(50, 6)) * np.arange(1, 7)
    options: dict[str, Any] = {"whitened": kind == "whitened"}
    if kind == "raw, with documents":
        options["documents"] = documents
    found = fold_separation(rows, ranks=RANKS, folds=3, groups=None, **options)
    fold = Units(rows).deal(3, "fold-0")
    for selection in found:
        for number, value in enumerate(selection.values):
            kept, held = fold != number, fold == number
            x, z = rows.queries[kept], rows.differences[kept]
            spectra = Spectra.of(x.T @ z / len(x), largest=6)
            target = rows.queries[held].T @ rows.differences[held] / held.sum()
            spread = np.cov((documents if "documents" in options else z).T, bias=True)
            separations = []
            for fit in (spectra.dual(selection.rank), spectra.shared(selection.rank)):
                w = fit.to_dense()
                square = np.sum(w**2) if kind == "whitened" else np.trace(w.T @ (x.T @ x / len(x)) @ w @ spread)
                separations.append(np.sum(w * target) / np.sqrt(square))
            np.testing.assert_allclose(value, separations[0] - separations[1])
        assert selection.target == "ranking"


@pytest.mark.parametrize("selector", [fold_loss, fold_separation])
def test_the_fold_jackknife_is_leaving_a_group_out_of_everything(selector: Selector) -> None:
    rows, groups = noisy(24, 5), 8
    whole = selector(rows, ranks=[2], folds=2, groups=groups)[0]
    group = Units(rows).deal(groups, "group-0")
    without = np.zeros((groups, 1))
    for left_out in range(groups):
        for number in range(2):
            kept = (group % 2 != number) & (group != left_out)
            held = (group % 2 == number) & (group != left_out)
            spectra = Spectra.of(rows.queries[kept].T @ rows.differences[kept] / kept.sum(), largest=5)
            target = rows.queries[held].T @ rows.differences[held] / held.sum()
            dual, shared = spectra.dual(2).to_dense(), spectra.shared(2).to_dense()
            if selector is fold_loss:
                lead = np.sum((shared - target) ** 2) - np.sum((dual - target) ** 2)
            else:
                lead = np.sum(dual * target) / np.linalg.norm(dual) - np.sum(shared * target) / np.linalg.norm(shared)
            without[left_out] += lead / 2
    assert whole.standard_error == pytest.approx(float(np.sqrt(jackknife_covariance(without)[0, 0])), rel=1e-8)


def test_held_out_ranking_is_the_paired_mean() -> None:
    rows = noisy(40)
    quality = np.random.default_rng(1).normal([0.0, 3.0], size=(40, 2))

    def scores(training: IntArray, held: IntArray) -> tuple[Float64Array, Float64Array]:
        assert not set(training) & set(held)
        return np.zeros((len(held), 2)), quality[held]

    none, some = held_out_ranking(rows, scores, ranks=[1, 2], groups=20)
    np.testing.assert_allclose([none.score, some.score], quality.mean(axis=0))
    assert (some.choice, some.target) == ("dual", "ranking")
    assert none.inside_noise
    assert some.standard_error == pytest.approx(quality[:, 1].std(ddof=1) / np.sqrt(40), rel=0.4)


def test_closed_form_scores_rank_with_the_training_fit() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4))
    rows = named(x, x @ np.kron(np.eye(2), [[0.0, 1.0], [-1.0, 0.0]]))

    def top_one(operator: Factored, held: IntArray) -> Float64Array:
        table = rows.queries[held] @ operator.to_dense() @ rows.differences.T
        return np.asarray(table.argmax(axis=1) == held, dtype=np.float64)

    scores = closed_form_scores(rows, top_one, ranks=[4])
    assert held_out_ranking(rows, scores, ranks=[4])[0].choice == "dual"


def test_inside_the_noise_the_smaller_family_or_a_mixture_is_taken() -> None:
    assert decide(1.0, 0.5, fallback="shared")[:4] == ("dual", 1.0, False, False)
    assert decide(1.0, 0.9, fallback="shared")[:4] == ("shared", 0.0, True, True)
    assert decide(-1.0, 0.9, fallback="shared")[:4] == ("shared", 0.0, True, False)
    assert decide(1.0, 0.9, fallback="none")[:4] == ("dual", 1.0, True, False)
    assert decide(1.0, 0.9, fallback="interpolate", weight=0.6)[:4] == ("shared", 0.6, True, True)
    assert decide(0.0, None, fallback="shared")[:3] == ("shared", 0.0, True)  # a tie, as far as is known
    assert decide(0.0, None, fallback="shared", wanted=False)[:3] == ("shared", 0.0, False)
    assert decide(0.0, 0.0, fallback="shared")[:3] == ("shared", 0.0, False)


@pytest.mark.parametrize(
    ("score", "error", "says"),
    [
        (0.0, 0.0, "the two are equal: shared, the smaller family"),
        (0.0, None, "the two are equal, but there are too few queries for an error: shared, the smaller family"),
        (0.0, 1.0, "the score is 0, inside the noise: shared, the smaller family"),
        (2.0, None, "the score is above 0, but there are too few queries for an error: shared, the smaller family"),
        (-2.0, 0.0, "the score is below 0 (the same whatever queries are left out): shared"),
        (4.0, 2.0, "the score is 2.0 standard errors above 0: dual"),
        (-2.0, 4.0, "the score is 0.5 standard errors below 0, inside the noise: shared, the smaller family"),
    ],
)
def test_the_sentence_says_what_was_found(score: float, error: float | None, says: str) -> None:
    assert decide(score, error, fallback="shared")[4] == says


@pytest.mark.parametrize("selector", [fold_loss, fold_separation])
def test_too_few_queries_for_an_error_are_no_evidence(selector: Selector) -> None:
    """Eight rows of noise: the sign is dual's in some draws, and no answer is."""
    draws = [np.random.default_rng(seed).normal(size=(2, 8, 6)) for seed in range(20)]
    found = [selector(named(*draw), ranks=[2])[0] for draw in draws]
    assert all((each.choice, each.inside_noise, each.standard_error) == ("shared", True, None) for each in found)
    assert all("too few queries for an error: shared" in each.reason for each in found)
    by_sign = [selector(named(*draw), ranks=[2], fallback="none")[0] for draw in draws]
    assert all(each.choice == ("dual" if each.score > 0 else "shared") and each.inside_noise for each in by_sign)


@pytest.mark.parametrize("selector", [cars, fold_loss, fold_separation])
def test_without_an_error_by_wish_the_sign_stands(selector: Selector) -> None:
    for seed in range(10):
        found = selector(named(*np.random.default_rng(seed).normal(size=(2, 8, 6))), ranks=[2], groups=None)[0]
        assert (found.choice == "dual", found.inside_noise) == (found.score > 0, False)
        assert "(the error was switched off)" in found.reason


def test_fewer_groups_take_a_larger_score_to_be_sure() -> None:
    assert decide(1.7, 1.0, fallback="shared")[2] is False
    assert decide(1.7, 1.0, fallback="shared", groups=20)[2] is True
    assert decide(1.8, 1.0, fallback="shared", groups=20)[2] is False
    assert decide(1.8, 1.0, fallback="shared", groups=4)[2] is True
    few, many = (cars(noisy(count), ranks=[1], splits=2)[0] for count in (5, 40))
    assert (few.groups, many.groups) == (5, 20)
    assert cars(noisy(), ranks=[1], splits=2, groups=None)[0].groups is None


@pytest.mark.parametrize("selector", [cars, fold_loss, fold_separation])
@pytest.mark.parametrize("shape", [(40, 6), (6, 30)])
def test_one_operator_in_both_families_is_a_tie_and_no_rounding_breaks_it(
    selector: Selector, shape: tuple[int, int]
) -> None:
    """Rows z = x: the moment is symmetric and positive, so that both families fit the same."""
    x = np.random.default_rng(3).normal(size=shape)
    for selection in selector(named(x, x), ranks=[1, 2]):
        assert (selection.score, selection.choice, selection.standard_error or 0.0) == (0.0, "shared", 0.0)
        assert selection.reason.startswith("the two are equal")
        assert ": shared" in selection.reason


def test_an_interpolated_choice_makes_the_interpolated_operator() -> None:
    rows = simulated(200, 0.8, seed=0)
    found = cars(rows, ranks=[8], splits=4, groups=20, fallback="interpolate")[0]
    assert found.signal is not None
    assert found.price is not None
    mixed = replace(found, weight=interpolation_weight(found.signal, found.price))
    spectra = Spectra.of(rows.moment(), largest=8)
    assert 0 < mixed.weight < 1
    distance = [
        np.linalg.norm(mixed.operator(spectra).to_dense() - end(8).to_dense()) for end in (spectra.shared, spectra.dual)
    ]
    assert max(distance) < np.linalg.norm(spectra.shared(8).to_dense() - spectra.dual(8).to_dense())


@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("dimension", [1, 30, 12152])
def test_power_of_many_splits_is_that_of_known_noise(ratio: float, dimension: int) -> None:
    limit = cars_power(ratio, dimension, splits=None)
    assert limit == pytest.approx(float(ncx2.sf(2 * dimension, dimension, ratio * dimension)), abs=1e-9)
    assert cars_power(ratio, dimension, splits=100_000) == pytest.approx(limit, abs=2e-3)


def test_power_by_simulation_of_chi_squares() -> None:
    rng = np.random.default_rng(0)
    top = rng.noncentral_chisquare(30, 45, size=200_000) / 30
    assert np.mean(top / (rng.chisquare(90, size=200_000) / 90) > 2) == pytest.approx(
        cars_power(1.5, 30, splits=3), abs=0.004
    )


def test_intervals_cover_the_mean_score() -> None:
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(4, 4))

    def sample() -> Selection:
        x = rng.normal(size=(60, 4))
        return cars(named(x, x @ mixing + 2 * rng.normal(size=x.shape)), ranks=[2], splits=4, groups=12)[0]

    found = [sample() for _ in range(40)]
    truth = np.mean([each.score for each in found])
    inside = [each.interval[0] <= truth <= each.interval[1] for each in found if each.interval]
    assert np.mean(inside) >= 0.8
    errors = np.mean([each.standard_error for each in found if each.standard_error is not None])
    assert 0.7 < errors / np.std([each.score for each in found]) < 2


def test_no_result_depends_on_the_workers_or_the_order_of_ranks() -> None:
    rows = noisy(40, 8)
    one = cars(rows, ranks=(1, 2, 4), splits=3, groups=8)
    two = cars(rows, ranks=(4, 1, 2), splits=3, groups=8, workers=2)
    assert [one[2].score, one[0].score, one[1].score] == pytest.approx([each.score for each in two], rel=1e-12)
    again = cars(rows, ranks=(1, 2, 4), splits=3, groups=8, workers=2)
    assert [(each.score, each.standard_error) for each in one] == [(each.score, each.standard_error) for each in again]


@pytest.mark.parametrize("count", [10, 60])
def test_compact_rows_keep_every_inner_product(count: int) -> None:
    rows = noisy(count, 50)
    small = compact(rows)
    assert small.shape[0] == min(50, 2 * count)
    for first, second in [(rows.queries, small.queries), (rows.differences, small.differences)]:
        np.testing.assert_allclose(first @ rows.differences.T, second @ small.differences.T, atol=1e-9)


DEGENERATE: dict[str, Callable[[], RelevanceRows]] = {
    "nothing to learn": lambda: named(noisy().queries, np.zeros((40, 6))),
    "zero queries in part": lambda: named(noisy().queries * (np.arange(40) % 3 == 0)[:, None], noisy().differences),
    "constant columns": lambda: named(np.ones((40, 6)) + np.arange(40)[:, None] * 1e-3, noisy().differences),
    "equal differences": lambda: named(noisy().queries, np.ones((40, 6))),
    "four queries": lambda: noisy(4, 6),
    "five queries in many dimensions": lambda: noisy(5, 64),
    "huge": lambda: named(noisy().queries * 1e70, noisy().differences),
    "tiny": lambda: named(noisy().queries * 1e-70, noisy().differences),
}


@pytest.mark.parametrize("rows", list(DEGENERATE.values()), ids=list(DEGENERATE))
@pytest.mark.parametrize("selector", [cars, fold_loss, fold_separation])
def test_no_result_is_ever_nan(selector: Selector, rows: Callable[[], RelevanceRows]) -> None:
    for selection in selector(rows(), ranks=[1, 3, 6]):
        numbers = [selection.score, selection.standard_error, selection.power, *(selection.interval or ())]
        assert np.all(np.isfinite([number for number in numbers if number is not None]))
        assert np.all(np.isfinite(selection.values))
        assert selection.choice in ("shared", "dual")
        if selection.held_rank < selection.rank:
            assert "judged at" in selection.reason


def test_nothing_to_learn_is_a_tie_and_a_tie_is_shared() -> None:
    found = cars(DEGENERATE["nothing to learn"](), ranks=[2])[0]
    assert (found.score, found.choice, found.weight, found.power) == (0.0, "shared", 0.0, None)


def test_a_rank_beyond_the_halves_is_reduced_and_said() -> None:
    found = cars(noisy(8, 20), ranks=[2, 16], groups=None)
    assert [each.held_rank for each in found] == [2, 4]
    assert "rank 16" in found[1].reason


ROWS = noisy()
ONE = np.ones((1, 1))
REFUSED: dict[str, tuple[Callable[[], Any], type[AskewError]]] = {
    "three queries": (lambda: cars(noisy(3), ranks=[1]), LabelError),
    "one query many times": (
        lambda: cars(RelevanceRows(("q",) * 40, ROWS.queries, ROWS.differences), ranks=[1]),
        LabelError,
    ),
    "no rank": (lambda: cars(ROWS, ranks=[]), ParameterError),
    "rank above p": (lambda: fold_loss(ROWS, ranks=[7]), ParameterError),
    "two dimensions": (lambda: cars(named(ROWS.queries, ROWS.differences[:, :3]), ranks=[1]), DimensionError),
    "no splits": (lambda: cars(ROWS, ranks=[1], splits=0), ParameterError),
    "two groups": (lambda: cars(ROWS, ranks=[1], groups=2), ParameterError),
    "no workers": (lambda: cars(ROWS, ranks=[1], workers=0), ParameterError),
    "a fallback": (lambda: cars(ROWS, ranks=[1], fallback="dual"), ParameterError),  # type: ignore[arg-type]
    "interpolation by folds": (lambda: fold_loss(ROWS, ranks=[1], fallback="interpolate"), ParameterError),
    "one fold": (lambda: fold_separation(ROWS, ranks=[1], folds=1), ParameterError),
    "no documents": (lambda: cars(ROWS, ranks=[1], by_document=True), ParameterError),
    "documents for whitened rows": (lambda: fold_separation(ROWS, ranks=[1], documents=ONE), ParameterError),
    "documents of another size": (
        lambda: fold_separation(ROWS, ranks=[1], whitened=False, documents=ONE),
        DimensionError,
    ),
    "scores of another shape": (
        lambda: held_out_ranking(ROWS, lambda training, held: (ONE, ONE), ranks=[1]),
        DimensionError,
    ),
    "nan scores": (
        lambda: held_out_ranking(ROWS, lambda training, held: (np.full((len(held), 1), np.nan),) * 2, ranks=[1]),
        EmbeddingError,
    ),
    "power": (lambda: cars_power(-1.0, 3), ParameterError),
}


@pytest.mark.parametrize(("call", "error"), list(REFUSED.values()), ids=list(REFUSED))
def test_bad_input_is_refused(call: Callable[[], Any], error: type[AskewError]) -> None:
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("angle", [0.0, 0.5])
def test_the_error_is_that_of_repetitions_with_a_signal_and_without(angle: float) -> None:
    """The plain jackknife's would be half as large again, or more, where nothing but noise is to be seen."""
    found, errors = [], []
    for draw in range(30):
        rng = np.random.default_rng(draw)
        z, noise = rng.normal(size=(80, 2)), 0.7 * rng.normal(size=(2, 80, 6))
        x = np.pad(z, ((0, 0), (0, 4))) + noise[0]
        y = np.pad(np.hstack([np.cos(angle) * z, np.sin(angle) * z]), ((0, 0), (0, 2))) + noise[1]
        (chosen,) = cars(RelevanceRows(tuple(map(str, range(80))), x, y), ranks=[2], splits=8, seed=draw)
        found.append(chosen.score)
        errors.append(chosen.standard_error or 0.0)
    assert 0.75 < np.mean(errors) / np.std(found, ddof=1) < 1.5
