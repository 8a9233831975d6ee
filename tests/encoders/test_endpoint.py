"""Endpoints: what is asked, what passes, what is final, and that nothing that was answered is lost."""

from __future__ import annotations

import base64
import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askew.encoders import CachedEncoder, CallableEncoder, OpenAIEncoder
from askew.encoders._reply import BadReplyError, read_reply
from askew.encoders._waits import asked_to_wait
from askew.errors import EncoderError, MissingExtraError, ParameterError
from askew.protocols import Encoder

Make = Callable[..., OpenAIEncoder]
TEXTS = [f"text {place}" for place in range(23)]


def then_good(*first: str) -> Callable[[int, list[str]], str]:
    """A plan: the first requests go so, and all others well."""
    return lambda number, texts: first[number] if number < len(first) else "good"


def test_vectors_come_back_in_the_order_of_the_texts(endpoint: Make, upstream: Any) -> None:
    encoder = endpoint()
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.dim) == ("fake", None)
    rows = encoder.encode(TEXTS)
    np.testing.assert_array_equal(rows, upstream.vectors(TEXTS))
    assert (rows.dtype.name, encoder.dim, encoder.model) == ("float32", 8, "fake-1")
    assert encoder.usage.requests == len(upstream.asked) == 6
    assert (encoder.usage.texts, encoder.usage.retries, encoder.usage.tokens) == (23, 0, 46)
    assert {"model": "lab/fake", "encoding_format": "base64", "input": TEXTS[:4]} in upstream.bodies


@pytest.mark.parametrize("form", ["good", "list", "reordered"])
def test_every_form_of_answer_gives_the_same_bits(endpoint: Make, upstream: Any, form: str) -> None:
    upstream.plan = lambda number, texts: form
    np.testing.assert_array_equal(endpoint().encode(TEXTS), upstream.vectors(TEXTS))


def test_no_texts_are_no_request(endpoint: Make, upstream: Any) -> None:
    assert endpoint().encode([]).shape == (0, 0)
    assert upstream.asked == []


def test_prompts_go_before_texts_by_their_kind(endpoint: Make, upstream: Any) -> None:
    encoder = endpoint(query_prompt="query: ", document_prompt="passage: ")
    encoder.encode(["a"], kind="query")
    encoder.encode(["a"])
    assert upstream.asked == [["query: a"], ["passage: a"]]


def test_dimensions_are_asked_for_and_tell_encoders_apart(endpoint: Make, upstream: Any) -> None:
    encoder = endpoint(dimensions=8)
    encoder.encode(["a"])
    assert upstream.bodies[0]["dimensions"] == 8
    assert encoder.signature != endpoint().signature


@pytest.mark.parametrize("most", [1, 3])
def test_no_more_requests_at_once_than_allowed(endpoint: Make, upstream: Any, most: int) -> None:
    upstream.delay = 0.02
    endpoint(concurrency=most, batch=2, timeout=5).encode(TEXTS)
    assert upstream.busiest == most


PASSING = ("silence", "hang-up", "truncated", "wrong-count", "wrong-index", "408", "409", "429", "500", "503")


@pytest.mark.parametrize("failure", PASSING)
def test_what_passes_is_asked_again(endpoint: Make, upstream: Any, failure: str) -> None:
    upstream.plan = then_good(failure, failure)
    encoder = endpoint(concurrency=1)
    np.testing.assert_array_equal(encoder.encode(TEXTS), upstream.vectors(TEXTS))
    assert (encoder.usage.requests, encoder.usage.retries) == (8, 2)
    assert set(upstream.paid.values()) == {1}


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        ("silence", "no answer came within 0.3 s"),
        ("hang-up", "there is no connection"),
        ("truncated", "cut short or no JSON"),
        ("wrong-count", "3 vectors for 4 texts"),
        ("429", "status 429 .*failure 429"),
    ],
)
def test_what_does_not_pass_ends_with_its_reason(endpoint: Make, upstream: Any, failure: str, told: str) -> None:
    upstream.plan = lambda number, texts: failure
    with pytest.raises(EncoderError, match=f"{upstream.url}: it was asked 3 times in a row: .*{told}"):
        endpoint(retries=2, concurrency=1).encode(TEXTS)
    assert len(upstream.asked) == 3


