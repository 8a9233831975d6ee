"""The new adapter against the one in service, on queries that neither was fitted on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import askew.workflows.deliver as home
from askew.adapters import Adapter, Provenance, Seen
from askew.data import Dataset
from askew.errors import ArtefactError, EncoderMismatchError, LabelError, ParameterError
from askew.formats import load_adapter, save_adapter
from askew.operators import BilinearOperator, Dense, Identity
from askew.workflows.compare import compare_systems
from askew.workflows.deliver import deliver

pytestmark = pytest.mark.usefixtures("few_candidates")


def in_service(path: Path, *, queries: range = range(60, 65), encoder: str = "tiny", noted: bool = True) -> Path:
    """An adapter that does little, fitted on some of the test queries."""
    delta = Dense(0.01 * np.random.default_rng(0).normal(size=(16, 16)))
    names = [f"q{row}" for row in queries]
    seen = Seen.of(queries=names, positives=["d" + name[1:] for name in names], negatives=[]) if noted else None
    return save_adapter(
        Adapter(BilinearOperator(Identity(16), delta), provenance=Provenance(query_encoder=encoder, seen=seen)), path
    )


def test_the_new_stands_against_the_old_on_fresh_queries(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    old = in_service(tmp_path / "old")
    held = deliver(train, test, tmp_path / "new", report=tmp_path / "new.html", against=old)
    against = held.trial.against
    assert against is not None
    assert against.names == (str(old), "candidate")
    assert against.left_out == tuple(f"q{row}" for row in range(60, 65))
    assert against.queries == 25
    expected = compare_systems(test, {str(old): load_adapter(old), "candidate": held.fit.candidate})
    assert against.standings == expected.standings
    leading = against.standings[0]
    assert leading.comparison.difference > 0
    assert leading.p_holm is not None
    assert held.to_json()["against"]["comparisons"] == [row.to_json() for row in against.standings]
    rows = [row for row in held.summary.comparisons if row.reference == str(old)]
    assert [(row.subset, row.system) for row in rows] == [("all", "candidate")] * 2 + [("unseen", "candidate")] * 2
    assert "nDCG@10, all: candidate against " in (tmp_path / "new.html").read_text(encoding="utf-8")


def test_what_is_written_does_not_depend_on_it(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    old = in_service(tmp_path / "old")
    for name, asked in (("alone", None), ("beside", old)):
        deliver(train, test, tmp_path / name, against=asked)
    for part in ("manifest.json", "tensors.safetensors"):
        assert (tmp_path / "alone" / part).read_bytes() == (tmp_path / "beside" / part).read_bytes()
    deliver(train, test, old, against=old)  # and the new one may take its place
    assert (old / "manifest.json").read_bytes() == (tmp_path / "alone" / "manifest.json").read_bytes()


def test_an_old_one_that_noted_nothing_is_told(train: Dataset, test: Dataset, tmp_path: Path) -> None:
    held = deliver(train, test, tmp_path / "new", against=in_service(tmp_path / "old", noted=False))
    assert held.trial.against is not None
    assert held.trial.against.left_out == ()
    assert [told.code for told in held.fit.findings if told.level == "warning"] == ["unknown-training"]


Make = Callable[[Path], Path]
REFUSED: dict[str, tuple[Make, bool, type[Exception], str]] = {
    "no test queries": (in_service, False, ParameterError, "no test queries.*--test-split"),
    "no adapter": (lambda path: path / "none", True, ArtefactError, "there is no adapter here"),
    "another encoder": (lambda path: in_service(path, encoder="large"), True, EncoderMismatchError, "'large'"),
    "all known": (lambda path: in_service(path, queries=range(60, 90)), True, LabelError, "each of the 30 test"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_compared_is_refused_before_the_fit(
    name: str, train: Dataset, test: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, with_test, error, says = REFUSED[name]
    old = make(tmp_path / "old")

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("it was fitted")

    monkeypatch.setattr(home, "fit", fail)
    with pytest.raises(error, match=says):
        deliver(train, test if with_test else None, tmp_path / "new", against=old)
    assert not (tmp_path / "new").exists()
