"""What the recipes that descend minimise; cosines, but for the Euclidean triplets. Documents are unit rows."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from askew.estimators.torch_loop import Batch, Network, Plan

__all__ = ["cosine_distance", "cosine_triplet", "euclidean_triplet", "in_batch", "own_negatives", "search_adaptor"]


def cosine_distance(network: Network, batch: Batch, plan: Plan) -> Tensor:
    """1 - the mean cosine of a mapped row and where it belongs: ERA's alignment."""
    del plan
    return 1 - (functional.normalize(network(batch.queries)) * batch.positives).sum(dim=1).mean()


def own_negatives(network: Network, batch: Batch, plan: Plan) -> Tensor:
    """Cross-entropy of each query's document among its own negatives: ERA's InfoNCE has no others."""
    candidates = torch.cat([batch.positives[:, None], batch.negatives], dim=1)
    mapped = functional.normalize(network(batch.queries))
    scores = torch.einsum("bd,bkd->bk", mapped, candidates) / plan.temperature
    return functional.cross_entropy(scores, torch.zeros(len(scores), dtype=torch.long, device=scores.device))


def in_batch(network: Network, batch: Batch, plan: Plan) -> Tensor:
    """Cross-entropy of each query's document among the batch's."""
    scores = functional.normalize(network(batch.queries)) @ batch.positives.T / plan.temperature
    return functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


def euclidean_triplet(network: Network, batch: Batch, plan: Plan) -> Tensor:
    """Summed hinge of Euclidean distances, nothing normalised."""
    mapped = network(batch.queries)
    near, far = (mapped - batch.positives).norm(dim=1), (mapped - batch.negatives[:, 0]).norm(dim=1)
    return functional.relu(near - far + plan.margin).sum()


def cosine_triplet(network: Network, batch: Batch, plan: Plan) -> Tensor:
    """Mean hinge of cosines."""
    unit = functional.normalize(network(batch.queries))
    wrong = (unit * (batch.negatives[:, 0] - batch.positives)).sum(dim=1)
    return functional.relu(wrong + plan.margin).mean()


def search_adaptor(network: Network, batch: Batch, plan: Plan) -> Tensor:
    """Pairwise logistic loss weighted by grades, and what keeps the map near where it began.

    With s the cosine after the map f of both sides, over pairs of a document and one of a lower grade,

        mean (y⁺ - y⁻) log(1 + exp(s⁻ - s⁺)) + α mean |e' - e| + β mean |p(e'_d) - e'_q|,

    where e' = e + f(e) and the predictor p is linear and used in training alone. The paper names the terms; widths
    and the predictor's form are not published, and these are ours.
    """
    query, positive, negative = (network.documents(rows) for rows in (batch.queries, batch.positives, batch.negatives))
    near = functional.cosine_similarity(query, positive)[:, None]
    far = functional.cosine_similarity(query[:, None], negative, dim=2)
    gaps = torch.ones_like(far) if batch.gaps is None else batch.gaps
    loss = (gaps * functional.softplus(far - near)).mean()
    if plan.recovery:
        moved = (query - batch.queries).abs().mean() + (positive - batch.positives).abs().mean()
        loss = loss + plan.recovery * moved
    if network.predictor is not None:
        loss = loss + plan.prediction * (functional.linear(positive, network.predictor) - query).abs().mean()
    return loss
