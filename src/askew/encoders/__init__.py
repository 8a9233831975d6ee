"""Text to vectors: frozen encoders, and a cache around them. What they need is imported when one is made."""

from askew.encoders.base import Answer, SerialEncoder, TextEncoder, Usage
from askew.encoders.cache import CachedEncoder, Filled, default_cache
from askew.encoders.endpoint import OpenAIEncoder
from askew.encoders.functions import CallableEncoder
from askew.encoders.sentence import SentenceTransformerEncoder
from askew.encoders.spec import encoder_from_spec, token_model
from askew.encoders.token_states import EncodedTokens, TokenStateEncoder, TokenStates
from askew.encoders.wordllama import WordLlamaEncoder

__all__ = [
    "Answer",
    "CachedEncoder",
    "CallableEncoder",
    "EncodedTokens",
    "Filled",
    "OpenAIEncoder",
    "SentenceTransformerEncoder",
    "SerialEncoder",
    "TextEncoder",
    "TokenStateEncoder",
    "TokenStates",
    "Usage",
    "WordLlamaEncoder",
    "default_cache",
    "encoder_from_spec",
    "token_model",
]
