"""Fit, test, save and report as one: splits kept apart, everything written or nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import askew.workflows.deliver as home
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.errors import LabelError, MatchError, OutputError, ParameterError
from askew.formats import load_adapter, write_embeddings, write_qrels
from askew.report import render_html, render_json, render_markdown
from askew.workflows.deliver import check_places, deliver, read_splits

pytestmark = pytest.mark.usefixtures("few_candidates")


def write_folder(task: Dataset, root: Path, **splits: Qrels) -> Path:
    for side, embeddings in (("queries", task.queries), ("docs", task.documents)):
        write_embeddings(embeddings, root / "embeddings" / "tiny" / f"{side}.npy")
    for name, qrels in splits.items():
        write_qrels(qrels, root / "qrels" / f"{name}.tsv")
    return root


def ids(dataset: Dataset | None) -> tuple[str, ...] | None:
    return None if dataset is None else dataset.qrels.queries


def test_test_is_the_default_beside_another_split(whole: Dataset, tmp_path: Path) -> None:
    first, second, third = (whole.qrels.only(whole.qrels.queries[part : part + 30]) for part in (0, 30, 60))
    root = write_folder(whole, tmp_path, train=first, dev=second, test=third)
    cases: tuple[tuple[dict[str, Any], tuple[Qrels, Qrels | None]], ...] = (
        ({}, (first, third)),
        ({"split": "dev"}, (second, third)),
        ({"test_split": "dev"}, (first, second)),
        ({"split": "test"}, (third, None)),
        ({"split": "test", "test_split": "train"}, (third, first)),
    )
    for asked, expected in cases:
        train, test, findings = read_splits(root, **asked)
        assert (ids(train), ids(test)) == tuple(qrels and qrels.queries for qrels in expected)
        assert findings == ()
        assert test is None or test.documents is train.documents


def test_one_split_is_parted_by_labels(whole: Dataset, tmp_path: Path) -> None:
    root = write_folder(whole, tmp_path, train=whole.qrels)
    train, test, _ = read_splits(root, labels=40)
    assert test is not None
    assert (len(train.qrels), len(test.qrels)) == (40, 50)
    assert set(train.qrels.queries) | set(test.qrels.queries) == set(whole.qrels.queries)
    fewer = read_splits(root, labels=10)[0]
    assert set(fewer.qrels.queries) < set(train.qrels.queries)
    assert set(read_splits(root, labels=40, seed=1)[0].qrels.queries) != set(train.qrels.queries)
    assert ids(read_splits(root, labels=90)[1]) is None
    with pytest.raises(ParameterError, match="91 labels were asked for, and 90 queries"):
        read_splits(root, labels=91)
    with pytest.raises(ParameterError, match="0 labels"):
        read_splits(root, labels=0)


def test_a_query_in_both_splits_is_tested_and_not_fitted(whole: Dataset, tmp_path: Path) -> None:
    root = write_folder(whole, tmp_path, train=whole.qrels, test=whole.qrels.only(whole.qrels.queries[60:]))
    train, test, findings = read_splits(root)
    assert ids(train) == whole.qrels.queries[:60]
    assert ids(test) == whole.qrels.queries[60:]
    assert [(found.code, found.level, found.count) for found in findings] == [("train-test-overlap", "warning", 30)]
    assert findings[0].examples == ("q60", "q61", "q62", "q63", "q64")
    assert len(read_splits(root, labels=60)[0].qrels) == 60
    with pytest.raises(LabelError, match="every training query is a test query too"):
        read_splits(root, split="test", test_split="train")


def test_a_test_split_of_other_ids_is_named(whole: Dataset, tmp_path: Path) -> None:
    root = write_folder(whole, tmp_path / "newts", train=whole.qrels, test=Qrels({"a": {"b": 1}}))
    with pytest.raises(MatchError, match="none of the 1 judged queries") as raised:
        read_splits(root)
    assert raised.value.where == "newts, split 'test'"


def test_a_delivery_holds_what_it_wrote(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    held = deliver(
        train,
        test,
        tmp_path / "a",
        report=tmp_path / "deep" / "r.html",
        command="the command",
        progress=lambda done, total: steps.append((done, total)),
    )
    assert steps == [(done, len(steps)) for done in range(1, len(steps) + 1)]
    assert [subset for subset, _ in held.trial.parts[:2]] == ["all", "unseen"]
    assert [subset for subset, _ in held.trial.parts[2:]] == [
        "negative only"
    ]  # the corpus is small: all of it was mined
    loaded = load_adapter(held.adapter_path)
    assert loaded.provenance.record["verdict"] == held.fit.choice.verdict.to_json()
    assert (loaded.apply(test.queries.matrix) == held.fit.adapter.apply(test.queries.matrix)).all()
    assert held.report_path == tmp_path / "deep" / "r.html"
    assert "the command" in held.report_path.read_text(encoding="utf-8")
    plain = held.to_json()
    assert plain["verdict"]["decision"] == "adapt"
    assert [row["difference"] for row in plain["tests"]] == [row.difference for _, row in held.trial.comparisons]
    assert [row.difference for row in held.summary.comparisons] == [row.difference for _, row in held.trial.comparisons]


@pytest.mark.parametrize("name", ["r.html", "r.HTM", "r.md", "r.json"])
def test_the_ending_chooses_how_the_report_is_written(train: Dataset, tmp_path: Path, name: str) -> None:
    summary = deliver(train.only(train.qrels.queries[:5]), None, tmp_path / "a", report=tmp_path / name).summary
    written = (tmp_path / name).read_text(encoding="utf-8")
    rendered = {"r.md": render_markdown, "r.json": render_json}.get(name, render_html)(summary)
    assert written == rendered


def test_without_a_report_none_is_written(train: Dataset, tmp_path: Path) -> None:
    held = deliver(train, None, tmp_path / "a")
    assert (held.report_path, held.trial.parts, held.to_json()["report"]) == (None, (), None)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_the_test_split_is_looked_over_too(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    qrels = Qrels({**test.qrels.grades, "lost": {"absent": 1}, "hopeless": {"d1": 0}})
    odd = Dataset(test.queries, test.documents, qrels)
    found = deliver(train, odd, tmp_path / "a").fit.findings
    assert [finding.code for finding in found if finding.code.startswith("test-")] == [
        "test-missing-queries",
        "test-missing-documents",
        "test-no-relevant",
    ]
    assert all(finding.message.startswith("among the test queries, ") for finding in found[-3:])


def test_cosine_reaches_the_adapter(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    scaled = EmbeddingSet(train.documents.ids, train.documents.matrix * 3, encoder="tiny")
    held = deliver(
        Dataset(train.queries, scaled, train.qrels),
        Dataset(test.queries, scaled, test.qrels),
        tmp_path / "a",
        similarity="cosine",
    )
    assert load_adapter(tmp_path / "a").similarity == "cosine"
    assert held.summary.similarity == "cosine"
    assert [finding for finding in held.fit.findings if finding.level == "warning"] == []


@pytest.mark.parametrize("failing", ["save_adapter", "render_html"])
def test_what_fails_while_writing_leaves_the_old_things(
    train: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    deliver(train, None, tmp_path / "a", report=tmp_path / "a.html")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    def broken(*args: Any) -> None:
        raise RuntimeError(failing)

    if failing == "render_html":
        monkeypatch.setitem(home._RENDERINGS, ".html", broken)
    else:
        monkeypatch.setattr(home, failing, broken)
    with pytest.raises(RuntimeError, match=failing):
        deliver(train, None, tmp_path / "a", report=tmp_path / "a.html", seed=1)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def fail(*args: Any, **kwargs: Any) -> None:
    pytest.fail("the fit was begun")


@pytest.mark.parametrize(
    ("output", "report", "error", "says"),
    [
        ("taken", None, OutputError, "a file stands where a folder should go"),
        ("taken/a", None, OutputError, "taken is not a folder"),
        ("a", "folder", OutputError, "a folder stands where a file should go"),
        ("a", "r.pdf", ParameterError, "r.pdf: no report is written as .pdf. End its name in .html, .md or .json"),
        ("a", "r", ParameterError, "r: no report is written as a name without an ending"),
        ("a", "taken/r.html", OutputError, "taken is not a folder"),
        ("a", "a", ParameterError, "the report would lie in the adapter's folder"),
        ("a", "a/b/r.html", ParameterError, "the report would lie in the adapter's folder"),
        ("..", None, ParameterError, "it is no place for an adapter"),
    ],
)  # fmt: skip
def test_places_are_refused_before_the_fit(
    train: Dataset,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    output: str,
    report: str | None,
    error: type[Exception],
    says: str,
) -> None:
    (tmp_path / "taken").write_text("taken", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(home, "fit", fail)
    place = None if report is None else tmp_path / report
    with pytest.raises(error, match=says):
        deliver(train, None, tmp_path / output, report=place)
    with pytest.raises(error, match=says):
        check_places(tmp_path / output, place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "taken"]


def test_a_place_that_its_file_system_refuses_is_found_before_the_fit(
    train: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: Any) -> None:
        raise OSError("no such luck")

    monkeypatch.setattr(home, "fit", fail)
    monkeypatch.setattr("askew.workflows.deliver.tempfile.TemporaryFile", refuse)
    with pytest.raises(OutputError, match="forbidden to write to") as told:
        deliver(train, None, tmp_path / "a", report=tmp_path / "b.html")
    assert str(told.value).startswith(f"{tmp_path / 'a'}: ")


def test_places_that_can_be_written_to_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for output, report in ((Path("a"), Path("a.html")), (tmp_path / "new" / "a", tmp_path / "new" / "b" / "a.html")):
        check_places(output, report)
        check_places(output, None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("split", ["with a test split", "without"])
def test_measures_are_refused_before_the_fit(
    train: Dataset, test: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, split: str
) -> None:
    monkeypatch.setattr(home, "fit", fail)
    with pytest.raises(ParameterError, match="'quality' is not a measure"):
        deliver(train, test if split == "with a test split" else None, tmp_path / "a", measures=["quality"])


def test_nothing_to_learn_from_is_an_error_that_writes_nothing(
    new_task: Callable[..., Dataset], tmp_path: Path
) -> None:
    task = new_task(queries=20)
    hopeless = Dataset(task.queries, task.documents, task.qrels.where(lambda *_: True), name="hopeless")
    hopeless = Dataset(
        hopeless.queries, hopeless.documents, Qrels({"q1": {"d1": 0}, "q2": {"d2": -1}}), name="hopeless"
    )
    with pytest.raises(LabelError, match="hopeless: no judged query has both") as raised:
        deliver(hopeless, None, tmp_path / "new" / "a", report=tmp_path / "new" / "a.html")
    assert raised.value.where == "hopeless"
    assert list(tmp_path.iterdir()) == []
