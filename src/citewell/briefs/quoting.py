"""A report without a model: what the evidence itself says of each sub-query, word for word. Pure.

A sub-query is answered as `research` would answer it; beside that, and where nothing answers outright, the passages
that speak of most of it are quoted, one a source. The summary is the best statement of each part. Nothing is reworded,
so every claim is a quotation. A sub-query that was taken from sections of documents is told by those sections: their
statements, in their order, lists under the line that leads into them (`sections`). What several sub-queries find is
said once, under the first part that asks for it; a part of which everything was said already has a heading and nothing
under it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from citewell.briefs.planning import content_words, topics_of
from citewell.briefs.sections import Telling, told_by_sections
from citewell.briefs.standing import is_statement, links_only, stands_alone
from citewell.briefs.writing import SUMMARY
from citewell.domain.answers import Draft, DraftSentence, PreparedSynthesis, Quote
from citewell.domain.briefs import SubQuestion
from citewell.domain.queries import QueryPlan
from citewell.synthesis.asking import asked
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.corrections import corrections_among
from citewell.synthesis.extract import extract
from citewell.synthesis.near_duplicates import are_copies, shingles
from citewell.synthesis.passages import passages_of
from citewell.synthesis.reading import read_evidence
from citewell.synthesis.scoring import Scored, score_passages
from citewell.text.phrases import is_ended, leans
from citewell.text.question_language import question_language

MOST_OF_A_QUERY = 4
MOST_IN_SUMMARY = 4
# How much of a sub-query a passage must speak of to be quoted beside or instead of an answer.
_SPEAKS_OF = 0.6
# And how much of it in its own words, rather than in those above it.
_OWN = 0.45
# A further passage beside an answer must come this near to the best.
_NEAR_BEST = 0.6
_PROSE = ("sentence", "item", "row")
# Words that what stands beside an answer must share with the question.
_SHARED = 2
# How many of the question's words an answer to the whole must have beside sections of documents.
_NEARLY_ALL = 0.75
# What a part of a question was given of the rest of it (`planning.py`).
_LENT = re.compile(r" \(([^()]+)\)$")


@dataclass(frozen=True, slots=True)
class QuotedQuery:
    """A sub-query with the evidence that was kept for it."""

    sub_query: SubQuestion
    plan: QueryPlan
    prepared: PreparedSynthesis


def quote_report(queries: Sequence[QuotedQuery]) -> Draft:
    """The draft of a report: a summary, then under each sub-query what is quoted for it; the whole question last."""
    said: list[frozenset[str]] = []
    sections: list[tuple[str, list[DraftSentence]]] = []
    has_sections = any(one.sub_query.places for one in queries)
    language = question_language(queries[0].sub_query.query) if queries else None
    outdated = _outdated(queries) if has_sections else frozenset[Quote]()
    for query in (*queries[1:], *queries[:1]) if queries[:1] and queries[0].sub_query.index == 0 else queries:
        # Beside its parts the whole question has what answers it, and nothing that only speaks of its words.
        is_whole = query.sub_query.index == 0 and len(queries) > 1
        if query.sub_query.places:
            named = " ".join((query.sub_query.query, *topics_of(queries[0].sub_query.query)))
            topics = content_stems(" ".join(query.sub_query.topics))
            found = told_by_sections(query.prepared, named, Telling(MOST_OF_A_QUERY, language, topics, outdated))
        else:
            found = list(_answers(query) if is_whole and sections else _statements(query))
            if has_sections:
                found = [one for one in found if stands_alone(one.text) and _is_of_subject(one, query)]
            if is_whole and has_sections:
                found = [one for one in found if _says_all(one, query)]
        fresh = [one for one in found if _is_new(one, said)][:MOST_OF_A_QUERY]
        if found:
            sections.append((query.sub_query.query, fresh))
    best = [_best(name, statements) for name, statements in sections if statements]
    if not best:
        return Draft((), refused=True, reason="nothing that was found speaks of the brief")
    more = [one for _, statements in sections for one in statements[1:2]]
    told = [DraftSentence(SUMMARY, "heading"), *(best if len(best) > 1 else [*best, *more])[:MOST_IN_SUMMARY]]
    for name, statements in sections:
        told += [DraftSentence(name, "heading"), *statements]
    return Draft(tuple(told), refused=False)


def _outdated(queries: Sequence[QuotedQuery]) -> frozenset[Quote]:
    """What of the evidence a newer statement of the evidence says to be wrong."""
    sources = {(one.source_key, one.span.start): one for query in queries for one in query.prepared.sources}
    passages = [passage for source in sources.values() for passage in passages_of(source)]
    return frozenset(one.of.quotes[0] for one in corrections_among(passages))


def _best(name: str, statements: Sequence[DraftSentence]) -> DraftSentence:
    """The statement that stands for its section: the first that speaks of what the section is called."""
    wanted = content_stems(name)
    return next((one for one in statements if content_stems(one.text) & wanted), statements[0])


def _says_all(sentence: DraftSentence, query: QuotedQuery) -> bool:
    """Whether a sentence has nearly all words of the question itself; less would be a stray one beside sections."""
    wanted = content_stems(" ".join(content_words(query.sub_query.query)))
    return len(content_stems(sentence.text) & wanted) > _NEARLY_ALL * len(wanted)


def _is_new(sentence: DraftSentence, said: list[frozenset[str]]) -> bool:
    """Whether nothing says it yet; from then on it is said."""
    words = shingles(sentence.text)
    if any(are_copies(words, other) for other in said):
        return False
    said.append(words)
    return True


def _statements(query: QuotedQuery) -> Iterator[DraftSentence]:
    """What answers a sub-query, then what else speaks of it, the best first and each source once."""
    answers = _answers(query)
    yield from answers
    yield from _others(query, {quote.source_key for one in answers for quote in one.quotes})


def _answers(query: QuotedQuery) -> list[DraftSentence]:
    """What answers a sub-query outright."""
    draft = extract(query.prepared, query.plan)
    titles = {source.source_key: content_stems(source.title) for source in query.prepared.sources}
    answers = [
        one
        for one in draft.sentences
        if not draft.refused and one.kind == "claim" and is_statement(one.text) and not _is_title(one, titles)
    ]
    wanted = content_stems(query.sub_query.query)
    answers = [one for n, one in enumerate(answers) if n == 0 or len(content_stems(one.text) & wanted) >= _SHARED]
    return [_cited_alone(one) for one in answers]


def _is_of_subject(sentence: DraftSentence, query: QuotedQuery) -> bool:
    """Whether a sentence has what a part of a question was given of the rest, in parentheses, where it was."""
    lent = _LENT.search(query.sub_query.query)
    return lent is None or bool(content_stems(sentence.text) & content_stems(lent[1]))


def _others(query: QuotedQuery, taken: set[str]) -> Iterator[DraftSentence]:
    """What else speaks of it, of sources that are not taken yet."""
    # A word that nothing has is what the question was about: what lacks it speaks of something else.
    scored = _scored(query) if not query.prepared.unseen_terms else []
    best = max((one.score for one in scored), default=0.0)
    for one in scored:
        passage = one.passage
        if passage.source.source_key in taken or one.score < _NEAR_BEST * best or not _speaks_of(one):
            continue
        if leans(passage.shown):
            continue  # it goes on from a sentence that is not quoted
        taken.add(passage.source.source_key)
        yield DraftSentence(passage.shown, "claim", tuple(passage.quotes))


def _is_title(sentence: DraftSentence, titles: Mapping[str, frozenset[str]]) -> bool:
    """Whether it only repeats what its document is called."""
    return any(content_stems(sentence.text) <= titles.get(quote.source_key, frozenset()) for quote in sentence.quotes)


def _cited_alone(sentence: DraftSentence) -> DraftSentence:
    """A sentence cited as it stands; a row of a table needs the table around it."""
    is_row = len(sentence.quotes) > 1
    return sentence if is_row or sentence.block is None else replace(sentence, block=None, context=())


def _scored(query: QuotedQuery) -> list[Scored]:
    if not query.prepared.sources:
        return []
    reading = read_evidence(query.prepared, query.plan)
    parts = asked(query.plan.text_query)
    every = [one for part in parts for one in score_passages(part, reading)]
    best: dict[tuple[str, int], Scored] = {}
    for one in every:
        place = (one.passage.source.source_key, one.passage.start)
        if place not in best or one.score > best[place].score:
            best[place] = one
    return sorted(best.values(), key=lambda one: one.order)


def _speaks_of(one: Scored) -> bool:
    passage = one.passage
    if passage.kind not in _PROSE or one.opposed or one.features.get("index"):
        return False
    if links_only(passage) or content_stems(passage.shown) <= content_stems(passage.source.title):
        return False
    if passage.kind == "sentence" and not is_ended(passage.shown):
        return False  # a title, or half of a sentence
    return one.coverage >= _SPEAKS_OF and one.own >= _OWN and is_statement(passage.shown)
