"""Planning a report: which questions are looked into. A model proposes them, or rules take the brief apart. Pure.

    "How did the kelp lines fare in 2023, and what did they cost?"
        ->   the question itself; "How did the kelp lines fare in 2023"; "what did they cost (kelp lines)"

What a brief lists as its sub-questions is looked into as it stands, and no model is asked. The question itself is never
left out. Where rules plan and the question names a topic rather than one value, what the corpus holds on the topic is
surveyed, and the sections called after it are gone into, each as a sub-query of its own (`aspects`):

    "What should a new employee know about leave and time off?"   ->   topics "leave", "time off"
        ->   the question itself; "Annual leave"; "Sick leave"; "Paid parental leave: About PPL"
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from citewell.answer.evidence import inert
from citewell.answer.question import asked
from citewell.check.tokens import content_stems
from citewell.models.messages import ChatRequest, NoJson, PromptMessage, list_schema, read_list
from citewell.reports.brief import Brief, ReportPlan, SubQuestion, SurveyedDocument, SurveyedSection, TopicSurvey
from citewell.search.query import is_frame, is_intent, overview_topic
from citewell.search.rows import GivenRow
from citewell.text.canonical import folded_text
from citewell.text.sentences import furniture
from citewell.text.untrusted import TAG_RESEARCH_BRIEF, UNTRUSTED_DIRECTIVE, wrap_untrusted
from citewell.text.words import query_tokens

# The aspects of a topic: which of the sections that a survey found a report goes into, and in which order. Pure.
#
#     Leave types: Annual leave, Sick leave, Resources, …; Paid parental leave: About PPL, …
#         ->   "Annual leave", "Sick leave", "Paid parental leave: About PPL"
#
# A section counts that is called after the topic, by its own heading or by what stands above it, or that speaks of it
# again and again in a document linked with one that is. Documents and topics take turns: each further section of the
# same one must be so much the better. Sections of the same name are one aspect.


# A section must be called after this much of the topic, and after nearly as much as the one that is most of all.
_LEAST_NAMED, _NEAR_BEST = 0.3, 0.6
_LINKED_SAYS, _LINKED_PLACES = 0.6, 2
# Less to quote than this is a pointer or a label.
_LEAST_PROSE = 40
# A short section is read with what stands below it, where all of that is not long.
_SHORT, _WHOLE = 400, 4_000
_AGAIN, _TOPIC_AGAIN = 0.18, 0.1
_HUB, _HUB_SECTIONS = 0.6, 4
# A heading of which the topic is less than this is about something else too.
_PLAIN = 0.2
# How near a document's title must come to the one that has most of the topic.
_AS_WELL = 0.75
_KNOWN = 0.8
_SAME_NAME = 0.75
_MOST_PLACES = 3
_LONGEST_NAME = 90
# A note that bears the name of a day is about whatever happened.
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Aspect:
    """One thing to go into: what it is called, where it stands, and what it was taken from.

    `topics` are set where its sections are about more than the topic: only what speaks of it belongs to the aspect.
    """

    name: str
    places: tuple[GivenRow, ...]
    titles: tuple[str, ...]
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _AspectCandidate:
    document: SurveyedDocument
    section: SurveyedSection
    start: int
    end: int
    score: float
    is_lead: bool = False

    @property
    def place(self) -> GivenRow:
        return GivenRow(self.document.source_key, self.document.content_hash, self.start, self.end)

    def overlaps(self, other: _AspectCandidate) -> bool:
        same = self.document.source_key == other.document.source_key
        return same and self.start < other.end and other.start < self.end


@dataclass(slots=True)
class _AspectChoice:
    first: _AspectCandidate
    words: frozenset[str]
    others: list[_AspectCandidate] = field(default_factory=list)

    @property
    def every(self) -> list[_AspectCandidate]:
        return [self.first, *self.others]


def aspects_of(survey: TopicSurvey, most: int) -> tuple[Aspect, ...]:
    """At most so many aspects, those of one document together and in its order."""
    chosen = _choose(list(_candidates(survey)), most)
    rank: dict[str, tuple[float, int]] = {}
    for n, one in enumerate(chosen):
        rank.setdefault(one.first.document.source_key, (-round(one.first.document.titled, 1), n))
    ordered = sorted(chosen, key=lambda one: (rank[one.first.document.source_key], one.first.start))
    alone = len({one.first.document.source_key for one in chosen}) == 1
    return tuple(
        Aspect(
            _name(one.first, alone=alone),
            tuple(place.place for place in one.every),
            tuple(dict.fromkeys(place.document.title for place in one.every)),
            () if all(map(_is_about, one.every)) else survey.topics,
        )
        for one in ordered
    )


def _is_about(one: _AspectCandidate) -> bool:
    """Whether a section is about the topic, and not about many things or something else that the topic touches."""
    plain = one.section.headed / max(1, len(content_stems(one.section.heading)))
    return not _DAY.match(one.document.title) and (one.document.titled >= _HUB or plain >= _PLAIN)


def _candidates(survey: TopicSurvey) -> Iterable[_AspectCandidate]:
    """The sections that are called after the topic, with what is worth reading of each."""
    every = [(document, section) for document in survey.documents for section in document.sections]
    best = max((section.named for _, section in every), default=0.0)
    # Where something is called after all of the topic, what has half of it is about something else.
    least = max(_LEAST_NAMED, (_AS_WELL if best >= _KNOWN else _NEAR_BEST) * best)
    size = max(1, len(survey.documents))
    ranks = {document.source_key: 1 - n / size for n, document in enumerate(survey.documents)}
    titled = max((document.titled for document in survey.documents), default=0.0)
    leads = {document.source_key: _lead(document, titled) for document in survey.documents}
    for document, section in every:
        is_named = section.named >= least and (section.said > 0 or not _DAY.match(document.title))
        leads_here = document.is_linked and section.said >= _LINKED_SAYS and section.mentions >= _LINKED_PLACES
        if not (is_named or leads_here) or _is_furniture(section):
            continue
        end, prose = _extent(document, section)
        if prose >= _LEAST_PROSE:
            is_lead = section is leads[document.source_key]
            score = _score(document, section, prose, is_lead=is_lead) + 0.15 * ranks[document.source_key]
            yield _AspectCandidate(document, section, section.start, end, score, is_lead)


def _is_furniture(section: SurveyedSection) -> bool:
    return section.level > 0 and folded_text(section.heading).strip(" *_:?!.") in furniture()


def _lead(document: SurveyedDocument, titled: float) -> SurveyedSection | None:
    """The section that stands for a document named after the topic: the first with something to read.

    Where the sections below are called after the topic themselves, they stand for it.
    """
    if (
        document.titled < max(_LEAST_NAMED, _AS_WELL * titled)
        or sum(one.headed >= _HUB for one in document.sections) >= _HUB_SECTIONS
    ):
        return None
    told = (one for one in document.sections if not _is_furniture(one))
    first = next((one for one in told if _extent(document, one)[1] >= _LEAST_PROSE), None)
    return first if first is not None and (first.level == 0 or first.headed < _HUB) else None


def _score(document: SurveyedDocument, section: SurveyedSection, prose: int, *, is_lead: bool) -> float:
    """How much a section is about the topic; one that stands for its document as much as the document."""
    headed = document.titled if is_lead else section.headed
    called = document.title if is_lead else section.heading
    dense = min(1.0, 150 * section.mentions / max(prose, 150))
    # The fewer other words a heading has, the more it is about the topic alone; what matters most stands first.
    plain = headed / max(1, len(content_stems(called)))
    late = section.start / max(1, document.sections[-1].end)
    return (
        section.named
        + 0.7 * headed
        + 0.3 * document.titled
        + 0.2 * section.said
        + 0.2 * dense
        + 0.3 * plain
        + 0.3 * min(1.0, prose / 400)
        - 0.1 * late
        - 0.08 * len(section.above)
        - 0.25 * (section.level == 0 and not is_lead)
    )


def _extent(document: SurveyedDocument, section: SurveyedSection) -> tuple[int, int]:
    """Where what is read of a section ends, and how much prose it has: a short one with what stands below it."""
    below = [one for one in document.sections if _is_below(one, section, document)]
    end = max((one.end for one in below), default=section.end)
    if section.prose < _SHORT and below and end - section.start <= _WHOLE:
        return end, section.prose + sum(one.prose for one in below)
    return section.end, section.prose


def _is_below(one: SurveyedSection, section: SurveyedSection, document: SurveyedDocument) -> bool:
    """Whether a section belongs to another; to what a document opens with belongs all of it."""
    if section.level == 0:
        return one is not section
    return section.start in one.above


def _choose(candidates: Sequence[_AspectCandidate], most: int) -> list[_AspectChoice]:
    """The best one after the other; a document that had its turn waits, and a name that was taken joins it."""
    hubs = Counter(
        one.document.source_key for one in candidates if min(one.document.titled, one.section.headed) >= _HUB
    )
    left = sorted(candidates, key=lambda one: (-one.score, one.document.source_key, one.start))
    chosen: list[_AspectChoice] = []
    turns: Counter[str] = Counter()
    topics: Counter[int] = Counter()
    while left and len(chosen) < most:
        best = max(left, key=lambda one: one.score - _waits(one, turns, hubs, topics))
        left = [one for one in left if not one.overlaps(best)]
        words = content_stems(_name(best, alone=False)) or frozenset({best.section.heading})
        same = next((one for one in chosen if _is_same(one.words, words)), None)
        if same is not None:
            if len(same.every) < _MOST_PLACES and best.document not in [one.document for one in same.every]:
                same.others.append(best)
            continue
        turns[best.document.source_key] += 1
        topics[best.section.topic] += 1
        chosen.append(_AspectChoice(best, words))
    return chosen


def _waits(one: _AspectCandidate, turns: Counter[str], hubs: Counter[str], topics: Counter[int]) -> float:
    """What document and topic lose for the turns they had; less where the document goes through the topic."""
    key = one.document.source_key
    return _AGAIN * turns[key] / (1 + hubs[key] / _HUB_SECTIONS) + _TOPIC_AGAIN * topics[one.section.topic]


def _is_same(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= _SAME_NAME * len(one | other)


def _name(one: _AspectCandidate, *, alone: bool) -> str:
    """What an aspect is called: its heading, after the title where the heading says too little by itself."""
    title, heading = one.document.title, one.section.heading
    if one.is_lead or one.section.level == 0 or not heading or len(heading) > _LONGEST_NAME:
        return title
    if heading.casefold() == title.casefold():
        return heading
    # A heading that says the topic and nothing else says no more than the question.
    says_it = (
        one.section.headed >= max(_LEAST_NAMED, _NEAR_BEST * one.section.named) and len(content_stems(heading)) > 1
    )
    return heading if alone or says_it else f"{title}: {heading}"


PLAN_TOKENS = 1_000
MAX_QUERY_CHARS = 200
_RULES = f"""You plan the research for a report. Do not answer anything.
Reply with one JSON object and nothing else: {{"queries": [{{"query": "...", "why": "..."}}]}}
query: one question to look up, in at most 25 words, that makes sense on its own. why: what it adds, in a few words.
At most MOST, the most important first. Cover the whole brief; no two of them may ask the same.
{UNTRUSTED_DIRECTIVE}"""
_QUESTION_ENDS = re.compile(r"(?<=[?!;])\s+|(?<=\.)\s+(?=[A-Z])|\n+")
_JOINED = re.compile(
    r"(?:[,;:]\s*(?:and\s+)?|\s+and\s+)(?=(?:how|why|when|where|who|what|which|whether|did|does|do|is|are|was|were)\b)",
    re.IGNORECASE,
)
_ENUMERATED = re.compile(r"(?P<first>[^,]{3,80}?), (?P<middle>[^?]{3,200}?),? (?:and|or) (?P<last>[^?,]{3,80})[?.]?$")
_VERSUS = re.compile(
    r"\b(?:compare|difference between|better:?|choose between)\s+(?P<a>.{2,60}?)\s+(?:and|with|to|or|vs\.?|versus)\s+"
    r"(?P<b>.{2,60}?)(?:\s+(?:for|in|on|by|when)\b|[?.,]|$)|\b(?P<c>\S.{1,40}?)\s+(?:vs\.?|versus)\s+(?P<d>.{2,40}?)(?:[?.,]|$)",
    re.IGNORECASE,
)
_LEADS = re.compile(
    r"^(?:and|also|then|please|what (?:is|are|was|were)|how (?:is|are|was|were)|the|its|their|his|her)\s+",
    re.IGNORECASE,
)
_PREDICATES = re.compile(r"(?:how|why|when|where|who|is|are|was|were|do|does|did|can)\b", re.IGNORECASE)
_PLACED = re.compile(r"\b(?:in|at|on|from|by|for) (?:the )?$", re.IGNORECASE)
_POINTS_BACK = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|she|his|her)\b", re.IGNORECASE)

_ABOUT = re.compile(r"\b(?:about|regarding|concerning)\s+(?P<topic>\S[^?.!]{1,120}?)\s*[?.!]*$", re.IGNORECASE)
# "How do caching and replication work in …" is about caching and replication.
_WORKS = re.compile(
    r"\bhow (?:do|does|did) (?P<topic>\S[^?.!]{1,80}?) (?:work|differ|compare|function)\b", re.IGNORECASE
)
_ASKS = re.compile(r"(?:how|why|when|where|whether|who|which|what|if)\b", re.IGNORECASE)
_AND = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|as well as|vs\.?|versus)\s+", re.IGNORECASE)
# What is asked for is one value: an overview of the topic would not give it.
_ONE_VALUE = frozenset("name date number money length weight temperature duration percentage frequency colour".split())

_SUBJECT_WORDS = 2

PLAN_SCHEMA = list_schema(
    "queries",
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query", "why"],
        "properties": {
            "query": {"type": "string", "maxLength": MAX_QUERY_CHARS},
            "why": {"type": "string", "maxLength": 200},
        },
    },
)


class _PlanReply(msgspec.Struct):
    query: str
    why: str = ""


class RuleQueryPlanner:
    """Takes a brief apart by its own words."""

    name = "rules"

    def plan(self, brief: Brief, survey: TopicSurvey | None = None) -> ReportPlan:
        """The question, then what the brief lists, or its own parts and what a survey found of its topic."""
        if brief.sub_questions:
            return _planned(brief, [(one, "asked for in the brief") for one in brief.sub_questions], "brief")
        plan = _planned(brief, _parts(brief.question), self.name)
        room = brief.max_sub_queries - len(plan.sub_queries)
        if survey is None or room <= 0:
            return plan
        known = {_key(one.query) for one in plan.sub_queries}
        found = [one for one in aspects_of(survey, room) if _key(one.name) not in known]
        aspects = (
            SubQuestion(n, _tidy(one.name), f"in {', '.join(one.titles)}"[:200], one.places, one.topics)
            for n, one in enumerate(found, start=len(plan.sub_queries))
        )
        return replace(plan, sub_queries=(*plan.sub_queries, *aspects))


class LlmQueryPlanner:
    """Asks a model for the sub-queries; rules plan where it cannot be asked or its reply cannot be read."""

    name = "llm"

    def __init__(self, fallback: RuleQueryPlanner | None = None) -> None:
        self.fallback = fallback or RuleQueryPlanner()

    def plan(self, brief: Brief, survey: TopicSurvey | None = None) -> ReportPlan:
        return self.fallback.plan(brief, survey)

    def request(self, brief: Brief, model: str, seconds: float, unreadable: tuple[str, str] | None) -> ChatRequest:
        """What the model is asked; after an unreadable reply, once more with the reason."""
        messages = [
            PromptMessage("system", _RULES.replace("MOST", str(brief.max_sub_queries), 1)),
            PromptMessage("user", shown_brief(brief)),
        ]
        if unreadable is not None:
            reply, reason = unreadable
            messages += [
                PromptMessage("assistant", reply[:2_000] or "(nothing)"),
                PromptMessage("user", f"That could not be read: {reason}. Reply with the JSON object alone."),
            ]
        return ChatRequest("plan", model, tuple(messages), PLAN_TOKENS, seconds, PLAN_SCHEMA, "report_plan")

    def read(self, reply: str, brief: Brief, model: str) -> tuple[ReportPlan | None, str]:
        """The plan in a reply, or why there is none to be read."""
        try:
            told = read_list(reply, "queries", _PlanReply)
        except NoJson as error:
            return None, error.reason
        found = [(one.query, one.why) for one in told if any(map(str.isalnum, one.query))]
        return (_planned(brief, found, model), "") if found else (None, "it names no query")


def shown_brief(brief: Brief) -> str:
    """The brief as a model is shown it."""
    lines = [f"Question: {inert(brief.question)}"]
    if brief.context:
        lines.append(f"Background: {inert(brief.context)}")
    lines += [f"- {inert(one)}" for one in brief.sub_questions]
    return wrap_untrusted(TAG_RESEARCH_BRIEF, "\n".join(lines))


def content_words(text: str) -> list[str]:
    """The words that say what a text is about, as they are written."""
    return [token.text for token in query_tokens(text) if not is_frame(token) and not is_intent(token)]


def topics_of(question: str) -> tuple[str, ...]:
    """What a question is about, where it asks for more than one value; empty where it asks for a value, or yes or no.

    "What should I know about leave and time off?" names two topics; without such a turn it is all the question's words.
    """
    broad = [one.text for one in asked(question) if one.kind != "yes_no" and one.value not in _ONE_VALUE]
    if not broad:
        return ()
    question = " and ".join(broad)
    match = _ABOUT.search(question) or _WORKS.search(question)
    named = overview_topic(question) or (match["topic"] if match else "")
    if named and content_words(named) and not _ASKS.match(named):
        return tuple(one.strip(" ,") for one in _AND.split(_LEADS.sub("", named)) if content_words(one))
    sides = [content_words(side) for side in _AND.split(question)]
    # "manage my time and plan my work" names two; "start and keep alive a project" one.
    if len(sides) > 1 and all(len(side) > 1 for side in sides):
        return tuple(" ".join(side) for side in sides)
    words = content_words(question)
    return (" ".join(words),) if words else ()


def _planned(brief: Brief, found: Iterable[tuple[str, str]], planned_by: str) -> ReportPlan:
    """The question first, then what else is looked into, each once, within the limit."""
    queries: dict[str, SubQuestion] = {}
    for query, why in ((brief.question, "the question itself"), *found):
        said = _tidy(query)
        name = _key(said)
        if name and name not in queries and len(queries) < brief.max_sub_queries:
            queries[name] = SubQuestion(len(queries), said, " ".join(why.split())[:200])
    return ReportPlan(tuple(queries.values()), planned_by)


def _key(query: str) -> str:
    """Queries that differ in case or end are one."""
    return " ".join(query.casefold().strip(" ?.!").split()) or query


def _tidy(query: str) -> str:
    said = " ".join(query.split())
    return said if len(said) <= MAX_QUERY_CHARS * 10 else said[: MAX_QUERY_CHARS * 10]


def _parts(question: str) -> list[tuple[str, str]]:
    """What a question asks for beside its whole: its sentences, joined questions, lists and the sides it compares."""
    asked = [part.strip(" ,;") for end in _QUESTION_ENDS.split(question) for part in _JOINED.split(end)]
    asked = [part for part in asked if content_words(part)]
    subject = _subject(asked[0]) if asked else ""
    found: list[tuple[str, str]] = []
    for number, part in enumerate(asked):
        if len(asked) > 1:
            found.append((_about(part, subject if number else ""), "a part of the question"))
        found += [(_about(one, subject), "one of what it lists") for one in _members(part)]
    if sides := _sides(question):
        found += [(side, "one side of the comparison") for side in sides]
    return found


def _subject(part: str) -> str:
    """What the first part of a question is about: a name in it, else its first words that stand together."""
    tokens = [token for token in query_tokens(part) if not is_frame(token) and not is_intent(token)]
    named = [
        token
        for token in tokens
        if token.start and token.text[:1].isupper() and not _PLACED.search(part[: token.start])
    ]
    tokens = [token for token in tokens if not named or token.start >= named[0].start]
    together = tokens[:1]
    for token in tokens[1:_SUBJECT_WORDS]:
        if part[together[-1].end : token.start].strip():
            break
        together.append(token)
    return " ".join(token.text for token in together)


def _about(part: str, subject: str) -> str:
    """A part that makes sense on its own: what it does not name itself is said beside it."""
    own = {word.casefold() for word in content_words(part)}
    missing = [word for word in subject.split() if word.casefold() not in own]
    is_whole = len(own) > 3 and not _POINTS_BACK.search(part)
    return part if is_whole or not missing else f"{part.rstrip('?. ')} ({' '.join(missing)})"


def _members(part: str) -> list[str]:
    """The members of a list: "the costs, the yields and the lessons"."""
    listed = _ENUMERATED.search(part)
    # "How is kelp seeded, grown and harvested" lists what is done: one question.
    if listed is None or _PREDICATES.match(part):
        return []
    first = _LEADS.sub("", listed["first"].rsplit(" of ", 1)[-1])
    members = [first, *listed["middle"].split(","), listed["last"]]
    tidy = [_LEADS.sub("", member.strip()) for member in members]
    return [member for member in tidy if 0 < len(content_words(member)) <= 6]


def _sides(question: str) -> list[str]:
    found = _VERSUS.search(question)
    if found is None:
        return []
    return [side.strip() for side in found.groups() if side and content_words(side)]
