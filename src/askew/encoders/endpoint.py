"""Endpoints that speak OpenAI's embeddings interface: OpenAI's own, and vLLM, TEI, Ollama and others."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from askew._blocks import blocks
from askew.encoders._requests import Endpoint, PassingError, RefusedError
from askew.encoders._waits import Stop, Waits
from askew.encoders.base import Answer, TextEncoder, excerpt, prompt_for
from askew.errors import EncoderError, ParameterError, counted

if TYPE_CHECKING:
    from askew.protocols import Kind

__all__ = ["OpenAIEncoder"]

_OPENAI = "https://api.openai.com/v1"
# A text whose vector is NaN three times will be NaN for ever: half precision overflows on it.
_NAN_RETRIES = 2

_Places = npt.NDArray[np.int64]
_Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True)
class _Job:
    """Texts to ask for in one request, and how often that failed or gave what cannot be used."""

    places: _Places
    failures: int = 0
    nans: int = 0


@dataclass(frozen=True)
class _Outcome:
    """What became of one request: vectors that can be used, what is to be asked for again, and what is final."""

    answer: Answer | None = None
    again: tuple[_Job, ...] = ()
    error: EncoderError | None = None


class OpenAIEncoder(TextEncoder):
    """A model behind an endpoint of OpenAI's interface.

    Requests that fail in passing (no connection, no answer in time, statuses 408, 409, 429 and 5xx,
    an answer cut short, vectors with NaN or of zeros alone) are repeated with growing, jittered waits, or after
    what ``Retry-After`` asks for; while it holds, no other request begins. Of an answer with such vectors the
    others count, and only the rest is asked for again. A batch that is refused is halved until the text is found
    that is the reason. Whatever fails in the end, the answers that are under way are waited for first.

    Args:
        model: what the endpoint calls it.
        url: the base URL, such as ``http://localhost:8000/v1``; ``$OPENAI_BASE_URL`` or OpenAI's by
            default.
        api_key: ``$OPENAI_API_KEY`` by default; endpoints but OpenAI's may need none.
        name: what the encoder is called; the last part of `model` by default.
        dimensions: how many the model should give, if it can choose.
        batch: texts a request.
        concurrency: requests at once.
        retries: how often one batch is asked for again before it is given up.
        timeout: seconds to wait for an answer.
        query_prompt: goes before every query.
        document_prompt: goes before every document.

    Raises:
        MissingExtraError: the package `openai` is not installed.
        ParameterError: there is no key for OpenAI's own endpoint, or a number is outside its range.
    """

    #: What is waited for before the first retry, in seconds.
    first_wait: ClassVar[float] = 0.5

    def __init__(
        self,
        model: str,
        *,
        url: str | None = None,
        api_key: str | None = None,
        name: str | None = None,
        dimensions: int | None = None,
        batch: int = 64,
        concurrency: int = 4,
        retries: int = 8,
        timeout: float = 60.0,
        query_prompt: str = "",
        document_prompt: str = "",
    ) -> None:
        super().__init__(
            name or model.rstrip("/").rpartition("/")[2],
            batch=batch,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
        )
        if concurrency < 1 or retries < 0 or not timeout > 0 or (dimensions is not None and dimensions < 1):
            raise ParameterError(
                f"concurrency is {concurrency}, retries {retries}, timeout {timeout}, dimensions {dimensions}",
                where=self.name,
                remedy="Concurrency, timeout and dimensions are above 0, retries not below",
            )
        self.url = _base_url(url or os.environ.get("OPENAI_BASE_URL") or _OPENAI)
        self._asked: dict[str, Any] = {"model": model, "encoding_format": "base64"}  # a third of the bytes of numbers
        if dimensions is not None:
            self._asked["dimensions"] = dimensions
        self._concurrency, self._retries = concurrency, retries
        self._waits = Waits(self.first_wait)
        self._lock = threading.Lock()
        key = _api_key(api_key, self.url)
        self._endpoint = Endpoint(self.url, api_key=key, timeout=timeout, usage=self.usage, waits=self._waits)

    @property
    def signature(self) -> Mapping[str, Any]:
        """Endpoint, model and dimensions asked for."""
        asked = {"model": self._asked["model"], "dimensions": self._asked.get("dimensions")}
        return {"encoder": "openai", "url": self.url, **asked}

    def answers(self, texts: Sequence[str], *, kind: Kind = "document", stop: Stop | None = None) -> Iterator[Answer]:
        """Vectors as they come, in any order, several requests at once.

        Raises:
            ParameterError, EncoderError: as `encode`, once the answers that are under way have come.
        """
        stop = Stop() if stop is None else stop
        prompt = prompt_for(self._prompts, kind)
        self._refuse_blank(texts, prompt)
        jobs = deque(_Job(np.arange(part.start, part.stop)) for part in blocks(len(texts), self.batch))
        waiting: set[Future[_Outcome]] = set()
        failure: BaseException | None = None
        with ThreadPoolExecutor(self._concurrency, thread_name_prefix="askew-embed") as pool:
            try:
                while waiting or (jobs and not stop):
                    while jobs and not stop and len(waiting) < self._concurrency:
                        waiting.add(pool.submit(self._once, texts, jobs.popleft(), prompt, stop))
                    try:
                        done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    except KeyboardInterrupt as interrupt:  # once: take what is under way, it is paid for
                        if stop:
                            raise
                        failure, done = interrupt, set()
                        stop.set()
                    for outcome in (future.result() for future in done):
                        jobs.extendleft(reversed(outcome.again))
                        if outcome.error is not None:
                            failure = failure or outcome.error
                            stop.set()
                        if outcome.answer is not None:
                            yield outcome.answer
            finally:
                stop.set()  # whoever still waits to ask again need not
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Close its connections."""
        self._endpoint.close()

    def _refuse_blank(self, texts: Sequence[str], prompt: str) -> None:
        blank = [text for text in texts if not (prompt + text).strip()]
        if blank:
            raise EncoderError(
                f"{len(blank):,} of {counted(len(texts), 'text')} {'is' if len(blank) == 1 else 'are'} empty, "
                "which endpoints refuse",
                where=self.name,
                remedy="Leave them out, or give them zero vectors (--empty zero)",
                texts=blank,
            )

    def _once(self, texts: Sequence[str], job: _Job, prompt: str, stop: Stop) -> _Outcome:
        """Ask for some texts in one request; runs in a thread, and gives what came at once, to be kept."""
        failed = max(job.failures, job.nans)
        if (failed and not self._waits.after_failure(failed, stop)) or not self._waits.before_request(stop):
            return _Outcome()  # somebody has stopped all, and knows why
        try:
            vectors = self._request([prompt + texts[place] for place in job.places], again=failed > 0)
        except RefusedError as refusal:
            if len(job.places) == 1:
                return _Outcome(error=_refused(texts[job.places[0]], refusal))
            return _Outcome(again=tuple(map(_Job, np.array_split(job.places, 2))))
        except PassingError as passing:
            return self._later(job, passing)
        except EncoderError as error:
            return _Outcome(error=error)
        return self._sorted_out(texts, job, vectors)

    def _later(self, job: _Job, passing: PassingError) -> _Outcome:
        if job.failures >= self._retries:
            return _Outcome(error=_given_up(passing, job.failures + 1))
        return _Outcome(again=(_Job(job.places, job.failures + 1, job.nans),))

    def _sorted_out(self, texts: Sequence[str], job: _Job, vectors: _Vectors) -> _Outcome:
        good = _usable(vectors)
        bad = job.places[~good]
        answer = Answer(job.places[good], vectors[good], np.zeros(int(good.sum()), dtype=np.bool_))
        if not len(bad):
            return _Outcome(answer)
        if job.nans >= min(self._retries, _NAN_RETRIES):
            found = self._unusable([texts[place] for place in bad], _fault(vectors[~good]))
            return _Outcome(answer, error=_given_up(found, job.nans + 1))
        return _Outcome(answer, again=(_Job(bad, nans=job.nans + 1),))

    def _request(self, texts: list[str], *, again: bool) -> _Vectors:
        reply = self._endpoint.ask({**self._asked, "input": texts}, again=again)
        with self._lock:  # the first answer of several threads tells what the others must be
            vectors = self._checked(reply.vectors, len(texts))
            if reply.model is not None and self.model not in (None, reply.model):
                raise EncoderError(
                    f"it answers with the model {reply.model!r}, and with {self.model!r} before",
                    where=self.url,
                    remedy="Ask for one version by its full name, or name another --cache and embed all texts again",
                )
            self.model = reply.model or self.model
            self.usage.texts += int(_usable(vectors).sum())
        return vectors


