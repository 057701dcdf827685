"""Walking a folder the user pointed at: which files are there, and which are left out and why.

A vault is untrusted: symbolic links are never followed, only regular files are opened, and nothing outside the root is
ever read. What is left out by rule is reported as a folder or a file with its reason, never silently.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from citewell.domain.errors import Unreadable
from citewell.readers.kinds import Skip, detect

# Folders that hold a program's own files, or answers of ours: never what a person saved.
EXCLUDED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "research-runs", "chat-transcripts", "$RECYCLE.BIN", "System Volume Information"}
)
MAX_FILE_BYTES = 100_000_000  # a text of this size needs two thirds of what a reader process may use
LARGEST_FILE_BYTES = 1_000_000_000  # whatever the limit is set to
TOO_LARGE = "larger than"


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file below the root; `path` is relative, with forward slashes."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is there but is not read, with the reason."""

    path: str
    size: int
    mtime_ns: int
    reason: str
    is_unseen: bool = False  # a folder or file that could not be looked at: what it holds now is unknown


@dataclass(frozen=True, slots=True)
class Excluded:
    """A folder or file that a rule keeps out of the corpus altogether."""

    path: str
    rule: str


Entry = Found | LeftOut | Excluded


def walk(
    root: Path, scope: str, excludes: Iterable[str], foreign: Iterable[Path], max_bytes: int = MAX_FILE_BYTES
) -> Iterator[Entry]:
    """Everything at or below `scope` (a path relative to the root, '' for all), in a stable order."""
    rules = _Rules(tuple(excludes), frozenset(os.fspath(path) for path in foreign), max_bytes)
    start = root / scope if scope else root
    if start.is_dir():
        yield from _walk_folder(root, start, rules)
    else:
        yield from _visit(root, start, rules)


@dataclass(frozen=True, slots=True)
class _Rules:
    patterns: tuple[str, ...]
    foreign: frozenset[str]
    max_bytes: int

    def against(self, path: str, name: str, *, is_folder: bool) -> str | None:
        """The rule that keeps this path out, if any."""
        if name.startswith("."):
            return "hidden"
        if is_folder and name in EXCLUDED_FOLDERS:
            return "never indexed"
        for pattern in self.patterns:
            bare = pattern.rstrip("/")
            # A kind of file is meant however its extension is spelt.
            shown = name.casefold() if bare.startswith("*.") else name
            wanted = bare.casefold() if bare.startswith("*.") else bare
            if fnmatch.fnmatchcase(path, bare) or fnmatch.fnmatchcase(shown, wanted) or path.startswith(bare + "/"):
                return f"--exclude {pattern}"
        return None


def _walk_folder(root: Path, folder: Path, rules: _Rules) -> Iterator[Entry]:
    # A stack, because folders may be nested deeper than Python calls may.
    open_folders: list[Iterator[os.DirEntry[str] | LeftOut]] = [_list_folder(root, folder)]
    while open_folders:
        entry = next(open_folders[-1], None)
        if entry is None:
            open_folders.pop()
        elif isinstance(entry, LeftOut):
            yield entry
        elif not entry.is_dir(follow_symlinks=False):
            yield from _visit(root, Path(entry.path), rules)
        elif rule := rules.against(relative(root, Path(entry.path)), entry.name, is_folder=True):
            yield Excluded(printable(relative(root, Path(entry.path))) + "/", rule)
        elif entry.path in rules.foreign:
            name = printable(relative(root, Path(entry.path)))
            yield Excluded(name + "/", "a collection of its own, or Citewell's own data")
        else:
            open_folders.append(_list_folder(root, Path(entry.path)))


def _list_folder(root: Path, folder: Path) -> Iterator[os.DirEntry[str] | LeftOut]:
    try:
        with os.scandir(folder) as scan:
            yield from sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        name = printable(relative(root, folder))
        yield LeftOut(name, 0, -1, f"folder cannot be read: {error.strerror}", is_unseen=True)


def _visit(root: Path, path: Path, rules: _Rules) -> Iterator[Entry]:
    name = relative(root, path)
    if rule := rules.against(name, path.name, is_folder=False):
        yield Excluded(printable(name), rule)
        return
    try:
        facts = path.lstat()
    except OSError as error:
        yield LeftOut(printable(name), 0, -1, f"cannot be read: {error.strerror}", is_unseen=True)
        return
    if reason := _reason_to_leave(name, facts, rules.max_bytes):
        yield LeftOut(printable(name), facts.st_size, facts.st_mtime_ns, reason)
    else:
        yield Found(name, facts.st_size, facts.st_mtime_ns)


def _reason_to_leave(name: str, facts: os.stat_result, max_bytes: int) -> str | None:
    if stat.S_ISLNK(facts.st_mode):
        return "symbolic link: not followed (add the folder it points to)"
    if not stat.S_ISREG(facts.st_mode):
        return "not a regular file"
    if name != printable(name):
        return "the file name is not valid Unicode: rename it"
    if facts.st_size > max_bytes:
        kind = detect(name, b"")  # raising the limit would not help with a film
        limit = f"{TOO_LARGE} {max_bytes // 1_000_000} MB (CITEWELL_MAX_FILE_MB sets the limit)"
        return kind.reason if isinstance(kind, Skip) else limit
    return None


def relative(root: Path, path: Path) -> str:
    """A path below the root as the corpus names it."""
    return path.relative_to(root).as_posix() if path != root else ""


def printable(name: str) -> str:
    """A file name that any database can hold; bytes that are no Unicode are shown as escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def read_bytes(root: Path, path: str) -> tuple[bytes, os.stat_result]:
    """The whole content of a regular file below the root, as one consistent state of it."""
    for _ in range(2):
        descriptor = _open_below(root, path)
        with os.fdopen(descriptor, "rb") as file:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise Unreadable("not a regular file")
            # Room is made for all that is asked for, so no more than the file says it holds, and a byte to see it grow.
            data = file.read(min(before.st_size, LARGEST_FILE_BYTES) + 1)
            after = os.fstat(descriptor)
        if (before.st_size, before.st_mtime_ns) == (after.st_size, after.st_mtime_ns) and len(data) == after.st_size:
            return data, after
    raise OSError(11, "the file keeps changing while it is read")


def _open_below(root: Path, path: str) -> int:
    """Open a file step by step: a folder that became a link since the walk must not lead out of the root."""
    *folders, name = path.split("/")
    if ".." in (*folders, name):
        raise Unreadable("not a path below the folder")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    parent = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, flags | os.O_DIRECTORY, dir_fd=parent)
            os.close(parent)
            parent = below
        return os.open(name, flags | os.O_NONBLOCK, dir_fd=parent)
    finally:
        os.close(parent)
