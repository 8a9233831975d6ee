"""What is odd but can be worked with: a warning on stderr that names it, and a result."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Askew = Callable[..., Any]


def codes(said: Any) -> list[str]:
    return [finding["code"] for finding in said.json()["findings"] if finding["level"] == "warning"]


def judge_train(task: Any, count: int, *more: tuple[object, object, object]) -> None:
    task.judge("train", [*((f"q{row}", f"d{row}", 1) for row in range(count)), *more])


def test_quiet_silences_warnings_and_nothing_else(task: Any, askew: Askew, tmp_path: Path) -> None:
    judge_train(task, 120, ("q0", "absent", 1))
    loud = askew("fit", task.root, "-o", tmp_path / "a", "--no-report")
    quiet = askew("fit", task.root, "-o", tmp_path / "a", "--no-report", "--quiet")
    assert loud.err == (
        "warning: 1 judged document is not in the corpus; it stays in the ideal ranking (absent). "
        "Add them to the corpus, or drop their judgements.\n"
    )
    assert quiet.err == ""
    assert quiet.out == loud.out
    assert askew("fit", task.root, "-q", "-o", tmp_path / "a", "--split", "none").refused(2)


def test_judged_documents_outside_the_corpus_stay_in_the_denominator(task: Any, askew: Askew) -> None:
    before = askew("evaluate", task.root, "--json").json()
    task.judge("test", [(f"q{row}", name, 1) for row in range(120, 180) for name in (f"d{row}", "absent")])
    after = askew("evaluate", task.root, "--json")
    assert codes(after) == ["missing-documents"]
    ideal = 1 + 1 / np.log2(3)
    for old, new in zip(before["values"]["nDCG@10"], after.json()["values"]["nDCG@10"], strict=True):
        assert new == pytest.approx(old / ideal)
    for old, new in zip(before["values"]["R@100"], after.json()["values"]["R@100"], strict=True):
        assert new == pytest.approx(old / 2)
    assert "(absent)" in after.err


def test_judged_queries_without_embedding_score_zero(task: Any, askew: Askew, tmp_path: Path) -> None:
    before = askew("evaluate", task.root, "--json").json()
    pairs = [(f"q{row}", f"d{row}", 1) for row in range(120, 180)]
    task.judge("test", [*pairs, *((f"lost{row}", "d3", 1) for row in range(20))])
    after = askew("evaluate", task.root, "--json")
    assert codes(after) == ["missing-queries"]
    assert after.json()["n"] == 80
    assert after.json()["means"]["nDCG@10"] == pytest.approx(before["means"]["nDCG@10"] * 60 / 80)
    assert after.json()["missing"] == [f"lost{row}" for row in range(20)]
    fitted = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json")
    assert [cell["n"] for cell in fitted.json()["tests"]][:4] == [80, 80, 60, 60]  # d3 was a training positive
    assert codes(fitted) == ["test-missing-queries"]
    assert "warning: among the test queries, 20 judged queries have no embedding; they score 0 (lost0," in fitted.err


def test_queries_that_are_not_in_a_run_score_zero_and_are_listed(task: Any, askew: Askew, tmp_path: Path) -> None:
    run = tmp_path / "some.run"
    run.write_text("".join(f"q{row} Q0 d{row} 1 1.0 mine\n" for row in (*range(120, 150), 3)), encoding="utf-8")
    said = askew("evaluate", task.root, "--run", run, "--json")
    found = said.json()
    assert (found["n"], found["means"]["nDCG@10"]) == (60, 0.5)
    assert (len(found["missing"]), found["unjudged"]) == (30, ["q3"])
    assert "warning: 30 judged queries are not in the run; they score 0 (q150," in said.err


def test_a_run_is_evaluated_without_any_embedding(task: Any, askew: Askew, tmp_path: Path) -> None:
    for side in ("docs", "queries"):
        task.embed(side, np.load(task.documents)[:5], encoder="other")  # two encoders: there is nothing to choose here
    run = tmp_path / "perfect.run"
    run.write_text("".join(f"q{row} Q0 d{row} 1 1.0 mine\n" for row in range(120, 180)), encoding="utf-8")
    said = askew("evaluate", task.root, "--run", run)
    assert said.err == ""
    assert [line.split() for line in said.out.splitlines()] == [
        ["measure", "split", "queries", "mean"],
        ["nDCG@10", "test", "60", "1.0000"],
        ["R@100", "test", "60", "1.0000"],
    ]


def test_bad_rows_can_be_dropped(task: Any, fitted: Any, askew: Askew, tmp_path: Path) -> None:
    documents, queries = np.load(task.documents), np.load(task.queries)
    documents[3, 0], queries[7, 5] = np.nan, np.inf
    task.embed("docs", documents)
    task.embed("queries", queries)
    said = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--bad-rows", "drop", "--json")
    assert codes(said) == ["missing-queries", "missing-documents", "dropped-queries", "dropped-documents"]
    assert "1 document with NaN or infinite values was dropped (d3)" in said.err
    assert said.json()["verdict"]["queries"] == 118
    output = tmp_path / "adapted.npy"
    applied = askew("apply", fitted.adapter, task.queries, "-o", output, "--bad-rows", "drop", "--json")
    assert (applied.json()["queries"], applied.json()["dropped"]) == (179, ["q7"])
    assert applied.err == ("warning: 1 query with NaN or infinite values was dropped (q7). Embed them again.\n")
    assert "q7" not in output.with_suffix(".ids").read_text(encoding="utf-8").split()
    searched = askew("search", task.queries, task.documents, "-k", 300, "--bad-rows", "drop", "--json")
    assert {len(hits) for hits in searched.json().values()} == {299}
    assert searched.err.count("warning: ") == 2
    assert askew("search", task.queries, task.documents, "--bad-rows", "drop", "-q").err == ""


def test_zero_rows_are_told_and_score_nothing(task: Any, askew: Askew, tmp_path: Path) -> None:
    documents, queries = np.load(task.documents), np.load(task.queries)
    documents[3], queries[7] = 0, 0
    task.embed("docs", documents)
    task.embed("queries", queries)
    said = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json")
    assert codes(said) == ["zero-queries", "zero-documents"]
    assert said.json()["verdict"]["queries"] == 119
    hits = askew("search", task.queries, task.documents, "-k", 3, "--json").json()["q7"]
    assert hits == [{"id": name, "score": 0.0} for name in ("d0", "d1", "d10")]


def test_norms_far_from_one_name_the_similarity(task: Any, askew: Askew, tmp_path: Path) -> None:
    norms = np.linspace(264, 405, 300)[:, None]
    task.embed("docs", (np.load(task.documents) * norms).astype(np.float32))
    said = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json")
    assert codes(said) == ["norms-documents"]
    assert "the norms of documents run from 264 to 405" in said.err
    assert "so dot is not cosine" in said.err
    assert "--similarity cosine" in said.err
    assert codes(askew("evaluate", task.root, "--json")) == ["norms-documents"]
    cosine = askew("fit", task.root, "--no-report", "-o", tmp_path / "b", "--similarity", "cosine", "--json")
    assert codes(cosine) == []
    assert cosine.json()["verdict"]["decision"] == "adapt"


@pytest.mark.parametrize("labels", [1, 2, 9])
def test_fewer_than_ten_labels_keep_the_base_and_say_why(
    turned: Any, askew: Askew, tmp_path: Path, labels: int
) -> None:
    said = askew("fit", turned.root, "-o", tmp_path / "a", "--labels", labels)
    assert said.code == 0
    found = "1 labelled query is" if labels == 1 else f"{labels} labelled queries are"
    reason = f"{found} too few to tell a gain from luck: label at least 10."
    assert said.out.startswith(f"verdict: keep your base\n{reason}\n\n")
    assert "No correction was tried. Your base, on the test queries:\nmeasure " in said.out
    assert not re.search(r"[+-]0\.0000|adapted|difference|unseen", said.out)
    found = askew("fit", turned.root, "-o", tmp_path / "a", "--labels", labels, "--json").json()
    assert found["verdict"]["decision"] == "keep"
    assert found["verdict"]["queries"] == 0
    assert (found["chosen"]["name"], found["chosen"]["strength"]) == ("identity alone", None)
    assert all(cell["difference"] == 0 for cell in found["tests"])
    assert (tmp_path / "a.html").read_text(encoding="utf-8").count("too few to tell a gain from luck") >= 1


def test_ten_labels_are_measured(turned: Any, askew: Askew, tmp_path: Path) -> None:
    found = askew("fit", turned.root, "-o", tmp_path / "a", "--labels", 10, "--json", "--no-report").json()
    assert found["verdict"]["queries"] == 10


def test_one_relevant_document_for_all_keeps_the_base(task: Any, askew: Askew, tmp_path: Path) -> None:
    task.judge("train", [(f"q{row}", "d0", 1) for row in range(120)])
    said = askew("fit", task.root, "-o", tmp_path / "a")
    assert said.code == 0
    assert said.out.startswith(
        "verdict: keep your base\nThe relevant documents of all labelled queries fall into one fold"
    )
    assert askew("inspect", tmp_path / "a", "--json").json()["correction"] == "none: the base itself"


def test_a_corpus_smaller_than_k(task: Any, askew: Askew, tmp_path: Path) -> None:
    task.embed("docs", np.load(task.documents)[:6])
    task.judge("train", [(f"q{row}", f"d{row % 6}", 1) for row in range(120)])
    task.judge("test", [(f"q{row}", f"d{row % 6}", 1) for row in range(120, 180)])
    found = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json").json()
    assert [cell["documents"] for cell in found["tests"]] == ["all", "all", "positive in training"]  # none is unseen
    hits = askew("search", task.queries, task.documents, "-k", 50, "--json").json()
    assert {len(found) for found in hits.values()} == {6}
    said = askew("search", task.queries, task.documents, "-k", 50, "-o", tmp_path / "a.run")
    assert "180 queries, 6 documents each" in said.out


def test_one_document(task: Any, askew: Askew, tmp_path: Path) -> None:
    task.embed("docs", np.load(task.documents)[:1])
    for split, queries in (("train", range(120)), ("test", range(120, 180))):
        task.judge(split, [(f"q{row}", "d0", 1) for row in queries])
    found = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json").json()
    assert found["verdict"]["decision"] == "keep"
    assert [cell["base_mean"] for cell in found["tests"]] == [1.0, 1.0, 1.0]


def test_one_test_query_has_no_interval(task: Any, askew: Askew, tmp_path: Path) -> None:
    task.judge("test", [("q150", "d150", 1)])
    said = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json")
    cell = said.json()["tests"][0]
    assert (cell["n"], cell["low"], cell["high"], cell["standard_error"]) == (1, None, None, None)
    prose = askew("fit", task.root, "--no-report", "-o", tmp_path / "a")
    assert "(one query)" in prose.out
    assert "inf]" not in prose.out
    assert " 1* " in prose.out
    assert "* Under 50 queries are too few to judge by.\n" in prose.out


def test_unseen_documents_that_are_all_outside_the_corpus(task: Any, askew: Askew, tmp_path: Path) -> None:
    task.judge(
        "test",
        [pair for row in range(60) for pair in ((f"q{row + 120}", f"d{row}", 1), (f"q{row + 120}", "absent", 1))],
    )
    found = askew("fit", task.root, "--no-report", "-o", tmp_path / "a", "--json").json()
    assert [cell["documents"] for cell in found["tests"]] == ["all", "all", "positive in training"]


@pytest.mark.parametrize("name", ["日本é{}", "a b{}", "[red]<b>{}&amp;", "q\u2028{}:cat:"])
def test_unusual_ids(task: Any, askew: Askew, tmp_path: Path, name: str) -> None:
    documents, queries = ([name.format(row) for row in range(count)] for count in (300, 180))
    task.embed("docs", np.load(task.documents), ids=documents)
    task.embed("queries", np.load(task.queries), ids=queries)
    for split, part in (("train", range(120)), ("test", range(120, 180))):
        task.judge(split, [(queries[row], documents[row], 1) for row in part])
    found = askew("fit", task.root, "-o", tmp_path / "a", "--json", "--no-report").json()
    assert found["verdict"]["decision"] == "adapt"
    hits = askew("search", task.queries, task.documents, "-a", tmp_path / "a", "-k", 1, "--json").json()
    assert list(hits) == queries
    assert sum(hits[query][0]["id"] == document for query, document in zip(queries, documents, strict=False)) > 100
    assert askew("apply", tmp_path / "a", task.queries, "-o", tmp_path / "q.npy").code == 0
    assert (tmp_path / "q.ids").read_bytes() == task.queries.with_suffix(".ids").read_bytes()
    assert askew("inspect", tmp_path / "a", "--json").json()["canaries"][0] in queries
    assert askew("evaluate", task.root, "-a", tmp_path / "a").code == 0


def test_markup_in_names_is_printed_as_it_is(task: Any, askew: Askew, tmp_path: Path) -> None:
    task.judge("[b]x:cat:", [(f"q{row}", f"d{row}", 1) for row in range(60)])
    assert "[b]x:cat:" in askew("evaluate", task.root, "--split", "[b]x:cat:").out
    moved = task.copy(tmp_path / "[i]place:dog:")
    assert askew("fit", moved.root, "-o", tmp_path / "[u]a:cow:").out.count("[u]a:cow:") == 2
    assert "[i]place:dog:" in askew("inspect", tmp_path / "[u]a:cow:").out


def test_a_cutoff_below_the_usual_depth_is_searched_to(task: Any, askew: Askew) -> None:
    task.embed("queries", -np.load(task.queries))  # what is relevant comes last
    found = askew("evaluate", task.root, "-m", "R@100", "-m", "R(cutoff=300)", "--json").json()
    assert found["means"]["R@100"] < 0.1
    assert found["means"]["R@300"] == 1


def test_narrow_terminals_cut_no_number(turned: Any, askew: Askew, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = askew("evaluate", turned.root)
    assert "\x1b" not in wide.out
    monkeypatch.setenv("COLUMNS", "20")
    assert askew("evaluate", turned.root).out == wide.out


def test_evaluate_without_a_test_split_names_the_split_it_used(task: Any, askew: Askew) -> None:
    (task.root / "qrels" / "test.tsv").rename(task.root / "qrels" / "dev.tsv")
    found = askew("evaluate", task.root, "--json").json()
    assert (found["split"], found["n"]) == ("train", 120)
    (task.root / "qrels" / "train.tsv").unlink()
    found = askew("evaluate", task.root, "--json").json()
    assert (found["split"], found["n"]) == ("dev", 60)
