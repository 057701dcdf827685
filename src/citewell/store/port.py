"""The corpus port: everything the engine asks of the store that keeps the corpus.

A store that fits `CorpusStore` and passes `tests/conformance` can stand in for SQLite; only `wiring.py` knows which is
there. Who needs less asks for a slice of it: deciding code reads through `CorpusReader` and can write nothing.

Paths of the disk are absolute and resolved, as text. Offsets count code points of the canonical text. Every call sees
one committed state; several calls see one state together inside `snapshot()`, in the thread that opened it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from citewell.errors import BadInput
from citewell.text.documents import Chunk, Document, Kind, Link, ReadDocument, SourceType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from citewell.text.documents import Attachment, SectionView


class LexicalIndex(Protocol):
    """Finds chunks by their words. Filters apply before ranking."""

    def rank(self, query: LexicalQuery, filters: Filters, limit: int) -> Sequence[Candidate]:
        """The best chunk of each of the best `limit` documents."""
        ...

    def count_matches(self, query: LexicalQuery, filters: Filters) -> CorpusMatches:
        """How many documents match any term, shown or not."""
        ...

    def eligible_documents(self, filters: Filters) -> int:
        """How many documents the filters let through."""
        ...

    def frequencies(self, forms: Sequence[str]) -> dict[str, int]:
        """In how many chunks each form occurs; one that occurs nowhere is left out."""
        ...

    def words_beginning(self, start: str, shortest: int, longest: int) -> Sequence[tuple[str, int]]:
        """Indexed words that begin so, of a length between two, with the number of chunks that have each."""
        ...

    def near_terms(self, word: str) -> Sequence[str]:
        """Indexed words that begin with the same two letters."""
        ...

    def languages(self) -> tuple[str, ...]:
        """Languages of the corpus that have a stemmer, most common first."""
        ...

    def chunk_count(self) -> int: ...

    def commonness(self) -> Commonness: ...


class TextSource(Protocol):
    """Reads stored canonical texts by their hash."""

    def slice(self, content_hash: str, start: int, end: int) -> str:
        """A stretch of one text; empty where no such text is stored."""
        ...

    def slices(self, spans: Sequence[tuple[str, int, int]]) -> list[str]:
        """Several slices at once, each given by hash, start and end."""
        ...

    def sections_between(self, source_key: str, content_hash: str, start: int, end: int) -> tuple[SectionView, ...]: ...

    def sections_of(self, spans: Sequence[tuple[str, str, int, int]]) -> list[tuple[SectionView, ...]]:
        """The sections of several spans at once, each given by key, hash, start and end."""
        ...


class DocumentCatalog(Protocol):
    """Finds documents by key, path, name and tag."""

    def find(self, key: str) -> Document | None: ...

    def find_kept(self, key: str, content_hash: str) -> Document | None:
        """A document as a run cited it, whatever became of it since."""
        ...

    def text_length(self, key: str, content_hash: str) -> int | None:
        """How long that text of a document is; None where the document never had it."""
        ...

    def similar_keys(self, fragment: str) -> list[str]: ...

    def keys_under(self, path: str) -> list[str]:
        """Keys of every document at or below a path of the disk."""
        ...

    def documents_by_keys(self, keys: Sequence[str], filters: Filters) -> list[Document]:
        """The documents with these keys that the filters let through, in the order of the keys."""
        ...

    def documents_named(self, name: str, forms: Sequence[str]) -> list[Document]:
        """Documents whose title or aliases hold this name; `forms` are the stems of the whole name in each language."""
        ...

    def documents_called(self, names: Sequence[str]) -> list[tuple[str, Document]]:
        """Documents by the names a link may use for them, each with the name it was found by."""
        ...

    def near_names(self, name: str) -> list[KnownName]:
        """Names to choose a suggestion from."""
        ...

    def exact_tags(self, folded: Sequence[str], filters: Filters) -> list[TagCount]:
        """Which of these tags exist, with how many documents carry each."""
        ...

    def tagged(self, folded: Sequence[str], filters: Filters, limit: int) -> list[Document]:
        """Documents that carry any of these tags, the most and newest first."""
        ...

    def summaries_of(self, key: str, content_hash: str) -> tuple[Summary, ...]:
        """What is stored of one text of a document: the summary of the whole first, then those of its chunks."""
        ...


class LinkGraph(Protocol):
    """Who links to whom."""

    def links_out(self, key: str) -> tuple[str, ...]: ...

    def related(self, key: str, limit: int) -> list[RelatedDocument]:
        """The neighbours of a document, both ways, the most linked first."""
        ...

    def attachments(self, key: str) -> tuple[Attachment, ...]: ...

    def unresolved_links(self, key: str) -> tuple[str, ...]: ...

    def links_around(self, keys: Sequence[str]) -> list[GraphLink]:
        """Links from and to any of these documents, the most frequent first."""
        ...

    def links_written(self, keys: Sequence[str]) -> dict[str, tuple[WrittenLink, ...]]:
        """The links in each of these documents, in the order they stand."""
        ...


class CorpusReader(LexicalIndex, TextSource, DocumentCatalog, LinkGraph, Protocol):
    """All that answering a question reads."""

    def snapshot(self) -> AbstractContextManager[None]:
        """One state of the corpus, that of the first read, for all this thread reads inside; it may be nested."""
        ...


class VectorIndex(Protocol):
    """Finds chunks by their vectors, and says which chunks lack one. Filters apply before ranking."""

    def coverage(self) -> VectorCoverage:
        """How many chunks have a vector, and which model made them."""
        ...

    def begin(self, model: str, dimension: int) -> None:
        """Encode with this model from now on; what another one made is dropped."""
        ...

    def has_any(self) -> bool:
        """Whether any chunk has a vector; cheaper than counting them."""
        ...

    def next_unencoded(self, limit: int) -> UnencodedChunks:
        """The chunks that follow the watermark."""
        ...

    def put(self, model: str, after: int, ids: Sequence[int], vectors: Vectors) -> bool:
        """Store vectors of chunks; False where another process did so first."""
        ...

    def rank(self, model: str, query: Vectors, filters: Filters, limit: int) -> Sequence[Candidate] | None:
        """The nearest chunk of each of the nearest documents; None where this model has no vectors to compare."""
        ...

    def similar_chunks(self, model: str, query: Vectors, keys: Sequence[str]) -> dict[tuple[str, int, int], float]:
        """The similarity of every chunk of these documents that has a vector, by its document and span."""
        ...


class Summaries(Protocol):
    """Text derived from documents: which of them lack it, and storing it. A document that changes loses its own."""

    def count_lacking(self, kind: SummaryKind, model: str, keys: Sequence[str] | None) -> int:
        """How many of these documents (None: of all) lack a summary of this kind."""
        ...

    def next_lacking(
        self, kind: SummaryKind, model: str, keys: Sequence[str] | None, after: int
    ) -> MissingSummary | None:
        """The next document that lacks one, behind the place where the last stood."""
        ...

    def put(self, key: str, summaries: Sequence[Summary], at: str) -> bool:
        """Store the summaries of one document in place of those it has; False where it has another text by now."""
        ...


class CorpusWriter(Protocol):
    """Brings the corpus into step with the disk. Each call is one transaction: done whole, or not at all."""

    def open_collection(self, path: str, is_folder: bool, name: str | None, excludes: Sequence[str]) -> OpenCollection:
        """The collection a path belongs to; a new one, rooted at the path or at its folder, where there is none."""
        ...

    def roots_below(self, root: str) -> tuple[str, ...]:
        """Roots of other collections inside this one: each file belongs to one collection only."""
        ...

    def known_files(self, collection_id: int, scope: str) -> dict[str, KnownFile]:
        """Every file of a collection at or below the scope, by path."""
        ...

    def paths_tagged(self, collection_id: int, folded: Sequence[str]) -> set[str]:
        """The files of a collection with a document that carries one of these tags, or one nested in it."""
        ...

    def write_batch(
        self, collection: OpenCollection, outcomes: Iterable[FileOutcome], at: str, reader_version: int
    ) -> None:
        """Write a batch of files, links resolved."""
        ...

    def finish_sync(
        self, collection: OpenCollection, gone: Sequence[KnownFile], excluded: Sequence[tuple[str, str]], at: str
    ) -> None:
        """Forget files that are no longer there; note what rules kept out and when the collection was in step."""
        ...

    def heal_index(self) -> bool:
        """Make the index that ranks anew where it lags behind the corpus; whether that was needed."""
        ...

    def remove(self, keys: Sequence[str]) -> None:
        """Forget documents with their texts and derived data; their files are read again by the next `add`."""
        ...

    def drop_empty_collections(self, under: str | None) -> tuple[str, ...]:
        """Forget collections that hold nothing any more, so that their folders are not synced again."""
        ...

    def erase_removed(self) -> None:
        """Leave nothing readable of what was removed in files that the store keeps beside its own."""
        ...

    def keep_texts(self, run_id: str, texts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Keep what a run cites, each text given by key and hash; the keys whose text is no longer there."""
        ...

    def release_texts(self, run_ids: Sequence[str]) -> None:
        """Keep no longer what only these runs cite."""
        ...


