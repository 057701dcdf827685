"""Questions that want an overview of a topic ("what do I know about X"), and the topic they name. Pure."""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

import re

from citewell.planning.vocabulary import FILLER_ENDS

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


def overview_topic(question: str) -> str | None:
    """The topic a question wants an overview of, or None where it asks for something in particular."""
    match = _OVERVIEW.match(" ".join(question.split()))
    if match is None:
        return None
    topic = match["topic"]
    for _ in range(3):
        topic = FILLER_ENDS.sub("", topic, count=1).strip(' ?¿!.,;:"“”«»')
    fits = 0 < len(topic) <= _MAX_CHARS and len(topic.split()) <= _MAX_WORDS
    return topic if fits and not _ASKS.match(topic) else None
