"""Coverage: what a pack shows against what the corpus holds, bluntly. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from citewell.domain.counts import CorpusMatches, TagCount
from citewell.domain.evidence import EvidenceRow
from citewell.domain.packs import Coverage
from citewell.domain.queries import QueryPlan
from citewell.text.question_language import question_language

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
