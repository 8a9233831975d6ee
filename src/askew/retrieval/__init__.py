"""Exact search, and the look-up of past queries."""

from askew.retrieval.exact import search
from askew.retrieval.past_queries import PastQueries, put_first

__all__ = ["PastQueries", "put_first", "search"]
