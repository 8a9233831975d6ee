"""The commands around an adapter: `evaluate`, `search`, `apply`, `inspect`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from askew.cli.console import comparison_table, emit_json, say, show, show_findings
from askew.cli.options import (
    AsJson,
    BadRows,
    BadRowsPolicy,
    DocumentEncoder,
    Encoder,
    Measures,
    Quiet,
    Seed,
    SimilarityName,
    similarity,
)
from askew.formats import (
    load_adapter,
    read_embeddings,
    read_run,
    run_lines,
    write_embeddings,
    write_run,
)
from askew.retrieval import search as search_exactly
from askew.workflows.assess import MEASURES
from askew.workflows.describe import describe
from askew.workflows.score import score

__all__ = ["apply", "evaluate", "inspect", "search"]

Adapter = Annotated[Path | None, typer.Option("--adapter", "-a", help="An adapter's folder.")]


def evaluate(
    data: Annotated[Path, typer.Argument(help="A folder, as for fit.")],
    adapter: Adapter = None,
    run: Annotated[Path | None, typer.Option(help="A TREC run to evaluate instead of searching.")] = None,
    split: Annotated[str | None, typer.Option(help="Whose judgements; test by default where there is one.")] = None,
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    measure: Measures = None,
    similarity_name: Annotated[
        SimilarityName | None, typer.Option("--similarity", help="How your index scores; the adapter's by default.")
    ] = None,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure the base, an adapter against its base, or a run, on judged queries."""
    result = score(
        data,
        adapter=adapter,
        run=None if run is None else read_run(run),
        split=split,
        encoder=encoder,
        document_encoder=document_encoder,
        measures=tuple(measure or MEASURES),
        similarity=None if similarity_name is None else similarity(similarity_name),
        bad_rows=bad_rows.value,
        seed=seed,
    )
    if not quiet:
        show_findings(result.findings)
    if as_json:
        emit_json(result.to_json())
    elif result.comparisons:
        show(comparison_table([(result.split, comparison) for comparison in result.comparisons]))
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("measure", "on", "queries", "mean"):
            table.add_column(name, justify="left" if name in ("measure", "on") else "right")
        for name in result.evaluation.values:
            mean = result.evaluation.mean(name)
            table.add_row(name, result.split, f"{len(result.evaluation.queries):,}", f"{mean:.4f}")
        show(table)


def search(
    queries: Annotated[Path, typer.Argument(help="Embeddings of queries: .npy with .ids, or .safetensors.")],
    documents: Annotated[Path, typer.Argument(help="Embeddings of documents.")],
    adapter: Adapter = None,
    k: Annotated[int, typer.Option("-k", help="Documents a query.", min=1)] = 10,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A TREC run; stdout by default.")] = None,
    similarity_name: Annotated[
        SimilarityName | None, typer.Option("--similarity", help="The adapter's own by default, else dot.")
    ] = None,
    encoder: Encoder = None,
    exclude_self: Annotated[bool, typer.Option("--exclude-self", help="Drop the document of the query's id.")] = False,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    as_json: AsJson = False,
) -> None:
    """Search exactly: the k best documents of every query."""
    run = search_exactly(
        read_embeddings(queries, encoder=encoder, bad_rows=bad_rows.value),
        read_embeddings(documents, encoder=encoder, bad_rows=bad_rows.value),
        k=k,
        adapter=None if adapter is None else load_adapter(adapter),
        similarity=None if similarity_name is None else similarity(similarity_name),
        exclude_self=exclude_self,
    )
    if output is not None:
        write_run(run, output)
    if as_json:
        emit_json({query: _pairs(names, scores) for query, names, scores in run.items()})
    elif output is None:
        sys.stdout.writelines(f"{line}\n" for line in run_lines(run, where="stdout"))


def apply(
    adapter: Annotated[Path, typer.Argument(help="An adapter's folder.")],
    queries: Annotated[Path, typer.Argument(help="Embeddings of queries: .npy with .ids, or .safetensors.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Adapted queries, .npy or .safetensors.")],
    encoder: Encoder = None,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    as_json: AsJson = False,
) -> None:
    """Adapt query embeddings, ready to be searched with in any index."""
    adapted = load_adapter(adapter).apply(read_embeddings(queries, encoder=encoder, bad_rows=bad_rows.value))
    write_embeddings(adapted, output)
    if as_json:
        emit_json({"output": str(output), "queries": len(adapted), "dim": adapted.dim, "dtype": adapted.dtype.name})
    else:
        say(f"{len(adapted):,} adapted queries of {adapted.dim} dimensions: {output}")


def inspect(
    adapter: Annotated[Path, typer.Argument(help="An adapter's folder.")],
    as_json: AsJson = False,
) -> None:
    """Say what an adapter is, what it was made from, and what its verdict was."""
    facts = describe(load_adapter(adapter))
    if as_json:
        emit_json(facts)
        return
    table = Table(box=None, pad_edge=False, show_header=False)
    for name, value in facts.items():
        if not isinstance(value, (dict, list)):
            table.add_row(name.replace("_", " "), _plain(value))
    show(table)


def _pairs(names: tuple[str, ...], scores: Any) -> list[dict[str, Any]]:
    return [{"id": name, "score": float(value)} for name, value in zip(names, scores, strict=True)]


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
