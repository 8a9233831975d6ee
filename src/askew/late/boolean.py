"""Boolean queries as Signed MaxSim: clauses over terms, each a query token or a few.

    all_of("ai", any_of("open source", "libre"), none_of("google"))

A document is the set of its terms, coded (`askew.late.codes.OneHotCode`), and a zero token. One query token
answers a whole clause: its product is w_t at each of the clause's terms, whichever the document has, and 0 or
less at any other, so the maximum is that of the weights of the terms present (*weighted Max-OR*): several
synonyms count once. With weights of 1 the score of a query is the number of clauses that hold.

The terms of a document may weigh v: then a clause counts the heaviest w_t·v_t present, and `none_of` takes away as
much. A negated term within a clause is for documents without weights. Scores err by rounding in float64 alone, of
which no bound is stated; a search rounds them to 1e-9.

A clause may hold negated terms too, A ∨ ¬B = [B ≠ ∅] + Σ_{S ⊆ B} (-1)^|S| OR(A ∪ S): 2^|B| tokens of sign ±1
and a constant. `none_of` is one token of sign -1 and a constant. The constants are added to the scores.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from askew._checks import check_count, check_kind, is_number
from askew.data import Run, TokenEmbeddings
from askew.data.ids import as_id
from askew.data.ragged import running_count
from askew.errors import ParameterError
from askew.late.codes import OneHotCode
from askew.late.maxsim import maxsim
from askew.late.search import best
from askew.linalg.fixed import Float64Array

__all__ = ["BooleanIndex", "Clause", "Query", "all_of", "any_of", "max_or", "none_of"]

# A clause of b negated terms takes 2^b query tokens.
_MOST_NEGATED = 8
# Of scores that are ranked: what rounding costs lies far below.
_DECIMALS = 9
_PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)


@dataclass(frozen=True)
class Clause:
    """Holds if a document has one of its terms, or lacks one of its negated terms.

    Attributes:
        terms: term → weight, what the clause counts if that term is the heaviest present.
        negated: terms whose absence makes it hold.
        absent: the clause holds if *none* of its terms is present; it has no negated ones then.

    >>> any_of("a", none_of("b")).holds({"b"}), none_of("a", "b").holds({"c"})
    (False, True)
    """

    terms: tuple[tuple[str, float], ...]
    negated: tuple[str, ...] = ()
    absent: bool = False

    def holds(self, terms: Collection[str]) -> bool:
        """Whether a document of some terms satisfies it."""
        present = any(term in terms for term, _ in self.terms)
        return not present if self.absent else present or any(term not in terms for term in self.negated)


@dataclass(frozen=True)
class Query:
    """Clauses that should all hold.

    >>> all_of("a", none_of("b")).matches({"a"}), all_of("a", none_of("b")).matches({"a", "b"})
    (True, False)
    """

    clauses: tuple[Clause, ...]

    def matches(self, terms: Collection[str]) -> bool:
        """Whether a document of some terms satisfies every clause."""
        return all(clause.holds(terms) for clause in self.clauses)

    def satisfied(self, terms: Collection[str]) -> int:
        """How many clauses a document of some terms satisfies."""
        return sum(clause.holds(terms) for clause in self.clauses)


Part: TypeAlias = "str | Clause"


def all_of(*parts: Part) -> Query:
    """Every part should hold: a term, an `any_of`, a `none_of` or a `max_or`.

    Raises:
        ParameterError: there are no parts.
    """
    if not parts:
        raise ParameterError("the query has no parts", where="all_of", remedy="Give a term or a clause")
    return Query(tuple(part if isinstance(part, Clause) else any_of(part) for part in parts))


def any_of(*parts: Part) -> Clause:
    """One part should hold: a term, or `none_of` one term.

    Raises:
        ParameterError: there are no parts, a part is no term and no negated one, or too many are negated.

    >>> any_of("libre", none_of("google")).negated
    ('google',)
    """
    terms = tuple(dict.fromkeys(as_id(part) for part in parts if not isinstance(part, Clause)))
    inner = [part for part in parts if isinstance(part, Clause)]
    if any(not part.absent or len(part.terms) != 1 for part in inner):
        raise ParameterError(
            "a part of any_of is neither a term nor none_of one term",
            where="any_of",
            remedy="Put none_of(a), none_of(b) for 'a is absent or b is', and clauses side by side in all_of",
        )
    negated = tuple(dict.fromkeys(part.terms[0][0] for part in inner))
    if not parts or len(negated) > _MOST_NEGATED:
        raise ParameterError(
            f"the clause has {len(parts)} parts, {len(negated)} of them negated",
            where="any_of",
            remedy=f"Give at least one part, and at most {_MOST_NEGATED} negated ones",
        )
    return Clause(tuple((term, 1.0) for term in terms), negated)


def none_of(*terms: str) -> Clause:
    """No term should be there.

    Raises:
        ParameterError: there are no terms.
    """
    if not terms:
        raise ParameterError("the clause has no terms", where="none_of", remedy="Give at least one")
    return Clause(tuple((term, 1.0) for term in dict.fromkeys(map(as_id, terms))), absent=True)


def max_or(weights: Mapping[str, float]) -> Clause:
    """Weighted Max-OR: what the heaviest term present weighs; 0 if none is.

    Raises:
        ParameterError: there are no terms, or a weight is not above 0.
    """
    check_kind(weights, Mapping, "max_or", "Give term → weight")
    if not weights or any(not is_number(weight) or not 0 < weight < np.inf for weight in weights.values()):
        raise ParameterError("a weight is not above 0", where="max_or", remedy="Give terms with weights above 0")
    return Clause(tuple((as_id(term), float(weight)) for term, weight in weights.items()))


class BooleanIndex:
    """Documents as sets of terms, ranked by Boolean queries through Signed MaxSim.

    Args:
        documents: document id → its terms, or its terms and their weights above 0.
        terms: the vocabulary, if it is to be larger than the documents' own.
        most_terms: how many terms a clause may have.

    Raises:
        ParameterError: a weight is not above 0, or the vocabulary is too large for a clause so long.

    >>> index = BooleanIndex({"a": ["ai", "google"], "b": ["ai", "libre"]})
    >>> run = index.search({"q": all_of("ai", none_of("google"))})
    >>> run.documents("q"), run.scores("q").tolist()
    (('b', 'a'), [2.0, 1.0])
    """

    def __init__(
        self,
        documents: Mapping[str, Iterable[str] | Mapping[str, float]],
        *,
        terms: Iterable[str] = (),
        most_terms: int = 8,
    ) -> None:
        check_kind(documents, Mapping, "documents", "Give document id → its terms")
        check_count(most_terms, "terms", least=1, where="most_terms")
        held = {name: _weighted(found, name) for name, found in documents.items()}
        known = dict.fromkeys(chain(chain.from_iterable(held.values()), (as_id(term) for term in terms)))
        self.places = {term: place for place, term in enumerate(known)}
        self.most_terms = most_terms
        self.weighted = any(weight != 1 for terms in held.values() for weight in terms.values())
        self.code = _clause_code(max(1, len(self.places)), most_terms)
        self.documents = self._document_tokens(held)

    def tokens(self, queries: Mapping[str, Query]) -> tuple[TokenEmbeddings, Float64Array]:
        """Query tokens, and the constant to add to each query's scores: (n,).

        Raises:
            ParameterError: a clause has more terms than the index was made for, or a negated one where documents
                have weights; a query is none.
        """
        check_kind(queries, Mapping, "queries", "Give query id → all_of(...)")
        for name, query in queries.items():
            check_kind(query, Query, f"query {name!r}", "Make it with all_of")
            if self.weighted and any(clause.negated for clause in query.clauses):
                raise ParameterError(
                    "a clause has a negated term, and terms of the documents have weights",
                    where=f"query {name!r}",
                    remedy="Give the documents plain sets of terms, or make none_of a clause of its own",
                )
        made = [self._query_tokens(query) for query in queries.values()]
        tokens = TokenEmbeddings.from_list(
            queries, [rows for rows, _, _ in made], weights=[signs for _, signs, _ in made], source="Boolean queries"
        )
        return tokens, np.array([constant for _, _, constant in made])

    def scores(self, queries: Mapping[str, Query]) -> Float64Array:
        """(n, m) scores: the number of clauses that hold, where all weights are 1, but for rounding."""
        tokens, constants = self.tokens(queries)
        return maxsim(tokens, self.documents) + constants[:, None]

    def search(self, queries: Mapping[str, Query], *, k: int = 100) -> Run:
        """The k documents that satisfy most clauses of each query, best first; ties by id.

        Scores are rounded to 1e-9, so that documents that satisfy as many clauses tie.

        Raises:
            ParameterError: k is below 1, or a clause has more terms than the index was made for.
        """
        tokens, constants = self.tokens(queries)
        rows, scores = best(
            tokens, self.documents, k, lambda query, scores: np.round(scores + constants[query], _DECIMALS)
        )
        return Run.from_rows(tokens.ids, self.documents.ids, rows, scores)

    def _document_tokens(self, held: Mapping[str, Mapping[str, float]]) -> TokenEmbeddings:
        """Each document's terms after a zero token."""
        offsets = running_count([len(terms) + 1 for terms in held.values()])
        tokens = np.zeros((int(offsets[-1]), self.code.dim))
        own = np.setdiff1d(np.arange(len(tokens)), offsets[:-1])
        places = [self.places[term] for terms in held.values() for term in terms]
        weights = [weight for terms in held.values() for weight in terms.values()]
        tokens[own] = self.code.document(np.array(places, dtype=np.int64), weights)
        return TokenEmbeddings(held, tokens, offsets, source="Boolean documents")

    def _query_tokens(self, query: Query) -> tuple[Float64Array, list[float], float]:
        """(t, d) tokens of a query, their signs, and its constant."""
        rows: list[Float64Array] = [np.zeros(self.code.dim)]  # so that no query is empty
        signs, constant = [1.0], 0.0
        for clause in query.clauses:
            constant += clause.absent or bool(clause.negated)
            for size in range(len(clause.negated) + 1):
                for some in combinations(clause.negated, size):
                    rows.append(self._max_or({**dict(clause.terms), **dict.fromkeys(some, 1.0)}))
                    signs.append(-1.0 if clause.absent else (-1.0) ** size)
        return np.array(rows), signs, constant

    def _max_or(self, weights: Mapping[str, float]) -> Float64Array:
        """(d,) the token whose product is w_t at each term of a clause, and at most 0 at any other.

        With G the products of the terms' words and o their largest overlap: β = G⁻¹(w + τ1) gives w_t + τ on
        the clause, and off it at most o·Σβ. τ is the least with β ≥ 0 and o·Σβ ≤ τ.
        """
        if len(weights) > self.most_terms:
            raise ParameterError(
                f"a clause has {len(weights)} terms, and the index takes {self.most_terms}",
                where="most_terms",
                remedy="Make the index with most_terms as large",
            )
        known = {self.places[term]: weight for term, weight in weights.items() if term in self.places}
        if not known:  # no document has any of them
            return np.zeros(self.code.dim)
        words = self.code.words(np.array([*known], dtype=np.int64))
        each, ones = np.linalg.solve(words @ words.T, np.array([[*known.values()], np.ones(len(known))]).T).T
        overlap = self.code.overlap
        shift = max(overlap * each.sum() / (1 - overlap * ones.sum()), float(np.max(-each / ones)), 0.0)
        return np.append((each + shift * ones) @ words, -shift)


