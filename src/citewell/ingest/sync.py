"""Bringing the corpus up to date with a folder: new, changed, renamed and deleted files, batch by batch.

An unchanged file costs a stat. Each batch is one transaction; what a progress event names as committed is searchable
after any crash, and a later sync goes on from there. A root that is missing or suddenly empty deletes nothing.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, Literal, TypeVar

from citewell.clock import Clock
from citewell.errors import BadInput, NoText, NotFound, Unreadable, WorkFailed
from citewell.ingest.walk import (
    MAX_FILE_BYTES,
    TOO_LARGE,
    ExcludedFile,
    SkippedFile,
    WalkedFile,
    excluded_tags,
    path_rules,
    printable,
    read_bytes,
    tag_rule_against,
    walk,
)
from citewell.readers.image import INSTALL, has_ocr
from citewell.readers.importers.registry import documents_in, recognise
from citewell.readers.kinds import KINDS, FileKind, Skip, suffix_of
from citewell.readers.process_pool import MEMORY_BYTES, Allowance, ReaderProcesses, Work
from citewell.store.port import (
    AddReport,
    CorpusStore,
    FileFacts,
    FileOutcome,
    FileStatus,
    KnownFile,
    PreparedDocument,
    Problem,
    SyncProgress,
)
from citewell.store.prepare import prepare_document
from citewell.text.documents import SourceType

# From one file on disk to documents ready to be written, or the reason why not; in a reader process or in ours.


_RETRY_MTIME = -1  # never equal to a real one: a file that could not be opened is tried again next time
# Formats simple enough to be read in our own process: nothing in them can hang or swallow memory.
_PLAIN_READERS = frozenset({"markdown", "plain"})
# Kinds whose name alone does not tell whether they are an export of something.
_MAYBE_EXPORTS = frozenset({".json", ".jsonl", ".ndjson", ".js", ".xml", ".opml", ".rss", ".atom", ".rdf"})


@dataclass(frozen=True, slots=True)
class FileReading:
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


def unfinished(entry: WalkedFile, hash_before: str | None, reason: str) -> FileReading:
    """A file that could not be read to its end this time: what it held stays, and it is tried again next time."""
    file = FileFacts(entry.path, entry.size, _RETRY_MTIME, hash_before)
    return FileReading(file, "failed", reason, keeps_document=True)


def extract_file(root: Path, entry: WalkedFile, hash_before: str | None, source_type: SourceType | None) -> FileReading:
    """Read one file, whatever it holds; nothing it holds makes this fail."""
    try:
        data, facts = read_bytes(root, entry.path)
    except OSError as error:
        return unfinished(entry, hash_before, f"cannot be read: {error.strerror or error}")
    except Unreadable as error:
        return FileReading(FileFacts(entry.path, entry.size, entry.mtime_ns, None), "skipped", error.message)
    file = FileFacts(entry.path, facts.st_size, facts.st_mtime_ns, hashlib.sha256(data).hexdigest())
    try:
        return _documents(file, data, source_type)
    except MemoryError:
        return unfinished(entry, hash_before, "needs more memory than a reader may take")


def _documents(file: FileFacts, data: bytes, source_type: SourceType | None) -> FileReading:
    kind = recognise(file.path, data[:4096])
    if isinstance(kind, Skip):
        return FileReading(file, "skipped", kind.reason, bytes=len(data))
    try:
        imported = list(documents_in(data, file.path))
        withheld = [entry.read.not_evidence for entry in imported if entry.read.not_evidence]
        usable = [entry for entry in imported if not entry.read.not_evidence and entry.read.text.strip()]
        documents = tuple(prepare_document(entry, file.path, source_type) for entry in usable)
    except NoText as error:
        return FileReading(file, "skipped", error.message, bytes=len(data))
    except Unreadable as error:
        return FileReading(file, "failed", error.message, bytes=len(data))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  one hostile file must not end the sync; the reason is recorded
        reason = f"the reader failed: {type(error).__name__}: {error}"[:300]
        return FileReading(file, "failed", reason, bytes=len(data))
    if not documents:
        return FileReading(file, "skipped", withheld[0] if withheld else "empty file", bytes=len(data))
    warnings = dict.fromkeys(warning for entry in usable for warning in entry.read.warnings)
    return FileReading(file, "read", "; ".join(warnings)[:500], documents, bytes=len(data))


# Reading ahead: what an iterator gives is fetched in a thread while the caller is busy with what it already has.


T = TypeVar("T")
_POLL_SECONDS = 0.1


def prefetched(items: Iterator[T], ahead: int) -> Iterator[T]:
    """The same items in the same order; at most `ahead` wait. Ending early closes the iterator in its own thread."""
    fetcher = _Fetcher(items, ahead)
    fetcher.thread.start()
    try:
        while True:
            kind, value = fetcher.waiting.get()
            if kind == "item":
                yield value  # type: ignore[misc]
            elif isinstance(value, BaseException):
                raise value
            else:
                return
    finally:
        fetcher.stopped.set()
        fetcher.thread.join()


class _Fetcher(Generic[T]):
    def __init__(self, items: Iterator[T], ahead: int) -> None:
        self._items = items
        self.waiting: queue.Queue[tuple[str, T | BaseException | None]] = queue.Queue(ahead)
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self._fetch, name="citewell-prefetch", daemon=True)

    def _fetch(self) -> None:
        ending: BaseException | None = None
        try:
            for item in self._items:
                if not self._put("item", item):
                    break
        except BaseException as error:  # noqa: BLE001  it is raised where the items are taken
            ending = error
        finally:
            close = getattr(self._items, "close", None)
            if close is not None:
                close()
        self._put("end", ending)

    def _put(self, kind: str, value: T | BaseException | None) -> bool:
        """Hand one over; False once nobody takes any more."""
        while not self.stopped.is_set():
            try:
                self.waiting.put((kind, value), timeout=_POLL_SECONDS)
                return True
            except queue.Full:
                continue
        return False


# Files read in processes that can be killed (`readers/process_pool.py`), in order, on both cores.
#
# A file that takes too long or brings its reader down is tried once more alone and then recorded as failed: what was
# read of it before stays, and the next sync tries it again, since a busy machine fails good files too.


# What a PDF may take beyond what its reader holds already: a kilobyte of nested forms or twice packed content unpacks
# to gigabytes, and pdfium has no limit of its own.
PDF_MEMORY_BYTES, PDF_MEMORY_A_BYTE = 300_000_000, 4
SECONDS_A_FILE = 20.0
SECONDS_A_MEGABYTE = 2.0
# Recognising the text of a full screenshot takes eight seconds of one core, and the cores may be busy.
_SLOWER_WITH_OCR = 4.0

Extract = Callable[[Path, WalkedFile, str | None, SourceType | None], FileReading]


@dataclass(frozen=True, slots=True)
class ReadTask:
    """One file to read."""

    number: int
    entry: WalkedFile
    hash_before: str | None


class ReaderPool:
    """Reads files in other processes, in the order they were given."""

    def __init__(
        self,
        root: Path,
        source_type: SourceType | None,
        clock: Clock,
        size: int,
        extract: Extract = extract_file,
        seconds_a_file: float = SECONDS_A_FILE,
    ) -> None:
        work = Work(partial(_extracted, extract, root, source_type), FileReading, partial(_allowance, seconds_a_file))
        self._processes = ReaderProcesses(work, _given_up, clock, size)

    def read(self, tasks: Sequence[ReadTask]) -> Iterator[FileReading]:
        """What came of each file, in order."""
        return self._processes.read(tasks)

    def close(self) -> None:
        """End every reader."""
        self._processes.close()


def _extracted(extract: Extract, root: Path, source_type: SourceType | None, task: ReadTask) -> FileReading:
    return extract(root, task.entry, task.hash_before, source_type)


def _given_up(task: ReadTask, reason: str) -> FileReading:
    return unfinished(task.entry, task.hash_before, reason)


def _allowance(seconds_a_file: float, task: ReadTask, held: int | None) -> Allowance:
    return Allowance(seconds_for(task.entry, seconds_a_file), memory_for(task.entry, held))


def seconds_for(entry: WalkedFile, seconds_a_file: float) -> float:
    """How long a file may take to read, by its kind and size."""
    kind = KINDS.get(suffix_of(entry.path))
    slower = _SLOWER_WITH_OCR if kind is not None and kind.reader == "image" else 1.0
    return slower * seconds_a_file + SECONDS_A_MEGABYTE * entry.size / 1_000_000


def memory_for(entry: WalkedFile, held: int | None) -> int:
    """How much address space a reader may have for a file, given what it holds before; the system may not tell that."""
    kind = KINDS.get(suffix_of(entry.path))
    if held is None or kind is None or kind.reader != "pdf":
        return MEMORY_BYTES
    return min(MEMORY_BYTES, held + PDF_MEMORY_BYTES + PDF_MEMORY_A_BYTE * entry.size)


# Raised when a reader changes what it makes of a file, so that unchanged files are read again.
READER_VERSION = 5
# The first batches are small, so that something can be found at once; later ones save commits.
_FIRST_BATCH_FILES = 32
_BATCH_FILES = 256
_AHEAD = 512
_BATCH_BYTES = 4_000_000
# Starting readers takes longer than reading this much in our own process.
_FEW_BYTES = 2_000_000


@dataclass(frozen=True, slots=True)
class AddRequest:
    """What the user asked to add."""

    path: Path
    collection: str | None = None
    source_type: SourceType | None = None
    excludes: tuple[str, ...] = ()
    max_file_bytes: int = MAX_FILE_BYTES


@dataclass(slots=True)
class _SyncTally:
    counts: dict[FileStatus, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    excluded: list[ExcludedFile] = field(default_factory=list)
    bytes: int = 0

    def add(self, status: FileStatus, path: str = "", reason: str = "") -> None:
        self.counts[status] = self.counts.get(status, 0) + 1
        if status in ("skipped", "failed"):
            self.problems.append(Problem(path, reason))


class Sync:
    """One run of `add` over one path."""

    def __init__(self, corpus: CorpusStore, clock: Clock, request: AddRequest, private: tuple[Path, ...]) -> None:
        self._corpus = corpus
        self._clock = clock
        self._request = request
        self._private = private
        self._tally = _SyncTally()
        self._excluded_tags: dict[str, str] = {}
        self._started = clock.monotonic()

    def events(self) -> Iterator[SyncProgress | AddReport]:
        """Do the work; the last event is the report."""
        path = self._resolve()
        self._corpus.heal_index()
        collection = self._corpus.open_collection(
            str(path), path.is_dir(), self._request.collection, self._request.excludes
        )
        root = Path(collection.root)
        if not root.is_dir():
            raise WorkFailed(
                f"{root} was a folder and is none any more: nothing was deleted.",
                fix="Restore the folder and run the same command; to forget its documents, use 'citewell remove'.",
            )
        self._excluded_tags = excluded_tags(collection.excludes)
        foreign = (*map(Path, self._corpus.roots_below(collection.root)), *self._private)
        known = self._corpus.known_files(collection.id, collection.scope)
        rules = path_rules(collection.excludes)
        found = list(self._survey(walk(root, collection.scope, rules, foreign, self._request.max_file_bytes)))
        self._refuse_mass_deletion(root, found, known)
        barred = self._corpus.paths_tagged(collection.id, tuple(self._excluded_tags))
        changed = [
            entry for entry in found if entry.path in barred or not self._is_settled(entry, known.get(entry.path))
        ]
        vanished = _vanished(known, found)
        total, done = len(found), len(found) - len(changed)
        yield SyncProgress(done, total, 0)
        for batch in self._batches(root, changed, known, vanished):
            self._corpus.write_batch(collection, batch, self._clock.now(), READER_VERSION)
            done += len(batch)
            yield SyncProgress(done, total, self._tally.bytes, tuple(outcome.facts.path for outcome in batch))
        for gone in vanished.values():
            self._tally.add("deleted", gone.path)
        self._corpus.finish_sync(collection, tuple(vanished.values()), self._exclusions(), self._clock.now())
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

    def _survey(self, entries: Iterator[WalkedFile | SkippedFile | ExcludedFile]) -> Iterator[WalkedFile | SkippedFile]:
        for entry in entries:
            if isinstance(entry, ExcludedFile):
                self._tally.excluded.append(entry)
            else:
                yield entry

    def _exclusions(self) -> tuple[tuple[str, str], ...]:
        return tuple((entry.path, entry.rule) for entry in self._tally.excluded)

    def _refuse_mass_deletion(
        self, root: Path, found: list[WalkedFile | SkippedFile], known: dict[str, KnownFile]
    ) -> None:
        documents = sum(1 for file in known.values() if file.source_key)
        if documents and not any(isinstance(entry, WalkedFile) for entry in found):
            raise WorkFailed(
                f"{root} is empty or unreadable, but {documents} documents were added from it: nothing was deleted.",
                fix="Mount the disk or restore the folder and try again; to forget them, use 'citewell remove'.",
            )

    def _is_settled(self, entry: WalkedFile | SkippedFile, known: KnownFile | None) -> bool:
        """Count a file that needs no reading, and say that it needs none."""
        if known is None or known.reader_version != READER_VERSION:
            return False
        if (known.size, known.mtime_ns) != (entry.size, entry.mtime_ns) or known.status == "deleted":
            return False
        if isinstance(entry, SkippedFile) and known.reason != entry.reason:
            return False
        if isinstance(entry, WalkedFile) and known.status == "skipped" and is_outdated(known.reason):
            return False
        settled: FileStatus = known.status if known.status in ("skipped", "failed") else "unchanged"
        self._tally.add(settled, known.path, known.reason)
        return True

    def _batches(
        self,
        root: Path,
        changed: list[WalkedFile | SkippedFile],
        known: dict[str, KnownFile],
        vanished: dict[str, KnownFile],
    ) -> Iterator[list[FileOutcome]]:
        batch: list[FileOutcome] = []
        size, most = 0, _FIRST_BATCH_FILES
        for outcome in self._outcomes(root, changed, known, vanished):
            self._tally.add(outcome.status, outcome.facts.path, outcome.reason)
            batch.append(outcome)
            size += outcome.facts.size if outcome.documents else 0
            if len(batch) >= most or size >= _BATCH_BYTES:
                yield batch
                batch, size, most = [], 0, min(most * 2, _BATCH_FILES)
        if batch:
            yield batch

    def _outcomes(
        self,
        root: Path,
        changed: list[WalkedFile | SkippedFile],
        known: dict[str, KnownFile],
        vanished: dict[str, KnownFile],
    ) -> Iterator[FileOutcome]:
        extracted = self._extracted(root, changed, known)
        for entry in changed:
            before = known.get(entry.path)
            if isinstance(entry, SkippedFile):
                file = FileFacts(
                    entry.path, entry.size, entry.mtime_ns, before.file_hash if before and entry.is_unseen else None
                )
                yield FileOutcome(file, "skipped", entry.reason, keeps_document=entry.is_unseen)
            else:
                yield self._placed(next(extracted), before, vanished)

    def _extracted(
        self, root: Path, changed: list[WalkedFile | SkippedFile], known: dict[str, KnownFile]
    ) -> Iterator[FileReading]:
        """Every file read, in order: a few simple ones here, many or untrusted ones in processes of their own."""
        tasks = [
            ReadTask(number, entry, known[entry.path].file_hash if entry.path in known else None)
            for number, entry in enumerate(changed)
            if isinstance(entry, WalkedFile)
        ]
        size = sum(task.entry.size for task in tasks)
        if size <= _FEW_BYTES and not any(needs_a_child(task.entry.path) for task in tasks):
            for task in tasks:
                yield extract_file(root, task.entry, task.hash_before, self._request.source_type)
            return
        pool = ReaderPool(root, self._request.source_type, self._clock, size=min(len(tasks), os.cpu_count() or 1))
        # While a batch is written, the readers must not wait for someone to take what they have.
        yield from prefetched(pool.read(tasks), _AHEAD)

    def _placed(self, extracted: FileReading, known: KnownFile | None, vanished: dict[str, KnownFile]) -> FileOutcome:
        """What a file that was read means for the corpus: new, changed, moved, or left out."""
        self._tally.bytes += extracted.bytes
        file = extracted.facts
        if extracted.status != "read":
            return FileOutcome(file, extracted.status, extracted.reason, keeps_document=extracted.keeps_document)
        against = [tag_rule_against(document, self._excluded_tags) for document in extracted.documents]
        documents = tuple(entry for entry, rule in zip(extracted.documents, against, strict=True) if rule is None)
        if not documents:
            return FileOutcome(file, "skipped", next(filter(None, against), ""))
        old = None if known else _same_file(vanished, file)
        if old is not None:
            del vanished[old.path]
            return FileOutcome(file, "renamed", f"was {old.path}", documents, renamed_from=old.path)
        was_indexed = known is not None and known.source_key is not None
        return FileOutcome(file, "updated" if was_indexed else "indexed", extracted.reason, documents)

    def _report(self, collection: str) -> AddReport:
        counts = self._tally.counts
        return AddReport(
            collections=(collection,),
            indexed=counts.get("indexed", 0),
            updated=counts.get("updated", 0),
            renamed=counts.get("renamed", 0),
            unchanged=counts.get("unchanged", 0),
            deleted=counts.get("deleted", 0),
            skipped=counts.get("skipped", 0),
            failed=counts.get("failed", 0),
            documents=self._corpus.document_count(),
            chunks=self._corpus.chunk_count(),
            bytes=self._tally.bytes,
            seconds=round(self._clock.monotonic() - self._started, 3),
            problems=tuple(self._tally.problems),
            excluded=tuple(f"{entry.path} ({entry.rule})" for entry in self._tally.excluded),
        )


def _vanished(known: dict[str, KnownFile], found: list[WalkedFile | SkippedFile]) -> dict[str, KnownFile]:
    """Files that are no longer there; one below a folder that cannot be read may well be."""
    unseen = tuple(f"{entry.path}/" for entry in found if isinstance(entry, SkippedFile) and entry.is_unseen)
    gone = known.keys() - {entry.path for entry in found}
    return {path: known[path] for path in gone if not path.startswith(unseen)}


def _same_file(vanished: dict[str, KnownFile], file: FileFacts) -> KnownFile | None:
    """A vanished file with the same bytes: this one is its new place."""
    return next((old for old in vanished.values() if old.file_hash == file.file_hash and old.source_key), None)
