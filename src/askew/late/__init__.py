"""Late interaction: MaxSim and Signed MaxSim, exact search, exact constructions and Boolean queries."""

from askew.late.boolean import BooleanIndex, Clause, Query, all_of, any_of, max_or, none_of
from askew.late.codes import DigitCode, OneHotCode, choose_code
from askew.late.constructions import sparse_documents, sparse_queries, unpreservable_pair
from askew.late.exclusion import Demoted, demote, excluding
from askew.late.heads import TokenHead
from askew.late.maxsim import Match, explain, maxsim, maxsim_pairs
from askew.late.search import MaxSimScorer, search
from askew.late.torch_maxsim import TorchMaxSim

__all__ = [
    "BooleanIndex",
    "Clause",
    "Demoted",
    "DigitCode",
    "Match",
    "MaxSimScorer",
    "OneHotCode",
    "Query",
    "TokenHead",
    "TorchMaxSim",
    "all_of",
    "any_of",
    "choose_code",
    "demote",
    "excluding",
    "explain",
    "max_or",
    "maxsim",
    "maxsim_pairs",
    "none_of",
    "search",
    "sparse_documents",
    "sparse_queries",
    "unpreservable_pair",
]
