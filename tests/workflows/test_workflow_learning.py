"""Learning curve: what each fit may see, what is averaged and chosen, and what the curve says of a verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from askew.data import Dataset, TwoWayFolds
from askew.errors import LabelError
from askew.estimators import Estimator, Labels, Mining, Path, Ridge
from askew.estimators.paths import Family
from askew.geometry import LearningCurve
from askew.linalg.fixed import Float64Array, FloatArray
from askew.operators import Identity, Term
from askew.workflows.learning import GainCurve, gain_curve, recorded

COUNTS = (20.0, 40.0, 80.0, 160.0)


@dataclass
class Spy:
    """An estimator that learns nothing and remembers what it was shown."""

    strengths: tuple[float, ...] = (1.0,)
    ranks: tuple[int | None, ...] = (None,)
    family: Family = "dual"
    name: str = "spy"
    shown: list[Labels] = field(default_factory=list)

    def path(self, labels: Labels, prior: Term) -> Path:
        self.shown.append(labels)
        return Path.dual(self.strengths, self.ranks, None, [np.zeros(prior.shape) for _ in self.strengths])


@dataclass
class ByCount:
    """An estimator whose correction is the number of labels it was fitted to, over 1,000, times its strength."""

    strengths: tuple[float, ...] = (1.0,)
    ranks: tuple[int | None, ...] = (None,)
    family: Family = "dual"
    name: str = "count"

    def path(self, labels: Labels, prior: Term) -> Path:
        found = [np.full(prior.shape, strength * len(labels) / 1000) for strength in self.strengths]
        return Path.dual(self.strengths, self.ranks, None, found)


@dataclass
class Scores:
    """Ranking by a rule of the adapted query and its row; remembers which documents were out."""

    rule: Callable[[FloatArray, np.ndarray], Float64Array]
    seen: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)

    def __call__(self, adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        self.seen.append((tuple(rows.tolist()), tuple(seen.tolist())))
        value = self.rule(adapted, rows)
        return np.stack([value, value])


def flat(adapted: FloatArray, rows: np.ndarray) -> Float64Array:
    return np.where(rows % 2 == 0, 0.5, 0.4)


@pytest.fixture(scope="module")
def labels(new_task: Callable[..., Dataset]) -> Labels:
    task = new_task(queries=80, documents=120, dim=4)
    return Labels.build(
        task, TwoWayFolds.build(task, count=5), prior=Identity(4), mining=Mining("top", count=6), seed=0
    )


def spied(labels: Labels, traffic: float, **options: Any) -> tuple[list[Labels], Scores]:
    spy, scores = Spy(), Scores(flat)
    gain_curve(labels, prior=Identity(4), estimators=[spy], rank_score=scores, traffic=traffic, **options)
    return spy.shown, scores


def by_fold(labels: Labels, shown: list[Labels], parts: tuple[int, ...], folds: int) -> list[list[list[Labels]]]:
    """Parts, then folds, then the fits of that fold: the order in which they are made by one worker."""
    queue = iter(shown)
    return [[[next(queue) for _ in range(count)] for _ in range(folds)] for count in parts]


PARTS = (4, 2, 1)  # an eighth of 80 is too few


def test_fits_to_parts_see_no_query_and_no_document_of_the_fold(labels: Labels) -> None:
    shown, _ = spied(labels, 0.0)
    for of_count, count in zip(by_fold(labels, shown, PARTS, 5), PARTS, strict=True):
        for fold, fits in enumerate(of_count):
            outside = [name for name, at in zip(labels.query_ids, labels.query_fold, strict=True) if at != fold]
            names = [name for fit in fits for name in fit.query_ids]
            assert sorted(names) == sorted(outside), "every label outside the fold teaches one of the parts, once"
            assert max(map(len, fits)) - min(map(len, fits)) <= 1
            assert len(fits) == count
            for fit in fits:
                used = np.append(fit.pair_item, fit.negatives[fit.negatives >= 0])
                assert not np.any(labels.item_fold[used] == fold)


def test_for_recurring_traffic_documents_stay(labels: Labels) -> None:
    shown, scores = spied(labels, 1.0)
    used = set()
    for of_count in by_fold(labels, shown, PARTS, 5):
        for fold, fits in enumerate(of_count):
            outside = {name for name, at in zip(labels.query_ids, labels.plain_fold, strict=True) if at != fold}
            assert {name for fit in fits for name in fit.query_ids} == outside
            used |= {(fold, int(labels.item_fold[item])) for fit in fits for item in fit.negatives.ravel() if item >= 0}
    assert len(used) > 20, "negatives of every fold of documents teach with every fold of queries held out"
    assert {seen for _, seen in scores.seen} == {()}


def test_every_point_is_scored_without_what_any_label_outside_the_fold_names(labels: Labels) -> None:
    _, scores = spied(labels, 0.0)
    for rows, seen in scores.seen:
        folds = set(labels.query_fold[list(rows)].tolist())
        assert len(folds) == 1
        outside = ~np.isin(labels.query_fold[labels.pair_query], list(folds))
        named = labels.pair_item[outside & ~np.isin(labels.item_fold[labels.pair_item], list(folds))]
        assert seen == tuple(np.unique(labels.item_row[named]).tolist())


def test_parts_are_cut_by_a_hash_of_the_query(labels: Labels, new_task: Callable[..., Dataset]) -> None:
    task = new_task(queries=80, documents=120, dim=4)
    turned = task.only(task.qrels.queries[::-1])
    other = Labels.build(turned, TwoWayFolds.build(turned), prior=Identity(4), mining=Mining("top", count=6))
    assert other.query_ids != labels.query_ids
    parts = [[frozenset(fit.query_ids) for fit in spied(one, 0.0)[0]] for one in (labels, other)]
    assert parts[0] == parts[1]
    salted = [frozenset(fit.query_ids) for fit in spied(labels, 0.0, seed=1)[0]]
    assert salted[:20] != parts[0][:20]


def test_fewer_repeats_fit_to_the_first_parts_alone(labels: Labels) -> None:
    whole = [
        fit.query_ids for of in by_fold(labels, spied(labels, 0.0)[0], PARTS, 5) for fits in of for fit in fits[:1]
    ]
    assert [fit.query_ids for fit in spied(labels, 0.0, repeats=1)[0]] == whole


def summed(adapted: FloatArray, rows: np.ndarray) -> Float64Array:
    """What ByCount added to the first coordinate, whatever the query: for queries of one vector."""
    return np.asarray(adapted[:, 0], dtype=np.float64)


@pytest.fixture
def level(labels: Labels) -> Labels:
    """The same labels with one vector for every query: a correction c adds 4c · ¼."""
    return replace(labels, queries=np.full((80, 4), 0.25))


@pytest.mark.parametrize("repeats", [1, 8])
def test_a_point_is_the_mean_gain_of_fits_to_its_parts(level: Labels, repeats: int) -> None:
    found = gain_curve(level, prior=Identity(4), estimators=[ByCount()], rank_score=Scores(summed), repeats=repeats)
    assert found.counts == (20.0, 40.0, 80.0)
    for gain, error, count in zip(found.gains, found.errors, PARTS, strict=True):
        expected = np.zeros(80)
        for fold in range(5):
            held = level.query_fold == fold
            sizes = [len(part) for part in np.array_split(np.flatnonzero(~held), count)][:repeats]
            expected[held] = np.mean(sizes) / 1000
        assert gain == pytest.approx(expected.mean(), rel=1e-6)
        assert error == pytest.approx(expected.std(ddof=1) / np.sqrt(80), rel=1e-4)


@dataclass
class Marked(Spy):
    """The correction of every strength is that number in every entry."""

    def path(self, labels: Labels, prior: Term) -> Path:
        return Path.dual(self.strengths, self.ranks, None, [np.full(prior.shape, one) for one in self.strengths])


def test_a_strength_is_what_the_other_folds_prefer(level: Labels) -> None:
    """Strength 1 helps the first fold alone, a little; strength 2 helps the others: each must go without itself."""
    first = level.query_fold == 0

    def rule(adapted: FloatArray, rows: np.ndarray) -> Float64Array:
        kind = np.rint(adapted[:, 0] - 0.25).astype(int)  # 0 for the base, else the strength
        return np.select([kind == 0, kind == np.where(first[rows], 1, 2)], [0.0, np.where(first[rows], 0.1, 1.0)], -1.0)

    found = gain_curve(
        level, prior=Identity(4), estimators=[Marked(strengths=(1.0, 2.0))], rank_score=Scores(rule), repeats=1
    )
    assert found.gains == pytest.approx([np.where(first, -1.0, 1.0).mean()] * 3)


def test_a_fold_does_not_choose_for_itself(level: Labels) -> None:
    """Two strengths help half of the folds each: by all queries one would win, without a fold the other does."""
    one = level.query_fold % 2 == 0  # three folds of five

    def rule(adapted: FloatArray, rows: np.ndarray) -> Float64Array:
        kind = np.rint(adapted[:, 0] - 0.25).astype(int)
        return np.select([kind == 0, kind == np.where(one[rows], 1, 2)], [0.0, 1.0], -1.0)

    found = gain_curve(
        level, prior=Identity(4), estimators=[Marked(strengths=(1.0, 2.0))], rank_score=Scores(rule), repeats=1
    )
    expected = np.zeros(80)
    for fold in range(5):
        held = level.query_fold == fold
        bounds = [0.0] + [
            gain.mean() - 0.5 * gain.std(ddof=1) / np.sqrt(len(gain))
            for gain in (np.where(one[~held], 1.0, -1.0), np.where(one[~held], -1.0, 1.0))
        ]
        pick = int(np.argmax(bounds))
        expected[held] = 0.0 if pick == 0 else np.where(one[held], 1.0, -1.0) * (1 if pick == 1 else -1)
    assert found.gains == pytest.approx([expected.mean()] * 3)
    assert expected.min() < 0


@pytest.mark.parametrize("traffic", [0.0, 0.3, 1.0])
def test_scores_with_all_labels_may_be_given(labels: Labels, traffic: float) -> None:
    score = Scores(lambda adapted, rows: np.tanh(adapted @ np.arange(4.0)) + rows / 100)
    options = {"prior": Identity(4), "estimators": [Ridge(strengths=(0.01, 1.0))], "rank_score": score}
    measured = gain_curve(labels, traffic=traffic, **options)  # type: ignore[arg-type]
    whole = {}
    for regime, fold in (("fresh", labels.query_fold), ("recurring", labels.plain_fold)):
        table = np.zeros((2, 3, 80))
        for held in range(5):
            rows = np.flatnonzero(fold == held)
            items = labels.item_fold == held if regime == "fresh" else None
            fitting = labels.holding_out(fold == held, items)
            base = labels.queries[rows].astype(np.float32)
            maps = [
                base,
                *(base + Ridge(strengths=(0.01, 1.0)).path(fitting, Identity(4)).corrections(labels.queries[rows])),
            ]
            for place, adapted in enumerate(maps):
                table[:, place, rows] = score(adapted, rows, np.empty(0, dtype=np.int64))
        whole[regime] = table
    given = gain_curve(labels, traffic=traffic, whole=whole, **options)  # type: ignore[arg-type]
    assert given.gains == pytest.approx(measured.gains, abs=1e-12)
    assert given.errors == pytest.approx(measured.errors, abs=1e-12)
    zeros = {regime: np.zeros((2, 3, 80)) for regime in whole}
    without = gain_curve(labels, traffic=traffic, whole=zeros, **options)  # type: ignore[arg-type]
    assert without.gains[-1] == 0
    assert without.gains[:-1] == measured.gains[:-1]


def test_traffic_weighs_the_regimes(labels: Labels) -> None:
    fresh, recurring, mixed = (
        gain_curve(
            replace(labels, queries=np.full((80, 4), 0.25)),
            prior=Identity(4),
            estimators=[ByCount()],
            rank_score=Weighing(),
            traffic=traffic,
        ).gains
        for traffic in (0.0, 1.0, 0.25)
    )
    assert recurring[0] < 0 < fresh[0]
    assert mixed == pytest.approx([0.75 * one + 0.25 * two for one, two in zip(fresh, recurring, strict=True)])


class Weighing:
    """Adds what was learned where documents are out, and takes twice of it away where none is."""

    def __call__(self, adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        value = summed(adapted, rows) - 0.25
        return np.stack([value if len(seen) else -2 * value, value])


def test_one_fold_and_few_labels_are_refused(labels: Labels) -> None:
    options = {"prior": Identity(4), "estimators": [Spy()], "rank_score": Scores(flat)}
    with pytest.raises(LabelError, match="fall into one fold"):
        gain_curve(replace(labels, query_fold=np.zeros(80, dtype=np.int64)), **options)  # type: ignore[arg-type]
    few = labels.holding_out(np.arange(80) >= 63)
    with pytest.raises(LabelError, match=r"63 labels give 2 of the 3 points .*Label at least 64"):
        gain_curve(few, **options)  # type: ignore[arg-type]


def curve_of(gains: list[float], error: float = 0.01, **options: object) -> GainCurve:
    curve = LearningCurve.fit(COUNTS, gains, errors=[error] * 4)
    known = {"threshold": 1.0, "fitted": "ridge (dual)", **options}
    return GainCurve(COUNTS, tuple(gains), (error,) * 4, curve, **known)  # type: ignore[arg-type]


def test_what_is_needed_falls_with_the_root_of_the_labels() -> None:
    gain = curve_of([0.02, 0.03, 0.035, 0.0375], 0.05)
    assert gain.needed(160) == 0.05
    assert gain.needed(640) == pytest.approx(0.025)
    start = gain.pays_from()
    assert start is not None
    assert 160 < start < 640
    assert gain.forecast(start / 160).value > gain.needed(start)
    assert curve_of([0.01, 0.005, 0.0, -0.01], 0.01).pays_from() is None


def test_a_forecast_starts_from_what_was_measured() -> None:
    bent = curve_of([0.02, 0.03, 0.02, 0.06])
    assert bent.curve.misfit > 0.01
    now = bent.forecast(1)
    assert now.value == 0.06
    assert (now.low, now.high) == pytest.approx((0.06 - 1.96 * 0.01, 0.06 + 1.96 * 0.01), abs=0.003)
    added = bent.curve.at(320).value - bent.curve.at(160).value
    assert bent.forecast(2).value == pytest.approx(0.06 + added)
    points = recorded(bent).points
    assert points[4].gain == points[3].gain == 0.06
    assert [(point.low, point.high) for point in points[:2]] == [
        pytest.approx((gain - 0.0196, gain + 0.0196)) for gain in (0.02, 0.03)
    ]
    rows = recorded(bent).rows
    assert [row.labels for row in rows] == [20, 40, 80, 160, 320, 640]  # the labels there are, once


def test_what_twice_the_labels_add_is_told_with_its_own_interval() -> None:
    curve = curve_of([0.02, 0.03, 0.035, 0.04])
    twice, more = curve.forecast(2), recorded(curve).twice
    assert more is not None
    assert more.labels == 320
    assert more.gain == pytest.approx(twice.value - 0.04)
    assert more.high - more.low < twice.high - twice.low
    assert f"320 in all are expected to bring {more.gain:+.4f} more" in curve.reason
    assert (", possibly none" in curve.reason) == (more.low <= 0)
    assert "possibly none (95% interval" in curve_of([0.04, 0.03, 0.035, 0.03]).reason


def test_a_verdict_stands() -> None:
    steep = [0.02, 0.03, 0.04, 0.05]
    assert curve_of(steep).pays_from() == 160
    kept = curve_of(steep, decision="keep")
    assert kept.pays_from() == pytest.approx(160 * 2**0.25)
    assert kept.reason.startswith(
        "adapting is expected to pay from about 190 labels on: the gain of ridge (dual) is +0.0500"
    )
    flat_but_shipped = curve_of([0.001, 0.001, 0.001, 0.001], decision="adapt")
    assert flat_but_shipped.pays_from() == 160
    assert flat_but_shipped.reason.startswith("adapting pays already: ")
    assert curve_of([0.001, 0.001, 0.001, 0.001], decision="keep").pays_from() is None


def test_what_is_fitted_is_named(labels: Labels) -> None:
    tried: list[Estimator] = [Ridge("dual", (1.0,)), Ridge("shared", (1.0,)), Spy()]
    found = gain_curve(labels, prior=Identity(4), estimators=tried, rank_score=Scores(flat), repeats=1)
    assert found.fitted == "ridge (dual or shared) or spy (dual)"
    assert found.to_json()["fitted"] == found.fitted


def test_progress_is_told_for_every_fit(labels: Labels) -> None:
    told: list[tuple[int, int]] = []
    gain_curve(
        labels,
        prior=Identity(4),
        estimators=[Spy()],
        rank_score=Scores(flat),
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(done, 5 * sum(PARTS)) for done in range(1, 5 * sum(PARTS) + 1)]
