"""Saying what one does not want, without training: subtraction, demotion, and what plain scores make of negation.

    python benchmarks/exclusion.py --data DIR --model PATH [--tokens DIR] [--passages 120] [--sets NAME ...]
        [--short]

Cranfield "without a word" (askew.reproduce.exclusion.without_terms): settings are chosen on one half of the
queries (by a hash of the id) and reported on the other. SemAntoNeg and condaqa-neg (test splits): choices between
near-twins. MODEL is all-MiniLM-L6-v2, whose pooled vectors DIR holds. Token embeddings are kept in --tokens.
Writes exclusion.md and exclusion.json.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from askew.data import EmbeddingSet, Qrels, Run, TokenEmbeddings
from askew.data.folds import hash_order
from askew.encoders import SentenceTransformerEncoder, TokenStateEncoder
from askew.encoders._models import longer_than
from askew.evaluation import choice_accuracy, evaluate, exclusion_success
from askew.formats import read_embeddings, read_split, read_texts, read_tokens, write_tokens
from askew.late import demote, excluding, maxsim_pairs, search
from askew.reproduce import Study, Table
from askew.reproduce.exclusion import Without, split_negation, without_terms
from askew.retrieval import search as search_vectors

WEIGHTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
DEVIATIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
DEPTH, ENOUGH = 100, 0.95
SETS = ("cranfield", "semantoneg", "condaqa-neg")


class Kept:
    """Token embeddings of texts, made once."""

    def __init__(self, model: str, home: Path) -> None:
        self.model, self.home = model, home
        self.held: TokenStateEncoder | None = None

    @property
    def encoder(self) -> TokenStateEncoder:
        self.held = self.held or TokenStateEncoder(self.model, name="minilm-l6")
        return self.held

    def tokens(self, name: str, texts: Mapping[str, str], kind: Any) -> TokenEmbeddings:
        folder = self.home / name
        if folder.is_dir():
            held = read_tokens(folder)
            if set(texts) <= set(held.ids):
                return held
        write_tokens(self.encoder.encode(texts, kind=kind, long="windows", dtype="float16").tokens, folder)
        return read_tokens(folder)

    def parts(self, texts: Mapping[str, str]) -> TokenEmbeddings:
        return self.encoder.bare().encode(texts, kind="query").tokens


def ranked(scores: Mapping[str, Mapping[str, float]]) -> Run:
    return Run({query: dict(row) for query, row in scores.items()})


def measured(run: Run, cases: Sequence[Without]) -> dict[str, float]:
    """Success at 10, nDCG@10 of the included, and the same with what is excluded taken out of the ranking."""
    qrels = Qrels({case.query: case.relevant for case in cases})
    clean = {
        case.query: {
            name: score
            for name, score in zip(run.documents(case.query), run.scores(case.query).tolist(), strict=True)
            if name not in case.excluded
        }
        for case in cases
    }
    return {
        "success": float(exclusion_success(run, {case.query: case.excluded for case in cases}).mean()),
        "included": evaluate(run, qrels, ["nDCG@10"]).mean("nDCG@10"),
        "order": evaluate(Run(clean), qrels, ["nDCG@10"]).mean("nDCG@10"),
    }


def best(
    make: Callable[[float], Run], grid: Sequence[float], cases: Sequence[Without]
) -> tuple[float, list[list[Any]]]:
    """The setting of best nDCG@10 among those of enough success, else that of most success; and what each reaches."""
    rows = [[value, *measured(make(value), cases).values()] for value in grid]
    enough = [row for row in rows if row[1] >= ENOUGH]
    chosen = max(enough, key=lambda row: row[2]) if enough else max(rows, key=lambda row: row[1])
    return chosen[0], rows


@dataclass(frozen=True, eq=False)
class Task:
    """Cranfield without a word: token embeddings, and what MaxSim finds for A alone."""

    cases: tuple[Without, ...]
    queries: Mapping[str, str]
    texts: Mapping[str, str]
    documents: TokenEmbeddings
    wanted: TokenEmbeddings
    unwanted: TokenEmbeddings
    plain: Run

    @classmethod
    def prepare(cls, home: Path, kept: Kept, *, short: bool) -> Task:
        queries = read_texts(home / "queries.jsonl")
        texts = {name: text for name, text in read_texts(home / "corpus.jsonl").items() if text.strip()}
        if short:
            over = longer_than(kept.encoder.model, kept.encoder.limit("document"), list(texts.values()))
            texts = {name: text for (name, text), long in zip(texts.items(), over, strict=True) if not long}
        cases = without_terms(queries, texts, read_split(home, "test"))
        documents = kept.tokens("cranfield/corpus", texts, "document").take(list(texts))
        wanted = kept.tokens("cranfield/queries", queries, "query").take([case.query for case in cases])
        unwanted = kept.parts({case.query: case.term for case in cases})
        return cls(cases, queries, texts, documents, wanted, unwanted, search(wanted, documents, k=DEPTH))

    def halves(self) -> tuple[list[Without], list[Without]]:
        """Queries to choose settings on, and to report."""
        order = hash_order([case.query for case in self.cases])
        first = set(order[: len(order) // 2])
        return (
            [case for case in self.cases if case.query in first],
            [case for case in self.cases if case.query not in first],
        )

    @cached_property
    def against(self) -> dict[tuple[str, str], float]:
        """What `excluding` takes away at weight 1, without scoring again for every weight."""
        pairs = [(query, name) for query, names, _ in self.plain.items() for name in names]
        found = maxsim_pairs(self.unwanted, self.documents, pairs, mean=True).tolist()
        sizes = dict(zip(self.wanted.ids, self.wanted.lengths.tolist(), strict=True))
        return {pair: sizes[pair[0]] * value for pair, value in zip(pairs, found, strict=True)}

    def subtracted(self, weight: float) -> Run:
        return ranked(
            {
                query: {
                    name: score - weight * self.against[query, name]
                    for name, score in zip(names, scores.tolist(), strict=True)
                }
                for query, names, scores in self.plain.items()
            }
        )

    def demoted(self, deviations: float, most: int | None = None) -> Run:
        return demote(self.plain, self.unwanted, self.documents, depth=DEPTH, deviations=deviations, most=most).run

    def oracle(self) -> Run:
        return ranked(
            {
                case.query: {
                    name: score
                    for name, score in zip(
                        self.plain.documents(case.query), self.plain.scores(case.query).tolist(), strict=True
                    )
                    if name not in case.excluded
                }
                for case in self.cases
            }
        )


class Pooled:
    """The same model's vector a text."""

    def __init__(self, home: Path, task: Task, model: str) -> None:
        self.asked, self.documents = (
            read_embeddings(home / f"embeddings/minilm-l6/{side}.npy").take(names)
            for side, names in (("queries", [case.query for case in task.cases]), ("docs", list(task.texts)))
        )
        encoder = SentenceTransformerEncoder(model)
        self.terms = encoder.encode([case.term for case in task.cases], kind="query")
        told = [f"{task.queries[case.query].rstrip(' .?')}, without {case.term}" for case in task.cases]
        self.told = encoder.encode(told, kind="query")

    def found(self, matrix: Any) -> Run:
        return search_vectors(EmbeddingSet(self.asked.ids, matrix), self.documents, k=len(self.documents))

    def turned(self, weight: float) -> Run:
        return self.found(np.asarray(self.asked.matrix, np.float32) - weight * self.terms)


