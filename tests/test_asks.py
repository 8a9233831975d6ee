"""What people who do this job have stumbled over, a kind of fault a test, each with its right value.

Of labels and harm, of similarity and numerics, of files and evaluation. Not here: how many labels are enough
(`askew plan` has tests of its own) and what adapting does to queries of another domain.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import askew
from askew.cli.main import app
from askew.data import Dataset, EmbeddingSet, Qrels, Run, TwoWayFolds, examine
from askew.errors import FormatError, MatchError
from askew.estimators import Labels, Mining, Ridge
from askew.evaluation import evaluate
from askew.formats import read_qrels, write_embeddings, write_qrels
from askew.linalg import row_norms, svd
from askew.operators import Identity

DIM = 16
QUICK: Any = {"estimators": [Ridge("dual", (0.01, 0.1, 1.0)), Ridge("shared", (0.1, 1.0))]}


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def task(*, noise: float, queries: int = 60, documents: int = 200, seed: int = 0) -> Dataset:
    """Query i is document i with noise: the base is as good as it gets, and nothing is to be learned."""
    rng = np.random.default_rng(seed)
    corpus = unit(rng.normal(size=(documents, DIM)))
    asked = unit(corpus[:queries] + noise * unit(rng.normal(size=(queries, DIM))))
    return Dataset(
        EmbeddingSet([f"q{row}" for row in range(queries)], asked),
        EmbeddingSet([f"d{row}" for row in range(documents)], corpus),
        Qrels({f"q{row}": {f"d{row}": 1} for row in range(queries)}),
    )


# Labels, and harm


def test_a_base_that_leaves_nothing_to_gain_does_not_look_like_a_broken_tool(tmp_path: Path) -> None:
    """Base, adapted, difference with its interval, headroom and verdict are printed, and all say the same."""
    data = task(noise=0.2)
    for side, held in (("queries", data.queries), ("docs", data.documents)):
        write_embeddings(held, tmp_path / "data" / "embeddings" / "tiny" / f"{side}.npy")
    write_qrels(data.qrels.only(data.qrels.queries[:40]), tmp_path / "data" / "qrels" / "train.tsv")
    write_qrels(data.qrels.only(data.qrels.queries[40:]), tmp_path / "data" / "qrels" / "test.tsv")
    base = tmp_path / "adapter"
    said = CliRunner().invoke(app, ["fit", str(tmp_path / "data"), "-o", str(base), "-m", "R@10", "--no-report"])
    lines = said.stdout.splitlines()
    assert said.exit_code == 0
    assert lines[0] == "verdict: keep your base"
    start = next(place for place, line in enumerate(lines) if line.lstrip().startswith("measure"))
    header, row = lines[start].split(), lines[start + 1].split()
    assert header == ["measure", "docs", "queries", "base", "adapted", "difference", "[95%", "interval]", "headroom"]
    assert row[:2] == ["R@10", "all"]
    assert (row[3], row[-1]) == ("1.0000", "0.0000")


def test_an_adapter_that_would_end_below_the_base_ships_the_base() -> None:
    """Labels of pure chance: there is no gain on what was held out, so the prior is kept."""
    data = task(noise=0.5)
    rng = np.random.default_rng(1)
    chance = Qrels({f"q{row}": {f"d{rng.integers(200)}": 1} for row in range(60)})
    fitted = askew.fit(Dataset(data.queries, data.documents, chance), **QUICK)
    assert fitted.choice.verdict.decision == "keep"
    assert fitted.adapter.is_base
    assert fitted.adapter.apply(data.queries) is data.queries


def test_positives_alone_are_enough_and_none_of_them_is_ever_a_negative_of_its_query() -> None:
    """Negatives are mined; every graded positive is used, by its grade; a copy of one is no negative either."""
    rows = np.eye(DIM)[[0, 1, 2, 2, 3, 4, 5, 6]]  # d3 is a copy of d2
    documents = EmbeddingSet([f"d{row}" for row in range(8)], rows)
    asked = np.eye(DIM)[:1] + np.eye(DIM)[1:2] + np.eye(DIM)[2:3]
    data = Dataset(EmbeddingSet(["q"], asked), documents, Qrels({"q": {"d0": 2, "d1": 1, "d2": 1, "d7": 0}}))
    labels = Labels.build(data, TwoWayFolds.build(data), prior=Identity(DIM), mining=Mining("top", count=8))
    assert [documents.ids[labels.item_row[item]] for item in labels.pair_item] == ["d0", "d1", "d2"]
    assert labels.pair_weight.tolist() == [0.5, 0.25, 0.25]
    negatives = {documents.ids[labels.item_row[item]] for item in labels.negatives[0] if item >= 0}
    assert negatives == {"d4", "d5", "d6", "d7"}


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_before_any_fit_the_adapter_is_the_base_bit_for_bit(dtype: Any) -> None:
    data = task(noise=0.5)
    queries = EmbeddingSet(data.queries.ids, data.queries.matrix.astype(dtype))
    adapter = askew.Adapter(askew.BilinearOperator.identity(DIM))
    assert adapter.apply(queries).matrix.tobytes() == queries.matrix.tobytes()
    plain, through = (askew.search(queries, data.documents, k=200, adapter=held) for held in (None, adapter))
    for (_, ids, scores), (_, other_ids, others) in zip(plain.items(), through.items(), strict=True):
        assert ids == other_ids
        assert scores.tobytes() == others.tobytes()


# Similarity and numerics


def test_norms_far_from_1_are_noticed_and_the_similarity_is_named() -> None:
    """Inner products of 264 to 405 are no cosines: say which similarity that is, and offer the other."""
    data = task(noise=0.5)
    norms = np.linspace(264, 405, len(data.documents))[:, None]
    loud = Dataset(data.queries, EmbeddingSet(data.documents.ids, data.documents.matrix * norms), data.qrels)
    found = {finding.code: finding for finding in examine(loud)}
    assert "run from 264 to 405 (median 334.5), so dot is not cosine" in found["norms-documents"].message
    assert "--similarity cosine" in (found["norms-documents"].remedy or "")
    assert "norms-documents" not in {finding.code for finding in examine(loud, similarity="cosine")}


def test_vectors_that_were_cut_and_not_normalised_again_are_recognised() -> None:
    """1,536 dimensions of unit norm, sliced to 1,024."""
    cut = unit(np.random.default_rng(0).normal(size=(50, 1536)))[:, :1024]
    data = Dataset(EmbeddingSet(["q"], cut[:1]), EmbeddingSet(range(50), cut), Qrels({"q": {1: 1}}))
    told = {finding.code: finding.message for finding in examine(data)}["norms-documents"]
    assert "norms just under 1 are what 1024 leading dimensions of longer unit vectors have" in told


def test_scores_that_half_precision_would_tie_stay_apart() -> None:
    """1 + 2^-13, 1 + 2^-12 and 1 are one number in float16, and three scores here."""
    documents = np.array([[1, 2**-10], [1, 2**-9], [1, 0]], dtype=np.float16)
    queries = np.array([[1, 2**-3]], dtype=np.float16)
    assert len(set((queries @ documents.T)[0].tolist())) == 1
    run = askew.search(EmbeddingSet(["q"], queries), EmbeddingSet("abc", documents), k=3)
    assert run.documents("q") == ("b", "a", "c")
    assert run.scores("q").tolist() == [1 + 2**-12, 1 + 2**-13, 1.0]


@pytest.mark.parametrize(
    ("size", "dtype"), [(3e38, np.float32), (1e-45, np.float32), (1e300, np.float64), (6e4, np.float16)]
)
def test_norms_of_huge_and_tiny_vectors_neither_overflow_nor_vanish(size: float, dtype: Any) -> None:
    rows = np.full((1, 4), size, dtype=dtype)
    assert row_norms(rows)[0] == pytest.approx(2 * float(rows[0, 0]), rel=1e-12)


@pytest.mark.parametrize("fault", ["constant column", "zero column", "repeated column", "two dimensions' rank"])
@pytest.mark.parametrize("queries", [12, 60], ids=["fewer labels than dimensions", "more"])
def test_deficient_matrices_give_no_nan(fault: str, queries: int) -> None:
    data = task(noise=0.5, queries=queries)
    held = []
    for rows in (data.queries.matrix.copy(), data.documents.matrix.copy()):
        if fault == "constant column":
            rows[:, 3] = 0.25
        elif fault == "zero column":
            rows[:, 3] = 0
        elif fault == "repeated column":
            rows[:, 3] = rows[:, 4]
        else:
            rows[:, 2:] = 0
        held.append(rows)
    queries_held, documents = (
        EmbeddingSet(side.ids, rows) for side, rows in zip((data.queries, data.documents), held, strict=True)
    )
    fitted = askew.fit(Dataset(queries_held, documents, data.qrels), **QUICK)
    adapted = fitted.candidate.apply(queries_held)
    assert np.isfinite(adapted.matrix).all()
    for _, _, scores in askew.search(queries_held, documents, adapter=fitted.candidate).items():
        assert np.isfinite(scores).all()


def test_equal_sides_give_equal_maps() -> None:
    """Where queries are the documents, the shared geometry is one map, whichever side it is taken from."""
    rows = unit(np.random.default_rng(0).normal(size=(40, DIM)))
    held = EmbeddingSet(range(40), rows)
    data = Dataset(held, held, Qrels({row: {row: 1, (row + 1) % 40: 1} for row in range(40)}))
    operator = askew.fit(data, estimators=[Ridge("shared", (0.1, 1.0))]).candidate.operator
    dense = operator.to_dense()
    np.testing.assert_array_equal(dense, dense.T)
    maps = operator.compress(DIM)
    np.testing.assert_allclose(maps.query, maps.document, atol=1e-12)


def test_signs_of_singular_vectors_follow_a_rule() -> None:
    """The largest entry of each left vector is positive, so turning the input over turns the right ones only."""
    matrix = np.random.default_rng(0).normal(size=(6, 4))
    one, other = svd(matrix), svd(-matrix)
    np.testing.assert_array_equal(one.left, other.left)
    np.testing.assert_array_equal(one.right, -other.right)
    assert (one.left[np.abs(one.left).argmax(axis=0), np.arange(4)] > 0).all()


# Files and evaluation


WRITTEN = {
    "tabs": "q1\td1\t1\nq1\td2\t0.5\né\t7\t2\n",
    "spaces": "q1 d1 1\nq1  d2 0.5\n é 7 2 \n",
    "header": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0.5\né\t7\t2\n",
    "four columns": "q1 0 d1 1\nq1 0 d2 0.5\né Q0 7 2\n",
    "blank lines": "\n\nq1\td1\t1\n \t\nq1\td2\t0.5\n\né\t7\t2\n\n",
    "another order": "grade\tdoc_id\tquery_id\n1\td1\tq1\n0.5\td2\tq1\n2\t7\té\n",
    "comma-separated": 'query_id,doc_id,grade\nq1,d1,1\nq1,"d2",0.5\né,7,2\n',
    "json lines": "".join(
        json.dumps({"query-id": query, "corpus-id": document, "score": grade}) + "\n"
        for query, document, grade in (("q1", "d1", 1), ("q1", "d2", 0.5), ("é", 7, 2))
    ),
}
ENDINGS = {"comma-separated": ".csv", "json lines": ".jsonl"}


@pytest.mark.parametrize("how", WRITTEN)
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "bom"])
@pytest.mark.parametrize("packed", [False, True], ids=["", "gz"])
def test_labels_are_read_however_they_are_written(
    tmp_path: Path, how: str, ending: str, mark: str, packed: bool
) -> None:
    raw = (mark + WRITTEN[how].replace("\n", ending)).encode()
    file = tmp_path / f"labels{ENDINGS.get(how, '.tsv')}{'.gz' if packed else ''}"
    file.write_bytes(gzip.compress(raw) if packed else raw)
    assert read_qrels(file) == Qrels({"q1": {"d1": 1, "d2": 0.5}, "é": {"7": 2}})


@pytest.mark.parametrize("line", ["q1", "q1 d1 high", "q1 0 d1 1 x", "q1\t\t1"])
def test_or_the_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "labels.tsv"
    file.write_text(f"q1 d1 1\n\n{line}\n")
    with pytest.raises(FormatError) as caught:
        read_qrels(file)
    assert caught.value.where == f"{file}:3"


def test_ids_have_one_form_and_what_matched_is_reported() -> None:
    """Whole numbers, numpy's and text meet; how many met is said; none at all is an error that shows both sides."""
    ids: list[Any] = [1, np.int32(2), np.str_("é"), "4"]
    rows = np.eye(4)
    qrels = Qrels({1: {np.int64(2): 1}, "2": {"é": 1}, np.str_("é"): {4: 1}, "lost": {"gone": 1}})
    data = Dataset(EmbeddingSet(ids, rows), EmbeddingSet(ids, rows), qrels)
    assert (data.missing_queries, data.missing_documents) == (("lost",), ("gone",))
    told = {finding.code: finding.message for finding in examine(data)}
    assert told["matched"] == "3 of 4 judged queries and 3 of 4 judged documents have embeddings"
    with pytest.raises(
        MatchError,
        match=r"none of the 1 judged queries \('q1'\) has an embedding; the embedded queries are '1', '2', 'é'",
    ):
        Dataset(data.queries, data.documents, Qrels({"q1": {"4": 1}}))


