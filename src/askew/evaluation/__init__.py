"""How good a run is, by query, and whether another one is better."""

from askew.evaluation.choices import ChoiceAccuracy, Choices, choice_accuracy, exclusion_success
from askew.evaluation.compare import Comparison, compare, holm, paired_interval, paired_p_value
from askew.evaluation.measures import Evaluation, evaluate
from askew.evaluation.ndcg import GainTable, dcg, ndcg

__all__ = [
    "ChoiceAccuracy",
    "Choices",
    "Comparison",
    "Evaluation",
    "GainTable",
    "choice_accuracy",
    "compare",
    "dcg",
    "evaluate",
    "exclusion_success",
    "holm",
    "ndcg",
    "paired_interval",
    "paired_p_value",
]
