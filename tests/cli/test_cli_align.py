"""Two encoders without labels: what is told, what is written, what is recommended, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from askew.estimators.align import CENTRE
from askew.workflows.align import align_folder

Askew = Callable[..., Any]
BOTH = ("--query-encoder", "new", "--document-encoder", "old")


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def views(task: Any, *, shared: float = 1.0, old_noise: float = 0.6, new_noise: float = 0.6, seed: int = 0) -> Any:
    """Documents and queries of a task of 300 and 180 by two encoders of 16 and 24 dimensions.

    Args:
        task: a folder.
        shared: how far the encoders look at the same things: 1 wholly, 0 not at all.
        old_noise: in the old one's queries.
        new_noise: in the new one's.
        seed: of the draws.
    """
    rng = np.random.default_rng(seed)
    latent, other = rng.normal(size=(300, 10)), rng.normal(size=(300, 10))
    seen = {"old": latent, "new": shared * latent + (1 - shared) * other}
    for name, width, noise in (("old", 16, old_noise), ("new", 24, new_noise)):
        view = rng.normal(size=(10, width))
        asked = seen[name][:180] + noise * rng.normal(size=(180, 10))
        task.embed("docs", unit(seen[name] @ view).astype(np.float32), encoder=name)
        task.embed("queries", unit(asked @ view).astype(np.float32), encoder=name)
    return task


@pytest.fixture
def alike(task: Any) -> Any:
    """Both encoders see the same, and the new one's queries are better."""
    return views(task, old_noise=1.2, new_noise=0.3)


@pytest.fixture
def apart(task: Any) -> Any:
    """The encoders see different things."""
    return views(task, shared=0.0)


def test_align_tells_and_writes(alike: Any, askew: Askew, tmp_path: Path) -> None:
    adapter = tmp_path / "a"
    told = askew("align", alike.root, *BOTH, "-o", adapter, "--json").json()
    assert told["alignment"]["documents"] == 300
    assert told["alignment"]["cosine"] > 0.95
    by = {one["system"]: one for one in told["systems"]}
    assert set(by) == {"document encoder", "aligned", "fused", "query encoder, own index"}
    assert by["aligned"]["against_document_encoder"]["low"] > 0
    assert "one more embedding a query" in by["fused"]["cost"]
    assert told["recommendation"]["system"] == "aligned"
    assert told["recommendation"]["sure"]
    kept = {(one["system"], one["asked"]): one for one in told["kept"]}
    assert kept["aligned", "held-out documents"]["of_document_encoder"] > 0.8
    assert kept["document encoder", "queries"]["of_document_encoder"] == 1
    facts = askew("inspect", adapter, "--json").json()
    assert (facts["query_encoder"], facts["document_encoder"]) == ("new", "old")
    assert (facts["prior"], facts["correction"]) == ("dense matrix", "none: the base itself")
    found = askew("evaluate", alike.root, "--encoder", "new", "--document-encoder", "old", "-a", adapter, "--json")
    assert found.json()["means"]["nDCG@10"] == pytest.approx(by["aligned"]["means"]["nDCG@10"])
    assert "old" in askew("align", alike.root, *BOTH).out


def test_align_says_where_it_does_not_work(apart: Any, askew: Askew) -> None:
    said = askew("align", apart.root, *BOTH)
    assert "recommended: document encoder\n" in said.out
    assert "nDCG@10: a linear map does not carry that over. Keep embedding queries with old." in said.out
    assert "Keep embedding queries with old." in said.out


def test_without_judgements_it_is_a_guess(apart: Any, askew: Askew) -> None:
    for file in (apart.root / "qrels").iterdir():
        file.unlink()
    told = askew("align", apart.root, *BOTH, "--json").json()
    assert (told["systems"], told["retained"]) == ([], None)
    assert (told["recommendation"]["system"], told["recommendation"]["sure"]) == ("document encoder", False)
    assert "this is a guess" in told["recommendation"]["reason"]
    views(apart)
    told = askew("align", apart.root, *BOTH, "--json").json()
    assert told["recommendation"]["system"] == "aligned"