def cranfield(data: Path, kept: Kept, *, short: bool) -> tuple[list[Table], list[str]]:
    home = data / "cranfield"
    task = Task.prepare(home, kept, short=short)
    pooled = Pooled(home, task, kept.model)
    choosing, telling = task.halves()
    weight, by_weight = best(task.subtracted, WEIGHTS, choosing)
    deviations, by_deviation = best(task.demoted, DEVIATIONS, choosing)
    turn, by_turn = best(pooled.turned, WEIGHTS, choosing)
    exact = search(excluding(task.wanted, task.unwanted, weight=weight), task.documents, k=DEPTH)
    systems: list[tuple[str, Run]] = [
        ("pooled, A alone", pooled.found(pooled.asked.matrix)),
        ('pooled, "A, without t" in words', pooled.found(pooled.told)),
        (f"pooled, A - {turn:g} t", pooled.turned(turn)),
        ("MaxSim, A alone", task.plain),
        (f"MaxSim, excluding at {weight:g}, reranking {DEPTH}", task.subtracted(weight)),
        (f"MaxSim, excluding at {weight:g}, exact search", exact),
        ("MaxSim, demoted as EXCISE: 1 deviation, 3 at most", task.demoted(1.0, 3)),
        (f"MaxSim, demoted: {deviations:g} deviations", task.demoted(deviations)),
        ("MaxSim, what holds t taken out (oracle)", task.oracle()),
    ]
    rows: list[list[Any]] = [[name, *measured(run, telling).values()] for name, run in systems]
    head = ("success@10", "nDCG@10, included", "nDCG@10, order of the included")
    tables = [
        Table(
            title="Cranfield without a word",
            head=("system", *head),
            rows=rows,
            note=f"{len(task.texts):,} documents; {len(telling)} queries that chose no setting. A success has no "
            "document that holds the word among the first ten. The last column leaves those out before it judges.",
        ),
        Table(
            title="What each setting reaches where it is chosen",
            head=("system", "setting", *head),
            rows=[
                *(["MaxSim, excluding", *row] for row in by_weight),
                *(["MaxSim, demoted", *row] for row in by_deviation),
                *(["pooled", *row] for row in by_turn),
            ],
            note=f"{len(choosing)} other queries. Chosen: the best nDCG@10 where success is {ENOUGH} or more.",
        ),
    ]
    (_, *before), (_, *after) = rows[3], rows[5]
    told = (f"{name} {one:.3f} → {other:.3f}" for name, one, other in zip(head, before, after, strict=True))
    return tables, [f"Excluding at {weight:g}: {'; '.join(told)}."]


