"""Exact search."""

from askew.retrieval.exact import search

__all__ = ["search"]
