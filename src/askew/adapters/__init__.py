"""Adapter: an operator, the similarity it is meant for, and where it came from."""

from askew.adapters.adapter import Adapter
from askew.adapters.provenance import Canaries, Provenance, Seen

__all__ = ["Adapter", "Canaries", "Provenance", "Seen"]
