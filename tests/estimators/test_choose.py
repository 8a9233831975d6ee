"""Choosing: against a slow obvious loop, in both regimes and between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels, TwoWayFolds
from askew.errors import ParameterError
from askew.estimators import Candidate, Choice, Estimator, Labels, Mining, Path, Ridge, Setting, Softmax, choose
from askew.estimators.choose import _reason
from askew.estimators.paths import Family
from askew.linalg.fixed import Float64Array, FloatArray
from askew.operators import Dense, Identity, Term, Zero

LabelsMaker = Callable[..., tuple[Labels, Term]]
RankScore = Callable[[FloatArray, np.ndarray, np.ndarray], Float64Array]
KEEP = Candidate("identity")


@dataclass(frozen=True)
class Constant:
    """An estimator that knows nothing: its correction is `strength` in every entry."""

    strengths: tuple[float, ...]
    ranks: tuple[int | None, ...] = (None,)
    family: Family = "dual"
    name: str = "constant"

    def path(self, labels: Labels, prior: Term) -> Path:
        matrices = [np.full(prior.shape, strength) for strength in self.strengths]
        return Path.dual(self.strengths, self.ranks, None, matrices)


def overlap_score(labels: Labels) -> RankScore:
    """A stand-in for ranking: inner product with the mean relevant document, less for what was seen."""
    targets = labels.mean_positives()

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        assert adapted.dtype == np.float32
        judged = np.asarray(np.sum(adapted * targets[rows], axis=1) - 0.001 * len(seen), dtype=np.float64)
        return np.stack([judged, np.sqrt(np.abs(judged)) * np.sign(judged)])

    return rank_score


def flat_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
    return np.full((2, len(adapted)), 0.5)


def slow_best(steady: np.ndarray) -> int:
    """Of (q, C) scores, the column of the best mean gain over the first, less half its standard error."""
    bounds = []
    for column in range(steady.shape[1]):
        gains = [float(row[column] - row[0]) for row in steady]
        mean = sum(gains) / len(gains)
        variance = sum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
        bounds.append(mean - 0.5 * (variance / len(gains)) ** 0.5)
    return int(np.argmax(bounds))


def slow_choice(
    labels: Labels,
    priors: Mapping[str, Term],
    estimators: Sequence[Estimator],
    score: RankScore,
    traffic: float,
) -> tuple[dict[str, Float64Array], Float64Array, int]:
    """Query by query: every candidate's scores in both regimes, what is picked without a query's fold, the choice."""
    fits: list[tuple[Term, Estimator | None, Setting | None]] = [(prior, None, None) for prior in priors.values()]
    for prior in priors.values():
        for estimator in estimators:
            fits += [(prior, estimator, Setting(s, r)) for s in estimator.strengths for r in estimator.ranks]

    @cache
    def fit_all(regime: str, held: frozenset[int]) -> tuple[list[Float64Array], np.ndarray]:
        if regime == "fresh":
            queries, items = np.isin(labels.query_fold, list(held)), np.isin(labels.item_fold, list(held))
        else:
            queries, items = np.isin(labels.plain_fold, list(held)), np.zeros(len(labels.items), dtype=bool)
        fitting = labels.holding_out(queries, items)
        seen = np.unique(fitting.item_row[fitting.pair_item]) if regime == "fresh" else np.empty(0, dtype=np.int64)
        maps = []
        for prior, estimator, setting in fits:
            maps.append(prior.to_dense())
            if estimator is not None and setting is not None:
                maps[-1] = maps[-1] + estimator.path(fitting, prior).at(setting).to_dense()
        return maps, seen

    def score_one(regime: str, held: set[int], row: int) -> list[tuple[float, float]]:
        maps, seen = fit_all(regime, frozenset(held))
        query, rows = labels.queries[row : row + 1], np.array([row])
        pairs = [score((query @ matrix).astype(np.float32), rows, seen) for matrix in maps]
        return [(float(judged[0]), float(steady[0])) for judged, steady in pairs]

    weights = {"fresh": 1 - traffic, "recurring": traffic}
    fold_of = {"fresh": labels.query_fold, "recurring": labels.plain_fold}
    n = len(labels)
    scores = {
        regime: np.array([score_one(regime, {int(fold[row])}, row) for row in range(n)]).T  # (2, C, n)
        for regime, fold in fold_of.items()
    }
    picked = np.zeros(n)
    for regime, fold in fold_of.items():
        other = "fresh" if regime == "recurring" else "recurring"
        for outer in np.unique(fold) if weights[regime] else ():
            rows = [row for row in range(n) if fold[row] != outer]
            inner = np.array([score_one(regime, {int(outer), int(fold[row])}, row) for row in rows])[:, :, 1]
            mixed = weights[regime] * inner + weights[other] * scores[other][1][:, rows].T
            held = fold == outer
            picked[held] += weights[regime] * scores[regime][0][slow_best(mixed), held]
    steady = weights["fresh"] * scores["fresh"][1].T + weights["recurring"] * scores["recurring"][1].T
    return scores, picked, slow_best(steady)


@pytest.mark.parametrize("traffic", [0.0, 1.0, 0.3])
def test_scores_and_nesting_equal_a_slow_obvious_loop(make_labels: LabelsMaker, traffic: float) -> None:
    labels, _ = make_labels(queries=24, documents=40, d_query=4, d_document=4, positives=2, folds=3)
    priors: dict[str, Term] = {"identity": Identity(4), "turned": Dense(np.roll(np.eye(4), 1, axis=0))}
    estimators: list[Estimator] = [Ridge(strengths=(0.01, 1.0), ranks=(None, 1)), Softmax(strengths=(0.1,), own=2)]
    score = overlap_score(labels)
    found = choose(labels, priors=priors, estimators=estimators, rank_score=score, traffic=traffic)
    scores, picked, best = slow_choice(labels, priors, estimators, score, traffic)
    assert [record.regime for record in found.evidence] == ["fresh", "recurring"]
    for record in found.evidence:
        assert np.allclose([record.scores, record.steady], scores[record.regime], atol=2e-5)
        assert bool(record.inner) == ((traffic if record.regime == "recurring" else 1 - traffic) > 0)
    means = (1 - traffic) * scores["fresh"][0] + traffic * scores["recurring"][0]
    assert np.allclose(found.means(), means.mean(axis=1), atol=2e-5)
    base = means[0]
    assert found.verdict.base == pytest.approx(base.mean(), abs=2e-5)
    assert found.verdict.adapted == pytest.approx(picked.mean(), abs=2e-5)
    assert found.verdict.gain == pytest.approx((picked - base).mean(), abs=4e-5)
    assert found.verdict.standard_error == pytest.approx((picked - base).std(ddof=1) / np.sqrt(24), abs=4e-5)
    assert found.chosen == found.candidates[best] == found.candidates[int(np.argmax(found.bounds()))]
    assert found.verdict.queries == 24


def test_candidates_are_the_priors_and_then_each_setting_over_each() -> None:
    pairs = (("a", Identity(3)), ("b", Zero(3, 3)))
    labels = small_labels()
    found = choose(
        labels,
        priors=dict(pairs),
        estimators=[Constant((0.1, 1.0), (None, 2)), Ridge("shared", (5.0,))],
        rank_score=flat_score,
    )
    settings = [("constant", "dual", s, r) for s in (0.1, 1.0) for r in (None, 2)] + [("ridge", "shared", 5.0, None)]
    expected = [Candidate("a"), Candidate("b")]
    expected += [Candidate(name, *setting) for name, _ in pairs for setting in settings]  # type: ignore[arg-type]
    assert list(found.candidates) == expected


def small_labels(count: int = 30) -> Labels:
    rng = np.random.default_rng(0)
    names = [str(row) for row in range(count)]
    task = Dataset(
        EmbeddingSet(names, rng.normal(size=(count, 3))),
        EmbeddingSet(names, rng.normal(size=(count, 3))),
        Qrels({name: {name: 1} for name in names}),
    )
    return Labels.build(task, TwoWayFolds.build(task), prior=Identity(3), mining=Mining("top", 2))


@pytest.mark.parametrize("traffic", [0.0, 0.5, 1.0])
def test_what_counts_as_seen(make_labels: LabelsMaker, traffic: float) -> None:
    """Fresh: exactly the relevant documents of the queries fitted on; recurring: none."""
    labels, prior = make_labels(queries=40, positives=3)
    calls = []

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        calls.append((frozenset(np.unique(rows).tolist()), frozenset(seen.tolist())))
        return np.zeros((2, len(adapted)))

    choose(labels, priors={"identity": prior}, estimators=[Ridge()], rank_score=rank_score, traffic=traffic)
    expected: set[tuple[frozenset[int], frozenset[int]]] = set()
    for regime, fold in (("fresh", labels.query_fold), ("recurring", labels.plain_fold)):
        nested = (1 - traffic if regime == "fresh" else traffic) > 0
        for one in range(5):
            for other in range(one, 5) if nested else [one]:
                held = np.isin(fold, [one, other])
                relevant = {
                    int(labels.item_row[item])
                    for query, item in zip(labels.pair_query, labels.pair_item, strict=True)
                    if not held[query] and labels.item_fold[item] not in (one, other)
                }
                rows = frozenset(np.flatnonzero(held).tolist())
                expected.add((rows, frozenset(relevant if regime == "fresh" else ())))
    assert set(calls) == expected
    for rows, seen in expected:
        for row in rows:
            mine = set(labels.item_row[labels.pair_item[labels.pair_query == row]].tolist())
            assert mine - seen, "a query is scored with nothing unseen left"


def test_of_equals_the_strongest_pull_wins() -> None:
    labels, priors = small_labels(), {"identity": Identity(3)}
    equal = choose(labels, priors=priors, estimators=[Constant((0.1, 1.0))], rank_score=flat_score)
    assert (equal.chosen, equal.verdict.decision, equal.verdict.gain) == (KEEP, "keep", 0)

    def only_corrected(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        moved = ~np.isclose(adapted, labels.queries[rows]).all(axis=1)
        return np.stack([moved, moved]).astype(float)

    estimators = [Constant((0.1, 1.0), (2, None, 1)), Constant((1.0,), (None, 2, 1), family="shared")]
    better = choose(labels, priors=priors, estimators=estimators, rank_score=only_corrected)
    assert better.chosen == Candidate("identity", "constant", "shared", 1.0, 1)
    assert better.verdict.decision == "adapt"


@pytest.mark.parametrize("traffic", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("threshold", "decision"), [(0.0, "adapt"), (1.0, "adapt"), (1e6, "keep")])
def test_the_gain_must_exceed_the_threshold_in_standard_errors(threshold: float, decision: str, traffic: float) -> None:
    """Both regimes measure the same queries, so mixing two equal ones changes no standard error."""
    labels = small_labels()
    noise = np.random.default_rng(0).normal(size=len(labels))

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        moved = ~np.isclose(adapted, labels.queries[rows]).all(axis=1)
        return np.stack([np.where(moved, 0.3 + 0.2 * noise[rows], 0.0), moved])

    found = choose(
        labels,
        priors={"identity": Identity(3)},
        estimators=[Constant((1.0,))],
        rank_score=rank_score,
        threshold=threshold,
        traffic=traffic,
    )
    gains = 0.3 + 0.2 * noise
    assert found.verdict.decision == decision
    assert found.verdict.gain == pytest.approx(gains.mean())
    assert found.verdict.standard_error == pytest.approx(gains.std(ddof=1) / np.sqrt(len(gains)))
    assert found.standard_errors()[1] == pytest.approx(found.verdict.standard_error)


@pytest.mark.parametrize("loss", [0.02, 0.3])
def test_where_nothing_is_at_stake_what_leads_ships(loss: float) -> None:
    """The steadier score goes up, the judged one down."""
    labels = small_labels()
    noise = np.random.default_rng(0).normal(size=len(labels))
    noise -= noise.mean()

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        moved = ~np.isclose(adapted, labels.queries[rows]).all(axis=1)
        return np.stack([np.where(moved, noise[rows] - loss, 0.0), moved])

    def decided(threshold: float | None) -> str:
        return choose(
            labels,
            priors={"identity": Identity(3)},
            estimators=[Constant((1.0,))],
            rank_score=rank_score,
            threshold=threshold,
        ).verdict.decision

    assert (decided(None), decided(0.0)) == ("adapt", "keep")


def test_a_prior_that_leads_with_all_labels_is_kept() -> None:
    """Whatever choosing from fewer labels gained: there is nothing to ship."""
    labels = small_labels()

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        moved = ~np.isclose(adapted, labels.queries[rows]).all(axis=1)
        fewer = len(rows) > len(labels) / 4  # fits that leave two folds out score two folds' queries
        return np.stack([np.where(moved, 0.3, 0.0), np.where(moved, 1.0 if fewer else -1.0, 0.0)])

    found = choose(labels, priors={"identity": Identity(3)}, estimators=[Constant((1.0,))], rank_score=rank_score)
    assert found.chosen == KEEP
    assert found.verdict.gain == pytest.approx(0.3)
    assert found.verdict.decision == "keep"
    assert found.verdict.reason.startswith("identity alone leads with all labels; choosing from fewer gained")


def test_the_choice_goes_by_the_steady_score_and_shuns_a_gain_of_few_queries() -> None:
    """The judged score would choose 3, the mean steady score 2; half a standard error turns it to 1."""
    labels = small_labels()
    few = np.arange(len(labels)) < 6
    nothing = np.zeros(len(labels))
    steady = np.stack([nothing, nothing + 0.1, np.where(few, 0.61, 0.0), nothing])

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        moved = (adapted - labels.queries[rows]).mean(axis=1) / labels.queries[rows].sum(axis=1)
        number = np.rint(moved).astype(int)  # the strength, or 0 for the prior
        return np.stack([number == 3, steady[number, rows]]).astype(float)

    estimators = [Constant((1.0, 2.0, 3.0))]
    found = choose(labels, priors={"identity": Identity(3)}, estimators=estimators, rank_score=rank_score)
    assert found.evidence[0].steady.mean(axis=1).argmax() == 2
    assert found.means().argmax() == 3
    assert found.chosen.strength == 1.0
    assert found.verdict.gain == 0  # of the chosen one's judged score


@pytest.mark.parametrize("row", range(0, 30, 3))
def test_one_query_that_gains_is_no_evidence_wherever_it_stands(row: int) -> None:
    """Its gain g/n equals the standard error of the gains, and rounding must not decide between the two."""
    labels = small_labels()

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        moved = ~np.isclose(adapted, labels.queries[rows]).all(axis=1)
        return np.stack([np.where(moved & (rows == row), 0.369, 0.0), moved])

    found = choose(labels, priors={"identity": Identity(3)}, estimators=[Constant((1.0,))], rank_score=rank_score)
    assert found.verdict.gain == pytest.approx(found.verdict.standard_error)
    assert found.verdict.decision == "keep"


@pytest.mark.parametrize("wrong", [np.full((2, 3), np.nan), np.zeros(3), None, np.zeros((2, 3))])
def test_a_score_of_another_shape_or_kind_is_refused(wrong: object) -> None:
    with pytest.raises(ParameterError, match="rank_score gave"):
        choose(
            small_labels(),
            priors={"identity": Identity(3)},
            estimators=[],
            rank_score=lambda *_: wrong,  # type: ignore[arg-type]
        )


def test_a_path_out_of_order_is_refused() -> None:
    class Turned(Constant):
        def path(self, labels: Labels, prior: Term) -> Path:
            return Path.dual(self.strengths[::-1], (None,), None, [np.zeros(prior.shape)] * 2)

    with pytest.raises(ParameterError, match="other settings"):
        choose(small_labels(), priors={"identity": Identity(3)}, estimators=[Turned((0.1, 1.0))], rank_score=flat_score)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"priors": {}}, "no prior"), ({"threshold": float("nan")}, "threshold is nan"), ({"threshold": -1.0}, "is -1")],
)
def test_no_prior_and_no_threshold_are_refused(wrong: dict[str, Any], said: str) -> None:
    options = {"priors": {"identity": Identity(3)}, "estimators": [], "rank_score": flat_score, **wrong}
    with pytest.raises(ParameterError, match=said):
        choose(small_labels(), **options)


def test_no_gain_is_no_reason_to_adapt_even_at_a_threshold_of_zero() -> None:
    found = choose(
        small_labels(),
        priors={"identity": Identity(3)},
        estimators=[Constant((1.0,))],
        rank_score=flat_score,
        threshold=0.0,
    )
    assert found.verdict.decision == "keep"
    assert found.verdict.reason.startswith("no gain was found")


@pytest.mark.parametrize(
    ("gain", "error", "threshold", "words"),
    [
        (
            0.0609,
            0.0104,
            1.0,
            "(standard error 0.0104), is 5.9 standard errors above zero, and more than 1 was asked for",
        ),
        (0.0096, 0.01, 1.0, "cannot be told from noise: it is 0.96 standard errors above zero, and more than 1 was"),
        (0.02, 0.01, 2.5, "it is 2.0 standard errors above zero, and more than 2.5 was asked for"),
        (0.01, 0.01, 1.0, "it is 1.0 standard errors above zero"),
        (0.01, 0.0, 1.0, "is above zero on every query alike"),
        (-0.01, 0.01, 1.0, "no gain was found: -0.0100 on unseen queries and documents (standard error 0.0100)"),
        (
            -0.01,
            0.02,
            None,
            "(standard error 0.0200), is not clear; what leads with all labels ships, as nothing in use",
        ),
        (0.05, 0.01, None, "is 5.0 standard errors above zero; what leads with all labels ships"),
        (-0.05, 0.01, None, "is 5.0 standard errors below zero; what leads with all labels ships"),
        (0.05, 0.0, None, "is above zero on every query alike; what leads"),
    ],
)
def test_a_reason_counts_standard_errors(gain: float, error: float, threshold: float | None, words: str) -> None:
    assert words in _reason(threshold is None or gain > threshold * error, gain, error, threshold, 0.0)


@pytest.mark.parametrize("traffic", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_too_few_labels_keep_the_prior_and_say_so(count: int, traffic: float) -> None:
    labels = small_labels(count)
    found = choose(
        labels, priors={"identity": Identity(3)}, estimators=[Ridge()], rank_score=flat_score, traffic=traffic
    )
    assert (found.chosen, found.verdict.decision) == (KEEP, "keep")
    words = "1 labelled query is too few" if count == 1 else f"{count} labelled queries are too few"
    assert words in found.verdict.reason
    assert found.to_json()["candidates"][0]["mean"] == 0


def test_one_relevant_document_for_all_keeps_the_prior() -> None:
    rng = np.random.default_rng(0)
    task = Dataset(
        EmbeddingSet(range(20), rng.normal(size=(20, 4))),
        EmbeddingSet(["a", "b"], np.vstack([np.ones((1, 4)), 2 * np.ones((1, 4))])),
        Qrels({str(row): {"ab"[row % 2]: 1} for row in range(20)}),
    )
    labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(4), mining=Mining(count=8))
    assert not np.any(labels.negatives >= 0)
    fitted: list[Estimator] = [Ridge(), Softmax()]
    found = choose(labels, priors={"identity": Identity(4)}, estimators=fitted, rank_score=overlap_score(labels))
    assert found.verdict.decision == "keep"
    assert "one document" in found.verdict.reason
    memory = choose(
        labels, priors={"identity": Identity(4)}, estimators=fitted, rank_score=overlap_score(labels), traffic=1.0
    )
    assert [record.regime for record in memory.evidence] == ["recurring"]
    assert np.all(np.isfinite(memory.means()))


@pytest.mark.parametrize(("traffic", "fresh", "plain"), [(0.0, 2, 5), (0.5, 2, 5), (0.5, 5, 2), (1.0, 5, 1)])
def test_two_folds_cannot_be_nested_and_the_verdict_says_so(traffic: float, fresh: int, plain: int) -> None:
    labels = small_labels()
    labels = replace(
        labels,
        query_fold=labels.query_fold % fresh,
        item_fold=np.where(labels.item_fold >= 0, labels.item_fold % fresh, -1),
        plain_fold=labels.plain_fold % plain,
    )
    found = choose(
        labels, priors={"identity": Identity(3)}, estimators=[Ridge()], rank_score=flat_score, traffic=traffic
    )
    assert (found.chosen, found.verdict.decision) == (KEEP, "keep")
    assert "ask for more folds" in found.verdict.reason


@pytest.mark.parametrize("traffic", [-0.1, 1.1, float("nan"), float("inf")])
def test_traffic_is_a_share(traffic: float) -> None:
    with pytest.raises(ParameterError, match="recurring traffic"):
        choose(small_labels(), priors={"identity": Identity(3)}, estimators=[], rank_score=flat_score, traffic=traffic)


@pytest.mark.parametrize(("traffic", "fits"), [(0.0, 15 + 5), (1.0, 5 + 15), (0.5, 30)])
def test_progress_counts_every_fit(traffic: float, fits: int) -> None:
    seen: list[tuple[int, int]] = []
    choose(
        small_labels(),
        priors={"identity": Identity(3)},
        estimators=[Ridge(strengths=(1.0,))],
        rank_score=flat_score,
        traffic=traffic,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(done, fits) for done in range(1, fits + 1)]


def choose_with(labels: Labels, workers: int) -> Choice:
    return choose(
        labels,
        priors={"identity": Identity(12)},
        estimators=[
            Ridge(strengths=(0.1, 1.0)),
            Softmax(strengths=(0.03, 0.3)),
            Softmax("shared", (0.1,), ranks=(None, 3)),
        ],
        rank_score=overlap_score(labels),
        traffic=0.5,
        workers=workers,
    )


def test_the_same_bits_for_every_number_of_workers(make_labels: LabelsMaker) -> None:
    labels, _ = make_labels(queries=30, documents=60, d_query=12, d_document=12, positives=2, folds=3)
    found = [choose_with(labels, workers) for workers in (1, 2, 1)]
    for other in found[1:]:
        assert other.to_json() == found[0].to_json()
        for one, two in zip(found[0].evidence, other.evidence, strict=True):
            assert np.array_equal(one.scores, two.scores)
            assert np.array_equal(one.steady, two.steady)


def test_the_evidence_is_plain_and_whole() -> None:
    labels = small_labels()
    found = choose(
        labels,
        priors={"identity": Identity(3)},
        estimators=[Ridge(strengths=(0.1, 1.0), ranks=(None, 1))],
        rank_score=overlap_score(labels),
        traffic=0.25,
    )
    evidence = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert [row["strength"] for row in evidence["candidates"]] == [None, 0.1, 0.1, 1.0, 1.0]
    assert [row["rank"] for row in evidence["candidates"]] == [None, None, 1, None, 1]
    fresh, recurring = found.evidence
    for number, row in enumerate(evidence["candidates"]):
        assert row["mean"] == pytest.approx(0.75 * row["fresh"]["mean"] + 0.25 * row["recurring"]["mean"])
        assert row["gain"] == pytest.approx(row["mean"] - evidence["candidates"][0]["mean"])
        for record in (fresh, recurring):
            assert row[record.regime]["mean"] == pytest.approx(record.scores[number].mean())
            sizes = np.bincount(record.fold)
            assert np.dot(row[record.regime]["by_fold"], sizes) / sizes.sum() == pytest.approx(
                row[record.regime]["mean"]
            )
    gains = 0.75 * fresh.gains()[3] + 0.25 * recurring.gains()[3]
    assert evidence["candidates"][3]["standard_error"] == pytest.approx(gains.std(ddof=1) / np.sqrt(len(gains)))
    assert evidence["verdict"]["decision"] in {"adapt", "keep"}
    assert evidence["verdict"]["traffic"] == 0.25
    assert evidence["chosen"]["name"] == str(found.chosen)


@pytest.mark.parametrize("traffic", [0.0, 0.25, 1.0])
def test_one_map_or_two_compares_the_best_of_each_family_query_by_query(traffic: float) -> None:
    labels = small_labels()
    found = choose(
        labels,
        priors={"identity": Identity(3)},
        estimators=[Ridge("dual", (0.1, 1.0)), Ridge("shared", (0.1, 1.0))],
        rank_score=overlap_score(labels),
        traffic=traffic,
    )
    lead = found.geometry()
    assert lead is not None
    bounds = dict(zip(found.candidates, found.bounds(), strict=True))
    for family, best in (("dual", lead.dual), ("shared", lead.shared)):
        assert bounds[best] == max(bounds[one] for one in found.candidates if one.family == family)
    rows = [found.candidates.index(one) for one in (lead.shared, lead.dual)]
    parts = {record.regime: record.scores[rows[1]] - record.scores[rows[0]] for record in found.evidence}
    none = np.zeros(len(labels))
    each = (1 - traffic) * parts.get("fresh", none) + traffic * parts.get("recurring", none)
    assert lead.lead == pytest.approx(each.mean())
    assert lead.standard_error == pytest.approx(each.std(ddof=1) / np.sqrt(len(each)))
    assert lead.inside_noise() == (abs(lead.lead) <= 1.645 * lead.standard_error)
    assert found.to_json()["geometry"]["dual"] == lead.dual.to_json()


@pytest.mark.parametrize("place", [0, 1, 2])
def test_the_best_of_a_family_may_stand_anywhere_on_its_path(place: int) -> None:
    labels = small_labels()
    good = [1.0, 1.0, 1.0]
    good[place] = 2.0

    def rank_score(adapted: FloatArray, rows: np.ndarray, seen: np.ndarray) -> Float64Array:
        moved = np.rint(np.abs(adapted - labels.queries[rows]).max(axis=1) * 10)  # the number of the strength, or 0
        value = np.where(moved == 0, 0.0, np.take([0.0, *good], moved.astype(int)))
        return np.stack([value, value])

    @dataclass(frozen=True)
    class Step(Constant):
        def path(self, labels: Labels, prior: Term) -> Path:
            found = [np.diag([0.1 * (one + 1)] * 3) for one in range(3)]
            return Path.dual(self.strengths, self.ranks, None, found)

    known = replace(labels, queries=np.eye(3)[np.arange(len(labels)) % 3])
    labels = known
    found = choose(
        known,
        priors={"identity": Identity(3)},
        estimators=[Step((0.1, 1.0, 10.0)), Step((0.1, 1.0, 10.0), family="shared")],
        rank_score=rank_score,
    )
    lead = found.geometry()
    assert lead is not None
    assert (lead.dual.strength, lead.shared.strength) == ((0.1, 1.0, 10.0)[place],) * 2


def test_one_family_alone_is_not_compared() -> None:
    labels = small_labels()
    found = choose(
        labels,
        priors={"identity": Identity(3)},
        estimators=[Ridge("dual", (0.1, 1.0))],
        rank_score=overlap_score(labels),
    )
    assert found.geometry() is None
    assert found.to_json()["geometry"] is None


def test_no_estimator_leaves_the_priors(make_labels: LabelsMaker) -> None:
    labels, _ = make_labels()
    turned = Dense(np.roll(np.eye(6), 1, axis=0))
    found = choose(
        labels, priors={"identity": Identity(6), "turned": turned}, estimators=[], rank_score=overlap_score(labels)
    )
    assert found.candidates == (Candidate("identity"), Candidate("turned"))
    assert found.chosen == found.candidates[int(np.argmax(found.bounds()))]


def test_a_turn_that_all_queries_share_is_learned_and_noise_is_not() -> None:
    """The whole engine on a task whose answer is known, and on one that has none."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(80, 8))
    turn = np.linalg.qr(rng.normal(size=(8, 8)))[0]
    for queries, decision in ((documents @ turn, "adapt"), (rng.normal(size=(80, 8)), "keep")):
        task = Dataset(
            EmbeddingSet(range(80), queries),
            EmbeddingSet(range(80), documents),
            Qrels({row: {row: 1} for row in range(80)}),
        )
        labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(8), mining=Mining(count=4))

        def first_place(
            adapted: FloatArray, rows: np.ndarray, seen: np.ndarray, held: FloatArray = documents
        ) -> Float64Array:
            scores = adapted @ held.T
            scores[:, seen] = -np.inf
            return np.tile(scores.argmax(axis=1) == rows, (2, 1)).astype(np.float64)

        estimators: list[Estimator] = [Ridge(), Softmax(strengths=(0.01, 1.0))]
        found = choose(
            labels, priors={"identity": Identity(8)}, estimators=estimators, rank_score=first_place, threshold=3.0
        )
        assert found.verdict.decision == decision


def test_two_estimators_of_a_family_must_have_two_names(make_task: Callable[..., Dataset]) -> None:
    task = make_task()
    labels = Labels.build(task, TwoWayFolds.build(task), prior=Identity(6))
    with pytest.raises(ParameterError, match="same name"):
        choose(
            labels,
            priors={"identity": Identity(6)},
            estimators=[Ridge(strengths=(0.1,)), Ridge(strengths=(1.0,))],
            rank_score=flat_score,
        )
