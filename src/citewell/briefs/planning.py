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
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from citewell.briefs.aspects import aspects_of
from citewell.briefs.untrusted import TAG_RESEARCH_BRIEF, UNTRUSTED_DIRECTIVE, wrap_untrusted
from citewell.domain.briefs import Brief, ReportPlan, SubQuestion
from citewell.domain.chat import ChatMessage, ChatRequest
from citewell.domain.surveys import TopicSurvey
from citewell.models.structured import Unstructured, read_json
from citewell.planning.normalizer import is_frame, is_intent
from citewell.planning.overviews import overview_topic
from citewell.synthesis.asking import asked
from citewell.synthesis.shown_evidence import inert
from citewell.text.words import query_tokens

PLAN_TOKENS = 1_000
MAX_QUERY_CHARS = 200
_RULES = f"""You plan the research for a report. Do not answer anything.
Reply with one JSON array and nothing else: [{{"query": "...", "why": "..."}}]
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

PLAN_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "additionalProperties": False,
        "required": ["query", "why"],
        "properties": {
            "query": {"type": "string", "maxLength": MAX_QUERY_CHARS},
            "why": {"type": "string", "maxLength": 200},
        },
    },
}


class _Told(msgspec.Struct):
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
            ChatMessage("system", _RULES.replace("MOST", str(brief.max_sub_queries), 1)),
            ChatMessage("user", shown_brief(brief)),
        ]
        if unreadable is not None:
            reply, reason = unreadable
            messages += [
                ChatMessage("assistant", reply[:2_000] or "(nothing)"),
                ChatMessage("user", f"That could not be read: {reason}. Reply with the JSON array alone."),
            ]
        return ChatRequest("plan", model, tuple(messages), PLAN_TOKENS, seconds, PLAN_SCHEMA, "report_plan")

    def read(self, reply: str, brief: Brief, model: str) -> tuple[ReportPlan | None, str]:
        """The plan in a reply, or why there is none to be read."""
        try:
            told = read_json(reply, list[_Told])
        except Unstructured as error:
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
