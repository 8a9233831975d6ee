"""Select: on tasks whose geometry is known."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from askew.data import Dataset, EmbeddingSet, Qrels
from askew.errors import DimensionError, LabelError, ParameterError
from askew.workflows.coordinates import default_ranks, set_out
from askew.workflows.held_out import rank_held_out
from askew.workflows.pictures import risk_picture, write_picture
from askew.workflows.plan import plan_labels
from askew.workflows.recommend import recommend
from askew.workflows.select import PARTS, SELECTORS, GeometryChoice, select_geometry


def quick(task: Dataset, **options: Any) -> GeometryChoice:
    return select_geometry(task, **{"splits": 4, "ranks": [8, 16], "workers": 1, **options})


@pytest.fixture(scope="module")
def turned() -> Dataset:
    """120 queries that are their documents turned by 70 degrees in eight planes."""
    rng = np.random.default_rng(0)
    documents = rng.normal(size=(150, 16))
    turn = np.kron(np.eye(8), [[0.34, 0.94], [-0.94, 0.34]])
    queries = documents[:120] @ turn + 0.5 * rng.normal(size=(120, 16))
    return task_of(queries, documents)


@pytest.fixture(scope="module")
def equal() -> Dataset:
    """120 queries that are their documents stretched alike on both sides, with noise."""
    rng = np.random.default_rng(1)
    documents = rng.normal(size=(150, 16)) * np.linspace(2.0, 0.3, 16)
    return task_of(documents[:120] + 0.3 * rng.normal(size=(120, 16)), documents)


def task_of(queries: Any, documents: Any) -> Dataset:
    return Dataset(
        EmbeddingSet([f"q{row}" for row in range(len(queries))], queries, encoder="tiny"),
        EmbeddingSet([f"d{row}" for row in range(len(documents))], documents, encoder="tiny"),
        Qrels({f"q{row}": {f"d{row}": 1} for row in range(len(queries))}),
        name="made",
    )


@pytest.fixture(scope="module")
def chosen(turned: Dataset) -> GeometryChoice:
    return quick(turned)


def test_turned_queries_ask_for_two_geometries(chosen: GeometryChoice) -> None:
    assert [(found.target, found.choice) for found in chosen.recommendations] == [
        ("operator risk", "dual"),
        ("ranking", "dual"),
    ]
    assert all(found.settled for found in chosen.recommendations)
    assert [found.rule for found in chosen.evidence] == list(SELECTORS)
    assert {found.target for found in chosen.evidence[:2]} == {"operator risk"}
    assert {found.target for found in chosen.evidence[2:]} == {"ranking"}
    assert chosen.ranking is not None
    assert chosen.ranking.correction
    assert chosen.ranking.dual.max() > chosen.ranking.shared.max() + 0.1


def test_equal_views_ask_for_one(equal: Dataset) -> None:
    assert {answer.choice for answer in quick(equal).recommendations} == {"shared"}
    cosine = quick(equal, similarity="cosine").recommendations
    assert [(answer.choice, answer.settled) for answer in cosine] == [("shared", True), ("shared", False)]  # all tie
    pooled = quick(equal, whitening="pooled")
    assert (pooled.recommendations[0].choice, pooled.coordinates) == ("shared", "pooled whitening")
    residual = quick(equal, residual=True)
    assert residual.recommendations[0].choice == "shared"  # though most of what is left takes weight away
    assert residual.coordinates == "raw coordinates, about the base"


def test_whitening_by_view_says_what_it_means(equal: Dataset) -> None:
    found = quick(equal, whitening="per-view", selectors=["operator loss"])
    assert "two-whitenings" in [one.code for one in found.findings if one.level == "warning"]


def test_no_result_depends_on_workers(turned: Dataset, chosen: GeometryChoice) -> None:
    assert quick(turned, workers=3).to_json() == chosen.to_json()


def test_json_holds_plain_numbers_alone(chosen: GeometryChoice) -> None:
    told = json.loads(json.dumps(chosen.to_json(), allow_nan=False))
    assert (told["queries"], told["documents"], told["dim"], told["ranks"]) == (120, 150, 16, [8, 16])
    one = told["evidence"][0]["selections"][0]
    assert told["evidence"][0]["rule"] == "CARS"
    assert one["interval"][0] < one["score"] < one["interval"][1]
    assert one["values"]["least"] <= one["values"]["median"] <= one["values"]["largest"]
    assert (one["values"]["count"], one["rank"], one["choice"]) == (4, 8, "dual")
    assert 0 <= one["power"] <= 1
    assert 0 <= one["dual_chance"] <= 1
    assert one["crossing"] == chosen.planned_crossing(8)
    assert told["evidence"][2]["selections"][0]["power"] is None
    assert [row["rank"] for row in told["risk_by_queries"]] == [8, 16]
    assert len(told["ranking"]["shared"]) == 2


def test_reasons_hold_in_any_unit(chosen: GeometryChoice) -> None:
    """The table is in units of the moment's energy, the record is not: a reason counts standard errors."""
    for answer in chosen.recommendations:
        first = next(found for found in chosen.evidence if found.target == answer.target).at(answer.rank)
        assert first.standard_error
        assert f"the score is {abs(first.score) / first.standard_error:.1f} standard errors" in answer.reason


