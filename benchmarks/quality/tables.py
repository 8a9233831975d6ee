"""Tables in Markdown, from the records of all runs that there are."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lessons import Regime
from results import FEWEST, Estimate, Results, Z, pooled

Record = Mapping[str, Any]
_OURS = ("ours", "ours, ungated")
_ORDER = ("32", "64", "128", "256", "512", "600", "2000", "all")


def render(records: Sequence[Record]) -> str:
    """Every table that the records allow."""
    if not records:
        return "No runs yet.\n"
    parts = ["# Quality: askew and its peers", _about(records)]
    regimes: tuple[Regime, ...] = ("recurring", "fresh")
    for regime in regimes:
        results = Results.of(records, regime)
        if any(record["traffic"] == regime for record in results.records):
            parts += [_levels(results) if regime == "recurring" else _gains(results), _summary(results)]
            parts += [_verdicts(results)]
    return "\n\n".join([*parts, _costs(records)]) + "\n"


def _about(records: Sequence[Record]) -> str:
    machines = {f"{record['machine']['processor']}, {record['machine']['cores']} cores" for record in records}
    versions = {", ".join(f"{name} {version}" for name, version in record["versions"].items()) for record in records}
    seeds = sorted({record["seed"] for record in records})
    return (
        f"Made by `python benchmarks/quality/run.py`: {len(records)} runs, seeds {', '.join(map(str, seeds))}; "
        f"{'; '.join(sorted(machines))}; {'; '.join(sorted(versions))}.\n\n"
        "`-tuned` chooses by cross-fitting on the training queries, over the folds that ours chooses by; without it, a "
        "peer is as published. `ours` ships the base where its verdict is to keep it, `ours, ungated` never does. "
        "Errors are over test queries, for the labels drawn."
    )


def _levels(results: Results) -> str:
    rows = []
    for cell in _cells(results):
        row = [cell]
        for system in results.systems:
            mean, gain = results.mean(cell, system), results.gain(cell, system, "base")
            level = "" if mean is None else f"{np.nanmean(mean):.4f}"
            if mean is not None and gain is not None:
                error = Estimate.of(mean if system == "base" else gain).error
                level += f" ({error:.4f})"
            row.append(level)
        rows.append(row)
    return (
        "## Recurring traffic: nDCG@10 of the test queries on all documents\n\n"
        "Mean over seeds. In brackets, for the base its standard error over queries, for all others the paired "
        "standard error of the difference to the base.\n\n" + _table(["cell", *results.systems], rows)
    )


def _gains(results: Results) -> str:
    systems = [name for name in results.systems if name != "base"]
    rows = []
    for cell in _cells(results):
        base = results.mean(cell, "base")
        unseen = _unseen(results, cell)
        row = [cell + ("" if results.judged(cell) else " †"), unseen, "" if base is None else f"{np.nanmean(base):.4f}"]
        rows.append([*row, *(_signed(results, cell, system, "base") for system in systems)])
    return (
        "## Fresh traffic: gain in nDCG@10 over the base on unseen documents\n\n"
        "Documents relevant to a training query leave ranking, judgements and ideal; test queries with no relevant "
        "document left do not count. Mean over seeds, in brackets the paired standard error over queries. "
        f"† fewer than {FEWEST} such queries: printed, not judged.\n\n"
        + _table(["cell", "unseen queries", "base", *systems], rows)
    )


def _summary(results: Results) -> str:
    cells = [cell for cell in _cells(results) if results.judged(cell)]
    rows = []
    for ours in (name for name in _OURS if name in results.systems):
        for peer in (name for name in results.systems if name not in _OURS):
            found = {cell: results.gain(cell, ours, peer) for cell in cells}
            gains = {cell: gain for cell, gain in found.items() if gain is not None}
            if gains:
                rows.append([ours, peer, *_against(gains)])
    head = ["system", "peer", "cells", "mean difference", "95% interval", "ahead", "behind", "behind in"]
    return (
        f"### {results.regime.capitalize()}: ours less each peer\n\n"
        "Mean over cells of paired differences; the interval lets a query that several cells share count once. Ahead "
        "and behind: cells whose own 95% interval excludes 0.\n\n" + _table(head, rows)
    )


def _against(gains: Mapping[str, Any]) -> list[str]:
    total = pooled(gains)
    each = {cell: Estimate.of(gain) for cell, gain in gains.items()}
    ahead = [cell for cell, one in each.items() if one.mean > Z * one.error]
    behind = [f"{cell} ({one.mean:+.4f})" for cell, one in each.items() if one.mean < -Z * one.error]
    low, high = total.mean - Z * total.error, total.mean + Z * total.error
    return [
        str(len(gains)),
        f"{total.mean:+.4f}",
        f"{low:+.4f} to {high:+.4f}",
        str(len(ahead)),
        str(len(behind)),
        ", ".join(behind),
    ]


def _verdicts(results: Results) -> str:
    counts: Counter[tuple[str, bool]] = Counter()
    cost: dict[tuple[str, bool], list[float]] = defaultdict(list)
    for record in results.records:
        if record["system"] == "ours" and results.judged(record["cell"]):
            base = results.values[record["cell"]].get("base", {}).get(record["seed"])
            if base is None:
                continue
            candidate = results.values[record["cell"]]["ours, ungated"][record["seed"]]
            gain = float(np.nanmean(candidate - base))
            decision = record["evidence"]["verdict"]["decision"]
            key = decision, (gain > 0) == (decision == "adapt")
            counts[key] += 1
            cost[key].append(abs(gain))
    rows = [
        [decision, "right" if right else "wrong", str(counts[decision, right]), _mean(cost[decision, right])]
        for decision in ("adapt", "keep")
        for right in (True, False)
    ]
    return (
        f"### {results.regime.capitalize()}: the verdict on test\n\n"
        "Right: adapt where the candidate gains on the test queries, keep where it does not (by sign alone). The last "
        "column is the mean size of that gain or loss: for wrong verdicts, what they cost.\n\n"
        + _table(["verdict", "was", "runs", "mean nDCG@10 at stake"], rows)
    )


def _costs(records: Sequence[Record]) -> str:
    seconds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        seconds[record["system"]][str(record["cell"].split("@")[1])].append(record["cpu_seconds"])
    sizes = sorted({size for by_size in seconds.values() for size in by_size}, key=_ORDER.index)
    rows = [[system, *(_mean(by_size.get(size, []), 1) for size in sizes)] for system, by_size in seconds.items()]
    return "## CPU seconds a fit, choosing included, by labels\n\n" + _table(["system", *sizes], rows)


def _cells(results: Results) -> list[str]:
    return sorted(results.values, key=lambda cell: (cell.split("@")[0], _ORDER.index(cell.split("@")[1])))


def _unseen(results: Results, cell: str) -> str:
    counts = [int(np.sum(~np.isnan(row))) for by_seed in results.values[cell].values() for row in by_seed.values()]
    return f"{min(counts)}" if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"


def _signed(results: Results, cell: str, system: str, over: str) -> str:
    gain = results.gain(cell, system, over)
    if gain is None:
        return ""
    found = Estimate.of(gain)
    return "" if math.isnan(found.mean) else f"{found.mean:+.4f} ({found.error:.4f})"


def _mean(values: Sequence[float], digits: int = 4) -> str:
    return f"{np.mean(values):.{digits}f}" if len(values) else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
