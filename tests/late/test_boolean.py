"""Boolean queries through Signed MaxSim against plain evaluation of the same clauses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from askew.errors import ParameterError
from askew.late import BooleanIndex, Query, all_of, any_of, max_or, none_of

TERMS = [f"t{number}" for number in range(60)]


def random_clause(rng: np.random.Generator) -> Any:
    chosen = [str(term) for term in rng.permutation(TERMS[:12])[: rng.integers(1, 6)]]
    kind = rng.integers(0, 4)
    if kind == 0:
        return none_of(*chosen[:3])
    if kind == 1:
        return any_of(*chosen)
    negated = int(rng.integers(0, min(3, len(chosen)) + 1))
    return any_of(*chosen[negated:], *(none_of(term) for term in chosen[:negated]))


def test_a_thousand_random_queries_with_negated_terms_have_no_mismatch() -> None:
    rng = np.random.default_rng(0)
    documents = {f"d{row}": sorted({*rng.permutation(TERMS[:12])[: rng.integers(0, 9)].tolist()}) for row in range(40)}
    index = BooleanIndex(documents, terms=TERMS)
    queries = {f"q{row}": all_of(*(random_clause(rng) for _ in range(rng.integers(1, 5)))) for row in range(1000)}
    scores = index.scores(queries)
    wanted = np.array([[query.satisfied(set(terms)) for terms in documents.values()] for query in queries.values()])
    assert np.max(np.abs(scores - wanted)) < 1e-9
    whole = np.array([[query.matches(set(terms)) for terms in documents.values()] for query in queries.values()])
    clauses = np.array([len(query.clauses) for query in queries.values()])[:, None]
    assert np.array_equal(scores > clauses - 0.5, whole)


def test_positive_clauses_count_once_however_many_synonyms_are_there() -> None:
    index = BooleanIndex({"all": ["a", "b", "c"], "one": ["b"], "none": ["z"]})
    query = {"q": all_of(any_of("a", "b", "c"))}
    assert np.allclose(index.scores(query), [[1.0, 1.0, 0.0]], rtol=0, atol=1e-12)
    assert index.search(query, k=2).documents("q") == ("all", "one")


def test_max_or_is_the_heaviest_term_present() -> None:
    rng = np.random.default_rng(1)
    documents = {
        f"d{row}": {str(term): float(rng.uniform(0.2, 2)) for term in rng.permutation(TERMS)[: rng.integers(1, 9)]}
        for row in range(60)
    }
    index = BooleanIndex(documents)
    for _ in range(30):
        chosen = rng.permutation(list(index.places))[: rng.integers(1, 8)]
        weights = {str(term): float(10 ** rng.uniform(-2, 2)) for term in chosen}
        wanted = [max((w * held.get(t, 0.0) for t, w in weights.items()), default=0.0) for held in documents.values()]
        assert np.allclose(index.scores({"q": all_of(max_or(weights))}), [wanted], rtol=1e-12, atol=1e-11)


def test_a_query_that_only_excludes_returns_what_lacks_the_term() -> None:
    index = BooleanIndex({"a": ["x", "google"], "b": ["x"], "c": []})
    run = index.search({"q": all_of(none_of("google"))})
    assert run.documents("q") == ("b", "c", "a")
    assert run.scores("q").tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("k", [1, 7, 40, 300])
def test_search_is_the_top_of_the_whole_ranking(k: int) -> None:
    """Scores that tie, but for rounding, stand by id, also where the cut goes through them."""
    rng = np.random.default_rng(2)
    names = rng.permutation([f"d{row:03}" for row in range(200)])
    documents = {
        str(name): {str(term): 1.0 + (rng.random() < 0.1) for term in rng.permutation(TERMS[:12])[: rng.integers(0, 9)]}
        for name in names
    }
    index = BooleanIndex(documents, terms=TERMS)
    clauses = [[random_clause(rng) for _ in range(rng.integers(1, 5))] for _ in range(30)]
    plain = [[clause for clause in some if not clause.negated] or ["t1"] for some in clauses]  # documents weigh terms
    queries = {f"q{row}": all_of(*some) for row, some in enumerate(plain)}
    run = index.search(queries, k=k)
    for (query, held, scores), row in zip(run.items(), np.round(index.scores(queries), 9), strict=True):
        ranked = sorted(zip(documents, row, strict=True), key=lambda pair: (-pair[1], pair[0]))[:k]
        assert held == tuple(name for name, _ in ranked), query
        assert scores.tolist() == [score for _, score in ranked]


def test_none_of_takes_away_what_the_term_weighs() -> None:
    index = BooleanIndex({"a": {"x": 0.5, "y": 3.0}, "b": {"x": 1.0}})
    assert np.allclose(index.scores({"q": all_of("x", none_of("y"))}), [[-1.5, 2.0]])
    assert BooleanIndex({}).search({"q": all_of("x")}).documents("q") == ()


def test_terms_that_no_document_has() -> None:
    index = BooleanIndex({"a": ["x"]})
    assert index.scores({"q": all_of("nowhere"), "r": all_of(none_of("nowhere")), "s": all_of("x")}).tolist() == [
        [0.0],
        [1.0],
        [pytest.approx(1.0)],
    ]


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (all_of, "no parts"),
        (any_of, "0 parts"),
        (none_of, "no terms"),
        (lambda: max_or({"a": -1.0}), "not above 0"),
        (lambda: any_of("a", any_of("b")), "neither a term nor"),
        (lambda: any_of(*(none_of(term) for term in TERMS[:9])), "9 of them negated"),
        (lambda: max_or(["a"]), "max_or: it is"),  # type: ignore[arg-type]
        (lambda: BooleanIndex({"a": {"x": 0.0}}), "document 'a'"),
        (lambda: BooleanIndex({"a": {"x": "y"}}), "document 'a'"),
        (lambda: BooleanIndex({"a": "xyz"}), "document 'a': its terms are a str"),
        (lambda: BooleanIndex({"a": None}), "document 'a': its terms are a NoneType"),  # type: ignore[dict-item]
        (lambda: BooleanIndex({"a": ["x"]}, most_terms=-1), "most_terms: -1 terms"),
        (lambda: BooleanIndex({"a": ["x"]}).search({"q": any_of("x")}), "query 'q': .*with all_of"),  # type: ignore[dict-item]
        (lambda: BooleanIndex({"a": ["x"]}).search(all_of("x")), "queries: "),  # type: ignore[arg-type]
        (lambda: BooleanIndex({"a": {"x": 0.5}}).scores({"q": all_of(any_of("x", none_of("y")))}), "negated term"),
        (lambda: BooleanIndex({"a": ["x"]}, most_terms=2).scores({"q": Query((any_of(*"xyz"),))}), "has 3 terms"),
        (lambda: BooleanIndex({}, terms=map(str, range(20_000)), most_terms=1000), "no code holds 20,000 terms"),
    ],
)
def test_what_cannot_be_asked_is_told(make: Any, told: str) -> None:
    with pytest.raises(ParameterError, match=told):
        make()
