"""A report whose process is killed: another process goes on with it and repeats nothing that was paid for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell
from reports.lighthouse import GOOD, QUESTION, scripted
from reports.test_report_runs import resolves, until
from support.model_script import ModelRequest, Reply, silent
from support.model_server import ScriptedModelServer

pytestmark = pytest.mark.slow


def test_an_identical_request_goes_on_with_a_killed_run(data: Path) -> None:
    is_held = True

    def script(request: ModelRequest) -> Reply:
        if is_held and "You write a report" in request.prompt:
            return silent()
        return scripted(GOOD)(request)

    with ScriptedModelServer(script) as server:
        environment = {
            **os.environ,
            "CITEWELL_MODEL": "openai:test",
            "CITEWELL_MODEL_BASE_URL": server.base_url,
            "CITEWELL_EMBEDDINGS": "off",
            "CITEWELL_JUDGE": "off",
        }
        program = [sys.executable, "-m", "citewell", "--data-dir", str(data), "report", QUESTION, "--json"]
        process = subprocess.Popen(program, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(lambda: len(server.requests) == 2, 60)
        process.send_signal(signal.SIGKILL)
        process.wait()
        is_held = False
        settings: dict[str, Any] = {
            "model": "openai:test",
            "model_base_url": server.base_url,
            "embeddings": "off",
            "judge": "off",
        }
        with Citewell(data, **settings) as cw:
            (left,) = cw.reports().list().runs
            assert left.status == "interrupted"
            run = cw.report(QUESTION)
            assert (run.run_id, run.status, run.attempt) == (left.run_id, "done", 1)
            resolves(cw, run)
            assert cw.runs.replay(run.run_id).identical
        planned = [request for request in server.requests if "You plan the research" in request.prompt]
        written = [request for request in server.requests if "You write a report" in request.prompt]
        assert (len(planned), len(written)) == (1, 2)
