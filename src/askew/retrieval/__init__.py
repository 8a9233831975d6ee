"""Exact search, two-stage search, and the look-up of past queries."""

from askew.retrieval.exact import search
from askew.retrieval.past_queries import PastQueries, put_first
from askew.retrieval.rerank import rerank

__all__ = ["PastQueries", "put_first", "rerank", "search"]
