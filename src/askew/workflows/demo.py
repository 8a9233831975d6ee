"""The demo: a real task that every machine has, from Python's own standard library."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from pathlib import Path

from askew.data import split_queries
from askew.errors import ParameterError
from askew.protocols import Progress
from askew.workflows.deliver import Delivery, check_places, deliver
from askew.workflows.stdlib_pairs import stdlib_dataset

__all__ = ["run_demo"]


def run_demo(
    output: str | PathLike[str],
    *,
    labels: int = 600,
    test: int = 1200,
    seed: int = 0,
    named: Callable[[str], Progress] | None = None,
) -> Delivery:
    """Fit on some docstrings of the standard library, test on others.

    Every function is a document, every docstring a query with one relevant document of its own, so
    nothing can be memorised. The encoder is static and comes from PyPI (extra ``demo``).

    Args:
        output: folder for ``adapter/`` and ``report.html``.
        labels: labelled queries to fit on.
        test: other queries to test on.
        seed: of the split, the folds and the resampling.
        named: makes a progress callback for a named piece of work.

    Raises:
        MissingExtraError: the extra ``demo`` is not installed.
        ParameterError: more queries are asked for than there are.
        OutputError: the folder cannot be written to.
    """
    adapter, report = Path(output) / "adapter", Path(output) / "report.html"
    check_places(adapter, report)
    dataset = stdlib_dataset(progress=named("reading and embedding the standard library") if named else None)
    queries = dataset.labelled
    if labels + test > len(queries):
        raise ParameterError(
            f"{labels:,} labels and {test:,} test queries were asked for, of {len(queries):,} queries",
            remedy="Ask for fewer",
        )
    training, rest = split_queries(queries, labels=labels, seed=seed)
    return deliver(
        dataset.only(training),
        dataset.only(rest[:test]),
        adapter,
        report=report,
        seed=seed,
        command=f"askew demo --labels {labels} --test {test} --seed {seed}",
        progress=named("cross-fitting") if named else None,
    )
