"""Exported runs: a completed trace as one `.zip`, and reading one back without trusting a byte of it.

An archive comes from anywhere. Only the members an export writes are read, within fixed limits and in memory; nothing
is unpacked to a disk, and the trace is accepted only if every hash agrees. That makes it whole, not true: the hashes
do not say who wrote it.
"""

from __future__ import annotations

import io
import os
import secrets
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from citewell.clock import Clock
from citewell.errors import BadInput, CitewellError, Conflict, Held, NotFound, StoreFull, Unavailable, WorkFailed
from citewell.runs.events import Entry, finished_event, touched
from citewell.runs.folder import disk_errors, read_trace, write_file
from citewell.runs.reports import LeftRun, MigrationReport
from citewell.runs.run import TERMINAL
from citewell.runs.store import ResearchTables, RunStore, lease_from, new_token
from citewell.runs.trace import ALL_FILES, MARKER, MAX_TRACE_BYTES, RUN_ID, Trace, trace_from_files

MAX_DIRECTORY_BYTES = 16 * 1024
_END_BYTES = 22  # the end of a zip without a comment
_LOCATOR_BYTES = 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MADE_ON_UNIX = 3


def packed_run(folder: Path) -> bytes:
    """A completed trace as one archive; the same trace gives the same bytes with the same zlib."""
    trace = read_trace(folder)
    if trace.synthesis.is_rejected:
        raise BadInput(
            f"The answer of run {trace.run_id} was rejected by verification: it is not exported.",
            fix="Ask the question again.",
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(trace.files):
            member = zipfile.ZipInfo(f"{trace.run_id}/{name}", _EPOCH)
            member.create_system = _MADE_ON_UNIX
            member.external_attr = (stat.S_IFREG | 0o600) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, trace.files[name], compresslevel=9)
    return buffer.getvalue()


def export_run(folder: Path, target: Path) -> bytes:
    """Write a completed trace to one file, whole; one that is there with another content is never overwritten."""
    content = packed_run(folder)
    aside = target.with_name(f".{secrets.token_hex(8)}.export")
    with disk_errors(f"The export {target.name}"):
        try:
            write_file(aside, content)
            try:
                os.link(aside, target, follow_symlinks=False)
            except FileExistsError:
                raise
            except OSError:
                # No hard links on this file system (exFAT, some network shares): the name is not taken exclusively.
                if os.path.lexists(target):
                    raise FileExistsError from None
                os.replace(aside, target)
        except FileExistsError:
            if target.is_symlink() or not target.is_file() or target.read_bytes() != content:
                raise BadInput(
                    f"{target.name} is there already.", fix="Choose another name, or remove it first."
                ) from None
        finally:
            aside.unlink(missing_ok=True)
    return content


