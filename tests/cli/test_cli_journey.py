"""The way of a user: fit, evaluate, apply, search, inspect; every number checked against a slow reference."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

Askew = Callable[..., Any]


def read_ids(path: Path) -> list[str]:
    return path.with_suffix(".ids").read_text(encoding="utf-8").split("\n")[:-1]


def judgements(path: Path) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        table.setdefault(query, {})[document] = float(grade)
    return table


def slow_ranking(queries: Any, query_ids: list[str], documents: Any, document_ids: list[str]) -> dict[str, list[str]]:
    """Every document of every query, by float64 and Python's own sort."""
    scores = queries.astype(np.float64) @ documents.astype(np.float64).T
    return {
        query: [name for _, name in sorted(zip((-row).tolist(), document_ids, strict=True))]
        for query, row in zip(query_ids, scores, strict=True)
    }


def slow_ndcg(ranking: list[str], grades: Mapping[str, float], k: int = 10) -> float:
    def dcg(gains: list[float]) -> float:
        return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:k]))

    best = dcg(sorted(grades.values(), reverse=True))
    return dcg([grades.get(name, 0.0) for name in ranking]) / best if best else 0.0


def adapted_by_hand(adapter: Path, queries: Any) -> Any:
    """x ↦ (I + Δ)ᵀx, from the tensors as they are stored."""
    tensors = safetensors.numpy.load_file(adapter / "tensors.safetensors")
    delta = tensors.get("delta.matrix")
    if delta is None:
        delta = tensors["delta.left"].astype(np.float64) @ tensors["delta.right"].astype(np.float64).T
    return queries.astype(np.float64) @ (np.eye(len(delta)) + delta.astype(np.float64))


def slow_values(task: Any, split: str, *, adapter: Path | None = None) -> dict[str, float]:
    """nDCG@10 of every judged query of a split."""
    queries = np.load(task.queries)
    rows = queries if adapter is None else adapted_by_hand(adapter, queries)
    ranked = slow_ranking(rows, read_ids(task.queries), np.load(task.documents), read_ids(task.documents))
    grades = judgements(task.root / "qrels" / f"{split}.tsv")
    return {query: slow_ndcg(ranked[query], judged) for query, judged in grades.items()}


def test_fit_finds_that_adapting_pays(fitted: Any) -> None:
    found = fitted.said.json()
    assert found["verdict"]["decision"] == "adapt"
    assert found["verdict"]["gain"] > 10 * found["verdict"]["standard_error"]
    assert found["verdict"]["queries"] == 120
    assert found["chosen"]["estimator"] in ("ridge", "softmax")
    cells = {(test["documents"], test["measure"]): test for test in found["tests"]}
    assert list(cells)[:4] == [(part, name) for part in ("all", "unseen") for name in ("nDCG@10", "R@100")]
    assert list(cells)[4:] == [("negative only", "nDCG@10"), ("never seen", "nDCG@10")]
    assert all(test["low"] > 0 for test in cells.values() if test["measure"] == "nDCG@10" and test["n"] >= 50)
    assert found["nearest_past_query"] is found["against"] is None
    assert found["mined"]["wanted"] == 16
    assert found["adapter"] == str(fitted.adapter)
    assert found["report"] == str(fitted.report)
    assert fitted.said.err == ""


def test_ranks_and_mining_are_the_users_to_choose(turned: Any, askew: Askew, tmp_path: Path) -> None:
    adapter = tmp_path / "adapter"
    options = ["--labels", 40, "--rank", 2, "--rank", 3, "--margin", 0.5, "--no-report"]
    found = askew("fit", turned.root, "-o", adapter, *options, "--json").json()
    record = json.loads((adapter / "manifest.json").read_text())["record"]
    assert {row["rank"] for row in record["candidates"]} == {None, 2, 3}
    assert record["mining"] == {"policy": "margin", "count": 16, "margin": 0.5}
    assert found["mined"]["mean_rejected_by_margin"] > 0
    top = askew("fit", turned.root, "-o", adapter, "--labels", 40, "--negatives", "top", "--no-report", "--json").json()
    assert (top["mined"]["policy"], top["mined"]["mean_rejected_by_margin"]) == ("top", 0)


