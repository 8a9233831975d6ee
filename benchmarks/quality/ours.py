"""askew itself: the chooser's output, the gated system with its verdict; and the closed form alone."""

from __future__ import annotations

from askew import Adapter, BilinearOperator, fit
from askew.estimators import Ridge, Setting
from askew.operators import Identity
from cells import FOLDS, Task
from lessons import Regime
from measure import BASE, Deployed
from tuning import Outcome

GATED, CHOSEN = "ours", "ours, ungated"
#: A round number near the middle of the strengths that askew tries, for all cells.
RIDGE = 0.1


def ours(task: Task, regime: Regime) -> Outcome:
    """`askew.fit` with nothing set but the traffic."""
    fitted = fit(task.train, traffic=regime, folds=FOLDS, seed=task.seed)
    choice = fitted.choice.to_json()
    evidence = {"chosen": choice["chosen"], "verdict": choice["verdict"], "tried": choice["candidates"]}
    return Outcome({GATED: _deployed(fitted.adapter), CHOSEN: _deployed(fitted.candidate)}, evidence)


def base(task: Task, regime: Regime) -> Outcome:
    """The embeddings as they are."""
    del task, regime
    return Outcome({"base": BASE})


def ridge(task: Task, regime: Regime) -> Outcome:
    """Ridge regression to the identity at one fixed strength: nothing is tuned, nothing is judged."""
    del regime
    prior = Identity(task.train.queries.dim)
    delta = Ridge(strengths=(RIDGE,)).path(task.labels, prior).at(Setting(RIDGE))
    return Outcome({"ridge": _deployed(Adapter(BilinearOperator(prior, delta)))}, {"chosen": {"strength": RIDGE}})


def _deployed(adapter: Adapter) -> Deployed:
    return Deployed(adapter.apply, cosine=False)
