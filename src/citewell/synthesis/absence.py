"""Sentences that say something is not in the evidence. Pure; English wordings."""

from __future__ import annotations

import re

from citewell.text.folding import folded_text

_TELL = "say|state|mention|contain|answer|specify|give|provide|cover|tell|include|address|name|show"
_NOTHING = re.compile(
    r"\b(?:no (?:evidence|information|mention|sources?|notes?|results?|passages?|answer|details?)|not found in"
    r"|nothing (?:in|about|on|found|here)|not (?:mentioned|stated|covered|available|specified|given|provided|answered)"
    r"|could not find|couldn't find|cannot be (?:answered|determined|found)"
    rf"|(?:do|does|did) not (?:{_TELL})|(?:don't|doesn't|didn't) (?:{_TELL})|is (?:missing|lacking) from)\b"
)


_ABOUT = re.compile(
    rf"\b(?:no (?:evidence|information|mention|details?) (?:of|about|on|that)|nothing (?:about|on)"
    rf"|(?:do|does|did) not (?:{_TELL})|(?:don't|doesn't|didn't) (?:{_TELL})|could(?: not|n't) find)(?: that)? (.+)$"
)


def missed_by(text: str) -> str:
    """What a sentence says is missing: `the ferry is late` of `The notes do not say that the ferry is late.`"""
    match = _ABOUT.search(folded_text(text).rstrip(". "))
    return match[1] if match else ""


def finds_nothing(text: str) -> bool:
    """Whether a sentence says that something was not found."""
    return _NOTHING.search(folded_text(text)) is not None
