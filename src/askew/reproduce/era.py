"""ERA's tables: align, then adapt, as labels grow, over data sets, part by part; the paper's figures beside ours.

Tasks that stand in a folder are a domain, as MAIR's do: its figures are means over its tasks, and the matrices go from
domain to domain. A set that stands alone is a domain of its own.

ERA (arXiv 2604.03403) is measured on MAIR with encoders that are not at hand here, so its figures stand beside ours to
compare the shape: what each stage adds, and what it costs. The same protocol runs on whatever data are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from askew.evaluation import paired_interval
from askew.linalg.fixed import Float64Array
from askew.protocols import Progress
from askew.report import Series, curves_figure
from askew.reproduce.era_protocol import Protocol, domains_of
from askew.reproduce.study import Cell, Study, Table
from askew.workflows.domains import sample_documents, token_cost
from askew.workflows.efficiency import MEASURES, Score, efficiency, matrix
from askew.workflows.methods import METHODS, Method, recipe
from askew.workflows.score_store import ScoreStore
from askew.workflows.two_encoders import OLD, REINDEXED, TwoEncoders

__all__ = ["Protocol", "era"]

_LEADS = MEASURES[0]
_OURS, _THEIRS = "align + adapt", "align + adapt, recipe"
# Table 2 as digests of the paper quote it (MAIR, queries by Qwen3-8B, nDCG@10 in hundredths); the whole is not at hand.
_PAPER = (
    ("BGE-M3", 34.03, 46.59),
    ("OpenAI text-embedding-3-small", 36.74, 49.10),
)


def era(protocol: Protocol, *, named: Callable[[str], Progress] | None = None) -> Study:
    """Run the study.

    Args:
        protocol: what to run on which data.
        named: makes a progress callback for a named piece of work.

    Raises:
        AskewError: as the readers, the fits and the recipes do.
        MissingExtraError: recipes are asked for, and the extra ``torch`` is not installed.
    """
    tasks, left_out = protocol.read()
    store = protocol.store(tasks)
    curves = _by_domain(tasks, {task.name: _curve(protocol, task, store, named) for task in tasks})
    tables = [_paper_table(curves)]
    tables += [_curve_table(protocol, name, scores) for name, scores in curves.items()]
    if protocol.recipes:
        tables.append(_gaps_table(protocol, curves))
        if protocol.ablations:
            tables.append(_ablation_table(protocol, tasks, curves, store, named))
        if protocol.rates and protocol.decays:
            tables.append(_sweep_table(protocol, tasks, store, named))
    if protocol.matrices and len(tasks) > 1:
        tables += _matrix_tables(protocol, tasks, store, named)
    costs = _cost_table(protocol, tasks)
    return Study(
        name="era",
        title="Align, then adapt: a query encoder on another encoder's index (ERA, Table 2 and Appendices B and C)",
        settings={
            "query encoder": protocol.encoders[0],
            "document encoder": protocol.encoders[1],
            "seeds": " ".join(map(str, protocol.seeds)),
            "documents to align": protocol.documents,
            "queries a set at most": protocol.most or "all",
        },
        findings=[*_findings(protocol, curves), *left_out],
        tables=[*tables, *([costs] if costs.rows else [])],
        pictures={f"{name} by labels": _picture(protocol, name, scores) for name, scores in curves.items()},
    )


def _curve(
    protocol: Protocol, task: TwoEncoders, store: ScoreStore | None, named: Callable[[str], Progress] | None
) -> list[Score]:
    return efficiency(
        task,
        shares=protocol.shares,
        methods=protocol.methods,
        documents=protocol.documents,
        seeds=protocol.seeds,
        device=protocol.device,
        store=store,
        progress=named(f"{task.name}, by labels") if named else None,
    )


def _by_domain(tasks: Sequence[TwoEncoders], scores: Mapping[str, list[Score]]) -> dict[str, list[Score]]:
    """Domain → the scores of its tasks, every task counted alike."""
    return {domain: [one for task in held for one in scores[task.name]] for domain, held in domains_of(tasks).items()}


def _of(scores: Sequence[Score], system: str, share: float | None = None) -> list[Score]:
    return [one for one in scores if one.system == system and (share is None or one.share == share)]


def _mean(scores: Sequence[Score], measure: str = _LEADS) -> float | None:
    """Over seeds; None for none."""
    return float(np.mean([one.means[measure] for one in scores])) if scores else None


def _unseen(scores: Sequence[Score]) -> float | None:
    found = [one.unseen for one in scores if one.unseen is not None]
    return float(np.mean(found)) if found else None


def _systems(scores: Sequence[Score]) -> list[str]:
    return list(dict.fromkeys(one.system for one in scores))


def _paper_table(curves: Mapping[str, Sequence[Score]]) -> Table:
    rows: list[list[Cell]] = [
        [f"paper: MAIR, {name} index, Qwen3-8B queries", before / 100, after / 100, (after - before) / 100]
        for name, before, after in _PAPER
    ]
    whole = {"all": [one for scores in curves.values() for one in scores]} if len(curves) > 1 else {}
    for name, scores in {**curves, **whole}.items():
        before = _mean(_of(scores, f"zero-shot, {OLD}"))
        last = max(one.share for one in scores if one.share is not None)
        for system in (_OURS, _THEIRS):
            after = _mean(_of(scores, system, last))
            if before is not None and after is not None:
                rows.append([f"{name}: {system}", before, after, after - before])
    return Table(
        title="nDCG@10 of the index's own encoder, and after align + adapt at the largest share",
        head=("data", "zero-shot", "align + adapt", "difference"),
        rows=rows,
        note="The paper's rows are other data and encoders: a query encoder of 8 billion parameters, far stronger than "
        "the index's. They are quoted from digests; its whole Table 2 is not at hand.",
    )


def _curve_table(protocol: Protocol, name: str, scores: Sequence[Score]) -> Table:
    rows: list[list[Cell]] = []
    for system in _systems(scores):
        for share in protocol.shares if _of(scores, system)[0].share is not None else (None,):
            found = _of(scores, system, share)
            values = [_mean(found, measure) for measure in MEASURES]
            seconds = float(np.mean([one.seconds for one in found]))
            rows.append([system, _shown(share), _labels(protocol, found), *values, _unseen(found), seconds])
    return Table(
        title=f"{name}: label efficiency",
        head=("system", "trained on", "labels", *MEASURES, "nDCG@10, unseen", "CPU seconds"),
        rows=rows,
        note="Labels are training and validation queries together: the recipe stops by the second, ours learns from "
        "both. Unseen: documents that a label named leave run, judgements and ideal. Seconds: what "
        "systems share is counted once. Of a domain, labels are the sum over its tasks, and all else the mean.",
    )


def _labels(protocol: Protocol, found: Sequence[Score]) -> int:
    """Of all tasks, one draw."""
    return round(sum(one.labels for one in found) / len(protocol.seeds))


def _shown(share: float | None) -> str:
    if share is None:
        return ""
    return f"{share:.0%}" if share < 1 else f"{share:g}"


def _gap(curves: Sequence[Score], share: float) -> Float64Array:
    """(t·seeds,) nDCG@10 of ours less the recipe's, on the same queries."""
    sides = [np.concatenate([one.per_query for one in _of(curves, system, share)]) for system in (_OURS, _THEIRS)]
    return np.asarray(sides[0] - sides[1])


