"""`askew embed`: what is written, what is refused before anything is paid for, and that a kill costs nothing."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.cli.main import main
from askew.encoders import CachedEncoder, CallableEncoder, OpenAIEncoder
from askew.errors import AskewError, EncoderError, InputError, OutputError, ParameterError
from askew.formats import list_encoders, read_card, read_side
from askew.workflows.embed import embed

Make = Callable[..., OpenAIEncoder]
DOCUMENTS = {"d1": "Newts swim.", "d2": "Toads walk.", "d3": "Newts swim.", "é4": "x" * 50}
QUERIES = {"q1": "who swims", "q2": "who walks"}


def write_texts(root: Path, queries: Mapping[str, str] | None, documents: Mapping[str, str] | None) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, texts in (("queries", queries), ("corpus", documents)):
        if texts is not None:
            lines = [json.dumps({"_id": key, "title": "", "text": text}) for key, text in texts.items()]
            (root / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return root


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "data", QUERIES, DOCUMENTS)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quick: None, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """The command line in this process: exit code, stdout and stderr."""
    monkeypatch.setenv("ASKEW_CACHE", str(tmp_path / "cache"))

    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["askew", *map(str, args)])
        with pytest.raises(SystemExit) as left:
            main()
        said = capsys.readouterr()
        return int(left.value.code or 0), said.out, said.err

    return call


def letters(**options: Any) -> CallableEncoder:
    def function(texts: list[str]) -> list[list[float]]:
        return [[len(text), text.count("s"), 1] for text in texts]

    given: dict[str, Any] = {"name": "letters"} | options
    return CallableEncoder(function, **given)


def test_what_is_written_is_what_readers_look_for(data: Path, tmp_path: Path) -> None:
    done = embed(data, letters(query_prompt="query: "), cache=tmp_path / "cache")
    assert list_encoders(data) == ("letters",)
    queries, documents = read_side(data, "queries", "letters"), read_side(data, "documents", "letters")
    assert (queries.ids, documents.ids) == (tuple(QUERIES), tuple(DOCUMENTS))
    assert (documents.encoder, documents.dtype.name, done.dim) == ("letters", "float32", 3)
    np.testing.assert_array_equal(documents.matrix, letters().encode(list(DOCUMENTS.values())))
    np.testing.assert_array_equal(queries.matrix[:, 0], [len("query: who swims"), len("query: who walks")])
    assert (done.sides["documents"].texts, done.sides["documents"].distinct) == (4, 3)
    card = read_card(done.folder)
    assert card is not None
    assert (card.name, card.dim, card.prompts) == ("letters", 3, {"query": "query: ", "document": ""})
    assert set(card.canaries) == {"queries", "documents"}
    card.canaries["documents"].check(documents, "document")
    assert (
        dict(zip(card.canaries["queries"].ids, card.canaries["queries"].texts, strict=True)).items() <= QUERIES.items()
    )


def test_float16_and_one_side_alone(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", None, DOCUMENTS)
    done = embed(data, letters(), cache=tmp_path / "cache", output=tmp_path / "out" / "mine", dtype="float16")
    assert done.sides.keys() == {"documents"}
    assert np.load(tmp_path / "out" / "mine" / "docs.npy").dtype == np.float16
    assert not (data / "embeddings").exists()


def test_what_float16_cannot_hold_is_refused(data: Path, tmp_path: Path) -> None:
    large = CallableEncoder(lambda texts: np.full((len(texts), 2), 1e5), name="large")
    with pytest.raises(AskewError, match=r"not finite as float16.*--dtype float32"):
        embed(data, large, cache=tmp_path / "cache", dtype="float16")
    assert not (data / "embeddings" / "large").exists()


def test_empty_texts_are_an_error_with_their_ids_or_zero_vectors(tmp_path: Path) -> None:
    data = write_texts(tmp_path / "data", QUERIES, {**DOCUMENTS, "d5": "", "d6": " \n"})
    asked: list[str] = []

    def ones(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [[1, 2]] * len(texts)

    encoder = CallableEncoder(ones, name="ones")
    with pytest.raises(InputError, match=r"2 of 6 documents are empty texts: 'd5', 'd6'\. .*--empty zero"):
        embed(data, encoder, cache=tmp_path / "cache")
    assert asked == []
    done = embed(data, encoder, cache=tmp_path / "cache", empty="zero")
    assert done.sides["documents"].empty == 2
    assert read_side(data, "documents", "ones").matrix.tolist() == [[1, 2]] * 4 + [[0, 0]] * 2
    assert "" not in asked


def test_cut_texts_are_told_and_counted_on_every_run(data: Path, tmp_path: Path) -> None:
    class Short(CallableEncoder):
        def _cut(self, texts: list[str], kind: str) -> Any:
            return np.array([len(text) > 30 for text in texts])

    for _ in range(2):
        encoder = Short(lambda texts: [[len(text)] for text in texts], name="short")
        encoder.limit = 30
        done = embed(data, encoder, cache=tmp_path / "cache")
        assert done.sides["documents"].cut == ("é4",)
        assert [finding.message for finding in done.findings] == [
            "1 document is longer than the encoder takes: what comes after its 30 tokens is lost"
        ]


def test_cutting_at_a_number_of_characters_is_told(data: Path, tmp_path: Path) -> None:
    done = embed(data, letters(), cache=tmp_path / "cache", max_characters=10)
    assert done.sides["documents"].shortened == ("d1", "d2", "d3", "é4")
    assert read_side(data, "documents", "letters").matrix[:, 0].tolist() == [10] * 4


def test_embeddings_of_other_making_are_not_replaced_unasked(data: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    embed(data, letters(), cache=cache)
    embed(data, letters(), cache=cache)  # the same: with more documents, say
    with pytest.raises(OutputError, match=r"by another encoder or other prompts, 'letters'.*--overwrite"):
        embed(data, letters(query_prompt="q"), cache=cache)
    (data / "embeddings" / "letters" / "encoder.json").unlink()
    with pytest.raises(OutputError, match="of unknown making"):
        embed(data, letters(), cache=cache)
    embed(data, letters(), cache=cache, overwrite=True)
    (data / "embeddings" / "letters" / "notes.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"something else stands there \('notes\.txt'\)"):
        embed(data, letters(), cache=cache, overwrite=True)


def test_a_damaged_card_is_refused(data: Path, tmp_path: Path) -> None:
    done = embed(data, letters(), cache=tmp_path / "cache")
    for text in ("{}", "[1", '{"format": "askew-embeddings", "format_version": 1, "encoder": "x", "dim": 3}'):
        (done.folder / "encoder.json").write_text(text)
        with pytest.raises(AskewError, match=r"encoder\.json"):
            read_card(done.folder)


def test_check_compares_vectors_with_the_card(data: Path, tmp_path: Path, run: Any) -> None:
    done = embed(data, letters(), cache=tmp_path / "cache")
    (data / "qrels").mkdir()
    (data / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    assert run("check", data)[0] == 0
    matrix = np.load(done.folder / "docs.npy")
    np.save(done.folder / "docs.npy", -matrix)
    code, out, _ = run("check", data)
    assert code == 3
    assert "encoder.json: the vector of documents 'd" in out
    assert "has changed since it was written. Embed again" in out
    np.save(done.folder / "docs.npy", matrix[:, :2])
    assert "the documents have 2 dimensions, and the encoder 3" in run("check", data)[1]


@pytest.mark.parametrize("name", ["a/b", ".hidden", "..", "a+b"])
def test_a_name_that_is_no_folder_or_two_encoders_is_refused(data: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="--name"):
        embed(data, letters(name=name), cache=tmp_path / "cache")
    with pytest.raises(ParameterError, match="joins the names of two encoders"):
        embed(data, letters(), output=data / "embeddings" / "a+b", cache=tmp_path / "cache")


def test_no_texts_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(AskewError, match="there are no texts"):
        embed(tmp_path / "data", letters(), cache=tmp_path / "cache")


def test_verify_refuses_a_model_that_has_changed(data: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    embed(data, letters(), cache=cache, verify=True)
    turned = CallableEncoder(lambda texts: [[1, -len(text), 3] for text in texts], name="letters")
    with pytest.raises(EncoderError):
        embed(data, turned, cache=cache, verify=True)


def test_a_failure_names_ids_and_says_that_nothing_is_lost(
    data: Path, tmp_path: Path, endpoint: Make, upstream: Any
) -> None:
    upstream.plan = lambda number, texts: "400" if DOCUMENTS["é4"] in texts else "good"
    with pytest.raises(EncoderError, match=r"documents 'é4'.*What was answered is kept; the same command goes on"):
        embed(data, endpoint(batch=1), cache=tmp_path / "cache")
    upstream.plan = lambda number, texts: "good"
    done = embed(data, endpoint(), cache=tmp_path / "cache")
    assert done.usage.requests == 1
    assert set(upstream.paid.values()) == {1}


# The command


def test_the_command_tells_what_it_took(data: Path, run: Any, upstream: Any) -> None:
    pytest.importorskip("openai")
    command = ["embed", data, "--encoder", f"openai:lab/fake@{upstream.url}", "--batch", 2, "--dtype", "float16"]
    code, out, err = run(*command)
    assert (code, err) == (0, "")
    assert "queries: 2 texts, 2 distinct; 0 from the cache, 2 embedded\n" in out
    assert "documents: 4 texts, 3 distinct; 0 from the cache, 3 embedded\n" in out
    assert "requests: 3, 0 of them repeated; 9 tokens counted\n" in out
    assert f"embeddings: {data}/embeddings/fake (8 dimensions, float16)\n" in out
    code, out, err = run(*command, "--json", "--max-characters", 20)
    told = json.loads(out)
    assert (code, told["usage"]["requests"], told["documents"]["asked"]) == (0, 1, 1)
    assert err.startswith("warning: 1 document was cut at the number of characters asked for (é4)")
    matrix = read_side(data, "queries", "fake").matrix
    np.testing.assert_array_equal(matrix, upstream.vectors(list(QUERIES.values())).astype(np.float16))


def test_wordllama_by_its_name(data: Path, run: Any) -> None:
    pytest.importorskip("wordllama")
    assert run("embed", data, "--encoder", "wordllama", "-q")[0] == 0
    assert list_encoders(data) == ("wordllama-256",)


@pytest.mark.parametrize(
    ("args", "code", "told"),
    [
        (["--encoder", "bert"], 2, "there is no encoder 'bert'. Say wordllama"),
        (["--encoder", "st:"], 2, "there is no encoder 'st:'"),
        (["--encoder", "wordllama", "--concurrency", 3], 2, "concurrency means nothing to wordllama"),
        (["--encoder", "openai:text-embedding-3-small"], 2, "there is no API key"),
        (["--encoder", "openai:m@http://127.0.0.1:9/v1", "--retries", 0], 7, "there is no connection"),
        (["--encoder", "openai:@cf/m@http://127.0.0.1:9/v1", "--retries", 0], 7, "there is no connection"),
        (["--encoder", "openai:m6@127.0.0.1:9/v1"], 2, "'127.0.0.1:9/v1', after the @, is no URL"),
        (["--encoder", "openai:m6@htp://127.0.0.1:9/v1"], 2, "begins with http:// or https://"),
        (["--encoder", "openai:@cf/m"], 2, "a model whose name holds an @ needs its URL after it"),
        (["--encoder", "openai:@http://127.0.0.1:9/v1"], 2, "Say openai:MODEL@http://HOST/v1"),
    ],
)
def test_what_the_command_refuses(data: Path, run: Any, args: list[Any], code: int, told: str) -> None:
    pytest.importorskip("openai")
    left, out, err = run("embed", data, *args)
    assert (left, out) == (code, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert told in err


def test_an_interrupt_says_that_nothing_is_lost(data: Path, run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    pytest.importorskip("wordllama")
    monkeypatch.setattr("askew.workflows.embed.embed", interrupted)
    told = "error: stopped; what was answered is kept, and the same command goes on from there\n"
    assert run("embed", data, "--encoder", "wordllama") == (130, "", told)


# Kills


class Runs:
    """Runs of `askew embed` in processes of their own, on one cache, against one endpoint."""

    batch, concurrency = 4, 3

    def __init__(self, data: Path, upstream: Any, cache: Path) -> None:
        self.data, self.upstream, self.cache = data, upstream, cache

    def start(self, *more: str) -> subprocess.Popen[bytes]:
        spec = f"openai:lab/fake@{self.upstream.url}"
        numbers = ["--batch", str(self.batch), "--concurrency", str(self.concurrency), "--cache", str(self.cache)]
        command = [sys.executable, "-m", "askew.cli.main", "embed", str(self.data), "--encoder", spec, *numbers, *more]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ})

    def end(self, fate: random.Random, how: signal.Signals, *, within: int) -> int:
        """Start one and end it after some requests, at any moment; its exit code."""
        before, goal = len(self.upstream.asked), fate.randrange(1, within)
        with self.start() as process:
            while len(self.upstream.asked) < before + goal and process.poll() is None:
                time.sleep(0.001)
            time.sleep(fate.random() * 0.02)
            process.send_signal(how)
            process.communicate(timeout=60)
        return int(process.returncode)

    def kept(self, texts: list[str], endpoint: Make) -> set[str]:
        """The texts that have a vector in the cache."""
        with CachedEncoder(endpoint(), self.cache) as cached:
            keys = dict(zip(cached._keys(texts, "document"), texts, strict=True))
            return {keys[key] for key in cached._store.held(list(keys))}


@pytest.mark.parametrize("kills", [2, pytest.param(25, marks=pytest.mark.slow)])
def test_a_kill_at_any_moment_costs_no_more_than_what_was_under_way(
    tmp_path: Path, upstream: Any, endpoint: Make, kills: int
) -> None:
    fate = random.Random(kills)
    texts = [f"text {place} of the corpus" for place in range(kills * 40)]
    data = write_texts(tmp_path / "data", None, {f"d{place}": text for place, text in enumerate(texts)})
    runs = Runs(data, upstream, tmp_path / "cache")
    good = ["good", "list", "reordered"] * 7  # waits are half a second here, so failures are few
    failing = itertools.cycle([*good, "500", *good, "nan", *good, "truncated", *good, "429"])
    upstream.plan, upstream.delay, upstream.headers = (lambda n, asked: next(failing)), 0.005, {"retry-after-ms": "5"}
    kept: set[str] = set()
    for kill in range(kills):
        before = len(upstream.asked)
        runs.end(fate, signal.SIGKILL, within=16)
        time.sleep(0.05)  # what was under way is answered, to nobody
        assert not kept & {text for asked in upstream.asked[before:] for text in asked}, "asked again"
        kept = runs.kept(texts, endpoint)
        twice = sum(count - 1 for count in upstream.paid.values())
        lost = len(set(upstream.paid) - kept)
        assert twice + lost <= (kill + 1) * runs.batch * runs.concurrency
        assert read_card(data / "embeddings" / "fake") is None or len(kept) == len(texts)
    before = len(upstream.asked)
    with runs.start() as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said.decode()
    assert not kept & {text for asked in upstream.asked[before:] for text in asked}
    resumed = read_side(data, "documents", "fake")
    np.testing.assert_array_equal(resumed.matrix, upstream.vectors(texts))

    whole = Runs(data, upstream, tmp_path / "other")
    with whole.start("--output", str(tmp_path / "whole")) as process:
        _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said.decode()
    for name in ("docs.npy", "docs.ids", "encoder.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (data / "embeddings" / "fake" / name).read_bytes()


def test_being_asked_to_end_at_any_moment_costs_nothing(tmp_path: Path, upstream: Any, endpoint: Make) -> None:
    fate = random.Random(7)
    texts = [f"text {place} of the corpus" for place in range(160)]
    data = write_texts(tmp_path / "data", None, {f"d{place}": text for place, text in enumerate(texts)})
    runs = Runs(data, upstream, tmp_path / "cache")
    upstream.delay = 0.005
    for _ in range(3):
        assert runs.end(fate, signal.SIGTERM, within=10) == -signal.SIGTERM
        assert runs.kept(texts, endpoint) == set(upstream.paid)
    assert set(upstream.paid.values()) == {1}
    assert len(upstream.paid) < len(texts)
