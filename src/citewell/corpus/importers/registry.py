"""Which importer a file gets, and the one call that turns a file into documents.

The first importer that knows a file takes it; a file no importer knows is one document, if a reader knows its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from citewell.corpus.importers.apple_notes import AppleNotes
from citewell.corpus.importers.bookmarks import Bookmarks
from citewell.corpus.importers.feeds import Feed, Opml
from citewell.corpus.importers.github_stars import GithubStars
from citewell.corpus.importers.imported import Imported, Importer
from citewell.corpus.importers.json_documents import JsonLines, JsonList
from citewell.corpus.importers.x_archive import XArchive
from citewell.corpus.importers.youtube import YoutubeCaptions, YoutubeHistory, YoutubePlaylist
from citewell.domain.errors import Unreadable
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


def documents_in(data: bytes, path: str) -> Iterator[Imported]:
    """The documents of a file, each with a part of its own; raises Unreadable, also halfway through a damaged file."""
    known = recognise(path, data[:HEAD_BYTES])
    if isinstance(known, Skip):
        raise Unreadable(known.reason)
    if isinstance(known, FileKind):
        yield Imported(read_file(data, path), known.source_type, kind=known.kind)
    else:
        yield from _with_distinct_parts(known.documents(data, path))


def _with_distinct_parts(documents: Iterable[Imported]) -> Iterator[Imported]:
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
