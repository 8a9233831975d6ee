"""How Δ is estimated from labels, and how estimator, family and strength are chosen."""

from askew.estimators.choose import Estimator, choose
from askew.estimators.evidence import Candidate, Choice, Evidence, GeometryLead, Verdict, cautious
from askew.estimators.labels import Labels
from askew.estimators.negatives import Mined, Mining, mine
from askew.estimators.paths import Path, Setting, has_shared
from askew.estimators.ridge import Ridge
from askew.estimators.softmax import Softmax

__all__ = [
    "Candidate",
    "Choice",
    "Estimator",
    "Evidence",
    "GeometryLead",
    "Labels",
    "Mined",
    "Mining",
    "Path",
    "Ridge",
    "Setting",
    "Softmax",
    "Verdict",
    "cautious",
    "choose",
    "has_shared",
    "mine",
]
