"""Text to vectors: frozen encoders that load without a network. None is imported before it is used."""

from askew.encoders.wordllama import WordLlamaEncoder

__all__ = ["WordLlamaEncoder"]
