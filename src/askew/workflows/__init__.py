"""Use cases: the one place that joins the stages."""

from askew.workflows.compare import SystemComparison, compare_systems
from askew.workflows.fit import Fit, fit

__all__ = ["Fit", "SystemComparison", "compare_systems", "fit"]
