"""The deterministic strategy: which concepts an answer must be about, and which variants to search for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.search.conversation import ChatPrompt
from citewell.search.families import FILE_ENDINGS, FamilyMatch, recognise
from citewell.search.query import (
    Concept,
    Limits,
    NormalizedQuestion,
    QueryPlan,
    Variant,
    is_exact,
    is_frame,
    is_function_word,
    is_intent,
    normalize,
    overview_topic,
    tag_queries,
    take_exclusions,
    things_in,
)
from citewell.store.port import Filters
from citewell.text.canonical import UNSEEN
from citewell.text.secrets import kinds_of_secrets
from citewell.text.words import QueryToken, query_tokens
from citewell.web.facts import ResearchIntent

# Corrections: "no, I meant the 2019 one", "not the ferry, the bus". The question before is asked again, put right.
# Pure.
#
# Only earlier questions lend their words; the evidence shown for them never does.


_MAX_CHARS = 300
_NO = r"(?:no|nope|sorry|wrong|hm+|oh|ah|wait|nein|non|pardon|perdón)\b[\s,.!:–—-]*"
_MEANT = (
    r"(?:i\s+(?:meant|mean|was\s+asking\s+about|was\s+talking\s+about|want(?:ed)?)|i['’]m\s+asking\s+about|what\s+i\s+meant\s+(?:was|is)|"
    r"ich\s+mein(?:t)?e|je\s+voulais\s+dire|je\s+parle\s+de|quería\s+decir|quise\s+decir|me\s+refiero\s+a)"
)
_ARTICLE = r"(?:the|an?|my|our|der|die|das|den|dem|le|la|les|el|los|las)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # I meant X, not Y
        rf"^(?:{_NO})*(?:actually\W+)?{_MEANT}\s+(?P<meant>.+?)(?:\s*,\s*|\s+and\s+|\s+)(?:not|nicht|pas)\s+(?P<wrong>.+?)[\s?.!]*$",
        # no, I meant X
        rf"^(?:{_NO})*(?:actually\W+)?{_MEANT}\s+(?P<meant>.+?)[\s?.!]*$",
        # not Y, (but) X
        rf"^(?:{_NO})*(?:not|nicht|pas)\s+(?:about\s+)?(?P<wrong>{_ARTICLE}\s+[^,–—;.]+?|(?-i:[A-Z0-9#@])[^,–—;.]*?)\s*[,–—;.]\s*"
        rf"(?:but\s+|rather\s+|sondern\s+|mais\s+|sino\s+|i\s+mean(?:t)?\s+)?(?:about\s+)?(?P<meant>(?!is\b|are\b).+?)[\s?.!]*$",
        # not Y but X
        rf"^(?:{_NO})*(?:not|nicht|pas)\s+(?P<wrong>[^,?]+?)\s+(?:but|sondern|mais|sino)\s+(?P<meant>.+?)[\s?.!]*$",
        # no, the X / no, X instead
        r"^(?:no|nope|wrong|nein|non)\s*[,.:–—!-]+\s*(?P<meant>.+?)(?:\s+instead|\s+rather)?[\s?.!]*$",
        r"^(?:(?:sorry|actually|oops|wait)\s*[,.:–—!-]*\s+)(?P<meant>.+?)\s+(?:instead|rather)[\s?.!]*$",
        # the other one, the 2019 one
        rf"^(?:{_ARTICLE})\s+(?P<meant>(?:[\w.-]+\s+){{1,3}})ones?(?:,?\s+(?:please|instead))?[\s?.!]*$",
    )
)
_YEAR = re.compile(r"(?<!\w)(?:1[5-9]|20|21)\d\d(?!\w)")
# A name in the middle of a question.
_NAME = re.compile(r"(?<=\s)[A-ZÀ-ÖØ-Þ][\w.'’-]*(?:\s+[A-ZÀ-ÖØ-Þ0-9][\w.'’-]*)*(?<![.'’])")
_EMPTY = frozenset("one ones other another instead please that this it".split())


@dataclass(frozen=True, slots=True)
class Correction:
    """What was meant, what was not, and the whole question as it should have been."""

    meant: str
    wrong: str
    question: str


def correction_of(current: str, recent: Sequence[str]) -> Correction | None:
    """The correction a follow-up makes; without an earlier question only what plainly corrects counts."""
    text = " ".join(current.split())
    if len(text) > _MAX_CHARS:
        return None
    for number, pattern in enumerate(_PATTERNS):
        match = pattern.match(text)
        if match is None or (number >= _NEEDS_EARLIER and not recent):
            continue
        meant, wrong = _bare(match["meant"]), _bare(match["wrong"] if "wrong" in pattern.groupindex else "")
        if _content(meant):
            return Correction(meant, wrong, _put_right(meant, wrong, recent[-1] if recent else ""))
    return None


# "No, …", "… instead" and "the … one" stand alone in many ordinary questions.
_NEEDS_EARLIER = 4


def _put_right(meant: str, wrong: str, earlier: str) -> str:
    """The earlier question with what was meant in the place of what was not."""
    if not earlier:
        return meant
    new = _content(meant)
    if place := _place_of(wrong, earlier):
        return earlier[: place[0]] + meant + earlier[place[1] :]
    # "The night ferry" for "the ferry": what is put right names its thing once more.
    if len(new) > 1 and (place := _place_of(new[-1], earlier)) and new[0].casefold() not in earlier.casefold():
        return earlier[: place[0]] + meant + earlier[place[1] :]
    if name := _name_replaced(new, earlier):
        return earlier[: name.start()] + meant + earlier[name.end() :]
    if len(new) == 1 and _YEAR.fullmatch(new[0]) and (old := _YEAR.search(earlier)):
        return earlier[: old.start()] + new[0] + earlier[old.end() :]
    at = len(earlier.rstrip(" ?.!"))
    known = {token.folded for token in query_tokens(earlier)}
    added = [word for word in new if word.casefold() not in known]
    return f"{' '.join((earlier[:at], *added))}{earlier[at:].strip()}" if added else earlier


def _name_replaced(new: Sequence[str], earlier: str) -> re.Match[str] | None:
    """The one name of the earlier question, where another name was meant that has no word of it."""
    names = list(_NAME.finditer(earlier))
    known = {token.folded for token in query_tokens(earlier)}
    another = all(word[:1].isupper() and word.casefold() not in known for word in new)
    return names[0] if another and len(names) == 1 else None


def _place_of(wrong: str, earlier: str) -> tuple[int, int] | None:
    """Where the earlier question names what was not meant."""
    words = [token.folded for token in query_tokens(wrong) if not is_function_word(token)]
    tokens = [token for token in query_tokens(earlier) if not is_function_word(token)]
    for start in range(len(tokens) - len(words) + 1) if words else ():
        run = tokens[start : start + len(words)]
        if all(_same(token, word) for token, word in zip(run, words, strict=True)):
            return run[0].start, run[-1].end
    return None


def _same(token: QueryToken, word: str) -> bool:
    return token.folded == word or token.folded.removesuffix("'s").rstrip("s") == word.removesuffix("'s").rstrip("s")


def _bare(text: str | None) -> str:
    """What is named, without its article and the words that only point to it."""
    named = re.sub(rf"^{_ARTICLE}\s+", "", (text or "").strip(" ,;:–—-?.!"), flags=re.IGNORECASE)
    return re.sub(r"\s+(?:one|ones|instead|please)$", "", named, flags=re.IGNORECASE).strip()


def _content(text: str) -> list[str]:
    return [
        token.text for token in normalize(text).tokens if not is_function_word(token) and token.folded not in _EMPTY
    ]


MAX_CONCEPTS = 12
MAX_VARIANTS = 8
# A follow-up of fewer words than this leans on the question before it.
_SHORT = 3
_POINTS_BACK = re.compile(
    r"\b(?:it|its|they|them|their|that|this|those|these|there|he|she|his|her|him|er|sie|es|dort|il|elle|lui|ello)\b",
    re.I,
)
# A bracket with a word on its other side and no space between.
_BRACKET_BEFORE, _BRACKET_BEHIND = re.compile(r"\w[(\[]$|[)\]]$"), re.compile(r"[)\]]\w")
_FILE_ENDING = re.compile(rf"(?<=\w)\.(?:{FILE_ENDINGS})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Understood:
    """A question taken apart: what it asks, to which family it belongs, what it leaves out, what came before."""

    question: NormalizedQuestion
    recognised: FamilyMatch
    excluded: tuple[Concept, ...]
    correction: Correction | None
    earlier: NormalizedQuestion | None
    points_back: bool

    @property
    def content(self) -> tuple[QueryToken, ...]:
        """What the question is about, without the words its family cleans away; all of it where none would be left."""
        kept = tuple(
            token
            for token in self.question.content
            if not self.recognised.is_cleaned_away(token.folded) and not self.recognised.is_optional(token.folded)
        )
        return kept or self.question.content


def plan_question(
    prompt: ChatPrompt,
    filters: Filters,
    limits: Limits,
    *,
    topic: str | None = None,
    include_topic_brief: bool | None = None,
) -> QueryPlan:
    """The plan for a question, the same each time, without a model or an index.

    A topic's brief goes with the evidence when it is asked for, or else when a topic is named or the question wants an
    overview of one.
    """
    understood = _understand(prompt)
    question = understood.question
    named = topic or overview_topic(question.question)
    with_brief = named is not None if include_topic_brief is None else include_topic_brief
    concepts = tuple(_concepts(understood))[:MAX_CONCEPTS]
    return QueryPlan(
        text_query=_retrieval_question(understood) if understood.points_back else question.text,
        terms=tuple(dict.fromkeys(token.folded for token in understood.content)),
        tag_queries=tag_queries(question),
        query_variants=tuple(_variants(understood, concepts))[:MAX_VARIANTS],
        concepts=concepts,
        filters=filters,
        limits=limits,
        family=understood.recognised.family.name,
        source_keys=tuple(dict.fromkeys((*question.source_keys, *prompt.pinned))),
        excluded=understood.excluded,
        preferred_source_types=understood.recognised.source_types(question),
        topic=(named or _topic_of(question)) if with_brief else topic,
        include_topic_brief=with_brief,
        retrieval_question=_retrieval_question(understood),
    )


def _retrieval_question(understood: _Understood) -> str:
    """A follow-up with what it points back to; nothing where a question stands on its own."""
    if understood.earlier is None:
        return ""
    return f"{_subject(understood.earlier)}: {understood.question.text}"


def _understand(prompt: ChatPrompt) -> _Understood:
    correction = correction_of(prompt.current, prompt.recent)
    kept = take_exclusions(correction.question if correction else prompt.current)
    wrong = things_in(correction.wrong) if correction else ()
    question = normalize(kept.text)
    recognised = recognise(question, is_correction=correction is not None, leaves_out=bool(kept.concepts))
    if recognised.family.name == "exact_title":
        question = normalize(_FILE_ENDING.sub("", kept.text))
    if correction is not None:
        recognised = FamilyMatch(recognised.family, {**recognised.parts, "correction": (correction.meant,)})
    earlier = None
    if prompt.recent and correction is None and len(question.content) < _SHORT:
        earlier = normalize(_standing_alone(prompt.recent))
    points_back = earlier is not None and bool(_POINTS_BACK.search(prompt.current))
    return _Understood(question, recognised, (*wrong, *kept.concepts), correction, earlier, points_back)


def _standing_alone(recent: Sequence[str]) -> str:
    """The latest question that says itself what it is about: one that points back leads to the one before it."""
    for text in reversed(recent):
        if not _POINTS_BACK.search(text) or len(normalize(text).content) >= _SHORT:
            return text
    return recent[-1]


def _topic_of(question: NormalizedQuestion) -> str | None:
    """What a question is about, where no topic is named."""
    return " ".join(token.text for token in question.content[:MAX_CONCEPTS])[:200] or None


def _concepts(understood: _Understood) -> Iterator[Concept]:
    """What the family requires, anchors, content, what the question asks for, what an earlier one was about."""
    seen: set[str] = set()
    for concept in _all_concepts(understood):
        if concept.name.casefold() not in seen:
            seen.add(concept.name.casefold())
            yield concept


def _all_concepts(understood: _Understood) -> Iterator[Concept]:
    wholes = list(_wholes(understood))
    yield from wholes
    inside = frozenset(word for concept in wholes for word in _words_of(concept))
    for concept in _own_concepts(understood.question):
        if concept.protected is None and concept.role != "intent" and inside.issuperset(concept.terms):
            continue
        if concept.role == "content" and understood.recognised.is_optional(concept.name):
            yield Concept(concept.name, "content", False, concept.terms)
        elif concept.role == "content" and understood.recognised.is_cleaned_away(concept.name):
            yield Concept(concept.name, "intent", False, concept.terms)
        else:
            yield concept
    if understood.earlier is not None:
        carried = [one for one in _own_concepts(understood.earlier) if one.role in ("anchor", "content")]
        named = any(one.role == "anchor" for one in carried)
        for one in carried:
            # "it" is what the question before names; what that question asked of it is over.
            meant = understood.points_back and (one.role == "anchor" or not named)
            yield Concept(one.name, one.role, one.required and meant, one.terms, one.protected)


def _wholes(understood: _Understood) -> Iterator[Concept]:
    """The parts of the question its family requires as a whole."""
    required = list(understood.recognised.required())
    shared = _shared([value for part, value in required if part == "side"])
    for part, value in required:
        tokens = [token for token in query_tokens(value) if not is_function_word(token) and not is_intent(token)]
        tokens = [token for token in tokens if part != "side" or token.folded not in shared]
        if part == "title":
            yield Concept(value, "anchor", True, (value,), "phrase")
        elif tokens and tokens[0].folded[0] not in "@#":
            named = any(token.text[:1].isupper() for token in tokens)
            written = " ".join(token.text for token in tokens)
            yield Concept(written, "anchor" if named else "content", True, tuple(token.folded for token in tokens))


def _shared(sides: Sequence[str]) -> frozenset[str]:
    """Words every side has: they say what is compared, and not which side it is."""
    words = [{token.folded for token in query_tokens(side)} for side in sides]
    return frozenset(set.intersection(*words)) if len(words) > 1 else frozenset()


def _words_of(concept: Concept) -> tuple[str, ...]:
    return concept.terms if concept.protected is None else tuple(token.folded for token in query_tokens(concept.name))


def _own_concepts(question: NormalizedQuestion) -> Iterator[Concept]:
    """Anchors first, then content, then what the question asks for."""
    yield from _protected(question)
    quoted = {token.folded for phrase in question.phrases for token in query_tokens(phrase)}
    named = [name for name in _names(question) if not quoted.issuperset(token.folded for token in name)]
    inside = {token for name in named for token in name}
    for name in named:
        written = " ".join(token.text for token in name)
        yield Concept(written, "anchor", True, tuple(token.folded for token in name))
    for token in dict.fromkeys(question.tokens):
        if token in inside or token.folded[0] in "@#" or token.folded in quoted:
            continue
        if is_intent(token):
            yield Concept(token.folded, "intent", False, (token.folded,))
        elif not is_frame(token):
            exact = is_exact(token) and any(character.isdigit() for character in token.folded)
            yield Concept(token.folded, "anchor" if exact else "content", True, (token.folded,))


def _protected(question: NormalizedQuestion) -> Iterator[Concept]:
    for phrase in question.phrases:
        yield Concept(phrase, "anchor", True, (phrase,), "phrase")
    for handle in question.handles:
        yield Concept(handle, "anchor", True, (handle,), "handle")
    for tag in question.tags:
        yield Concept(f"#{tag}", "anchor", True, (tag,), "tag")
    for key in question.source_keys:
        yield Concept(key, "anchor", True, (key,), "source_key")


def _names(question: NormalizedQuestion) -> Iterator[tuple[QueryToken, ...]]:
    """Runs of capitalised words that stand next to each other: names of people, places, things."""
    run: list[QueryToken] = []
    for index, token in enumerate(question.tokens):
        adjacent = bool(run) and question.text[run[-1].end : token.start] == " "
        names = _is_capitalised(token, first=index == 0) and not _is_piece(token, question.text)
        if names and (adjacent or not run):
            run.append(token)
            continue
        yield from _finished(run)
        run = [token] if names else []
    yield from _finished(run)


def _is_capitalised(token: QueryToken, *, first: bool) -> bool:
    if token.is_dense or not token.text[:1].isupper() or is_function_word(token) or is_intent(token):
        return False
    # The first word of a sentence is capitalised anyway: it names something only if it is not a common word.
    return not first or not is_frame(token)


def _is_piece(token: QueryToken, text: str) -> bool:
    """Whether a word is only a piece of a unit or a formula, and no name: letters of `5 mmol/L`, `I/O`, `25(OH)D`."""
    before, after = text[max(0, token.start - 2) : token.start], text[token.end : token.end + 2]
    is_slashed = len(token.text) == 1 and "/" in (before[-1:], after[:1])
    return is_slashed or _BRACKET_BEFORE.search(before) is not None or _BRACKET_BEHIND.match(after) is not None


def _finished(run: list[QueryToken]) -> Iterator[tuple[QueryToken, ...]]:
    """A single capitalised word counts as content, not as a name, since any sentence starts with one."""
    if len(run) > 1 or (run and run[0].start > 0):
        yield tuple(run)


def _variants(understood: _Understood, concepts: tuple[Concept, ...]) -> Iterator[Variant]:
    seen: set[str] = set()
    for variant in _all_variants(understood, concepts):
        if variant.query and variant.query.casefold() not in seen:
            seen.add(variant.query.casefold())
            yield variant


def _all_variants(understood: _Understood, concepts: tuple[Concept, ...]) -> Iterator[Variant]:
    content = " ".join(token.text for token in understood.content)
    if understood.earlier is not None and understood.points_back:
        # Alone, "who kept it?" asks for anything that was kept.
        yield Variant("original", _retrieval_question(understood), 1.0)
        whole = " ".join(token.text for token in understood.earlier.content)
        yield Variant("follow_up", f"{whole} {content}".strip(), 0.8)
        return
    yield Variant("original", understood.question.text, 1.0)
    yield Variant("content", content, 0.95)
    yield from understood.recognised.variants()
    anchors = [concept for concept in concepts if concept.role == "anchor" and concept.protected != "source_key"]
    own = [concept for concept in anchors if understood.earlier is None or concept.required]
    if own:
        yield Variant("anchors", " ".join(concept.name for concept in own), 0.8)
    if understood.earlier is not None:
        # A short follow-up leans on the questions before it, never on the answers.
        earlier = " ".join(token.text for token in understood.earlier.content)
        yield Variant("follow_up", f"{content} {earlier}".strip(), 0.7)


def _subject(earlier: NormalizedQuestion) -> str:
    """What an earlier question was about: what it names, else all it says."""
    names = [" ".join(token.text for token in name) for name in _names(earlier)]
    protected = [concept.name for concept in _protected(earlier)]
    return " ".join((*protected, *names)) or " ".join(token.text for token in earlier.content)


# What is asked of search providers: made of the question, never of notes. Pure.
#
#     "What contradicts the claim that kelp dries in two days?"
#         ->  kelp dries two days · kelp dries two days criticism · kelp dries two days disputed
#
# Counter-arguments are looked for only where the question asks for them (`intents_of`).


MAX_QUERY_CHARS = 120
_INTENTS: tuple[tuple[ResearchIntent, re.Pattern[str]], ...] = (
    (
        "contradict",
        re.compile(
            r"\b(?:what|who|which|anything)\b[^?.]{0,40}\b(?:contradicts?|disagrees?|disputes?|refutes?)\b"
            r"|\bprove (?:this|that|it|me) wrong\b|\bcounter-?(?:arguments?|evidence)\b|\bargue against\b",
            re.IGNORECASE,
        ),
    ),
    (
        "verify",
        re.compile(
            r"\b(?:verify|check|confirm|fact-?check)\b[^?.]{0,60}"
            r"\b(?:externally|online|on the web|elsewhere|independently|outside)\b",
            re.IGNORECASE,
        ),
    ),
    ("bias", re.compile(r"\b(?:is|are|how)\b[^?.]{0,60}\b(?:biased|one-sided|partisan|slanted)\b", re.IGNORECASE)),
)
# What the request for it says is no part of what is looked for.
_REQUEST = re.compile(
    r"\b(?:what|who|which|anything)\b\s*(?:else\s*)?\b(?:contradicts?|disagrees? with|disputes?|refutes?)\b"
    r"|\b(?:please\s*)?(?:verify|check|confirm|fact-?check)\b|\b(?:externally|independently|on the web|online)\b"
    r"|\bprove (?:this|that|it|me) wrong\b:?|\b(?:biased|one-sided|partisan|slanted)\b"
    r"|\bthe claim that\b|\bis (?:it|this) true that\b",
    re.IGNORECASE,
)
_ADDED: dict[ResearchIntent, tuple[str, ...]] = {
    "contradict": ("criticism", "disputed"),
    "verify": ("evidence",),
    "bias": ("criticism", "other view"),
}
_TIME_BOUND = re.compile(
    r"\b(?:latest|newest|current(?:ly)?|now|today|this (?:year|month|week)|recent(?:ly)?|at present|so far|still|as of|"
    r"these days|upcoming|up to date)\b",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")


def intents_of(question: str) -> tuple[ResearchIntent, ...]:
    """What the question asks for beyond an answer."""
    return tuple(intent for intent, pattern in _INTENTS if pattern.search(question))


def is_time_bound(question: str) -> bool:
    """Whether an answer may have changed since: then fresh sources come first."""
    return _TIME_BOUND.search(question) is not None


def first_queries(question: str, plan: QueryPlan, intents: Sequence[ResearchIntent], most: int) -> tuple[str, ...]:
    """The queries of the first round: the question without its frame, then what narrows or widens it."""
    asked = _bare_query(_REQUEST.sub(" ", question)) if intents else _bare_query(question)
    content = " ".join(_query_content(plan))
    wider = [variant.query for variant in plan.query_variants if variant.kind in ("side", "topic", "planner", "dated")]
    core = content if len(content.split()) >= 2 else asked
    if intents:
        added = [f"{core} {word}" for intent in intents for word in _ADDED[intent]]
        return distinct((asked, *added), most)
    return distinct((asked, core, *wider), most)


def gap_queries(
    plan: QueryPlan, gaps: Iterable[str], names: Iterable[str], tried: Iterable[str], most: int
) -> tuple[str, ...]:
    """The queries of a further round: what is missing beside what the question is about, and names that turned up."""
    anchors = [concept.name for concept in plan.concepts if concept.role == "anchor"][:3]
    content = _query_content(plan)
    missing = list(gaps)
    wanted = [" ".join(dict.fromkeys((*anchors, gap))) for gap in missing]
    wanted += [" ".join(dict.fromkeys((name, *_without(content, anchors)[:4]))) for name in names]
    wanted += [" ".join(dict.fromkeys((*anchors, *missing)))] if len(missing) > 1 else []
    known = {query.casefold() for query in tried}
    return tuple(query for query in distinct(wanted, most + len(known)) if query.casefold() not in known)[:most]


def distinct(queries: Iterable[str], most: int) -> tuple[str, ...]:
    """Queries that may leave: cleaned, bounded, none twice, none with what looks like a secret."""
    kept: dict[str, str] = {}
    for query in queries:
        clean = _bare_query(query)
        if clean and not kinds_of_secrets(clean):
            kept.setdefault(clean.casefold(), clean)
    return tuple(kept.values())[:most]


def _query_content(plan: QueryPlan) -> list[str]:
    return [concept.name for concept in plan.concepts if concept.role in ("anchor", "content")][:8]


def _without(words: Sequence[str], others: Sequence[str]) -> list[str]:
    return [word for word in words if word not in others]


def _bare_query(text: str) -> str:
    plain = _SPACE.sub(" ", UNSEEN.sub("", text)).strip(" ?!.,;:\"'")
    if len(plain) <= MAX_QUERY_CHARS:
        return plain
    return plain[: MAX_QUERY_CHARS + 1].rpartition(" ")[0] or plain[:MAX_QUERY_CHARS]
