"""The operator M = M0 + Δ of a bilinear score xᵀ M y, kept lazy."""

from askew.operators.bilinear import BilinearOperator, Projections
from askew.operators.terms import Dense, Factored, Identity, Stacked, Term, Zero

__all__ = ["BilinearOperator", "Dense", "Factored", "Identity", "Projections", "Stacked", "Term", "Zero"]
