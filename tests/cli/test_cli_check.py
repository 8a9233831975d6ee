"""`askew check`: everything is read, nothing is written, and the exit code says how it went."""

from __future__ import annotations

import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Askew = Callable[..., Any]


def texts(task: Any, **documents: str) -> None:
    lines = [json.dumps({"_id": name, "text": text}) + "\n" for name, text in documents.items()]
    (task.root / "corpus.jsonl").write_text("".join(lines), encoding="utf-8")


def found(said: Any, level: str = "warning") -> list[tuple[str, str]]:
    return [(one["place"], one["code"]) for one in json.loads(said.out)["findings"] if one["level"] == level]


def test_clean_data(turned: Any, askew: Askew) -> None:
    before = turned.listing()
    said = askew("check", turned.root, "--strict")
    assert (said.code, said.err) == (0, "")
    assert said.out.splitlines()[:3] == [
        "split  queries  judgements  relevant",
        "test        60          60        60",
        "train      120         120       120",
    ]
    assert "tiny     documents   300   24  float32" in said.out
    assert said.out.endswith("\n0 errors, 0 warnings.\n")
    held = askew("check", turned.root, "--json").json()
    assert held["splits"]["train"] == {"queries": 120, "judgements": 120, "relevant": 120}
    assert held["encoders"]["tiny"]["queries"] == {"rows": 180, "dim": 24, "dtype": "float32", "dropped": []}
    assert (held["errors"], held["texts"]) == ([], {"queries": 0, "documents": 0})
    assert held["duplicates"] == {"groups": [], "alike": [], "changes": {}}
    assert [one["code"] for one in held["findings"]] == ["matched", "matched"]
    assert turned.listing() == before


def test_warnings_matter_to_strict_alone(task: Any, askew: Askew) -> None:
    task.judge("dev", [("q0", "d0", 1), ("q0", "absent", 1), ("lost", "d1", 1)])
    said = askew("check", task.root, "--json")
    assert said.code == 0
    assert found(said) == [
        ("dev and train", "split-overlap"),
        ("tiny, dev", "missing-queries"),
        ("tiny, dev", "missing-documents"),
    ]
    plain = askew("check", task.root, "--strict")
    assert (plain.code, plain.err) == (1, "")
    assert "warning: tiny, dev: 1 judged document is not in the corpus" in plain.out
    assert plain.out.endswith("0 errors, 3 warnings.\n")


def test_what_is_odd_in_every_split_is_said_once(task: Any, askew: Askew) -> None:
    task.embed("docs", np.load(task.documents) * np.linspace(264, 405, 300)[:, None])
    said = askew("check", task.root, "--json")
    assert found(said) == [("tiny", "norms-documents")]
    assert found(askew("check", task.root, "--json", "--similarity", "cosine")) == []


def test_sides_of_other_dimensions_under_one_encoder_are_odd(task: Any, askew: Askew) -> None:
    task.embed("docs", np.load(task.documents)[:, :20])
    said = askew("check", task.root, "--json")
    assert ("tiny", "unequal-dimensions") in found(said)
    assert "24 dimensions and documents 20" in said.out


def test_every_error_is_listed_and_none_hides_another(task: Any, askew: Askew) -> None:
    (task.root / "qrels" / "dev.tsv.gz").write_bytes(gzip.compress(b"q0 d0 1\n")[:-5])
    (task.root / "qrels" / "wild.csv").write_bytes(b"query,document\nq0,caf\xe9\n")
    (task.root / "corpus.jsonl").write_text('{"_id": "d0", "text": "a"}\n{"_id": "d0", "text": "b"}\n')
    rows = np.load(task.queries)
    rows[3] = np.nan
    task.embed("queries", rows)
    said = askew("check", task.root)
    errors = [line for line in said.out.splitlines() if line.startswith("error: ")]
    assert (said.code, said.err, len(errors)) == (3, "", 4)
    for line, words in zip(
        errors, ("dev.tsv.gz: its gzip", "wild.csv:2: the text is", "corpus.jsonl:2:", "1 of 180 rows"), strict=True
    ):
        assert words in line
    assert said.out.endswith("4 errors, 0 warnings.\n")
    held = askew("check", task.root, "--json", "--bad-rows", "drop")
    assert (held.code, found(held)) == (3, [("tiny", "dropped-queries"), ("tiny, train", "missing-queries")])


