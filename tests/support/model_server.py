"""A model server that does what its script says: real HTTP on the loopback, OpenAI's and Anthropic's protocols.

    with ScriptedModelServer([says("first"), fails(429, headers={"retry-after": "1"}), says("third")]) as server:
        server.base_url       # for CITEWELL_MODEL_BASE_URL
        server.requests       # everything that was asked, in order

A script is one reply for every request, a list of replies (then HTTP 500), or a function of the request.
"""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from support.model_script import ModelRequest, Reply, Script, fails, sends
from support.model_wire import AnthropicWire, OpenAiWire
from toy_embedder import vector


def refused_url() -> str:
    """An address where nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


class ScriptedModelServer:
    """The server, from `with` to its end. Requests are answered in threads of their own."""

    def __init__(
        self,
        script: Script = (),
        *,
        key: str = "",
        models: Sequence[str] = ("test",),
        embed: Callable[[str], Sequence[float]] | None = None,
        embeddings: Script | None = None,
    ) -> None:
        self.requests: list[ModelRequest] = []
        self.key = key
        self.models = models
        self._script = script
        self._embed = embed or (lambda text: vector(text).tolist())
        self._embeddings = embeddings
        self._lock = threading.Lock()
        self._taken = 0
        self.stopping = threading.Event()
        self.left = threading.Semaphore(0)
        self.asked = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"{self.origin}/v1"

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def wait_until_left(self, seconds: float = 10.0) -> bool:
        """Whether a client closed a connection that the server was not done with."""
        return self.left.acquire(timeout=seconds)

    def wait_until_asked(self, seconds: float = 30.0) -> bool:
        """Whether anything was asked of it."""
        return self.asked.wait(seconds)

    def __enter__(self) -> ScriptedModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def reply(self, request: ModelRequest) -> Reply:
        with self._lock:
            self.requests.append(request)
            self.asked.set()
            script = self._script
            if request.path.endswith("/embeddings"):
                script = self._embeddings or self._vectors(request)
            if callable(script):
                return script(request)
            if isinstance(script, Reply):
                return script
            self._taken += 1
            if self._taken > len(script):
                return fails(500, "the script has no reply left")
            return script[self._taken - 1]

    def _vectors(self, request: ModelRequest) -> Reply:
        texts = request.body["input"]
        data = [{"index": at, "embedding": list(self._embed(text))} for at, text in enumerate(texts)]
        # Nothing says that they come in order.
        return sends(json.dumps({"data": data[::-1]}).encode(), content_type="application/json")

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(_Handler):
            def __init__(self, *args: Any, **options: Any) -> None:
                self.model_server = server
                super().__init__(*args, **options)

        return Handler


class _Handler(BaseHTTPRequestHandler):
    model_server: ScriptedModelServer
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Tests are quiet."""

    def do_GET(self) -> None:
        self._recorded({})
        if not self._is_allowed():
            return
        listed = {"object": "list", "data": [{"id": name, "object": "model"} for name in self.model_server.models]}
        self._whole(200, {}, json.dumps(listed).encode(), "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        request = self._recorded(body)
        try:
            if self._is_allowed():
                self._answer(request, self.model_server.reply(request))
        except OSError:
            self.model_server.left.release()
            self.close_connection = True

    def _recorded(self, body: Mapping[str, Any]) -> ModelRequest:
        return ModelRequest(self.path, {name.lower(): value for name, value in self.headers.items()}, body)

    def _is_allowed(self) -> bool:
        key = self.model_server.key
        sent = (self.headers.get("authorization", "").removeprefix("Bearer "), self.headers.get("x-api-key", ""))
        if not key or key in sent:
            return True
        given = next(filter(None, sent), "none")
        error = {"error": {"message": f"Incorrect API key provided: {given}", "code": "invalid_api_key"}}
        self._whole(401, {}, json.dumps(error).encode(), "application/json")
        return False

    def _answer(self, request: ModelRequest, reply: Reply) -> None:
        while reply.after is not None and not reply.after.wait(0.02) and not self.model_server.stopping.is_set():
            pass
        if reply.is_silent:
            self._wait_for_end()
            return
        if reply.raw is not None:
            self._begin(reply.status, reply.headers, reply.content_type)
            for part in reply.raw:
                self._chunk(part)
            self._chunk(b"")
            return
        wire = AnthropicWire(request) if request.path.endswith("/messages") else OpenAiWire(request)
        if reply.status != 200 or (reply.error and not request.is_streamed):
            self._whole(reply.status, reply.headers, json.dumps(wire.error(reply)).encode(), "application/json")
        elif request.is_streamed:
            self._stream(reply, wire)
        else:
            self._whole_reply(reply, wire)

    def _whole_reply(self, reply: Reply, wire: OpenAiWire | AnthropicWire) -> None:
        text = "".join(reply.pieces)
        if reply.ending == "stall":
            self._wait_for_end()
        elif reply.ending == "endless":
            self._begin(200, reply.headers, "application/json")
            self._chunk(b'{"choices":[{"message":{"content":"')
            while not self.model_server.stopping.is_set():
                self._chunk(text.encode() * 1_000)
        elif reply.ending == "cut":
            data = json.dumps(wire.whole(reply, text)).encode()
            self._begin(200, reply.headers, "application/json")
            self._chunk(data[: len(data) // 2])
            self._hang_up()
        else:
            self._whole(200, reply.headers, json.dumps(wire.whole(reply, text)).encode(), "application/json")

    def _stream(self, reply: Reply, wire: OpenAiWire | AnthropicWire) -> None:
        self._begin(200, reply.headers, "text/event-stream")
        for event in wire.beginning(reply):
            self._chunk(event)
        for piece in reply.pieces:
            self._chunk(wire.piece(piece))
        match reply.ending:
            case "stall":
                self._wait_for_end()
                return
            case "cut":
                self._hang_up()
                return
            case "endless":
                while not self.model_server.stopping.is_set():
                    self._chunk(wire.piece(reply.pieces[0]))
                return
            case "complete":
                for event in wire.ending(reply):
                    self._chunk(event)
        self._chunk(b"")

    def _begin(self, status: int, headers: Mapping[str, str], content_type: str) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", content_type)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _whole(self, status: int, headers: Mapping[str, str], data: bytes, content_type: str) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _wait_for_end(self) -> None:
        """Until the client leaves or the server stops."""
        self.close_connection = True
        while not self.model_server.stopping.is_set():
            readable, _, _ = select.select([self.connection], [], [], 0.02)
            if readable and not self.connection.recv(1_024):
                self.model_server.left.release()
                return
