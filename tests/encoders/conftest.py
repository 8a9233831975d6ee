"""A fake endpoint of OpenAI's interface, which counts what it answers and fails as it is told to."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from askew.encoders import OpenAIEncoder

DIM = 8


def vector(text: str) -> npt.NDArray[np.float32]:
    """What the endpoint gives for a text, whenever it is asked."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).standard_normal(DIM).astype(np.float32)


@dataclass
class Upstream:
    """The endpoint: what it does with a request is the first word that `plan` gives for its texts.

    Attributes:
        url: its base URL.
        plan: number of the request and its texts → one of `good`, `list`, `reordered`, `nan`, `zeros`, `wrong-dims`,
            `wrong-count`, `wrong-index`, `truncated`, `other-model`, `silence`, `hang-up`, or a status.
        paid: text → how often a vector of it went out that could be used.
        asked: the texts of every request.
        busiest: requests that were under way at once, at most.
    """

    url: str = ""
    plan: Callable[[int, list[str]], str] = lambda number, texts: "good"
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    code: str | None = None
    paid: Counter[str] = field(default_factory=Counter)
    asked: list[list[str]] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: set[str] = field(default_factory=set)
    busy: int = 0
    busiest: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    @staticmethod
    def vectors(texts: list[str]) -> npt.NDArray[np.float32]:
        """What is right for some texts."""
        return np.stack([vector(text) for text in texts])

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        texts = body["input"]
        with self.lock:
            number = len(self.asked)
            self.asked.append(texts)
            self.bodies.append(body)
            self.keys.add(handler.headers["Authorization"])
            self.busy += 1
            self.busiest = max(self.busiest, self.busy)
        try:
            time.sleep(self.delay)
            self._act(handler, self.plan(number, texts), texts)
        except OSError:
            handler.close_connection = True  # the client has gone
        finally:
            with self.lock:
                self.busy -= 1

    def _act(self, handler: BaseHTTPRequestHandler, what: str, texts: list[str]) -> None:
        if what == "silence":
            time.sleep(0.6)  # longer than the tests' timeout
        if what in ("silence", "hang-up"):
            handler.close_connection = True
            return
        if what.isdigit():
            error = {"error": {"message": f"failure {what}", "code": self.code}}
            _send(handler, int(what), json.dumps(error).encode(), self.headers)
            return
        rows = [vector(text) for text in texts]
        usable = what in ("good", "list", "reordered", "nan", "zeros")
        if what in ("nan", "zeros"):
            rows[0] = np.full(DIM, np.nan if what == "nan" else 0.0, dtype=np.float32)
        if what == "wrong-dims":
            rows = [row[:5] for row in rows]
        data = [
            {"object": "embedding", "index": place, "embedding": _spelt(row, what)} for place, row in enumerate(rows)
        ]
        if what == "wrong-count":
            data.pop()
        if what == "wrong-index":
            data[-1]["index"] = len(data)
        if what == "reordered":
            data.reverse()
        model = "other-1" if what == "other-model" else "fake-1"
        usage = {"prompt_tokens": sum(len(text.split()) for text in texts), "total_tokens": 10**6}
        reply = json.dumps({"object": "list", "data": data, "model": model, "usage": usage}).encode()
        _send(handler, 200, reply[: len(reply) // 2] if what == "truncated" else reply, {})
        if usable:  # noted once it has gone out whole
            with self.lock:
                self.paid.update(texts[1:] if what in ("nan", "zeros") else texts)


def _spelt(row: npt.NDArray[np.float32], what: str) -> str | list[float]:
    if what == "list":
        return [float(value) for value in row]
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


def _send(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    held = Upstream()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            held.answer(self)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, address: object) -> None:
            """A client that has gone is no error here."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        held.url = f"http://127.0.0.1:{server.server_port}/v1"
        yield held
        server.shutdown()
        thread.join()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits before retries of a few milliseconds, and no keys or caches from outside."""
    monkeypatch.setattr(OpenAIEncoder, "first_wait", 0.002)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ASKEW_CACHE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def endpoint(upstream: Upstream, quick: None) -> Iterator[Callable[..., OpenAIEncoder]]:
    """Makes encoders that ask the fake endpoint."""
    pytest.importorskip("openai", reason="openai (the extra of that name) is not installed")
    made: list[OpenAIEncoder] = []

    def make(**options: Any) -> OpenAIEncoder:
        given: dict[str, Any] = {"url": upstream.url, "timeout": 0.3, "batch": 4} | options
        made.append(OpenAIEncoder("lab/fake", **given))
        return made[-1]

    yield make
    for encoder in made:
        encoder.close()
