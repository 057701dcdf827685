"""Bringing the corpus up to date with a folder: new, changed, renamed and deleted files, batch by batch.

An unchanged file costs a stat. Each batch is one transaction; what a progress event names as committed is searchable
after any crash, and a later sync goes on from there. A root that is missing or suddenly empty deletes nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from citewell.corpus.indexing import PreparedDocument, prepare_document
from citewell.corpus.store.sqlite import KnownFile, SqliteCorpus
from citewell.corpus.store.writing import FileFacts
from citewell.corpus.walk import Excluded, Found, LeftOut, printable, read_bytes, walk
from citewell.domain.documents import SourceType
from citewell.domain.errors import BadInput, NotFound, Unreadable, WorkFailed
from citewell.domain.library import AddReport, FileStatus, Problem, SyncProgress
from citewell.domain.ports import Clock
from citewell.readers.kinds import FileKind, detect, read_file

# Raised when a reader changes what it makes of a file, so that unchanged files are read again.
READER_VERSION = 1
_BATCH_FILES = 64
_BATCH_BYTES = 4_000_000
_RETRY_MTIME = -1  # never equal to a real one: a file that could not be opened is tried again next time


@dataclass(frozen=True, slots=True)
class AddRequest:
    """What the user asked to add."""

    path: Path
    collection: str | None = None
    source_type: SourceType | None = None
    excludes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Outcome:
    """One file, read and ready to be written, or the reason why not."""

    facts: FileFacts
    status: FileStatus
    reason: str = ""
    document: PreparedDocument | None = None
    renamed_from: str | None = None
    keeps_document: bool = False  # the file is there but could not be opened: what it held stays


@dataclass(slots=True)
class _Tally:
    counts: dict[FileStatus, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    bytes: int = 0

    def add(self, status: FileStatus, path: str = "", reason: str = "") -> None:
        self.counts[status] = self.counts.get(status, 0) + 1
        if status in ("skipped", "failed"):
            self.problems.append(Problem(path, reason))


class Sync:
    """One run of `add` over one path."""

    def __init__(self, corpus: SqliteCorpus, clock: Clock, request: AddRequest, private: tuple[Path, ...]) -> None:
        self._corpus = corpus
        self._clock = clock
        self._request = request
        self._private = private
        self._tally = _Tally()
        self._started = clock.monotonic()

    def events(self) -> Iterator[SyncProgress | AddReport]:
        """Do the work; the last event is the report."""
        path = self._resolve()
        collection = self._corpus.open_collection(path, self._request.collection, self._request.excludes)
        if not collection.root.is_dir():
            raise WorkFailed(
                f"{collection.root} was a folder and is none any more: nothing was deleted.",
                fix="Restore the folder and run the same command; to forget its documents, use 'citewell remove'.",
            )
        foreign = (*self._corpus.roots_below(collection.root), *self._private)
        known = self._corpus.known_files(collection.id, collection.scope)
        found = list(self._survey(walk(collection.root, collection.scope, collection.excludes, foreign)))
        self._refuse_mass_deletion(collection.root, found, known)
        changed = [entry for entry in found if not self._is_settled(entry, known.get(entry.path))]
        vanished = _vanished(known, found)
        total, done = len(found), len(found) - len(changed)
        yield SyncProgress(done, total, 0)
        for batch in self._batches(collection.root, changed, known, vanished):
            self._corpus.write_batch(collection, batch, self._clock.now(), READER_VERSION)
            done += len(batch)
            yield SyncProgress(done, total, self._tally.bytes, tuple(outcome.facts.path for outcome in batch))
        for gone in vanished.values():
            self._tally.add("deleted", gone.path)
        self._corpus.finish_sync(collection, tuple(vanished.values()), self._clock.now())
        yield self._report(collection.name)

    def _resolve(self) -> Path:
        asked = self._request.path
        if not str(asked) or str(asked) == ".":
            asked = Path.cwd()
        try:
            path = asked.expanduser().resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError):
            raise NotFound(
                f"There is no file or folder at {asked}.",
                fix="Check the path, and that the disk is mounted. Nothing was changed.",
            ) from None
        except (OSError, ValueError, RuntimeError) as error:
            raise BadInput(f"{asked} cannot be opened: {error}", fix="Check the path and its permissions.") from None
        if str(path) != printable(str(path)):
            raise BadInput(f"The name {printable(str(path))} is not valid Unicode.", fix="Rename it and try again.")
        return path

    def _survey(self, entries: Iterator[Found | LeftOut | Excluded]) -> Iterator[Found | LeftOut]:
        for entry in entries:
            if isinstance(entry, Excluded):
                self._tally.excluded.append(f"{entry.path} ({entry.rule})")
            else:
                yield entry

    def _refuse_mass_deletion(self, root: Path, found: list[Found | LeftOut], known: dict[str, KnownFile]) -> None:
        documents = sum(1 for file in known.values() if file.source_key)
        if documents and not any(isinstance(entry, Found) for entry in found):
            raise WorkFailed(
                f"{root} is empty or unreadable, but {documents} documents were added from it: nothing was deleted.",
                fix="Mount the disk or restore the folder and try again; to forget them, use 'citewell remove'.",
            )

    def _is_settled(self, entry: Found | LeftOut, known: KnownFile | None) -> bool:
        """Count a file that needs no reading, and say that it needs none."""
        if known is None or known.reader_version != READER_VERSION:
            return False
        if (known.size, known.mtime_ns) != (entry.size, entry.mtime_ns) or known.status == "deleted":
            return False
        if isinstance(entry, LeftOut) and known.reason != entry.reason:
            return False
        settled: FileStatus = known.status if known.status in ("skipped", "failed") else "unchanged"
        self._tally.add(settled, known.path, known.reason)
        return True

    def _batches(
        self,
        root: Path,
        changed: list[Found | LeftOut],
        known: dict[str, KnownFile],
        vanished: dict[str, KnownFile],
    ) -> Iterator[list[_Outcome]]:
        batch: list[_Outcome] = []
        size = 0
        for entry in changed:
            outcome = self._outcome(root, entry, known.get(entry.path), vanished)
            self._tally.add(outcome.status, outcome.facts.path, outcome.reason)
            batch.append(outcome)
            size += entry.size if outcome.document else 0
            if len(batch) >= _BATCH_FILES or size >= _BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def _outcome(
        self, root: Path, entry: Found | LeftOut, known: KnownFile | None, vanished: dict[str, KnownFile]
    ) -> _Outcome:
        hash_before = known.file_hash if known else None
        if isinstance(entry, LeftOut):
            file = FileFacts(entry.path, entry.size, entry.mtime_ns, hash_before if entry.is_unseen else None)
            return _Outcome(file, "skipped", entry.reason, keeps_document=entry.is_unseen)
        try:
            data, facts = read_bytes(root, entry.path)
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
            file = FileFacts(entry.path, entry.size, _RETRY_MTIME, hash_before)
            return _Outcome(file, "failed", reason, keeps_document=True)
        except Unreadable as error:
            return _Outcome(FileFacts(entry.path, entry.size, entry.mtime_ns, None), "skipped", error.message)
        self._tally.bytes += len(data)
        file = FileFacts(entry.path, facts.st_size, facts.st_mtime_ns, hashlib.sha256(data).hexdigest())
        return self._read(file, data, known, vanished)

    def _read(self, file: FileFacts, data: bytes, known: KnownFile | None, vanished: dict[str, KnownFile]) -> _Outcome:
        kind = detect(file.path, data[:4096])
        if not isinstance(kind, FileKind):
            return _Outcome(file, "skipped", kind.reason)
        try:
            read = read_file(data, file.path)
        except Unreadable as error:
            return _Outcome(file, "failed", error.message)
        except Exception as error:  # noqa: BLE001  one hostile file must not end the sync; the reason is recorded
            return _Outcome(file, "failed", f"the reader failed: {type(error).__name__}: {error}"[:300])
        if read.not_evidence:
            return _Outcome(file, "skipped", read.not_evidence)
        if not read.text.strip():
            return _Outcome(file, "skipped", "empty file")
        source_type = self._request.source_type or kind.source_type
        document = prepare_document(read, source_type, file.path)
        reason = "; ".join(read.warnings)
        old = None if known else _same_file(vanished, file)
        if old is not None:
            del vanished[old.path]
            return _Outcome(file, "renamed", f"was {old.path}", document, renamed_from=old.path)
        was_indexed = known is not None and known.source_key is not None
        return _Outcome(file, "updated" if was_indexed else "indexed", reason, document)

    def _report(self, collection: str) -> AddReport:
        counts = self._tally.counts
        totals = self._corpus.totals()
        return AddReport(
            collections=(collection,),
            indexed=counts.get("indexed", 0),
            updated=counts.get("updated", 0),
            renamed=counts.get("renamed", 0),
            unchanged=counts.get("unchanged", 0),
            deleted=counts.get("deleted", 0),
            skipped=counts.get("skipped", 0),
            failed=counts.get("failed", 0),
            documents=totals.documents,
            chunks=totals.chunks,
            bytes=self._tally.bytes,
            seconds=round(self._clock.monotonic() - self._started, 3),
            problems=tuple(self._tally.problems),
            excluded=tuple(self._tally.excluded),
        )


def _vanished(known: dict[str, KnownFile], found: list[Found | LeftOut]) -> dict[str, KnownFile]:
    """Files that are no longer there; one below a folder that cannot be read may well be."""
    unseen = tuple(f"{entry.path}/" for entry in found if isinstance(entry, LeftOut) and entry.is_unseen)
    gone = known.keys() - {entry.path for entry in found}
    return {path: known[path] for path in gone if not path.startswith(unseen)}


def _same_file(vanished: dict[str, KnownFile], file: FileFacts) -> KnownFile | None:
    """A vanished file with the same bytes: this one is its new place."""
    return next((old for old in vanished.values() if old.file_hash == file.file_hash and old.source_key), None)
