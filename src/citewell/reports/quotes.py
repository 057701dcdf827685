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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from citewell.answer.evidence import PreparedSource, PreparedSynthesis, Quote
from citewell.answer.passages import (
    MAX_READABLE_CHARS,
    Passage,
    are_copies,
    is_readable,
    passages_of,
    quote_at,
    shingles,
)
from citewell.answer.question import asked
from citewell.answer.quote import corrections_among, extract
from citewell.answer.score import PassageScore, QuestionEvidence, read_evidence, score_passages
from citewell.check.tokens import content_stems
from citewell.check.verdict import Draft, DraftSentence
from citewell.reports.brief import SubQuestion
from citewell.reports.subqueries import content_words, topics_of
from citewell.reports.survey import LEAST_WORDS, is_statement, links_only, stands_alone
from citewell.reports.writing import SUMMARY
from citewell.search.query import QueryPlan
from citewell.text.languages import detect_language, question_language
from citewell.text.sentences import is_ended, is_example, leans, points_elsewhere, states

# Sections told by their own statements: which sentences and lists of a section stand for it. Pure.
#
#     ## Sick leave                                         You can use sick leave for: Doctor and medical appointments;
#     You can use sick leave for:                           Mental health care.
#     * Doctor and medical appointments              ->     All employees accrue four hours of sick leave a pay period.
#     * Mental health care
#     All employees accrue four hours of sick leave a pay period. Ask your supervisor for details.
#
# A statement counts for standing first, for the words it shares with the section's name and the topic, and for what is
# said of them often; pointers elsewhere, questions, and sentences that lean on one that is not quoted do not count.


_MOST_ITEMS, _MOST_LIST_CHARS = 6, MAX_READABLE_CHARS + 60
_LEAST_LEAD = 2
_OF_THE_FIRST = 3
_LONG = 260
# What stands far down and shares no word with the name of its section is not what the section is about.
_LEAST_WORTH = 0.5


@dataclass(frozen=True, slots=True)
class _SectionStatement:
    """What may be quoted of a section: a sentence, or a list under its lead-in."""

    source: PreparedSource
    text: str
    quotes: tuple[Quote, ...]
    place: int
    start: int
    words: frozenset[str]
    # The words of the headings it stands under.
    headed: frozenset[str]


@dataclass(frozen=True, slots=True)
class StatementRequest:
    """What is asked of the statements: how many, in which language, and words of which one must stand in each."""

    most: int
    language: str | None = None
    topics: frozenset[str] = frozenset()
    outdated: frozenset[Quote] = frozenset()


def told_by_sections(prepared: PreparedSynthesis, name: str, telling: StatementRequest) -> list[DraftSentence]:
    """What stands for these sections: most of the first, something of each other, each in the order of its text."""
    named = content_stems(name)
    told: list[_SectionStatement] = []
    for number, source in enumerate(prepared.sources):
        every: Sequence[_SectionStatement] = [one for one in _statements_of(source) if _may_be_told(one, telling)]
        left = telling.most - len(told)
        room = left if len(prepared.sources) == 1 else min(left, _OF_THE_FIRST if number == 0 else 1)
        every = _in_language(every, telling.language)
        told += _chosen(every, named | content_stems(source.title), room, told)
    ranks = {source.n: n for n, source in enumerate(prepared.sources)}
    return [
        DraftSentence(one.text, "claim", one.quotes)
        for one in sorted(told, key=lambda one: (ranks[one.source.n], one.start))
    ]


def _may_be_told(one: _SectionStatement, telling: StatementRequest) -> bool:
    return not telling.outdated & set(one.quotes) and (not telling.topics or bool(one.words & telling.topics))


def _chosen(
    every: Sequence[_SectionStatement], named: frozenset[str], most: int, told: Sequence[_SectionStatement]
) -> list[_SectionStatement]:
    """The statements worth most, none of which says again what another says."""
    common = Counter(word for one in every for word in one.words)
    taken: list[_SectionStatement] = []
    said = [shingles(one.text) for one in told]
    worth = {one.start: _worth(one, named, common, len(every)) for one in every}
    for one in sorted(every, key=lambda one: (-worth[one.start], one.start)):
        own = shingles(one.text)
        if len(taken) >= most or worth[one.start] < _LEAST_WORTH:
            break
        if not any(are_copies(own, other) for other in said):
            taken.append(one)
            said.append(own)
    return taken


def _worth(one: _SectionStatement, named: frozenset[str], common: Counter[str], size: int) -> float:
    central = sum(common[word] for word in one.words) / (max(1, len(one.words)) * max(1, size))
    shared = len(one.words & (named | one.headed))
    return (
        1.0 / (1 + 0.5 * one.place)
        + (0.25 * min(3, shared) or -0.3)
        + 0.6 * central
        + 0.15 * any(map(str.isdigit, one.text))
        + 0.15 * states(one.text)
        - 0.3 * (len(one.text) > _LONG)
    )