def _weighted(terms: Iterable[str] | Mapping[str, float], name: str) -> dict[str, float]:
    if isinstance(terms, str) or not isinstance(terms, Iterable):
        raise ParameterError(
            f"its terms are a {type(terms).__name__}", where=f"document {name!r}", remedy="Give a list of them"
        )
    held = dict(terms) if isinstance(terms, Mapping) else dict.fromkeys(terms, 1.0)
    if any(not is_number(weight) or not 0 < weight < np.inf for weight in held.values()):
        raise ParameterError("a term's weight is not above 0", where=f"document {name!r}", remedy="Leave the term out")
    return {as_id(term): float(weight) for term, weight in held.items()}


def _clause_code(size: int, terms: int) -> OneHotCode:
    """The smallest code under which every clause of so many terms has a token.

    q > 2(m - 1)o makes G⁻¹1 positive, by diagonal dominance, and q > m·o then keeps o·1ᵀG⁻¹1 below 1.
    """
    for prime in _PRIMES:
        digits = next(count for count in range(1, 64) if prime**count >= size)
        overlap = digits - 1
        if digits < prime and prime > max(2 * (terms - 1), terms) * overlap:
            return OneHotCode(size, prime, digits)
    raise ParameterError(
        f"no code holds {size:,} terms for clauses of {terms}",
        where="most_terms",
        remedy="Allow shorter clauses, or fewer terms",
    )