def test_judgements_without_queries_by_the_new_encoder(alike: Any, askew: Askew) -> None:
    (alike.root / "embeddings" / "new" / "queries.npy").unlink()
    said = askew("migrate", alike.root, *BOTH)
    assert said.code == 0
    assert "There are judgements, but no queries by new, so this is a guess" in said.out
    assert "Nothing is judged" not in said.out
    alike.embed("docs", np.load(alike.root / "embeddings" / "new" / "docs.npy")[:1], encoder="new")
    assert "1 document was aligned" in askew("align", alike.root, *BOTH).err


def test_without_the_old_encoder_s_queries(alike: Any, askew: Askew, tmp_path: Path) -> None:
    (alike.root / "embeddings" / "old" / "queries.npy").unlink()
    told = askew("align", alike.root, *BOTH, "--json").json()
    assert [one["system"] for one in told["systems"]] == ["aligned", "query encoder, own index"]
    assert not told["recommendation"]["sure"]
    assert "no queries by old" in told["recommendation"]["reason"]
    message = askew("align", alike.root, *BOTH, "--fused", "-o", tmp_path / "a").refused(2)
    assert "no queries by both 'new' and 'old' to fuse" in message
    assert not (tmp_path / "a").exists()


def test_a_fusion_without_labels_goes_all_the_way(alike: Any, askew: Askew, tmp_path: Path) -> None:
    adapter = tmp_path / "fused"
    told = askew("align", alike.root, *BOTH, "--fused", "--beta", "1", "-o", adapter, "--json").json()
    by = {one["system"]: one["means"]["nDCG@10"] for one in told["systems"]}
    assert by["fused"] > by["document encoder"]
    facts = askew("inspect", adapter, "--json").json()
    assert (facts["query_encoder"], facts["d_query"]) == ("old+new", 40)
    assert facts["prior"] == "stack of identity, dense matrix"
    found = askew("evaluate", alike.root, "--encoder", "old+new", "-a", adapter, "--json").json()
    assert found["means"]["nDCG@10"] == pytest.approx(by["fused"])
    assert found["comparisons"][0]["base_mean"] == pytest.approx(by["document encoder"])
    folder = alike.root / "embeddings"
    own, other, documents = folder / "old" / "queries.npy", folder / "new" / "queries.npy", folder / "old" / "docs.npy"
    second = ("--second-queries", other)
    asked = askew("search", own, documents, "-a", adapter, *second, "--json").json()
    named = ("--encoder", "old", "--second-encoder", "new")
    assert askew("search", own, documents, "-a", adapter, *second, *named, "--json").json() == asked
    assert askew("apply", adapter, own, *second, "-o", tmp_path / "mapped.npy").code == 0
    assert askew("search", tmp_path / "mapped.npy", documents, "--json").json() == asked
    assert "16 dimensions, the adapter takes 40" in askew("search", own, documents, "-a", adapter).refused(3)
    assert "has changed" in askew("search", own, documents, "-a", adapter, "--second-queries", _turned(other)).refused(
        4
    )


def _new_ids(queries: Path, folder: Path) -> Path:
    """The same vectors under ids that no adapter has seen."""
    folder.mkdir(parents=True)
    np.save(folder / "queries.npy", np.load(queries))
    (folder / "queries.ids").write_text("".join(f"new{row}\n" for row in range(180)), encoding="utf-8")
    return folder / "queries.npy"


