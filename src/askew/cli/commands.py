"""The commands around an adapter: `evaluate`, `search`, `apply`, `inspect`."""

# ruff: noqa: PLC0415 - a command imports what it runs, so that --help is quick

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from askew.cli.console import emit_json, plain_table, progress_bar, say, show, show_comparisons, show_findings, write
from askew.cli.options import (
    AdapterFolder,
    AsJson,
    BadRows,
    BadRowsPolicy,
    DocumentEncoder,
    Encoder,
    JudgedSplit,
    Measures,
    MergeDuplicates,
    Queries,
    Quiet,
    SecondQueries,
    Seed,
    SimilarityName,
    similarity,
)
from askew.errors import ParameterError, counted

if TYPE_CHECKING:
    from askew.adapters import Adapter as LoadedAdapter
    from askew.data import EmbeddingSet, Run
    from askew.workflows.late_search import LateResult
    from askew.workflows.score import Score

__all__ = ["apply", "evaluate", "inspect", "search"]

Adapter = Annotated[Path | None, typer.Option("--adapter", "-a", metavar="PATH", help="An adapter's folder.")]
SecondEncoder = Annotated[str | None, typer.Option(metavar="NAME", help="What made the vectors of --second-queries.")]
EncoderName = Annotated[
    str | None, typer.Option("--encoder", metavar="NAME", help="What made the vectors; an adapter refuses another.")
]


def evaluate(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="A folder, as for fit.")],
    adapter: Adapter = None,
    run: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="A TREC run to evaluate instead, - for stdin; needs no embeddings."),
    ] = None,
    split: JudgedSplit = None,
    encoder: Encoder = None,
    document_encoder: DocumentEncoder = None,
    measure: Measures = None,
    similarity_name: Annotated[
        SimilarityName | None,
        typer.Option("--similarity", help="How your index scores; as the adapter says by default, else dot."),
    ] = None,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    merge_duplicates: MergeDuplicates = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure the base, an adapter against its base, or a run, on judged queries."""
    from askew.formats import read_run
    from askew.workflows.assess import MEASURES
    from askew.workflows.score import score

    result = score(
        data,
        adapter=adapter,
        run=None if run is None else read_run(run),
        split=split,
        encoder=encoder,
        document_encoder=document_encoder,
        measures=tuple(measure or MEASURES),
        similarity=similarity(similarity_name),
        bad_rows=bad_rows.value,
        merge_duplicates=merge_duplicates,
        seed=seed,
    )
    if not quiet:
        show_findings(result.findings)
    if as_json:
        emit_json(result.to_json())
    else:
        _show_score(result)


def search(
    queries: Queries,
    documents: Annotated[Path, typer.Argument(metavar="DOCUMENTS", help="Embeddings of documents, likewise.")],
    adapter: Adapter = None,
    second_queries: SecondQueries = None,
    second_encoder: SecondEncoder = None,
    k: Annotated[int, typer.Option("-k", metavar="N", help="Documents a query.", min=1)] = 10,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="PATH", help="The TREC run to write; stdout by default.")
    ] = None,
    similarity_name: Annotated[
        SimilarityName | None, typer.Option("--similarity", help="As the adapter says by default, else dot.")
    ] = None,
    encoder: EncoderName = None,
    document_encoder: Annotated[
        str | None, typer.Option(metavar="NAME", help="What made the documents' vectors, if not --encoder.")
    ] = None,
    exclude_self: Annotated[bool, typer.Option("--exclude-self", help="Drop the document of the query's id.")] = False,
    late: Annotated[
        bool,
        typer.Option(
            "--late",
            help="Both hold many vectors an item (folders of write_tokens, or .npz of ids, tokens, offsets and perhaps "
            "weights), or texts for --token-encoder: rank by MaxSim, signed where there are weights.",
        ),
    ] = False,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT_OR_PATH",
            help="With --late, what queries do not want: a text for all of them, a .jsonl of a text a query, or many "
            "vectors a query. Repeatable.",
        ),
    ] = None,
    token_encoder: Annotated[
        str | None, typer.Option(metavar="SPEC", help="With --late, what embeds texts: st:PATH_OR_NAME.")
    ] = None,
    head: Annotated[
        Path | None,
        typer.Option(
            metavar="HEAD",
            help="With --late, a folder of `askew train-late`: its signs weigh the tokens, and a tuned encoder in it "
            "needs no --token-encoder.",
        ),
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(metavar="X", help="How much the unwanted part counts beside the wanted one.  [default: 0.5]"),
    ] = None,
    demoted: Annotated[
        bool,
        typer.Option(
            "--demote",
            help="Leave scores, and move those of the first 100 that stand out by the unwanted part below the rest.",
        ),
    ] = False,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Search exactly: the k best documents of every query."""
    from askew.formats import load_adapter, read_embeddings
    from askew.retrieval import search as search_exactly
    from askew.workflows.score import look_over

    if late:
        for name, given in (
            ("--adapter", adapter),
            ("--similarity", similarity_name),
            ("--encoder", encoder or document_encoder),
            ("--exclude-self", exclude_self),
            ("--second-queries", second_queries),
            ("--bad-rows drop", bad_rows is not BadRowsPolicy.RAISE),
        ):
            if given:
                raise ParameterError("it does not go with --late", where=name, remedy="Leave one of them out")
        found = _search_late(
            queries, documents, k, without or [], token_encoder, head, weight, demoted=demoted, quiet=quiet
        )
        _give_run(found.run, output, found.to_json() if as_json else None)
        return
    for name, late_alone in (
        ("--without", without),
        ("--token-encoder", token_encoder),
        ("--head", head),
        ("--weight", weight is not None),
        ("--demote", demoted),
    ):
        if late_alone:
            raise ParameterError("it goes with --late alone", where=name, remedy="Add --late, or leave it out")
    held = None if adapter is None else load_adapter(adapter)
    asked = _asked(held, queries, encoder, second_queries, second_encoder, bad_rows)
    corpus = read_embeddings(documents, encoder=document_encoder or encoder, bad_rows=bad_rows.value)
    run = search_exactly(
        asked, corpus, k=k, adapter=held, similarity=similarity(similarity_name), exclude_self=exclude_self
    )
    if not quiet:
        show_findings(look_over(asked, corpus, adapted=held is not None))
    _give_run(run, output, _ranked(run) if as_json else None)