class CorpusCounts(Protocol):
    """Counts and lists: what is in the corpus, file by file."""

    def document_count(self) -> int: ...

    def by_source_type(self) -> dict[str, int]: ...

    def stats(self) -> Stats: ...

    def collections(self) -> tuple[CollectionInfo, ...]: ...

    def files(self) -> tuple[FileRecord, ...]: ...

    def exclusions(self) -> tuple[Exclusion, ...]: ...

    def secrets(self) -> tuple[SecretFinding, ...]:
        """Documents that seem to hold a secret; every text is looked through, so this takes as long as that takes."""
        ...

    def check_integrity(self) -> list[str]:
        """Problems found in what is stored; empty when it is sound."""
        ...


class CorpusStore(CorpusReader, CorpusWriter, CorpusCounts, Protocol):
    """The whole port."""

    @property
    def vectors(self) -> VectorIndex: ...

    @property
    def summaries(self) -> Summaries: ...

    def close(self) -> None: ...


# An item that was saved from a web address has the page at that address as its source.
Relationship = Literal["links_to", "linked_from", "embeds", "embedded_in", "has_source", "source_of"]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that a lane found, with the lane's own score (larger is better)."""

    chunk: Chunk
    document: Document
    score: float
    # How much of the score a summary of the document brought.
    summary_score: float = 0.0