def _in_language(every: Sequence[_SectionStatement], language: str | None) -> Sequence[_SectionStatement]:
    """The statements in the language of the question, where there are any."""
    own = [one for one in every if not language or detect_language(one.text) in (language, None)]
    return own or every


def _statements_of(source: PreparedSource) -> Iterator[_SectionStatement]:
    """The statements of a section, in order; `place` counts from the heading above."""
    passages = passages_of(source)
    title = content_stems(source.title)
    place, at, under, example = 0, 0, "", -1
    while at < len(passages):
        passage, listed = passages[at], _listed(passages, at)
        at += 1
        if passage.heading != under:
            place, under = 0, passage.heading
        if is_example(passage.shown):
            example = passage.block
        if passage.block == example:
            found = None  # what is reckoned through in an example holds for the example alone
        elif listed:
            found = _as_list(passage, listed)
        else:
            found = _as_sentence(passage, passages[at - 2] if at > 1 else None, title)
        if found is not None:
            text, quotes = found
            words, headed = content_stems(text), content_stems(passage.heading)
            yield _SectionStatement(source, text, quotes, place, passage.start, words, headed)
        place += passage.kind != "heading"
        at += len(listed)


def _listed(passages: Sequence[Passage], at: int) -> list[Passage]:
    """The items that a line leads into."""
    lead = passages[at]
    if lead.kind not in ("sentence", "line", "item") or not lead.shown.rstrip("*_ ").endswith(":"):
        return []
    return list(takewhile(lambda one: one.kind == "item" and one.lead == lead.shown, passages[at + 1 :]))


def _as_list(lead: Passage, items: Sequence[Passage]) -> tuple[str, tuple[Quote, ...]] | None:
    """A list on one line under the line that leads into it, where all of it is read at a glance."""
    told = [one.shown.rstrip(" .;,") for one in items]
    text = f"{lead.shown.rstrip('*_ ')} {'; '.join(told)}."
    if len(items) > _MOST_ITEMS or len(text) > _MOST_LIST_CHARS or len(items) < 2:
        return None
    if any("\n" in one or one.endswith((":", "?")) for one in told):
        return None
    if not states(lead.shown) and any(map(links_only, items)):
        return None  # a list of links, and what they are called
    if leans(lead.shown) or points_elsewhere(lead.shown) or len(content_stems(lead.shown)) < _LEAST_LEAD:
        return None
    if not all(map(is_readable, (lead.shown.rstrip(":*_ "), *told))):
        return None
    return text, (quote_at(lead.source, lead.start, items[-1].end),)


def _as_sentence(
    passage: Passage, before: Passage | None, title: frozenset[str]
) -> tuple[str, tuple[Quote, ...]] | None:
    """A sentence, or an item that is one, that can be read by itself."""
    shown = passage.shown
    if passage.kind not in ("sentence", "item") or not stands_alone(shown):
        return None
    if links_only(passage) or content_stems(shown) <= title:
        return None
    if passage.kind == "item" and passage.lead and len(content_stems(shown)) < 2 * LEAST_WORDS:
        return None  # half a statement: the other half leads into its list
    if before is not None and before.shown.endswith(":") and before.kind == passage.kind == "sentence":
        return None
    return shown, tuple(passage.quotes)


MOST_OF_A_QUERY = 4
MOST_IN_SUMMARY = 4
# How much of a sub-query a passage must speak of to be quoted beside or instead of an answer.
_SPEAKS_OF = 0.6
# And how much of it in its own words, rather than in those above it.
_OWN = 0.45
# A further passage beside an answer must come this near to the best.
_NEAR_BEST = 0.6
_PROSE = ("sentence", "item", "row")
# Words that what is beside an answer must share with the question.
_SHARED = 2
# How many of the question's words an answer to the whole must have beside sections of documents.
_NEARLY_ALL = 0.75
# What a part of a question was given of the rest of it (`subqueries.py`).
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
            found = told_by_sections(
                query.prepared, named, StatementRequest(MOST_OF_A_QUERY, language, topics, outdated)
            )
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
    draft = extract(QuestionEvidence(query.prepared, query.plan))
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


def _scored(query: QuotedQuery) -> list[PassageScore]:
    if not query.prepared.sources:
        return []
    reading = read_evidence(query.prepared, query.plan)
    parts = asked(query.plan.text_query)
    every = [one for part in parts for one in score_passages(part, reading)]
    best: dict[tuple[str, int], PassageScore] = {}
    for one in every:
        place = (one.passage.source.source_key, one.passage.start)
        if place not in best or one.score > best[place].score:
            best[place] = one
    return sorted(best.values(), key=lambda one: one.order)


def _speaks_of(one: PassageScore) -> bool:
    passage = one.passage
    if passage.kind not in _PROSE or one.opposed or one.features.get("index"):
        return False
    if links_only(passage) or content_stems(passage.shown) <= content_stems(passage.source.title):
        return False
    if passage.kind == "sentence" and not is_ended(passage.shown):
        return False  # a title, or half of a sentence
    return one.coverage >= _SPEAKS_OF and one.own >= _OWN and is_statement(passage.shown)
