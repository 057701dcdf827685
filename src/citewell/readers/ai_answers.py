"""Notes that are a machine's answer, by their front matter. They are kept and found, but never evidence.

A convention, not a proof: an answer pasted into a note without a word about its origin is not recognised.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from citewell.readers.references import is_web_address

_MACHINE_KEYS = ("generator", "generated_by", "model")
_ORIGIN_KEYS = ("source", "author")
_AI_NAME = re.compile(
    r"(?<![\w.])(?:chatgpt|gpt(?:-[\w.-]+)?|claude|gemini|copilot|perplexity|citewell|ai)(?!\w)", re.IGNORECASE
)
_UNMISTAKABLE = re.compile(r"(?<![\w.])(?:chatgpt|gpt-[\w.-]+|citewell)(?!\w)", re.IGNORECASE)
# `author: Claude Shannon` is a person: an AI's name that people and things bear too must stand alone or among these.
_BESIDE_AI_NAME = re.compile(
    r"answer|anthropic|assistant|by|chat|code|conversation|export|flash|from|generated|google|haiku|microsoft|mini"
    r"|openai|opus|plus|pro|response|search|session|sonnet|turbo|ultra|via|with|v?\d[\w.]*",
    re.IGNORECASE,
)
_AI_HOST = re.compile(
    r"chatgpt\.com|chat\.openai\.com|claude\.ai|gemini\.google\.com|copilot\.microsoft\.com|(?:www\.)?perplexity\.ai"
)
_LONGEST = 200


def saved_answer(fields: Mapping[str, Sequence[str]]) -> str | None:
    """Why this note is a saved AI answer, or None. Keys are lower case with underscores."""
    if any(value.lower() in {"true", "yes"} for value in fields.get("ai_generated", ())):
        return _reason("ai_generated", "true")
    for key in (*_MACHINE_KEYS, *_ORIGIN_KEYS):
        for value in fields.get(key, ()):
            if _names_ai(value[:_LONGEST], is_machine=key in _MACHINE_KEYS):
                return _reason(key, value)
    return None


def _reason(key: str, value: str) -> str:
    return f"saved AI answer (front matter {key}: {value[:60]}): never used as evidence"


def _names_ai(value: str, *, is_machine: bool) -> bool:
    if is_web_address(value):
        return _AI_HOST.fullmatch(_host(value)) is not None
    if is_machine or _UNMISTAKABLE.search(value):
        return _AI_NAME.search(value) is not None
    words = re.findall(r"[\w.-]+", value)
    beside = [word for word in words if not _AI_NAME.fullmatch(word)]
    return len(beside) < len(words) and all(_BESIDE_AI_NAME.fullmatch(word) for word in beside)


def _host(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").lower()
    except ValueError:
        return ""
