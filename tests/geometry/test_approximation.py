"""The rotation example: its closed form against the general one, and at the numbers that are known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.errors import ParameterError
from askew.geometry import approximation_errors, rotated_target, rotation_gap


@pytest.mark.parametrize(("degrees", "gap"), [(0, 0.0), (30, 0.374218), (45, 0.784481), (90, 2.1675), (180, 2.89)])
def test_known_gaps_of_one_plane(degrees: float, gap: float) -> None:
    angle = np.radians(degrees)
    assert rotation_gap(angle, strengths=(1.7,)) == pytest.approx(gap, abs=5e-7)
    assert approximation_errors(rotated_target(5, angle, strengths=(1.7,)), 1).gap == pytest.approx(gap, abs=5e-7)


@given(st.floats(0, np.pi), st.lists(st.floats(0.1, 10), min_size=1, max_size=4))
def test_the_closed_form_is_the_gap_at_the_rank_of_the_planes(angle: float, strengths: list[float]) -> None:
    target = rotated_target(2 * len(strengths) + 1, angle, strengths=strengths)
    found = approximation_errors(target, len(strengths))
    assert found.gap == pytest.approx(float(rotation_gap(angle, strengths=strengths)), abs=1e-11 * np.sum(target**2))
    assert found.dual == pytest.approx(0, abs=1e-20)
    values = np.sort(np.linalg.eigvalsh(target + target.T))[::-1] / 2
    expected = np.sort([rho * (np.cos(angle) + 1) / 2 for rho in strengths])[::-1]
    np.testing.assert_allclose(values[: len(strengths)], expected, atol=1e-12 * max(strengths))


def test_a_small_angle_loses_no_digits() -> None:
    assert rotation_gap(1e-9) == pytest.approx(0.5e-18, rel=1e-12)


def test_planes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ParameterError, match="2 planes"):
        rotated_target(3, 0.1, strengths=(1.0, 1.0))
