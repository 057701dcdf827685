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
from pathlib import Path

from citewell.domain.errors import BadInput, NotFound, Unavailable, WorkFailed
from citewell.runs.document import ALL_FILES, MARKER, MAX_TRACE_BYTES, RUN_ID, Trace
from citewell.runs.trace import read_trace, trace_from_files
from citewell.store.disk import disk_errors, write_file

MAX_DIRECTORY_BYTES = 16 * 1024
_END_BYTES = 22  # the end of a zip without a comment
_LOCATOR_BYTES = 20
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MADE_ON_UNIX = 3


def packed_run(folder: Path) -> bytes:
    """A completed trace as one archive; the same trace gives the same bytes with the same zlib."""
    trace = read_trace(folder)
    if trace.document.synthesis.is_rejected:
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
