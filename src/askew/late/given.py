"""Questions about the arguments of late interaction."""

from __future__ import annotations

from askew._checks import check_count, check_kind
from askew.data import TokenEmbeddings

__all__ = ["check_budget", "check_k", "check_tokens"]


def check_tokens(**sides: object) -> None:
    """Raise ParameterError unless all are TokenEmbeddings."""
    for name, side in sides.items():
        check_kind(side, TokenEmbeddings, name, "Give TokenEmbeddings: TokenEmbeddings.from_list or from_padded")


def check_k(k: object) -> None:
    """Raise ParameterError unless it is a number of documents to ask for."""
    check_count(k, "documents", least=1, where="k")


def check_budget(budget: object) -> None:
    """Raise ParameterError unless it is a number of bytes."""
    check_count(budget, "bytes", least=1, where="budget")
