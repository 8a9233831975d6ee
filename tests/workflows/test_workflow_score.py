"""Measures of a base, an adapter or a run; and vectors looked over without judgements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels, Run
from askew.errors import DimensionError, FormatError, ParameterError
from askew.estimators import Ridge
from askew.evaluation import evaluate
from askew.formats import save_adapter, write_embeddings, write_qrels
from askew.retrieval import search
from askew.workflows import fit
from askew.workflows.score import look_over, score


@pytest.fixture(scope="module")
def folder(whole: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("score")
    for side, embeddings in (("queries", whole.queries), ("docs", whole.documents)):
        write_embeddings(embeddings, root / "embeddings" / "tiny" / f"{side}.npy")
    write_qrels(whole.qrels.only(whole.qrels.queries[:60]), root / "qrels" / "train.tsv")
    write_qrels(whole.qrels.only(whole.qrels.queries[60:]), root / "qrels" / "test.tsv")
    return root


@pytest.fixture(scope="module")
def adapter(train: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_adapter(fit(train, estimators=[Ridge()]).adapter, tmp_path_factory.mktemp("score") / "adapter")


def test_the_base_is_a_plain_search(folder: Path, test: Dataset) -> None:
    found = score(folder, measures=["nDCG@10", "RR"])
    expected = evaluate(search(test.queries, test.documents, k=100), test.qrels, ["nDCG@10", "RR"])
    assert found.split == "test"
    assert found.comparisons == ()
    for measure in ("nDCG@10", "RR"):
        assert found.evaluation.per_query(measure).tobytes() == expected.per_query(measure).tobytes()


def test_an_adapter_is_compared_with_its_base(folder: Path, adapter: Path) -> None:
    base, adapted = score(folder), score(folder, adapter=adapter)
    subset, leading = adapted.comparisons[0]
    assert subset == "all"
    assert leading.base_mean == base.evaluation.mean("nDCG@10")
    assert leading.other_mean == adapted.evaluation.mean("nDCG@10")
    assert leading.low > 0
    assert adapted.to_json()["comparisons"][0] == {"documents": "all", **leading.to_json()}
    assert [(subset, row.measure) for subset, row in adapted.comparisons[:4]] == [
        ("all", "nDCG@10"),
        ("all", "R@100"),
        ("unseen", "nDCG@10"),
        ("unseen", "R@100"),
    ]
    assert {subset for subset, _ in adapted.comparisons[4:]} <= {"negative only", "never seen"}


def test_queries_that_the_adapter_was_fitted_on_are_told(folder: Path, adapter: Path) -> None:
    codes = [finding.code for finding in score(folder, adapter=adapter, split="train").findings]
    assert codes == ["matched", "trained-queries"]
    assert [finding.code for finding in score(folder, adapter=adapter).findings] == ["matched"]
    (subset, row) = score(folder, adapter=adapter, split="train").comparisons[-1]
    assert (subset, row.n) == ("positive in training", 60)


def test_the_split_can_be_named(folder: Path) -> None:
    assert len(score(folder, split="train").evaluation.queries) == 60
    with pytest.raises(ParameterError, match="no split 'none'"):
        score(folder, split="none")
    with pytest.raises(FormatError, match="no such folder"):
        score(folder / "none")


@pytest.mark.parametrize("splits", [("test",), ("train", "dev"), ("dev",), ("dev", "eval", "train")])
def test_the_split_by_default_is_the_one_that_is_named(whole: Dataset, tmp_path: Path, splits: tuple[str, ...]) -> None:
    for side, embeddings in (("queries", whole.queries), ("docs", whole.documents)):
        write_embeddings(embeddings, tmp_path / "embeddings" / "tiny" / f"{side}.npy")
    for number, split in enumerate(splits, start=1):
        write_qrels(whole.qrels.only(whole.qrels.queries[: 10 * number]), tmp_path / "qrels" / f"{split}.tsv")
    found = score(tmp_path)
    assert found.split in splits
    assert len(found.evaluation.queries) == 10 * (splits.index(found.split) + 1)
    run = score(tmp_path, run=Run({"q1": {"d1": 1.0}}))
    assert (run.split, len(run.evaluation.queries)) == (found.split, len(found.evaluation.queries))


def test_several_splits_without_a_usual_name_must_be_chosen(whole: Dataset, tmp_path: Path) -> None:
    write_embeddings(whole.queries, tmp_path / "embeddings" / "tiny" / "queries.npy")
    write_embeddings(whole.documents, tmp_path / "embeddings" / "tiny" / "docs.npy")
    for split in ("dev", "eval"):
        write_qrels(whole.qrels, tmp_path / "qrels" / f"{split}.tsv")
    for run in (None, Run({"q1": {"d1": 1.0}})):
        with pytest.raises(ParameterError, match="there are 2 splits"):
            score(tmp_path, run=run)


def test_a_run_needs_judgements_alone(tmp_path: Path) -> None:
    write_qrels(Qrels({"q1": {"a": 1}, "q2": {"a": 1}}), tmp_path / "qrels" / "test.tsv")
    found = score(tmp_path, run=Run({"q1": {"a": 2.0}, "q9": {"a": 1.0}}, name="mine"), measures=["P@1"])
    assert found.evaluation.mean("P@1") == 0.5
    assert [(finding.code, finding.level, finding.examples) for finding in found.findings] == [
        ("missing-queries", "warning", ("q2",)),
        ("unjudged-queries", "note", ("q9",)),
    ]


def test_an_adapter_and_a_run_are_refused_together(folder: Path, adapter: Path) -> None:
    with pytest.raises(ParameterError, match="both an adapter and a run"):
        score(folder, adapter=adapter, run=Run({"q1": {"d1": 1.0}}))


def test_similarity_of_the_base_and_of_an_adapter(whole: Dataset, adapter: Path, tmp_path: Path) -> None:
    norms = np.random.default_rng(0).uniform(0.2, 5, size=(len(whole.documents), 1))
    scaled = EmbeddingSet(whole.documents.ids, whole.documents.matrix * norms)
    for name, documents in (("unit", whole.documents), ("scaled", scaled)):
        root = tmp_path / name
        write_embeddings(whole.queries, root / "embeddings" / "tiny" / "queries.npy")
        write_embeddings(documents, root / "embeddings" / "tiny" / "docs.npy")
        write_qrels(whole.qrels, root / "qrels" / "test.tsv")
    for made in (None, adapter):
        unit = score(tmp_path / "unit", adapter=made)
        cosine = score(tmp_path / "scaled", adapter=made, similarity="cosine")
        assert cosine.evaluation.mean("nDCG@10") == pytest.approx(unit.evaluation.mean("nDCG@10"))
        assert score(tmp_path / "scaled", adapter=made).evaluation.mean("nDCG@10") != cosine.evaluation.mean("nDCG@10")
        assert cosine.findings[0].code == "matched"
        assert {found.code for found in cosine.findings} <= {"matched", "trained-queries"}


def embedded(dim: int, encoder: str | None) -> EmbeddingSet:
    return EmbeddingSet(["a", "b"], np.eye(2, dim), encoder=encoder)


@pytest.mark.parametrize(
    ("left", "right", "adapted", "told"),
    [
        ("one", "two", False, ["two-encoders"]),
        ("one", "two", True, []),
        ("one", "one", False, []),
        ("one", None, False, []),
        (None, None, False, []),
    ],
)
def test_two_encoders_are_told_where_nothing_stands_between(
    left: str | None, right: str | None, adapted: bool, told: list[str]
) -> None:
    found = look_over(embedded(3, left), embedded(3, right), adapted=adapted)
    assert [finding.code for finding in found] == told


def test_dropped_rows_are_told_by_side() -> None:
    spoilt = EmbeddingSet(["a", "b"], np.array([[1.0], [np.nan]]), bad_rows="drop")
    assert [(found.code, found.examples) for found in look_over(spoilt)] == [("dropped-queries", ("b",))]
    assert [found.code for found in look_over(embedded(1, None), spoilt)] == ["dropped-documents"]


def test_two_dimensions_have_no_base(whole: Dataset, tmp_path: Path) -> None:
    narrow = EmbeddingSet(whole.queries.ids, whole.queries.matrix[:, :8])
    write_embeddings(narrow, tmp_path / "embeddings" / "asked" / "queries.npy")
    write_embeddings(whole.documents, tmp_path / "embeddings" / "told" / "docs.npy")
    write_qrels(whole.qrels, tmp_path / "qrels" / "test.tsv")
    with pytest.raises(DimensionError, match=r"the queries \(asked\) have 8 dimensions and the documents \(told\) 16"):
        score(tmp_path, encoder="asked", document_encoder="told")
