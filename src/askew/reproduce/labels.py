"""Shared against dual as the labels grow, where no document repeats: Python's standard library.

Each family is tuned apart, by cross-fitting on its own labels, and tried out on the same held-out queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from askew.data import Dataset, split_queries
from askew.errors import ParameterError
from askew.estimators import Ridge, Softmax
from askew.estimators.paths import Family
from askew.evaluation import evaluate, paired_interval
from askew.linalg.fixed import Float64Array
from askew.protocols import Progress
from askew.report import Series, curves_figure
from askew.reproduce.study import Study, Table
from askew.retrieval import search
from askew.workflows import fit
from askew.workflows.stdlib_pairs import stdlib_dataset

__all__ = ["SIZES", "labels"]

#: Labels by default: from where the two tie to where there is a page of queries left to test on.
SIZES = (64, 128, 256, 600, 1200, 2000)
# DESIGN's prototype, each family at its best weight on the test queries: dual, shared, difference and its error.
_PROTOTYPE = {64: (0.340, 0.337), 128: (0.344, 0.345), 600: (0.376, 0.369), 2000: (0.410, 0.400)}
_MEASURE = "nDCG@10"


@dataclass(frozen=True)
class _Point:
    """(t,) per-query scores at one number of labels, meaned over draws."""

    labels: int
    base: Float64Array
    dual: Float64Array
    shared: Float64Array


def labels(
    *,
    sizes: Sequence[int] = SIZES,
    draws: int = 2,
    test: int = 1200,
    seed: int = 0,
    named: Callable[[str], Progress] | None = None,
    dataset: Dataset | None = None,
) -> Study:
    """Run the study.

    Args:
        sizes: numbers of labels.
        draws: of labels, at each size.
        test: held-out queries, the same for all.
        seed: of the first draw, and of the test queries.
        named: makes a progress callback for a named piece of work.
        dataset: another set than the standard library; each document should answer one query.

    Raises:
        ParameterError: more queries are asked for than there are.
        MissingExtraError: the extra ``demo`` is not installed.
    """
    whole = dataset or stdlib_dataset(progress=named("reading and embedding the standard library") if named else None)
    held, pool = split_queries(whole.labelled, labels=test, seed=seed + 1_000_003)
    if max(sizes) > len(pool):
        raise ParameterError(
            f"{max(sizes):,} labels and {test:,} test queries were asked for, of {len(whole.labelled):,} queries",
            remedy="Ask for fewer",
        )
    tested = whole.only(held)
    progress = named("fitting") if named else None
    points = []
    for place, size in enumerate(sizes):
        points.append(_point(whole, tested, pool, size, range(seed, seed + draws)))
        if progress is not None:
            progress(place + 1, len(sizes))
    return _study(points, draws=draws, test=test, seed=seed)


def _point(whole: Dataset, tested: Dataset, pool: Sequence[str], size: int, seeds: Sequence[int]) -> _Point:
    base = evaluate(search(tested.queries.take(tested.labelled), tested.documents, k=10), tested.qrels, _MEASURE)
    found: dict[Family, list[Float64Array]] = {"dual": [], "shared": []}
    for seed in seeds:
        train = whole.only(split_queries(pool, labels=size, seed=seed)[0])
        for family, values in found.items():
            values.append(_scores(train, tested, family, seed))
    dual, shared = (np.mean(values, axis=0) for values in found.values())
    return _Point(size, base.per_query(_MEASURE), dual, shared)


def _scores(train: Dataset, tested: Dataset, family: Family, seed: int) -> Float64Array:
    candidate = fit(train, estimators=(Ridge(family), Softmax(family)), seed=seed).candidate
    run = search(tested.queries.take(tested.labelled), tested.documents, k=10, adapter=candidate)
    return evaluate(run, tested.qrels, _MEASURE).per_query(_MEASURE)


def _study(points: Sequence[_Point], *, draws: int, test: int, seed: int) -> Study:
    rows, gaps = [], []
    for point in points:
        gap = point.dual - point.shared
        low, high = paired_interval(gap, seed=seed)
        gaps.append((point.labels, float(gap.mean()), low, high))
        known = _PROTOTYPE.get(point.labels, (None, None))
        rows.append([point.labels, *(float(v.mean()) for v in (point.base, point.dual, point.shared))])
        rows[-1] += [float(gap.mean()), low, high, *known]
    head = ("labels", "base", "dual", "shared", "dual − shared", "low", "high", "prototype dual", "prototype shared")
    picture = curves_figure(
        "labels",
        [_gain("dual", points, lambda point: point.dual), _gain("shared", points, lambda point: point.shared)],
        title="Gain by labels",
        description="Gain in nDCG@10 over the base of the dual and the shared family as labels grow.",
        x_label="labelled queries",
        y_label="gain in nDCG@10",
        log_x=True,
    )
    return Study(
        name="labels",
        title="Shared against dual as labels grow, on the standard library",
        settings={"draws": draws, "test queries": test, "seed": seed, "measure": _MEASURE},
        findings=_findings(gaps),
        tables=[Table(title="nDCG@10 on held-out queries", head=head, rows=rows, note=_NOTE)],
        pictures={"gain": picture},
    )


_NOTE = (
    "Each family's strength and estimator are cross-fitted on its own labels. The interval is a paired 95% bootstrap "
    "over queries of scores meaned over draws. The prototype chose its weights on the test queries."
)


def _gain(name: str, points: Sequence[_Point], of: Callable[[_Point], Float64Array]) -> Series:
    each = [of(point) - point.base for point in points]
    errors = [float(gain.std(ddof=1) / np.sqrt(len(gain))) for gain in each]
    means = [float(gain.mean()) for gain in each]
    return Series(
        name=name,
        x=[point.labels for point in points],
        y=means,
        low=[mean - error for mean, error in zip(means, errors, strict=True)],
        high=[mean + error for mean, error in zip(means, errors, strict=True)],
    )


def _findings(gaps: Sequence[tuple[int, float, float, float]]) -> list[str]:
    said = []
    ahead = [size for size, _, low, _ in gaps if low > 0]
    behind = [size for size, _, _, high in gaps if high < 0]
    if behind:
        said.append(f"Shared is clearly ahead at {_listed(behind)} labels.")
    if ahead:
        said.append(f"Dual is clearly ahead at {_listed(ahead)} labels.")
    if ahead and behind and min(ahead) > max(behind):
        said.append(f"The crossing lies between {max(behind):,} and {min(ahead):,} labels.")
    else:
        said.append("There is no crossing from shared to dual that these intervals would show.")
    return said


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes)