def test_the_order_of_two_files_is_checked_where_ids_are_new(alike: Any, askew: Askew, tmp_path: Path) -> None:
    adapter, folder, out = tmp_path / "fused", alike.root / "embeddings", tmp_path / "out.npy"
    askew("align", alike.root, *BOTH, "--fused", "-o", adapter, "-q")
    own, other = (_new_ids(folder / name / "queries.npy", tmp_path / f"by-{name}") for name in ("old", "new"))
    documents = folder / "old" / "docs.npy"
    assert askew("search", own, documents, "-a", adapter, "--second-queries", other).code == 0
    right = "those of 'old' (16 dimensions) and those of 'new' (24 dimensions), side by side"
    swapped = (other, "--second-queries", own)
    for command in (("search", *swapped, documents, "-a", adapter), ("apply", adapter, *swapped, "-o", out)):
        assert right in askew(*command).refused(3)
    second = ("--second-queries", other)
    for named in (("--encoder", "new"), ("--second-encoder", "old")):
        assert "the adapter takes " + right in askew("apply", adapter, own, *second, *named, "-o", out).refused(4)
    assert "are the first ones" in askew("apply", adapter, own, "--second-queries", own, "-o", out).refused(2)
    message = askew("apply", adapter, own, "-o", out).refused(3)
    assert right in message
    assert "the same queries of 'new' with --second-queries" in message
    assert not out.exists()


def test_the_card_beside_vectors_tells_the_order_of_equal_widths(alike: Any, askew: Askew, tmp_path: Path) -> None:
    from askew.formats import EncoderCard, write_card

    for side in ("docs", "queries"):
        alike.embed(side, np.load(alike.root / "embeddings" / "new" / f"{side}.npy")[:, :16], encoder="new")
    adapter, folder, files = tmp_path / "fused", alike.root / "embeddings", {}
    askew("align", alike.root, *BOTH, "--fused", "-o", adapter, "-q")
    for name in ("old", "new"):
        files[name] = _new_ids(folder / name / "queries.npy", tmp_path / f"by-{name}")
        write_card(EncoderCard(name, 16, {}, {}), files[name].parent)
    told = ("-o", tmp_path / "out.npy")
    message = askew("apply", adapter, files["new"], "--second-queries", files["old"], *told).refused(4)
    assert "the first query vectors come from the encoder 'new'" in message
    assert askew("apply", adapter, files["old"], "--second-queries", files["new"], *told).code == 0


def test_queries_that_are_bad_in_either_file_are_dropped_from_both(alike: Any, askew: Askew, tmp_path: Path) -> None:
    adapter, folder, files = tmp_path / "fused", alike.root / "embeddings", {}
    askew("align", alike.root, *BOTH, "--fused", "-o", adapter, "-q")
    for name, row in (("old", 7), ("new", 9)):
        files[name] = folder / name / "queries.npy"
        rows = np.load(files[name])
        rows[row, 0] = np.nan
        np.save(files[name], rows)
    command = ("apply", adapter, files["old"], "--second-queries", files["new"], "-o", tmp_path / "out.npy")
    said = askew(*command, "--bad-rows", "drop", "--json")
    assert (said.json()["queries"], said.json()["dropped"]) == (178, ["q7", "q9"])
    assert "2 queries with NaN or infinite values were dropped (q7, q9)" in said.err


def test_a_fused_adapter_beside_one_of_one_encoder(alike: Any, askew: Askew, tmp_path: Path) -> None:
    fused, aligned = tmp_path / "fused", tmp_path / "aligned"
    askew("align", alike.root, *BOTH, "--fused", "-o", fused, "-q")
    askew("align", alike.root, *BOTH, "-o", aligned, "-q")
    message = askew("compare", alike.root, fused, aligned, "--encoder", "old+new").refused(2)
    for part in ("'old+new', 40 dimensions", "'new', 24 dimensions", "askew fit --query-encoder"):
        assert part in message
    said = askew("evaluate", alike.root, "--encoder", "old+new", "-a", fused)
    assert (said.code, said.err) == (0, "")


def _turned(queries: Path) -> Path:
    turned = queries.with_name("turned.npy")
    np.save(turned, np.load(queries)[:, ::-1].copy())
    turned.with_suffix(".ids").write_bytes(queries.with_suffix(".ids").read_bytes())
    return turned