def _gaps_table(protocol: Protocol, curves: Mapping[str, Sequence[Score]]) -> Table:
    gaps = {(name, share): _gap(scores, share) for name, scores in curves.items() for share in protocol.shares}
    whole = np.concatenate(list(gaps.values()))
    rows: list[list[Cell]] = [
        [name, _shown(share), float(gap.mean()), *paired_interval(gap, seed=0)] for (name, share), gap in gaps.items()
    ]
    rows.append(["all, pooled", "", float(whole.mean()), *paired_interval(whole, seed=0)])
    return Table(
        title="Align + adapt: ours less the published recipe, at equal labels",
        head=("data", "trained on", "difference", "low", "high"),
        rows=rows,
        note="nDCG@10; the interval is a paired 95% bootstrap over queries of all seeds.",
    )


def _ablation_table(
    protocol: Protocol,
    tasks: Sequence[TwoEncoders],
    curves: Mapping[str, Sequence[Score]],
    store: ScoreStore | None,
    named: Callable[[str], Progress] | None,
) -> Table:
    last, whole = protocol.shares[-1], (_THEIRS, "align only, recipe", "adapt only, recipe")
    rows: list[list[Cell]] = [[name, *(_mean(_of(scores, name, last)) for scores in curves.values())] for name in whole]
    rows += _changed(protocol, tasks, {name: recipe(name) for name in protocol.ablations}, "ablations", store, named)
    return Table(
        title=f"What the recipe's parts are worth, at {_shown(last)}",
        head=("recipe", *curves),
        rows=rows,
        note="nDCG@10. Each line below the first three changes the whole recipe in one thing. The paper finds that a "
        "linear map suffices.",
    )


