"""Encoders by a short name, as a command line gives them."""

from __future__ import annotations

import re

from askew.encoders.base import TextEncoder
from askew.encoders.endpoint import OpenAIEncoder
from askew.encoders.sentence import SentenceTransformerEncoder
from askew.encoders.wordllama import WordLlamaEncoder
from askew.errors import ParameterError

__all__ = ["encoder_from_spec", "token_model"]

_ENDPOINT = re.compile(r"(?P<model>.+?)@(?P<url>(?i:https?)://.+)")
_KNOWN = "Say wordllama, st:PATH_OR_NAME, openai:MODEL or openai:MODEL@URL"


def token_model(spec: str) -> str:
    """The folder or name of a model that is read token by token, from ``st:PATH_OR_NAME``.

    Raises:
        ParameterError: it is something else.

    >>> token_model("st:models/mine")
    'models/mine'
    """
    form, _, model = spec.partition(":")
    if form != "st" or not model:
        raise ParameterError(
            f"there is no token encoder {spec!r}", where="--token-encoder", remedy="Say st:PATH_OR_NAME"
        )
    return model


def encoder_from_spec(
    spec: str,
    *,
    name: str | None = None,
    query_prompt: str | None = None,
    document_prompt: str | None = None,
    batch: int | None = None,
    concurrency: int | None = None,
    dimensions: int | None = None,
    retries: int | None = None,
    timeout: float | None = None,
) -> TextEncoder:
    """Make an encoder from ``wordllama``, ``st:PATH_OR_NAME``, ``openai:MODEL`` or ``openai:MODEL@URL``.

    Args:
        spec: which encoder.
        name: what it is called, if not as the model.
        query_prompt: goes before every query; the encoder's default if None.
        document_prompt: likewise, for documents.
        batch: texts at once; the encoder's default if None.
        concurrency: requests at once; for endpoints alone, as those that follow.
        dimensions: how many the model should give.
        retries: how often a batch is asked for again.
        timeout: seconds to wait for an answer.

    Raises:
        ParameterError: there is no such encoder, or an option means nothing to it.
        MissingExtraError, EncoderError: as the encoder's class.

    >>> encoder_from_spec("wordllama").name
    'wordllama-256'
    """
    given = {"name": name, "query_prompt": query_prompt, "document_prompt": document_prompt, "batch": batch}
    network = {"concurrency": concurrency, "dimensions": dimensions, "retries": retries, "timeout": timeout}
    options = {option: value for option, value in (given | network).items() if value is not None}
    form, _, rest = spec.partition(":")
    if form == "openai" and rest:
        model, url = _endpoint(rest)
        return OpenAIEncoder(model, url=url, **options)  # type: ignore[arg-type]  # checked above
    foreign = [option for option in (*network, *(["batch"] if form == "wordllama" else [])) if option in options]
    if foreign:
        raise ParameterError(f"{', '.join(foreign)} means nothing to {spec}", where="encoder", remedy="Leave it out")
    if form == "st" and rest:
        return SentenceTransformerEncoder(rest, **options)  # type: ignore[arg-type]  # likewise
    if spec == "wordllama":
        return WordLlamaEncoder(**options)  # type: ignore[arg-type]  # likewise
    raise ParameterError(f"there is no encoder {spec!r}", where="encoder", remedy=_KNOWN)


def _endpoint(rest: str) -> tuple[str, str | None]:
    """Model and URL of ``MODEL[@URL]``; a mistyped URL is no part of a name, or texts would go to OpenAI."""
    found = _ENDPOINT.fullmatch(rest)
    if found is not None:
        return found["model"], found["url"]
    if "@" in rest:
        raise ParameterError(
            f"{rest.rpartition('@')[2]!r}, after the @, is no URL: one begins with http:// or https://",
            where="encoder",
            remedy="Say openai:MODEL@http://HOST/v1; a model whose name holds an @ needs its URL after it, or "
            "askew.encoders.OpenAIEncoder in Python",
        )
    return rest, None
