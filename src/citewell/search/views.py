"""Documents as they are read: whole, the window around a query or a summary; today's text or an earlier one."""

from __future__ import annotations

from citewell.errors import NotFound
from citewell.search.lookup import LookupProblem, MissingDocument
from citewell.search.query import check_question, doubtful_words, lexical_query, normalize
from citewell.search.related import opening_row
from citewell.search.rows import rarity, term_chunks, wider_span
from citewell.search.spelling import respell
from citewell.store.port import CorpusReader, LexicalQuery, role_of_whole
from citewell.text.documents import ContentMode, Document, DocumentView, SummaryView, split_version
from citewell.text.summary import LOOK_THROUGH, extractive_summary


class DocumentViews:
    """Reads documents of one corpus by their keys."""

    def __init__(self, corpus: CorpusReader) -> None:
        self._corpus = corpus

    def view(
        self,
        lookup: str,
        query: str | None,
        mode: ContentMode,
        max_chars: int,
        shown: tuple[int, int] | None = None,
    ) -> DocumentView:
        """One document by its key, or by `KEY@CONTENT_HASH` for an earlier text; around what is `shown` already."""
        key, wanted = split_version(lookup)
        document = self._corpus.find(key) or (self._corpus.find_kept(key, wanted) if wanted else None)
        if document is None:
            raise self.missing(key)
        digest = wanted or document.content_hash
        kept = self._corpus.find_kept(key, digest)
        length = kept.length if kept else self._corpus.text_length(key, digest)
        if length is None:
            raise NotFound(f"{key} never had a text with the hash {digest[:12]}….", fix=f"Try 'citewell get {key}'.")
        is_gone = self._corpus.find(key) is None
        start, end = self._window(document, digest, length, query, mode, max_chars, shown)
        return DocumentView(
            source_key=key,
            kind=document.kind,
            source_type=document.source_type,
            collection=document.collection,
            title=document.title,
            content_hash=digest,
            content_mode=mode,
            text=self._corpus.slice(digest, start, end),
            start=start,
            end=end,
            length=length,
            sections=self._corpus.sections_between(key, digest, start, end),
            note_path=document.note_path,
            url=document.url,
            author=document.author,
            language=document.language,
            user_tags=document.user_tags,
            created=document.created,
            saved=document.saved,
            modified=document.modified,
            is_current=digest == document.content_hash and not is_gone,
            links_out=self._corpus.links_out(key),
            attachments=self._corpus.attachments(key),
            summaries=self._summaries(document, digest, length, query, max_chars) if mode == "summary" else (),
        )

    def missing(self, key: str) -> NotFound:
        """The refusal of a key that nobody has, with those that look like it."""
        similar = self._corpus.similar_keys(key)
        fix = f"Did you mean {', '.join(similar)}?" if similar else "See 'citewell status' or 'citewell search'."
        return NotFound(f"No document has the key or path {key}.", fix=fix)

    def entry(
        self, lookup: str, query: str | None, mode: ContentMode, max_chars: int
    ) -> DocumentView | MissingDocument:
        """One document of several, or in its place why it is not there."""
        try:
            return self.view(lookup, query, mode, max_chars)
        except NotFound as error:
            return MissingDocument(lookup, LookupProblem(error.code, error.message, error.fix))

    def _window(
        self,
        document: Document,
        digest: str,
        length: int,
        query: str | None,
        mode: ContentMode,
        max_chars: int,
        shown: tuple[int, int] | None,
    ) -> tuple[int, int]:
        if mode == "full":
            return 0, length
        if mode == "summary":
            return 0, 0
        size = max_chars
        if digest != document.content_hash:
            return 0, min(length, size)
        asked = self._asked(query)
        weights = rarity(term_chunks(self._corpus, asked), self._corpus.chunk_count())
        if shown is not None and 0 <= shown[0] < shown[1] <= length:
            return wider_span(self._corpus, document, shown, asked, weights, size)
        row = opening_row(self._corpus, document, asked, weights, size, "raw_source")
        return row.span.start, row.span.end

    def _summaries(
        self, document: Document, digest: str, length: int, query: str | None, max_chars: int
    ) -> tuple[SummaryView, ...]:
        """What is stored of this text, as much as fits; else its own sentences, those that speak of the query first."""
        stored = self._corpus.summaries_of(document.source_key, digest)
        if not stored or (query and stored[0].summary_kind == "extractive"):
            sections = self._corpus.sections_between(document.source_key, digest, 0, length)
            start, end = (sections[0].start, sections[-1].end) if sections else (0, length)
            text = self._corpus.slice(digest, start, min(end, start + LOOK_THROUGH))
            asked = {form for term in self._asked(query).terms for form in term.forms}
            said = extractive_summary(text, document.title, document.language, asked=asked)
            whole = SummaryView(role_of_whole(document.kind), "extractive", said, start, end)
            return (whole,)
        views: list[SummaryView] = []
        for one in stored:
            max_chars -= len(one.text)
            if views and max_chars < 0:
                break
            views.append(SummaryView(one.role, one.summary_kind, one.text, one.start, one.end, one.model))
        return tuple(views)

    def _asked(self, query: str | None) -> LexicalQuery:
        """The words of a query, and those that misspelled ones were meant to be."""
        if query is None:
            return LexicalQuery(())
        normalized = normalize(check_question(query))
        asked = lexical_query(normalized.text, self._corpus.languages(), normalized.phrases)
        return respell(self._corpus, asked, doubtful_words(normalized.text, normalized.phrases)).query
