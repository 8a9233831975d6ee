"""Systems side by side: the same queries, the reference first, what was trained on left out, p-values corrected."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from askew.adapters import Adapter, Provenance, Seen
from askew.data import Dataset, EmbeddingSet, Qrels, Run
from askew.errors import EncoderMismatchError, FormatError, LabelError, MatchError, ParameterError
from askew.evaluation import compare, evaluate, holm
from askew.formats import save_adapter, write_embeddings, write_qrels, write_run
from askew.operators import BilinearOperator, Dense, Identity
from askew.retrieval import search
from askew.workflows import compare_systems
from askew.workflows.assess import search_judged
from askew.workflows.compare import compare_folder


def adapter(seed: int, *, seen: Seen | None = None, encoder: str | None = "tiny", size: float = 0.1) -> Adapter:
    delta = Dense(size * np.random.default_rng(seed).normal(size=(16, 16)))
    return Adapter(BilinearOperator(Identity(16), delta), provenance=Provenance(query_encoder=encoder, seen=seen))


def past(queries: range, positives: range) -> Seen:
    return Seen.of(queries=[f"q{n}" for n in queries], positives=[f"d{n}" for n in positives], negatives=[])


@pytest.fixture(scope="module")
def folder(whole: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("compare") / "task"
    for side, embeddings in (("queries", whole.queries), ("docs", whole.documents)):
        write_embeddings(embeddings, root / "embeddings" / "tiny" / f"{side}.npy")
    write_qrels(whole.qrels.only(whole.qrels.queries[:60]), root / "qrels" / "train.tsv")
    write_qrels(whole.qrels.only(whole.qrels.queries[60:]), root / "qrels" / "test.tsv")
    return root


def test_every_system_is_compared_with_the_first(test: Dataset) -> None:
    one, two = adapter(1), adapter(2)
    run = search(test.queries, test.documents, k=100, adapter=adapter(3))
    found = compare_systems(
        test, {"base": None, "one": one, "two": two, "run": run}, measures=["nDCG@10", "RR"], seed=3
    )
    assert found.names == ("base", "one", "two", "run")
    assert found.queries == 30
    base = evaluate(search_judged(test, None, name="base"), test.qrels, ["nDCG@10", "RR"])
    runs = {
        "one": search_judged(test, one, name="one"),
        "two": search_judged(test, two, name="two"),
        "run": Run({query: dict(zip(names, scores, strict=True)) for query, names, scores in run.items()}, name="run"),
    }
    expected = [
        compare(base, evaluate(held, test.qrels, ["nDCG@10", "RR"]), measure, seed=3)
        for measure in ("nDCG@10", "RR")
        for held in runs.values()
    ]
    assert [row.comparison for row in found.standings] == expected
    assert {row.documents for row in found.standings} == {"all"}
    assert [row.p_holm for row in found.standings[:3]] == holm([row.p_value for row in expected[:3]]).tolist()
    assert [row.p_holm for row in found.standings[3:]] == [None] * 3


def test_what_any_of_them_was_fitted_on_is_left_out(whole: Dataset) -> None:
    systems = {
        "base": None,
        "one": adapter(1, seen=past(range(10), range(10))),
        "two": adapter(2, seen=past(range(8, 20), range(30, 40))),
    }
    found = compare_systems(whole, systems, measures=["nDCG@10"])
    assert found.left_out == tuple(f"q{row}" for row in range(20))
    assert found.queries == 70
    (everything, held), (unseen, apart) = found.evaluations
    assert (everything, unseen) == ("all", "unseen")
    assert held[0].queries == tuple(f"q{row}" for row in range(20, 90))
    assert apart[0].queries == tuple(f"q{row}" for row in range(20, 90) if not 30 <= row < 40)
    gone = [f"d{row}" for row in (*range(10), *range(30, 40))]
    kept = whole.only(apart[0].queries)
    for evaluation, system in zip(apart, systems.values(), strict=True):
        alone = evaluate(search_judged(kept, system, name="x", without=gone), kept.qrels, ["nDCG@10"])
        assert evaluation.per_query("nDCG@10").tobytes() == alone.per_query("nDCG@10").tobytes()
    values = [row.comparison.p_value for row in found.standings]
    assert [row.p_holm for row in found.standings] == holm(values).tolist()
    remembered = compare_systems(whole, systems, measures=["nDCG@10"], fresh=False)
    assert (remembered.left_out, remembered.queries) == ((), 90)


def test_a_run_loses_seen_documents_too(test: Dataset) -> None:
    run = search(test.queries, test.documents, k=150)
    seen = past(range(0), range(80, 90))
    found = compare_systems(test, {"run": run, "fitted": adapter(1, seen=seen, size=0.0), "base": None})
    assert [documents for documents, _ in found.evaluations] == ["all", "unseen"]
    assert {row.comparison.difference for row in found.standings} == {0.0}


def test_a_base_remembers_nothing(test: Dataset) -> None:
    kept = Adapter(BilinearOperator.identity(16), provenance=Provenance(seen=past(range(60, 90), range(60, 90))))
    found = compare_systems(test, {"base": None, "kept": kept})
    assert (found.left_out, found.queries) == ((), 30)
    assert [documents for documents, _ in found.evaluations] == ["all"]


def test_nothing_left_is_an_error_with_a_way_out(test: Dataset) -> None:
    systems = {"base": None, "one": adapter(1, seen=past(range(90), range(3)))}
    with pytest.raises(LabelError, match="fitted on each of the 30 judged queries") as raised:
        compare_systems(test, systems)
    assert "--no-fresh" in str(raised.value.remedy)
    assert compare_systems(test, systems, fresh=False).queries == 30


def test_what_is_not_known_is_told(test: Dataset) -> None:
    found = compare_systems(test, {"base": None, "old": adapter(1), "new": adapter(2, seen=past(range(2), range(2)))})
    assert [(told.code, told.examples) for told in found.findings if told.level == "warning"] == [
        ("unknown-training", ("old",))
    ]


def test_runs_need_judgements_alone() -> None:
    qrels = Qrels({"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"b": 1}})
    whole = Run({"q1": {"a": 1.0}, "q2": {"b": 2.0, "a": 1.0}, "q3": {"b": 1.0}})
    found = compare_systems(qrels, {"x": whole, "y": Run({"q1": {"a": 1.0}})}, measures=["RR"])
    assert [held.mean("RR") for held in found.evaluations[0][1]] == pytest.approx([2.5 / 3, 1 / 3])
    assert [(told.code, told.count, told.examples) for told in found.findings] == [("missing-queries", 2, ("q2", "q3"))]
    assert whole.name == "askew"  # the caller's run keeps its name
    with pytest.raises(ParameterError, match="needs embeddings"):
        compare_systems(qrels, {"x": whole, "base": None})
    with pytest.raises(MatchError, match="none of the 3 judged queries"):
        compare_systems(qrels, {"x": whole, "y": Run({"other": {"a": 1.0}})})


@pytest.mark.parametrize("count", [0, 1])
def test_one_system_is_not_compared(count: int, test: Dataset) -> None:
    with pytest.raises(ParameterError, match="Name two or more"):
        compare_systems(test, dict.fromkeys(["base"][:count]))


def test_another_encoder_is_refused(test: Dataset) -> None:
    with pytest.raises(EncoderMismatchError, match="fitted on 'large'"):
        compare_systems(test, {"base": None, "one": adapter(1, encoder="large")})


def test_the_base_is_scored_as_the_adapters_beside_it(whole: Dataset, test: Dataset) -> None:
    norms = np.random.default_rng(0).uniform(0.2, 5, size=(len(whole.documents), 1))
    scaled = replace(test, documents=EmbeddingSet(whole.documents.ids, whole.documents.matrix * norms))
    plain = compare_systems(test, {"base": None, "one": adapter(1)})
    cosine = replace(adapter(1), similarity="cosine")
    for systems in ({"base": None, "one": cosine}, {"base": None, "one": adapter(1)}):
        similarity = None if systems["one"] is cosine else "cosine"
        found = compare_systems(scaled, systems, similarity=similarity)  # type: ignore[arg-type]  # one of the two
        for one, two in zip(found.evaluations[0][1], plain.evaluations[0][1], strict=True):
            assert one.mean("nDCG@10") == pytest.approx(two.mean("nDCG@10"))


def test_a_folder_gives_the_same(folder: Path, test: Dataset, tmp_path: Path) -> None:
    first = save_adapter(adapter(1, seen=past(range(70), range(60))), tmp_path / "first")
    run = tmp_path / "mine.run"
    write_run(search(test.queries, test.documents, k=100, adapter=adapter(2)), run)
    split, found = compare_folder(folder, ["base", first, run], measures=["nDCG@10"])
    assert split == "test"
    assert found.names == ("base", str(first), str(run))
    assert found.left_out == tuple(f"q{row}" for row in range(60, 70))
    plain = json.loads(json.dumps(found.to_json(), allow_nan=False))
    assert plain["reference"] == "base"
    assert [row["documents"] for row in plain["comparisons"]] == ["all", "all", "unseen", "unseen"]
    assert [row["p_holm"] for row in plain["comparisons"]] == [row.p_holm for row in found.standings]
    assert compare_folder(folder, ["base", first], split="train", fresh=False)[0] == "train"


def test_runs_in_a_folder_without_embeddings(tmp_path: Path) -> None:
    write_qrels(Qrels({"q1": {"a": 1}}), tmp_path / "qrels" / "test.tsv")
    for name, document in (("one", "a"), ("two", "b")):
        write_run(Run({"q1": {document: 1.0}}), tmp_path / name)
    _, found = compare_folder(tmp_path, [tmp_path / "one", tmp_path / "two"], measures=["P@1"])
    assert found.standings[0].comparison.difference == -1
    with pytest.raises(FormatError, match="embeddings"):
        compare_folder(tmp_path, [tmp_path / "one", "base"])


def test_systems_that_are_not_there_are_refused(folder: Path) -> None:
    for name in ("nowhere", "x" * 300):
        with pytest.raises(FormatError, match="no such adapter or run"):
            compare_folder(folder, ["base", name])
    with pytest.raises(ParameterError, match="'base' is named twice"):
        compare_folder(folder, ["base", "base"])