@pytest.mark.parametrize("headers", [{"retry-after-ms": "150"}, {"Retry-After": "0.15"}])
def test_retry_after_holds_every_request(endpoint: Make, upstream: Any, headers: dict[str, str]) -> None:
    times: list[float] = []

    def plan(number: int, texts: list[str]) -> str:
        times.append(time.monotonic())
        return "429" if number == 0 else "good"

    upstream.plan, upstream.headers = plan, headers
    encoder = endpoint(concurrency=1)
    encoder.encode(TEXTS)
    assert times[1] - times[0] >= 0.15


def test_a_wait_for_the_rest_of_the_day_is_no_wait(endpoint: Make, upstream: Any) -> None:
    upstream.plan, upstream.headers = (lambda number, texts: "429"), {"Retry-After": "7200"}
    with pytest.raises(EncoderError, match="come back in 7,200 s"):
        endpoint(concurrency=1).encode(TEXTS)
    assert len(upstream.asked) == 1


def test_a_quota_that_is_used_up_is_final(endpoint: Make, upstream: Any) -> None:
    upstream.plan, upstream.code = (lambda number, texts: "429"), "insufficient_quota"
    with pytest.raises(EncoderError, match="Add to your account"):
        endpoint(concurrency=1).encode(TEXTS)
    assert len(upstream.asked) == 1


@pytest.mark.parametrize(("status", "remedy"), [("401", "OPENAI_API_KEY"), ("404", "the name of the model")])
def test_what_is_final_is_asked_once(endpoint: Make, upstream: Any, status: str, remedy: str) -> None:
    upstream.plan = lambda number, texts: status
    with pytest.raises(EncoderError, match=rf"status {status} .*{remedy}"):
        endpoint(concurrency=1).encode(TEXTS)
    assert len(upstream.asked) == 1


@pytest.mark.parametrize("status", ["400", "413", "422"])
def test_a_refused_text_is_found_and_the_others_before_it_are_kept(
    endpoint: Make, upstream: Any, tmp_path: Path, status: str
) -> None:
    upstream.plan = lambda number, texts: status if "text 6" in texts else "good"
    with CachedEncoder(endpoint(concurrency=1), tmp_path) as cached:
        with pytest.raises(EncoderError, match=rf"status {status} .* to the text 'text 6'.*--max-characters") as error:
            cached.encode(TEXTS)
        assert error.value.texts == ("text 6",)
        kept = cached.fill(TEXTS[:6])
        assert (kept.held, kept.asked) == (6, 0)
    assert set(upstream.paid.values()) == {1}


def test_of_an_answer_with_nan_the_rest_counts(endpoint: Make, upstream: Any) -> None:
    upstream.plan = then_good("nan")
    encoder = endpoint(concurrency=1)
    np.testing.assert_array_equal(encoder.encode(TEXTS), upstream.vectors(TEXTS))
    assert upstream.asked[:2] == [TEXTS[:4], TEXTS[:1]]
    assert set(upstream.paid.values()) == {1}


def test_what_came_is_kept_while_the_rest_is_waited_for(endpoint: Make, upstream: Any, tmp_path: Path) -> None:
    upstream.plan = then_good("nan", "nan")
    answers = endpoint(concurrency=1).answers(TEXTS)
    assert next(answers).places.tolist() == [1, 2, 3]
    assert len(upstream.asked) == 1
    assert sorted(place for answer in answers for place in answer.places) == [0, *range(4, len(TEXTS))]


def test_a_text_that_is_always_nan_is_named_and_the_rest_is_kept(endpoint: Make, upstream: Any, tmp_path: Path) -> None:
    upstream.plan = lambda number, texts: "nan" if texts[0] == "text 4" else "good"
    with CachedEncoder(endpoint(concurrency=1), tmp_path) as cached:
        with pytest.raises(
            EncoderError, match=r"asked 3 times in a row: .* NaN or infinite values, that of 'text 4'"
        ) as error:
            cached.encode(TEXTS)
        assert error.value.texts == ("text 4",)
        assert cached.fill([*TEXTS[:4], *TEXTS[5:8]]).asked == 0


def test_a_row_of_zeros_is_asked_for_again_and_never_kept(endpoint: Make, upstream: Any, tmp_path: Path) -> None:
    upstream.plan = then_good("zeros")
    with CachedEncoder(endpoint(concurrency=1), tmp_path) as cached:
        np.testing.assert_array_equal(cached.encode(TEXTS), upstream.vectors(TEXTS))
        upstream.plan = lambda number, texts: "zeros" if texts[0] == "newt" else "good"
        with pytest.raises(EncoderError, match=r"asked 3 times in a row: .* nothing but zeros.*'newt'") as error:
            cached.encode(["newt", "toad"])
        assert error.value.texts == ("newt",)
        assert cached.fill(["toad"]).asked == 0
        assert cached.fill(["frog"]).asked == 1
        upstream.plan = lambda number, texts: "good"
        assert cached.fill(["newt"]).asked == 1
    assert set(upstream.paid.values()) == {1}