def _usable(vectors: _Vectors) -> npt.NDArray[np.bool_]:
    """(b,) which rows are finite and have a direction: a row of zeros would score 0 for ever."""
    return np.asarray(np.isfinite(vectors).all(axis=1) & vectors.any(axis=1))


def _fault(vectors: _Vectors) -> str:
    """What is wrong with some that cannot be used."""
    zeros = np.isfinite(vectors).all(axis=1)
    if zeros.all():
        return "nothing but zeros"
    return "NaN, infinite values or nothing but zeros" if zeros.any() else "NaN or infinite values"


def _refused(text: str, refusal: RefusedError) -> EncoderError:
    return EncoderError(
        f"{refusal.problem} to the text {excerpt(text)}",
        where=refusal.where,
        remedy="If the text is too long, cut texts with --max-characters (max_characters=...); else mend the request",
        texts=[text],
    )


def _given_up(failure: EncoderError, failures: int) -> EncoderError:
    times = "once" if failures == 1 else f"{failures} times in a row"
    return EncoderError(
        f"it was asked {times}: {failure.problem}", where=failure.where, remedy=failure.remedy, texts=failure.texts
    )


def _base_url(url: str) -> str:
    """A base URL without a slash at its end; one with a password is refused, as it would go into files.

    >>> _base_url("http://localhost:8000/v1/")
    'http://localhost:8000/v1'
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError(f"{url!r} is no URL", where="url", remedy="Give one such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ParameterError(
            "the URL holds a user name or password", where=parts.hostname, remedy="Put the key in OPENAI_API_KEY"
        )
    return url.rstrip("/")


def _api_key(given: str | None, url: str) -> str:
    key = given or os.environ.get("OPENAI_API_KEY")
    if not key and url.startswith(_OPENAI.removesuffix("/v1")):
        raise ParameterError(
            "there is no API key", where=url, remedy="Put it in the environment: export OPENAI_API_KEY=..."
        )
    return key or "none"  # the client wants one; an endpoint of one's own looks at none
