"""From one file on disk to documents ready to be written, or the reason why not; in a reader process or in ours."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from citewell.corpus.importers.registry import documents_in, recognise
from citewell.corpus.indexing import prepare_document
from citewell.corpus.walk import TOO_LARGE, Found, read_bytes
from citewell.domain.documents import SourceType
from citewell.domain.errors import NoText, Unreadable
from citewell.domain.prepared import PreparedDocument
from citewell.domain.sync import FileFacts
from citewell.domain.values import dataclass
from citewell.readers.image import INSTALL, has_ocr
from citewell.readers.kinds import FileKind, Skip, suffix_of

_RETRY_MTIME = -1  # never equal to a real one: a file that could not be opened is tried again next time
# Formats simple enough to be read in our own process: nothing in them can hang or swallow memory.
_PLAIN_READERS = frozenset({"markdown", "plain"})
# Kinds whose name alone does not tell whether they are an export of something.
_MAYBE_EXPORTS = frozenset({".json", ".jsonl", ".ndjson", ".js", ".xml", ".opml", ".rss", ".atom", ".rdf"})


@dataclass(frozen=True, slots=True)
class Extracted:
    """What came of reading one file."""

    facts: FileFacts
    status: Literal["read", "skipped", "failed"]
    reason: str = ""
    documents: tuple[PreparedDocument, ...] = ()
    keeps_document: bool = False
    bytes: int = 0


def needs_a_child(path: str) -> bool:
    """Whether a file's format must be read in a process that can be killed."""
    kind = recognise(path, b"")
    if isinstance(kind, Skip):
        return suffix_of(path) in _MAYBE_EXPORTS
    return not (isinstance(kind, FileKind) and kind.reader in _PLAIN_READERS)


def is_outdated(reason: str) -> bool:
    """Whether a file that may be read was left out for a reason that no longer holds: its size, or the lack of OCR."""
    return reason.startswith(TOO_LARGE) or (INSTALL in reason and has_ocr())


def unfinished(entry: Found, hash_before: str | None, reason: str) -> Extracted:
    """A file that could not be read to its end this time: what it held stays, and it is tried again next time."""
    file = FileFacts(entry.path, entry.size, _RETRY_MTIME, hash_before)
    return Extracted(file, "failed", reason, keeps_document=True)


def extract_file(root: Path, entry: Found, hash_before: str | None, source_type: SourceType | None) -> Extracted:
    """Read one file, whatever it holds; nothing it holds makes this fail."""
    try:
        data, facts = read_bytes(root, entry.path)
    except OSError as error:
        return unfinished(entry, hash_before, f"cannot be read: {error.strerror or error}")
    except Unreadable as error:
        return Extracted(FileFacts(entry.path, entry.size, entry.mtime_ns, None), "skipped", error.message)
    file = FileFacts(entry.path, facts.st_size, facts.st_mtime_ns, hashlib.sha256(data).hexdigest())
    try:
        return _documents(file, data, source_type)
    except MemoryError:
        return unfinished(entry, hash_before, "needs more memory than a reader may take")


def _documents(file: FileFacts, data: bytes, source_type: SourceType | None) -> Extracted:
    kind = recognise(file.path, data[:4096])
    if isinstance(kind, Skip):
        return Extracted(file, "skipped", kind.reason, bytes=len(data))
    try:
        imported = list(documents_in(data, file.path))
        withheld = [entry.read.not_evidence for entry in imported if entry.read.not_evidence]
        usable = [entry for entry in imported if not entry.read.not_evidence and entry.read.text.strip()]
        documents = tuple(prepare_document(entry, file.path, source_type) for entry in usable)
    except NoText as error:
        return Extracted(file, "skipped", error.message, bytes=len(data))
    except Unreadable as error:
        return Extracted(file, "failed", error.message, bytes=len(data))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  one hostile file must not end the sync; the reason is recorded
        reason = f"the reader failed: {type(error).__name__}: {error}"[:300]
        return Extracted(file, "failed", reason, bytes=len(data))
    if not documents:
        return Extracted(file, "skipped", withheld[0] if withheld else "empty file", bytes=len(data))
    warnings = dict.fromkeys(warning for entry in usable for warning in entry.read.warnings)
    return Extracted(file, "read", "; ".join(warnings)[:500], documents, bytes=len(data))
