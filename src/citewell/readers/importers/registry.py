"""Which importer a file gets, and the one call that turns a file into documents.

The first importer that knows a file takes it; a file no importer knows is one document, if a reader knows its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from citewell.errors import Unreadable
from citewell.readers.importers.apple_notes import AppleNotes
from citewell.readers.importers.bookmarks import Bookmarks
from citewell.readers.importers.entries import ImportedDocument, Importer
from citewell.readers.importers.feeds import Feed, Opml
from citewell.readers.importers.github_stars import GithubStars
from citewell.readers.importers.json_documents import JsonLines, JsonList
from citewell.readers.importers.x_archive import XArchive
from citewell.readers.importers.youtube import YoutubeCaptions, YoutubeHistory, YoutubePlaylist
from citewell.readers.kinds import HEAD_BYTES, FileKind, Skip, detect, read_file
from citewell.text.canonical import content_hash

# Exports that are told by a signature come before those told by the names of their fields or folders.
IMPORTERS: tuple[Importer, ...] = (
    Bookmarks(),
    XArchive(),
    GithubStars(),
    YoutubeHistory(),
    YoutubePlaylist(),
    YoutubeCaptions(),
    Opml(),
    Feed(),
    AppleNotes(),
    JsonLines(),
    JsonList(),
)


def importer_for(path: str, head: bytes) -> Importer | None:
    """The importer that knows this file, if any. `path` is relative to the root of the collection."""
    return next((importer for importer in IMPORTERS if importer.matches(path, head[:HEAD_BYTES])), None)


def recognise(path: str, head: bytes) -> Importer | FileKind | Skip:
    """What will be done with a file that begins with these bytes (HEAD_BYTES of them decide)."""
    return importer_for(path, head) or detect(path, head[:HEAD_BYTES])


def documents_in(data: bytes, path: str) -> Iterator[ImportedDocument]:
    """The documents of a file, each with a part of its own; raises Unreadable, also halfway through a damaged file."""
    known = recognise(path, data[:HEAD_BYTES])
    if isinstance(known, Skip):
        raise Unreadable(known.reason)
    if isinstance(known, FileKind):
        yield ImportedDocument(read_file(data, path), known.source_type, kind=known.kind)
    else:
        yield from _with_distinct_parts(known.documents(data, path))


def _with_distinct_parts(documents: Iterable[ImportedDocument]) -> Iterator[ImportedDocument]:
    """The same document twice is one; two that only share their name become `name` and `name~2`."""
    seen: dict[str, set[str]] = {}
    for document in documents:
        digest = content_hash(document.read.text)
        if digest in seen.get(document.part, ()):
            continue
        part, number = document.part, 2
        while part in seen:
            part, number = f"{document.part}~{number}", number + 1
        seen[part] = {digest}
        seen[document.part].add(digest)
        yield document if part == document.part else replace(document, part=part)
