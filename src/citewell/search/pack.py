"""Building `research_pack.v1`: search every variant, fuse, rerank, show. It reads the corpus and writes nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from citewell.models.rerank import Reranker, Signal
from citewell.search.aliases import AliasExpansion, expand_aliases, variant_with
from citewell.search.concepts import (
    ConceptText,
    adjustments,
    is_left_out,
    is_met,
    is_template,
    says_any,
    with_every_side,
)
from citewell.search.lanes import (
    AS_PHRASE,
    PROVENANCE,
    RESERVED_PLACE,
    SUMMARY,
    FusedHit,
    LaneRow,
    OpenLane,
    Results,
    SemanticReport,
    SemanticUse,
    exact_keys,
    fuse,
    no_lane,
    reserved_signal,
    search_lanes,
)
from citewell.search.query import (
    Concept,
    ConceptRole,
    QueryPlan,
    Variant,
    doubtful_words,
    lexical_query,
    phrase_of,
    put_right,
)
from citewell.search.related import neighbour_rows, opening_row
from citewell.search.rows import (
    LOOK_THROUGH,
    Answerability,
    EvidenceRow,
    Lane,
    RowWindow,
    evidence_row,
    rarity,
    read_many,
    shown_from,
    term_chunks,
    with_context,
)
from citewell.search.spelling import SpellingGuess, SpellingResult, respell
from citewell.search.topics import TopicBrief
from citewell.store.links import names_of
from citewell.store.port import Candidate, CorpusMatches, CorpusReader, Filters, LexicalQuery, TagCount
from citewell.text.documents import ContentMode, Document, Role
from citewell.text.languages import question_language

# The research pack: a question, how it was understood, and the evidence found for it (`research_pack.v1`).


PACK_SCHEMA_VERSION = "research_pack.v1"

PackMode = Literal["evidence_only", "topic_brief_and_evidence"]
NextAction = Literal["inspect_top_evidence", "expand_related", "open_lookup", "reformulate"]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What the pack shows against what there is."""

    evidence_count: int
    by_kind: dict[str, int]
    by_source_type: dict[str, int]
    top_user_tags: tuple[TagCount, ...]
    exact_tag_matches: tuple[TagCount, ...]
    corpus_matches: CorpusMatches
    eligible_documents: int
    corpus_documents: int
    corpus_chunks: int
    term_chunks: dict[str, int]
    displayed_limit: int
    related_limit: int
    topic_nodes: int
    topic_edges: int
    missing_concepts: tuple[str, ...]
    recall_note: str
    answerability: Answerability | None = None
    # The languages of the corpus, where the question is in none of them.
    other_languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NextStepParams:
    """Parameters of a next step; which ones are set depends on the action."""

    lookups: tuple[str, ...] = ()
    lookup: str | None = None
    content_mode: ContentMode | None = None
    query: str | None = None
    suggestions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NextStep:
    """Something worth doing next, named by what it does and never by a tool."""

    action: NextAction
    label: str
    params: NextStepParams


@dataclass(frozen=True, slots=True)
class ResearchPack:
    """`research_pack.v1`. Building one never writes a trace."""

    question: str
    mode: PackMode
    query_plan: QueryPlan
    coverage: Coverage
    evidence: tuple[EvidenceRow, ...]
    exact_tag_evidence: tuple[EvidenceRow, ...]
    next_steps: tuple[NextStep, ...]
    topic_brief: TopicBrief | None = None
    schema_version: Literal["research_pack.v1"] = "research_pack.v1"


