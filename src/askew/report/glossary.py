"""The words of a report, each in a line, and one plain conclusion from the shape of a correction."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from askew.report._words import count

__all__ = ["GLOSSARY", "spread_words"]

GLOSSARY = (
    (
        "base",
        "your embeddings as they are, with nothing learned; in tables of settings, the candidate without strength",
    ),
    ("adapted", "the same with the learned correction, which is applied to queries alone"),
    (
        "nDCG@10",
        "how well the first ten results are ordered, from 0 (nothing relevant in them) to 1 (all relevant ones first)",
    ),
    ("R@100", "the share of a query's relevant documents that are among its first hundred results"),
    ("label", "a query with its judgements: which documents are right answers to it"),
    ("right answer", "a document judged relevant to a query; a wrong answer is one that fitting pushed away from it"),
    ("cross-fitted", "measured on training queries by fits that did not see them, part by part"),
    ("nested", "cross-fitted with the choice of settings made anew for each part, so that picking cannot flatter"),
    (
        "standard error",
        "how far a mean would move with other queries of the same kind; the 95 % interval is about twice it each way",
    ),
    (
        "95 % interval",
        "made so that in 95 of 100 repetitions it holds the true value; one that holds 0 leaves the sign open",
    ),
    ("strength", "how hard a correction is pulled back towards the base: the larger, the smaller the change"),
    ("shared, dual", "one geometry for queries and documents alike, or one for each side"),
    ("headroom", "what is left between the base and the best value that could be reached"),
)
_MANY = 0.25  # of the values shown: half of the change in fewer than these is a change of few directions


def spread_words(values: Sequence[float]) -> str:
    """Whether a correction lies in few directions or in many, by its singular values, largest first.

    >>> spread_words([3.0, 0.1, 0.1, 0.1, 0.1])
    'The task asks for a few directions: 1 of the 5 shown holds half of the change.'
    """
    total = sum(value**2 for value in values)
    if total <= 0:
        return ""
    half = 1 + sum(so_far < total / 2 for so_far in accumulate(value**2 for value in values))
    holds = f"{count(half)} of the {count(len(values))} shown hold{'s' * (half == 1)} half of the change"
    few = half <= _MANY * len(values)
    return f"The task asks for {'a few directions' if few else 'many small changes'}: {holds}."