def test_migrate_is_a_gate(alike: Any, askew: Askew, tmp_path: Path) -> None:
    passed = askew("migrate", alike.root, *BOTH, "-o", tmp_path / "a", "--json").json()
    assert passed["gate"]["passed"]
    assert passed["gate"]["retention"] == passed["retained"] > 1
    assert askew("inspect", tmp_path / "a").code == 0
    low, high = passed["gate"]["interval"]
    assert low < passed["retained"] < high
    assert f"95% interval {low:.1%} to {high:.1%}" in passed["gate"]["reason"]
    refused = askew("migrate", alike.root, *BOTH, "-o", tmp_path / "b", "--least-overlap", "0.999")
    assert refused.code == 8
    assert "migration: refused: " in refused.out
    assert "No adapter was written." in refused.out
    assert not (tmp_path / "b").exists()


def test_migrate_refuses_what_loses_too_much(apart: Any, askew: Askew, tmp_path: Path) -> None:
    assert askew("migrate", apart.root, *BOTH, "-o", tmp_path / "a").code == 8
    assert askew("migrate", apart.root, *BOTH, "--least-retention", "0").code == 0
    for file in (apart.root / "qrels").iterdir():
        file.unlink()
    assert askew("migrate", apart.root, *BOTH).code == 8
    message = askew("migrate", apart.root, *BOTH, "--least-retention", "0.5").refused(2)
    assert "no judged queries by both encoders" in message


def test_systems_are_compared_on_the_queries_of_both(alike: Any, askew: Askew) -> None:
    """Whoever lacks queries does not score 0 for them."""
    means = []
    half = [f"q{row}" for row in range(0, 180, 2)]
    for name in ("old", "new"):
        rows = np.load(alike.root / "embeddings" / name / "queries.npy")
        alike.embed("queries", rows[::2], half, encoder=name)
        told = askew("align", alike.root, *BOTH, "--json").json()
        means.append({one["system"]: one["means"]["nDCG@10"] for one in told["systems"]})
        lacking = next(one for one in told["findings"] if one["code"] == "judged-by-one")
        assert "are not embedded by both encoders, and are left out" in lacking["message"]
        assert "missing-queries" not in {one["code"] for one in told["findings"]}
        alike.embed("queries", rows, [f"q{row}" for row in range(180)], encoder=name)
    assert means[0] == means[1]


def test_the_error_of_what_is_retained_is_that_of_a_bootstrap(alike: Any) -> None:
    found = align_folder(alike.root, query_encoder="new", document_encoder="old")
    by = {one.system: one.evaluation.values["nDCG@10"] for one in found.standings}
    rng = np.random.default_rng(0)
    rows = rng.integers(0, len(by["aligned"]), size=(4000, len(by["aligned"])))
    drawn = by["aligned"][rows].mean(axis=1) / by["document encoder"][rows].mean(axis=1)
    assert found.retained_error == pytest.approx(drawn.std(), rel=0.15)


def test_a_gate_passes_nothing_on_little_evidence(alike: Any, askew: Askew) -> None:
    for path in (alike.root / "qrels").iterdir():
        lines = path.read_text().splitlines()
        path.write_text("\n".join(lines[:31]) + "\n")
    refused = askew("migrate", alike.root, *BOTH)
    assert refused.code != 0
    assert "judged queries are too few to pass, fewer than 50" in " ".join(refused.out.split())
    for path in (alike.root / "qrels").iterdir():
        path.unlink()
    assert askew("migrate", alike.root, *BOTH).code == 0
    rows = np.load(alike.root / "embeddings" / "new" / "docs.npy")
    alike.embed("docs", rows[:100], [f"d{row}" for row in range(100)], encoder="new")
    refused = askew("migrate", alike.root, *BOTH)
    assert refused.code != 0
    assert "100 of 300 documents are embedded by both encoders" in " ".join(refused.out.split())