@dataclass(frozen=True, slots=True)
class VariantReport:
    """What one query variant found: how many chunks, and the documents they belong to, best first."""

    kind: str
    query: str
    chunks: int
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DroppedCandidate:
    """A document that was found and is not shown: how well it did, and why it was let go of."""

    source_key: str
    score: float
    reason: str


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """How a pack came to its rows: what was found, what fell together, what was left out."""

    variants: tuple[VariantReport, ...]
    before_dedupe: int
    after_dedupe: int
    dropped: tuple[DroppedCandidate, ...] = ()
    dropped_count: int = 0
    # Other names of what the question names that were known and not searched for.
    aliases_untried: tuple[str, ...] = ()
    semantic: SemanticReport | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a search came to what it came to: what was tried, what is missing, what to try instead."""

    question: str
    answer_status: Literal["ok", "no_evidence"]
    summary: str
    reasons: tuple[str, ...]
    queries_tried: tuple[str, ...]
    missing_concepts: tuple[str, ...]
    unseen_terms: tuple[str, ...]
    active_filters: tuple[str, ...]
    suggestions: tuple[str, ...]


# Coverage: what a pack shows against what the corpus holds, bluntly. Pure.


TOP_TAGS = 12
NO_DIRECT_EVIDENCE = "No direct evidence"


def coverage(
    plan: QueryPlan,
    rows: Sequence[EvidenceRow],
    exact_tags: Sequence[TagCount],
    matches: CorpusMatches,
    *,
    eligible: int,
    corpus: int,
    chunks: int,
    term_chunks: dict[str, int],
    notes: Sequence[str] = (),
    languages: Sequence[str] = (),
) -> Coverage:
    """The coverage of a pack; `notes` are further sentences about how it was searched."""
    direct = [row for row in rows if row.related_to is None]
    missing = missing_concepts(plan, direct)
    return Coverage(
        evidence_count=len(rows),
        by_kind=dict(sorted(Counter(row.kind for row in rows).items())),
        by_source_type=dict(sorted(Counter(row.source_type for row in rows).items())),
        top_user_tags=_top_tags(rows),
        exact_tag_matches=tuple(exact_tags),
        corpus_matches=matches,
        eligible_documents=eligible,
        corpus_documents=corpus,
        corpus_chunks=chunks,
        term_chunks=term_chunks,
        displayed_limit=plan.limits.limit,
        related_limit=plan.limits.related_limit,
        topic_nodes=0,
        topic_edges=0,
        missing_concepts=missing,
        recall_note=" ".join((recall_note(plan, direct, matches, missing, eligible, corpus), *notes)),
        other_languages=_other_languages(plan.text_query, languages),
    )


def _other_languages(question: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The languages of the corpus, where the question is in none of them."""
    asked_in = question_language(question)
    return tuple(languages) if asked_in is not None and asked_in not in languages else ()


def missing_concepts(plan: QueryPlan, rows: Sequence[EvidenceRow]) -> tuple[str, ...]:
    """Required concepts that no row satisfies."""
    met = {signal.name.removeprefix("concept:") for row in rows for signal in row.signals}
    return tuple(concept.name for concept in plan.required if concept.name not in met)


def _top_tags(rows: Sequence[EvidenceRow]) -> tuple[TagCount, ...]:
    counts = Counter(tag for row in rows for tag in row.user_tags)
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return tuple(TagCount(tag, count) for tag, count in ranked[:TOP_TAGS])


def recall_note(
    plan: QueryPlan,
    rows: Sequence[EvidenceRow],
    matches: CorpusMatches,
    missing: Sequence[str],
    eligible: int,
    corpus: int,
) -> str:
    """One blunt sentence or three about what this pack is not."""
    # What another name or its meaning found has none of the words that were counted.
    total = max(matches.items + matches.sources, len(rows))
    if corpus == 0:
        return "The corpus is empty: nothing has been added yet."
    if eligible == 0:
        return f"The filters leave none of the {corpus} documents: nothing was searched."
    if not rows:
        return f"{NO_DIRECT_EVIDENCE}: no word of the question occurs in any of the {eligible} documents searched."
    shown = f"{len(rows)} of {total} matching documents are shown: a capped working set, not the corpus."
    if eligible < corpus:
        shown += f" Filters left {eligible} of {corpus} documents."
    return f"{shown} {_lacking(missing)}" if missing else shown


