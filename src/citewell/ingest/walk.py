"""Walking a folder the user pointed at: which files are there, and which are left out and why.

A vault is untrusted: symbolic links are never followed, only regular files are opened, and nothing outside the root is
ever read. What is left out by rule is reported as a folder or a file with its reason, never silently.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citewell.errors import Unreadable
from citewell.readers.kinds import Skip, detect
from citewell.store.port import PreparedDocument
from citewell.text.documents import fold_tag

# Folders that hold a program's own files, or answers of ours: never what a person saved.
EXCLUDED_FOLDERS = frozenset(
    {"node_modules", "__pycache__", "research-runs", "chat-transcripts", "$RECYCLE.BIN", "System Volume Information"}
)
MAX_FILE_BYTES = 100_000_000  # a text of this size needs two thirds of what a reader process may use
LARGEST_FILE_BYTES = 1_000_000_000  # whatever the limit is set to
TOO_LARGE = "larger than"


@dataclass(frozen=True, slots=True)
class WalkedFile:
    """A regular file below the root; `path` is relative, with forward slashes."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is there but is not read, with the reason."""

    path: str
    size: int
    mtime_ns: int
    reason: str
    is_unseen: bool = False  # a folder or file that could not be looked at: what it holds now is unknown


@dataclass(frozen=True, slots=True)
class ExcludedFile:
    """A folder or file that a rule keeps out of the corpus altogether."""

    path: str
    rule: str


Entry = WalkedFile | SkippedFile | ExcludedFile


def walk(
    root: Path, scope: str, excludes: Iterable[str], foreign: Iterable[Path], max_bytes: int = MAX_FILE_BYTES
) -> Iterator[Entry]:
    """Everything at or below `scope` (a path relative to the root, '' for all), in a stable order."""
    rules = _Rules(tuple(excludes), frozenset(os.fspath(path) for path in foreign), max_bytes)
    start = root / scope if scope else root
    if start.is_dir():
        yield from _walk_folder(os.fspath(start), f"{scope}/" if scope else "", rules)
    else:
        yield _visit(os.fspath(start), scope, start.name, rules)


def rule_against(root: Path, path: str, excludes: Iterable[str], foreign: Iterable[Path]) -> str | None:
    """The rule by which a walk of the root never comes to the file at this path, if there is one."""
    rules = _Rules(tuple(excludes), frozenset(os.fspath(one) for one in foreign), MAX_FILE_BYTES)
    *folders, name = path.split("/")
    place, below = os.fspath(root), ""
    for folder in folders:
        place = os.path.join(place, folder)
        if rule := rules.against_folder(place, below + folder, folder):
            return rule
        below += f"{folder}/"
    return rules.against(path, name)


@dataclass(frozen=True, slots=True)
class _Rules:
    patterns: tuple[str, ...]
    foreign: frozenset[str]
    max_bytes: int

    def against_folder(self, place: str, path: str, name: str) -> str | None:
        """The rule that keeps this folder out, if any; `place` is where it is on the disk."""
        if name in EXCLUDED_FOLDERS:
            return "never indexed"
        foreign = "a collection of its own, or Citewell's own data" if place in self.foreign else None
        return self.against(path, name) or foreign

    def against(self, path: str, name: str) -> str | None:
        """The rule that keeps this path out, if any."""
        if name.startswith("."):
            return "hidden"
        for pattern in self.patterns:
            bare = pattern.rstrip("/")
            # A kind of file is meant however its extension is spelt.
            shown = name.casefold() if bare.startswith("*.") else name
            wanted = bare.casefold() if bare.startswith("*.") else bare
            if fnmatch.fnmatchcase(path, bare) or fnmatch.fnmatchcase(shown, wanted) or path.startswith(bare + "/"):
                return f"--exclude {pattern}"
        return None


def _walk_folder(folder: str, below: str, rules: _Rules) -> Iterator[Entry]:
    """`below` is what the folder is called from the root, with a slash at its end. Plain strings: this runs for every
    file of an unchanged vault, and paths as objects cost more than the rest of it."""
    # A stack, because folders may be nested deeper than Python calls may.
    open_folders = [(below, _list_folder(folder, below))]
    while open_folders:
        below, entries = open_folders[-1]
        entry = next(entries, None)
        if entry is None:
            open_folders.pop()
        elif isinstance(entry, SkippedFile):
            yield entry
        elif not entry.is_dir(follow_symlinks=False):
            yield _visit(entry.path, below + entry.name, entry.name, rules)
        elif rule := rules.against_folder(entry.path, below + entry.name, entry.name):
            yield ExcludedFile(printable(below + entry.name) + "/", rule)
        else:
            inside = f"{below}{entry.name}/"
            open_folders.append((inside, _list_folder(entry.path, inside)))


def _list_folder(folder: str, below: str) -> Iterator[os.DirEntry[str] | SkippedFile]:
    try:
        with os.scandir(folder) as scan:
            yield from sorted(scan, key=lambda entry: entry.name)
    except OSError as error:
        yield SkippedFile(printable(below[:-1]), 0, -1, f"folder cannot be read: {error.strerror}", is_unseen=True)


def _visit(path: str, relative: str, name: str, rules: _Rules) -> Entry:
    if rule := rules.against(relative, name):
        return ExcludedFile(printable(relative), rule)
    try:
        facts = os.lstat(path)
    except OSError as error:
        return SkippedFile(printable(relative), 0, -1, f"cannot be read: {error.strerror}", is_unseen=True)
    if reason := _reason_to_leave(relative, facts, rules.max_bytes):
        return SkippedFile(printable(relative), facts.st_size, facts.st_mtime_ns, reason)
    return WalkedFile(relative, facts.st_size, facts.st_mtime_ns)


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


def printable(name: str) -> str:
    """A file name that any database can hold; bytes that are no Unicode are shown as escapes."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


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


# Excluding by tag: `--exclude tag:private` keeps documents out of the corpus by what they say of themselves.
#
# A tag is known once a file was read, so these rules apply between reading and indexing; globs apply in the walk.


_TAG = "tag:"


def excluded_tags(excludes: Sequence[str]) -> dict[str, str]:
    """The folded tags that rules name, each with its rule as the user wrote it."""
    return {fold_tag(rule.removeprefix(_TAG)): rule for rule in excludes if rule.startswith(_TAG)}


def path_rules(excludes: Sequence[str]) -> tuple[str, ...]:
    """The rules that are about names of files and folders."""
    return tuple(rule for rule in excludes if not rule.startswith(_TAG))


def tag_rule_against(document: PreparedDocument, tags: dict[str, str]) -> str | None:
    """The rule that keeps a document out: it carries the tag, or one nested in it."""
    for _, folded in document.tags:
        names = folded.split("/")
        for depth in range(1, len(names) + 1):
            if rule := tags.get("/".join(names[:depth])):
                return f"--exclude {rule}"
    return None