def choices_of(path: Path) -> dict[str, tuple[list[str], list[str]]]:
    with path.open(encoding="utf-8") as lines:
        return {
            row["query-id"]: (row["positives"].split("|"), row["negatives"].split("|"))
            for row in csv.DictReader(lines, delimiter="\t")
            if row["split"] == "test"
        }


def twins(data: Path, name: str, kept: Kept, passages: int) -> list[list[Any]]:
    home = data / name
    queries, texts = read_texts(home / "queries.jsonl"), read_texts(home / "corpus.jsonl")
    choices = choices_of(home / "pairs.tsv")
    groups = None
    if name == "condaqa-neg":  # d7-q2-y and d7-q2-n are one question of passage d7, and its opposite
        first = set(hash_order({query.partition("-")[0] for query in choices})[:passages])
        choices = {query: held for query, held in choices.items() if query.partition("-")[0] in first}
        groups = {query: query.rpartition("-")[0] for query in choices}
    asked = {query: queries[query] for query in choices}
    named = {query: [*right, *wrong] for query, (right, wrong) in choices.items()}
    told = {document: texts[document] for documents in named.values() for document in documents}
    documents = kept.tokens(f"{name}/corpus", told, "document")
    wanted = kept.tokens(f"{name}/queries", asked, "query").take(list(asked))
    split = {query: parts for query, text in asked.items() if (parts := split_negation(text)) is not None}
    unwanted = kept.parts({query: parts[1] for query, parts in split.items()})
    without = kept.encoder.encode({query: parts[0] for query, parts in split.items()}, kind="query").tokens

    def scored(tokens: TokenEmbeddings) -> dict[str, dict[str, float]]:
        pairs = [(query, document) for query in tokens.ids for document in named[query]]
        found: dict[str, dict[str, float]] = {query: {} for query in tokens.ids}
        for (query, document), score in zip(pairs, maxsim_pairs(tokens, documents, pairs).tolist(), strict=True):
            found[query][document] = score
        return found

    vectors = [read_embeddings(home / f"embeddings/minilm-l6/{side}.npy") for side in ("queries", "docs")]
    left, right = (side.take(list(names)) for side, names in zip(vectors, (asked, told), strict=True))
    rows = {document: np.asarray(row, np.float64) for document, row in zip(right.ids, right.matrix, strict=True)}
    pooled = {
        query: {document: float(np.asarray(row, np.float64) @ rows[document]) for document in named[query]}
        for query, row in zip(left.ids, left.matrix, strict=True)
    }
    plain = scored(wanted)
    systems = {
        "pooled": ranked(pooled),
        "MaxSim": ranked(plain),
        **{
            f"MaxSim, excluding at {weight:g}": ranked(plain | scored(excluding(without, unwanted, weight=weight)))
            for weight in (0.5, 1.0)
        },
        "MaxSim, demoted: 0.5 deviations": demote(ranked(plain), unwanted, documents, deviations=0.5).run,
    }
    table = []
    for system, run in systems.items():
        for what, some in (("all", choices), ("split", {query: choices[query] for query in split})):
            judged = choice_accuracy(run, some, groups=groups)
            found = judged.to_json()
            paired = found["paired"] if groups else None
            table.append([name, what, found["queries"], system, found["strict"], found["pairwise"], paired])
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--tokens", type=Path, default=Path("tokens"))
    parser.add_argument("--passages", type=int, default=120, help="of condaqa-neg, the first by a hash of their ids")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--short", action="store_true", help="of cranfield, the documents within the model's window")
    parser.add_argument("--output", type=Path, default=Path("reproduced"))
    given = parser.parse_args()
    kept = Kept(given.model, given.tokens)
    tables, findings = cranfield(given.data, kept, short=given.short) if "cranfield" in given.sets else ([], [])
    near = [name for name in SETS[1:] if name in given.sets]
    rows = [row for name in near for row in twins(given.data, name, kept, given.passages)]
    if rows:
        tables.append(
            Table(
                title="Choices between near-twins",
                head=("set", "queries", "n", "system", "strict", "pairwise", "paired"),
                rows=rows,
                note="Split: queries whose negated part the rule could take out; the others keep MaxSim. Chance: "
                "SemAntoNeg strict 0.333, pairwise 0.5; condaqa-neg pairwise 0.5.",
            )
        )
    settings = {"encoder": "minilm-l6", "depth": DEPTH, "passages": given.passages, "short": given.short}
    study = Study(
        name="exclusion",
        title="Saying what one does not want",
        settings=settings,
        findings=findings,
        tables=tables,
    )
    print(study.to_markdown())
    for path in study.write(given.output):
        print(path)


if __name__ == "__main__":
    main()
