"""Several systems side by side: `compare`, `fit --against`, and the baseline of recurring traffic."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Askew = Callable[..., Any]


def test_compare_prints_what_json_says(turned: Any, fitted: Any, kept: Any, askew: Askew, tmp_path: Path) -> None:
    run = tmp_path / "mine.run"
    assert askew("search", turned.queries, turned.documents, "-a", fitted.adapter, "-k", 100, "-o", run).code == 0
    systems = ("base", fitted.adapter, run)
    found = askew("compare", turned.root, *systems, "--json").json()
    assert (found["split"], found["queries"], found["left_out"]) == ("test", 60, [])
    assert found["systems"] == [str(system) for system in systems]
    cells = [cell for cell in found["comparisons"] if cell["documents"] == "all" and cell["measure"] == "nDCG@10"]
    assert cells[0]["difference"] == cells[1]["difference"]  # the run is the adapter's
    assert cells[0]["p_holm"] == pytest.approx(min(1, 4 * cells[0]["p_value"]))
    evaluated = askew("evaluate", turned.root, "-a", fitted.adapter, "--json").json()["comparisons"]
    for key in ("difference", "low", "high", "p_value", "base_mean", "other_mean"):
        assert cells[0][key] == evaluated[0][key]
    prose = askew("compare", turned.root, *systems)
    assert (prose.code, prose.err) == (0, "")
    lines = prose.out.splitlines()
    assert lines[0] == "split: test"
    assert lines[1].split()[:4] == ["measure", "docs", "system", "queries"]
    assert len(lines) == 2 + 4 * 3
    assert [line.split()[2] for line in lines[2:5]] == [str(system) for system in systems]
    assert f"{cells[0]['difference']:+.4f} [{cells[0]['low']:+.4f}, {cells[0]['high']:+.4f}]" in lines[3]
    assert "reference" in lines[2]


def test_compare_leaves_training_queries_out_and_says_so(turned: Any, fitted: Any, kept: Any, askew: Askew) -> None:
    message = askew("compare", turned.root, "base", fitted.adapter, "--split", "train").refused(3)
    assert "fitted on each of the 120 judged queries" in message
    assert "--no-fresh" in message
    all_of_them = askew("compare", turned.root, "base", fitted.adapter, "--split", "train", "--no-fresh", "--json")
    assert all_of_them.json()["queries"] == 120


def test_compare_says_how_many_were_left_out(task: Any, fitted: Any, askew: Askew) -> None:
    task.judge("test", [(f"q{row}", f"d{row}", 1) for row in range(100, 180)])
    said = askew("compare", task.root, "base", fitted.adapter)
    assert "\nLeft out: 20 judged queries that a compared adapter was fitted on.\n" in said.out
    assert askew("compare", task.root, "base", fitted.adapter, "--json").json()["left_out"] == [
        f"q{row}" for row in range(100, 120)
    ]
    warned = askew("evaluate", task.root, "-a", fitted.adapter)
    assert "warning: 20 of the 80 judged queries were training queries of the adapter" in warned.err
    few = askew("compare", task.root, "base", fitted.adapter, "--split", "train", "--no-fresh", "-m", "RR")
    assert "RR" in few.out


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("compare {data} base", 2, "one system ~ Name two or more"),
        ("compare {data}", 2, "Missing argument"),
        ("compare {data} base base", 2, "'base' is named twice"),
        ("compare {data} base nowhere", 3, "nowhere: there is no such adapter or run ~ Name an adapter's folder"),
        ("compare {data} base {long}", 3, "there is no such adapter or run"),
        ("compare {data} base {data}", 4, "there is no adapter here"),
        ("compare {data} base {queries}", 3, "queries.npy"),
        ("compare {data} base {adapter} -m quality", 2, "'quality' is not a measure"),
        ("compare {data} base {adapter} --split none", 2, "no split 'none'"),
        ("compare nowhere base {adapter}", 3, "there is no such folder"),
        ("fit {data} -o {out}/a --against nowhere", 4, "nowhere ~ there is no adapter here"),
        ("fit {data} -o {out}/a --split test --against {adapter}", 2, "no test queries ~ --test-split"),
        (
            "fit {data} -o {out}/a --split test --test-split train --against {adapter}",
            3,
            "each of the 120 test queries",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(
    refuses: Callable[[str, int, str], None], command: str, code: int, says: str
) -> None:
    refuses(command, code, says)


def test_a_refit_stands_against_the_adapter_in_service(task: Any, fitted: Any, askew: Askew, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(fitted.adapter, old)
    task.judge("test", [(f"q{row}", f"d{row}", 1) for row in range(110, 180)])  # ten of them the old one knows
    said = askew("fit", task.root, "-o", tmp_path / "new", "--against", old, "--no-report")
    assert said.code == 0
    assert "\nLeft out: 10 judged queries that a compared adapter was fitted on.\n" in said.out
    assert f"  {old} " in said.out
    assert "  candidate " in said.out
    found = askew("fit", task.root, "-o", tmp_path / "new", "--against", old, "--no-report", "--json").json()
    assert found["against"]["systems"] == [str(old), "candidate"]
    assert (found["against"]["queries"], len(found["against"]["left_out"])) == (60, 10)
    apart = askew("compare", task.root, old, tmp_path / "new", "--json").json()
    keys = ("documents", "measure", "difference", "p_value", "p_holm")
    assert [[cell[key] for key in keys] for cell in found["against"]["comparisons"]] == [
        [cell[key] for key in keys] for cell in apart["comparisons"]
    ]


def test_recurring_traffic_has_a_baseline_beside_it(task: Any, askew: Askew, tmp_path: Path) -> None:
    queries = np.load(task.queries)
    again = [*range(60), *range(60)]  # every question is asked twice, in almost the same words
    rng = np.random.default_rng(0)
    asked = queries[again] + 0.02 * rng.normal(size=(120, queries.shape[1])) / 5
    task.embed("queries", np.concatenate([asked, queries[:60]]).astype(np.float32))
    task.judge("train", [(f"q{row}", f"d{again[row] + 100}", 1) for row in range(120)])
    task.judge("test", [(f"q{row + 120}", f"d{row + 100}", 1) for row in range(60)])
    options = ("-o", tmp_path / "a", "--traffic", "recurring")
    found = askew("fit", task.root, *options, "--json").json()
    nearest = found["nearest_past_query"]
    assert nearest["threshold"] == 0.95
    assert [cell["other_mean"] for cell in nearest["tests"]] == [1.0, 1.0]
    assert "nearest past query against base" in (tmp_path / "a.html").read_text(encoding="utf-8")
    said = askew("fit", task.root, *options)
    assert "To beat, for traffic that recurs: the nearest past query, from a cosine of 0.95, gains +" in said.out
    assert "Nearest past query, instead: nDCG@10 1.0000, +" in said.out
    manifest = json.loads((tmp_path / "a" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["seen"] == {"queries": 120, "positives": 60, "negatives": manifest["seen"]["negatives"]}
