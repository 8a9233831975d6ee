"""The demo, once: real input that every machine has."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from askew.cli.main import app

pytestmark = pytest.mark.skipif(find_spec("wordllama") is None, reason="wordllama is not installed (extra: demo)")


@pytest.fixture(scope="module")
def demo(
    tmp_path_factory: pytest.TempPathFactory, choosing_from_few: Callable[[], AbstractContextManager[None]]
) -> tuple[Path, Any]:
    output = tmp_path_factory.mktemp("demo") / "out"
    with choosing_from_few():
        done = CliRunner().invoke(app, ["demo", "-o", str(output), "--json"])
    assert (done.exit_code, done.stderr) == (0, "")
    return output, json.loads(done.stdout)


def test_the_demo_adapts_with_a_real_gain(demo: tuple[Path, Any]) -> None:
    found = demo[1]
    assert found["verdict"]["decision"] == "adapt"
    cell = found["tests"][0]
    assert (cell["documents"], cell["measure"], cell["n"]) == ("all", "nDCG@10", 1200)
    assert 0.30 < cell["base_mean"] < 0.35
    assert cell["difference"] >= 0.02
    assert cell["low"] > 0


def test_the_demo_s_gain_is_not_memory(demo: tuple[Path, Any]) -> None:
    cell = next(cell for cell in demo[1]["tests"] if cell["documents"] == "unseen")
    assert cell["n"] == 1200
    assert cell["difference"] >= 0.02
    assert cell["low"] > 0


def test_the_demo_leaves_an_adapter_and_a_report(demo: tuple[Path, Any]) -> None:
    output, said = demo
    assert sorted(path.name for path in output.iterdir()) == ["adapter", "report.html"]
    manifest = json.loads((output / "adapter" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["record"]["verdict"] == said["verdict"]
    assert manifest["query_encoder"] == "wordllama-256"
    assert "askew demo --labels 600 --test 1200 --seed 0" in (output / "report.html").read_text(encoding="utf-8")
