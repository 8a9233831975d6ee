"""askew: adapt frozen embeddings to a retrieval task with few labels, and know whether it is worth it."""

from askew._version import __version__

__all__ = ["__version__"]
