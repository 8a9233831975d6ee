"""How Δ is estimated from labels, and how its strength is chosen."""

from askew.estimators.choose import KEEP, Candidate, Choice, Estimator, Path, Verdict, choose
from askew.estimators.labels import Labels
from askew.estimators.ridge import Ridge, RidgePath

__all__ = [
    "KEEP",
    "Candidate",
    "Choice",
    "Estimator",
    "Labels",
    "Path",
    "Ridge",
    "RidgePath",
    "Verdict",
    "choose",
]
