"""Sets to measure exclusion on, by rules that anybody can recompute.

`without_terms` makes "A, without t" from judged queries: t is a word of some of A's relevant documents, and a
document that holds it is no longer wanted. `split_negation` takes the negated part out of a sentence, or says
that it cannot.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from askew.data import Qrels
from askew.errors import LabelError

__all__ = ["Without", "split_negation", "without_terms", "words"]

_WORD = re.compile(r"[a-z]{4,}")
# A word of fewer documents excludes next to nothing, of more it is no topic.
_RAREST, _COMMONEST = 0.01, 0.1
_LEAST = 2
# From the negator to the end of its clause.
_NEGATED = re.compile(
    r"\b(?:not|never|no|without|cannot|none of|nothing|neither|nor)\b|n't\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,.;:?!]|\b(?:but|and|or|because|which|that)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Without:
    """A query that does not want a word.

    Attributes:
        query: its id.
        term: the word.
        relevant: relevant documents without the word, and their grades.
        excluded: all documents that hold the word.
    """

    query: str
    term: str
    relevant: Mapping[str, float]
    excluded: frozenset[str]


def words(text: str) -> set[str]:
    """The words of a text: runs of four letters or more, in lower case.

    >>> sorted(words("Heat transfer, on a FLAT plate"))
    ['flat', 'heat', 'plate', 'transfer']
    """
    return set(_WORD.findall(text.lower()))


def without_terms(queries: Mapping[str, str], documents: Mapping[str, str], qrels: Qrels) -> tuple[Without, ...]:
    """Give each judged query a word that it does not want.

    The word stands in 1 to 10% of the documents and not in the query; at least two relevant documents hold it
    and at least two do not. Of such words the one that parts the relevant documents most evenly is taken, of
    equal ones the rarest, then the first in the alphabet. A query without such a word is left out.

    Args:
        queries: id → text.
        documents: likewise.
        qrels: judgements; those of documents that are not here are left out.

    Raises:
        LabelError: no query has such a word.

    >>> documents = {"a": "newts swim", "b": "newts crawl", "c": "frogs swim", "d": "toads swim"} | {
    ...     str(place): "something else" for place in range(16)
    ... }
    >>> qrels = Qrels({"q": {"a": 1, "b": 1, "c": 1, "d": 2}})
    >>> (found,) = without_terms({"q": "which animals swim?"}, documents, qrels)
    >>> found.term, dict(found.relevant), sorted(found.excluded)
    ('newts', {'c': 1.0, 'd': 2.0}, ['a', 'b'])
    """
    held = {name: words(text) for name, text in documents.items()}
    frequency = Counter(word for found in held.values() for word in found)
    low, high = _RAREST * len(documents), _COMMONEST * len(documents)
    made = []
    for query in qrels.queries:
        relevant = {name: grade for name, grade in qrels.positives(query).items() if name in held}
        counts = Counter(word for name in relevant for word in held[name] - words(queries[query]))
        usable = {
            word: min(count, len(relevant) - count)
            for word, count in counts.items()
            if low <= frequency[word] <= high and min(count, len(relevant) - count) >= _LEAST
        }
        if not usable:
            continue
        term = min(usable, key=lambda word: (-usable[word], frequency[word], word))
        kept = {name: grade for name, grade in relevant.items() if term not in held[name]}
        made.append(Without(query, term, kept, frozenset(name for name, found in held.items() if term in found)))
    if not made:
        raise LabelError("no query has a word that some of its relevant documents hold and others do not")
    return tuple(made)


def split_negation(text: str) -> tuple[str, str] | None:
    """What a sentence says without its negated part, and that part; None where either would be empty.

    The negated part goes from the first negator with a word after it to the end of its clause: a mark such as
    a comma, or a word such as "but". It is a rule of surface: it does not know what "not only" means.

    >>> split_negation("You're not fat.")
    ("You're.", 'fat')
    >>> split_negation("It is unhealthy."), split_negation("No.")
    (None, None)
    """
    for found in _NEGATED.finditer(text):
        end = _CLAUSE.search(text, found.end())
        stop = end.start() if end else len(text)
        unwanted = text[found.end() : stop].strip()
        wanted = f"{text[: found.start()].rstrip()}{text[stop:]}".strip()
        if re.search(r"\w", unwanted) and re.search(r"\w", wanted):
            return wanted, unwanted
    return None
