"""Arguments and places that cannot be used: one line, the documented code, nothing left behind."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Askew = Callable[..., Any]

FIT = "fit {data} -o {out}/new/adapter"

CASES: dict[str, tuple[str, int, str]] = {
    "no folder": ("fit {data}/none -o {out}/a", 3, "task/none: there is no such folder ~ Expected"),
    "a file for a folder": ("fit {data}/qrels/train.tsv -o {out}/a", 3, "it is a file, not a folder"),
    "no such encoder": (f"{FIT} --encoder none", 2, "there is no encoder 'none' ~ 'tiny'"),
    "no such document encoder": (f"{FIT} --document-encoder none", 2, "there is no encoder 'none' ~ 'tiny'"),
    "no such split": (f"{FIT} --split none", 2, "there is no split 'none' ~ 'test', 'train'"),
    "no such test split": (f"{FIT} --test-split none", 2, "there is no split 'none' ~ 'test', 'train'"),
    "no such measure": (f"{FIT} -m quality", 2, "'quality' is not a measure ~ nDCG@10"),
    "too many labels": (f"{FIT} --labels 121", 2, "121 labels ~ 120 queries of the split 'train' ~ Ask for fewer"),
    "no labels": (f"{FIT} --labels 0", 2, "'--labels' ~ askew fit --help"),
    "endless threshold": (f"{FIT} --threshold inf", 2, "threshold"),
    "negative threshold": (f"{FIT} --threshold -1", 2, "0 or more"),
    "no threshold": (f"{FIT} --threshold nan", 2, "threshold"),
    "one fold": (f"{FIT} --folds 1", 2, "'--folds'"),
    "folds in words": (f"{FIT} --folds many", 2, "'--folds'"),
    "no rank": (f"{FIT} --rank 0", 2, "'--rank'"),
    "no such negatives": (f"{FIT} --negatives easy", 2, "'--negatives' ~ margin"),
    "no margin": (f"{FIT} --margin 0", 2, "the margin is 0.0 ~ above 0 and at most 1"),
    "a margin above 1": (f"{FIT} --margin 1.5", 2, "the margin is 1.5 ~ above 0 and at most 1"),
    "a margin for the top": (f"{FIT} --negatives top --margin 0.9", 2, "means nothing to --negatives top"),
    "a rank that bounds nothing": (f"{FIT} --rank 99", 2, "cannot be bounded by rank 99 ~ Give ranks below"),
    "folds without end": (f"{FIT} --folds 21", 2, "'--folds'"),
    "no such similarity": (f"{FIT} --similarity l2", 2, "'--similarity' ~ cosine"),
    "no such option": (f"{FIT} --epochs 3", 2, "No such option: --epochs"),
    "no output": ("fit {data}", 2, "Missing option '--output' ~ askew fit --help"),
    "no such command": ("fti {data}", 2, "No such command 'fti'. ~ 'fit'"),
    "output is a file": ("fit {data} -o {docs}", 6, "docs.npy: a file stands where a folder should go"),
    "output under a file": ("fit {data} -o {docs}/new/a", 6, "docs.npy/new/a: it cannot be written ~ is not a folder"),
    "output with other things": ("fit {data} -o {data}/qrels", 6, "task/qrels: the folder holds other things"),
    "output is here": ("fit {data} -o .", 2, "Name a folder of its own"),
    "output is above": ("fit {data} -o {data}/..", 2, "Name a folder of its own"),
    "output of a long name": ("fit {data} -o {out}/{long}", 6, "xxx ~ it cannot be written"),
    "report is a folder": (f"{FIT} --report {{data}}/qrels", 6, "task/qrels: a folder stands where a file should go"),
    "report under a file": (f"{FIT} --report {{docs}}/a.html", 6, "docs.npy is not a folder"),
    "report in the adapter": (f"{FIT} --report {{out}}/new/adapter/a.html", 2, "a.html: the report would lie in"),
    "report is the adapter": (f"{FIT} --report {{out}}/new/adapter", 2, "the report would lie in the adapter's folder"),
    "evaluate no adapter": ("evaluate {data} -a {out}/none", 4, "none/manifest.json: there is no adapter ~ askew fit"),
    "evaluate no run": ("evaluate {data} --run {out}/a.run", 3, "a.run: there is no such file"),
    "evaluate to no depth": ("evaluate {data} -m nDCG@0", 2, "'nDCG@0'"),
    "search with nothing": ("search {out}/none.npy {docs}", 3, "none.npy: there is no such file"),
    "search with text": ("search {data}/qrels/train.tsv {docs}", 3, "train.tsv:2: 'd0' is not a number ~ and a vector"),
    "search for nothing": ("search {queries} {docs} -k 0", 2, "'-k' ~ askew search --help"),
    "search into a file": ("search {queries} {docs} -o {docs}/a.run", 6, "docs.npy/a.run: it cannot be written"),
    "search by another encoder": (
        "search {queries} {docs} -a {adapter} --encoder x",
        4,
        "'x', the adapter ~ on 'tiny'",
    ),
    "apply nothing": ("apply {out}/none {queries} -o {out}/a.npy", 4, "there is no adapter here"),
    "apply to text": ("apply {adapter} {queries} -o {out}/a.csv", 6, "not written as .csv ~ .safetensors or .jsonl"),
    "apply over its input": ("apply {adapter} {queries} -o {queries}", 2, "would take the place of the queries"),
    "apply into a file": ("apply {adapter} {queries} -o {docs}/a.npy", 6, "docs.npy/a"),
    "inspect data": ("inspect {data}", 4, "task/manifest.json: there is no adapter here"),
    "demo in a file": ("demo -o {docs}/demo", 6, "docs.npy is not a folder"),
}


@pytest.mark.parametrize("name", CASES)
def test_refused_arguments(name: str, refuses: Callable[[str, int, str], None]) -> None:
    refuses(*CASES[name])


def test_an_adapter_and_a_run_are_refused_together(task: Any, fitted: Any, askew: Askew, tmp_path: Path) -> None:
    run = tmp_path / "a.run"
    run.write_text("q120 Q0 d120 1 1.0 mine\n", encoding="utf-8")
    message = askew("evaluate", task.root, "-a", fitted.adapter, "--run", run).refused(2)
    assert "both an adapter and a run are given" in message


def test_a_failed_fit_leaves_the_old_adapter_and_report(task: Any, fitted: Any, askew: Askew, tmp_path: Path) -> None:
    adapter = shutil.copytree(fitted.adapter, tmp_path / "a")
    adapter.with_name("a.html").write_text("old", encoding="utf-8")
    before = task.listing()
    askew("fit", task.root, "-o", adapter, "--split", "none").refused(2)
    assert task.listing() == before


def test_an_error_is_one_line_of_plain_text(task: Any, askew: Askew) -> None:
    message = askew("evaluate", task.root, "--split", "[red]a\nb[/red] :cat:").refused(2)
    assert "there is no split '[red]a\\nb[/red] :cat:'" in message
    message = askew("inspect", f"{task.root}/[bold]x\ny:smile:").refused(4)
    assert "/[bold]x y:smile:/manifest.json" in message


def test_a_missing_extra_is_named(askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    message = askew("demo", "-o", tmp_path / "new").refused(5)
    assert (
        "'wordllama', which is not installed. Install the extra 'demo' of askew: pip install '.[demo]' in its clone"
        in message
    )
    assert list(tmp_path.iterdir()) == []


def test_every_class_of_error_has_the_documented_exit_code() -> None:
    from askew import errors
    from askew.cli.main import _EPILOG

    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.AskewError) and kind is not errors.AskewError
    }
    assert codes == {2, 3, 4, 5, 6, 7}
    assert all(f"{code} " in _EPILOG for code in codes | {0, 1, 8, 130})


def test_json_errors_are_no_json(task: Any, askew: Askew) -> None:
    said = askew("fit", task.root, "-o", task.root.parent / "a", "--json", "--split", "none")
    said.refused(2)
    with pytest.raises(json.JSONDecodeError):
        json.loads(said.out)
