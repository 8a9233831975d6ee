"""compare: the interval covers, the p-value is one, and degenerate input is quiet."""

from __future__ import annotations

import itertools
import json
import math
import time
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askew.errors import DimensionError, InputError, MatchError, ParameterError
from askew.evaluation import Evaluation, compare, holm, paired_interval, paired_p_value

TIGHT = settings(max_examples=40, deadline=None)
DIFFERENCES = st.lists(st.integers(-5, 5).map(lambda value: value / 10), min_size=1, max_size=30)


def pair(differences: list[float]) -> tuple[Evaluation, Evaluation]:
    queries = tuple(f"q{number}" for number in range(len(differences)))
    base = np.full(len(differences), 0.5)
    return Evaluation("base", queries, {"AP": base}), Evaluation("other", queries, {"AP": base + differences})


@TIGHT
@given(st.lists(st.sampled_from([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=8))
def test_the_p_value_counts_sign_patterns(differences: list[float]) -> None:
    patterns = list(itertools.product([1, -1], repeat=len(differences)))
    sums = [abs(sum(sign * value for sign, value in zip(pattern, differences, strict=True))) for pattern in patterns]
    assert paired_p_value(differences) == sum(total >= abs(sum(differences)) for total in sums) / len(patterns)


@pytest.mark.parametrize("n", [14, 15, 16, 17, 24])
def test_random_signs_find_the_exact_p_value(n: int) -> None:
    rng = np.random.default_rng(n)
    differences = rng.normal(0.3, 1, n)
    exact = paired_p_value(differences, resamples=2**n) if n <= 17 else None
    sampled = paired_p_value(differences, resamples=8_000)
    if exact is None:  # signs one by one instead
        signs = rng.choice([-1.0, 1.0], (20_000, n))
        exact = float(np.mean(np.abs(signs @ differences) >= abs(differences.sum())))
    assert sampled == pytest.approx(exact, abs=5 * math.sqrt(0.25 / 8_000))


def test_the_p_value_is_uniform_under_the_null() -> None:
    rng = np.random.default_rng(11)
    values = [paired_p_value(rng.normal(size=30), seed=trial, resamples=499) for trial in range(600)]
    for level in (0.05, 0.25, 0.5, 0.75):
        assert np.mean(np.array(values) <= level) == pytest.approx(level, abs=4 * math.sqrt(level * (1 - level) / 600))


def test_a_p_value_is_never_0() -> None:
    assert paired_p_value(np.ones(200), resamples=100) == 1 / 101


def test_the_interval_covers() -> None:
    rng = np.random.default_rng(12)
    hits = 0
    for trial in range(150):
        low, high = paired_interval(rng.exponential(size=60) - 0.7, seed=trial, resamples=300, confidence=0.9)
        hits += low <= 0.3 <= high
    # 90% nominal; a skewed sample of 60 costs a few points, chance another few.
    assert 0.80 <= hits / 150 <= 0.96


def test_the_interval_agrees_with_the_normal_one() -> None:
    differences = np.random.default_rng(13).normal(0.02, 0.2, 1_000)
    result = compare(*pair(differences.tolist()), "AP")
    for end, sign in ((result.low, -1), (result.high, 1)):
        expected = result.difference + sign * 1.96 * result.standard_error
        assert end == pytest.approx(expected, abs=0.1 * result.standard_error)


@TIGHT
@given(DIFFERENCES, st.randoms(use_true_random=False), st.integers(0, 3))
def test_the_order_of_queries_does_not_matter(differences: list[float], random: Random, seed: int) -> None:
    base, other = pair(differences)
    order = random.sample(range(len(differences)), len(differences))
    shuffled = Evaluation("other", tuple(other.queries[i] for i in order), {"AP": other.per_query("AP")[order]})
    one = compare(base, other, "AP", seed=seed, resamples=200)
    assert one == compare(base, shuffled, "AP", seed=seed, resamples=200)
    turned = Evaluation("base", shuffled.queries, {"AP": base.per_query("AP")[order]})
    assert one == compare(turned, shuffled, "AP", seed=seed, resamples=200)


@TIGHT
@given(DIFFERENCES)
def test_identities(differences: list[float]) -> None:
    base, other = pair(differences)
    there, back = (compare(*sides, "AP", resamples=300) for sides in ((base, other), (other, base)))
    assert there.wins + there.losses + there.ties == there.n == len(differences)
    assert (there.wins, there.losses) == (back.losses, back.wins)
    assert there.wins == sum(value > 0 for value in differences)
    assert there.difference == pytest.approx(-back.difference, abs=1e-15)
    assert there.difference == pytest.approx(there.other_mean - there.base_mean, abs=1e-12)
    assert there.headroom == 1 - there.base_mean
    assert 0 < there.p_value <= 1
    if there.n > 1:
        spread = np.std(other.per_query("AP") - 0.5, ddof=1)
        assert there.standard_error == pytest.approx(spread / math.sqrt(there.n), abs=1e-12)
        assert min(differences) - 1e-12 <= there.low <= there.high <= max(differences) + 1e-12


def test_seeds() -> None:
    differences = np.random.default_rng(14).normal(size=50)
    assert paired_interval(differences, seed=3) == paired_interval(differences, seed=3)
    assert paired_interval(differences, seed=3) != paired_interval(differences, seed=4)
    assert paired_p_value(differences, seed=3) == paired_p_value(differences, seed=3)
    wide, narrow = (paired_interval(differences, confidence=level) for level in (0.99, 0.5))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize("value", [0.1, -0.3, 1 / 3, 0.0])
@pytest.mark.parametrize("n", [2, 3, 7, 1_000])
def test_equal_differences(value: float, n: int) -> None:
    assert paired_interval([value] * n, resamples=50) == (value, value)
    same = compare(*pair([value] * n), "AP", resamples=50)
    assert same.low == same.difference == same.high
    assert same.standard_error == 0
    if value == 0:
        assert (same.p_value, same.ties, same.low, same.high) == (1.0, n, 0.0, 0.0)


def test_rounding_is_no_win() -> None:
    result = compare(*pair([1e-16, -1e-14, 0.5]), "AP")
    assert (result.wins, result.losses, result.ties) == (1, 0, 2)


def test_one_query_says_nothing_about_spread() -> None:
    result = compare(*pair([0.25]), "AP")
    assert (result.difference, result.low, result.high) == (0.25, -math.inf, math.inf)
    assert (result.standard_error, result.p_value) == (math.inf, 1.0)
    plain = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert (plain["low"], plain["high"], plain["standard_error"], plain["wins"]) == (None, None, None, 1)


def test_plain_values() -> None:
    plain = compare(*pair([0.25, 0.0]), "AP", confidence=0.9).to_json()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert (plain["measure"], plain["base_name"], plain["other_name"], plain["n"]) == ("AP", "base", "other", 2)
    assert (plain["headroom"], plain["confidence"]) == (0.5, 0.9)


@pytest.mark.parametrize("n", [1_200, 10_000])
def test_it_is_quick_enough(n: int) -> None:
    """Well under a second on an idle core; processor time, and a limit for a busy one."""
    differences = np.random.default_rng(15).normal(size=n)
    paired_interval([0.0, 1.0])  # imports scipy.stats
    start = time.process_time()
    paired_interval(differences)
    paired_p_value(differences)
    assert time.process_time() - start < 5


def test_different_queries_are_named() -> None:
    one = Evaluation("one", ("a", "b"), {"AP": np.zeros(2)})
    two = Evaluation("two", ("a", "c"), {"AP": np.zeros(2)})
    more = Evaluation("more", ("a", "b", "z"), {"AP": np.zeros(3)})
    with pytest.raises(MatchError, match=r"two: the evaluation lacks 1 query of the other: 'b'"):
        compare(one, two, "AP")
    with pytest.raises(MatchError, match=r"one: .*'z'"):
        compare(one, more, "AP")


def test_wrong_arguments() -> None:
    base, other = pair([0.1, 0.2])
    with pytest.raises(ParameterError, match="was not evaluated"):
        compare(base, other, "P@5")
    for options in ({"seed": -1}, {"resamples": 0}, {"confidence": 1.0}, {"confidence": math.nan}):
        with pytest.raises(ParameterError):
            compare(base, other, "AP", **options)
    for differences in ([], [math.nan, 0.0], [math.inf, 1.0]):
        for function in (paired_interval, paired_p_value):
            with pytest.raises(InputError, match="not finite"):
                function(differences)
    with pytest.raises(DimensionError, match="shape"):
        paired_interval([[0.1]])


@pytest.mark.parametrize(
    ("given", "corrected"),
    [
        ([], []),
        ([0.2], [0.2]),
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.04, 0.01, 0.03, 0.02], [0.06, 0.04, 0.06, 0.06]),
        ([0.01, 0.01, 0.5], [0.03, 0.03, 0.5]),
        ([0.6, 0.7], [1.0, 1.0]),
        ([0.0, 1.0], [0.0, 1.0]),
        ([0.001, 0.01, 0.3, 0.04, 0.2], [0.005, 0.04, 0.4, 0.12, 0.4]),
    ],
)
def test_holm_gives_what_a_hand_computes(given: list[float], corrected: list[float]) -> None:
    assert holm(given).tolist() == pytest.approx(corrected)


@given(values=st.lists(st.floats(0, 1), max_size=12), level=st.sampled_from([0.01, 0.05, 0.3]))
def test_holm_rejects_what_stepping_down_rejects(values: list[float], level: float) -> None:
    rejected = set()
    for step, place in enumerate(sorted(range(len(values)), key=lambda place: values[place])):
        if values[place] * (len(values) - step) > level:
            break
        rejected.add(place)
    assert {place for place, value in enumerate(holm(values)) if value <= level} == rejected


@pytest.mark.parametrize("wrong", [[-0.1], [1.1], [math.nan], 0.5, [[0.5]]])
def test_holm_takes_p_values_alone(wrong: object) -> None:
    with pytest.raises(ParameterError, match="not numbers from 0 to 1"):
        holm(wrong)  # type: ignore[arg-type]  # that is what is tested
