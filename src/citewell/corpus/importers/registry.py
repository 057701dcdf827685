"""Which importer a file gets. The order decides where several would match."""

from __future__ import annotations

from collections.abc import Iterable

from citewell.corpus.importers.imported import Imported, Importer
from citewell.domain.errors import Unreadable
from citewell.readers.kinds import FileKind, Skip, detect, read_file

IMPORTERS: tuple[Importer, ...] = ()


def importer_for(path: str, head: bytes) -> Importer | None:
    """The importer for an export of many documents, if this is one."""
    return next((importer for importer in IMPORTERS if importer.matches(path, head)), None)


def recognise(path: str, head: bytes) -> Importer | FileKind | Skip:
    """What will be done with a file of this name that begins with these bytes."""
    return importer_for(path, head) or detect(path, head)


def documents_in(data: bytes, path: str) -> Iterable[Imported]:
    """The documents of a file; raises Unreadable with the reason when there are none to be had."""
    kind = recognise(path, data[:4096])
    if isinstance(kind, Skip):
        raise Unreadable(kind.reason)
    if isinstance(kind, FileKind):
        return (Imported(read_file(data, path), kind.source_type),)
    return kind.documents(data, path)
