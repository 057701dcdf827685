"""`citewell serve`: one process, one socket. Its runs are its own; told to stop, it interrupts them, resumably."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from citewell.api.app import MountedApp, create_app
from citewell.api.operations import ServerState
from citewell.api.problems import JSON, Refused
from citewell.api.security import (
    HEADERS,
    MAX_HEADER_BYTES,
    Gatekeeper,
    called_by,
    foreign_host,
    headers_too_large,
    is_loopback,
)
from citewell.engine import Citewell
from citewell.errors import BadInput, CitewellError, Unavailable
from citewell.wire import error_document, to_json

# A running server goes on with the vectors that are left, a slice at a time, at the lowest priority.
#
#     $ citewell add --no-vectors notes/     # found by words
#     $ citewell serve                       # found by meaning too, as soon as it gets to it
#
# What another program adds meanwhile is encoded as well. Requests come first: between two slices the thread rests as
# long as it worked, and the machine gives it only what nobody else wants.


_SLICE_SECONDS = 2.0
_LOOKS_AGAIN = 30.0
_LOWEST = 19
_encode_log = logging.getLogger(__name__)


class BackgroundEncoding:
    """A thread of the server's that encodes what is left. `told` hears how much is, whenever it has looked."""

    def __init__(self, cw: Citewell, told: Callable[[int], None] = lambda left: None) -> None:
        self._cw = cw
        self._told = told
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="citewell-encoding", daemon=True)

    def start(self) -> None:
        """Begin, where search by meaning is on."""
        if self._cw.settings.embeddings != "off":
            self._thread.start()

    def stop(self) -> None:
        """End after the batch that is under way; what is encoded is kept."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_SLICE_SECONDS)

    def _work(self) -> None:
        _yield_to_everybody()
        pause = 0.0
        while not self._stop.wait(pause):
            try:
                left = self._slice()
            except CitewellError as error:
                # Without a model there is nothing to do; `doctor` says so too.
                _encode_log.warning("Vectors are not made: %s %s", error.message, error.fix)
                return
            self._told(left)
            pause = _SLICE_SECONDS if left else _LOOKS_AGAIN

    def _slice(self) -> int:
        if self._cw.corpus.vectors_left():
            for _ in self._cw.corpus.encode(_SLICE_SECONDS):
                if self._stop.is_set():
                    break
        return self._cw.corpus.vectors_left()


def _yield_to_everybody() -> None:
    """The lowest priority, where a thread can have one of its own."""
    if hasattr(os, "setpriority") and os.uname().sysname == "Linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST)


# HTTP/1.1 as the server speaks it: bounded headers that come in time, and our own answer to what is no request.
#
# h11 bounds what it keeps of headers that are not complete; uvicorn bounds neither the time until the first request nor
# until any later one has come.


# How long a client may take to send a request's headers, from when it could begin.
HEADER_SECONDS = 20.0


class GuardedProtocol(H11Protocol):
    """uvicorn's protocol, which waits for headers for ever and answers a broken request in plain text."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop_watching()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """The time runs while headers are awaited, and while a body goes on that was answered already."""
        awaits = self.conn.their_state is h11.IDLE or self.conn.our_state is h11.DONE
        if not awaits or self.transport.is_closing():
            self._stop_watching()
        elif self._late is None:
            self._late = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _stop_watching(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def send_400_response(self, msg: str) -> None:
        """Answer what could not be read, in the one envelope and with the headers of every answer."""
        if self.transport.is_closing() or self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()  # something else is being answered on this connection
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self.transport.close()
            return
        error = _refusal(sys.exception())
        body = to_json(error_document(error))
        headers = {"content-type": JSON, "content-length": str(len(body)), "connection": "close", **HEADERS}
        answer = h11.Response(status_code=error.status, headers=list(headers.items()))
        for event in (answer, h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _refusal(error: BaseException | None) -> Refused:
    """What h11 found wrong, which uvicorn does not pass on."""
    if isinstance(error, h11.RemoteProtocolError) and error.error_status_hint == 431:
        return headers_too_large()
    if "Host: header" in str(error):
        return foreign_host()
    return Refused(400, "bad_request", "This is not an HTTP request.")


# From the signal to the end: what runs is interrupted, then streams end, then nothing is waited for.
_INTERRUPT_SECONDS, _STREAM_SECONDS, _GRACE_SECONDS = 2.5, 0.3, 1
_SHORTEST_TOKEN, _LONGEST_TOKEN = 16, 1_000
_BACKLOG = 1_024
# The interpreter hands over between threads this often while several want it: questions must not hold up streams.
_SWITCH_SECONDS = 0.001
_log = logging.getLogger("citewell.server")


def read_token(path: Path | None) -> str:
    """The token in a file that nobody else may read."""
    if path is None:
        return ""
    try:
        mode = path.stat().st_mode
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadInput(f"The token file {path.name} cannot be read: {why}.", fix=_how_to_make_one(path)) from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise BadInput(f"Others may read the token file {path.name}.", fix=f"chmod 600 {path.name}")
    if not _SHORTEST_TOKEN <= len(token) <= _LONGEST_TOKEN or not token.isascii() or not token.isprintable():
        raise BadInput(
            f"The token must have {_SHORTEST_TOKEN} to {_LONGEST_TOKEN:,} plain characters.", fix=_how_to_make_one(path)
        )
    if " " in token:
        raise BadInput("The token has a blank in it.", fix=_how_to_make_one(path))
    return token


def _how_to_make_one(path: Path) -> str:
    return f"(umask 077; python3 -c 'import secrets; print(secrets.token_urlsafe(32))' > {path.name})"


def listen(host: str, port: int, *, has_token: bool) -> socket.socket:
    """A socket at this address; one that others can reach needs a token."""
    if not is_loopback(host) and not has_token:
        raise BadInput(
            f"{host} can be reached by others, and there is no token.",
            fix="Name a file with one (--token-file), or leave out --host to serve this machine only.",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        (*_, address), *_ = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
    except OSError as error:
        raise Unavailable(
            f"Nothing can be served at {host}:{port}: {error.strerror or error}.",
            fix="Choose another --port or --host.",
        ) from None
    listening.set_inheritable(False)
    return listening


def serve(
    cw: Citewell,
    *,
    host: str,
    port: int,
    token: str = "",
    names: tuple[str, ...] = (),
    mounts: Callable[[Citewell, Gatekeeper], tuple[MountedApp, ...]] | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve until a signal comes. `tell` gets the address once requests are taken.

    What cannot be served is raised before anything is: a port that is taken, a store that cannot be opened.
    """
    listening = listen(host, port, has_token=bool(token))
    try:
        cw.serve_mode()
    except BaseException:
        listening.close()
        raise
    actual = listening.getsockname()[1]
    keeper = Gatekeeper(called_by(host, actual, also=names), token)
    app, state = create_app(cw, keeper, mounts(cw, keeper) if mounts else ())
    config = uvicorn.Config(
        app,
        http=GuardedProtocol,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        # asyncio goes on accepting this often after it ran out of descriptors, each time with a traceback; `listen`
        # has set how many may wait.
        backlog=1,
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
    shown = f"[{host}]" if ":" in host else host
    server = _Server(config, state, lambda: tell(f"http://{shown}:{actual}"))
    sys.setswitchinterval(_SWITCH_SECONDS)
    # Not asyncio.run: at the end it would wait for threads that wait for a lock.
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(_say_in_one_line)
    encoding = BackgroundEncoding(cw)
    encoding.start()
    try:
        loop.run_until_complete(server.serve([listening]))
    finally:
        encoding.stop()
        loop.close()
        listening.close()


def _say_in_one_line(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What goes wrong on the loop itself: no descriptors to accept a connection with, a task that nobody awaited."""
    error = context.get("exception")
    _log.error("%s%s", context["message"], f" ({error})" if error else "")


class _Server(uvicorn.Server):
    """uvicorn, with our way to stop."""

    def __init__(self, config: uvicorn.Config, state: ServerState, on_started: Callable[[], None]) -> None:
        super().__init__(config)
        self._state = state
        self._on_started = on_started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(_BACKLOG)  # asyncio has set it to `backlog`
        if self.started:
            self._on_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The first signal stops in order, the second at once. uvicorn would raise the first again at the end."""
        loop = asyncio.get_running_loop()
        handled = (signal.SIGINT, signal.SIGTERM)

        def on_signal() -> None:
            if self.should_exit:
                os._exit(130)
            self.should_exit = True

        for one in handled:
            loop.add_signal_handler(one, on_signal)
        try:
            yield
        finally:
            for one in handled:
                loop.remove_signal_handler(one)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take nothing new, interrupt what runs, let streams say so, and go."""
        for server in self.servers:
            server.close()
        await anyio.to_thread.run_sync(self._state.cw.runs.interrupt_all, _INTERRUPT_SECONDS, abandon_on_cancel=True)
        await asyncio.sleep(_STREAM_SECONDS)
        self._state.closing.set()
        await super().shutdown(sockets)
