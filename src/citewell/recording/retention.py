"""Retention: old traces are removed by count and age, and nothing else ever is.

Only a folder with our marker, whose files are exactly those we wrote, is removed. Links are never followed, a run that
is being executed is left alone, and so is a trace that somebody reads. Age is what the marker says, not what the file
system does; a clock that jumped can make further traces seem old, but never the latest `keep`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from citewell.domain.errors import BadInput, CitewellError
from citewell.recording.folders import (
    MARKER,
    RUN_ID,
    TRACES,
    disk_errors,
    foreign_names,
    is_aside,
    locked,
    sweep,
    take_away,
)
from citewell.recording.trace import read_files, read_manifest, trace_folder, trace_from_files

_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What a pruning did: run ids, and the names of what was found but is not ours or was changed."""

    kept: int
    removed: tuple[str, ...] = ()
    skipped_active: tuple[str, ...] = ()
    skipped_in_use: tuple[str, ...] = ()
    not_ours: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    freed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Found:
    """A completed trace."""

    created: datetime
    run_id: str
    bytes: int


@dataclass(slots=True)
class _Tally:
    removed: list[str] = field(default_factory=list)
    active: list[str] = field(default_factory=list)
    in_use: list[str] = field(default_factory=list)
    not_ours: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    freed: int = 0
    gone: int = 0


def prune_traces(
    root: Path, keep: int, max_age_days: int, keep_all: bool, now: str, is_active: Callable[[str], bool]
) -> PruneReport:
    """Remove the traces that are neither among the latest `keep` nor younger than `max_age_days`."""
    if keep < 0 or max_age_days < 0:
        raise BadInput("Traces to keep and their age in days cannot be negative.", fix="Use 0 or more.")
    moment = _moment(now)
    if moment is None:
        raise BadInput(f"{now!r} is not a moment.", fix="Use ISO 8601 in UTC.")
    traces, tally = root / TRACES, _Tally()
    found = _completed(traces, tally)
    for trace in [] if keep_all else found[keep:]:
        if (moment - trace.created).total_seconds() > max_age_days * _DAY_SECONDS:
            _prune(traces, trace, is_active, tally)
    if not traces.is_symlink() and traces.is_dir():
        sweep(traces)
    changed = {trace.run_id for trace in found} & {*tally.not_ours}
    return PruneReport(
        kept=len(found) - len(tally.removed) - len(changed) - tally.gone,
        removed=tuple(tally.removed),
        skipped_active=tuple(tally.active),
        skipped_in_use=tuple(tally.in_use),
        not_ours=tuple(sorted(tally.not_ours)),
        failed=tuple(tally.failed),
        freed_bytes=tally.freed,
    )


def delete_trace(root: Path, run_id: str) -> bool:
    """Remove the trace of one run because it is to be forgotten, changed or not; whether there was one."""
    place = trace_folder(root, run_id)
    if place.parent.is_symlink() or not place.parent.is_dir():
        return False
    with disk_errors(f"The trace of run {run_id}"):
        sweep(place.parent)  # a write that was killed may have left some of it aside
        try:
            with locked(place, fcntl.LOCK_EX) as folder:
                take_away(place, folder)
        except (FileNotFoundError, NotADirectoryError):
            return False
    return True


def _completed(traces: Path, tally: _Tally) -> list[_Found]:
    """Every completed trace, the latest first; everything else is noted as not ours."""
    if traces.is_symlink() or not traces.is_dir():
        tally.not_ours += [TRACES] if os.path.lexists(traces) else []
        return []
    found: list[_Found] = []
    for name in sorted(os.listdir(traces)):
        trace = _look_at(traces / name) if RUN_ID.fullmatch(name) else None
        if trace is not None:
            found.append(trace)
        elif not is_aside(name) and os.path.lexists(traces / name):
            tally.not_ours.append(name)
    return sorted(found, key=lambda trace: (trace.created, trace.run_id), reverse=True)


def _look_at(path: Path) -> _Found | None:
    """A completed trace by its marker; what cannot be told is not ours."""
    try:
        with locked(path, fcntl.LOCK_SH) as folder:
            manifest = read_manifest(read_files(folder, (MARKER,)).get(MARKER))
    except (CitewellError, OSError):
        return None
    created = _moment(manifest.created_at)
    if created is None or manifest.run_id != path.name:
        return None
    return _Found(created, manifest.run_id, sum(artifact.bytes for artifact in manifest.files))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _prune(traces: Path, trace: _Found, is_active: Callable[[str], bool], tally: _Tally) -> None:
    place = traces / trace.run_id
    if is_active(trace.run_id):
        tally.active.append(trace.run_id)
        return
    try:
        with locked(place, fcntl.LOCK_EX | fcntl.LOCK_NB) as folder:
            if foreign_names(folder) or trace_from_files(read_files(folder)).run_id != trace.run_id:
                tally.not_ours.append(trace.run_id)
                return
            take_away(place, folder)
    except BlockingIOError:
        tally.in_use.append(trace.run_id)
    except CitewellError:
        tally.not_ours.append(trace.run_id)  # changed since it was written: somebody made it theirs
    except FileNotFoundError:
        tally.gone += 1  # another process was first
    except OSError:
        tally.failed.append(trace.run_id)
    else:
        tally.removed.append(trace.run_id)
        tally.freed += trace.bytes
