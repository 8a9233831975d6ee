"""Shared or dual geometry: families of score matrices, what each can express, and what each costs to learn."""

from askew.geometry.approximation import Approximation, approximation_errors, rotated_target, rotation_gap
from askew.geometry.complexity import Complexity, rademacher
from askew.geometry.crossfit import HeldOutScores, closed_form_scores, fold_loss, fold_separation, held_out_ranking
from askew.geometry.curves import Forecast, LearningCurve
from askew.geometry.families import Nearest, nearest_dual, nearest_shared, nearest_symmetric
from askew.geometry.forms import Form, FormChoice, choose_form
from askew.geometry.growth import RiskCurve, risk_curve
from askew.geometry.halving import HalfSums, half_sums
from askew.geometry.moments import Covariance, Moments
from askew.geometry.partial import nearest_partial, nearest_untied
from askew.geometry.planning import Plan, plan
from askew.geometry.risk import (
    Risks,
    boundary,
    choice_regret,
    dual_dimension,
    dual_only_dimension,
    dual_probability,
    local_risks,
    null_bound,
    partial_dimension,
    prefers_dual,
    selection_score,
    shared_dimension,
    sure_risks,
    untied_dimension,
    untied_dimension_learned,
)
from askew.geometry.rows import RelevanceRows
from askew.geometry.selection import Selection, cars, cars_power, interpolation_weight
from askew.geometry.spectra import Products, Spectra, inner_products, interpolate, margins
from askew.geometry.splits import Units, half_splits
from askew.geometry.tangent import TangentSpace, TangentVector
from askew.geometry.whitening import Whitening, ledoit_wolf

__all__ = [
    "Approximation",
    "Complexity",
    "Covariance",
    "Forecast",
    "Form",
    "FormChoice",
    "HalfSums",
    "HeldOutScores",
    "LearningCurve",
    "Moments",
    "Nearest",
    "Plan",
    "Products",
    "RelevanceRows",
    "RiskCurve",
    "Risks",
    "Selection",
    "Spectra",
    "TangentSpace",
    "TangentVector",
    "Units",
    "Whitening",
    "approximation_errors",
    "boundary",
    "cars",
    "cars_power",
    "choice_regret",
    "choose_form",
    "closed_form_scores",
    "dual_dimension",
    "dual_only_dimension",
    "dual_probability",
    "fold_loss",
    "fold_separation",
    "half_splits",
    "half_sums",
    "held_out_ranking",
    "inner_products",
    "interpolate",
    "interpolation_weight",
    "ledoit_wolf",
    "local_risks",
    "margins",
    "nearest_dual",
    "nearest_partial",
    "nearest_shared",
    "nearest_symmetric",
    "nearest_untied",
    "null_bound",
    "partial_dimension",
    "plan",
    "prefers_dual",
    "rademacher",
    "risk_curve",
    "rotated_target",
    "rotation_gap",
    "selection_score",
    "shared_dimension",
    "sure_risks",
    "untied_dimension",
    "untied_dimension_learned",
]
