from __future__ import annotations

import pytest

from askew.errors import ParameterError
from askew.reproduce.calibration import calibration


def test_theory_and_draws_agree_and_the_papers_numbers_stand_beside() -> None:
    found = calibration(ratios=(0.5, 2.0), draws=8_000, projected=4_000)
    (table,) = found.tables
    for row in table.rows:
        dual, drawn_dual, shared, drawn_shared, chance, drawn_chance = (float(cell or 0) for cell in row[1:7])
        assert drawn_dual == pytest.approx(dual, rel=0.02)
        assert drawn_shared == pytest.approx(shared, rel=0.02)
        assert drawn_chance == pytest.approx(chance, abs=0.02)
    assert table.rows[1][1:4:2] == (63.0, 93.0)
    assert table.rows[1][-2:] == (93.10, 0.970)
    assert found.pictures["risk"].startswith("<svg")


def test_the_same_seed_draws_the_same() -> None:
    one, two = (calibration(ratios=(1.0,), draws=500, projected=100, seed=3) for _ in range(2))
    assert one.to_json() == two.to_json()


@pytest.mark.parametrize("wrong", [{"ratios": (-1.0,)}, {"draws": 1}, {"ratios": (float("nan"),)}])
def test_what_cannot_be_drawn_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match="ratios are from 0 on"):
        calibration(**wrong)  # type: ignore[arg-type]
