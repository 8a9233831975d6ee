"""Scale: what keeps the size of scores as it was, for whoever has thresholds in use."""

from __future__ import annotations

import numpy as np

from askew.adapters import Adapter
from askew.adapters.adapter import Similarity
from askew.data import Dataset
from askew.errors import ParameterError
from askew.linalg.fixed import Float64Array
from askew.operators import Term, Zero
from askew.retrieval import search
from askew.workflows.assess import base_of

__all__ = ["check_scale", "scale_of_base"]

# Results a query whose scores are brought together.
_DEPTH = 10


def check_scale(similarity: Similarity, prior: Term) -> None:
    """Refuse to keep the scale of scores that no factor changes, or of a base that is not there.

    Args:
        similarity: ``"dot"`` or ``"cosine"``.
        prior: M0, which the base ranks by.

    Raises:
        ParameterError: scores are cosines, or there is no base.
    """
    if similarity == "cosine":
        raise ParameterError(
            "cosines do not change with the length of a query, so no factor keeps their scale",
            where="keep_scale",
            remedy="Move your thresholds by the report's table of scores before and after, or score by dot",
        )
    if isinstance(prior, Zero):
        raise ParameterError(
            "queries and documents come from two encoders, so there is no base whose scale could be kept",
            where="keep_scale",
            remedy="Leave it out, and choose thresholds on the adapted scores",
        )


def scale_of_base(dataset: Dataset, adapter: Adapter) -> float:
    """The factor c that brings adapted scores nearest to the base's, quantile by quantile.

    The labelled queries are searched with, less the documents that the adapter was fitted on as relevant, as it
    scores those higher than others. c minimises Σ (b - c a)² over the sorted scores b and a of the first ten
    results before and after. It changes no order; what it cannot mend is in the report's table of scores.

    Args:
        dataset: the corpus, and labelled queries.
        adapter: fitted on them.

    Returns:
        1 where there is no base, nothing was fitted, or scores are not positive on the whole.
    """
    if adapter.is_base or isinstance(base_of(adapter).operator.prior, Zero):
        return 1.0
    seen = adapter.provenance.seen
    known = frozenset[str]() if seen is None else seen.split_documents(dataset.documents.ids)[0]
    before, after = (_scores(dataset, one, known) for one in (base_of(adapter), adapter))
    overlap, size = float(before @ after), float(after @ after)
    return overlap / size if overlap > 0 else 1.0  # so that size is not 0


def _scores(dataset: Dataset, adapter: Adapter, without: frozenset[str]) -> Float64Array:
    """The sorted scores of the first results of all labelled queries."""
    queries = dataset.queries.take(dataset.labelled)
    run = search(queries, dataset.documents, k=_DEPTH, adapter=adapter, without=without)
    return np.sort(np.concatenate([np.asarray(run.scores(query), dtype=np.float64) for query in run.queries]))
