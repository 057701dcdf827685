"""Real processes that execute runs: forked from one that has imported everything, so that a hundred take seconds.

    with Processes(data) as processes:
        processes.run("execute", kill_behind=7)     # the signal that ended it, or its exit code

A process may kill itself behind any entry of the log: entries are committed one by one for that. What io it performed
stands in a file, one line a call, written before the call begins.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from citewell import RunEvent, RunSummary
from citewell.runs.events import Entry
from citewell.runs.journal import Call
from citewell.runs.store import SqliteRuns
from runner.fan_out import QUESTION, WatchedEngine, open_fan_out

TESTS = Path(__file__).resolve().parents[1]


class OneByOneRuns(SqliteRuns):
    """A store of runs that commits every entry by itself, tells of it, and dies behind the one it is told to."""

    kill_behind: int | None = None
    on_recorded: Callable[[RunEvent], None] | None = None

    def create(
        self, summary: RunSummary, opening: Entry, token: str | None = None, lease_until: str | None = None
    ) -> None:
        super().create(summary, opening, token, lease_until)
        self._die_behind(0)

    def append(self, run_id: str, entries: Sequence[Entry], at: str, token: str) -> list[RunEvent]:
        added: list[RunEvent] = []
        for entry in entries:
            (event,) = super().append(run_id, [entry], at, token)
            added.append(event)
            if self.on_recorded is not None:
                self.on_recorded(event)
            self._die_behind(event.sequence)
        return added

    def _die_behind(self, sequence: int) -> None:
        if sequence == self.kill_behind:
            os.kill(os.getpid(), signal.SIGKILL)


class InOrder:
    """Lets the inspections begin together and end in a given order, each once the one before is on record.

    Where there is a gate, none of them ends before that file is there.
    """

    def __init__(self, performed: Path, first: int, missing: int, gate: Path | None) -> None:
        self._gate = gate
        self._performed = performed
        self._first = first
        self._missing = missing
        self._waiting: list[tuple[str, asyncio.Event]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __call__(self, call: Call, perform: Callable[[], Awaitable[Any]]) -> Any:
        with self._performed.open("a") as file:
            file.write(call.key + "\n")
        if call.name == "inspect":
            self._loop = asyncio.get_running_loop()
            turn = asyncio.Event()
            self._waiting.append((call.key, turn))
            if len(self._waiting) == self._missing:
                at = self._first % self._missing
                self._waiting = self._waiting[at:] + self._waiting[:at]
                self._waiting[0][1].set()
            await turn.wait()
            while self._gate is not None and not self._gate.exists():
                await asyncio.sleep(0.005)
        return await perform()

    def recorded(self, event: RunEvent) -> None:
        """On the thread that writes the log: the next one's turn."""
        if self._loop is not None and event.kind == "observation_recorded" and self._waiting:
            digest = event.body.get("answers")
            self._loop.call_soon_threadsafe(self._next, digest)

    def _next(self, digest: str | None) -> None:
        if self._waiting and self._waiting[0][0] == digest:
            self._waiting.pop(0)
            if self._waiting:
                self._waiting[0][1].set()


def execute(data: Path, task: dict[str, Any]) -> None:
    """Start the run of the task, or go on with the one that was left, and wait for its end."""
    engine = open_fan_out(data)
    store = OneByOneRuns(engine.settings.runs_path, engine.clock)
    store.kill_behind = task.get("kill_behind")
    engine.__dict__["run_store"] = store
    if task["do"] == "start":
        _observed(engine, store, task, missing=8)
        run_id = engine.start(QUESTION, profile="deep", surface="eval")
    else:
        run_id = store.claimable(2)[0]
        intended = [e.body["digest"] for e in store.events(run_id) if e.body.get("action") == "inspect"]
        seen = {e.body.get("answers") for e in store.events(run_id) if e.kind == "observation_recorded"}
        _observed(engine, store, task, missing=8 - sum(digest in seen for digest in intended))
        assert engine.runs.adopt() == (run_id,)
    engine.runs.wait(run_id, timeout=60)
    engine.close()


def _observed(engine: WatchedEngine, store: OneByOneRuns, task: dict[str, Any], missing: int) -> None:
    gate = Path(task["gate"]) if "gate" in task else None
    around = InOrder(Path(task["performed"]), task.get("first", 0), missing, gate)
    engine.around = around
    store.on_recorded = around.recorded


def main() -> None:
    """Fork a process for every line of stdin, and say how it ended."""
    data = Path(sys.argv[1])
    import citewell.flows.outside
    import citewell.runs.service  # noqa: F401  imported here once, so that no fork has to  # noqa: F401  imported here once, so that no fork has to

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                execute(data, json.loads(line))
                code = 0
            finally:
                sys.stderr.flush()
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


class Processes:
    """Where the test asks for processes, one after the other."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._parent: subprocess.Popen[str]

    def __enter__(self) -> Processes:
        inherited = [path for path in (os.environ.get("PYTHONPATH"),) if path]
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "runner.run_programs", str(self._data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(TESTS), *inherited))},
        )
        return self

    def run(self, do: str, performed: Path, **task: Any) -> int:
        """The exit code of a process that did this; negative where a signal ended it."""
        self.begin(do, performed, **task)
        return self.ended()

    def begin(self, do: str, performed: Path, **task: Any) -> None:
        """Have a process do this while the test goes on."""
        assert self._parent.stdin is not None
        print(json.dumps({"do": do, "performed": str(performed), **task}), file=self._parent.stdin, flush=True)

    def ended(self) -> int:
        """How the process that was begun ended, once it has."""
        assert self._parent.stdout is not None
        return int(self._parent.stdout.readline())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._parent.communicate()


if __name__ == "__main__":
    main()
