"""Late interaction: MaxSim and Signed MaxSim, exact search, exact constructions and Boolean queries."""

from askew.late.maxsim import Match, explain, maxsim, maxsim_pairs
from askew.late.search import MaxSimScorer, search

__all__ = ["Match", "MaxSimScorer", "explain", "maxsim", "maxsim_pairs", "search"]
