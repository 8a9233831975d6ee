"""Use cases: the one place that joins the stages."""

from askew.workflows.fit import Fit, fit

__all__ = ["Fit", "fit"]
