"""A note's file: found below its folder, read whole, replaced whole or not at all.

Guards: a path never leaves the folder that was added; symbolic links, files with a second name (hard links), pipes and
devices are refused, also when they take the note's place meanwhile; the old file stays until the new one is on the
disk; its mode stays, and so do its extended attributes and its access control list (on Linux). A file that was changed
since it was read is not replaced. What remains: between the last look and the replacing lie microseconds, and a program
that keeps the old file open goes on writing into that.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from citewell.clock import Clock
from citewell.errors import BadInput, CitewellError, Conflict, NotFound, WorkFailed
from citewell.notes.section import format_of

# The few things a note's file is touched by, as methods: what can fail can be made to fail.


class Disk:
    """The file system. Every method that changes something is one step after which a machine may stop."""

    def create(self, name: str, folder: int) -> int:
        """A new file that nobody sees by any name but this one; never one that is there already."""
        return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=folder)

    def create_unnamed(self, folder: int) -> int | None:
        """A new file in this folder that has no name yet; None where the file system cannot do that."""
        flag = getattr(os, "O_TMPFILE", 0)
        if not flag:
            return None
        try:
            return os.open(".", os.O_WRONLY | flag | os.O_CLOEXEC, 0o600, dir_fd=folder)
        except (OSError, TypeError):
            return None

    def name(self, descriptor: int, name: str, folder: int) -> None:
        """Give an unnamed file its name."""
        os.link(f"/proc/self/fd/{descriptor}", name, dst_dir_fd=folder, follow_symlinks=True)

    def write(self, descriptor: int, data: bytes) -> None:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def replace(self, old: str, new: str, folder: int) -> None:
        """The file gets another name; whatever had that name is gone at the same moment."""
        os.replace(old, new, src_dir_fd=folder, dst_dir_fd=folder)

    def remove(self, name: str, folder: int) -> None:
        os.unlink(name, dir_fd=folder)


MAX_BYTES = 10_000_000
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class NotePlace:
    """A note below a folder that was added; `path` is relative, with forward slashes."""

    root: str
    path: str

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def whole(self) -> str:
        return os.path.join(self.root, *self.path.split("/"))


@dataclass(frozen=True, slots=True)
class NoteFile:
    """What a note's file held when it was read, and what kind of file it was."""

    text: str
    digest: str
    facts: os.stat_result


def check_name(name: str) -> None:
    """Raises BadInput for what is no note."""
    if format_of(name) is None:
        raise BadInput(f"{name} is no note.", fix="Name a .md, .markdown or .txt file.")


def read_note(place: NotePlace) -> NoteFile:
    """The note's text; raises NotFound or BadInput."""
    with opened_folder(place) as folder:
        return read_in(folder, place)


@contextmanager
def opened_folder(place: NotePlace) -> Iterator[int]:
    """The folder a note stands in, opened step by step: no link on the way is followed."""
    steps = place.path.split("/")
    if "\0" in place.path or any(step in ("", ".", "..") for step in steps):
        raise BadInput(f"{place.path!r} is not a path below an added folder.", fix="Name the note by its path.")
    check_name(steps[-1])
    parent = -1
    try:
        parent = os.open(place.root, _READ | os.O_DIRECTORY)
        for step in steps[:-1]:
            below = os.open(step, _READ | os.O_DIRECTORY, dir_fd=parent)
            os.close(parent)
            parent = below
        yield parent
    except OSError as error:
        raise _refused(place, error) from None
    finally:
        if parent != -1:
            os.close(parent)


def read_in(folder: int, place: NotePlace) -> NoteFile:
    """The note in its opened folder."""
    # A pipe nobody writes to must not hang us.
    descriptor = os.open(place.name, _READ | os.O_NONBLOCK, dir_fd=folder)
    try:
        facts = os.fstat(descriptor)
        _check_kind(place, facts)
        data = b"".join(iter(lambda: os.read(descriptor, min(facts.st_size, MAX_BYTES) + 1), b""))
    finally:
        os.close(descriptor)
    if len(data) > MAX_BYTES:
        raise BadInput(f"{place.path} is larger than {MAX_BYTES // 1_000_000} MB.", fix="Split the note.")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(
            f"{place.path} is not UTF-8, so nothing can be written into it safely.", fix="Save it as UTF-8."
        ) from None
    if "\0" in text:
        raise BadInput(f"{place.path} holds NUL characters: it is no text file.", fix="Name a note.")
    return NoteFile(text, hashlib.sha256(data).hexdigest(), facts)


