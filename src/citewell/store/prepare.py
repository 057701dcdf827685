"""From a read document to everything the store keeps of it: chunks, their terms, language, names. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass

from citewell.readers.importers.entries import ImportedDocument
from citewell.store.links import lookup_name, names_of
from citewell.store.port import ChunkTerms, PreparedChunk, PreparedDocument, PreparedLink
from citewell.text.canonical import content_hash
from citewell.text.chunks import chunk_document
from citewell.text.documents import Chunk, ReadDocument, SourceType, distinct_tags, kind_of
from citewell.text.languages import detect_language
from citewell.text.urls import canonical_url
from citewell.text.words import compound_terms, index_terms

# File names that say nothing of what is in them.
NAMELESS = frozenset({"readme", "index", "_index", "untitled"})


def prepare_document(imported: ImportedDocument, path: str, source_type: SourceType | None = None) -> PreparedDocument:
    """Everything derived from a document that the store needs; the user may say what it is, whatever its kind."""
    read, meant = imported.read, source_type or imported.source_type
    digest = content_hash(read.text)
    language = detect_language(read.text)
    shown = " ".join(((read.title or "").strip() or file_stem(path)).split())[:300]
    tags = distinct_tags(read.tags)
    written = " ".join(tag for tag, _ in sorted(tags, key=lambda pair: pair[1]))
    aliases = _other_names(read, shown, "" if imported.part else file_stem(path), language)
    chunks = chunk_document(read.text, read.sections, digest)
    return PreparedDocument(
        read=read,
        part=imported.part,
        saved=imported.saved,
        source_type=meant,
        kind=imported.kind or kind_of(meant),
        title=shown,
        content_hash=digest,
        language=language,
        canonical_url=canonical_url(read.url) if read.url else None,
        aliases=aliases,
        tags=tags,
        names=names_of("" if imported.part else path, read.aliases),
        links=tuple(PreparedLink(link, lookup_name(link)) for link in read.links),
        chunks=_with_terms(
            read,
            chunks,
            DocumentTerms.of(shown, aliases, "" if imported.part else path, written, language, read.meta_text),
        ),
    )


def _other_names(read: ReadDocument, title: str, stem: str, language: str | None) -> tuple[str, ...]:
    """What a document is called beside its title: its aliases, a heading and a file name that say something else."""
    names = list(read.aliases)
    for name in (read.heading or "", "" if stem.casefold() in NAMELESS else stem):
        said = index_terms(name, language)
        if said and all(said != index_terms(known, language) for known in (title, *names)):
            names.append(name)
    return tuple(names)


def file_stem(path: str) -> str:
    """The name of a file without its folders and its extension."""
    return posixpath.splitext(posixpath.basename(path))[0]


@dataclass(frozen=True, slots=True)
class DocumentTerms:
    """What is the same for every chunk of a document: the terms of its names, of its tags and folders, its language."""

    title: str
    tags: str
    language: str | None
    meta_text: str

    @classmethod
    def of(
        cls, title: str, aliases: Iterable[str], path: str, tags: str, language: str | None, meta_text: str
    ) -> DocumentTerms:
        """`path` is that of a file that holds this document alone; else it is empty."""
        names = index_terms(" ".join((title, *aliases)), language)
        known = set(names.split())
        # A word of the file name counts once, also where the title says it too.
        more = [term for term in index_terms(file_stem(path), language).split() if term not in known]
        if any(any(character.isalpha() for character in term) for term in more):
            names = " ".join((names, *more))
        folders = posixpath.dirname(path).replace("/", " ")
        return cls(names, index_terms(f"{tags} {folders}", language), language, meta_text)


def terms_of_chunk(described: DocumentTerms, ordinal: int, heading_path: tuple[str, ...], body: str) -> ChunkTerms:
    """What one chunk is found by; the first also by what is said about the document outside its text."""
    headings = " ".join(heading_path)
    if ordinal == 0 and described.meta_text:
        headings = f"{headings} {described.meta_text}"
    return ChunkTerms(
        title=described.title,
        headings=index_terms(headings, described.language),
        body=index_terms(body, described.language),
        tags=described.tags,
        compounds=compound_terms(body),
    )


def _with_terms(read: ReadDocument, chunks: tuple[Chunk, ...], described: DocumentTerms) -> tuple[PreparedChunk, ...]:
    prepared: list[PreparedChunk] = []
    for chunk in chunks:
        body = read.text[chunk.start : chunk.end]
        terms = terms_of_chunk(described, chunk.ordinal, chunk.heading_path, body)
        prepared.append(PreparedChunk(chunk, content_hash(body)[:16], terms))
    return tuple(prepared)
