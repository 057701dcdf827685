"""`chat-transcripts/`: saved conversations, one file each, readable by nobody else and never indexed.

Only conversations that somebody saves are here. A file is put in place whole; saving one again replaces it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from citewell.errors import BadInput, CitewellError, NotFound, StoreFull, Unavailable
from citewell.runs.summaries import ChatTranscript, TranscriptList

# Files on the disk: written whole and synced, folders locked while somebody works on them, errors that say what to do.
#
# Readers share a lock, writing and deleting exclude; links are never followed. Where the file system has no locks,
# none is held.


_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


@contextmanager
def disk_errors(what: str) -> Iterator[None]:
    """Turn the system's errors into ones that say what to do."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _NO_ROOM:
            raise StoreFull(
                f"{what} could not be written: {reason}. Nothing of it was left behind.",
                fix="Free some disk space; the run itself is on record.",
            ) from error
        raise Unavailable(
            f"{what} cannot be written: {reason}.", fix="Check the folder and its permissions."
        ) from error


def write_file(path: str | Path, content: bytes, folder: int | None = None) -> None:
    """A new file that only its owner can read, synced; `folder` is an open one it is put into."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_locked(path: Path, how: int) -> int:
    """An open folder that has this name and is locked until it is closed."""
    while True:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            try:
                fcntl.flock(folder, how)
            except OSError as error:
                if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                    raise
            # While we waited it may have been renamed: then what we hold is not what the caller means.
            if is_at(path, folder):
                return folder
        except BaseException:
            os.close(folder)
            raise
        os.close(folder)


@contextmanager
def locked(path: Path, how: int) -> Iterator[int]:
    """An open folder that has this name and is locked until the end."""
    folder = open_locked(path, how)
    try:
        yield folder
    finally:
        os.close(folder)


def is_at(path: Path, folder: int) -> bool:
    """Whether an open folder still has this name."""
    try:
        there, here = path.lstat(), os.fstat(folder)
    except FileNotFoundError:
        return False
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


TRANSCRIPTS = "chat-transcripts"
MAX_BYTES = 4_000_000
_NAME = re.compile(r"[A-Za-z0-9_-]{1,100}\.json")


def save_transcript(root: Path, transcript: ChatTranscript) -> ChatTranscript:
    """Write a conversation, or write it anew."""
    folder = root / TRANSCRIPTS
    place = folder / f"{transcript.conversation_id}.json"
    if not _NAME.fullmatch(place.name):
        raise BadInput("The id of the conversation is none.", fix="Use letters, digits, '-' and '_'.")
    with disk_errors("The transcript"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside = folder / f".{secrets.token_hex(8)}.new"
        try:
            write_file(aside, msgspec.json.format(msgspec.json.encode(transcript), indent=1))
            os.replace(aside, place)
        finally:
            aside.unlink(missing_ok=True)
        sync_folder(folder)
    return transcript


def read_transcript(root: Path, conversation_id: str) -> ChatTranscript:
    """A saved conversation by its id."""
    name = f"{conversation_id}.json"
    if not _NAME.fullmatch(name):
        raise NotFound(f"There is no conversation {conversation_id[:100]!r}.")
    return _read(root / TRANSCRIPTS / name)


def list_transcripts(root: Path, limit: int) -> TranscriptList:
    """The conversations saved last."""
    folder = root / TRANSCRIPTS
    if not folder.is_dir():
        return TranscriptList(())
    named = [path for path in folder.iterdir() if _NAME.fullmatch(path.name) and not path.is_symlink()]
    newest = sorted(named, key=lambda path: (-path.stat().st_mtime_ns, path.name))[:limit]
    found, unreadable = list[ChatTranscript](), list[str]()
    for path in newest:
        try:
            found.append(_read(path))
        except CitewellError:
            unreadable.append(path.name)
    return TranscriptList(tuple(found), tuple(unreadable))


def _read(path: Path) -> ChatTranscript:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise NotFound(f"There is no conversation {path.stem}.") from None
    except OSError as error:
        raise BadInput(f"{path.name} cannot be read: {error.strerror}.") from None
    try:
        return msgspec.json.decode(content[:MAX_BYTES], type=ChatTranscript)
    except (msgspec.DecodeError, RecursionError):
        raise BadInput(f"{path.name} is no transcript this version reads.") from None