@dataclass(frozen=True, slots=True)
class RelatedDocument:
    """A neighbour in the link graph; the link stands at `start..end` of the document it was written in."""

    document: Document
    relationship: Relationship
    start: int
    end: int
    links: int


@dataclass(frozen=True, slots=True)
class Commonness:
    """How much the commonest terms of a corpus say; any other term says `rare`."""

    weights: Mapping[str, float]
    rare: float

    @classmethod
    def of(cls, counts: Mapping[str, int], total: int) -> Commonness:
        """From the number of chunks that have each of the commonest terms, out of so many."""
        weights = {term: math.log(1.0 + total / count) for term, count in counts.items()}
        return cls(weights, max(weights.values(), default=1.0))


@dataclass(frozen=True, slots=True)
class Filters:
    """What may be considered at all. Applied before ranking, never after."""

    source_types: tuple[SourceType, ...] = ()
    tags: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    exclude_paths: tuple[str, ...] = ()
    exclude_domains: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == Filters()


def checked_filters(filters: Filters) -> Filters:
    """The filters, or a clear refusal of a date that is none and of a blank path or domain."""
    for name, value in (("since", filters.since), ("until", filters.until)):
        if value is not None and not _is_day(value):
            raise BadInput(f"--{name} is '{value}'.", fix="Write a date as 2024, 2024-05 or 2024-05-31.")
    for name, values in (("not-in", filters.exclude_paths), ("not-from", filters.exclude_domains)):
        # A blank one would leave out everything or nothing.
        if any(not value.strip().strip("/") for value in values):
            raise BadInput(f"--{name} is empty.", fix=f"Name what to leave out, for example: --{name} Archive")
    return filters


