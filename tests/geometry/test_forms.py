"""The joint choice of rank and untied rows against slow, obvious versions, on a model whose form is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from askew.errors import AskewError, DimensionError, EmbeddingError, LabelError, ParameterError
from askew.geometry import Form, FormChoice, RelevanceRows, choose_form, fold_separation, nearest_partial
from askew.geometry.forms import _first_best, partial_fits
from askew.geometry.halving import compact, deal_folds, jackknife_covariance, spectra_of
from askew.geometry.risk import partial_dimension
from askew.geometry.splits import Units
from askew.linalg.fixed import Float64Array

QUARTERS = (0.25, 0.5, 0.75)


def named(x: Float64Array, z: Float64Array, *, signed: bool = False) -> RelevanceRows:
    return RelevanceRows(tuple(f"q{row}" for row in range(len(x))), x, z, signed=signed)


def noisy(count: int = 60, dim: int = 5, *, signed: bool = False, seed: int = 0) -> RelevanceRows:
    rng = np.random.default_rng([seed, count, dim])
    x = rng.normal(size=(count, dim))
    half = rng.normal(size=(dim, dim))
    lean = half @ np.diag(np.where(np.arange(dim) % 2, -1.0, 1.0)) @ half.T if signed else half @ half.T
    return named(x, x @ (lean + rng.normal(size=(dim, dim))) + rng.normal(size=(count, dim)), signed=signed)


def half_turned(count: int, seed: int) -> tuple[RelevanceRows, Float64Array]:
    """8 of 32 directions hold signal, and 4 of them are turned by 1.2 rad on one side; the rows and the true moment."""
    rng = np.random.default_rng([seed, count])
    basis = np.linalg.qr(rng.normal(size=(32, 16)))[0]
    turned = basis[:, :8].copy()
    turned[:, :4] = np.cos(1.2) * basis[:, :4] + np.sin(1.2) * basis[:, 8:12]
    z = rng.normal(size=(count, 8))
    x, y = z @ basis[:, :8].T, z @ turned.T
    return named(x + rng.normal(size=x.shape), y + rng.normal(size=y.shape)), basis[:, :8] @ turned.T


def values_of(found: FormChoice, rank: int, untied: int) -> Float64Array:
    place = next(place for place, form in enumerate(found.forms) if (form.rank, form.untied) == (rank, untied))
    return found.values[:, place]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(("count", "dim"), [(60, 9), (12, 40)])
def test_fits_with_no_row_untied_are_shared_and_with_all_are_dual(count: int, dim: int, signed: bool) -> None:
    rows = noisy(count, dim, signed=signed)
    kept = np.arange(count - 3)
    spectra = spectra_of(rows, kept, largest=4)
    shared, between, dual = (
        query.T @ document for query, document in partial_fits(rows, kept, spectra, rank=4, untied=[0, 2, 4])
    )
    size = float(np.linalg.norm(dual))
    np.testing.assert_allclose(shared, spectra.shared(4).to_dense(), atol=1e-10 * size)
    np.testing.assert_allclose(dual, spectra.dual(4).to_dense(), atol=1e-10 * size)
    moment = rows.queries[kept].T @ rows.differences[kept] / len(kept)
    errors = [np.sum((moment - fit) ** 2) for fit in (shared, between, dual)]
    assert errors[0] > errors[1] > errors[2]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("kind", ["whitened", "raw", "raw, with documents"])
def test_held_out_separation_is_that_of_the_nearest_matrices(kind: str, signed: bool) -> None:
    rows = noisy(signed=signed)
    documents = np.random.default_rng(5).normal(size=(50, 5)) * np.arange(1, 6)
    options: dict[str, Any] = {"whitened": kind == "whitened"}
    if kind == "raw, with documents":
        options["documents"] = documents
    found = choose_form(rows, ranks=[3, 2], fractions=[0.33, 0.66], folds=3, groups=None, **options)
    assert [(form.rank, form.untied) for form in found.forms if form.rank == 3] == [(3, 0), (3, 1), (3, 2), (3, 3)]
    fold = Units(rows).deal(3, "fold-0")
    for form in found.forms:
        for number, value in enumerate(values_of(found, form.rank, form.untied)):
            x, z = rows.queries[fold != number], rows.differences[fold != number]
            target = rows.queries[fold == number].T @ rows.differences[fold == number] / np.sum(fold == number)
            w = nearest_partial(x.T @ z / len(x), form.rank, untied=form.untied, signed=signed).to_dense()
            spread = np.cov((documents if "documents" in options else z).T, bias=True)
            square = np.sum(w**2) if kind == "whitened" else np.trace(w.T @ (x.T @ x / len(x)) @ w @ spread)
            slack = 2e-2 if form.family == "partly shared" else 1e-9  # its descent ends early, and is pulled
            assert value == pytest.approx(np.sum(w * target) / np.sqrt(square), rel=slack)


@pytest.mark.parametrize("angle", [0.0, 1.2])
def test_without_partly_shared_fits_it_is_separation_at_every_rank(angle: float) -> None:
    rng = np.random.default_rng([0, 600])
    basis = np.linalg.qr(rng.normal(size=(32, 16)))[0]
    z = rng.normal(size=(600, 8))
    x, y = z @ basis[:, :8].T, z @ (np.cos(angle) * basis[:, :8] + np.sin(angle) * basis[:, 8:]).T
    rows = named(x + rng.normal(size=x.shape), y + rng.normal(size=y.shape))
    found = choose_form(rows, ranks=[2, 16, 8, 4, 8])
    assert found.chosen == found.whole
    assert found.chosen.family == ("dual" if angle else "shared")
    assert found.chosen.rank in (8, 16)
    assert len(found.forms) == 8
    assert (found.partial, found.lead, found.standard_error, found.inside_noise) == (None, None, None, False)
    assert found.reason == "no partly shared fit was tried"
    assert found.separation(found.chosen) == pytest.approx(found.values.mean(axis=0).max())
    for one in fold_separation(rows, ranks=[2, 4, 8, 16]):
        lead = values_of(found, one.rank, one.rank) - values_of(found, one.rank, 0)
        np.testing.assert_allclose(lead, one.values, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_form_of_a_half_turned_model_is_found(seed: int) -> None:
    rows, truth = half_turned(512, seed)
    found = choose_form(rows, ranks=[4, 8, 12], fractions=QUARTERS)
    assert (found.chosen.rank, found.chosen.untied, found.chosen.family) == (8, 4, "partly shared")
    assert found.chosen == found.partial
    assert found.whole.family == "dual"
    assert found.lead is not None
    assert found.lead > 0
    assert "the best partly shared fit (4 of 8 rows untied) leads by 0.0" in found.reason
    every = np.arange(len(rows))
    spectra = spectra_of(rows, every, largest=12)
    ((query, document),) = partial_fits(rows, every, spectra, rank=8, untied=[4])
    fits = query.T @ document, spectra.dual(found.whole.rank).to_dense(), spectra.shared(8).to_dense()
    partly, dual, shared = (np.sum(fit * truth) / np.linalg.norm(fit) for fit in fits)
    assert partly > 1.005 * dual > 1.05 * shared


def test_the_error_of_the_lead_is_leaving_a_group_out_of_what_is_held() -> None:
    rows = noisy(80, 5)
    found = choose_form(rows, ranks=[3], fractions=[0.33], folds=4, groups=16)
    assert found.partial is not None
    group, fold = deal_folds(Units(rows), folds=4, groups=16, seed=0)
    assert group is not None
    leads = np.zeros(80)
    for number in range(4):
        kept = np.flatnonzero(fold != number)
        spectra = spectra_of(rows, kept, largest=3)
        fits = dict(zip((0, 1, 3), partial_fits(rows, kept, spectra, rank=3, untied=[0, 1, 3]), strict=True))
        for sign, form in ((1, found.partial), (-1, found.whole)):
            query, document = fits[form.untied]
            dense = query.T @ document
            margins = np.sum((rows.queries @ dense) * rows.differences, axis=1) / np.linalg.norm(dense)
            leads += np.where(fold == number, sign * margins, 0.0)
    without = np.zeros((16, 1))
    for place in range(16):
        without[place] = np.mean([leads[(fold == number) & (group != place)].mean() for number in range(4)])
    error = float(np.sqrt(jackknife_covariance(without)[0, 0]))
    assert found.lead == pytest.approx(np.mean([leads[fold == number].mean() for number in range(4)]), abs=1e-9)
    assert found.standard_error == pytest.approx(error, rel=1e-6)
    assert found.groups == 16
    assert found.inside_noise == (abs(found.lead or 0.0) < 1.753 * error)  # Student's t with 15 degrees of freedom
    assert f"± {error:.2g}" in found.reason


def test_of_equal_forms_the_smallest_is_chosen() -> None:
    x = np.tile(np.eye(4), (10, 1)) * np.arange(1.0, 41.0)[:, None]  # of other sizes, so that they are other queries
    whole = choose_form(named(x, x), ranks=[4], fractions=QUARTERS)
    np.testing.assert_allclose(whole.values, np.repeat(whole.values[:, :1], 5, axis=1))
    assert (whole.chosen.rank, whole.chosen.untied) == (4, 0)
    thin = np.outer(np.arange(1.0, 41.0), [1.0, 0.0, 0.0, 0.0])
    assert choose_form(named(thin, thin), ranks=[4, 2, 1], fractions=QUARTERS).chosen == Form(1, 0, 4)
    nothing = choose_form(named(x, np.zeros_like(x)), ranks=[4, 2], fractions=QUARTERS)
    assert (nothing.values == 0).all()
    assert (nothing.chosen.rank, nothing.chosen.untied) == (2, 0)


def test_equal_but_for_rounding_is_equal_and_more_is_not() -> None:
    every = np.ones(2, dtype=bool)
    for mean in (0.3, -0.3):
        assert _first_best(np.array([mean, mean + 1e-14]), every) == 0
        assert _first_best(np.array([mean, mean + 1e-10]), every) == 1
    assert _first_best(np.array([0.5, 0.3, 0.3 + 1e-14]), np.array([False, True, True])) == 1


def test_a_tie_is_said_as_one() -> None:
    x = np.tile(np.eye(4), (10, 1)) * np.arange(1.0, 41.0)[:, None]
    found = choose_form(named(x, x), ranks=[4], fractions=[0.5])
    assert found.lead == 0.0
    assert found.reason == (
        "the best partly shared fit (2 of 4 rows untied) and shared at rank 4 are equal: the smaller is taken"
    )
    behind = replace(found, values=found.values - np.array([0.0, 3e-5, 0.0]), standard_error=1e-5, groups=20)
    assert "trails by 3e-05 ± 1e-05 against shared at rank 4" in behind.reason


def test_a_rank_that_a_fold_does_not_hold_is_said() -> None:
    found = choose_form(noisy(8, 20), ranks=[12], fractions=[0.5], folds=4)
    assert found.held == 6
    assert found.reason.endswith("; rank 12 is more than a part of the data holds, so it was judged at 6")
    assert "judged at" not in choose_form(noisy(40, 20), ranks=[12], fractions=[0.5]).reason


def test_forms_go_from_few_dimensions_to_many_and_ends_are_tried_once() -> None:
    found = choose_form(noisy(60, 30), ranks=[2, 8, 3, 1], fractions=[0.01, 0.25, 0.5, 0.75, 0.99])
    dimensions = [form.dimension for form in found.forms]
    assert dimensions == sorted(dimensions)
    assert dimensions == [int(partial_dimension(30, form.rank, untied=form.untied)) for form in found.forms]
    tried = {rank: sorted(form.untied for form in found.forms if form.rank == rank) for rank in (1, 2, 3, 8)}
    assert tried == {1: [0, 1], 2: [0, 1, 2], 3: [0, 1, 2, 3], 8: [0, 2, 4, 6, 8]}


@pytest.mark.parametrize("signed", [False, True])
def test_coordinates_and_workers_change_nothing(signed: bool) -> None:
    rows = noisy(14, 40, signed=signed)
    assert compact(rows).shape == (28, 28)
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(40, 40)))[0]
    other = replace(rows, queries=rows.queries @ turn, differences=rows.differences @ turn)
    first, second = (choose_form(one, ranks=[4], fractions=[0.5], folds=2) for one in (rows, other))
    np.testing.assert_allclose(first.values, second.values, rtol=1e-3)
    raw = {"ranks": [4], "fractions": [0.5], "folds": 2, "whitened": False, "documents": rows.differences}
    one, two = (choose_form(rows, workers=workers, **raw) for workers in (1, 3))  # type: ignore[arg-type]
    np.testing.assert_array_equal(one.values, two.values)
    assert one.standard_error == two.standard_error


def test_few_queries_have_no_error() -> None:
    found = choose_form(noisy(6, 5), ranks=[4], fractions=[0.5])
    assert (found.standard_error, found.inside_noise) == (None, True)
    assert "too few queries for an error" in found.reason
    assert found.lead is not None
    switched_off = choose_form(noisy(6, 5), ranks=[4], fractions=[0.5], groups=None)
    assert not switched_off.inside_noise
    assert "too few" not in switched_off.reason
    assert np.isfinite(found.values).all()


@pytest.mark.parametrize("signed", [False, True])
def test_the_leading_span_loses_little(signed: bool) -> None:
    """Where the noise is as in embeddings, whose spectra decay, and there are more directions than 3r."""
    rng = np.random.default_rng(0)
    scales = np.arange(1, 81) ** -0.5
    x = rng.normal(size=(400, 80)) * scales
    turn = np.linalg.qr(np.eye(80) + 0.1 * rng.normal(size=(80, 80)))[0]
    rows = named(x, x @ turn + rng.normal(size=x.shape) * scales, signed=signed)
    every, moment = np.arange(400), rows.moment()
    spectra = spectra_of(rows, every, largest=8)
    for untied, (query, document) in zip(
        (2, 4, 6), partial_fits(rows, every, spectra, rank=8, untied=[2, 4, 6]), strict=True
    ):
        exact = nearest_partial(moment, 8, untied=untied, starts=1, signed=signed, tolerance=1e-9)
        lost = np.sum((moment - query.T @ document) ** 2) - exact.error
        assert 0 <= lost < 0.01 * np.sum(moment**2)


ROWS = noisy(8, 3)
BAD: dict[str, tuple[Callable[[], Any], type[AskewError]]] = {
    "nothing untied": (lambda: choose_form(ROWS, ranks=[2], fractions=[0.0]), ParameterError),
    "all untied": (lambda: choose_form(ROWS, ranks=[2], fractions=[0.5, 1.0]), ParameterError),
    "less than nothing": (lambda: choose_form(ROWS, ranks=[2], fractions=[-0.5]), ParameterError),
    "no number": (lambda: choose_form(ROWS, ranks=[2], fractions=[np.nan]), ParameterError),
    "a rank above the dimension": (lambda: choose_form(ROWS, ranks=[4], fractions=[0.5]), ParameterError),
    "no rank": (lambda: choose_form(ROWS, ranks=[], fractions=[0.5]), ParameterError),
    "one fold": (lambda: choose_form(ROWS, ranks=[1], folds=1), ParameterError),
    "few groups": (lambda: choose_form(ROWS, ranks=[1], groups=3), ParameterError),
    "no workers": (lambda: choose_form(ROWS, ranks=[1], workers=0), ParameterError),
    "documents of another size": (
        lambda: choose_form(ROWS, ranks=[1], whitened=False, documents=np.ones((5, 4))),
        DimensionError,
    ),
    "documents for whitened rows": (lambda: choose_form(ROWS, ranks=[1], documents=np.ones((5, 3))), ParameterError),
    "two dimensions": (
        lambda: choose_form(named(np.arange(10.0).reshape(5, 2), np.arange(15.0).reshape(5, 3)), ranks=[1]),
        DimensionError,
    ),
    "three queries": (lambda: choose_form(noisy(3, 3), ranks=[1], fractions=[0.5]), LabelError),
    "NaN": (lambda: choose_form(named(np.full((5, 3), np.nan), np.ones((5, 3))), ranks=[1]), EmbeddingError),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: str) -> None:
    call, error = BAD[case]
    with pytest.raises(error):
        call()
