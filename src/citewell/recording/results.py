"""The result of a run as it is on record. It is read, never made again; records of every version are.

0.1.0 left the evidence out of the end of the log: there it comes from the trace, or else from what was retrieved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from citewell.domain.errors import CitewellError, WorkFailed
from citewell.domain.events import RunEvent
from citewell.domain.packs import ResearchPack
from citewell.domain.runs import RunResult
from citewell.recording.folders import TRACES
from citewell.recording.trace import read_trace


def finished_event(events: Sequence[RunEvent]) -> RunEvent | None:
    """The entry a run ended with."""
    return next((event for event in reversed(events) if event.kind == "run_finished"), None)


def stored_result(events: Sequence[RunEvent], data_dir: Path) -> RunResult | None:
    """What a finished run came to, with what became of its trace; None while it has not ended."""
    finished = finished_event(events)
    if finished is None:
        return None
    document: dict[str, Any] = dict(finished.body["result"])
    run_id = events[0].run_id
    if "pack" not in document:
        document["pack"] = msgspec.to_builtins(_pack_of(events, data_dir / TRACES / run_id))
    try:
        result = msgspec.convert(document, RunResult)
    except msgspec.ValidationError as error:
        raise WorkFailed(
            f"The result of run {run_id} cannot be read by this version: {error}.",
            fix="Use the version of Citewell that recorded it, or read its run.md.",
        ) from error
    return _with_trace(result, events, data_dir)


def _with_trace(result: RunResult, events: Sequence[RunEvent], data_dir: Path) -> RunResult:
    if any(event.kind == "trace_failed" for event in events):
        warnings = tuple(dict.fromkeys((*result.warnings, "trace_failed")))
        return replace(result, stop_reason="trace_failed", warnings=warnings)
    folder = data_dir / TRACES / result.run_id
    return replace(result, trace_path=f"{TRACES}/{result.run_id}") if folder.exists() else result


def _pack_of(events: Sequence[RunEvent], folder: Path) -> ResearchPack | None:
    try:
        return read_trace(folder).document.pack
    except CitewellError:
        pass
    for event in reversed(events):
        observation = event.body.get("observation") if event.kind == "observation_recorded" else None
        if isinstance(observation, dict) and observation.get("type") == "Retrieved":
            return msgspec.convert(observation["value"]["pack"], ResearchPack)
    return None
