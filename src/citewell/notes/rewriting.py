"""Rewriting a note: one call at a time, a backup first, and back again.

Backups lie outside the vault, in `note-backups` of the data folder: one folder a note, the latest 20 texts of it. The
name of a backup says when, which text it holds and which one took its place; `undo` looks for the one that the note's
text now took the place of, so it goes back step by step and never over an edit of the user's.

A lock is a file of the data folder, held while a note is written. It names the temporary file beside the note: what a
killed process leaves behind there is removed by the next call.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from citewell.domain.errors import CitewellError, Conflict, NotFound, WorkFailed
from citewell.domain.ports import Clock
from citewell.notes.disk import Disk
from citewell.notes.files import (
    NoteFile,
    NotePlace,
    TempAnnounced,
    check_writable,
    opened_folder,
    read_note,
    replace_note,
)

BACKUPS_KEPT = 20
_BACKUP = re.compile(
    r"(?P<stamp>\d{8}T\d{9}Z)-(?P<number>\d{3})-(?P<before>[0-9a-f]{16})-(?P<after>[0-9a-f]{16}|undone|refused)\.\w+"
)


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What became of a note: its text before and after, and where the one before is kept."""

    before: str
    after: str
    backup: str | None = None

    @property
    def changed(self) -> bool:
        return self.before != self.after


class NoteRewriter:
    """Changes notes, and takes changes back."""

    def __init__(self, data_dir: Path, clock: Clock, disk: Disk | None = None) -> None:
        self._backups = data_dir / "note-backups"
        self._locks = data_dir / "note-locks"
        self._clock = clock
        self._disk = disk or Disk()

    def rewrite(self, place: NotePlace, change: Callable[[str], str]) -> Rewritten:
        """Change a note's text; `change` gets what is there now and may refuse. Calls for one note wait in line."""
        with self._held(place) as lock:
            file = read_note(place)
            after = change(file.text)
            if after == file.text:
                return Rewritten(file.text, file.text)
            check_writable(place, file)
            backup = self._back_up(place, file.text, file.digest[:16], _name_of(after))
            try:
                replace_note(place, file, after, self._disk, lock)
            except Conflict as conflict:
                raise self._both_kept(place, conflict, after) from None
            return Rewritten(file.text, after, str(backup))

    def undo(self, place: NotePlace) -> Rewritten:
        """The note as it was before the last rewriting of the text it has now."""
        with self._held(place) as lock:
            file = read_note(place)
            backup = self._backup_for(place, file)
            before = backup.read_bytes().decode("utf-8")
            if _name_of(before) != _matched(backup)["before"]:
                raise WorkFailed(f"The backup {backup} is damaged; the note is as it was.", fix="Restore it by hand.")
            check_writable(place, file)
            kept = self._back_up(place, file.text, file.digest[:16], "undone")
            replace_note(place, file, before, self._disk, lock)
            return Rewritten(file.text, before, str(kept))

    def sweep(self) -> None:
        """Remove what killed calls left beside notes."""
        for path in self._locks.glob("*.lock") if self._locks.is_dir() else ():
            with suppress(OSError), _Lock(path, wait=False):
                pass

    def _backup_for(self, place: NotePlace, file: NoteFile) -> Path:
        folder = self._folder(place)
        known = sorted(folder.iterdir(), reverse=True) if folder.is_dir() else []
        if not known:
            raise NotFound(f"Nothing was written into {place.path} that could be undone.", fix="Check the path.")
        for path in known:
            match = _BACKUP.fullmatch(path.name)
            if match is not None and match["after"] == file.digest[:16]:
                return path
        raise Conflict(
            f"{place.path} does not hold what was last written into it: undoing would lose what it holds.",
            fix=f"Earlier texts of the note lie in {folder}.",
        )

    def _both_kept(self, place: NotePlace, conflict: Conflict, text: str) -> Conflict:
        """The user's text is in the note; ours is put beside its backups."""
        kept = self._back_up(place, text, _name_of(text), "refused")
        return Conflict(conflict.message, fix=f"{conflict.fix} What would have been written is in {kept}.")

    def _back_up(self, place: NotePlace, text: str, before: str, after: str) -> Path:
        """Keep a text, on the disk before anything else happens; a name that is taken is never written over."""
        folder = self._folder(place)
        try:
            for one in (self._backups, folder):
                one.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                name = self._write_backup(descriptor, place, text, before, after)
                self._disk.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            reason = error.strerror or str(error)
            raise WorkFailed(f"The note could not be backed up: {reason}. It is as it was.", fix="Make room.") from None
        self._prune(folder)
        return folder / name

    def _write_backup(self, folder: int, place: NotePlace, text: str, before: str, after: str) -> str:
        stamp = re.sub(r"[^0-9TZ]", "", self._clock.now())
        ending = place.name.rsplit(".", 1)[-1].lower()
        for number in range(1_000):
            name = f"{stamp}-{number:03}-{before}-{after}.{ending}"
            try:
                descriptor = self._disk.create(name, folder)
            except FileExistsError:
                continue
            try:
                self._disk.write(descriptor, text.encode("utf-8"))
                self._disk.fsync(descriptor)
            except BaseException:
                with suppress(OSError):
                    os.unlink(name, dir_fd=folder)
                raise
            finally:
                os.close(descriptor)
            return name
        raise WorkFailed("Too many backups of one moment. The note is as it was.", fix="Check the machine's clock.")

    def _prune(self, folder: Path) -> None:
        known = sorted(path for path in folder.iterdir() if _BACKUP.fullmatch(path.name))
        for path in known[:-BACKUPS_KEPT]:
            with suppress(OSError):
                path.unlink()

    def _folder(self, place: NotePlace) -> Path:
        return self._backups / _place_name(place)

    @contextmanager
    def _held(self, place: NotePlace) -> Iterator[_Lock]:
        self.sweep()
        try:
            self._locks.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _Lock(self._locks / f"{_place_name(place)}.lock", wait=True, place=place)
        except OSError as error:
            reason = error.strerror or str(error)
            raise WorkFailed(f"The note could not be locked: {reason}. It is as it was.", fix="Make room.") from None
        with lock:
            yield lock


class _Lock(TempAnnounced):
    """Held by one call at a time; its content is the note and the temporary file beside it, while there is one."""

    def __init__(self, path: Path, *, wait: bool, place: NotePlace | None = None) -> None:
        self._place = place
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            self._clear_stray()
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> _Lock:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def begun(self, name: str) -> None:
        assert self._place is not None
        self._write("\0".join((self._place.root, self._place.path, name)))

    def ended(self) -> None:
        with suppress(OSError):
            self._write("")

    def _write(self, content: str) -> None:
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, content.encode("utf-8", "surrogateescape"), 0)

    def _clear_stray(self) -> None:
        """What a killed call left: a hidden file beside the note, of the name it was to have."""
        content = os.pread(self._file, 100_000, 0).decode("utf-8", "surrogateescape").split("\0")
        if len(content) != 3:
            return
        root, path, name = content
        if "/" not in name and name.startswith(".") and name.endswith(".tmp"):
            with suppress(OSError, CitewellError), opened_folder(NotePlace(root, path)) as folder, suppress(OSError):
                os.unlink(name, dir_fd=folder)
        self.ended()


def _place_name(place: NotePlace) -> str:
    return hashlib.sha256(f"{place.root}\0{place.path}".encode("utf-8", "surrogateescape")).hexdigest()[:24]


def _name_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]


def _matched(path: Path) -> re.Match[str]:
    match = _BACKUP.fullmatch(path.name)
    assert match is not None
    return match
