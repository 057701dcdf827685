"""A loopback host of model files that behaves as it is told: it redirects, cuts, drips, declares, ignores ranges."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass(slots=True)
class Asked:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]


@dataclass(slots=True)
class ModelHost:
    """Serves bytes by path. `sends_on` answers a path with a redirect; `cuts_after` ends the next body early."""

    files: dict[str, bytes]
    sends_on: Callable[[str], tuple[int, str] | None] = lambda path: None
    declares: Mapping[str, str] = field(default_factory=dict)
    cuts_after: int | None = None
    has_etags: bool = True
    has_ranges: bool = True
    # Sends one byte at a time for ever, each when this was not set for so long.
    drips: bool = False
    is_endless: bool = False
    asked: list[Asked] = field(default_factory=list)
    gone: threading.Event = field(default_factory=threading.Event)
    _server: ThreadingHTTPServer | None = None

    def __enter__(self) -> ModelHost:
        host = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                host.asked.append(Asked(self.path, {name.lower(): value for name, value in self.headers.items()}))
                try:
                    host._answer(self)
                except OSError:
                    self.close_connection = True  # the other side has left, as it may

            def log_message(self, format: str, *args: object) -> None:
                """Tests read what was asked, not a log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.gone.set()
        assert self._server is not None
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _answer(self, to: BaseHTTPRequestHandler) -> None:
        redirect = self.sends_on(to.path)
        if redirect is not None:
            to.send_response(redirect[0])
            to.send_header("location", redirect[1])
            if to.path in self.declares:
                to.send_header("x-linked-etag", f'"{self.declares[to.path]}"')
            to.send_header("content-length", "0")
            to.end_headers()
            return
        if to.path not in self.files:
            to.send_error(404)
            return
        self._send(to, self.files[to.path])

    def _send(self, to: BaseHTTPRequestHandler, data: bytes) -> None:
        etag = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        wanted = to.headers.get("range", "")
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.has_ranges else 0
        if to.headers.get("if-range", etag) != etag:
            start = 0
        if start >= len(data) > 0:
            to.send_error(416)
            return
        to.send_response(206 if start else 200)
        if start:
            to.send_header("content-range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        if self.has_etags:
            to.send_header("etag", etag)
        if to.path in self.declares:
            to.send_header("x-linked-etag", f'"{self.declares[to.path]}"')
        body = data[start:]
        if not self.is_endless and not self.drips:
            to.send_header("content-length", str(len(body)))
        to.end_headers()
        self._write(to, body)

    def _write(self, to: BaseHTTPRequestHandler, body: bytes) -> None:
        to.close_connection = True
        if self.cuts_after is not None:
            body, self.cuts_after = body[: self.cuts_after], None
        if self.drips or self.is_endless:
            while not self.gone.wait(0.02 if self.drips else 0.0):
                to.wfile.write(b"x" if self.drips else b"x" * 1_000_000)
                to.wfile.flush()
            return
        to.wfile.write(body)