def test_there_are_two_kinds_of_texts(endpoint: Make, upstream: Any, tmp_path: Path) -> None:
    encoder = endpoint()
    with CachedEncoder(encoder, tmp_path) as cached:
        one: Any
        for one in (encoder, cached):
            with pytest.raises(ParameterError, match=r"kind: there is no kind 'foo'\. Say 'query' or 'document'"):
                one.encode(["newt"], kind="foo")
    assert upstream.asked == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("wrong-dims", "vectors of 5 dimensions, and of 8 before"),
        ("other-model", "the model 'other-1', and with 'fake-1' before"),
    ],
)
def test_an_endpoint_that_changes_midway_is_refused_at_once(
    endpoint: Make, upstream: Any, tmp_path: Path, change: str, told: str
) -> None:
    upstream.plan = then_good("good", "good", change)
    with CachedEncoder(endpoint(concurrency=1), tmp_path) as cached, pytest.raises(EncoderError, match=told):
        cached.encode(TEXTS)
    assert len(upstream.asked) == 3
    upstream.plan = lambda number, texts: change  # nor in a process of its own
    with CachedEncoder(endpoint(concurrency=1), tmp_path) as cached, pytest.raises(EncoderError, match=told):
        cached.encode(TEXTS)
    assert len(upstream.asked) == 4
    upstream.plan = then_good()
    with CachedEncoder(endpoint(), tmp_path) as cached:
        np.testing.assert_array_equal(cached.encode(TEXTS), upstream.vectors(TEXTS))
    assert set(upstream.paid.values()) == {1}


def test_what_is_under_way_when_another_request_fails_is_kept(endpoint: Make, upstream: Any, tmp_path: Path) -> None:
    def plan(number: int, texts: list[str]) -> str:
        if "text 0" in texts:
            return "401"
        time.sleep(0.1)
        return "good"

    upstream.plan = plan
    with CachedEncoder(endpoint(concurrency=3, timeout=5), tmp_path) as cached:
        with pytest.raises(EncoderError, match="status 401"):
            cached.encode(TEXTS)
        assert cached.fill(sorted(upstream.paid)).asked == 0
    assert len(upstream.paid) > 0


def interrupting(number: int, frame: Any) -> None:
    """Somebody else's handler."""
    raise KeyboardInterrupt


@pytest.mark.parametrize("handler", [signal.default_int_handler, interrupting])
def test_an_interrupt_waits_for_what_is_paid_for(
    endpoint: Make, upstream: Any, tmp_path: Path, handler: Callable[..., Any]
) -> None:
    def plan(number: int, texts: list[str]) -> str:
        if number == 3:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            time.sleep(0.1)
        return "good"

    upstream.plan = plan
    before = signal.signal(signal.SIGINT, handler)  # background jobs start with it ignored
    with CachedEncoder(endpoint(concurrency=2, batch=2, timeout=5), tmp_path) as cached:
        try:
            with pytest.raises(KeyboardInterrupt):
                cached.encode(TEXTS)
            assert signal.getsignal(signal.SIGINT) is handler
        finally:
            signal.signal(signal.SIGINT, before)
        assert 8 <= len(upstream.paid) < len(TEXTS)
        assert cached.fill(sorted(upstream.paid)).asked == 0


@pytest.mark.parametrize("where", ["write", "progress"])
def test_an_interrupt_while_answers_are_kept_loses_none(
    endpoint: Make, upstream: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with CachedEncoder(endpoint(concurrency=3, batch=1, timeout=5), tmp_path) as cached:
        write, calls = cached._store.write, []

        def interrupted(*args: Any, **more: Any) -> None:
            calls.append(1)
            if len(calls) == 2:
                signal.raise_signal(signal.SIGINT)
            if args:
                write(*args, **more)

        progress = None
        if where == "write":
            monkeypatch.setattr(cached._store, "write", interrupted)
        else:
            progress = lambda done, total: interrupted()  # noqa: E731
        try:
            with pytest.raises(KeyboardInterrupt):
                cached.encode(TEXTS, progress=progress)
            assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        finally:
            signal.signal(signal.SIGINT, before)
        assert 2 <= len(upstream.paid) <= 6 < len(TEXTS)
        assert cached.fill(sorted(upstream.paid)).asked == 0
        assert cached.fill(TEXTS).distinct == len(TEXTS)
    assert set(upstream.paid.values()) == {1}


def test_an_interrupt_ends_a_long_wait(endpoint: Make, upstream: Any, tmp_path: Path) -> None:
    timer = threading.Timer(0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))

    def plan(number: int, texts: list[str]) -> str:
        if number == 0:
            timer.start()
        return "429"

    upstream.plan, upstream.headers = plan, {"retry-after": "50"}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    with CachedEncoder(endpoint(concurrency=2, batch=2), tmp_path) as cached:
        try:
            with pytest.raises(KeyboardInterrupt):
                cached.encode(TEXTS)
        finally:
            signal.signal(signal.SIGINT, before)


