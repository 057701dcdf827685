"""A loopback web server that behaves as it is told, and records whoever comes: pages, redirects, bombs, drips."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    host: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Page:
    """What stands at an address."""

    body: bytes | str = b""
    content_type: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0


Behave = Callable[[BaseHTTPRequestHandler], None]


class Origin:
    """Serves by path, or by `host/path` where a name matters; anything else is 404."""

    def __init__(self, pages: Mapping[str, Page | Behave | str] | None = None) -> None:
        self.pages: dict[str, Page | Behave | str] = dict(pages or {})
        self.asked: list[Asked] = []
        self.gone = threading.Event()
        self._server: ThreadingHTTPServer | None = None

    def __enter__(self) -> Origin:
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                origin._answer(self)

            def do_POST(self) -> None:
                origin._answer(self)

            def log_message(self, format: str, *args: object) -> None:
                """Tests read what was asked, not a log."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Go away, for good."""
        self.gone.set()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def paths(self, host: str | None = None) -> list[str]:
        return [asked.path for asked in self.asked if host is None or asked.host == host]

    def _answer(self, to: BaseHTTPRequestHandler) -> None:
        host = (to.headers.get("host") or "").partition(":")[0]
        length = int(to.headers.get("content-length") or 0)
        headers = {name.lower(): value for name, value in to.headers.items()}
        self.asked.append(Asked(to.command, to.path, host, headers, to.rfile.read(length)))
        bare = to.path.partition("?")[0]
        found = next(
            (self.pages[at] for at in (f"{host}{to.path}", f"{host}{bare}", to.path, bare) if at in self.pages), None
        )
        to.close_connection = True
        try:
            if found is None:
                send(to, Page("nothing here", "text/plain", 404))
            elif isinstance(found, (str, Page)):
                page = Page(found) if isinstance(found, str) else found
                if page.seconds and self.gone.wait(page.seconds):
                    return
                send(to, page)
            else:
                found(to)
        except OSError:
            pass  # the other side has left, as it may


def send(to: BaseHTTPRequestHandler, page: Page) -> None:
    body = page.body.encode() if isinstance(page.body, str) else page.body
    to.send_response(page.status)
    for name, value in {"content-type": page.content_type, "content-length": str(len(body)), **page.headers}.items():
        to.send_header(name, value)
    to.end_headers()
    to.wfile.write(body)


def redirect(location: str, status: int = 302, body: bytes = b"") -> Page:
    return Page(body, status=status, headers={"location": location})


def endless(to: BaseHTTPRequestHandler) -> None:
    """A body without an end, as fast as it goes."""
    to.send_response(200)
    to.send_header("content-type", "text/html")
    to.end_headers()
    while True:
        to.wfile.write(b"x" * 65_536)


def dripping(every: float) -> Behave:
    """One byte now and then, for ever."""

    def behave(to: BaseHTTPRequestHandler) -> None:
        to.send_response(200)
        to.send_header("content-type", "text/html")
        to.end_headers()
        while True:
            to.wfile.write(b"x")
            to.wfile.flush()
            time.sleep(every)

    return behave


def raw(*parts: bytes) -> Behave:
    """Exactly these bytes in place of an answer."""

    def behave(to: BaseHTTPRequestHandler) -> None:
        for part in parts:
            to.wfile.write(part)

    return behave


class Names:
    """A resolver that knows what it was told; a name may have another answer each time."""

    def __init__(self, known: Mapping[str, Sequence[Sequence[str]] | str]) -> None:
        self.known = dict(known)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(host)
        if host not in self.known:
            raise OSError(f"no such name: {host}")
        answers = self.known[host]
        if isinstance(answers, str):
            return [answers]
        return answers[min(self.asked.count(host), len(answers)) - 1]
