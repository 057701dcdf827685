"""The corpus port: everything the engine asks of the store that keeps the corpus.

A store that fits `CorpusStore` and passes `tests/conformance` can stand in for SQLite; only `parts.py` knows which is
there. Who needs less asks for a slice of it: deciding code reads through `CorpusReader` and can write nothing.

Paths of the disk are absolute and resolved, as text. Offsets count code points of the canonical text. Every call sees
one committed state; several calls see one state together inside `snapshot()`, in the thread that opened it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager

    from citewell.domain.counts import CorpusMatches, TagCount
    from citewell.domain.documents import Attachment, Document, SectionView
    from citewell.domain.library import CollectionInfo, Exclusion, FileRecord, SecretFinding, Stats, VectorCoverage
    from citewell.domain.links import GraphLink, KnownName, WrittenLink
    from citewell.domain.ports import Candidate, Commonness, RelatedDocument
    from citewell.domain.queries import Filters, LexicalQuery
    from citewell.domain.summaries import Summary, SummaryKind, Unsummarized
    from citewell.domain.sync import FileOutcome, KnownFile, OpenCollection
    from citewell.domain.vectors import UnencodedChunks, Vectors


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


class Summaries(Protocol):
    """Text derived from documents: which of them lack it, and storing it. A document that changes loses its own."""

    def count_lacking(self, kind: SummaryKind, model: str, keys: Sequence[str] | None) -> int:
        """How many of these documents (None: of all) lack a summary of this kind."""
        ...

    def next_lacking(
        self, kind: SummaryKind, model: str, keys: Sequence[str] | None, after: int
    ) -> Unsummarized | None:
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


class CorpusReport(Protocol):
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


class CorpusStore(CorpusReader, CorpusWriter, CorpusReport, Protocol):
    """The whole port."""

    @property
    def vectors(self) -> VectorIndex: ...

    @property
    def summaries(self) -> Summaries: ...

    def close(self) -> None: ...