def test_fit_numbers_are_those_of_a_slow_recomputation(turned: Any, fitted: Any) -> None:
    cell = fitted.said.json()["tests"][0]
    base, adapted = slow_values(turned, "test"), slow_values(turned, "test", adapter=fitted.adapter)
    gains = [adapted[query] - base[query] for query in base]
    assert cell["n"] == len(base)
    assert cell["base_mean"] == pytest.approx(np.mean(list(base.values())), abs=1e-12)
    assert cell["other_mean"] == pytest.approx(np.mean(list(adapted.values())), abs=1e-12)
    assert cell["difference"] == pytest.approx(np.mean(gains), abs=1e-12)
    assert cell["standard_error"] == pytest.approx(np.std(gains, ddof=1) / math.sqrt(len(gains)), abs=1e-12)
    assert (cell["wins"], cell["losses"]) == (sum(gain > 1e-12 for gain in gains), sum(gain < -1e-12 for gain in gains))
    assert cell["low"] < cell["difference"] < cell["high"]
    normal = cell["difference"] - 1.96 * cell["standard_error"]
    assert cell["low"] == pytest.approx(normal, abs=0.3 * cell["standard_error"])


def test_unseen_numbers_leave_out_what_training_saw(turned: Any, fitted: Any) -> None:
    cell = fitted.said.json()["tests"][2]
    seen = {document for judged in judgements(turned.root / "qrels" / "train.tsv").values() for document in judged}
    document_ids = read_ids(turned.documents)
    left = [row for row, name in enumerate(document_ids) if name not in seen]
    names = [document_ids[row] for row in left]
    queries = np.load(turned.queries)
    grades = judgements(turned.root / "qrels" / "test.tsv")
    for key, rows in (("base_mean", queries), ("other_mean", adapted_by_hand(fitted.adapter, queries))):
        ranked = slow_ranking(rows, read_ids(turned.queries), np.load(turned.documents)[left], names)
        expected = np.mean([slow_ndcg(ranked[query], judged) for query, judged in grades.items()])
        assert cell[key] == pytest.approx(expected, abs=1e-12)


def test_evaluate_numbers_are_those_of_a_slow_recomputation(turned: Any, fitted: Any, askew: Askew) -> None:
    for split in ("train", "test"):
        found = askew("evaluate", turned.root, "--split", split, "--json").json()
        expected = slow_values(turned, split)
        assert dict(zip(found["queries"], found["values"]["nDCG@10"], strict=True)) == pytest.approx(
            expected, abs=1e-12
        )
        assert found["means"]["nDCG@10"] == pytest.approx(np.mean(list(expected.values())), abs=1e-12)
        assert (found["split"], found["n"], found["comparisons"]) == (split, len(expected), [])
    found = askew("evaluate", turned.root, "--adapter", fitted.adapter, "--json").json()
    expected = slow_values(turned, "test", adapter=fitted.adapter)
    assert dict(zip(found["queries"], found["values"]["nDCG@10"], strict=True)) == pytest.approx(expected, abs=1e-12)
    told = fitted.said.json()["tests"]
    assert found["comparisons"] == told  # the adapter carries what it has seen


def test_apply_then_plain_numpy_ranks_as_search_does(turned: Any, fitted: Any, askew: Askew, tmp_path: Path) -> None:
    output = tmp_path / "adapted.npy"
    told = askew("apply", fitted.adapter, turned.queries, "-o", output, "--json").json()
    assert told == {
        "output": str(output),
        "queries": 180,
        "dim": 24,
        "dtype": "float32",
        "similarity": "dot",
        "dropped": [],
    }
    adapted = np.load(output)
    assert read_ids(output) == read_ids(turned.queries)
    np.testing.assert_allclose(adapted, adapted_by_hand(fitted.adapter, np.load(turned.queries)), atol=1e-5)
    ranked = slow_ranking(adapted, read_ids(output), np.load(turned.documents), read_ids(turned.documents))
    searched = askew(
        "search", turned.queries, turned.documents, "--adapter", fitted.adapter, "-k", 300, "--json"
    ).json()
    assert {query: [hit["id"] for hit in hits] for query, hits in searched.items()} == ranked
    again = askew("search", output, turned.documents, "-k", 300, "--json").json()
    assert again == searched


