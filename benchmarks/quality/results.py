"""Records as arrays: a system's nDCG@10 by query, meaned over seeds, and paired differences with their errors."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lessons import Regime
from measure import Float64Array
from records import per_query

#: Of a normal interval of 95%.
Z = 1.96
#: With fewer unseen test queries than this a cell is printed, not judged.
FEWEST = 50

_MEASURED: Mapping[Regime, str] = {"recurring": "all", "fresh": "unseen"}


@dataclass(frozen=True)
class Estimate:
    """A mean with its standard error, over `count` queries."""

    mean: float
    error: float
    count: int

    @classmethod
    def of(cls, values: Float64Array) -> Estimate:
        kept = values[~np.isnan(values)]
        if len(kept) < 2:
            return cls(float(kept.mean()) if len(kept) else math.nan, math.nan, len(kept))
        return cls(float(kept.mean()), float(kept.std(ddof=1) / math.sqrt(len(kept))), len(kept))


@dataclass(frozen=True, eq=False)
class Results:
    """One regime's readings.

    Attributes:
        regime: ``"recurring"`` (nDCG@10 on all documents) or ``"fresh"`` (on unseen documents).
        values: cell → system → seed → (t,) by test query, NaN where there is nothing to find.
        records: those that the values are from.
    """

    regime: Regime
    values: Mapping[str, Mapping[str, Mapping[int, Float64Array]]]
    records: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]], regime: Regime) -> Results:
        kept = [record for record in records if record["traffic"] in (regime, "either")]
        values: dict[str, dict[str, dict[int, Float64Array]]] = defaultdict(lambda: defaultdict(dict))
        for record in kept:
            for name, reading in record["readings"].items():
                values[record["cell"]][name][record["seed"]] = per_query(reading[_MEASURED[regime]])
        return cls(regime, values, kept)

    @property
    def systems(self) -> list[str]:
        """In the order of first appearance by cell; ours first."""
        names = dict.fromkeys(name for cell in self.values.values() for name in cell)
        return sorted(names, key=lambda name: (name != "base", not name.startswith("ours"), name))

    def mean(self, cell: str, system: str) -> Float64Array | None:
        """(t,) by query, meaned over seeds; None where the system was not run."""
        by_seed = self.values[cell].get(system)
        return _over_seeds(list(by_seed.values())) if by_seed else None

    def gain(self, cell: str, system: str, over: str) -> Float64Array | None:
        """(t,) paired differences, meaned over the seeds that both have."""
        first, second = self.values[cell].get(system, {}), self.values[cell].get(over, {})
        both = sorted(set(first) & set(second))
        return _over_seeds([first[seed] - second[seed] for seed in both]) if both else None

    def judged(self, cell: str) -> bool:
        """Whether every seed leaves enough test queries."""
        counts = [int(np.sum(~np.isnan(row))) for system in self.values[cell].values() for row in system.values()]
        return min(counts, default=0) >= FEWEST


def _over_seeds(rows: Sequence[Float64Array]) -> Float64Array:
    """(t,) means of what is there; NaN where no seed has a value."""
    table = np.stack(rows)
    there = ~np.isnan(table)
    count = there.sum(axis=0)
    sums = np.where(there, table, 0.0).sum(axis=0)
    return np.asarray(np.divide(sums, count, out=np.full(len(count), np.nan), where=count > 0))


def pooled(differences: Mapping[str, Float64Array]) -> Estimate:
    """The mean over cells of mean paired differences.

    Cells of one data set test on the same queries, whatever the encoder and the number of labels, so the error
    is clustered: a query's deviations are summed over its set's cells before they are squared.

    Args:
        differences: cell → (t,) by query; cells of one set have the same queries in the same order.
    """
    means = [float(np.nanmean(row)) for row in differences.values()]
    clusters: dict[str, Float64Array] = {}
    for (cell, row), mean in zip(differences.items(), means, strict=True):
        share = np.nan_to_num((row - mean) / (np.sum(~np.isnan(row)) * len(means)))
        name = cell.split("/")[0]
        clusters[name] = clusters[name] + share if name in clusters else share
    variance = sum(float(np.sum(share**2)) for share in clusters.values())
    return Estimate(float(np.mean(means)), math.sqrt(variance), sum(map(len, clusters.values())))