def test_an_encoder_with_one_side_is_no_error(task: Any, askew: Askew) -> None:
    task.embed("docs", np.load(task.documents)[:, :12], encoder="half")
    held = askew("check", task.root, "--json").json()
    assert {name: list(sides) for name, sides in held["encoders"].items()} == {
        "tiny": ["queries", "documents"],
        "half": ["documents"],
    }
    both = askew("check", task.root, "--json", "--encoder", "tiny", "--document-encoder", "half").json()
    assert both["encoders"]["tiny and half"]["documents"]["dim"] == 12


@pytest.mark.parametrize(
    ("command", "code", "says"),
    [
        ("check {data}/none", 3, "no such folder"),
        ("check {queries}", 3, "is a file, not a folder"),
        ("check", 2, "Missing argument"),
    ],
)
def test_refused(refuses: Callable[[str, int, str], None], command: str, code: int, says: str) -> None:
    refuses(command, code, says)


def test_what_is_not_there_is_an_error(tmp_path: Path, task: Any, askew: Askew) -> None:
    said = askew("check", tmp_path / "task" / "qrels")
    assert said.code == 3
    assert "error: " in said.out
    assert "there are no embeddings" in said.out
    said = askew("check", task.root, "--encoder", "other")
    assert (said.code, said.out.splitlines()[-1]) == (2, "1 error, 0 warnings.")
    assert "there is no encoder 'other'" in said.out


# Duplicates


@pytest.fixture
def twice(task: Any) -> Any:
    """Documents 120 and 200 have one text, 121 and 201 one vector, 122 and 202 one vector and two texts."""
    rows = np.load(task.documents)
    rows[[201, 202]] = rows[[121, 122]]
    task.embed("docs", rows)
    texts(task, d120="the same", d200=" the  same", d122="with", d202="without")
    return task


def test_copies_are_told_apart_and_what_merging_changes_is_shown(twice: Any, askew: Askew) -> None:
    held = askew("check", twice.root, "--json").json()
    assert held["duplicates"]["groups"] == [["d120", "d200"], ["d121", "d201"]]
    assert held["duplicates"]["alike"] == [["d122", "d202"]]
    assert held["duplicates"]["changes"] == {
        "test": [
            {"query": "q120", "document": "d200", "before": None, "after": 1.0},
            {"query": "q121", "document": "d201", "before": None, "after": 1.0},
        ]
    }
    plain = askew("check", twice.root, "--merge-duplicates")
    assert "warning: test: 2 judgements are lacking on copies of judged documents" in plain.out
    assert "--merge-duplicates would change 2 judgements of test:\n  q120 d200 unjudged -> 1\n  q121 d201" in plain.out
    assert (
        "note: documents: 1 pair of documents has near-duplicate vectors and different texts (d122 d202)." in plain.out
    )
    assert "--merge-duplicates would change" not in askew("check", twice.root).out


def test_no_copies_change_nothing(turned: Any, askew: Askew) -> None:
    assert "--merge-duplicates would change nothing.\n" in askew("check", turned.root, "--merge-duplicates").out


def test_evaluate_counts_both_copies(twice: Any, askew: Askew) -> None:
    """q121's two copies score the same, so both are found at once; a copy of one vector costs the unmerged ideal."""
    apart = askew("evaluate", twice.root, "--json", "--measure", "R@300").json()
    merged = askew("evaluate", twice.root, "--json", "--measure", "R@300", "--merge-duplicates").json()
    assert apart["means"]["R@300"] == merged["means"]["R@300"] == 1
    assert merged["findings"][0]["code"] == "merged-duplicates"
    assert merged["findings"][0]["examples"] == ["q120 d200", "q121 d201"]
    run = twice.root / "a.run"
    run.write_text("".join(f"q{row} Q0 {'d200' if row == 120 else f'd{row}'} 1 1 a\n" for row in range(120, 180)))
    plain = askew("evaluate", twice.root, "--json", "--run", run, "-m", "P@1").json()
    spread = askew("evaluate", twice.root, "--json", "--run", run, "-m", "P@1", "--merge-duplicates").json()
    assert plain["means"]["P@1"] == pytest.approx(59 / 60)
    assert spread["means"]["P@1"] == 1