def _check_kind(place: NotePlace, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise BadInput(f"{place.path} is not a regular file.", fix="Name a note.")
    if facts.st_nlink != 1:
        raise BadInput(
            f"{place.path} has {facts.st_nlink} names (hard links): replacing one would part them.",
            fix="Make a copy of the note under its own name.",
        )


def check_writable(place: NotePlace, file: NoteFile) -> None:
    """Raises BadInput where the note is protected: replacing it would get around that."""
    if not file.facts.st_mode & 0o222 or not os.access(place.whole, os.W_OK, follow_symlinks=False):
        raise BadInput(f"{place.path} is read-only.", fix="Allow writing to it, and try again.")


def _refused(place: NotePlace, error: OSError) -> Exception:
    match error.errno:
        case errno.ENOENT:
            return NotFound(f"There is no note at {place.path}.", fix="Check the path.")
        case errno.ELOOP | errno.ENOTDIR | errno.EMLINK:
            return BadInput(
                f"{place.path} is or leads through a symbolic link.", fix="Name the note by the path it really has."
            )
        case errno.ENXIO | errno.ENODEV:
            return BadInput(f"{place.path} is not a regular file.", fix="Name a note.")
        case _:
            reason = error.strerror or str(error)
            return WorkFailed(f"{place.path}: {reason}. The note is as it was.", fix="Put that right and try again.")


def replace_note(place: NotePlace, expected: NoteFile, text: str, disk: Disk, announce: TempAnnounced) -> None:
    """Put this text in the note's place, if it still is what it was; on any failure the note stays as it is."""
    data = text.encode("utf-8")
    with opened_folder(place) as folder:
        # Without the note's name: that may be as long as a name can be.
        temporary = f".citewell-{secrets.token_hex(12)}.tmp"
        announce.begun(temporary)
        try:
            _put_beside(folder, temporary, place, expected, data, disk)
            _check_unchanged(folder, place, expected)
            disk.replace(temporary, place.name, folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            announce.ended()
            raise
        announce.ended()
        # The note is in place: a folder that cannot be synced is no reason to say that it is not.
        with suppress(OSError):
            disk.fsync(folder)


class TempAnnounced:
    """Is told of a temporary file before it has a name, and when it has none any more."""

    def begun(self, name: str) -> None: ...

    def ended(self) -> None: ...


def _put_beside(folder: int, name: str, place: NotePlace, expected: NoteFile, data: bytes, disk: Disk) -> None:
    """A file with these bytes and the note's mode and attributes, on the disk before it is used."""
    descriptor = disk.create_unnamed(folder)
    is_unnamed = descriptor is not None
    if descriptor is None:
        descriptor = disk.create(name, folder)
    try:
        disk.write(descriptor, data)
        _take_after(descriptor, expected.facts)
        _copy_attributes(folder, place, descriptor)
        disk.fsync(descriptor)
        if is_unnamed:
            disk.name(descriptor, name, folder)
    finally:
        os.close(descriptor)


def _take_after(descriptor: int, facts: os.stat_result) -> None:
    """Owner first: changing it may clear bits of the mode."""
    made = os.fstat(descriptor)
    if (made.st_uid, made.st_gid) != (facts.st_uid, facts.st_gid):
        with suppress(PermissionError):
            os.fchown(descriptor, facts.st_uid, facts.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(facts.st_mode))


def _copy_attributes(folder: int, place: NotePlace, descriptor: int) -> None:
    """Give a new file the note's extended attributes, access control list included, and no others.

    Only the system may set some of those it keeps for itself; it has set its own on the new file.
    """
    if not hasattr(os, "listxattr"):
        return
    try:
        note = os.open(place.name, _READ | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return  # it was moved meanwhile, which is found out before the new file takes its place
    try:
        wanted = {name: os.getxattr(note, name) for name in _attributes(note)}
    finally:
        os.close(note)
    given = _attributes(descriptor)
    for name in given - wanted.keys():
        with _unless_the_systems(name):
            os.removexattr(descriptor, name)
    for name, value in wanted.items():
        with _unless_the_systems(name):
            os.setxattr(descriptor, name, value)


def _attributes(descriptor: int) -> set[str]:
    try:
        return set(os.listxattr(descriptor))
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return set()
        raise


@contextmanager
def _unless_the_systems(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if not name.startswith(("security.", "trusted.")) or error.errno not in (errno.EPERM, errno.ENOTSUP):
            raise


def _check_unchanged(folder: int, place: NotePlace, expected: NoteFile) -> None:
    try:
        now = read_in(folder, place)
    except FileNotFoundError:
        raise Conflict(f"{place.path} was moved or deleted meanwhile.", fix="Try again where it is now.") from None
    same_file = (now.facts.st_dev, now.facts.st_ino) == (expected.facts.st_dev, expected.facts.st_ino)
    if now.digest != expected.digest or not same_file:
        raise Conflict(f"{place.path} was changed meanwhile; it is left as it is.", fix="Try again.")


# Rewriting a note: one call at a time, a backup first, and back again.
#
# Backups lie outside the vault, in `note-backups` of the data folder: one folder a note, the latest 20 texts of it. The
# name of a backup says when, which text it holds and which one took its place; `undo` looks for the one that the note's
# text now took the place of, so it goes back step by step and never over an edit of the user's.
#
# A lock is a file of the data folder, held while a note is written. It names the temporary file beside the note: what a
# killed process leaves behind there is removed by the next call.


BACKUPS_KEPT = 20
_BACKUP = re.compile(
    r"(?P<stamp>\d{8}T\d{9}Z)-(?P<number>\d{3})-(?P<before>[0-9a-f]{16})-(?P<after>[0-9a-f]{16}|undone|refused)\.\w+"
)


@dataclass(frozen=True, slots=True)
class NoteRewrite:
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

    def rewrite(self, place: NotePlace, change: Callable[[str], str]) -> NoteRewrite:
        """Change a note's text; `change` gets what is there now and may refuse. Calls for one note wait in line."""
        with self._held(place) as lock:
            file = read_note(place)
            after = change(file.text)
            if after == file.text:
                return NoteRewrite(file.text, file.text)
            check_writable(place, file)
            backup = self._back_up(place, file.text, file.digest[:16], _name_of(after))
            try:
                replace_note(place, file, after, self._disk, lock)
            except Conflict as conflict:
                raise self._both_kept(place, conflict, after) from None
            return NoteRewrite(file.text, after, str(backup))

    def undo(self, place: NotePlace) -> NoteRewrite:
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
            return NoteRewrite(file.text, before, str(kept))

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
