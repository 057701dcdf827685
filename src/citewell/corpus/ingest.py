"""Bringing the corpus up to date with a folder: new, changed, renamed and deleted files, batch by batch.

An unchanged file costs a stat. Each batch is one transaction; what a progress event names as committed is searchable
after any crash, and a later sync goes on from there. A root that is missing or suddenly empty deletes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from citewell.corpus.exclusions import excluded_tags, path_rules, rule_against
from citewell.corpus.extraction import Extracted, extract_file, is_outdated, needs_a_child
from citewell.corpus.prefetch import prefetched
from citewell.corpus.reader_pool import ReaderPool, Task
from citewell.corpus.walk import MAX_FILE_BYTES, Excluded, Found, LeftOut, printable, walk
from citewell.domain.corpus_port import CorpusStore
from citewell.domain.documents import SourceType
from citewell.domain.errors import BadInput, NotFound, WorkFailed
from citewell.domain.library import AddReport, FileStatus, Problem, SyncProgress
from citewell.domain.ports import Clock
from citewell.domain.sync import FileFacts, FileOutcome, KnownFile

# Raised when a reader changes what it makes of a file, so that unchanged files are read again.
READER_VERSION = 4
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
class _Tally:
    counts: dict[FileStatus, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    excluded: list[Excluded] = field(default_factory=list)
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
        self._tally = _Tally()
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

    def _survey(self, entries: Iterator[Found | LeftOut | Excluded]) -> Iterator[Found | LeftOut]:
        for entry in entries:
            if isinstance(entry, Excluded):
                self._tally.excluded.append(entry)
            else:
                yield entry

    def _exclusions(self) -> tuple[tuple[str, str], ...]:
        return tuple((entry.path, entry.rule) for entry in self._tally.excluded)

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
        if isinstance(entry, Found) and known.status == "skipped" and is_outdated(known.reason):
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
        changed: list[Found | LeftOut],
        known: dict[str, KnownFile],
        vanished: dict[str, KnownFile],
    ) -> Iterator[FileOutcome]:
        extracted = self._extracted(root, changed, known)
        for entry in changed:
            before = known.get(entry.path)
            if isinstance(entry, LeftOut):
                file = FileFacts(
                    entry.path, entry.size, entry.mtime_ns, before.file_hash if before and entry.is_unseen else None
                )
                yield FileOutcome(file, "skipped", entry.reason, keeps_document=entry.is_unseen)
            else:
                yield self._placed(next(extracted), before, vanished)

    def _extracted(
        self, root: Path, changed: list[Found | LeftOut], known: dict[str, KnownFile]
    ) -> Iterator[Extracted]:
        """Every file read, in order: a few simple ones here, many or untrusted ones in processes of their own."""
        tasks = [
            Task(number, entry, known[entry.path].file_hash if entry.path in known else None)
            for number, entry in enumerate(changed)
            if isinstance(entry, Found)
        ]
        size = sum(task.entry.size for task in tasks)
        if size <= _FEW_BYTES and not any(needs_a_child(task.entry.path) for task in tasks):
            for task in tasks:
                yield extract_file(root, task.entry, task.hash_before, self._request.source_type)
            return
        pool = ReaderPool(root, self._request.source_type, self._clock, size=min(len(tasks), os.cpu_count() or 1))
        # While a batch is written, the readers must not wait for someone to take what they have.
        yield from prefetched(pool.read(tasks), _AHEAD)

    def _placed(self, extracted: Extracted, known: KnownFile | None, vanished: dict[str, KnownFile]) -> FileOutcome:
        """What a file that was read means for the corpus: new, changed, moved, or left out."""
        self._tally.bytes += extracted.bytes
        file = extracted.facts
        if extracted.status != "read":
            return FileOutcome(file, extracted.status, extracted.reason, keeps_document=extracted.keeps_document)
        against = [rule_against(document, self._excluded_tags) for document in extracted.documents]
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


def _vanished(known: dict[str, KnownFile], found: list[Found | LeftOut]) -> dict[str, KnownFile]:
    """Files that are no longer there; one below a folder that cannot be read may well be."""
    unseen = tuple(f"{entry.path}/" for entry in found if isinstance(entry, LeftOut) and entry.is_unseen)
    gone = known.keys() - {entry.path for entry in found}
    return {path: known[path] for path in gone if not path.startswith(unseen)}


def _same_file(vanished: dict[str, KnownFile], file: FileFacts) -> KnownFile | None:
    """A vanished file with the same bytes: this one is its new place."""
    return next((old for old in vanished.values() if old.file_hash == file.file_hash and old.source_key), None)
