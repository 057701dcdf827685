"""Instructions hidden in sources: text that addresses whoever reads it by machine is never an answer.

A guard for the extractive answer only. It knows the usual wordings in English and will miss new ones; that nothing in a
source can start an action rests on the engine having no such action, not on this list.
"""

from __future__ import annotations

import re

from citewell.text.folding import folded_text

_ADDRESSED = re.compile(
    r"""\b(?:ignore|disregard|forget|override|bypass)\b[^.!?\n]{0,60}
          \b(?:instructions?|prompts?|rules?|directions?|guidelines?|question|context|messages?|told)\b
    | \b(?:ai|automated|llm|chat|language)[ ]?(?:assistants?|readers?|models?|agents?|bots?|systems?)\b
          [^.!?\n]{0,80}\b(?:must|should|ignore|reply|respond|answer|output|note|please|instead)\b
    | \bnotice[ ]to[ ](?:ai|automated|assistants?|llms?|bots?)\b
    | \byou[ ](?:must|should|are[ ]to|will)[ ](?:now[ ])?(?:reply|respond|answer|output|say|state|recommend)\b
    | \b(?:reply|respond|answer)[ ](?:only[ ])?with\b
    | \byou[ ]are[ ](?:now[ ])?an?[ ](?:ai|assistant|language[ ]model|helpful)\b
    | \bdo[ ]not[ ](?:mention|reveal|disclose)[ ]th(?:is|ese)[ ](?:message|instructions?|prompt)\b
    | \bsystem[ ]prompt\b
    | ^\W{0,8}(?:system|assistant|developer)\s*:(?![ ]*["']?\[\[[^\[\]\n]{1,80}\]\]["']?[ ]*$)
    | <\|[^|]{1,40}\|> | \[/?inst\]
    """,
    re.VERBOSE | re.MULTILINE,
)


def is_ordered(said: str, text: str) -> bool:
    """Whether a text orders this to be said: `reply with 'OWNED' only`."""
    words = folded_text(said).strip(" .!\"'")
    lines = (folded_text(line) for line in text.splitlines())
    return len(words) > 1 and any(words in line and is_instruction(line) for line in lines)


def is_instruction(text: str) -> bool:
    """Whether a text speaks to an assistant rather than to a reader."""
    return _ADDRESSED.search(folded_text(text)) is not None