def says_no_direct_evidence(note: str) -> bool:
    """Whether a recall note says that nothing, or nothing for a part of the question, was found directly."""
    return NO_DIRECT_EVIDENCE in note


def note_after_retry(note: str, missing_before: Sequence[str], missing_now: Sequence[str]) -> str:
    """A recall note once more was found: it no longer says that what was found is missing."""
    if tuple(missing_before) == tuple(missing_now) or not missing_before:
        return note
    return " ".join(note.replace(_lacking(missing_before), _lacking(missing_now) if missing_now else "").split())


def _lacking(missing: Sequence[str]) -> str:
    return f"{NO_DIRECT_EVIDENCE} for: {', '.join(missing)}."


# Next steps: what is worth doing after a pack, named by the action and never by a tool. Pure.


_INSPECT = 5


def next_steps(
    plan: QueryPlan,
    rows: Sequence[EvidenceRow],
    tagged: Sequence[EvidenceRow],
    coverage: Coverage,
    spellings: Sequence[SpellingGuess] = (),
) -> tuple[NextStep, ...]:
    """Steps for this pack; there is always at least one, also with no evidence."""
    steps = tuple(_steps(plan, rows, tagged, coverage))
    return (*steps, _ask_put_right(plan, spellings)) if spellings else steps


def _ask_put_right(plan: QueryPlan, spellings: Sequence[SpellingGuess]) -> NextStep:
    """The question with the words that something has; only who asked knows whether they were meant."""
    meant = tuple(variant.query for variant in plan.query_variants if variant.kind == "spelling")
    return NextStep("reformulate", "; ".join(str(one) for one in spellings), NextStepParams(suggestions=meant))


def _steps(
    plan: QueryPlan, rows: Sequence[EvidenceRow], tagged: Sequence[EvidenceRow], coverage: Coverage
) -> Iterator[NextStep]:
    keys = tuple(row.source_key for row in rows[:_INSPECT])
    if keys:
        params = NextStepParams(lookups=keys, content_mode="evidence", query=plan.text_query)
        yield NextStep("inspect_top_evidence", f"Read more around the question in the top {len(keys)} rows", params)
        yield NextStep("expand_related", f"Follow the links of '{rows[0].title}'", NextStepParams(lookup=keys[0]))
    for row in tagged[:1]:
        if row.source_key not in keys:
            label = f"Open '{row.title}', tagged {', '.join(row.user_tags[:3])}"
            yield NextStep("open_lookup", label, NextStepParams(lookup=row.source_key, content_mode="full"))
    if not keys or coverage.missing_concepts:
        suggestions = _reformulations(plan, coverage)
        yield NextStep("reformulate", _reason(keys, coverage), NextStepParams(suggestions=suggestions))


def _reason(keys: Sequence[str], coverage: Coverage) -> str:
    if not keys:
        return "Nothing was found: ask with other words, fewer filters, or add what is missing"
    return f"Nothing shown is about {', '.join(coverage.missing_concepts)}: ask with other words"


def _reformulations(plan: QueryPlan, coverage: Coverage) -> tuple[str, ...]:
    """Shorter questions that may find what this one did not."""
    missing = set(coverage.missing_concepts)
    anchors = [concept.name for concept in plan.concepts if concept.role == "anchor"]
    found = [concept.name for concept in plan.concepts if concept.required and concept.name not in missing]
    content = [concept.name for concept in plan.concepts if concept.role == "content"]
    candidates = (" ".join(anchors), " ".join(found), " ".join(content[:2]), " ".join(content[-2:]))
    return tuple(dict.fromkeys(text for text in candidates if text and text != plan.text_query))


# Reranking: base score plus named signals, each of which a person can read. Pure.
#
# score = base + variant signal + concept matches − missing required concepts + all-required bonus + what the question
# says about the row beyond its words (exclusions, an exact title, a kind of source).


