"""A real HTTP server on loopback that speaks OpenAI's chat completions."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class Answer:
    """What the server does with one request: `cut` hangs up halfway, `hold` never answers."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hold: bool = False


class Endpoint:
    """The server: give it answers, then read the requests it got."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.over = threading.Event()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                endpoint.times.append(time.monotonic())
                endpoint.requests.append(json.loads(self.rfile.read(size)))
                endpoint.keys.append(self.headers["Authorization"])
                answer = endpoint.answers[min(len(endpoint.requests), len(endpoint.answers)) - 1]
                if answer.hold:
                    endpoint.over.wait()
                    self.close_connection = True
                    return
                self.send_response(answer.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.body)))
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(answer.body[: len(answer.body) // 2 if answer.cut else None])
                self.close_connection = answer.cut

            def log_message(self, format: str, *args: Any) -> None:
                """Be quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self.over.set()
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()

    def says(self, **message: Any) -> Answer:
        """A well-formed completion with this message."""
        body = {
            "id": "cmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": None, **message},
                }
            ],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
        }
        return Answer(body=json.dumps(body).encode())

    def fails(self, status: int, message: str = "no", **headers: str) -> Answer:
        """An error in OpenAI's form; a retry after a millisecond unless a header says otherwise."""
        body = {"error": {"message": message, "type": "t", "param": None, "code": None}}
        return Answer(status, json.dumps(body).encode(), headers or {"retry-after-ms": "1"})


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    server = Endpoint()
    yield server
    server.close()
