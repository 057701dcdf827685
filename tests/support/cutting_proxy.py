"""A TCP proxy in front of the real server that cuts what goes through it when it is told to.

The server answers to its own name only, so the proxy's port is written as the server's in what a client sends; both
have five digits, so nothing moves.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType


class CuttingProxy:
    """`cut` ends every connection; while `is_closed`, new ones end at once."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self.is_closed = False
        self.connections = 0
        while True:
            self._listening = socket.create_server(("127.0.0.1", 0))
            self.port = int(self._listening.getsockname()[1])
            if len(str(self.port)) == len(str(port)):
                break
            self._listening.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> CuttingProxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.is_closed = True
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()

    def cut(self) -> None:
        """End everything that goes through."""
        for pair in self._pairs:
            for one in pair:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self.is_closed:
                client.close()
                continue
            self.connections += 1
            server = socket.create_connection(("127.0.0.1", self._target))
            self._pairs.append((client, server))
            threading.Thread(target=self._pass_on, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(server, client, False), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        ours, theirs = f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self._target}".encode()
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data.replace(ours, theirs) if is_request else data)
        for one in (source, target):
            with suppress(OSError):
                one.close()