def test_a_constant_scorer_does_not_look_perfect() -> None:
    """Equal scores rank by id, whatever order they come in: the relevant document comes last of three."""
    documents = EmbeddingSet(["c", "a", "b"], np.ones((3, 2)))
    run = askew.search(EmbeddingSet(["q"], np.ones((1, 2))), documents)
    assert run.documents("q") == ("a", "b", "c")
    qrels = Qrels({"q": {"c": 1}})
    for scores in ({"c": 1.0, "a": 1.0, "b": 1.0}, {"a": 1.0, "b": 1.0, "c": 1.0}):
        assert evaluate(Run({"q": scores}), qrels, ["nDCG@10"]).mean("nDCG@10") == pytest.approx(1 / np.log2(4))
        assert evaluate(Run({"q": scores}), qrels, ["RR@10"]).mean("RR@10") == pytest.approx(1 / 3)


def test_a_document_called_as_the_query_stays_unless_asked_to_go() -> None:
    both = EmbeddingSet(["7", "8"], np.eye(2))
    assert askew.search(both, both).documents("7") == ("7", "8")
    assert askew.search(both, both, exclude_self=True).documents("7") == ("8",)
    scores = {"7": {"7": 2.0, "8": 1.0}}
    run = Run(scores)
    assert evaluate(run, Qrels({"7": {"7": 1}}), ["nDCG@10"]).mean("nDCG@10") == 1
    assert scores == {"7": {"7": 2.0, "8": 1.0}}


def test_what_is_judged_and_not_there_is_counted_listed_and_kept_in_the_denominator() -> None:
    """A relevant document outside the corpus costs the ideal; a query without ranking scores 0."""
    rows = np.eye(3)
    data = Dataset(
        EmbeddingSet(["q1", "q2"], rows[:2]),
        EmbeddingSet(["a", "b"], rows[:2]),
        Qrels({"q1": {"a": 1, "gone": 1}, "q2": {"b": 1}, "lost": {"a": 1}}),
    )
    told = {finding.code: finding for finding in examine(data)}
    assert (told["missing-queries"].count, told["missing-queries"].examples) == (1, ("lost",))
    assert (told["missing-documents"].count, told["missing-documents"].examples) == (1, ("gone",))
    measured = evaluate(askew.search(data.queries, data.documents), data.qrels, ["nDCG@10", "R@10"])
    ideal = 1 + 1 / np.log2(3)
    assert measured.missing == ("lost",)
    assert measured.mean("nDCG@10") == pytest.approx((1 / ideal + 1 + 0) / 3)
    assert measured.mean("R@10") == pytest.approx((0.5 + 1 + 0) / 3)
