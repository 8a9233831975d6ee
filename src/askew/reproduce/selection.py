"""Table 1: choosing the geometry, cell by cell, on real embeddings: operator risk and ranking apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from askew.protocols import Progress
from askew.reproduce.operators import Fit, Grid, fit_all
from askew.reproduce.study import Study, Table

__all__ = ["selection"]

# Where one fixed rule wins more cells than this there is nothing to choose.
_ONE_SIDED = 0.95
_PAPER = "the paper: 85 of 100 strict wins, mean accuracy 90.1%, regret cut by 49 to 96%"


@dataclass(frozen=True)
class _Rule:
    """A way to choose: True for dual."""

    name: str
    dual: Callable[[Fit], bool]


_CARS = _Rule("CARS", lambda fit: fit.cars > 0)
_SHARED = _Rule("always shared", lambda _: False)
_DUAL = _Rule("always dual", lambda _: True)
_LOSS = _Rule("K-fold loss", lambda fit: fit.fold_loss > 0)
_SEPARATION = _Rule("K-fold separation", lambda fit: fit.separation > 0)
_RANKING = _Rule("K-fold nDCG", lambda fit: fit.ranking > 0)
_RULES = (_SHARED, _DUAL, _CARS, _LOSS, _SEPARATION, _RANKING)


def selection(grid: Grid, *, named: Callable[[str], Progress] | None = None) -> Study:
    """Run the study.

    Args:
        grid: the data sets, and what to fit.
        named: makes a progress callback for a named piece of work.

    Raises:
        InputError: a data set is not there or cannot be read.
    """
    fits = fit_all(grid, named=named)
    raw = [fit for fit in fits if fit.coordinates == "raw"]
    white = [fit for fit in fits if fit.coordinates == "whitened"]
    return Study(
        name="selection",
        title="Choosing the geometry (Table 1)",
        settings={"sets": ", ".join(grid.sets), "seed": grid.seed, "folds": 5, "half-splits": 20},
        findings=[*_findings(raw), *([_operator_finding("whitened", white)] if white else [])],
        tables=[
            _table("Operator risk, raw coordinates", raw, _risk_regret, _RULES[:4]),
            *([_table("Operator risk, whitened coordinates", white, _risk_regret, _RULES[:4])] if white else []),
            _table("Ranking: held-out nDCG@10, raw coordinates", raw, _ranking_regret, _RULES),
        ],
    )


def _risk_regret(fit: Fit, dual: bool) -> float:
    return (fit.loss_dual if dual else fit.loss_shared) - min(fit.loss_dual, fit.loss_shared)


def _ranking_regret(fit: Fit, dual: bool) -> float:
    return max(fit.ndcg_dual, fit.ndcg_shared) - (fit.ndcg_dual if dual else fit.ndcg_shared)


Regret = Callable[[Fit, bool], float]


def _mean_regret(fits: Sequence[Fit], rule: _Rule, regret: Regret) -> float:
    """Over the cells of a fold, then over folds."""
    folds = sorted({(fit.source, fit.fold) for fit in fits})
    means = [np.mean([regret(fit, rule.dual(fit)) for fit in fits if (fit.source, fit.fold) == fold]) for fold in folds]
    return float(np.mean(means))


def _accuracy(fits: Sequence[Fit], rule: _Rule, regret: Regret) -> float:
    """Share of cells in which the choice has no regret; of equals either is right."""
    return float(np.mean([regret(fit, rule.dual(fit)) == 0 for fit in fits]))


def _findings(raw: Sequence[Fit]) -> list[str]:
    cars, mine = _mean_regret(raw, _CARS, _ranking_regret), _mean_regret(raw, _RANKING, _ranking_regret)
    shared, dual = (_mean_regret(raw, rule, _ranking_regret) for rule in (_SHARED, _DUAL))
    share = f"{mine / cars:.0%} of CARS's {cars:.4g}" if cars else "and CARS has none"
    fixed = f"always shared has {shared:.4g}, always dual {dual:.4g}"
    return [
        _operator_finding("raw", raw),
        _wins(raw),
        f"For ranking, K-fold held-out nDCG has a regret of {mine:.4g}, {share}; {fixed}.",
    ]


def _operator_finding(coordinates: str, fits: Sequence[Fit]) -> str:
    accuracy = _accuracy(fits, _CARS, _risk_regret)
    open_ = [fit for fit in fits if _two_sided(fits, fit.source)]
    said = f"In {coordinates} coordinates CARS picks the geometry of smaller held-out loss in {accuracy:.1%} of cells"
    if not open_:
        return f"{said}; one fixed rule wins nearly all cells of every source."
    fixed = min(_mean_regret(open_, rule, _risk_regret) for rule in (_SHARED, _DUAL))
    cut = 1 - _mean_regret(open_, _CARS, _risk_regret) / fixed if fixed else 0.0
    names = ", ".join(dict.fromkeys(fit.source for fit in open_))
    return f"{said}, and cuts the regret of the better fixed rule by {cut:.0%} over sources with a choice ({names})."


def _two_sided(fits: Sequence[Fit], source: str) -> bool:
    """Whether neither fixed rule wins more than 95% of a source's cells."""
    mine = [fit for fit in fits if fit.source == source]
    return max(_accuracy(mine, rule, _risk_regret) for rule in (_SHARED, _DUAL)) <= _ONE_SIDED


def _wins(fits: Sequence[Fit]) -> str:
    """How many source × folds CARS wins strictly against both fixed rules; a tie wins nothing."""
    folds = sorted({(fit.source, fit.fold) for fit in fits})
    won = 0
    for fold in folds:
        mine = [fit for fit in fits if (fit.source, fit.fold) == fold]
        cars, *fixed = (_mean_regret(mine, rule, _risk_regret) for rule in (_CARS, _SHARED, _DUAL))
        won += cars < min(fixed)
    return f"CARS beats both fixed rules strictly in {won} of {len(folds)} source × fold comparisons ({_PAPER})."


def _table(title: str, fits: Sequence[Fit], regret: Regret, rules: Sequence[_Rule]) -> Table:
    rows: list[list[str | int | float]] = []
    for source in [*dict.fromkeys(fit.source for fit in fits), "all"]:
        mine = [fit for fit in fits if source in (fit.source, "all")]
        won = float(np.mean([regret(fit, True) == 0 and regret(fit, False) > 0 for fit in mine]))
        cells = [cell for rule in rules for cell in (_mean_regret(mine, rule, regret), _accuracy(mine, rule, regret))]
        rows.append([source, len(mine), won, *cells])
    head = ["source", "cells", "dual wins", *(part for rule in rules for part in (rule.name, "accuracy"))]
    return Table(title=title, head=head, rows=rows, note="Under each rule's name its mean regret, then its accuracy.")