def test_a_written_run_evaluates_to_the_same_numbers(turned: Any, fitted: Any, askew: Askew, tmp_path: Path) -> None:
    run = tmp_path / "adapted.run"
    said = askew("search", turned.queries, turned.documents, "-a", fitted.adapter, "-k", 100, "--output", run)
    assert (said.code, said.out, said.err) == (0, f"180 queries, 100 documents each: {run}\n", "")
    found = askew("evaluate", turned.root, "--run", run, "--json").json()
    expected = askew("evaluate", turned.root, "--adapter", fitted.adapter, "--json").json()
    assert found["values"] == expected["values"]
    assert found["missing"] == []
    assert len(found["unjudged"]) == 120


def test_search_writes_trec_lines_to_stdout(turned: Any, askew: Askew) -> None:
    said = askew("search", turned.queries, turned.documents, "-k", 2)
    lines = [line.split(" ") for line in said.out.splitlines()]
    assert len(lines) == 360
    assert [(line[0], line[3]) for line in lines[:4]] == [("q0", "1"), ("q0", "2"), ("q1", "1"), ("q1", "2")]
    ranked = slow_ranking(
        np.load(turned.queries), read_ids(turned.queries), np.load(turned.documents), read_ids(turned.documents)
    )
    assert [line[2] for line in lines[:2]] == ranked["q0"][:2]


def test_inspect_tells_what_the_fit_told(fitted: Any, kept: Any, askew: Askew) -> None:
    for made, correction in ((fitted, "dense matrix"), (kept, "none: the base itself")):
        told, facts = made.said.json(), askew("inspect", made.adapter, "--json").json()
        assert facts["verdict"] == told["verdict"]["decision"]
        assert facts["reason"] == told["verdict"]["reason"]
        assert facts["correction"] == correction
        assert (facts["d_query"], facts["d_document"], facts["labels"]) == (24, 24, 120)
        prose = askew("inspect", made.adapter)
        assert prose.err == ""
        assert re.search(rf"^verdict +{told['verdict']['decision']}$", prose.out, flags=re.MULTILINE)
        assert all(len(line) <= 80 for line in prose.out.splitlines())