def import_run(file_or_folder: Path) -> Trace:
    """An exported run from a `.zip` or a folder, checked whole; nothing is written anywhere."""
    if file_or_folder.is_dir():
        return read_trace(file_or_folder.resolve())
    try:
        # Without waiting, because opening a pipe would otherwise wait for a writer.
        with os.fdopen(os.open(file_or_folder, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _refused("it is not a regular file")
            content = file.read(MAX_TRACE_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(f"There is no file {file_or_folder.name}.", fix="Check the path.") from None
    except OSError as error:
        raise Unavailable(
            f"{file_or_folder.name} cannot be read: {error.strerror}.", fix="Check its permissions."
        ) from error
    return unpacked_run(content)


def unpacked_run(content: bytes) -> Trace:
    """An exported run from the bytes of its archive, checked whole."""
    if len(content) > MAX_TRACE_BYTES:
        raise _refused(f"it has more than {MAX_TRACE_BYTES} bytes")
    # A long list of members is refused before anything reads it: a list of millions would fill the memory.
    end = content[-_END_BYTES:]
    if len(end) < _END_BYTES or not end.startswith(b"PK\x05\x06") or end[-2:] != b"\0\0":
        raise _refused("it is not a zip file as Citewell writes it")
    is_zip64 = content[-_END_BYTES - _LOCATOR_BYTES : -_END_BYTES].startswith(b"PK\x06\x07")
    if is_zip64 or int.from_bytes(end[12:16], "little") > MAX_DIRECTORY_BYTES:
        raise _refused("it lists more files than a run has")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = _members(archive)
            runs = {member.filename.partition("/")[0] for member in archive.infolist()}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, OSError) as error:
        raise _refused(f"it is damaged ({error})") from None
    trace = trace_from_files(files)
    if runs != {trace.run_id}:
        raise _refused("it holds more than one run, or another than it says")
    return trace


def _members(archive: zipfile.ZipFile) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    left = MAX_TRACE_BYTES
    for member in archive.infolist():
        run_id, _, name = member.filename.partition("/")
        shown = member.filename[:80]
        if not RUN_ID.fullmatch(run_id) or name not in (*ALL_FILES, MARKER, ""):
            raise _refused(f"{shown!r} is not a file of a run")
        if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG if name else stat.S_IFDIR):
            raise _refused(f"{shown!r} is not a regular file")
        if member.flag_bits & 0x1:
            raise _refused(f"{shown!r} is encrypted")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _refused(f"{shown!r} is packed in a way Citewell does not use")
        if not name:
            continue  # the folder itself, which other zip programs list too
        if name in files:
            raise _refused(f"it holds {name} twice")
        if member.file_size > left:
            raise _refused(f"it unpacks to more than {MAX_TRACE_BYTES} bytes")
        with archive.open(member) as file:
            files[name] = file.read(member.file_size + 1)
        if len(files[name]) != member.file_size:
            raise _refused(f"{name} does not have the size it says")
        left -= member.file_size
    return files


def _refused(why: str) -> WorkFailed:
    return WorkFailed(f"The exported run was refused: {why}.", fix="Export it again with 'citewell runs export'.")


# Moving runs from one store to another: each whole or not at all, verified where it arrives, any number of times.
#
# A run is told by the digest of its last entry, which covers all of them: so a move that was killed goes on where it
# stopped, one that is done twice changes nothing, and a run that went on since is moved on. The source is only read. A
# run of the same id that went another way is never replaced. One that has not ended and that nobody executes arrives as
# interrupted, so that no server begins it a second time; one that is being executed is left where it is.


_PAGE = 200
# More reports than anybody has.
_ALL = 2**31 - 1


def move_runs(
    source: RunStore,
    target: RunStore,
    clock: Clock,
    *,
    with_executed: bool = False,
    tell: Callable[[int, int], None] = lambda done, of: None,
) -> MigrationReport:
    """Bring everything of one store into another. `tell` is told how many runs of how many have been looked at."""
    started, count, done = clock.monotonic(), source.count(), 0
    counted: Counter[str] = Counter()
    left: list[LeftRun] = []
    # Runs whose log was written in this move: their report is the one that belongs to it.
    written: set[str] = set()
    behind: str | None = None
    while True:
        page = source.latest(_PAGE, behind=behind)
        for run_id in page.unreadable:
            fix = "Restore it from a backup, or leave it: the other runs are not affected."
            left.append(LeftRun(run_id, "unreadable", "Its entry in the list of runs cannot be read.", fix))
        for run in page.runs:
            came = _move(source, target, run.run_id, clock, with_executed)
            if isinstance(came, LeftRun):
                left.append(came)
            else:
                counted.update(came)
                if came["moved"] or came["extended"]:
                    written.add(run.run_id)
            done += 1
            tell(done, count)
        behind = page.next
        if not behind:
            break
    reports = ResearchTables(target.sessions)
    for row in ResearchTables(source.sessions).latest(_ALL):
        there = reports.get(row.run_id)
        if there == row:
            counted["reports there"] += 1
        elif there is None or row.run_id in written:
            reports.put(row)
            assert reports.get(row.run_id) == row, row.run_id
            counted["reports moved"] += 1
        else:
            fix = "Look at both, and delete the one that is not wanted."
            reason = "A report of this run is there already, and it differs."
            left.append(LeftRun(row.run_id, "different", reason, fix))
    return MigrationReport(
        source=source.place,
        target=target.place,
        runs=count,
        moved=counted["moved"],
        extended=counted["extended"],
        already_there=counted["there"],
        left=tuple(left),
        reports_moved=counted["reports moved"],
        reports_already_there=counted["reports there"],
        entries_verified=counted["verified"],
        runs_in_target=target.count(),
        seconds=round(clock.monotonic() - started, 3),
    )


def _move(source: RunStore, target: RunStore, run_id: str, clock: Clock, with_executed: bool) -> Counter[str] | LeftRun:
    """Move one run: what was done and how many entries were verified, or why it was left."""
    try:
        # How it stands first: once it has ended its log is whole, and one that ends meanwhile is moved on next time.
        summary = source.summary(run_id)
        events = source.checked_events(run_id)
    except NotFound:
        return Counter({"gone": 1})  # deleted meanwhile, or never begun
    except (Unavailable, StoreFull):
        raise
    except CitewellError as error:
        return LeftRun(run_id, "unreadable", error.message, error.fix)
    if summary.status == "running" and not with_executed:
        fix = "Wait until it has ended, or interrupt it, and migrate again."
        return LeftRun(run_id, "executed", "It is being executed.", fix)
    if summary.status not in TERMINAL or finished_event(events) is None:  # nobody executes it where it arrives
        summary = replace(summary, status="interrupted", stop_reason=None, updated_at=events[-1].at)
    there = target.events(run_id)
    shared = min(len(there), len(events))
    if shared and there[shared - 1].digest != events[shared - 1].digest:
        fix = f"Look at both; to take the one that comes, delete the other: it is in {target.place}."
        return LeftRun(run_id, "different", "A run of this id is there already, and it went another way.", fix)
    if not there:
        target.put_record(summary, events)
        did = "moved"
    elif shared < len(events):  # what it has done since it was moved before
        token = new_token()
        try:
            target.acquire(run_id, token, lease_from(clock.now()))
        except Held as error:
            return LeftRun(run_id, "executed", f"In {target.place} it is being executed.", error.fix)
        except Conflict as error:
            return LeftRun(run_id, "different", f"In {target.place} it has ended, and here it went on.", error.fix)
        for at, added in groupby(events[shared:], key=lambda event: event.at):
            target.append(run_id, [Entry(event.kind, event.body) for event in added], at, token)
        target.release(run_id, token, summary.status, summary.stop_reason, summary.updated_at)
        did = "extended"
    else:
        did = "there"
    # Also of a run that was there: a move may have been killed between the two.
    target.put_citations(run_id, source.citations(run_id))
    # Read again where it arrived: its chain is whole, and it is the one that was sent.
    arrived = target.checked_events(run_id)
    if [event.digest for event in arrived[: len(events)]] != [event.digest for event in events]:
        raise touched(run_id, f"on its way to {target.place}")
    return Counter({did: 1, "verified": len(events)})