def _sweep_table(
    protocol: Protocol,
    tasks: Sequence[TwoEncoders],
    store: ScoreStore | None,
    named: Callable[[str], Progress] | None,
) -> Table:
    methods = {
        f"rate {rate:g}, decay {decay:g}": recipe(rate=rate, decay=decay)
        for rate in protocol.rates
        for decay in protocol.decays
    }
    return Table(
        title=f"The recipe's learning rate and weight decay, at {_shown(protocol.shares[-1])}",
        head=("second stage", *domains_of(tasks)),
        rows=_changed(protocol, tasks, methods, "rates and decays", store, named),
        note="nDCG@10 on the test queries: a look at how much they matter, not a choice. Published: 1e-05 and 0.0001.",
    )


def _changed(
    protocol: Protocol,
    tasks: Sequence[TwoEncoders],
    methods: Mapping[str, Method],
    what: str,
    store: ScoreStore | None,
    named: Callable[[str], Progress] | None,
) -> list[list[Cell]]:
    """A row for each method at the largest share."""
    found = {
        task.name: efficiency(
            task,
            shares=protocol.shares[-1:],
            methods=methods,
            documents=protocol.documents,
            seeds=protocol.seeds,
            device=protocol.device,
            store=store,
            progress=named(f"{task.name}, {what}") if named else None,
        )
        for task in tasks
    }
    by = _by_domain(tasks, found)
    return [[name, *(_mean(_of(scores, name)) for scores in by.values())] for name in methods]


def _matrix_tables(
    protocol: Protocol,
    tasks: Sequence[TwoEncoders],
    store: ScoreStore | None,
    named: Callable[[str], Progress] | None,
) -> list[Table]:
    domains = {domain: [task.name for task in held] for domain, held in domains_of(tasks).items()}
    kept = [_OURS, *([_THEIRS] if protocol.recipes else [])]
    methods = {"align only": METHODS["align only"], **{name: protocol.methods[name] for name in kept}}
    rows = _rows(domains)
    scores = matrix(
        tasks,
        list(rows.values()),
        share=protocol.shares[-1],
        methods=methods,
        documents=protocol.documents,
        seed=protocol.seeds[0],
        device=protocol.device,
        store=store,
        progress=named("over domains") if named else None,
    )
    return [_matrix_table(system, scores, rows, domains) for system in methods]