# Only for names, and small, since the words of a concept are in the base already: more made packs rank worse than
# plain search on public collections.
_MATCHED: dict[ConceptRole, float] = {"anchor": 0.03, "content": 0.0002, "intent": 0.0001, "frame": 0.0}
_MISSING: dict[ConceptRole, float] = {"anchor": -0.04, "content": -0.0002, "intent": 0.0, "frame": 0.0}
# What was asked for exactly (a quoted phrase, a handle, a tag) is there or not: ranking by words does not see it.
_EXACT, _NOT_EXACT = 0.12, -0.15
_ALL_REQUIRED = 0.01
_PER_VARIANT = 0.001
# The words of a title are in the base twice: among equals it comes first.
_TITLE = 0.0002


@dataclass(frozen=True, slots=True)
class RerankedRow:
    """A row's final score with the signals it is the sum of."""

    score: float
    signals: tuple[Signal, ...]
    met: tuple[str, ...]
    missing: tuple[str, ...]


def weigh(
    base: float,
    variants: Sequence[str],
    concepts: Sequence[Concept],
    met: frozenset[str],
    in_title: frozenset[str],
    further: Sequence[Signal] = (),
) -> RerankedRow:
    """The score of one row; `met` and `in_title` name the concepts its text and its title satisfy.

    `further` signals are what the question says about the row beyond its words.
    """
    signals = [Signal("base", round(base, 6), "share of the best lexical score")]
    if len(variants) > 1:
        signals.append(Signal("variants", _PER_VARIANT * (len(variants) - 1), f"found by {', '.join(variants)}"))
    for concept in concepts:
        if concept.name in met:
            value = _EXACT if concept.protected else _MATCHED[concept.role]
            signals.append(Signal(f"concept:{concept.name}", value, f"{concept.role} matched"))
        elif concept.required:
            value = _NOT_EXACT if concept.protected else _MISSING[concept.role]
            signals.append(Signal(f"missing:{concept.name}", value, f"required {concept.role} missing"))
    titled = [name for name in in_title if any(c.name == name and c.role in ("anchor", "content") for c in concepts)]
    if titled:
        signals.append(Signal("title", _TITLE, f"title names {', '.join(sorted(titled))}"))
    required = [concept.name for concept in concepts if concept.required]
    missing = tuple(name for name in required if name not in met)
    if required and not missing:
        signals.append(Signal("all_required", _ALL_REQUIRED, "every required concept is here"))
    signals += further
    score = round(sum(signal.value for signal in signals), 6)
    shown = tuple(signal for signal in signals if signal.value != 0.0)
    return RerankedRow(score, shown, tuple(name for name in required if name in met), missing)


def with_meaning(weighed: RerankedRow, base: float, row: LaneRow) -> RerankedRow:
    """The same score, its base told apart by lane: what words gave and what meaning gave."""
    if "semantic" not in row.lanes or row.score <= 0:
        return weighed
    meant = round(base * row.semantic / row.score, 6)
    (reason,) = (signal.detail for signal in row.signals if signal.name == "semantic")
    signals = [
        replace(signal, value=round(signal.value - meant, 6), detail="share of the best score, by words")
        if signal.name == "base"
        else signal
        for signal in weighed.signals
    ]
    told = [signals[0], Signal("semantic", meant, reason), *signals[1:]]
    return replace(weighed, signals=tuple(signal for signal in told if signal.value != 0.0))


EXACT_TAG_EXAMPLES = 3
# Candidates that were let go of and are still told, best first.
MOST_DROPPED = 50
_RERANK_ROWS = 3
_SPELLING = 0.9
# Queries made of the question's own words alone.
_OWN_WORDS = frozenset({"original", "content", "anchors"})
_PINNED = Signal("pinned", 0.0, "named by its key")


