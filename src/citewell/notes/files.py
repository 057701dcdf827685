"""A note's file: found below its folder, read whole, replaced whole or not at all.

Guards: a path never leaves the folder that was added; symbolic links, files with a second name (hard links), pipes and
devices are refused, also when they take the note's place meanwhile; the old file stays until the new one is on the
disk; its mode stays, and so do its extended attributes and its access control list (on Linux). A file that was changed
since it was read is not replaced. What remains: between the last look and the replacing lie microseconds, and a program
that keeps the old file open goes on writing into that.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from citewell.domain.errors import BadInput, Conflict, NotFound, WorkFailed
from citewell.notes.disk import Disk
from citewell.notes.sections import format_of

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
