"""How M0 is aligned from documents and Δ estimated from labels, and how estimator, family and strength are chosen."""

from askew.estimators.align import Alignment, align, fused
from askew.estimators.choose import Estimator, choose
from askew.estimators.evidence import Candidate, Choice, Evidence, GeometryLead, Verdict, cautious
from askew.estimators.labels import Labels
from askew.estimators.negatives import Mined, Mining, mine
from askew.estimators.paths import Path, Setting, has_shared
from askew.estimators.ridge import Ridge
from askew.estimators.softmax import Softmax

__all__ = [
    "Alignment",
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
    "align",
    "cautious",
    "choose",
    "fused",
    "has_shared",
    "mine",
]
