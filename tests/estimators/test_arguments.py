"""Whatever is given as a setting of an estimator: a setting, or an error of ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.errors import ParameterError
from askew.estimators import Mining, Ridge, Softmax

ODD: tuple[Any, ...] = (None, "a", float("nan"), True, [1], (), {})


@pytest.mark.parametrize("estimator", [Ridge, Softmax])
@pytest.mark.parametrize("argument", ["strengths", "ranks"])
@pytest.mark.parametrize("value", [*ODD[:4], (), ("a",), (1, "a"), ([1],), (np.nan,), (True,), (0,), {}])
def test_strengths_and_ranks_are_lists_of_numbers(estimator: Any, argument: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=argument):
        estimator(**{argument: value})


@pytest.mark.parametrize("argument", ["temperature", "own", "shared"])
@pytest.mark.parametrize("value", [*ODD, -1])
def test_softmax_takes_numbers(argument: str, value: Any) -> None:
    with pytest.raises(ParameterError, match="temperature"):
        Softmax(**{argument: value})


@pytest.mark.parametrize("argument", ["policy", "count", "margin"])
@pytest.mark.parametrize("value", [*ODD, -1])
def test_mining_takes_numbers(argument: str, value: Any) -> None:
    with pytest.raises(ParameterError):
        Mining(**{argument: value})


def test_numpy_numbers_are_numbers() -> None:
    ridge: dict[str, Any] = {"strengths": (np.float32(0.5),), "ranks": (np.int64(2), None)}
    softmax: dict[str, Any] = {"temperature": np.float64(0.1), "own": np.int64(2)}
    assert Ridge(**ridge).ranks == (2, None)
    assert Softmax(**softmax).own == 2
