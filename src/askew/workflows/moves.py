"""Moves: why the queries most helped and most hurt moved, from runs that are there already."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from askew import report
from askew.adapters import Seen
from askew.data import Dataset, Run
from askew.linalg import top_k

__all__ = ["explain", "largest", "nearest_labels"]

_EXAMPLES = 3  # ids of documents that changed places with the relevant one
_NAME = 60  # characters of an id in prose


def explain(
    query: report.QueryGain,
    test: Dataset,
    runs: tuple[Run, Run],
    *,
    seen: Seen | None,
    depth: int,
    nearest: report.NearestLabel | None,
) -> report.Move | None:
    """Which relevant document moved, past or behind what, and whether the labels had named it.

    Of several relevant documents it is the one whose place counts most: that whose grade over log2(1 + place)
    changed the most in the direction of the query's gain.

    Args:
        query: that gained or lost.
        test: its judgements, and the corpus.
        runs: base and adapted.
        seen: what the adapter was fitted on.
        depth: documents that each run has of a query, at most.
        nearest: see `nearest_labels`.

    Returns:
        None where no relevant document moved in that direction.
    """
    before, after = (run.documents(query.query_id)[:depth] for run in runs)
    rose = query.gain > 0
    name = _leading(_graded(query, test), before, after, rose=rose)
    if name is None:
        return None
    old, new = (_above(name, ranked) for ranked in (before, after))
    others = [one for one in (old if rose else new) if one not in set(new if rose else old)]
    known = frozenset[str]() if seen is None else seen.split_documents([name, *others])[0]
    facts = report.Move(
        sentence="",
        doc_id=name,
        before=_place(name, before),
        after=_place(name, after),
        depth=depth,
        others=len(others),
        others_known=sum(one in known for one in others),
        examples=tuple(others[:_EXAMPLES]),
        known=name in known,
        nearest=nearest,
    )
    return replace(facts, sentence=f"{_moved(facts, rose=rose)} {_because(facts, rose=rose)}")


def largest(
    per_query: Sequence[report.QueryGain], test: Dataset, runs: tuple[Run, Run], *, most: int, depth: int
) -> tuple[list[report.QueryGain], list[report.QueryGain]]:
    """The queries that gain most, and those that lose most; of equals, those whose document moved most places.

    Args:
        per_query: what each gained.
        test: judgements, and the corpus.
        runs: base and adapted.
        most: queries on each side.
        depth: documents that each run has of a query, at most.
    """

    def first(found: list[report.QueryGain]) -> list[report.QueryGain]:
        found.sort(key=lambda query: -abs(query.gain))
        level = (
            [query for query in found if abs(query.gain) >= abs(found[most - 1].gain)] if len(found) > most else found
        )
        level.sort(key=lambda query: (-abs(query.gain), -_distance(query, test, runs, depth), query.query_id))
        return level[:most]

    return first([query for query in per_query if query.gain > 0]), first([one for one in per_query if one.gain < 0])


def _distance(query: report.QueryGain, test: Dataset, runs: tuple[Run, Run], depth: int) -> int:
    """How many places the document that counts most moved; one beyond the depth counts as next to it."""
    before, after = (run.documents(query.query_id)[:depth] for run in runs)
    name = _leading(_graded(query, test), before, after, rose=query.gain > 0)
    if name is None:
        return 0
    old, new = (_place(name, ranked) or depth + 1 for ranked in (before, after))
    return abs(old - new)


def nearest_labels(queries: Sequence[str], train: Dataset, test: Dataset) -> dict[str, report.NearestLabel]:
    """Query → the labelled training query of the largest cosine; of equals, the one of the lower id.

    Args:
        queries: embedded test queries.
        train: n labelled queries.
        test: where the queries are.
    """
    if not queries or not train.labelled:
        return {}
    asked, past = test.queries.take(list(queries)), train.queries.take(list(train.labelled))
    rows, cosines = top_k(asked.matrix, past.matrix, k=1, tie_rank=past.tie_rank, cosine=True)
    return {
        query: _label(query, past.ids[row], float(cosine), train, test)
        for query, row, cosine in zip(queries, rows[:, 0].tolist(), cosines[:, 0], strict=True)
    }


def _label(query: str, past: str, cosine: float, train: Dataset, test: Dataset) -> report.NearestLabel:
    shared = train.qrels.positives(past).keys() & test.qrels.positives(query).keys()
    return report.NearestLabel(query_id=past, text=train.query_texts.get(past, ""), cosine=cosine, shares=bool(shared))


def _graded(query: report.QueryGain, test: Dataset) -> dict[str, float]:
    return {name: grade for name, grade in test.qrels.positives(query.query_id).items() if name in test.documents}


def _leading(graded: Mapping[str, float], before: Sequence[str], after: Sequence[str], *, rose: bool) -> str | None:
    """The relevant document whose place counts most for the change; None if none moved in its direction."""
    sign = 1 if rose else -1
    gains = {name: sign * grade * (_worth(name, after) - _worth(name, before)) for name, grade in graded.items()}
    best = min(gains, key=lambda name: (-gains[name], name), default=None)
    return best if best is not None and gains[best] > 0 else None


def _worth(name: str, ranked: Sequence[str]) -> float:
    place = _place(name, ranked)
    return 0.0 if place is None else 1 / math.log2(1 + place)


def _place(name: str, ranked: Sequence[str]) -> int | None:
    return ranked.index(name) + 1 if name in ranked else None


def _above(name: str, ranked: Sequence[str]) -> Sequence[str]:
    place = _place(name, ranked)
    return ranked if place is None else ranked[: place - 1]


def _moved(move: report.Move, *, rose: bool) -> str:
    places = [f"beyond {move.depth}" if place is None else f"{place}" for place in (move.before, move.after)]
    name = move.doc_id if len(move.doc_id) <= _NAME else f"{move.doc_id[: _NAME - 1]}…"
    told = f"The relevant document {name} {'rose' if rose else 'fell'} from place {places[0]} to {places[1]}"
    if not move.others:
        return f"{told}."
    count = f"{move.others} document{'s' if move.others > 1 else ''}"
    return f"{told}, {'past' if rose else 'behind'} {count}{_answers(move.others_known, move.others)}."


def _answers(known: int, others: int) -> str:
    """How many of the others were relevant to a training query."""
    if not known:
        return ""
    which = f"{known} of which" if known < others else "all of which" if others > 1 else "which"
    return f", {which} {'was a right answer' if known == 1 else 'were right answers'} in training"


def _because(move: report.Move, *, rose: bool) -> str:
    cosine = "" if move.nearest is None else f" (cosine {move.nearest.cosine:.2f})"
    return _why_up(move, cosine) if rose else _why_down(move, cosine)


def _why_up(move: report.Move, cosine: str) -> str:
    if move.nearest is not None and move.nearest.shares:
        return f"Memory: the nearest training query{cosine} has a relevant document in common with this one."
    if move.known:
        return f"Memory: that document was a right answer in training, if not for the nearest training query{cosine}."
    apart = f"; the nearest training query{cosine} asks for others" if cosine else ""
    told = f"Learned from other documents, not memory: no label named that document{apart}."
    if not move.others_known:
        return told
    some = "one that a label named" if move.others_known == 1 else f"{move.others_known} that labels named"
    return f"{told} It passed even {some}."


def _why_down(move: report.Move, cosine: str) -> str:
    if 2 * move.others_known > move.others:
        return "Memory of other queries: most of what passed it are documents that labels named for other queries."
    told = "A side effect of what was learned from other documents: most of what passed it was named by no label"
    if move.nearest is not None and move.nearest.shares:
        return f"{told}, and this in spite of memory, as the nearest training query{cosine} shares a right answer."
    if move.known:
        return f"{told}, and this in spite of memory, as a label named the document that fell."
    return f"{told}, nor was the document that fell."
