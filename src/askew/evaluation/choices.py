"""Choices between documents, and exclusion: what a mean over whole rankings hides.

Near-twins that differ in a negation lie side by side in any ranking, so nDCG hardly sees which comes first.
These measures look at nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from askew.data import Run
from askew.errors import LabelError, MatchError, ParameterError, counted, name_some
from askew.linalg.fixed import BoolArray, Float64Array

__all__ = ["ChoiceAccuracy", "Choices", "choice_accuracy", "exclusion_success"]

#: Query → the documents that should come first, and those that should not.
Choices = Mapping[str, tuple[Collection[str], Collection[str]]]


@dataclass(frozen=True, eq=False)
class ChoiceAccuracy:
    """How often the right documents came before the wrong ones.

    Attributes:
        queries: n queries, in the order of the choices.
        strict: (n,) whether every right document has a higher score than every wrong one.
        pairwise: (n,) the share of pairs of a right and a wrong document in order; a tie is half of one.
        groups: (n,) queries that belong together, such as a question and its opposite; each its own if none are given.
    """

    queries: tuple[str, ...]
    strict: BoolArray
    pairwise: Float64Array
    groups: tuple[str, ...] = field(default=())

    @property
    def paired(self) -> float:
        """The share of groups all of whose queries are strictly right: no constant preference wins these."""
        right: dict[str, bool] = {}
        for group, held in zip(self.groups, self.strict.tolist(), strict=True):
            right[group] = right.get(group, True) and held
        return float(np.mean(list(right.values())))

    def to_json(self) -> dict[str, float | int]:
        """Means, as plain values."""
        return {
            "queries": len(self.queries),
            "groups": len(set(self.groups)),
            "strict": float(self.strict.mean()),
            "pairwise": float(self.pairwise.mean()),
            "paired": self.paired,
        }


def choice_accuracy(run: Run, choices: Choices, *, groups: Mapping[str, str] | None = None) -> ChoiceAccuracy:
    """Judge a run by choices between documents; NevIR's pairs (Weller et al. 2024) are choices of one against one.

    Args:
        run: scores of all documents that the choices name.
        choices: query → right documents, wrong documents.
        groups: query → its group; queries without one are their own.

    Raises:
        LabelError: there is no choice, or one has no right or no wrong document.
        MatchError: a document of a choice has no score.

    >>> run = Run({"q": {"yes": 2.0, "no": 1.0}, "opposite": {"yes": 2.0, "no": 1.0}})
    >>> choices = {"q": (["yes"], ["no"]), "opposite": (["no"], ["yes"])}
    >>> choice_accuracy(run, choices, groups={"q": "g", "opposite": "g"}).to_json()
    {'queries': 2, 'groups': 1, 'strict': 0.5, 'pairwise': 0.5, 'paired': 0.0}
    """
    if not choices:
        raise LabelError("there is no choice to judge by")
    strict, pairwise = [], []
    for query, (right, wrong) in choices.items():
        scores = dict(zip(run.documents(query), run.scores(query).tolist(), strict=True))
        if not right or not wrong:
            raise LabelError(
                "a choice needs a right and a wrong document", where=f"query {query!r}", remedy="Leave it out"
            )
        missing = [name for name in (*right, *wrong) if name not in scores]
        if missing:
            raise MatchError(
                f"{counted(len(missing), 'document of its choice has', 'documents of its choice have')} no score: "
                f"{name_some(missing)}",
                where=f"query {query!r}",
                remedy="Score all documents of a choice",
            )
        good, bad = (np.array([scores[name] for name in side]) for side in (right, wrong))
        strict.append(bool(good.min() > bad.max()))
        # Compared, not subtracted: two documents without tokens are both at -inf.
        above, level = good[:, None] > bad, good[:, None] == bad
        pairwise.append(float((above + 0.5 * level).mean()))
    held = groups or {}
    return ChoiceAccuracy(
        tuple(choices), np.array(strict), np.array(pairwise), tuple(held.get(query, query) for query in choices)
    )


def exclusion_success(run: Run, excluded: Mapping[str, Collection[str]], *, k: int = 10) -> BoolArray:
    """Which queries have nothing among their first k that they exclude.

    A query that found nothing fails: to return nothing is no way to succeed. Set beside it how well the
    included documents are ranked, or what excludes everything wins.

    Args:
        run: rankings.
        excluded: query → documents that it excludes.
        k: how far down to look.

    Returns:
        (n,) in the order of `excluded`.

    Raises:
        ParameterError: k is below 1.
        LabelError: there is no query.

    >>> run = Run({"p": {"a": 2.0, "b": 1.0}, "q": {"b": 2.0, "a": 1.0}})
    >>> exclusion_success(run, {"p": ["b"], "q": ["b"], "r": ["b"]}, k=1).tolist()
    [True, False, False]
    """
    if k < 1:
        raise ParameterError(f"k is {k}", where="k", remedy="Look at one document at least")
    if not excluded:
        raise LabelError("there is no query to judge by")
    firsts = ((run.documents(query)[:k], set(names)) for query, names in excluded.items())
    return np.array([bool(first) and not names.intersection(first) for first, names in firsts])