def test_a_gate_that_bears_a_loss_says_so(apart: Any, askew: Askew) -> None:
    said = askew("migrate", apart.root, *BOTH, "--least-retention", "0")
    assert "recommended: document encoder\n" in said.out
    assert said.out.endswith("The gate bears what is lost; the recommendation goes by quality alone.\n")


def test_bad_rows_of_the_query_encoders_documents_are_told(alike: Any, askew: Askew) -> None:
    rows = np.load(alike.root / "embeddings" / "new" / "docs.npy")
    rows[:7], rows[7:9] = np.nan, 0.0
    alike.embed("docs", rows, [f"d{row}" for row in range(300)], encoder="new")
    askew("align", alike.root, *BOTH).refused(3)
    said = askew("align", alike.root, *BOTH, "--bad-rows", "drop", "--json")
    assert said.json()["alignment"]["documents"] == 291
    told = {one["code"]: one for one in said.json()["findings"]}
    assert told["dropped-aligned"]["message"] == "7 documents by new hold NaN or infinite values and align nothing"
    assert told["zero-aligned"]["message"] == "2 documents by new are zero vectors and align nothing"
    assert told["zero-aligned"]["examples"] == ["d7", "d8"]


def test_queries_that_nobody_judged_are_no_hindrance(alike: Any, askew: Askew) -> None:
    rows = np.load(alike.root / "embeddings" / "new" / "queries.npy")
    alike.embed("queries", rows, [f"other{row}" for row in range(180)], encoder="new")
    told = askew("align", alike.root, *BOTH, "--json").json()
    assert told["systems"] == []
    assert "of no query that each has embedded, so this is a guess" in told["recommendation"]["reason"]
    assert askew("migrate", alike.root, *BOTH).code == 0


def test_rows_under_wrong_ids_are_told(task: Any, askew: Askew) -> None:
    rng = np.random.default_rng(0)
    latent, order = rng.normal(size=(800, 10)), rng.permutation(800)
    names = [f"d{row}" for row in range(800)]
    for name, width in (("old", 16), ("new", 24)):
        rows = unit(latent @ rng.normal(size=(10, width)))
        task.embed("docs", rows.astype(np.float32), names, encoder=name)
        task.embed("queries", rows[:180].astype(np.float32), encoder=name)
    codes = [one["code"] for one in askew("align", task.root, *BOTH, "--json").json()["findings"]]
    assert "unrelated-rows" not in codes
    task.embed("docs", rows[order].astype(np.float32), names, encoder="new")
    (told,) = [
        one for one in askew("align", task.root, *BOTH, "--json").json()["findings"] if "unrelated" in one["code"]
    ]
    assert "may not name the same documents" in told["message"]


@pytest.mark.parametrize(("more", "centred"), [((), CENTRE), (("--centre", "1"), 1.0)])
def test_how_much_of_the_intercept_is_left_out(alike: Any, askew: Askew, more: Any, centred: float) -> None:
    told = askew("align", alike.root, *BOTH, *more, "--json").json()
    assert told["alignment"]["centred"] == centred
    gated = askew("migrate", alike.root, *BOTH, *more, "--json").json()
    assert gated["alignment"] == told["alignment"]


def test_a_sample_of_documents_is_enough(alike: Any, askew: Askew) -> None:
    rows = np.load(alike.root / "embeddings" / "new" / "docs.npy")
    alike.embed("docs", rows[::2], [f"d{row}" for row in range(0, 300, 2)], encoder="new")
    told = askew("align", alike.root, *BOTH, "--json").json()
    assert told["alignment"]["documents"] == 150
    assert "query encoder, own index" not in {one["system"] for one in told["systems"]}
    assert "partly-embedded" in {finding["code"] for finding in told["findings"]}


