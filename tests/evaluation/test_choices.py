"""Strict, pairwise and paired accuracy, and exclusion success, against slow obvious counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.data import Run
from askew.errors import LabelError, MatchError, ParameterError
from askew.evaluation import choice_accuracy, exclusion_success

DOCUMENTS = [f"d{i}" for i in range(6)]
SCORES = st.lists(st.sampled_from([-np.inf, 0.0, 1.0, 2.0, 3.0]), min_size=6, max_size=6)


@given(st.lists(st.tuples(SCORES, st.integers(1, 5)), min_size=1, max_size=6), st.integers(1, 3))
def test_accuracies_are_counts_of_pairs(cases: list[tuple[list[float], int]], size: int) -> None:
    run = Run({f"q{i}": dict(zip(DOCUMENTS, scores, strict=True)) for i, (scores, _) in enumerate(cases)})
    choices = {f"q{i}": (DOCUMENTS[:right], DOCUMENTS[right:]) for i, (_, right) in enumerate(cases)}
    groups = {f"q{i}": f"g{i // size}" for i in range(len(cases))}
    found = choice_accuracy(run, choices, groups=groups)
    for i, (scores, right) in enumerate(cases):
        pairs = [(good, bad) for good in scores[:right] for bad in scores[right:]]
        assert found.strict[i] == all(good > bad for good, bad in pairs)
        assert found.pairwise[i] == pytest.approx(
            sum(1.0 if good > bad else 0.5 if good == bad else 0.0 for good, bad in pairs) / len(pairs)
        )
    strict = found.strict.tolist()
    parts = [strict[begin : begin + size] for begin in range(0, len(strict), size)]
    assert found.paired == pytest.approx(sum(all(part) for part in parts) / len(parts))
    assert found.to_json()["groups"] == len(parts)
    assert choice_accuracy(run, choices).paired == pytest.approx(found.strict.mean())


@given(st.lists(SCORES, min_size=1, max_size=5), st.sets(st.sampled_from(DOCUMENTS)), st.integers(1, 8))
def test_success_looks_at_the_first_k(rows: list[list[float]], names: set[str], k: int) -> None:
    run = Run({f"q{i}": dict(zip(DOCUMENTS, scores, strict=True)) for i, scores in enumerate(rows)})
    found = exclusion_success(run, dict.fromkeys(run.queries, names), k=k)
    for query, value in zip(run.queries, found, strict=True):
        assert value == (not any(name in names for name in run.documents(query)[:k]))


def test_what_cannot_be_judged_is_told() -> None:
    run = Run({"q": {"a": 1.0}, "none": {}})
    with pytest.raises(MatchError, match="query 'q': 1 document of its choice has no score: 'b'"):
        choice_accuracy(run, {"q": (["a"], ["b"])})
    with pytest.raises(LabelError, match="query 'q': a choice needs a right and a wrong"):
        choice_accuracy(run, {"q": (["a"], [])})
    with pytest.raises(LabelError, match="no choice"):
        choice_accuracy(run, {})
    with pytest.raises(LabelError, match="no query"):
        exclusion_success(run, {})
    with pytest.raises(ParameterError, match="k is 0"):
        exclusion_success(run, {"q": ["a"]}, k=0)
    assert exclusion_success(run, {"q": [], "none": ["a"], "missing": ["a"]}).tolist() == [True, False, False]