def apply(
    adapter: AdapterFolder,
    queries: Queries,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="PATH",
            help="Adapted queries: .npy, .safetensors, .jsonl, or - for JSON lines on stdout.",
        ),
    ],
    second_queries: SecondQueries = None,
    encoder: EncoderName = None,
    second_encoder: SecondEncoder = None,
    bad_rows: BadRows = BadRowsPolicy.RAISE,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Adapt query embeddings, ready to be searched with in any index."""
    from askew.formats import embedding_lines, load_adapter, write_embeddings
    from askew.workflows.score import look_over

    piped = str(output) == "-"
    given = [path for path in (queries, second_queries) if path is not None and path.exists()]
    if not piped and output.exists() and any(output.samefile(path) for path in given):
        raise ParameterError(
            "the adapted queries would take the place of the queries", where=output, remedy="Name another --output"
        )
    held = load_adapter(adapter)
    asked = _asked(held, queries, encoder, second_queries, second_encoder, bad_rows)
    adapted = held.apply(asked)
    if piped and as_json:
        raise ParameterError("stdout holds the adapted queries already", where="--json", remedy="Leave one of them out")
    if not piped:
        write_embeddings(adapted, output)
    if not quiet:
        show_findings(look_over(asked))
    if piped:
        write("".join(f"{line}\n" for line in embedding_lines(adapted, where="stdout")))
    elif as_json:
        facts = {"queries": len(adapted), "dim": adapted.dim, "dtype": adapted.dtype.name}
        emit_json({"output": str(output), **facts, "similarity": held.similarity, "dropped": list(asked.dropped)})
    else:
        told = counted(len(adapted), "adapted query", "adapted queries")
        say(f"{told} of {counted(adapted.dim, 'dimension')}: {output}")


def inspect(adapter: AdapterFolder, as_json: AsJson = False) -> None:
    """Say what an adapter is, what it was made from, and what its verdict was; or what a head of train-late is."""
    from askew.formats import is_signed_folder, load_adapter, load_signed
    from askew.workflows.describe import describe, describe_head

    facts = describe_head(load_signed(adapter)) if is_signed_folder(adapter) else describe(load_adapter(adapter))
    if as_json:
        emit_json(facts)
        return
    table = plain_table("fact", "value", header=False)
    for name, value in facts.items():
        if not isinstance(value, (dict, list)):
            table.add_row(name.replace("_", " "), _plain(value))
    show(table, whole=False)


def _search_late(
    queries: Path,
    documents: Path,
    k: int,
    without: Sequence[str],
    token_encoder: str | None,
    head: Path | None,
    weight: float | None,
    *,
    demoted: bool,
    quiet: bool,
) -> LateResult:
    """A run by (Signed) MaxSim; documents without tokens are left out, and told."""
    from askew.workflows.late_search import search_late

    for name, given in (("--weight", weight is not None), ("--demote", demoted)):
        if given and not without:
            raise ParameterError("nothing is unwanted", where=name, remedy="Say --without what, or leave it out")
    if demoted and weight is not None:
        raise ParameterError("it does not go with --demote", where="--weight", remedy="Leave one of them out")
    options: dict[str, Any] = {} if weight is None else {"weight": weight}
    with progress_bar(quiet) as named:
        found = search_late(
            queries,
            documents,
            k=k,
            without=without,
            token_encoder=token_encoder,
            head=head,
            demoted=demoted,
            named=named,
            **options,
        )
    if not quiet:
        show_findings(found.findings)
    return found


def _give_run(run: Run, output: Path | None, told: dict[str, Any] | None) -> None:
    from askew.formats import run_lines, write_run

    if output is not None:
        write_run(run, output)
    if told is not None:
        emit_json(told)
    elif output is not None:
        most = max((len(names) for _, names, _ in run.items()), default=0)
        say(f"{counted(len(run), 'query', 'queries')}, {counted(most, 'document')} each: {output}")
    else:
        write("".join(f"{line}\n" for line in run_lines(run, where="stdout")))


def _asked(
    adapter: LoadedAdapter | None,
    queries: Path,
    encoder: str | None,
    second: Path | None,
    second_encoder: str | None,
    bad_rows: BadRowsPolicy,
) -> EmbeddingSet:
    """Queries by one encoder, or by two side by side, as an adapter takes them."""
    from askew.data import side_by_side
    from askew.formats import read_embeddings

    if second is not None and second.resolve() == queries.resolve():
        raise ParameterError(
            "the second queries are the first ones",
            where=second,
            remedy="Name the same queries by the second encoder, or leave --second-queries out",
        )
    if second is None and second_encoder is not None:
        raise ParameterError("there are no second queries", where="--second-encoder", remedy="Add --second-queries")
    asked = read_embeddings(queries, encoder=encoder, bad_rows=bad_rows.value)
    if second is None:
        return asked
    other = read_embeddings(second, encoder=second_encoder, bad_rows=bad_rows.value)
    return side_by_side(asked, other) if adapter is None else adapter.join_queries(asked, other)


def _show_score(result: Score) -> None:
    if result.comparisons:
        say(f"split: {result.split}")
        show_comparisons(result.comparisons)
        return
    table = plain_table("measure", "split", "queries", "mean", right=("queries", "mean"))
    evaluation = result.evaluation
    for name in evaluation.values:
        table.add_row(name, result.split, f"{len(evaluation.queries):,}", f"{evaluation.mean(name):.4f}")
    show(table)


def _ranked(run: Run) -> dict[str, Any]:
    return {
        query: [{"id": name, "score": float(score)} for name, score in zip(names, scores, strict=True)]
        for query, names, scores in run.items()
    }


def _plain(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
