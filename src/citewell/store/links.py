"""Link resolution: which document or file a link means, by Obsidian's rules.

A target with a folder must match the end of a path; a bare name matches any file of that name. Among several, one that
the linking note's own folder leads to comes first, then the shortest path, then the alphabetically first. An alias
counts only where no file has the name. Case and Unicode form do not matter. A note may be named without its extension;
any other file is named with it.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from citewell.text.documents import Link
from citewell.text.urls import canonical_url

_NOTE_EXTENSIONS = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """A document that answers to the name a link uses, or a file that holds none."""

    document_id: int | None
    path: str
    is_alias: bool
    file_id: int | None = None


def fold_name(name: str) -> str:
    """Names and paths as links compare them."""
    return unicodedata.normalize("NFC", name).casefold()


def names_of(path: str, aliases: Iterable[str]) -> tuple[tuple[str, bool], ...]:
    """The names a document answers to, each with whether it is an alias."""
    base = fold_name(posixpath.basename(path))
    names = {base: False, _without_note_extension(base): False}
    for alias in aliases:
        names.setdefault(fold_name(alias.strip()), True)
    return tuple((name, is_alias) for name, is_alias in names.items() if name)


def lookup_name(link: Link) -> str:
    """The name under which a link's target is looked up; empty where it points into its own note."""
    if link.kind == "url":
        return url_name(link.target) or ""
    base = posixpath.basename(fold_name(link.target.strip()).rstrip("/"))
    return _without_note_extension(base)


def url_name(url: str) -> str | None:
    canonical = canonical_url(url)
    return f"url:{canonical}" if canonical else None


def choose_target(target: str, source_path: str, candidates: Sequence[LinkTarget]) -> LinkTarget | None:
    """What a link from `source_path` means, or None where no candidate fits."""
    wanted = _without_note_extension(fold_name(target.strip()).strip("/"))
    folder = fold_name(posixpath.dirname(source_path))
    if wanted.startswith(("./", "../")):
        wanted = posixpath.normpath(posixpath.join(folder, wanted))
        exact = [c for c in candidates if not c.is_alias and _comparable(c) == wanted]
        return exact[0] if exact else None
    fitting = [c for c in candidates if not c.is_alias and _ends_with(_comparable(c), wanted)]
    fitting = fitting or [c for c in candidates if c.is_alias and "/" not in wanted]
    if not fitting:
        return None
    return min(fitting, key=lambda c: _preference(c, wanted, folder))


def _preference(candidate: LinkTarget, wanted: str, folder: str) -> tuple[bool, bool, int, str]:
    path = _comparable(candidate)
    return (path != wanted, path != posixpath.join(folder, wanted), len(path), path)


def _comparable(candidate: LinkTarget) -> str:
    return _without_note_extension(fold_name(candidate.path))


def _ends_with(path: str, wanted: str) -> bool:
    return path == wanted or path.endswith("/" + wanted)


def _without_note_extension(name: str) -> str:
    for extension in _NOTE_EXTENSIONS:
        if name.endswith(extension):
            return name.removesuffix(extension)
    return name