@pytest.mark.parametrize(
    ("more", "code", "says"),
    [
        (("--method", "procrustes"), 3, "an orthogonal map was asked for, from 24 dimensions"),
        (("--split", "none"), 2, "there is no split 'none'"),
        (("--document-encoder", "new"), 2, "both sides are to be embedded by 'new'"),
        (("--query-encoder", "none"), 2, "there is no encoder 'none'"),
        (("--measure", "nonsense"), 2, "nonsense"),
        (("--centre", "1.5"), 2, "Invalid value for '--centre'"),
    ],
)
def test_what_cannot_be_aligned(alike: Any, askew: Askew, more: Any, code: int, says: str) -> None:
    assert says in askew("align", alike.root, *BOTH, *more).refused(code)


def test_no_common_documents(alike: Any, askew: Askew) -> None:
    rows = np.load(alike.root / "embeddings" / "new" / "docs.npy")
    alike.embed("docs", rows, [f"x{row}" for row in range(300)], encoder="new")
    message = askew("align", alike.root, *BOTH).refused(3)
    assert "no document is embedded by both encoders: 'x0', 'x1', 'x2' and 297 more by new" in message


def test_fit_of_two_encoders_fits_every_system(alike: Any, askew: Askew, tmp_path: Path) -> None:
    adapter = tmp_path / "a"
    said = askew("fit", alike.root, *BOTH, "-o", adapter, "--no-curve", "--json")
    told = said.json()
    systems = {one["system"]: one for one in told["systems"]}
    assert list(systems) == ["document encoder", "aligned", "fused"]
    assert [one["needs"] for one in told["systems"]] == ["old", "new", "old+new"]
    assert systems["fused"]["cost"] == "one more embedding a query: by both encoders"
    assert all(one["verdict"]["queries"] == 120 for one in told["systems"])
    assert systems["aligned"]["verdict"]["base"] > systems["document encoder"]["verdict"]["base"]
    assert systems["fused"]["verdict"]["base"] == systems["document encoder"]["verdict"]["base"]
    assert systems["fused"]["chosen"]["prior"].startswith("fused")
    assert told["recommended"] == told["written"] != "document encoder"
    assert told["tests"]
    facts = askew("inspect", adapter, "--json").json()
    assert facts["query_encoder"] == systems[told["written"]]["needs"]
    assert "systems" not in {finding["code"] for finding in told["findings"]}
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Which system to use" in page
    assert "one more embedding a query" in page
    assert f"{systems['fused']['ships']:.4f}</td>" in page


def test_fit_writes_the_system_that_is_named(alike: Any, askew: Askew, tmp_path: Path) -> None:
    """What the report shows of each system on the test queries is what the written adapter scores there."""
    alone = askew("evaluate", alike.root, "--encoder", "old", "--json").json()["means"]["nDCG@10"]
    held: dict[str, float] = {}
    for system, encoder, prior in (
        ("symmetric", "old", "identity"),
        ("aligned", "new", "dense matrix"),
        ("fused", "old+new", "stack of identity, dense matrix"),
    ):
        name, adapter = "document encoder" if system == "symmetric" else system, tmp_path / system
        # The first one is then in service.
        more = ("--against", tmp_path / "symmetric", "--json") if held else ("--report", tmp_path / "report.json")
        said = askew("fit", alike.root, *BOTH, "--system", system, "-o", adapter, "--no-curve", *more)
        facts = askew("inspect", adapter, "--json").json()
        assert (facts["query_encoder"], facts["prior"]) == (encoder, prior)
        found = askew(
            "evaluate", alike.root, "--encoder", encoder, "--document-encoder", "old", "-a", adapter, "--json"
        )
        held[name] = found.json()["means"]["nDCG@10"]
        if system == "symmetric":
            assert "written: document encoder\n" in said.out
            assert "What each ships on the test queries" in said.out
            continue
        told = said.json()
        assert told["written"] == name
        against = next(row for row in told["against"]["comparisons"] if row["documents"] == "all")
        assert against["base_mean"] == pytest.approx(held["document encoder"])
        assert against["other_mean"] == pytest.approx(held[name])
    shown = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["systems"]
    assert [row["name"] for row in shown["rows"] if row["written"]] == ["document encoder"]
    tests = {row["name"]: row for row in shown["tests"] if row["documents"] == "all"}
    assert tests["document encoder alone"]["mean"] == pytest.approx(alone)
    for name, mean in held.items():
        assert tests[name]["mean"] == pytest.approx(mean)
        assert tests[name]["difference"] == pytest.approx(mean - alone)
    assert {row["documents"] for row in shown["tests"]} == {"all", "unseen"}


