"""The official conformance suite, Inspector and TypeScript clients against the real program: both transports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.mcp_client import command
from support.mcp_suites import conformance, environment, inspect, needs_suites, typescript_client
from surfaces.test_cli import Program

pytestmark = [pytest.mark.slow, needs_suites]

# Of these the server offers what they ask for; each of its checks must be a success.
OF_THE_PROGRAM = (
    *("server-initialize", "ping", "tools-list", "resources-list", "prompts-list"),
    *("server-sse-multiple-streams", "dns-rebinding-protection"),
)
# These call tools, prompts and resources by names of the suite's own, or ask for what Citewell does not offer (logging,
# completion, subscriptions, sampling, elicitation): they are asked of a server with all that on the same stack.
OF_THE_STACK = (
    *("logging-set-level", "completion-complete", "tools-call-simple-text", "tools-call-image", "tools-call-audio"),
    *("tools-call-embedded-resource", "tools-call-mixed-content", "tools-call-with-logging", "tools-call-error"),
    *("tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation", "json-schema-2020-12"),
    *("elicitation-sep1034-defaults", "elicitation-sep1330-enums", "resources-read-text", "resources-read-binary"),
    *("resources-templates-read", "resources-subscribe", "resources-unsubscribe", "prompts-get-simple"),
    *("prompts-get-with-args", "prompts-get-embedded-resource", "prompts-get-with-image"),
)
# It only warns, of what a server may do: it does not close a stream in the middle of a call to be polled.
ONLY_WARNS = "server-sse-polling"

NOTE = "note:vault/kelp/selwick-voe-site"
CALLS: dict[str, dict[str, Any]] = {
    "search": {"query": "kelp", "limit": 2},
    "research_pack": {"question": "How far apart are the kelp lines?", "limit": 2},
    "get": {"lookup": NOTE},
    "get_many": {"lookups": [NOTE, "note:vault/nothing"], "query": "kelp"},
    "related": {"lookup": NOTE},
    "topic_map": {"topic": "kelp"},
    "topic_brief": {"topic": "kelp"},
    "entity_map": {"name": "Selwick Voe"},
    "stats": {},
    "research_run": {"question": "How far apart are the kelp lines?"},
    "research_get": {"run_id": "last"},
    "research_list": {"limit": 3},
}


@contextmanager
def served(arguments: list[str]) -> Iterator[str]:
    """The address that a server prints first."""
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment())
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def url(sample: Program) -> Iterator[str]:
    with served([*command(sample.data), "--http", "--port", "0"]) as address:
        yield address


@pytest.fixture(params=["stdio", "http"])
def target(request: pytest.FixtureRequest, sample: Program, url: str) -> list[str]:
    return [url] if request.param == "http" else command(sample.data)


def statuses(found: dict[str, list[Any]], scenarios: tuple[str, ...]) -> dict[str, set[str]]:
    return {scenario: {check["status"] for check in found[scenario]} for scenario in scenarios}


def test_every_scenario_that_needs_no_fixture_passes_against_the_program(url: str, tmp_path: Path) -> None:
    found = statuses(conformance(url, tmp_path), OF_THE_PROGRAM)
    assert found == {scenario: {"SUCCESS"} for scenario in OF_THE_PROGRAM}


def test_every_other_scenario_passes_on_the_same_stack(tmp_path: Path) -> None:
    with served([sys.executable, "-W", "ignore", "-m", "support.mcp_fixture", str(tmp_path / "data")]) as address:
        found = conformance(address, tmp_path / "results")
    assert set(found) == {*OF_THE_PROGRAM, *OF_THE_STACK, ONLY_WARNS}
    assert statuses(found, OF_THE_STACK) == {scenario: {"SUCCESS"} for scenario in OF_THE_STACK}
    assert statuses(found, (ONLY_WARNS,)) == {ONLY_WARNS: {"WARNING"}}


def test_the_inspector_lists_and_calls_every_tool(target: list[str]) -> None:
    """Over stdio every call starts both programs anew: `make test` calls some tools so, `make mcp-conformance` all."""
    listed = {tool["name"] for tool in inspect(target, "tools/list")["tools"]}
    assert listed == set(CALLS)
    is_short = len(target) > 1 and "MCP_EVERY_CALL" not in os.environ
    for name in ("search", "get_many", "research_run") if is_short else CALLS:
        given = [f"{key}={one if isinstance(one, str) else json.dumps(one)}" for key, one in CALLS[name].items()]
        options = ("--tool-arg", *given) if given else ()
        result = inspect(target, "tools/call", "--tool-name", name, *options)
        assert not result.get("isError"), (name, result)
        assert result["structuredContent"], name


@pytest.mark.parametrize("generation", ["v1", "v2"])
def test_the_typescript_clients_call_every_tool_and_find_its_schema_kept(target: list[str], generation: str) -> None:
    place = {"url": target[0]} if len(target) == 1 else {"command": target[0], "args": target[1:]}
    found = typescript_client(generation, place, CALLS)
    assert set(found["tools"]) == set(CALLS)
    assert {name: one["isError"] for name, one in found["results"].items()} == dict.fromkeys(CALLS, False)
    assert all(one["keys"] for one in found["results"].values())
    assert found["prompt"] == 1
    assert found["page"] > 1_000