@dataclass(frozen=True, slots=True)
class _RankedRows:
    candidate: Candidate
    reading: RowWindow
    weighed: RerankedRow
    lanes: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class _VariantHits:
    """What every variant found; the question as it was asked also through its lanes."""

    results: list[Results]
    lanes: dict[str, LaneRow]
    report: SemanticReport | None = None
    aliases: AliasExpansion = field(default_factory=AliasExpansion)
    nearest: str | None = None
    related: float = 0.0


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
        plan = _with_paths(self._store, plan)
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
        if plan.only_names:
            rows = self._named_alone(plan, query, weights, rows, languages)
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

    def _search(self, plan: QueryPlan, asked: LexicalQuery, languages: Sequence[str]) -> _VariantHits:
        """The question as it was asked is put to every lane, as a search would; its variants find what it misses."""
        depth = plan.limits.limit * _RERANK_ROWS
        quoted = [concept.name for concept in plan.concepts if concept.protected == "phrase"]
        phrases = {"original": quoted, "content": quoted}
        searched = _VariantHits([], {})
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
            report = found.report or searched.report
            searched = replace(searched, report=report, nearest=found.nearest, related=found.related)
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
        self, plan: QueryPlan, query: LexicalQuery, searched: _VariantHits, languages: Sequence[str]
    ) -> tuple[list[_RankedRows], list[DroppedCandidate]]:
        """The rows worth showing, best first, and what was let go of on the way."""
        every = fuse(searched.results)
        fused = every[: plan.limits.limit * _RERANK_ROWS]
        dropped = [_dropped(row, "not among the best of the first stage") for row in every[len(fused) :]]
        chunks = [(row.candidate.document, row.candidate.chunk) for row in fused]
        readings = read_many(self._store, chunks, query, plan.limits.max_chars_per_doc)
        weighed = [self._weigh(plan, *pair, languages, searched) for pair in zip(fused, readings, strict=True)]
        dropped += [
            _dropped(row, "the question leaves it out, or it has no word of what is asked and is about something else")
            for row, kept in zip(fused, weighed, strict=True)
            if kept is None
        ]
        ranked = [row for row in weighed if row is not None]
        ordered = sorted(ranked, key=lambda row: (-row.weighed.score, row.candidate.document.source_key))
        return _with_reserved(ordered, searched.nearest), dropped

    def _weigh(
        self,
        plan: QueryPlan,
        row: FusedHit,
        reading: RowWindow,
        languages: Sequence[str],
        searched: _VariantHits,
    ) -> _RankedRows | None:
        """A row with its signals, or nothing where the question rules it out."""
        document, chunk = row.candidate.document, row.candidate.chunk
        title = " ".join((document.title, *document.aliases))
        around = " ".join((title, *chunk.heading_path, *document.user_tags))
        passage = ConceptText.of(document, f"{around}\n\n{reading.text}")
        if is_left_out(plan.excluded, passage, languages):
            return None
        titled = ConceptText.of(document, title)
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
        if plan.required and set(row.variants) <= _OWN_WORDS and not says_any(plan.required, passage, languages):
            near = found.near if found is not None else 0.0
            is_summed_up = found is not None and any(signal.name == SUMMARY for signal in found.signals)
            if near < (searched.related or 1.0) and not is_summed_up:
                return None
            weighed = _by_meaning_alone(weighed, near)
        if row.best == "alias":
            signals = (one.signal() for one in searched.aliases.tried if passage.has(phrase_of(one.other, languages)))
            weighed = replace(weighed, signals=(*weighed.signals, *signals))
        return _RankedRows(row.candidate, reading, weighed, _lanes(found, row))

    def _rows(
        self, plan: QueryPlan, query: LexicalQuery, weights: dict[str, float], ranked: Sequence[_RankedRows]
    ) -> tuple[EvidenceRow, ...]:
        """Each document with the part that says most of what was asked, wherever in it that stands."""
        found = [(row.candidate.document, row.candidate.chunk) for row in ranked]
        beside = {word for concept in plan.concepts if concept.role in ("intent", "frame") for word in concept.terms}
        chunks = [(document, shown_from(self._store, document, chunk, query, beside)) for document, chunk in found]
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
        """The rows with every pinned document: those that the question names come first, others take a last place."""
        keys = [key.partition("@")[0] for key in plan.source_keys]
        shown = {row.source_key for row in rows}
        missing = [key for key in dict.fromkeys(keys) if key not in shown][: plan.limits.limit]
        documents = self._store.documents_by_keys(missing, plan.filters) if missing else []
        pinned = [self._pinned_row(plan, query, weights, document, languages) for document in documents]
        named = [row for row in (*rows, *pinned) if row.source_key in plan.named_keys]
        last = [row for row in pinned if row not in named]
        kept = [row for row in rows if row.source_key in keys and row not in named]
        others = [row for row in rows if row.source_key not in keys]
        room = max(0, plan.limits.limit - len(named) - len(last) - len(kept))
        stays = {row.source_key for row in (*kept, *others[:room])}
        return (*named, *(row for row in rows if row.source_key in stays), *last)

    def _named_alone(
        self,
        plan: QueryPlan,
        query: LexicalQuery,
        weights: dict[str, float],
        rows: tuple[EvidenceRow, ...],
        languages: Sequence[str],
    ) -> tuple[EvidenceRow, ...]:
        """Of a question that only names documents: these, and those that carry every tag it names."""
        tags = [concept.terms[0] for concept in plan.concepts if concept.protected == "tag"]
        carry = self._store.tagged(tags, plan.filters, plan.limits.limit) if tags else []
        tagged = [
            self._pinned_row(plan, query, weights, document, languages)
            for document in carry
            if not is_template(document)
        ]
        named = [row for row in rows if row.source_key in plan.named_keys]
        return tuple({row.source_key: row for row in (*named, *tagged)}.values())[: plan.limits.limit] or rows

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
        passage = ConceptText.of(document, f"{document.title}\n\n{row.text}")
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
            if not is_left_out(plan.excluded, ConceptText.of(document, document.title), languages)
            and not is_template(document)
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


