"""The official MCP suites (npm), with the Node they need: installed by `make mcp-suites` from a lock with hashes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "surfaces" / "mcp" / "node"
_MODULES = FOLDER / "node_modules"
NODE = next(_MODULES.glob("node-linux-*/bin/node"), None)

# Where npm is, `make test` installs them; a machine without it says so in its summary.
needs_suites = pytest.mark.skipif(NODE is None, reason="the official MCP suites are not installed: make mcp-suites")


def node(*arguments: str, timeout: float = 300.0) -> subprocess.CompletedProcess[str]:
    """One run of the pinned Node."""
    assert NODE is not None
    return subprocess.run([str(NODE), *arguments], capture_output=True, text=True, timeout=timeout, cwd=FOLDER)


def conformance(url: str, results: Path) -> dict[str, list[Any]]:
    """What the official suite finds, scenario by scenario: its checks, but for what only informs."""
    program = str(_MODULES / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")
    node(program, "server", "--url", url, "--suite", "all", "--output-dir", str(results))
    found: dict[str, list[Any]] = {}
    for written in results.glob("server-*/checks.json"):
        scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", written.parent.name.removeprefix("server-"))
        found[scenario] = [check for check in json.loads(written.read_text()) if check["status"] != "INFO"]
    return found


# Its own patience ends after 15 s, in which a busy machine may not even have started a program.
_PATIENCE = ("--connect-timeout", "120000")


def inspect(target: Sequence[str], method: str, *arguments: str) -> Any:
    """What the Inspector's command line prints for one method of a server: an address, or a command to start."""
    place = ["--server-url", target[0], "--transport", "http"] if target[0].startswith("http") else list(target)
    command = [str(_MODULES / ".bin" / "mcp-inspector"), "--cli", *place, *_PATIENCE, "--method", method, *arguments]
    done = node(*command)
    assert done.returncode == 0, (command, done.stderr[-2_000:], done.stdout[-2_000:])
    return json.loads(done.stdout)


def typescript_client(generation: str, target: Mapping[str, Any], calls: Mapping[str, Any]) -> Any:
    """What the official TypeScript client gets from every tool it calls."""
    done = node("client.mjs", generation, json.dumps(target), json.dumps(calls))
    assert done.returncode == 0, done.stderr[-3_000:]
    return json.loads(done.stdout)


def environment() -> dict[str, str]:
    """For a program beside the tests that uses what stands beside them."""
    tests = str(Path(__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join((tests, os.environ.get("PYTHONPATH", "")))}
