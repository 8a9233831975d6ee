"""The peers that train by descent, each as published and tuned.

* ``llamaindex``: EmbeddingAdapterFinetuneEngine. A linear map with bias from the identity, the first relevant
  document of each query, in-batch negatives, cosine times 20, AdamW at 2e-5 (the default) with a linear schedule,
  gradients clipped at 1, batches of 10 in the order given, 4 epochs.
* ``chroma``: the Embedding Adapters report. Torch's default start, triplets of random negatives, Euclidean margin 1,
  summed, AdamW, batches of 256, 3 epochs, the best of three rates; query side only.
* ``lat``: linear-adapter-trainer. A residual map (the identity at the start), one negative a pair from the ten
  documents least like the relevant one, cosine margin 0.2, Adam at 1e-3, clipped at 1, batches of 64, up to 20
  epochs, the best by reciprocal rank on a fifth of the labels (parted by document, as there), patience 5.
* ``era``: ERA's second stage, started at the identity because both sides have one encoder. Five hard negatives
  under the 0.95 rule, τ 0.05, AdamW at 1e-5 with decay 1e-4, warm-up in the first tenth of 1,000 epochs, batches
  of 256, the best by validation loss on a fifth of the labels, patience 5.

Tuned, each chooses by cross-fitting among the base and 43 settings, as askew does among the base and 44: those
published and a grid of rates, epochs and what else it has. The grid learns from all labels, in a new order every
epoch; Chroma's starts at the identity.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import torch
from torch import Tensor
from torch.nn import functional

from examples import first_pairs, hard_triplets, margin_negatives, opposite_triplets, random_triplets
from torch_loop import Plan
from tuning import Recipe

torch.set_num_threads(1)
torch.use_deterministic_algorithms(mode=True)


def in_batch(mapped: Tensor, positives: Tensor, negatives: Tensor, plan: Plan) -> Tensor:
    """Cross-entropy of each query's document among the batch's, by cosine."""
    del negatives
    scores = functional.normalize(mapped) @ positives.T / plan.temperature
    return functional.cross_entropy(scores, torch.arange(len(scores)))


def euclidean_triplet(mapped: Tensor, positives: Tensor, negatives: Tensor, plan: Plan) -> Tensor:
    """Summed hinge of Euclidean distances, nothing normalised."""
    near, far = (mapped - positives).norm(dim=1), (mapped - negatives[:, 0]).norm(dim=1)
    return functional.relu(near - far + plan.margin).sum()


def cosine_triplet(mapped: Tensor, positives: Tensor, negatives: Tensor, plan: Plan) -> Tensor:
    """Mean hinge of cosines."""
    unit = functional.normalize(mapped)
    wrong = (unit * (negatives[:, 0] - positives)).sum(dim=1)
    return functional.relu(wrong + plan.margin).mean()


def own_negatives(mapped: Tensor, positives: Tensor, negatives: Tensor, plan: Plan) -> Tensor:
    """Cross-entropy of each query's document among its own negatives, by cosine."""
    candidates = torch.cat([positives[:, None], negatives], dim=1)
    scores = torch.einsum("bd,bkd->bk", functional.normalize(mapped), candidates) / plan.temperature
    return functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long))


_LLAMAINDEX = Plan(
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
_CHROMA = Plan(
    draw=random_triplets,
    loss=euclidean_triplet,
    start="random",
    rate=1e-3,
    epochs=3,
    batch=256,
    margin=1.0,
    decay=0.01,
)
_LAT = Plan(
    draw=opposite_triplets,
    loss=cosine_triplet,
    rate=1e-3,
    epochs=20,
    batch=64,
    margin=0.2,
    clip=1.0,
    judge="rank",
)
_ERA = Plan(
    draw=margin_negatives,
    loss=own_negatives,
    rate=1e-5,
    epochs=1000,
    batch=256,
    decay=1e-4,
    warm_up=0.1,
    judge="loss",
)

_PUBLISHED = {
    "llamaindex": [_LLAMAINDEX],
    "chroma": [replace(_CHROMA, rate=rate) for rate in (1e-2, 3e-3, 1e-3)],
    "lat": [_LAT],
    "era": [_ERA],
}
_LONGER = replace(_LLAMAINDEX, epochs=20, checkpoints=(1, 2, 3, 5, 8, 12, 20), shuffle=True)
_TUNED = {
    "llamaindex": [
        _LLAMAINDEX,
        *(replace(_LONGER, rate=rate) for rate in (1e-4, 1e-3)),
        *(replace(_LONGER, rate=rate, batch=64) for rate in (3e-4, 1e-3, 3e-3, 1e-2)),
    ],
    "chroma": [
        *_PUBLISHED["chroma"],
        *(
            replace(_CHROMA, start="identity", rate=rate, epochs=10, checkpoints=(1, 2, 3, 4, 5, 6, 8, 10))
            for rate in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
        ),
    ],
    "lat": [
        _LAT,
        replace(_LAT, epochs=40, checkpoints=(2, 5, 10, 15, 25, 40), judge=""),
        *(
            replace(
                _LAT,
                draw=hard_triplets,
                rate=rate,
                margin=margin,
                epochs=40,
                checkpoints=(2, 5, 10, 15, 25, 40),
                judge="",
            )
            for rate, margin in product((3e-4, 1e-3, 3e-3), (0.1, 0.2))
        ),
    ],
    "era": [
        _ERA,
        *(
            replace(_ERA, rate=rate, temperature=heat, epochs=100, checkpoints=(5, 10, 18, 30, 45, 70, 100), judge="")
            for rate, heat in product((1e-4, 3e-4, 1e-3), (0.05, 0.1))
        ),
    ],
}

RECIPES = {
    **{name: Recipe(tuple(plans)) for name, plans in _PUBLISHED.items()},
    **{f"{name}-tuned": Recipe(tuple(plans), may_keep=True) for name, plans in _TUNED.items()},
}
