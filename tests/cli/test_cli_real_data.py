"""Published numbers and real gains, where the data lie beside the repository."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the real data do not lie beside the repository")


def test_scifact_base_is_the_published_one(askew: Callable[..., Any]) -> None:
    found = askew("evaluate", DATA / "scifact", "--encoder", "minilm-l6", "--split", "test", "--json").json()
    assert found["n"] == 300
    assert round(found["means"]["nDCG@10"], 3) == 0.645


def test_cosqa_gains_from_64_labels(askew: Callable[..., Any], tmp_path: Path) -> None:
    args = ("--encoder", "wordllama-256", "--split", "dev", "--labels", 64, "--json", "--no-report")
    found = askew("fit", DATA / "cosqa", "-o", tmp_path / "a", *args).json()
    cell = found["tests"][0]
    assert round(cell["base_mean"], 3) == 0.311
    assert cell["difference"] >= 0.02
