"""The constructions' study: errors within what was promised, and within the bounds that it prints."""

from __future__ import annotations

from askew.reproduce.constructions import constructions


def test_errors_are_within_the_targets_and_the_bounds() -> None:
    study = constructions(sizes=(1000, 30_522), pairs=12)
    rows = study.tables[0].rows
    for name, _, size, dtype, random, neighbours, bound in rows:
        for error in (random, neighbours):
            assert isinstance(bound, float)
            if error is not None and bound < 1:
                assert isinstance(error, float)
                assert error <= bound
                if str(name).startswith("chosen"):
                    assert error <= {"float64": 1e-12, "float32": 1e-6, "float16": 4e-3}[str(dtype)]
                if name == "quadratic, R³" and size == 1000 and dtype == "float64":
                    assert error <= 1e-9
    assert len(study.findings) == 3
    assert constructions(sizes=(100,), pairs=4).to_json() == constructions(sizes=(100,), pairs=4).to_json()
