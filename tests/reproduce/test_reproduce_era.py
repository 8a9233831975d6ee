from __future__ import annotations

import importlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from askew.cli.main import main
from askew.data import EmbeddingSet, Qrels
from askew.errors import ParameterError
from askew.estimators import Ridge
from askew.formats import write_embeddings, write_qrels
from askew.reproduce.era import Protocol, era
from askew.workflows import fit

COUNT, QUERIES = 80, 40


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two sets, each with two views of one latent space, judged in two splits."""
    views = {
        "asked": np.random.default_rng(1).normal(size=(5, 10)),
        "told": np.random.default_rng(2).normal(size=(5, 8)),
    }
    for place, name in enumerate(("first", "second")):
        rng = np.random.default_rng(place)
        documents = rng.normal(size=(COUNT, 5))
        queries = documents[:QUERIES] + 0.3 + 0.2 * rng.normal(size=(QUERIES, 5))
        for encoder, view in views.items():
            for side, rows, prefix in (("docs", documents, "d"), ("queries", queries, "q")):
                ids = [f"{prefix}{row}" for row in range(len(rows))]
                target = tmp_path / name / "embeddings" / encoder / f"{side}.npy"
                target.parent.mkdir(parents=True, exist_ok=True)
                write_embeddings(EmbeddingSet(ids, rows @ view), target)
        (tmp_path / name / "qrels").mkdir()
        for split, rows_of in (("train", range(25)), ("test", range(25, QUERIES))):
            write_qrels(
                Qrels({f"q{row}": {f"d{row}": 1} for row in rows_of}), tmp_path / name / "qrels" / f"{split}.tsv"
            )
        corpus = "\n".join(f'{{"_id": "d{row}", "text": "document {row}"}}' for row in range(COUNT))
        (tmp_path / name / "corpus.jsonl").write_text(corpus)
    return tmp_path


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("askew.workflows.methods.fit", partial(fit, estimators=(Ridge(strengths=(0.1,)),)))


@pytest.fixture
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recipes of a few epochs: what is tried here is what stands where."""
    pytest.importorskip("torch")
    recipes = importlib.import_module("askew.estimators.torch_recipes")
    for name in ("ALIGN", "ADAPT"):
        monkeypatch.setattr(recipes, name, replace(getattr(recipes, name), epochs=5))
    few = {name: replace(plan, epochs=5) for name, plan in recipes.ABLATIONS.items()}
    monkeypatch.setattr(recipes, "ABLATIONS", few)


@pytest.mark.usefixtures("_short")
def test_every_table_stands_beside_the_paper(data: Path) -> None:
    protocol = Protocol(
        data=data,
        sets=("first", "second"),
        encoders=("asked", "told"),
        shares=(0.2, 0.4),
        seeds=(0,),
        ablations=("naive top-k", "without bias"),
        rates=(1e-4,),
        decays=(0.0,),
    )
    found = era(protocol)
    titles = [table.title for table in found.tables]
    assert sum("label efficiency" in title for title in titles) == 2
    assert sum("Trained on rows" in title for title in titles) == 3
    paper = found.tables[0].rows
    assert paper[0][1:] == pytest.approx([0.3403, 0.4659, 0.1256])
    assert len(paper) == 8
    parts = next(table for table in found.tables if table.title.startswith("What the recipe"))
    assert [row[0] for row in parts.rows][-2:] == ["naive top-k", "without bias"]
    assert next(table for table in found.tables if "weight decay" in table.title).rows[0][0] == "rate 0.0001, decay 0"
    ranks = next(table for table in found.tables if table.title.endswith("align + adapt"))
    assert [row[0] for row in ranks.rows] == ["first", "second", "all"]
    assert any("At equal labels" in told for told in found.findings)
    assert len(found.pictures) == 2
    assert found.to_markdown().startswith("# Align, then adapt")


def test_without_torch_ours_alone(data: Path) -> None:
    protocol = Protocol(
        data=data, sets=("first",), encoders=("asked", "told"), shares=(10,), seeds=(0,), recipes=False, most=30
    )
    found = era(protocol)
    assert not any("recipe" in str(row[0]) for table in found.tables for row in table.rows)
    assert found.tables[1].rows[-1][1] == "10"
    costs = found.tables[-1]
    assert costs.rows[0][:3] == ["first", COUNT, COUNT]


def test_an_encoder_that_is_not_there(data: Path) -> None:
    with pytest.raises(ParameterError, match="first is not embedded by other"):
        era(Protocol(data=data, sets=("first",), encoders=("other", "told")))


def test_the_command_trains_where_it_is_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    told: list[Protocol] = []

    def heard(protocol: Protocol, **options: object) -> None:
        told.append(protocol)
        raise ParameterError("heard")

    monkeypatch.setattr("askew.reproduce.era.era", heard)
    command = ["askew", "reproduce", "era", "--data", str(data), "-o", str(tmp_path / "out")]
    for more, says, devices in (
        (["--device", "nowhere"], "torch has no device 'nowhere' here", []),
        (["--device", "meta"], "heard", ["meta"]),
        (["--device", "nowhere", "--no-recipes"], "heard", ["meta", "cpu"]),
        ([], "heard", ["meta", "cpu", "cpu"]),
    ):
        monkeypatch.setattr("sys.argv", [*command, *more])
        with pytest.raises(SystemExit) as left:
            main()
        assert left.value.code == 2
        assert says in capsys.readouterr().err
        assert [protocol.device for protocol in told] == devices
    monkeypatch.setattr("sys.argv", [*command, "--train", "20", "--train", "0.1"])
    with pytest.raises(SystemExit):
        main()
    assert told[-1].shares == (0.1, 20)