def test_the_adapter_in_service_may_be_of_any_system_here(alike: Any, askew: Askew, tmp_path: Path) -> None:
    askew("align", alike.root, *BOTH, "-o", tmp_path / "old")
    alike.embed("queries", np.load(alike.queries), encoder="third")
    alike.embed("docs", np.load(alike.documents), encoder="third")
    third = ("--query-encoder", "third", "--document-encoder", "old")
    message = askew("fit", alike.root, *third, "-o", tmp_path / "a", "--against", tmp_path / "old").refused(2)
    assert "it takes queries by 'new', and none of the systems here does" in message
    assert "Name an adapter for queries by old, third, old+third" in message


def test_fit_recommends_the_symmetric_system_where_nothing_aligns(task: Any, askew: Askew, tmp_path: Path) -> None:
    """Whatever the draw: a dearer system has to lead by two standard errors, which chance alone seldom does."""
    told = []
    for seed in range(4):
        apart = views(task, shared=0.0, seed=seed)
        found = askew("fit", apart.root, *BOTH, "-o", tmp_path / "a", "--no-curve", "--no-report", "--json").json()
        assert found["recommended"] == found["written"]
        told.append(found["recommended"])
    assert told == ["document encoder"] * 4
    assert askew("inspect", tmp_path / "a", "--json").json()["query_encoder"] == "old"


def test_fit_without_the_old_encoder_s_queries(alike: Any, askew: Askew, tmp_path: Path) -> None:
    (alike.root / "embeddings" / "old" / "queries.npy").unlink()
    out = ("-o", tmp_path / "a", "--no-curve", "--no-report")
    told = askew("fit", alike.root, *BOTH, *out, "--json").json()
    assert [one["system"] for one in told["systems"]] == ["aligned"]
    assert "no queries by the index's own encoder to compare it with" in told["recommendation"]
    assert "There: aligned" in askew("fit", alike.root, *BOTH, *out, "--system", "fused").refused(2)


def test_fit_of_one_document_by_both(alike: Any, askew: Askew, tmp_path: Path) -> None:
    rows = np.load(alike.root / "embeddings" / "new" / "docs.npy")
    alike.embed("docs", rows[:1], ["d0"], encoder="new")
    told = askew("fit", alike.root, *BOTH, "-o", tmp_path / "a", "--no-curve", "--no-report", "--json").json()
    assert [one["system"] for one in told["systems"]] == ["document encoder", "aligned", "fused"]


def test_fit_of_two_encoders_takes_what_fit_takes(alike: Any, askew: Askew, tmp_path: Path) -> None:
    more = ("--also", alike.root, "--labels", "60", "--keep-scale", "--merge-duplicates", "--no-curve", "--no-report")
    told = askew("fit", alike.root, *BOTH, "--system", "fused", *more, "-o", tmp_path / "a", "--json").json()
    assert [found["dataset"] for found in told["also"]] == [alike.root.name]
    assert {one["verdict"]["queries"] for one in told["systems"]} == {60}
    assert askew("inspect", tmp_path / "a", "--json").json()["scale"] != 1


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--query-encoder", "new"), "needs --query-encoder and --document-encoder"),
        (("--system", "fused"), "needs --query-encoder and --document-encoder"),
        ((*BOTH, "--encoder", "old"), "does not go with --query-encoder"),
    ],
)
def test_options_that_do_not_go_together(alike: Any, askew: Askew, tmp_path: Path, options: Any, says: str) -> None:
    assert says in askew("fit", alike.root, *options, "-o", tmp_path / "a").refused(2)
