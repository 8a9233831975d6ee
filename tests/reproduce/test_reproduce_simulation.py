from __future__ import annotations

import numpy as np
import pytest

from askew.reproduce.crossover import crossover
from askew.reproduce.distance import distance
from askew.reproduce.simulation import distance_to_shared, simulate


def test_cells_are_paired_over_angles_and_nested_in_pairs() -> None:
    both = simulate(angles=(0.0, 1.2), pairs=(32, 64), seeds=(7,), select=False)
    alone = simulate(angles=(1.2,), pairs=(64,), seeds=(7,), select=False)
    assert [(cell.angle, cell.pairs) for cell in both] == [(0.0, 32), (0.0, 64), (1.2, 32), (1.2, 64)]
    assert both[-1] == alone[0]
    assert all(cell.cars is None for cell in both)


def test_two_geometries_pay_only_where_the_planes_are_apart_and_pairs_are_many() -> None:
    found = crossover(angles=(0.0, 1.2), pairs=(32, 1024), seeds=2)
    crossings, gains, losses = found.tables
    never, soon = (row[1] for row in crossings.rows)
    assert never is None
    assert soon in (32, 1024)
    assert str(gains.rows[0][1]).startswith("-")
    assert str(gains.rows[1][2]).startswith("+")
    assert str(losses.rows[1][1]).startswith("-")  # operator loss, and CARS with it, cross later than ranking
    assert str(losses.rows[1][2]).startswith("+")
    assert "At 0 rad dual is not ahead for good at any number, of 32, 1,024 (the paper: none)." in found.findings
    assert f"At 1.2 rad dual is ahead for good from {soon:,} pairs, of 32, 1,024 (the paper: 64)." in found.findings
    assert "At 1,024 pairs the gaps are ordered as the angles." in found.findings
    assert found.pictures["gain"].startswith("<svg")


def test_the_gain_grows_with_the_distance() -> None:
    found = distance(angles=(0.0, 0.7, 1.4), pairs=(512,), seeds=1)
    assert found.findings == ["At 512 pairs the rank correlation is +1.000."]
    assert [float(row[1] or 0) for row in found.tables[0].rows] == pytest.approx(
        [distance_to_shared(angle) for angle in (0.0, 0.7, 1.4)]
    )


def test_the_distance_is_that_of_the_papers_rotation() -> None:
    """1 - cos⁴(θ/2) a plane, eight planes."""
    for angle in (0.3, 0.9, np.pi / 2):
        assert distance_to_shared(angle) ** 2 == pytest.approx(8 * (1 - np.cos(angle / 2) ** 4))
