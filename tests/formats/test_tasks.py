"""Folders of tasks: found, written, and never written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from askew.data import Qrels
from askew.errors import FormatError, OutputError
from askew.formats import holds_task, list_tasks, read_side_texts, read_split, write_task

QUERIES, DOCUMENTS = {"q 1": "Who?\nWhere?", "q2": ""}, {"d1": 'A "line"\u2028 and\tmore', "d2": "日本語"}
QRELS = Qrels({"q 1": {"d1": 2, "d2": 0}, "q2": {"d2": 0.5}})


def test_what_is_written_is_read_again_and_left_alone(tmp_path: Path) -> None:
    place = tmp_path / "Web" / "Newts"
    write_task(place, QUERIES, DOCUMENTS, QRELS)
    assert read_side_texts(place, "queries") == QUERIES
    assert read_side_texts(place, "documents") == DOCUMENTS
    assert read_split(place).grades == QRELS.grades
    times = {path: path.stat().st_mtime_ns for path in place.rglob("*.*")}
    (place / "queries.jsonl").unlink()  # as a run that was cut short leaves it
    write_task(place, QUERIES, DOCUMENTS, QRELS)
    assert read_side_texts(place, "queries") == QUERIES
    assert {path: path.stat().st_mtime_ns for path in times if path.name != "queries.jsonl"} == {
        path: time for path, time in times.items() if path.name != "queries.jsonl"
    }


@pytest.mark.parametrize("changed", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
@pytest.mark.parametrize("text", ['{"_id": "q", "text": "other"}', "q\td\t1\n", "rubbish"])
def test_other_texts_are_refused_before_anything_is_written(tmp_path: Path, changed: str, text: str) -> None:
    held = tmp_path / changed
    held.parent.mkdir(exist_ok=True)
    held.write_text(text)
    with pytest.raises(OutputError, match="something else stands there"):
        write_task(tmp_path, QUERIES, DOCUMENTS, QRELS)
    assert held.read_text() == text
    assert [path.name for path in tmp_path.rglob("*.*")] == [held.name]


def test_tasks_are_found_at_any_depth_and_none_within_one(tmp_path: Path) -> None:
    for name in ("b", "a/x/y", "a/x.1", ".hidden/z"):
        (tmp_path / name / "qrels").mkdir(parents=True)
        (tmp_path / name / "qrels" / "test.tsv").write_text("q\td\t1\n")
    (tmp_path / "b" / "old").mkdir()
    (tmp_path / "b" / "old" / "queries.jsonl").write_text("")
    (tmp_path / "empty").mkdir()
    assert list_tasks(tmp_path) == ("a/x.1", "a/x/y", "b")
    assert list_tasks(tmp_path / "b" / "qrels") == ()
    assert holds_task(tmp_path / "b")
    assert not holds_task(tmp_path)
    with pytest.raises(FormatError, match="no such folder"):
        list_tasks(tmp_path / "nowhere")
