"""Describe: the facts of an adapter, as plain values."""

from __future__ import annotations

from typing import Any

from askew.adapters import Adapter
from askew.formats import SignedArtefact
from askew.operators import Dense, Factored, Identity, Stacked, Term

__all__ = ["describe", "describe_head"]

_SINGULAR_VALUES = 16
_NONE = {True: "none: the base itself", False: "none: the prior alone"}


def describe(adapter: Adapter) -> dict[str, Any]:
    """What an adapter is and what it was made from.

    Args:
        adapter: of shape (d_query, d_document).

    >>> from askew.operators import BilinearOperator
    >>> describe(Adapter(BilinearOperator.identity(8)))["correction"]
    'none: the base itself'
    """
    operator, provenance = adapter.operator, adapter.provenance
    record = dict(provenance.record)
    verdict = record.get("verdict") or {}
    facts: dict[str, Any] = {
        "query_encoder": provenance.query_encoder,
        "document_encoder": provenance.document_encoder,
        "d_query": operator.shape[0],
        "d_document": operator.shape[1],
        "similarity": adapter.similarity,
        "scale": adapter.scale,
        "prior": _named(operator.prior),
        "base": _named(adapter.operator.prior if adapter.base is None else adapter.base),
        "correction": _NONE[adapter.is_base] if operator.delta is None else _named(operator.delta),
        "verdict": verdict.get("decision"),
        "reason": verdict.get("reason"),
        "chosen": record.get("chosen"),
        "labels": record.get("labels"),
        "dataset": record.get("dataset"),
        "fingerprint": provenance.fingerprint or None,
        "training_queries": None if provenance.seen is None else len(provenance.seen.queries),
        "training_positives": None if provenance.seen is None else len(provenance.seen.positives),
        "training_negatives": None if provenance.seen is None else len(provenance.seen.negatives),
        "canaries": [] if provenance.query_canaries is None else list(provenance.query_canaries.ids),
    }
    if operator.delta is not None:
        correction = operator.correction
        facts["correction_singular_values"] = correction.singular_values()[:_SINGULAR_VALUES].tolist()
        if operator.shape[0] == operator.shape[1]:
            symmetric, skew = correction.symmetric_energy(), correction.skew_energy()
            facts["correction_norm"] = (symmetric + skew) ** 0.5
            facts["correction_symmetric_share"] = symmetric / (symmetric + skew) if symmetric + skew else None
            facts["shared_geometry"] = operator.is_psd()
    facts["record"] = record
    return facts


def describe_head(artefact: SignedArtefact) -> dict[str, Any]:
    """What the heads of signed late interaction are, how they were trained, and what was measured then."""
    record = dict(artefact.record)
    facts: dict[str, Any] = {
        "encoder": artefact.encoder,
        "tuned": artefact.tuned,
        "dim": artefact.width,
        "gates": artefact.gates,
        "hidden_units": artefact.hidden,
        "bounded": artefact.bounded,
        "steps": record.get("steps"),
        "best_step": record.get("best_step"),
        "trained_on": record.get("split"),
    }
    for split, after in (record.get("after") or {}).items():
        for name, value in after.items():
            before = record.get("before", {}).get(split, {}).get(name)
            facts[f"{split}_{name}"] = value if name == "queries" or before is None else f"{before:.4f} → {value:.4f}"
    return {**facts, "canaries": list(artefact.canaries.ids), "record": record}


def _named(term: Term) -> str:
    match term:
        case Identity():
            return "identity"
        case Dense():
            return "dense matrix"
        case Factored():
            return f"two factors of {term.left.shape[1]} columns"
        case Stacked():
            return f"stack of {', '.join(_named(part) for part in term.parts)}"
    return "zero"
