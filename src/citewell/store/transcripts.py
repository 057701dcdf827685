"""`chat-transcripts/`: saved conversations, one file each, readable by nobody else and never indexed.

Only conversations that somebody saves are here. A file is put in place whole; saving one again replaces it.
"""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

import msgspec

from citewell.domain.errors import BadInput, CitewellError, NotFound
from citewell.domain.transcripts import ChatTranscript, TranscriptList
from citewell.store.disk import disk_errors, sync_folder, write_file

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