def test_fit_gives_copies_their_judgements(twice: Any, askew: Askew, tmp_path: Path) -> None:
    rows = np.load(twice.documents)
    rows[210] = rows[0]
    twice.embed("docs", rows)
    plain = askew("fit", twice.root, "-o", tmp_path / "a", "--no-report", "--json").json()
    merged = askew("fit", twice.root, "-o", tmp_path / "b", "--no-report", "--json", "--merge-duplicates").json()
    codes = {one["code"]: one for one in merged["findings"]}
    assert codes["merged-duplicates"]["examples"] == ["q0 d210"]
    assert codes["test-merged-duplicates"]["examples"] == ["q120 d200", "q121 d201"]
    assert "merged-duplicates" not in {one["code"] for one in plain["findings"]}


# Pipes


def say(monkeypatch: pytest.MonkeyPatch, raw: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(raw)))


def test_a_run_from_a_pipe(turned: Any, askew: Askew, monkeypatch: pytest.MonkeyPatch) -> None:
    say(monkeypatch, b"".join(b"q%d Q0 d%d 1 1.0 mine\n" % (row, row) for row in range(120, 150)))
    assert askew("evaluate", turned.root, "--run", "-", "--json").json()["means"]["nDCG@10"] == 0.5


def test_queries_through_a_pipe(
    fitted: Any, turned: Any, askew: Askew, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """apply - | search -: the same run as through files."""
    askew("apply", fitted.adapter, turned.queries, "-o", tmp_path / "q.npy")
    through = askew("search", tmp_path / "q.npy", turned.documents).out
    rows = np.load(turned.queries)
    lines = "".join(
        json.dumps({"id": f"q{at}", "vector": row.tolist()}) + "\n" for at, row in enumerate(rows.astype(float))
    )
    say(monkeypatch, lines.encode())
    piped = askew("apply", fitted.adapter, "-", "-o", "-")
    assert piped.code == 0
    assert len(piped.out.splitlines()) == 180
    say(monkeypatch, piped.out.encode())
    found = askew("search", "-", turned.documents)
    assert [line.split()[:4] for line in found.out.splitlines()] == [line.split()[:4] for line in through.splitlines()]
    say(monkeypatch, b"")
    assert (
        "leave one of them out"
        in askew("apply", fitted.adapter, turned.queries, "-o", "-", "--json").refused(2).lower()
    )


def test_what_could_not_be_read_may_hold_duplicates(task: Any, askew: Askew) -> None:
    (task.root / "corpus.jsonl").write_bytes(b'{"_id": "d0", "text": "caf\xe9"}\n')
    said = askew("check", task.root, "--merge-duplicates")
    assert (said.code, "would change nothing" in said.out) == (3, False)
    assert "What --merge-duplicates would change is known once the errors above are mended.\n" in said.out


def test_without_pyarrow_that_alone_is_the_error(askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pyarrow", "pyarrow.parquet", "pyarrow.ipc"):
        monkeypatch.setitem(sys.modules, name, None)
    for name in ("corpus", "queries", "train"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "data-00000-of-00001.arrow").write_bytes(b"")
    said = askew("check", tmp_path)
    assert (said.code, said.out.count("error: ")) == (5, 1)
    assert "needs the package 'pyarrow'" in said.out


def test_queries_of_two_encoders_are_checked_side_by_side(task: Any, askew: Askew) -> None:
    task.embed("queries", np.load(task.queries)[:, :8], encoder="more")
    said = askew("check", task.root, "--encoder", "tiny+more", "--json")
    assert said.code == 0
    sides = said.json()["encoders"]["tiny+more"]
    assert (sides["queries"]["dim"], sides["documents"]["dim"]) == (32, 24)
    assert found(said) == []
    missing = askew("check", task.root, "--encoder", "tiny+none")
    assert missing.code == 2
    assert "there is no encoder 'tiny+none'" in missing.out