def test_some_rules_alone(turned: Dataset) -> None:
    found = quick(turned, selectors=["separation"])
    assert [answer.target for answer in found.recommendations] == ["ranking"]
    assert found.ranking is None
    assert found.planned_crossing(8) is None
    assert found.to_json()["ranking"] is None


def test_rank_and_untied_rows_are_chosen_together_where_asked(turned: Dataset, chosen: GeometryChoice) -> None:
    found = quick(turned, partial=PARTS)
    assert found.form is not None
    assert (found.form.chosen.family, found.form.chosen.rank) == ("dual", 16)
    assert [(form.rank, form.untied) for form in found.form.forms if form.rank == 8] == [
        (8, untied) for untied in (0, 2, 4, 6, 8)
    ]
    lead = {form: found.form.separation(form) for form in found.form.forms}
    separation = found.evidence[3].selections
    for place, rank in enumerate(found.ranks):
        shared, dual = (next(v for f, v in lead.items() if (f.rank, f.untied) == (rank, s)) for s in (0, rank))
        assert dual - shared == pytest.approx(separation[place].score)
    told = found.to_json()
    form = told.pop("form")
    assert {**told, "form": None} == chosen.to_json()
    assert (form["rank"], form["untied"], form["family"], len(form["table"])) == (16, 16, "dual", 10)
    assert form["lead"] == form["partial"]["separation"] - form["whole"]["separation"] < 0
    assert len(form["table"][0]["values"]) == 5
    json.dumps(form, allow_nan=False)


def test_progress_is_told_to_the_end(turned: Dataset) -> None:
    told: list[tuple[int, int]] = []
    quick(turned, progress=lambda done, total: told.append((done, total)))
    assert told == sorted(told)
    assert told[-1] == (13, 13)
    assert {total for _, total in told} == {13}


@pytest.mark.parametrize(("queries", "expected"), [(4, (2,)), (9, (4,)), (70, (4, 8, 16))])
def test_default_ranks_are_what_half_of_the_queries_hold(
    queries: int, expected: tuple[int, ...], new_task: Callable[..., Dataset]
) -> None:
    assert default_ranks(set_out(new_task(queries=queries)).rows) == expected


def test_few_queries_are_judged_and_not_settled(new_task: Callable[..., Dataset]) -> None:
    found = select_geometry(new_task(queries=6, angle=0.1), splits=4, workers=1)
    assert {answer.choice for answer in found.recommendations} == {"shared"}
    told = json.loads(json.dumps(found.to_json(), allow_nan=False))
    unknown = [one for rule in told["evidence"] for one in rule["selections"] if one["standard_error"] is None]
    assert unknown
    assert all(one["inside_noise"] for one in unknown)  # a tie among them
    assert told["risk_by_queries"][0]["queries"] == [4.8]


def test_documents_are_kept_apart_on_request(new_task: Callable[..., Dataset]) -> None:
    task = new_task(queries=40)
    pairs = {f"q{row}": {f"d{row - row % 2}": 1} for row in range(40)}
    found = quick(replace(task, qrels=Qrels(pairs)), by_document=True, ranks=[2])
    assert found.evidence[0].selections[0].queries == 20
    together = replace(task, qrels=Qrels({f"q{row}": {"d0": 1, f"d{row}": 1} for row in range(40)}))
    with pytest.raises(LabelError, match="can be told apart"):
        quick(together, by_document=True)


def test_two_encoders_have_no_base_to_correct(turned: Dataset) -> None:
    other = EmbeddingSet(turned.documents.ids, turned.documents.matrix, encoder="other")
    task = replace(turned, documents=other)
    found = quick(task, selectors=["nDCG@10"])
    assert found.ranking is not None
    assert not found.ranking.correction
    with pytest.raises(ParameterError, match="two encoders, which have no base"):
        quick(task, residual=True)