def _rows(domains: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """What to train on: one domain, all but one, all; of two that are the same tasks, the first."""
    whole = [name for names in domains.values() for name in names]
    rows = dict(domains)
    if len(domains) > 2:
        rows |= {f"all but {one}": [name for name in whole if name not in names] for one, names in domains.items()}
    return {**rows, "all": whole} if len(domains) > 1 else rows


def _matrix_table(
    system: str, scores: Sequence[Score], rows: Mapping[str, list[str]], domains: Mapping[str, list[str]]
) -> Table:
    means = {(one.trained_on, one.tested_on): one.means[_LEADS] for one in scores if one.system == system}
    columns = {**domains, "all": [name for names in domains.values() for name in names]}
    cells: list[list[Cell]] = [
        [label, *(float(np.mean([means["+".join(names), tested] for tested in held])) for held in columns.values())]
        for label, names in rows.items()
    ]
    return Table(
        title=f"Trained on rows, tested on columns: {system}",
        head=("trained on", *columns),
        rows=cells,
        note="nDCG@10, the mean over a domain's tasks. One domain: domain-specific. All but the column's: out of "
        "domain. All: one general adapter.",
    )


def _cost_table(protocol: Protocol, tasks: Sequence[TwoEncoders]) -> Table:
    rows: list[list[Cell]] = []
    for domain, held in domains_of(tasks).items():
        samples = sample_documents(held, count=protocol.documents)
        found = [cost for task, sample in zip(held, samples, strict=True) if (cost := token_cost(task, sample))]
        tokens, sampled = sum(cost.tokens for cost in found), sum(cost.sampled_tokens for cost in found)
        counts = sum(cost.documents for cost in found), sum(cost.sampled for cost in found)
        if tokens:
            rows.append([domain, *counts, tokens, sampled, sampled / tokens])
    rows.append(["paper: MAIR, 126 tasks", 4_274_916, 126_000, "", "", 0.052])
    return Table(
        title="Tokens that the query encoder reads to align, and to embed every document again",
        head=("data", "documents", "sampled", "tokens", "tokens sampled", "share"),
        rows=rows,
        note="A token for every four characters. In the paper tasks of fewer documents give all that they have.",
    )


def _findings(protocol: Protocol, curves: Mapping[str, Sequence[Score]]) -> list[str]:
    said, last = [], protocol.shares[-1]
    for name, scores in curves.items():
        own = _mean(_of(scores, f"zero-shot, {OLD}"))
        best = _mean(_of(scores, f"zero-shot, {REINDEXED}"))
        both = _mean(_of(scores, _OURS, last))
        if own is None or both is None:
            continue
        word = "pays" if both > own else "does not pay: the index's own encoder is better for its queries"
        ceiling = "" if best is None else f"; a new index by the query encoder gives {best:.3f}"
        said.append(
            f"{name}: {own:.3f} by the index's own encoder, {both:.3f} aligned and adapted on {_shown(last)}: it "
            f"{word}{ceiling}."
        )
    if protocol.recipes:
        gap = np.concatenate([_gap(scores, share) for scores in curves.values() for share in protocol.shares])
        low, high = paired_interval(gap, seed=0)
        said.append(
            f"At equal labels ours is {gap.mean():+.4f} nDCG@10 from the published recipe, pooled "
            f"(95% interval {low:+.4f} to {high:+.4f})."
        )
    return said


def _picture(protocol: Protocol, name: str, scores: Sequence[Score]) -> str:
    shares = [share for share in protocol.shares if _of(scores, _OURS, share)]
    return curves_figure(
        f"era-{name}",
        [
            Series(
                name=system,
                x=[_labels(protocol, _of(scores, system, share)) for share in shares],
                y=[_mean(_of(scores, system, share)) or 0.0 for share in shares],
            )
            for system in protocol.methods
        ],
        title=f"{name} by labels",
        description=f"nDCG@10 on {name} of each way to use the query encoder on the index, as labels grow.",
        x_label="labelled queries",
        y_label="nDCG@10",
        log_x=True,
    )