def _is_day(value: str) -> bool:
    """Whether a date that may lack its day or month is in the calendar."""
    if not re.fullmatch(r"\d{4}(?:-\d{2}(?:-\d{2})?)?", value):
        return False
    year, month, day = (int(part) for part in f"{value}-01-01"[:10].split("-"))
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    days = (31, 29 if is_leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    return year >= 1 and 1 <= month <= 12 and 1 <= day <= days[month - 1]


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query: as the user wrote it, and every folded or stemmed form that matches it."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that must stand next to each other, in order; each form is the whole phrase in one language's stems."""

    text: str
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """What the lexical lane ranks by. Terms may repeat: their frequency in the question counts."""

    terms: tuple[Term, ...]
    phrases: tuple[Phrase, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.terms and not self.phrases


# How often something occurs in the corpus.


@dataclass(frozen=True, slots=True)
class TagCount:
    tag: str
    count: int


@dataclass(frozen=True, slots=True)
class CorpusMatches:
    """How many documents of the whole corpus match any term of the question, shown or not."""

    items: int
    sources: int


# Links and names as the corpus stores them: what a document links to, and what documents are called.


@dataclass(frozen=True, slots=True)
class WrittenLink:
    """A link as a document writes it, with the document it means where that is in the corpus."""

    kind: str
    target: str
    alias: str | None
    start: int
    end: int
    target_key: str | None = None
    target_title: str | None = None
    target_path: str | None = None


@dataclass(frozen=True, slots=True)
class GraphLink:
    """How often one document links to another."""

    source: str
    target: str
    kind: str
    links: int


@dataclass(frozen=True, slots=True)
class KnownName:
    """A name some document answers to, and that document's title."""

    name: str
    title: str
    is_alias: bool


# Documents ready to be written: what was read, with everything a store keeps beside it.


@dataclass(frozen=True, slots=True)
class ChunkTerms:
    """What one chunk is found by, column by column."""

    title: str
    headings: str
    body: str
    tags: str
    compounds: str


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    chunk: Chunk
    content_hash: str
    terms: ChunkTerms


@dataclass(frozen=True, slots=True)
class PreparedLink:
    link: Link
    name: str


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be written."""

    read: ReadDocument
    part: str
    saved: str | None
    source_type: SourceType
    kind: Kind
    title: str
    content_hash: str
    language: str | None
    canonical_url: str | None
    aliases: tuple[str, ...]
    tags: tuple[tuple[str, str], ...]
    names: tuple[tuple[str, bool], ...]
    links: tuple[PreparedLink, ...]
    chunks: tuple[PreparedChunk, ...]


# What commands about the corpus report: what was added, what is there, what was forgotten.


FileStatus = Literal["indexed", "updated", "unchanged", "renamed", "skipped", "failed", "deleted"]


@dataclass(frozen=True, slots=True)
class FileRecord:
    """One file's place in the coverage report."""

    path: str
    status: FileStatus
    reason: str
    at: str
    collection: str = ""
    source_key: str | None = None


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A file or folder that a rule keeps out of the corpus."""

    collection: str
    path: str
    rule: str


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A document in which something like a key or a password stands; what it is, not what it says."""

    collection: str
    path: str
    source_key: str
    kind: str


@dataclass(frozen=True, slots=True)
class Problem:
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """What `add` did; every file of the tree is counted exactly once."""

    collections: tuple[str, ...]
    indexed: int
    updated: int
    renamed: int
    unchanged: int
    deleted: int
    skipped: int
    failed: int
    documents: int
    chunks: int
    bytes: int
    seconds: float
    problems: tuple[Problem, ...]
    excluded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorCoverage:
    """How much of the corpus the semantic lane sees: chunks with a vector, chunks without, and who made them."""

    model: str = ""
    encoded: int = 0
    left: int = 0


@dataclass(frozen=True, slots=True)
class CorpusStatus:
    documents: int
    chunks: int
    by_source_type: dict[str, int]
    files: tuple[FileRecord, ...]
    excluded: tuple[Exclusion, ...] = ()
    secrets: tuple[SecretFinding, ...] = ()
    vectors: VectorCoverage = VectorCoverage()


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """A folder that was added; `watched` names it, or the parts of it, that `add --watch` follows at this moment."""

    name: str
    root: str
    documents: int
    files: int
    last_sync: str | None
    excludes: tuple[str, ...] = ()
    watched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionList:
    collections: tuple[CollectionInfo, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    documents: int
    chunks: int
    characters: int
    links: int
    resolved_links: int
    tags: int
    collections: int
    by_source_type: dict[str, int]
    by_language: dict[str, int]
    by_file_status: dict[str, int]
    database_bytes: int
    schema_version: int
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class RemoveReport:
    removed: tuple[str, ...]
    documents: int
    collections: tuple[str, ...]
    cited_by_runs: tuple[str, ...] = ()
    purged_runs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncProgress:
    """How far an `add` has come. What `committed` names is in the corpus, whatever happens next."""

    done: int
    total: int
    bytes: int
    committed: tuple[str, ...] = ()


# Keeping the corpus in step with the disk: what is known of a file, and what came of reading it.


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What the disk said of a file when it was read."""

    path: str
    size: int
    mtime_ns: int
    file_hash: str | None


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """One file, read and ready to be written, or the reason why not."""

    facts: FileFacts
    status: FileStatus
    reason: str = ""
    documents: tuple[PreparedDocument, ...] = ()
    renamed_from: str | None = None
    keeps_document: bool = False  # the file is there but could not be opened: what it held stays


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file as the corpus last saw it."""

    file_id: int
    path: str
    size: int
    mtime_ns: int
    file_hash: str | None
    status: FileStatus
    reason: str
    reader_version: int
    source_key: str | None


@dataclass(frozen=True, slots=True)
class OpenCollection:
    """A collection about to be synced; `scope` is the part of it the user named."""

    id: int
    name: str
    root: str
    scope: str
    excludes: tuple[str, ...]


# Vectors of chunks, and the chunks that still lack one.


if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class UnencodedChunk:
    """A chunk as it is encoded: under its title and headings, so that it says what it is about."""

    chunk: int
    text: str


@dataclass(frozen=True, slots=True)
class UnencodedChunks:
    """The chunks that are next to be encoded, and the watermark they follow."""

    after: int
    chunks: tuple[UnencodedChunk, ...]


# Summaries: text derived from a document, kept apart from it. Never a quote of it, never evidence.


SummaryRole = Literal["source_summary", "item_summary", "chunk_summary"]
# `extractive`: sentences of the text as they stand; `model`: written by a language model.
SummaryKind = Literal["extractive", "model"]


def role_of_whole(kind: Kind) -> SummaryRole:
    """The role of a summary that tells of a whole document."""
    return "item_summary" if kind == "item" else "source_summary"


@dataclass(frozen=True, slots=True)
class Summary:
    """What was derived from `start..end` of the text with that hash; `text` itself stands nowhere in it as a quote."""

    role: SummaryRole
    summary_kind: SummaryKind
    text: str
    start: int
    end: int
    content_hash: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class MissingSummary:
    """A document that lacks the summaries asked for, with the chunks they are to tell of; `place` is where it stands
    in the order of the corpus."""

    place: int
    document: Document
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class SummaryProgress:
    """How far summarising has come; what is done is stored, whatever happens next."""

    done: int
    total: int
    source_key: str = ""


@dataclass(frozen=True, slots=True)
class SummaryReport:
    """What `summarize` did."""

    summary_kind: SummaryKind
    model: str
    documents: int
    left: int
    cost_usd: float | None
    stopped: Literal["done", "cost_limit_reached"] = "done"
    # Documents in which a key or a password seems to stand are not sent to a hosted model.
    withheld: tuple[str, ...] = ()
    # What gave no summary, each with the reason.
    failed: tuple[tuple[str, str], ...] = ()
    seconds: float = 0.0