def test_held_out_values_are_of_queries_and_documents_that_no_fit_has_seen(turned: Dataset) -> None:
    """With queries equal to their documents nothing else is nearer; a fit cannot help, nor a memory hurt."""
    same = replace(turned, queries=EmbeddingSet(turned.queries.ids, turned.documents.matrix[:120], encoder="tiny"))
    selections, means = rank_held_out(same, set_out(same), ranks=(4,))
    assert means.base == pytest.approx(1.0, abs=0.05)
    assert selections[0].choice == "shared"
    one = replace(turned, qrels=Qrels({f"q{row}": {"d0": 1} for row in range(20)}))
    with pytest.raises(LabelError, match="cannot be held out apart"):
        rank_held_out(one, set_out(one), ranks=(4,))


def test_rules_that_contradict_each_other_settle_nothing(chosen: GeometryChoice) -> None:
    risk = chosen.evidence[0]
    against = replace(
        chosen.evidence[1], selections=tuple(replace(one, choice="shared") for one in chosen.evidence[1].selections)
    )
    answer = recommend((risk, against), {"operator risk": 8})[0]
    assert (answer.choice, answer.settled) == ("shared", False)
    assert "CARS says dual and operator loss says shared, both outside the noise" in answer.reason


def test_unequal_dimensions_have_nothing_to_choose(turned: Dataset) -> None:
    narrow = EmbeddingSet(turned.queries.ids, np.asarray(turned.queries.matrix)[:, :8], encoder="tiny")
    with pytest.raises(DimensionError, match="queries have 8 dimensions and documents 16"):
        quick(replace(turned, queries=narrow))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ranks": [17]}, "not all between 1 and 16"),
        ({"ranks": []}, "not all between 1 and 16"),
        ({"ranks": 2.5}, "not all between 1 and 16"),
        ({"ranks": [[1]]}, "not all between 1 and 16"),
        ({"selectors": ["luck"]}, "there is no rule 'luck'"),
        ({"selectors": []}, "no rule was asked for"),
        ({"whitening": "by hand"}, "there is no whitening 'by hand'"),
        ({"whitening": "pooled", "residual": True}, "in whitened coordinates the base is no identity"),
        ({"splits": 0}, "0 splits were asked for"),
        ({"partial": [1.0]}, "not all between 0 and 1"),
        ({"similarity": "l2"}, "there is no similarity 'l2'"),
        ({"selectors": None}, "no rule was asked for"),
        ({"progress": 3}, "progress: it cannot be called"),
        ({"seed": "x"}, "the seed is 'x'"),
    ],
)
def test_bad_arguments_are_refused(turned: Dataset, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        quick(turned, **options)


def test_what_is_no_dataset_is_refused() -> None:
    for call in (select_geometry, plan_labels):
        with pytest.raises(ParameterError, match="Give a Dataset"):
            call(None)  # type: ignore[arg-type]


def test_too_few_queries_are_refused(turned: Dataset) -> None:
    with pytest.raises(LabelError, match="3 rows make 3 queries"):
        select_geometry(turned.only(["q0", "q1", "q2"]))
    with pytest.raises(LabelError, match="no judged query has both"):
        quick(replace(turned, qrels=Qrels({"q0": {"d0": 0}})))


def test_the_picture_is_one_svg_with_both_families(chosen: GeometryChoice, tmp_path: Path) -> None:
    path = tmp_path / "new" / "risk.svg"
    write_picture(risk_picture(chosen), path)
    root = ET.parse(path).getroot()
    assert root.tag.endswith("svg")
    words = "".join(root.itertext())
    assert "shared" in words
    assert "dual" in words
    assert "labelled queries" in words
    assert risk_picture(chosen, rank=8) == risk_picture(chosen, rank=8)


@pytest.mark.parametrize(
    ("queries_a_document", "by_document", "told"), [(1, False, False), (2, False, True), (2, True, False)]
)
def test_splits_that_may_share_documents_are_a_warning(
    turned: Dataset, queries_a_document: int, by_document: bool, told: bool
) -> None:
    grades = {f"q{row}": {f"d{row // queries_a_document}": 1} for row in range(120)}
    found = quick(replace(turned, qrels=Qrels(grades)), selectors=["CARS"], by_document=by_document)
    (message,) = [one.message for one in found.findings if one.code == "shared-documents"] or [""]
    assert message.startswith("120 of 120 labelled queries have a relevant document in common") == told
