"""Data that cannot be used: one line that names the place and the remedy, nothing left behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Askew = Callable[..., Any]
Change = Callable[[Any], object]

FIT = "fit {data} -o {out}/new/adapter"
QRELS = "query-id\tcorpus-id\tscore\nq0\td0\t1\n"


def rows(task: Any, side: str) -> Any:
    return np.load(task.documents if side == "docs" else task.queries)


def remove(path: str) -> Change:
    def change(task: Any) -> None:
        place = task.root / path
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink()

    return change


def put(path: str, text: str | bytes) -> Change:
    return lambda task: (task.root / path).write_bytes(text if isinstance(text, bytes) else text.encode())


def row(side: str, value: float) -> Change:
    def change(task: Any) -> None:
        matrix = rows(task, side)
        matrix[3] = value
        task.embed(side, matrix)

    return change


def matrix(side: str, made: Callable[[Any], Any]) -> Change:
    return lambda task: task.embed(side, made(rows(task, side)))


def ids(side: str, made: Callable[[list[str]], list[str]]) -> Change:
    def change(task: Any) -> None:
        held = rows(task, side)
        task.embed(side, held, ids=made([f"{side[0]}{number}" for number in range(len(held))]))

    return change


def judged(split: str, *pairs: tuple[object, object, object]) -> Change:
    return lambda task: task.judge(split, pairs)


def other_encoder(*sides: str) -> Change:
    def change(task: Any) -> None:
        for side in sides:
            task.embed(side, rows(task, side), encoder="other")

    return change


def foreign(names: list[str]) -> list[str]:
    return [f"x{number}" for number in range(len(names))]


CASES: dict[str, tuple[Change, str, int, str]] = {
    "no qrels": (remove("qrels"), FIT, 3, "task: there are no judgements ~ Expected qrels/<split>.tsv"),
    "no embeddings": (remove("embeddings"), FIT, 3, "task: there are no embeddings ~ Expected"),
    "broken line": (put("qrels/train.tsv", f"{QRELS}\nq2\td2\thigh\n"), FIT, 3, "qrels/train.tsv:4: ~ 'high'"),
    "short line": (put("qrels/train.tsv", f"{QRELS}q2\td2\n"), FIT, 3, "qrels/train.tsv:3: the line has 2 columns"),
    "empty qrels": (put("qrels/train.tsv", ""), FIT, 3, "qrels/train.tsv"),
    "not utf-8": (put("qrels/train.tsv", b"q\xff\td\t1\n"), FIT, 3, "qrels/train.tsv:1: ~ UTF-8"),
    "broken texts": (put("corpus.jsonl", '{"_id": "d0", "text": "a"}\n{"_id": \n'), FIT, 3, "corpus.jsonl:2"),
    "nan row": (row("docs", np.nan), FIT, 3, "docs.npy: 1 of 300 rows hold NaN ~ 'd3' ~ --bad-rows drop"),
    "infinite row": (row("queries", np.inf), FIT, 3, "queries.npy: 1 of 180 rows ~ 'q3' ~ --bad-rows drop"),
    "duplicate ids": (
        ids("docs", lambda names: ["twin", *names[2:], "twin"]),
        FIT,
        3,
        "docs.npy: 1 id occurs ~ 'twin'",
    ),
    "too few ids": (ids("docs", lambda names: names[1:]), FIT, 3, "docs.npy: 299 ids for 300 rows"),
    "no ids": (remove("embeddings/tiny/docs.ids"), FIT, 3, "docs.npy: there are no ids ~ docs.ids"),
    "foreign documents": (ids("docs", foreign), FIT, 3, "none of the 120 judged documents ('d0' ~ 'x0'"),
    "foreign queries": (ids("queries", foreign), FIT, 3, "none of the 120 judged queries ('q0' ~ 'x0'"),
    "foreign test": (judged("test", ("a", "b", 1)), FIT, 3, "split 'test': none of the 1 judged queries ('a')"),
    "truncated": (put("embeddings/tiny/docs.npy", b"\x93NUMPY"), FIT, 3, "docs.npy"),
    "pickled": (lambda task: np.save(task.documents, np.array([{}], dtype=object)), FIT, 3, "docs.npy"),
    "whole numbers": (matrix("docs", lambda held: held.astype(np.int64)), FIT, 3, "docs.npy ~ int64 ~ float32"),
    "one side only": (other_encoder("queries"), f"{FIT} --encoder other", 3, "'other' has no embeddings of documents"),
    "two encoders": (other_encoder("docs", "queries"), FIT, 2, "2 encoders: 'other', 'tiny' ~ --encoder NAME"),
    "nothing relevant": (
        judged("train", ("q0", "d0", 0), ("q1", "d1", 0)),
        FIT,
        3,
        "no judged query has both ~ above 0",
    ),
    "zero queries": (matrix("queries", lambda held: held * 0), FIT, 3, "every labelled query is a zero vector"),
    "no test to measure": (remove("qrels/test.tsv"), f"{FIT} -m quality", 2, "'quality' is not a measure ~ nDCG@10"),
    "other dims": (
        matrix("docs", lambda held: held[:, :16]),
        "evaluate {data}",
        3,
        "the queries (tiny) have 24 dimensions and the documents (tiny) 16 ~ fit an adapter",
    ),
    "other dims than the adapter's": (
        matrix("docs", lambda held: held[:, :16]),
        "evaluate {data} --adapter {adapter}",
        3,
        "docs.npy: the document vectors (tiny) have 16 dimensions, the adapter takes 24",
    ),
    "other queries than the adapter's": (
        matrix("queries", lambda held: held[:, :8]),
        "apply {adapter} {queries} -o {out}/a.npy",
        3,
        "queries.npy: the query vectors (unnamed encoder) have 8 dimensions, the adapter takes 24",
    ),
    "another encoder": (
        other_encoder("docs", "queries"),
        "evaluate {data} --adapter {adapter} --encoder other",
        4,
        "'other', the adapter was fitted on 'tiny'",
    ),
    "another version": (
        matrix("docs", lambda held: held[:, ::-1].copy()),
        "evaluate {data} --adapter {adapter}",
        4,
        "the vector of document ~ has changed (cosine",
    ),
    "search in two dims": (
        matrix("docs", lambda held: held[:, :16]),
        "search {queries} {docs}",
        3,
        "24 dimensions and the documents (unnamed encoder) 16",
    ),
    "ids with spaces in a run": (
        ids("docs", lambda names: [f"a {name}" for name in names]),
        "search {queries} {docs}",
        6,
        "stdout ~ 'a d ~ whitespace",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_data(name: str, task: Any, refuses: Callable[[str, int, str], None]) -> None:
    change, command, code, says = CASES[name]
    change(task)
    refuses(command, code, says)


@pytest.mark.parametrize(
    ("name", "spoil_bytes", "says"),
    [
        ("tensors.safetensors", lambda held: held[:-4] + b"\0\0\0\1", "its checksum differs"),
        ("tensors.safetensors", lambda held: b"", "its checksum differs"),
        ("tensors.safetensors", None, "it cannot be read"),
        ("manifest.json", lambda held: held[: len(held) // 2], "the manifest is not JSON"),
        ("manifest.json", lambda held: b"[]", "this is not the manifest of an adapter"),
        ("manifest.json", lambda held: held.replace(b'"format_version": 1', b'"format_version": 99'), "has format 99"),
        ("manifest.json", lambda held: held.replace(b'"identity"', b'"pickle"'), "do not make an adapter"),
        ("manifest.json", lambda held: held.replace(b'"d_query": 24', b'"d_query": 25'), "25"),
        ("manifest.json", lambda held: held.replace(b'"similarity": "dot"', b'"similarity": "l2"'), "l2"),
        ("manifest.json", None, "there is no adapter here"),
    ],
)
def test_a_damaged_adapter_is_refused_by_every_command(
    name: str,
    spoil_bytes: Callable[[bytes], bytes] | None,
    says: str,
    task: Any,
    fitted: Any,
    askew: Askew,
    tmp_path: Path,
) -> None:
    adapter = shutil.copytree(fitted.adapter, tmp_path / "damaged")
    if spoil_bytes is None:
        (adapter / name).unlink()
    else:
        (adapter / name).write_bytes(spoil_bytes((adapter / name).read_bytes()))
    before = task.listing()
    for args in (
        ("inspect", adapter),
        ("apply", adapter, task.queries, "-o", tmp_path / "a.npy"),
        ("search", task.queries, task.documents, "-a", adapter),
        ("evaluate", task.root, "-a", adapter),
    ):
        message = askew(*args).refused(4)
        assert str(adapter) in message
        assert says in message
    assert task.listing() == before


def test_a_run_is_read_with_line_numbers(task: Any, askew: Askew, tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    for text, says in (
        ("q120 Q0 d120 1 1.0 mine\nq121 Q0 d1\n", "a.run:2: the line has 3 columns"),
        ("q120 Q0 d120 1 nan mine\n", "a.run:1: the score is NaN"),
        ("q120 Q0 d1 1 1 x\nq120 Q0 d1 2 0 x\n", "a.run:2: document 'd1' stands twice for query 'q120'"),
        ("x Q0 d120 1 1.0 mine\n", "none of the 60 judged queries ('q120', 'q121', 'q122' and 57 more) is in the run"),
        ("", "a.run: it holds no ranking"),
    ):
        run.write_text(text, encoding="utf-8")
        assert says in askew("evaluate", task.root, "--run", run).refused(3)
