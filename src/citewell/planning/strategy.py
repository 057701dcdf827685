"""The deterministic strategy: which concepts an answer must be about, and which variants to search for. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from citewell.domain.queries import Concept, Filters, Limits, QueryPlan, Variant
from citewell.planning.chat_prompt import ChatPrompt
from citewell.planning.normalizer import Normalized, is_frame, is_function_word, is_intent, normalize, tag_queries
from citewell.planning.overviews import overview_topic
from citewell.text.words import QueryToken

MAX_CONCEPTS = 12
MAX_VARIANTS = 5


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
    question = normalize(prompt.current)
    named = topic or overview_topic(prompt.current)
    with_brief = named is not None if include_topic_brief is None else include_topic_brief
    concepts = tuple(_concepts(question))[:MAX_CONCEPTS]
    return QueryPlan(
        text_query=question.text,
        terms=tuple(dict.fromkeys(token.folded for token in question.content)),
        tag_queries=tag_queries(question),
        query_variants=tuple(_variants(question, concepts, prompt))[:MAX_VARIANTS],
        concepts=concepts,
        filters=filters,
        limits=limits,
        source_keys=tuple(dict.fromkeys((*question.source_keys, *prompt.pinned))),
        topic=(named or _topic_of(question)) if with_brief else topic,
        include_topic_brief=with_brief,
    )


def _topic_of(question: Normalized) -> str | None:
    """What a question is about, where no topic is named."""
    return " ".join(token.text for token in question.content[:MAX_CONCEPTS])[:200] or None


def _concepts(question: Normalized) -> Iterator[Concept]:
    """Anchors first, then content, then what the question asks for."""
    yield from _protected(question)
    named = list(_names(question))
    inside = {token for name in named for token in name}
    for name in named:
        written = " ".join(token.text for token in name)
        yield Concept(written, "anchor", True, tuple(token.folded for token in name))
    quoted = {word for phrase in question.phrases for word in phrase.lower().split()}
    for token in dict.fromkeys(question.tokens):
        if token in inside or token.folded[0] in "@#" or token.folded in quoted:
            continue
        if is_intent(token):
            yield Concept(token.folded, "intent", False, (token.folded,))
        elif not is_frame(token):
            exact = token.is_compound and any(character.isdigit() for character in token.folded)
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
        if _is_capitalised(token, first=index == 0) and (adjacent or not run):
            run.append(token)
            continue
        yield from _finished(run)
        run = [token] if _is_capitalised(token, first=index == 0) else []
    yield from _finished(run)


def _is_capitalised(token: QueryToken, *, first: bool) -> bool:
    if token.is_dense or not token.text[:1].isupper() or is_function_word(token) or is_intent(token):
        return False
    # The first word of a sentence is capitalised anyway: it names something only if it is not a common word.
    return not first or not is_frame(token)


def _finished(run: list[QueryToken]) -> Iterator[tuple[QueryToken, ...]]:
    """A single capitalised word counts as content, not as a name, since any sentence starts with one."""
    if len(run) > 1 or (run and run[0].start > 0):
        yield tuple(run)


def _variants(question: Normalized, concepts: tuple[Concept, ...], prompt: ChatPrompt) -> Iterator[Variant]:
    seen: set[str] = set()
    for variant in _all_variants(question, concepts, prompt):
        if variant.query and variant.query.casefold() not in seen:
            seen.add(variant.query.casefold())
            yield variant


def _all_variants(question: Normalized, concepts: tuple[Concept, ...], prompt: ChatPrompt) -> Iterator[Variant]:
    yield Variant("original", question.text, 1.0)
    content = " ".join(token.text for token in question.content)
    yield Variant("content", content, 0.95)
    anchors = [concept for concept in concepts if concept.role == "anchor" and concept.protected != "source_key"]
    if anchors:
        yield Variant("anchors", " ".join(concept.name for concept in anchors), 0.8)
    if prompt.recent and len(question.content) < 3:
        # A short follow-up leans on the questions before it, never on the answers.
        earlier = " ".join(token.text for token in normalize(prompt.recent[-1]).content)
        yield Variant("content", f"{content} {earlier}".strip(), 0.7)
