"""Questions that want an overview of a topic ("what do I know about X"), and the topic they name. Pure."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

import re

from citewell.planning.normalizer import Normalized, is_frame, is_intent, without_filler_behind
from citewell.text.folding import folded_text

_MAX_WORDS = 8
_MAX_CHARS = 200
_OVERVIEW = re.compile(
    r"""^(?:(?:hi|hey|hello|ok|okay|so|please|pls)\b[\s,!.]*)?
    (?:(?:can|could|would|will)\s+you\s+(?:please\s+)?)?
    (?:
      what\s+(?:all\s+)?(?:do|did|have|has)\s+(?:i|we|you|my\s+notes)\s+(?:already\s+)?(?:know|have|say|write|written|save|saved|note|noted|collect|collected|got)(?:\s+down)?\s+(?:about|on|regarding)
    | (?:tell|show)\s+(?:me|us)\s+(?:everything|all|what\s+(?:you|i|we)\s+(?:know|have))(?:\s+(?:you|i|we)\s+(?:know|have))?\s*(?:about|on|regarding)
    | tell\s+(?:me|us)\s+(?:more\s+)?about
    | (?:everything|all)\s+(?:(?:i|we|you)\s+(?:know|have|saved|wrote)\s+)?(?:about|on)
    | (?:give\s+(?:me|us)\s+)?(?:an?\s+|the\s+)?(?:short\s+|quick\s+|brief\s+)?(?:overview|summary|brief|briefing)\s+(?:of|on|about)
    | (?:summari[sz]e|brief\s+(?:me|us)\s+on)(?:\s+(?:everything|what\s+(?:i|we)\s+(?:know|have)))?(?:\s+(?:about|on))?
    | was\s+(?:weiß|weiss|wissen|habe|haben)\s+(?:ich|wir)\s+(?:alles\s+)?(?:über|zu)
    | (?:que|qu['’]est-ce\s+que)\s+(?:sais-je|savons-nous|je\s+sais|nous\s+savons)\s+(?:sur|de)
    | ¿?\s*qué\s+(?:sé|sabemos|tengo)\s+(?:sobre|de)
    | что\s+(?:я\s+знаю|мы\s+знаем)\s+(?:о|об|про)
    )\s+(?P<topic>\S.*)$""",
    re.IGNORECASE | re.VERBOSE,
)
# What follows is a question of its own and no topic.
_ASKS = re.compile(
    r"(?:how|why|when|where|whether|who|which|what|if|wie|warum|wann|wo|ob|comment|pourquoi|quand|cómo|cuándo)\b",
    re.IGNORECASE,
)

_MAX_BARE_WORDS = 4
_JOINS = frozenset({"of", "and"})
# A line that begins so says what to do: it asks how.
_TO_DO = frozenset(
    folded_text(
        """access add allow append apply avoid build calculate call change check clean clear clone close commit compile configure
        connect convert copy count create cut debug delete deploy disable download edit enable export extract filter find fix
        force format forward generate get grep ignore import insert inspect install join kill list load log look make merge
        mount move open parse paste pin ping print pull push put read rebase redirect reload remove rename replace reset
        resize restart restore revert rotate run save scan search select send serve set shrink show skip sort split start
        stop style sync tail test toggle track turn undo unset update upgrade upload use verify view wait watch write"""
    ).split()
)
# A line that ends so asks for one value.
_ONE_VALUE = frozenset(
    folded_text(
        """address age amount capacity count cost date deadline duration fee height length limit maximum minimum number password
        phone price rate rating salary score size speed temperature time version weight width year"""
    ).split()
)


def overview_topic(question: str) -> str | None:
    """The topic a question wants an overview of, or None where it asks for something in particular."""
    match = _OVERVIEW.match(" ".join(question.split()))
    if match is None:
        return None
    topic = match["topic"]
    for _ in range(3):
        topic = without_filler_behind(topic).strip(' ?¿!.,;:"“”«»')
    fits = 0 < len(topic) <= _MAX_CHARS and len(topic.split()) <= _MAX_WORDS
    return topic if fits and not _ASKS.match(topic) else None


def bare_topic(question: Normalized) -> str | None:
    """The topic that is all a question says ("inotify watch exhaustion"), or None where it says more or asks one value."""
    if (
        question.question.rstrip().endswith(("?", "？"))
        or question.phrases
        or question.handles
        or question.tags
        or question.source_keys
    ):
        return None
    folded = [token.folded for token in question.tokens]
    told = [token for token in question.tokens if token.folded not in _JOINS]
    if not 1 < len(told) <= _MAX_BARE_WORDS or folded[0] in _TO_DO or folded[-1] in _ONE_VALUE:
        return None
    # Where words are not set apart, a line of words cannot be told from a sentence.
    if any(is_frame(token) or is_intent(token) or token.is_dense or token.folded.isdigit() for token in told):
        return None
    return question.text