def test_a_second_interrupt_is_not_held(tmp_path: Path) -> None:
    asked: list[int] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.append(len(texts))
        signal.raise_signal(signal.SIGINT)
        if len(asked) > 1:
            signal.raise_signal(signal.SIGINT)
        return [[1.0, 2.0] for _ in texts]

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with CachedEncoder(CallableEncoder(embed, name="e", batch=4), tmp_path) as cached:
            with pytest.raises(KeyboardInterrupt):  # after the batch, which is kept
                cached.encode(TEXTS)
            assert cached.fill(TEXTS[:4]).asked == 0
            with pytest.raises(KeyboardInterrupt):  # within the batch
                cached.encode(TEXTS[4:])
            assert asked == [4, 4]
    finally:
        signal.signal(signal.SIGINT, before)


def test_one_caller_s_end_is_not_another_s(endpoint: Make, upstream: Any) -> None:
    upstream.delay = 0.01
    encoder = endpoint(concurrency=2, batch=1)
    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(encoder.encode, TEXTS)
        for _ in range(5):
            some: Any = encoder.answers([f"other {place}" for place in range(4)])
            next(some)
            some.close()
        np.testing.assert_array_equal(whole.result(), upstream.vectors(TEXTS))


def test_an_encoder_that_leaves_texts_out_is_refused(tmp_path: Path) -> None:
    class Lazy(CallableEncoder):
        def answers(self, texts: Any, **more: Any) -> Any:
            return super().answers(texts[:5], **more)

    lazy = Lazy(lambda texts: [[1.0, 2.0] for _ in texts], name="lazy")
    with pytest.raises(EncoderError, match="it gave 5 vectors for 23 texts"):
        lazy.encode(TEXTS)
    with CachedEncoder(lazy, tmp_path) as cached, pytest.raises(EncoderError, match="no vector for 18 of 23 texts"):
        cached.fill(TEXTS)


def test_a_handler_that_is_set_meanwhile_stays(tmp_path: Path) -> None:
    def mine(number: int, frame: Any) -> None:
        raise AssertionError

    def embed(texts: list[str]) -> list[list[float]]:
        signal.signal(signal.SIGTERM, mine)
        return [[1.0, 2.0] for _ in texts]

    before = signal.getsignal(signal.SIGTERM)
    try:
        with CachedEncoder(CallableEncoder(embed, name="e"), tmp_path) as cached:
            cached.fill(TEXTS)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


def test_handlers_of_others_and_other_threads_are_left_alone(tmp_path: Path) -> None:
    seen: list[int] = []

    def embed(texts: list[str]) -> list[list[float]]:
        if threading.current_thread() is threading.main_thread():
            signal.raise_signal(signal.SIGINT)
        return [[1.0, 2.0] for _ in texts]

    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with CachedEncoder(CallableEncoder(embed, name="e", batch=4), tmp_path) as cached:
            assert cached.fill(TEXTS[:8]).asked == 8
        assert seen == [signal.SIGINT] * 2

        def elsewhere() -> int:
            with CachedEncoder(CallableEncoder(embed, name="e", batch=4), tmp_path) as cached:
                return cached.fill(TEXTS).asked

        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(elsewhere).result() == len(TEXTS) - 8
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("seed", range(4))
def test_random_failures_and_restarts_ask_for_nothing_twice(
    endpoint: Make, upstream: Any, tmp_path: Path, seed: int
) -> None:
    fate, lock = random.Random(seed), threading.Lock()
    passing = ("429", "500", "truncated", "nan", "hang-up", "wrong-count", "wrong-index")
    final = ("wrong-dims", "other-model", "401")

    def plan(number: int, texts: list[str]) -> str:
        with lock:
            draw = fate.random()
            if number == 10 or draw < 0.05:
                return fate.choice(final)
            if draw < 0.06:
                return "silence"
            return fate.choice(passing if draw < 0.4 else ("good", "list", "reordered"))

    texts = [f"text {place % 120}" for place in range(150)]
    with endpoint() as encoder, CachedEncoder(encoder, tmp_path) as cached:
        cached.encode(texts[:1])  # the first answer says what the others must be
    upstream.plan, upstream.headers = plan, {"retry-after-ms": "3"}
    requests, ends = 1, 0
    rows = None
    while rows is None:
        with endpoint(retries=3) as encoder, CachedEncoder(encoder, tmp_path) as cached:
            try:
                rows = cached.encode(texts)
            except EncoderError:
                ends += 1
            requests += encoder.usage.requests
    assert ends > 0
    np.testing.assert_array_equal(rows, upstream.vectors(texts))
    assert set(upstream.paid) == set(texts)
    assert set(upstream.paid.values()) == {1}
    assert requests == len(upstream.asked)