def _with_paths(store: CorpusReader, plan: QueryPlan) -> QueryPlan:
    """The plan with the keys of the files whose paths the question names; a path that leads nowhere stays as it is."""
    found = {path: key for path in plan.source_keys if ":" not in path and (key := key_at(store, path))}
    if not found:
        return plan
    concepts = tuple(
        replace(one, terms=(found[one.name],)) if one.protected == "source_key" and one.name in found else one
        for one in plan.concepts
    )
    return replace(plan, concepts=concepts, source_keys=tuple(found.get(key, key) for key in plan.source_keys))


def key_at(store: CorpusReader, path: str) -> str | None:
    """The key of the document whose file has this path, or a path that ends so."""
    ending = f"/{path.strip('/')}".casefold()
    called = store.documents_called([name for name, _ in names_of(path, ())])
    paths = {document.source_key: f"/{document.note_path}".casefold() for _, document in called if document.note_path}
    return min((key for key, own in paths.items() if own.endswith(ending)), default=None)


def _with_reserved(ranked: list[_RankedRows], nearest: str | None) -> list[_RankedRows]:
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


def _with_spellings(plan: QueryPlan, spelled: SpellingResult) -> QueryPlan:
    """The plan with the question as it was perhaps meant; it counts for less than what was written."""
    if not spelled.spellings:
        return plan
    meant = put_right(plan.text_query, {one.written: one.used.text for one in spelled.spellings})
    return replace(plan, query_variants=(*plan.query_variants, Variant("spelling", meant, _SPELLING)))


def _by_meaning_alone(weighed: RerankedRow, near: float) -> RerankedRow:
    """A row that has no word of what is asked is as good as it is near in meaning, and no better."""
    signal = Signal("meaning_alone", min(0.0, round(near - weighed.score, 6)), "has no word of what is asked")
    return replace(weighed, score=round(weighed.score + signal.value, 6), signals=(*weighed.signals, signal))


def _lanes(found: LaneRow | None, row: FusedHit) -> tuple[Lane, ...]:
    """The lanes that found a document; every variant but the original is searched by words."""
    by_words: tuple[Lane, ...] = ("lexical",) if set(row.variants) - {"original"} else ()
    return tuple(dict.fromkeys((*by_words, *(found.lanes if found else ("lexical",)))))


