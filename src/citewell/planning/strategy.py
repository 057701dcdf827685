"""The deterministic strategy: which concepts an answer must be about, and which variants to search for. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from citewell.domain.queries import Concept, Filters, Limits, QueryPlan, Variant
from citewell.planning.chat_prompt import ChatPrompt
from citewell.planning.corrections import Correction, correction_of
from citewell.planning.excluded_things import things_in
from citewell.planning.exclusions import take_exclusions
from citewell.planning.families.exact_title import FILE_ENDINGS
from citewell.planning.families.recognise import Recognised, recognise
from citewell.planning.normalizer import (
    Normalized,
    is_exact,
    is_frame,
    is_function_word,
    is_intent,
    normalize,
    tag_queries,
)
from citewell.planning.overviews import overview_topic
from citewell.text.words import QueryToken, query_tokens

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

    question: Normalized
    recognised: Recognised
    excluded: tuple[Concept, ...]
    correction: Correction | None
    earlier: Normalized | None
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
        recognised = Recognised(recognised.family, {**recognised.parts, "correction": (correction.meant,)})
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


def _topic_of(question: Normalized) -> str | None:
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


def _own_concepts(question: Normalized) -> Iterator[Concept]:
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


def _protected(question: Normalized) -> Iterator[Concept]:
    for phrase in question.phrases:
        yield Concept(phrase, "anchor", True, (phrase,), "phrase")
    for handle in question.handles:
        yield Concept(handle, "anchor", True, (handle,), "handle")
    for tag in question.tags:
        yield Concept(f"#{tag}", "anchor", True, (tag,), "tag")
    for key in question.source_keys:
        yield Concept(key, "anchor", True, (key,), "source_key")


def _names(question: Normalized) -> Iterator[tuple[QueryToken, ...]]:
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


def _subject(earlier: Normalized) -> str:
    """What an earlier question was about: what it names, else all it says."""
    names = [" ".join(token.text for token in name) for name in _names(earlier)]
    protected = [concept.name for concept in _protected(earlier)]
    return " ".join((*protected, *names)) or " ".join(token.text for token in earlier.content)
