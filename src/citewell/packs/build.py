"""Building `research_pack.v1`: search every variant, fuse, rerank, show. It reads the corpus and writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from citewell.domain.corpus_port import CorpusReader
from citewell.domain.counts import TagCount
from citewell.domain.documents import Document, Role
from citewell.domain.evidence import EvidenceRow, Lane, Signal
from citewell.domain.lanes import SemanticReport, SemanticUse
from citewell.domain.packs import DroppedCandidate, ResearchPack, RetrievalReport, VariantReport
from citewell.domain.ports import Candidate, Reranker
from citewell.domain.queries import Filters, LexicalQuery, QueryPlan, Variant
from citewell.packs.adjustments import adjustments, is_left_out, with_every_side
from citewell.packs.alias_expansion import AliasExpansion, expand_aliases, variant_with
from citewell.packs.concepts import Passage, is_met
from citewell.packs.coverage import coverage
from citewell.packs.next_steps import next_steps
from citewell.packs.related import neighbour_rows, opening_row
from citewell.planning.lexical import lexical_query, phrase_of
from citewell.planning.spelling import doubtful_words, put_right
from citewell.retrieval.fusion import AS_PHRASE, Fused, Results, fuse
from citewell.retrieval.hybrid import RESERVED_PLACE, LaneRow, reserved_signal
from citewell.retrieval.lanes import OpenLane, exact_keys, no_lane, search_lanes
from citewell.retrieval.lexical import PROVENANCE
from citewell.retrieval.rerank import Weighed, weigh, with_meaning
from citewell.retrieval.row_context import with_context
from citewell.retrieval.rows import LOOK_THROUGH, Reading, evidence_row, rarity, read_many, shown_from, term_chunks
from citewell.retrieval.spelling import Respelled, respell

EXACT_TAG_EXAMPLES = 3
# Candidates that were let go of and are still told, best first.
MOST_DROPPED = 50
_RERANK_ROWS = 3
_SPELLING = 0.9
_PINNED = Signal("pinned", 0.0, "named by its key")


@dataclass(frozen=True, slots=True)
class _Ranked:
    candidate: Candidate
    reading: Reading
    weighed: Weighed
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class _Searched:
    """What every variant found; the question as it was asked also through its lanes."""

    results: list[Results]
    lanes: dict[str, LaneRow]
    report: SemanticReport | None = None
    aliases: AliasExpansion = field(default_factory=AliasExpansion)
    nearest: str | None = None


class PackBuilder:
    """Builds packs over one store; the semantic lane takes part as far as `use` says."""

    def __init__(
        self,
        store: CorpusReader,
        use: SemanticUse = "off",
        open_lane: OpenLane = no_lane,
        reranker: Reranker | None = None,
    ) -> None:
        self._store = store
        self._use = use
        self._open_lane = open_lane
        self._reranker = reranker

    def build(self, question: str, plan: QueryPlan) -> ResearchPack:
        """The pack for a planned question."""
        return self.build_with_report(question, plan)[0]

    def build_with_report(self, question: str, plan: QueryPlan) -> tuple[ResearchPack, RetrievalReport]:
        """The pack for a planned question, and how it came to its rows."""
        languages = self._store.languages()
        phrases = [concept.name for concept in plan.concepts if concept.protected == "phrase"]
        asked = lexical_query(plan.text_query, languages, phrases)
        spelled = respell(self._store, asked, doubtful_words(plan.text_query, phrases))
        query, plan = spelled.query, _with_spellings(plan, spelled)
        searched = self._search(plan, query, languages)
        plan = replace(plan, query_variants=tuple(found.variant for found in searched.results))
        ranked, dropped = self._rank(plan, query, searched, languages)
        counts, chunks = term_chunks(self._store, asked), self._store.chunk_count()
        weights = rarity(term_chunks(self._store, query) if spelled.spellings else counts, chunks)
        shown = with_every_side(plan, ranked, plan.limits.limit, lambda row: frozenset(row.weighed.met))
        rows = self._rows(plan, query, weights, shown)
        rows = tuple(replace(row, signals=(*row.signals, *spelled.signals(row.matched_terms))) for row in rows)
        rows = self._with_pinned(plan, query, weights, rows, languages)
        rows = with_context(self._store, (*rows, *self._related(plan, rows)))
        tags = self._store.exact_tags(plan.tag_queries, plan.filters)
        tagged = self._exact_tag_rows(plan, query, weights, tags, languages)
        evidence_coverage = coverage(
            plan,
            rows,
            tags,
            self._store.count_matches(query, plan.filters),
            eligible=self._store.eligible_documents(plan.filters),
            corpus=self._store.eligible_documents(Filters()),
            chunks=chunks,
            term_chunks=counts,
            notes=[f"{spelling}." for spelling in spelled.spellings],
            languages=languages,
        )
        pack = ResearchPack(
            question=question,
            mode="evidence_only",
            query_plan=plan,
            coverage=evidence_coverage,
            evidence=rows,
            exact_tag_evidence=tagged,
            next_steps=next_steps(plan, rows, tagged, evidence_coverage, spelled.spellings),
        )
        shown_keys = {row.source_key for row in pack.evidence}
        dropped += [
            DroppedCandidate(row.candidate.document.source_key, round(row.weighed.score, 6), "beyond the rows to show")
            for row in ranked
            if row.candidate.document.source_key not in shown_keys
        ]
        return pack, _report(searched, dropped)

    def _search(self, plan: QueryPlan, asked: LexicalQuery, languages: Sequence[str]) -> _Searched:
        """The question as it was asked is put to every lane, as a search would; its variants find what it misses."""
        depth = plan.limits.limit * _RERANK_ROWS
        quoted = [concept.name for concept in plan.concepts if concept.protected == "phrase"]
        phrases = {"original": quoted, "content": quoted}
        searched = _Searched([], {})
        for variant in plan.query_variants:
            together = [variant.query] if variant.kind in AS_PHRASE else phrases.get(variant.kind, [])
            query = lexical_query(variant.query, languages, together)
            if variant.kind != "original":
                searched.results.append(_results(variant, self._store.rank(query, plan.filters, depth)))
                continue
            put = (variant.query, asked, plan.filters, depth, self._reranker)
            found = search_lanes(self._store, self._open_lane, self._use, *put)
            searched.lanes.update({row.key: row for row in found.rows})
            candidates = [replace(row.candidate, score=row.score) for row in found.rows]
            searched.results.append(Results(variant, candidates, found.reach))
            searched = replace(searched, report=found.report or searched.report, nearest=found.nearest)
        first = searched.results[0].candidates if searched.results else []
        aliases = expand_aliases(self._store, plan, first) if searched.results else AliasExpansion()
        if aliases.tried:
            variant = variant_with(plan, aliases.tried)
            query = lexical_query(variant.query, languages, [one.other for one in aliases.tried])
            named = self._store.rank(query, plan.filters, depth)
            exact = exact_keys(self._store, query, named)
            searched.results.append(_results(variant, [one for one in named if one.document.source_key in exact]))
        return replace(searched, aliases=aliases)

    def _rank(
        self, plan: QueryPlan, query: LexicalQuery, searched: _Searched, languages: Sequence[str]
    ) -> tuple[list[_Ranked], list[DroppedCandidate]]:
        """The rows worth showing, best first, and what was let go of on the way."""
        every = fuse(searched.results)
        fused = every[: plan.limits.limit * _RERANK_ROWS]
        dropped = [_dropped(row, "not among the best of the first stage") for row in every[len(fused) :]]
        chunks = [(row.candidate.document, row.candidate.chunk) for row in fused]
        readings = read_many(self._store, chunks, query, plan.limits.max_chars_per_doc)
        weighed = [self._weigh(plan, *pair, languages, searched) for pair in zip(fused, readings, strict=True)]
        dropped += [
            _dropped(row, "the question leaves it out")
            for row, kept in zip(fused, weighed, strict=True)
            if kept is None
        ]
        ranked = [row for row in weighed if row is not None]
        ordered = sorted(ranked, key=lambda row: (-row.weighed.score, row.candidate.document.source_key))
        return _with_reserved(ordered, searched.nearest), dropped

    def _weigh(
        self,
        plan: QueryPlan,
        row: Fused,
        reading: Reading,
        languages: Sequence[str],
        searched: _Searched,
    ) -> _Ranked | None:
        """A row with its signals, or nothing where the question rules it out."""
        document, chunk = row.candidate.document, row.candidate.chunk
        title = " ".join((document.title, *document.aliases))
        around = " ".join((title, *chunk.heading_path, *document.user_tags))
        passage = Passage.of(document, f"{around}\n\n{reading.text}")
        if is_left_out(plan.excluded, passage, languages):
            return None
        titled = Passage.of(document, title)
        further = tuple(adjustments(plan, document, passage, titled, languages))
        met = frozenset(concept.name for concept in plan.concepts if is_met(concept, passage, languages))
        in_title = frozenset(concept.name for concept in plan.concepts if is_met(concept, titled, languages))
        weighed = weigh(row.base, row.variants, plan.concepts, met, in_title, further)
        found = searched.lanes.get(document.source_key)
        if found is not None and row.best == "original":
            weighed = with_meaning(weighed, row.base, found)
        if found is not None:
            told = (replace(signal, value=0.0) for signal in found.signals if signal.name in PROVENANCE)
            weighed = replace(weighed, signals=(*weighed.signals, *told))
        if row.best == "alias":
            signals = (one.signal() for one in searched.aliases.tried if passage.has(phrase_of(one.other, languages)))
            weighed = replace(weighed, signals=(*weighed.signals, *signals))
        return _Ranked(row.candidate, reading, weighed, _lanes(found, row))

    def _rows(
        self, plan: QueryPlan, query: LexicalQuery, weights: dict[str, float], ranked: Sequence[_Ranked]
    ) -> tuple[EvidenceRow, ...]:
        """Each document with the part that says most of what was asked, wherever in it that stands."""
        found = [(row.candidate.document, row.candidate.chunk) for row in ranked]
        chunks = [(document, shown_from(self._store, document, chunk, query)) for document, chunk in found]
        readings = read_many(self._store, chunks, query, LOOK_THROUGH)
        return tuple(
            evidence_row(
                *(*chunk, reading, query, weights),
                plan.limits.max_chars_per_doc,
                score=row.weighed.score,
                signals=row.weighed.signals,
                lanes=row.lanes,
            )
            for row, chunk, reading in zip(ranked, chunks, readings, strict=True)
        )

    def _with_pinned(
        self,
        plan: QueryPlan,
        query: LexicalQuery,
        weights: dict[str, float],
        rows: tuple[EvidenceRow, ...],
        languages: Sequence[str],
    ) -> tuple[EvidenceRow, ...]:
        """The rows with every document the question names by its key; one that was not found takes a last place."""
        keys = [key.partition("@")[0] for key in plan.source_keys]
        shown = {row.source_key for row in rows}
        missing = [key for key in dict.fromkeys(keys) if key not in shown][: plan.limits.limit]
        documents = self._store.documents_by_keys(missing, plan.filters) if missing else []
        pinned = [self._pinned_row(plan, query, weights, document, languages) for document in documents]
        if not pinned:
            return rows
        kept = [row for row in rows if row.source_key in keys]
        others = [row for row in rows if row.source_key not in keys]
        room = max(0, plan.limits.limit - len(pinned) - len(kept))
        stays = {row.source_key for row in (*kept, *others[:room])}
        return (*(row for row in rows if row.source_key in stays), *pinned)

    def _pinned_row(
        self,
        plan: QueryPlan,
        query: LexicalQuery,
        weights: dict[str, float],
        document: Document,
        languages: Sequence[str],
    ) -> EvidenceRow:
        row = opening_row(self._store, document, query, weights, plan.limits.max_chars_per_doc, "raw_source")
        role: Role = "user_note" if document.source_type == "vault_note" else row.role
        passage = Passage.of(document, f"{document.title}\n\n{row.text}")
        met = frozenset(concept.name for concept in plan.concepts if is_met(concept, passage, languages))
        signals = weigh(0.0, ("pinned",), plan.concepts, met, frozenset(), (_PINNED,))
        return replace(row, lanes=("pinned",), role=role, score=signals.score, signals=signals.signals)

    def _exact_tag_rows(
        self,
        plan: QueryPlan,
        query: LexicalQuery,
        weights: dict[str, float],
        tags: Sequence[TagCount],
        languages: Sequence[str],
    ) -> tuple[EvidenceRow, ...]:
        if not tags:
            return ()
        documents = self._store.tagged(plan.tag_queries, plan.filters, EXACT_TAG_EXAMPLES)
        max_chars = plan.limits.max_chars_per_doc
        rows = [
            replace(opening_row(self._store, document, query, weights, max_chars, "exact_tag"), lanes=("exact_tag",))
            for document in documents
            if not is_left_out(plan.excluded, Passage.of(document, document.title), languages)
        ]
        return with_context(self._store, rows)

    def _related(self, plan: QueryPlan, rows: Sequence[EvidenceRow]) -> tuple[EvidenceRow, ...]:
        """Neighbours of the rows shown, at the end of the evidence and never in place of it."""
        if not plan.limits.include_related:
            return ()
        shown = {row.source_key for row in rows}
        found: list[EvidenceRow] = []
        for row in rows:
            for neighbour in neighbour_rows(self._store, row.source_key, plan.limits.max_chars_per_doc, 8):
                if len(found) < plan.limits.related_limit and neighbour.source_key not in shown:
                    shown.add(neighbour.source_key)
                    found.append(neighbour)
        return tuple(found)


def _with_reserved(ranked: list[_Ranked], nearest: str | None) -> list[_Ranked]:
    """The rows with the one nearest in meaning among the first five, whatever the rest of its signals say."""
    place = next((n for n, row in enumerate(ranked) if row.candidate.document.source_key == nearest), 0)
    row = ranked[place] if place >= RESERVED_PLACE else None
    if row is None or any(signal.name.startswith("excluded:") for signal in row.weighed.signals):
        return ranked
    signal = reserved_signal(ranked[RESERVED_PLACE - 1].weighed.score - row.weighed.score)
    score = round(row.weighed.score + signal.value, 6)
    weighed = replace(row.weighed, score=score, signals=(*row.weighed.signals, signal))
    rest = [*ranked[:place], *ranked[place + 1 :]]
    return [*rest[: RESERVED_PLACE - 1], replace(row, weighed=weighed), *rest[RESERVED_PLACE - 1 :]]


def _results(variant: Variant, candidates: Sequence[Candidate]) -> Results:
    return Results(variant, candidates, max((candidate.score for candidate in candidates), default=0.0))


def _with_spellings(plan: QueryPlan, spelled: Respelled) -> QueryPlan:
    """The plan with the question as it was perhaps meant; it counts for less than what was written."""
    if not spelled.spellings:
        return plan
    meant = put_right(plan.text_query, {one.written: one.used.text for one in spelled.spellings})
    return replace(plan, query_variants=(*plan.query_variants, Variant("spelling", meant, _SPELLING)))


def _lanes(found: LaneRow | None, row: Fused) -> tuple[Lane, ...]:
    """The lanes that found a document; every variant but the original is searched by words."""
    by_words: tuple[Lane, ...] = ("lexical",) if set(row.variants) - {"original"} else ()
    return tuple(dict.fromkeys((*by_words, *(found.lanes if found else ("lexical",)))))


def _dropped(row: Fused, reason: str) -> DroppedCandidate:
    return DroppedCandidate(row.candidate.document.source_key, round(row.base, 6), reason)


def _report(searched: _Searched, dropped: Sequence[DroppedCandidate]) -> RetrievalReport:
    """What each variant found, and what became of it."""
    variants = tuple(
        VariantReport(
            variant.kind,
            variant.query,
            len(candidates),
            tuple(dict.fromkeys(candidate.document.source_key for candidate in candidates)),
        )
        for variant, candidates in ((found.variant, found.candidates) for found in searched.results)
    )
    found = {key for variant in variants for key in variant.keys}
    best = sorted(dropped, key=lambda one: (-one.score, one.source_key))
    return RetrievalReport(
        variants=variants,
        before_dedupe=sum(variant.chunks for variant in variants),
        after_dedupe=len(found),
        dropped=tuple(best[:MOST_DROPPED]),
        dropped_count=len(dropped),
        aliases_untried=tuple(f"{one.name}: {one.other}" for one in searched.aliases.untried),
        semantic=searched.report,
    )