def _dropped(row: FusedHit, reason: str) -> DroppedCandidate:
    return DroppedCandidate(row.candidate.document.source_key, round(row.base, 6), reason)


def _report(searched: _VariantHits, dropped: Sequence[DroppedCandidate]) -> RetrievalReport:
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


# Why a pack holds what it holds, in sentences, without a model: "Explain this result". Pure.
#
# It speaks of the search only: what was looked for, where, what was found or missing, and what to try. It never answers
# the question.


_ROWS = 3


def explain_pack(pack: ResearchPack) -> Explanation:
    """What a search did and came to."""
    reasons = (*_searched(pack), *_missing(pack), *_won(pack))
    suggestions = tuple(text for step in pack.next_steps for text in step.params.suggestions)
    return Explanation(
        question=pack.question,
        answer_status="ok" if pack.evidence else "no_evidence",
        summary=_summary(pack),
        reasons=reasons,
        queries_tried=tuple(variant.query for variant in pack.query_plan.query_variants),
        missing_concepts=tuple(pack.coverage.missing_concepts),
        unseen_terms=tuple(term for term, count in pack.coverage.term_chunks.items() if count == 0),
        active_filters=tuple(_filters(pack.query_plan.filters)),
        suggestions=tuple(dict.fromkeys(suggestions)),
    )


def _summary(pack: ResearchPack) -> str:
    if pack.evidence:
        count = len(pack.evidence)
        return f"{count} {'row' if count == 1 else 'rows'} found. {pack.coverage.recall_note}"
    return f"Nothing was found. {pack.coverage.recall_note}"


def _searched(pack: ResearchPack) -> Iterator[str]:
    plan, coverage = pack.query_plan, pack.coverage
    queries = ", ".join(f"“{variant.query}”" for variant in plan.query_variants)
    yield f"Searched {coverage.eligible_documents} of {coverage.corpus_documents} documents for {queries}."
    if plan.planner_error:
        yield f"The planning model did not help: {plan.planner_error}."
    if filters := list(_filters(plan.filters)):
        yield f"Only what fits {', '.join(filters)} was looked at."
    if plan.excluded:
        yield f"Left out, as the question says: {', '.join(concept.name for concept in plan.excluded)}."


def _missing(pack: ResearchPack) -> Iterator[str]:
    unseen = [term for term, count in pack.coverage.term_chunks.items() if count == 0]
    if unseen:
        yield f"No document has the word {', '.join(f'“{term}”' for term in unseen)}."
    if missing := pack.coverage.missing_concepts:
        yield f"No row found mentions {', '.join(missing)}."
    if (likely := pack.coverage.answerability) is not None:
        yield f"The estimate {likely.spoken}."


def _won(pack: ResearchPack) -> Iterator[str]:
    for number, row in enumerate(pack.evidence[:_ROWS], start=1):
        yield f"Row {number}, {row.title}: {_why(row)}."


def _why(row: EvidenceRow) -> str:
    parts = [f"has {', '.join(row.matched_terms)}"] if row.matched_terms else []
    if row.missing_terms:
        parts.append(f"lacks {', '.join(row.missing_terms)}")
    strongest = sorted((signal for signal in row.signals if signal.value > 0), key=lambda one: -one.value)[:2]
    parts += [f"{signal.name.replace('_', ' ')} +{signal.value:.2f}" for signal in strongest]
    if row.related_to:
        parts.append(f"linked with {row.related_to}")
    return "; ".join(parts) or "found by its meaning"


def _filters(filters: Filters) -> Iterator[str]:
    for name in filters.__dataclass_fields__:
        value = getattr(filters, name)
        if value:
            shown = ", ".join(map(str, value)) if isinstance(value, (tuple, list, frozenset)) else str(value)
            yield f"{name.replace('_', ' ')} {shown}"
