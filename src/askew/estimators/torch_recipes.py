"""Published recipes that descend, as published, by the one loop of `torch_loop`. They need the extra ``torch``.

* `ALIGN`, `ADAPT`, `era`: ERA, arXiv 2604.03403. A linear map with an offset is aligned on documents that both
  encoders have embedded (cosine loss, AdamW at 1e-3 with decay 1e-2, batches of 256, 100 epochs, the last weights),
  then adapted (InfoNCE at τ 0.05 against five mined negatives of the query's own, AdamW at 1e-5 with decay 1e-4,
  warm-up in the first tenth of 1,000 epochs, the best by validation loss, patience 5). `ABLATIONS` are its own.
* `LLAMAINDEX`: EmbeddingAdapterFinetuneEngine. A linear map with an offset from the identity, the first relevant
  document of each query, in-batch negatives, cosine times 20, AdamW at 2e-5 (the default) with a linear schedule,
  gradients clipped at 1, batches of 10 in the order given, 4 epochs.
* `CHROMA`: the Embedding Adapters report. Torch's default start, triplets of random negatives, Euclidean margin 1,
  summed, AdamW, batches of 256, 3 epochs; query side only. It tries the rates 1e-2, 3e-3 and 1e-3.
* `LAT`: linear-adapter-trainer. A residual map (the identity at the start), one negative a pair from the ten
  documents least like the relevant one, cosine margin 0.2, Adam at 1e-3, clipped at 1, batches of 64, up to 20
  epochs, the best by reciprocal rank, patience 5.
* `SEARCH_ADAPTOR`: Yoon et al., arXiv 2310.08750. One small map with a skip connection for queries *and* documents,
  a pairwise ranking loss, recovery and prediction terms. It changes stored documents, which nothing else here does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from askew.data import EmbeddingSet
from askew.errors import MatchError
from askew.estimators.examples import EraNegatives, GradedDraw, first_pairs, opposite_triplets, random_triplets
from askew.estimators.layers import Layers
from askew.estimators.lessons import Lessons
from askew.estimators.torch_loop import Plan, train
from askew.estimators.torch_losses import (
    cosine_distance,
    cosine_triplet,
    euclidean_triplet,
    in_batch,
    own_negatives,
    search_adaptor,
)

__all__ = [
    "ABLATIONS",
    "ADAPT",
    "ALIGN",
    "CHROMA",
    "LAT",
    "LLAMAINDEX",
    "SEARCH_ADAPTOR",
    "align_by_descent",
    "aligned_first",
    "document_pairs",
    "era",
]

#: ERA's first stage.
ALIGN = Plan(draw=first_pairs, loss=cosine_distance, start="random", rate=1e-3, epochs=100, batch=256, decay=1e-2)
#: ERA's second stage; it starts at the first one's map, or without it at random.
ADAPT = Plan(
    draw=EraNegatives(),
    loss=own_negatives,
    start="random",
    rate=1e-5,
    epochs=1000,
    batch=256,
    decay=1e-4,
    warm_up=0.1,
    judge="loss",
)
#: ERA's second stage, changed in one thing each.
ABLATIONS: Mapping[str, Plan] = MappingProxyType(
    {
        "random negatives": replace(ADAPT, draw=EraNegatives("random")),
        "naive top-k": replace(ADAPT, draw=EraNegatives("top")),
        "1 negative": replace(ADAPT, draw=EraNegatives(count=1)),
        "10 negatives": replace(ADAPT, draw=EraNegatives(count=10)),
        "two layers": replace(ADAPT, layers=2),
        "without bias": replace(ADAPT, bias=False),
        "triplets": replace(ADAPT, draw=EraNegatives(count=1), loss=cosine_triplet, margin=0.2),
    }
)
LLAMAINDEX = Plan(
    draw=first_pairs,
    loss=in_batch,
    rate=2e-5,
    epochs=4,
    batch=10,
    decay=0.01,
    clip=1.0,
    warm_up=0.1,
    shuffle=False,
)
CHROMA = Plan(
    draw=random_triplets,
    loss=euclidean_triplet,
    start="random",
    rate=1e-3,
    epochs=3,
    batch=256,
    margin=1.0,
    decay=0.01,
)
LAT = Plan(
    draw=opposite_triplets,
    loss=cosine_triplet,
    rate=1e-3,
    epochs=20,
    batch=64,
    margin=0.2,
    clip=1.0,
    judge="rank",
)
SEARCH_ADAPTOR = Plan(
    draw=GradedDraw(),
    loss=search_adaptor,
    shared=True,
    layers=2,
    rate=1e-3,
    epochs=50,
    batch=128,
    recovery=0.1,
    prediction=0.01,
    judge="rank",
)


def aligned_first(plan: Plan) -> Plan:
    """The first stage that a second one can start at: of as many layers, with an offset or without.

    >>> aligned_first(ABLATIONS["without bias"]).bias
    False
    """
    return replace(ALIGN, layers=plan.layers, bias=plan.bias)


def document_pairs(source: EmbeddingSet, target: EmbeddingSet) -> Lessons:
    """Documents that both encoders have embedded, as pairs to align: each is its own "query".

    Args:
        source: by the query encoder, (·, d_query).
        target: by the document encoder, (·, d_document).

    Raises:
        MatchError: no document is in both.

    >>> document_pairs(EmbeddingSet("ab", np.eye(2)), EmbeddingSet("bc", np.eye(3)[:2])).queries.tolist()
    [[0.0, 1.0]]
    """
    common = [name for name in source.ids if name in target]
    if not common:
        raise MatchError("no document is embedded by both encoders", remedy="Embed a sample of the documents with both")
    rows = np.arange(len(common))
    asked, told = (side.unit(side.rows(common)).astype(np.float32) for side in (source, target))
    return Lessons(asked, told, rows, rows, np.ones(len(rows)), np.zeros(len(rows), dtype=bool))


def align_by_descent(
    source: EmbeddingSet, target: EmbeddingSet, plan: Plan = ALIGN, *, seed: int = 0, device: str = "cpu"
) -> Layers:
    """ERA's first stage: a map from one encoder's space to another's, by descent.

    `askew.estimators.align` finds a map as good in closed form; this one is for comparison.

    Args:
        source: documents by the query encoder, (·, d_query).
        target: documents by the document encoder, (·, d_document).
        plan: how.
        seed: of the start and the order.
        device: ``"cpu"`` or ``"cuda"``.

    Raises:
        MatchError: no document is in both.
        ParameterError: training diverged, or there is no such device.

    >>> x = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    >>> found = align_by_descent(EmbeddingSet(range(64), x), EmbeddingSet(range(64), x[:, :3]))
    >>> found.shape
    (4, 3)
    """
    return train(document_pairs(source, target), plan, seed=seed, device=device)[0]


def era(
    aligned: Layers | None,
    lessons: Lessons,
    validation: Lessons,
    plan: Plan = ADAPT,
    *,
    seed: int = 0,
    device: str = "cpu",
) -> Layers:
    """ERA's second stage.

    Args:
        aligned: the first stage's map (see `aligned_first`), which is the start and the teacher that mines; None
            leaves the first stage out (the Embedding Adapter baseline): a random start and random negatives, as in
            the paper.
        lessons: n labelled queries.
        validation: queries that stop it.
        plan: how; one of `ABLATIONS`, or `ADAPT`.
        seed: of draws and orders.
        device: ``"cpu"`` or ``"cuda"``.

    Raises:
        LabelError: there is no validation query.
        ParameterError: training diverged, or there is no such device.

    >>> from askew.data import Dataset, Qrels
    >>> rng = np.random.default_rng(0)
    >>> sides = EmbeddingSet(range(40), rng.normal(size=(40, 4))), EmbeddingSet(range(40), rng.normal(size=(40, 3)))
    >>> task = Dataset(*sides, Qrels({row: {row: 1} for row in range(40)}))
    >>> lessons, held = (Lessons.of_dataset(task, task.labelled[part]) for part in (slice(0, 30), slice(30, 40)))
    >>> era(None, lessons, held, replace(ADAPT, epochs=2)).shape
    (4, 3)
    """
    if aligned is None and isinstance(plan.draw, EraNegatives):
        plan = replace(plan, draw=EraNegatives("random", plan.draw.count))
    taught = [part.taught_by(aligned) for part in (lessons, validation)]
    return train(taught[0], plan, seed=seed, held=taught[1], start=aligned, device=device)[0]
