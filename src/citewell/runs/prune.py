"""Retention: old traces are removed by count and age, and nothing else ever is.

Only a folder with our marker, whose files are exactly those we wrote, is removed. Links are never followed, a run that
is being executed is left alone, and so is a trace that somebody reads. Age is what the marker says, not what the file
system does; a clock that jumped can make further traces seem old, but never the latest `keep`.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from citewell.errors import BadInput, CitewellError
from citewell.runs.summaries import PruneSummary
from citewell.runs.trace import (
    ASIDE,
    MARKER,
    RUN_ID,
    TRACES,
    foreign_names,
    read_files,
    read_manifest,
    sweep,
    take_away,
    trace_folder,
    trace_from_files,
)
from citewell.runs.transcripts import disk_errors, locked

_DAY_SECONDS = 86_400


def prune_traces(
    root: Path, keep: int, max_age_days: int, keep_all: bool, now: str, is_active: Callable[[str], bool]
) -> PruneSummary:
    """Remove the traces that are neither among the latest `keep` nor younger than `max_age_days`."""
    if keep < 0 or max_age_days < 0:
        raise BadInput("Traces to keep and their age in days cannot be negative.", fix="Use 0 or more.")
    moment = _moment(now)
    if moment is None:
        raise BadInput(f"{now!r} is not a moment.", fix="Use ISO 8601 in UTC.")
    traces = root / TRACES
    if traces.is_symlink() or not traces.is_dir():
        return PruneSummary(0, (), (), not_ours=(TRACES,) if os.path.lexists(traces) else ())
    # Every completed trace, the latest first: when it was made, its run, its size.
    found: list[tuple[datetime, str, int]] = []
    removed, active, in_use, not_ours, failed = list[str](), list[str](), list[str](), list[str](), list[str]()
    freed = gone = 0
    for name in sorted(os.listdir(traces)):
        trace = _completed(traces / name) if RUN_ID.fullmatch(name) else None
        if trace is not None:
            found.append(trace)
        elif not ASIDE.fullmatch(name) and os.path.lexists(traces / name):
            not_ours.append(name)
    found.sort(reverse=True)
    completed = len(found)
    for created, run_id, size in [] if keep_all else found[keep:]:
        if (moment - created).total_seconds() <= max_age_days * _DAY_SECONDS:
            continue
        if is_active(run_id):
            active.append(run_id)
            continue
        try:
            with locked(traces / run_id, fcntl.LOCK_EX | fcntl.LOCK_NB) as folder:
                if foreign_names(folder) or trace_from_files(read_files(folder)).run_id != run_id:
                    not_ours.append(run_id)
                    completed -= 1
                    continue
                take_away(traces / run_id, folder)
        except BlockingIOError:
            in_use.append(run_id)
        except CitewellError:
            not_ours.append(run_id)  # changed since it was written: somebody made it theirs
            completed -= 1
        except FileNotFoundError:
            gone += 1  # another process was first
        except OSError:
            failed.append(run_id)
        else:
            removed.append(run_id)
            freed += size
    sweep(traces)
    return PruneSummary(
        kept=completed - len(removed) - gone,
        removed=tuple(removed),
        skipped_active=(*active, *in_use),
        not_ours=tuple(sorted(not_ours)),
        failed=tuple(failed),
        freed_bytes=freed,
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


def _completed(path: Path) -> tuple[datetime, str, int] | None:
    """A completed trace by its marker; what cannot be told is not ours."""
    try:
        with locked(path, fcntl.LOCK_SH) as folder:
            manifest = read_manifest(read_files(folder, (MARKER,)).get(MARKER))
    except (CitewellError, OSError):
        return None
    created = _moment(manifest.created_at)
    if created is None or manifest.run_id != path.name:
        return None
    return created, manifest.run_id, sum(artifact.bytes for artifact in manifest.files)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