def test_keep_ships_the_base_bit_for_bit_with_its_evidence(
    straight: Any, kept: Any, askew: Askew, tmp_path: Path
) -> None:
    found = kept.said.json()
    assert found["verdict"]["decision"] == "keep"
    manifest = json.loads((kept.adapter / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["correction"] is None
    assert manifest["prior"]["kind"] == "identity"
    assert manifest["record"]["verdict"] == found["verdict"]
    assert len(manifest["record"]["candidates"]) == 6
    output = tmp_path / "applied.npy"
    assert askew("apply", kept.adapter, straight.queries, "-o", output).code == 0
    assert output.read_bytes() == straight.queries.read_bytes()
    assert output.with_suffix(".ids").read_bytes() == straight.queries.with_suffix(".ids").read_bytes()
    with_adapter = askew("search", straight.queries, straight.documents, "-a", kept.adapter)
    assert with_adapter.out == askew("search", straight.queries, straight.documents).out


def test_keep_says_that_the_candidate_was_not_written(straight: Any, askew: Askew, tmp_path: Path) -> None:
    said = askew("fit", straight.root, "-o", tmp_path / "adapter", "--no-report")
    assert said.code == 0
    assert said.out.startswith("verdict: keep your base\n")
    assert "What these numbers call adapted was not written: the adapter holds your base." in said.out
    assert not (tmp_path / "adapter.html").exists()


def test_prose_goes_to_stdout_and_fits_in_80_columns(turned: Any, askew: Askew, tmp_path: Path) -> None:
    said = askew("fit", turned.root, "-o", tmp_path / "a")
    assert said.out.startswith("verdict: adapt\nThe gain, +")
    assert f"adapter: {tmp_path / 'a'}\nreport:  {tmp_path / 'a.html'}\n" in said.out
    assert said.err == ""
    starts = ("measure", "nDCG", "R@", "negative only", "never seen")
    table = [line for line in said.out.splitlines() if line.startswith(starts)]
    assert [line.split("  ")[0] for line in table] == [
        *("measure", "nDCG@10", "R@100", "nDCG@10", "R@100"),
        *("nDCG@10, relevant docs", "negative only", "never seen"),
    ]
    assert all(len(line) <= 80 for line in table)


def test_the_report_holds_what_json_says(fitted: Any, kept: Any) -> None:
    for made, head in ((fitted, "Adapt"), (kept, "Keep your base")):
        page, told = made.report.read_text(encoding="utf-8"), made.said.json()
        assert head in page
        reason = told["verdict"]["reason"]
        assert reason[1:].replace("-", "−") in page.replace("-", "−")
        for cell in told["tests"]:
            for key in ("base_mean", "other_mean"):
                assert f"{cell[key]:.4f}" in page
            assert f"{abs(cell['difference']):.4f}" in page
        manifest = json.loads((made.adapter / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["fingerprint"] in page


def test_measures_can_be_chosen_and_the_first_one_leads(turned: Any, askew: Askew, tmp_path: Path) -> None:
    found = askew(
        "fit", turned.root, "-o", tmp_path / "a", "-m", "RR@10", "-m", "nDCG@5", "--json", "--no-report"
    ).json()
    assert [(cell["documents"], cell["measure"]) for cell in found["tests"]] == [
        ("all", "RR@10"),
        ("all", "nDCG@5"),
        ("unseen", "RR@10"),
        ("unseen", "nDCG@5"),
        ("negative only", "RR@10"),
        ("never seen", "RR@10"),
    ]
    assert found["report"] is None


def test_cosine_is_kept_in_the_artefact_and_used_by_search(task: Any, askew: Askew, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    task.embed("docs", (np.load(task.documents) * rng.uniform(0.5, 2, size=(300, 1))).astype(np.float32))
    adapter = tmp_path / "a"
    found = askew("fit", task.root, "-o", adapter, "--similarity", "cosine", "--json").json()
    assert found["verdict"]["decision"] == "adapt"
    documents = np.load(task.documents).astype(np.float64)
    documents /= np.linalg.norm(documents, axis=1, keepdims=True)
    ranked = slow_ranking(
        adapted_by_hand(adapter, np.load(task.queries)), read_ids(task.queries), documents, read_ids(task.documents)
    )
    searched = askew("search", task.queries, task.documents, "-a", adapter, "--json").json()
    assert {query: [hit["id"] for hit in hits] for query, hits in searched.items()} == {
        query: names[:10] for query, names in ranked.items()
    }
    as_dot = askew("search", task.queries, task.documents, "-a", adapter, "--similarity", "dot", "--json").json()
    assert as_dot != searched
    by_cosine = askew("evaluate", task.root, "-a", adapter, "--json").json()
    assert by_cosine["means"]["nDCG@10"] == pytest.approx(found["tests"][0]["other_mean"])


def test_a_document_of_the_query_s_own_id_stays_unless_excluded(task: Any, askew: Askew) -> None:
    rows = np.load(task.documents)
    task.embed("queries", rows[:5], ids=[f"d{row}" for row in range(5)])
    plain = askew("search", task.queries, task.documents, "-k", 3, "--json").json()
    without = askew("search", task.queries, task.documents, "-k", 3, "--exclude-self", "--json").json()
    for query, hits in plain.items():
        assert hits[0]["id"] == query
        assert [hit["id"] for hit in without[query]][:2] == [hit["id"] for hit in hits[1:]]
        assert len(without[query]) == 3
