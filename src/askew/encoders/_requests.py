"""One request to an endpoint through the `openai` client, and what its failure means."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from askew._extras import require
from askew.encoders._reply import BadReplyError, Reply, read_reply
from askew.encoders._waits import Waits, asked_to_wait
from askew.encoders.base import Usage
from askew.errors import EncoderError

__all__ = ["Endpoint", "PassingError", "RefusedError"]

# What may be otherwise a second later; every other status of 400 and above is final.
_PASSING = (408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529)
# What one text of a batch may be the reason of.
_BY_A_TEXT = (400, 413, 422)
# An endpoint that asks for a longer wait has shut for now; better to say so and go.
_LONGEST_HOLD = 300.0
# Characters of an endpoint's own words that a message repeats.
_WORDS = 300


class PassingError(EncoderError):
    """A failure that may be gone when asked again."""


class RefusedError(EncoderError):
    """The endpoint does not take the request; one of its texts may be the reason."""


class Endpoint:
    """The connections to one endpoint, for several threads.

    Args:
        url: the base URL.
        api_key: sent with every request.
        timeout: seconds to wait for an answer.
        usage: counts the requests and tokens.
        waits: when requests may begin.

    Raises:
        MissingExtraError: the package `openai` is not installed.
    """

    def __init__(self, url: str, *, api_key: str, timeout: float, usage: Usage, waits: Waits) -> None:
        self._openai = require("openai", extra="openai", purpose="asking an endpoint for embeddings")
        # The client's own retries would hide what is asked and paid for.
        self._client: Any = self._openai.OpenAI(api_key=api_key, base_url=url, max_retries=0, timeout=timeout)
        self._url, self._timeout = url, timeout
        self._usage, self._waits = usage, waits
        self._lock = threading.Lock()

    def ask(self, body: Mapping[str, Any], *, again: bool) -> Reply:
        """Send a request for the vectors of ``body["input"]``.

        Args:
            body: the request.
            again: whether it repeats one that failed.

        Raises:
            PassingError, RefusedError: see there.
            EncoderError: the failure is final.
        """
        with self._lock:
            self._usage.requests += 1
            self._usage.retries += again
        try:
            answer = self._client.embeddings.with_raw_response.create(**body)
        except self._openai.APIStatusError as error:
            raise self._by_status(error) from error
        except self._openai.APITimeoutError as error:
            raise PassingError(
                f"no answer came within {self._timeout:g} s", where=self._url, remedy="Give it more --timeout"
            ) from error
        except self._openai.APIConnectionError as error:
            raise PassingError(
                f"there is no connection ({error.__cause__ or error})", where=self._url, remedy="Check that it runs"
            ) from error
        try:
            reply = read_reply(answer.http_response.content, len(body["input"]))
        except BadReplyError as error:
            raise PassingError(str(error), where=self._url, remedy="Check what runs there") from error
        with self._lock:
            self._usage.tokens += reply.tokens
        return reply

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _by_status(self, error: Any) -> EncoderError:
        status, words = error.status_code, " ".join(str(error.message).split())[:_WORDS]
        problem = f"it answers with status {status} ({words})"
        if error.code == "insufficient_quota":  # a 429 that no waiting ends
            return EncoderError(problem, where=self._url, remedy="Add to your account there, then go on")
        if status in _PASSING:
            return self._passing(problem, asked_to_wait(error.response.headers))
        if status in _BY_A_TEXT:
            return RefusedError(problem, where=self._url, remedy="Mend the text or the request")
        remedy = "Check OPENAI_API_KEY" if status in (401, 403) else "Check the URL and the name of the model"
        return EncoderError(problem, where=self._url, remedy=remedy)

    def _passing(self, problem: str, seconds: float) -> EncoderError:
        if seconds > _LONGEST_HOLD:
            return EncoderError(problem, where=self._url, remedy=f"It asks to come back in {seconds:,.0f} s")
        self._waits.hold(seconds)  # the limit is on all threads
        return PassingError(problem, where=self._url, remedy="Ask for less at once: --concurrency, --batch")