# What is given


def test_empty_texts_are_refused_before_anything_is_asked(endpoint: Make, upstream: Any) -> None:
    with pytest.raises(EncoderError, match=r"2 of 3 texts are empty.*--empty zero"):
        endpoint().encode(["a", "", " \n"])
    assert upstream.asked == []


def test_the_key_comes_from_the_environment(endpoint: Make, upstream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint().encode(["a"])
    monkeypatch.setenv("OPENAI_API_KEY", "secret-1")
    endpoint().encode(["a"])
    endpoint(api_key="secret-2").encode(["a"])
    assert upstream.keys == {"Bearer none", "Bearer secret-1", "Bearer secret-2"}


def test_openai_itself_needs_a_key(endpoint: Make) -> None:
    with pytest.raises(ParameterError, match=r"https://api\.openai\.com/v1: there is no API key\. .*OPENAI_API_KEY"):
        endpoint(url=None)


def test_the_url_may_come_from_the_environment(endpoint: Make, upstream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"{upstream.url}/")
    assert endpoint(url=None).url == upstream.url


@pytest.mark.parametrize(("url", "told"), [("localhost:8000", "no URL"), ("http://me:pass@host/v1", "password")])
def test_a_url_that_is_none_or_holds_a_password_is_refused(endpoint: Make, url: str, told: str) -> None:
    with pytest.raises(ParameterError, match=told) as error:
        endpoint(url=url)
    assert "pass@" not in str(error.value)


@pytest.mark.parametrize("option", [{"batch": 0}, {"concurrency": 0}, {"retries": -1}, {"timeout": 0}, {"name": " "}])
def test_numbers_outside_their_range_are_refused(endpoint: Make, option: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        endpoint(**option)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, quick: None) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingExtraError, match=r"\.\[openai\]"):
        OpenAIEncoder("m", url="http://127.0.0.1:9/v1")


# The parts


@given(
    st.binary() | st.recursive(st.none() | st.integers() | st.text(), st.lists).map(lambda v: json.dumps(v).encode())
)
def test_any_bytes_are_a_reply_or_a_bad_one(body: bytes) -> None:
    with pytest.raises(BadReplyError):
        read_reply(body, 1)


@pytest.mark.parametrize(
    "embedding", [None, [], {}, "", "AAA", "AAAA", [[1.0]], ["x"], base64.b64encode(b"12345").decode(), True]
)
def test_what_is_no_vector_is_a_bad_reply(embedding: object) -> None:
    with pytest.raises(BadReplyError):
        read_reply(json.dumps({"data": [{"index": 0, "embedding": embedding}]}).encode(), 1)


def test_null_and_what_overflows_is_not_finite() -> None:
    body = b'{"data": [{"embedding": [null, 1]}, {"embedding": [1e300, 1]}, {"embedding": [NaN, 1]}]}'
    reply = read_reply(body, 3)
    assert not np.isfinite(reply.vectors).all(axis=1).any()
    assert (reply.model, reply.tokens) == (None, 0)


def test_vectors_of_two_dimensions_in_one_answer_are_a_bad_reply() -> None:
    with pytest.raises(BadReplyError, match="several dimensions"):
        read_reply(b'{"data": [{"embedding": [1]}, {"embedding": [1, 2]}]}', 2)


def test_retry_after_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    assert 28 < asked_to_wait({"retry-after": later}) <= 30
    assert asked_to_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0
    assert asked_to_wait({"retry-after": "soon"}) == 0
    assert asked_to_wait({"retry-after": "nan"}) == 0
