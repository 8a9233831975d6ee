"""How long a report takes from runs that are there, and how large its page is.

    python benchmarks/report_size.py [--queries 5000] [--documents 100000] [--labels 300] [--repeats 3]

Random unit vectors of 256 dimensions with made-up texts, queries near their documents, half of the test answers
relevant in training too. The fit (one ridge candidate) and the searches are made once and not timed; timed is what
comes after: collecting the summary, rendering HTML, writing the file. Medians; seed 0; one BLAS thread.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from askew import fit
from askew.data import Dataset, EmbeddingSet, Qrels
from askew.estimators import Ridge
from askew.linalg import FloatArray
from askew.report import render_html
from askew.workflows.summarise import summarise
from askew.workflows.trial import try_out

SEED, DIM = 0, 256
WORDS = ("parse", "render", "encode", "a", "the", "table", "query", "of", "date", "index", "file", "in", "lazily")


def texts(names: list[str], words: int, rng: np.random.Generator) -> dict[str, str]:
    drawn = rng.choice(WORDS, size=(len(names), words))
    return {name: " ".join(row) for name, row in zip(names, drawn.tolist(), strict=True)}


def unit(rows: FloatArray) -> FloatArray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def make(queries: int, documents: int, labels: int) -> tuple[Dataset, Dataset]:
    """Training and test queries; test query i asks for document i, training query j for document 2j."""
    rng = np.random.default_rng(SEED)
    corpus = unit(rng.normal(size=(documents, DIM)))
    turned = np.linalg.qr(rng.normal(size=(DIM, DIM)))[0]
    answer = np.concatenate([np.arange(queries), 2 * np.arange(labels)])
    asked = corpus[answer] @ (0.25 * np.eye(DIM) + 0.9 * turned) + 0.04 * rng.normal(size=(len(answer), DIM))
    names = [f"q{row}" for row in range(len(answer))]
    ids = [f"module{row % 97}.function{row}" for row in range(documents)]
    whole = Dataset(
        EmbeddingSet(names, unit(asked), encoder="random"),
        EmbeddingSet(ids, corpus, encoder="random"),
        Qrels({name: {ids[row]: 1} for name, row in zip(names, answer.tolist(), strict=True)}),
        name="random vectors",
        query_texts=texts(names, 9, rng),
        document_texts=texts(ids, 60, rng),
    )
    return whole.only(names[queries:]), whole.only(names[:queries])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("queries", 5_000), ("documents", 100_000), ("labels", 300), ("repeats", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args()
    train, test = make(args.queries, args.documents, args.labels)
    fitted = fit(train, estimators=[Ridge(strengths=(0.3,))], folds=3)
    trial = try_out(fitted, test)
    seconds: dict[str, list[float]] = {"summarise": [], "render and write": [], "both": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        for _ in range(args.repeats):
            start = time.perf_counter()
            summary = summarise(fitted, train, test, trial, seed=SEED, command="benchmarks/report_size.py")
            middle = time.perf_counter()
            path.write_text(render_html(summary), encoding="utf-8")
            end = time.perf_counter()
            for name, spent in zip(seconds, (middle - start, end - middle, end - start), strict=True):
                seconds[name].append(spent)
        size = path.stat().st_size
    lead = summary.comparisons[0]
    print(f"{args.queries:,} test queries, {args.documents:,} documents; {lead.base:.4f} to {lead.adapted:.4f}")
    for name, spent_each in seconds.items():
        print(f"  {name:<17} {statistics.median(spent_each):6.2f} s")
    print(f"  page              {size / 1e6:6.2f} MB")
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
