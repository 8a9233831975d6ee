"""Fits whose prior is an alignment or a fusion: what the base is, what ships, and what comes back from disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import askew
from askew.adapters import Adapter
from askew.data import Dataset, EmbeddingSet, Qrels, side_by_side
from askew.errors import DimensionError, ParameterError
from askew.estimators import Alignment, Ridge, align, fused
from askew.estimators.align import own_alone
from askew.operators import Dense, Stacked, Term, Zero
from askew.workflows.assess import assess, assess_parts, base_of
from askew.workflows.describe import describe


def unit(rows: Any) -> Any:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def two_views(*, own_noise: float, other_noise: float, drift: float = 0.0, seed: int = 0) -> tuple[Dataset, Alignment]:
    """Queries by both encoders side by side over documents of one, and the alignment; query i is document i."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(200, 10))
    views = [rng.normal(size=(10, width)) / 3 for width in (16, 24)]
    documents = [EmbeddingSet(range(200), latent @ view, encoder=name) for view, name in zip(views, "ab", strict=True)]
    wanted = latent[:80] + drift * rng.normal(size=10)
    queries = [
        EmbeddingSet(
            [f"q{row}" for row in range(80)], (wanted + noise * rng.normal(size=(80, 10))) @ view, encoder=name
        )
        for noise, view, name in zip((own_noise, other_noise), views, "ab", strict=True)
    ]
    qrels = Qrels({f"q{row}": {str(row): 1} for row in range(80)})
    return Dataset(side_by_side(*queries), documents[0], qrels, name="views"), align(documents[1], documents[0])


def priors_of(alignment: Alignment) -> Mapping[str, Term]:
    return {"own": own_alone(alignment), "fused 0.5": fused(alignment, 0.5), "fused 2": fused(alignment, 2.0)}


RIDGE = (Ridge(strengths=(0.01, 0.1, 1.0)),)


def test_a_fusion_without_a_correction_can_be_what_ships(tmp_path: Path) -> None:
    task, alignment = two_views(own_noise=1.5, other_noise=0.3)
    fitted = askew.fit(task, priors=priors_of(alignment), estimators=(), traffic="recurring")
    assert str(fitted.choice.chosen) == "fused 2 alone"
    assert fitted.choice.verdict.decision == "adapt"
    adapter = fitted.adapter
    assert adapter is fitted.candidate
    assert not adapter.is_base
    base = base_of(adapter).operator.prior
    assert isinstance(base, Stacked)
    assert isinstance(base.parts[1], Zero)
    found = assess(task, adapter)
    assert found is not None
    assert found.comparisons[0].base_mean == pytest.approx(fitted.choice.verdict.base)
    assert found.comparisons[0].difference > 0.1
    facts = describe(adapter)
    assert facts["query_encoder"] == "a+b"
    assert facts["prior"] == "stack of identity, dense matrix"
    assert facts["base"] == "stack of identity, zero"
    assert facts["correction"] == "none: the prior alone"
    assert_comes_back(adapter, task, tmp_path)


def test_a_correction_of_a_fusion_is_judged_against_the_own_encoder(tmp_path: Path) -> None:
    task, alignment = two_views(own_noise=0.6, other_noise=0.5, drift=1.5)
    fitted = askew.fit(task, priors=priors_of(alignment), estimators=RIDGE, curve=True, traffic="recurring")
    chosen = fitted.choice.chosen
    assert chosen.prior.startswith("fused")
    assert str(chosen).startswith(f"{chosen.prior} and ridge, dual, strength")
    parts = dict(assess_parts(task, fitted.candidate, fitted.candidate.provenance.seen))
    assert parts["all"].comparisons[0].base_mean == pytest.approx(fitted.choice.means()[0])
    assert fitted.curve is not None
    assert fitted.curve.gains[-1] > 0.05  # over the own encoder, as the verdict's
    assert abs(fitted.curve.gains[-1] - fitted.choice.verdict.gain) < 0.05
    assert_comes_back(fitted.adapter, task, tmp_path)


def test_keeping_ships_the_own_encoder() -> None:
    task, alignment = two_views(own_noise=0.05, other_noise=3.0)
    fitted = askew.fit(task, priors=priors_of(alignment), estimators=())
    assert fitted.choice.verdict.decision == "keep"
    assert fitted.adapter.is_base
    own = unit(np.asarray(task.queries.matrix)[:, :16])
    np.testing.assert_allclose(fitted.adapter.apply(task.queries).matrix, own, atol=1e-6)


def test_an_alignment_is_a_base_of_its_own() -> None:
    task, alignment = two_views(own_noise=1.0, other_noise=0.3)
    alone = replace(task, queries=EmbeddingSet(task.queries.ids, task.queries.matrix[:, 16:], encoder="b"))
    fitted = askew.fit(alone, priors={"alignment": alignment.term}, estimators=RIDGE)
    assert "no-base" not in {finding.code for finding in fitted.findings}
    assert fitted.choice.verdict.base > 0.5
    assert isinstance(base_of(fitted.candidate).operator.prior, Dense)
    assert {one.family for one in fitted.choice.candidates} == {None, "dual"}


def test_the_fingerprint_tells_priors_apart() -> None:
    task, alignment = two_views(own_noise=1.0, other_noise=0.3)
    prints = {
        askew.fit(
            task, priors={"own": own_alone(alignment), "x": fused(alignment, beta)}, estimators=()
        ).candidate.provenance.fingerprint
        for beta in (0.5, 0.6)
    }
    assert len(prints) == 2


def test_priors_that_do_not_fit_are_refused() -> None:
    task, alignment = two_views(own_noise=1.0, other_noise=0.3)
    with pytest.raises(DimensionError, match="'alignment' maps 24 dimensions to 16, the queries have 40"):
        askew.fit(task, priors={"alignment": alignment.term})
    with pytest.raises(ParameterError, match="no prior"):
        askew.fit(task, priors={})


def assert_comes_back(adapter: Adapter, task: Dataset, place: Path) -> None:
    held = askew.load(askew.save(adapter, place / "a"))
    assert held.apply(task.queries).matrix.tobytes() == adapter.apply(task.queries).matrix.tobytes()
    bases = (base_of(one).apply(task.queries).matrix.tobytes() for one in (held, adapter))
    assert len(set(bases)) == 1
    assert not held.is_base
    run = askew.search(task.queries, task.documents, adapter=held, k=5)
    assert len(run) == len(task.queries)
