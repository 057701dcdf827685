"""Citations set right: the sentences of a passage that support a claim, and the source that does where the cited one
does not. Pure. Only sources of the evidence are looked at, and what is found is an exact slice of one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from citewell.domain.answers import PreparedSynthesis, Quote
from citewell.synthesis.checking.claim import BETWEEN, Check, check_text
from citewell.synthesis.checking.rarity import Rarity
from citewell.synthesis.checking.tokens import content_stems
from citewell.synthesis.instructions import is_instruction
from citewell.synthesis.lead_ins import lead_in_of, without_lead_in
from citewell.synthesis.passages import quote_at

# Fewer words of meaning than this are said by too many passages to tell which was meant.
_LEAST_WORDS = 3
_MOST_SOURCES = 40


@dataclass(frozen=True, slots=True)
class Repair:
    """The passage that says what the cited one does not."""

    quote: Quote
    support: float


def repaired(text: str, quotes: Sequence[Quote], prepared: PreparedSynthesis, rarity: Rarity) -> Repair | None:
    """The source of the evidence, other than those cited, that supports the sentence best."""
    said = without_lead_in(text)
    if lead_in_of(text) or len(content_stems(said)) < _LEAST_WORDS:
        return None
    cited = {(quote.source_key, quote.start, quote.end) for quote in quotes}
    best: Repair | None = None
    for source in prepared.sources[:_MOST_SOURCES]:
        check = check_text(said, source.text, rarity, f"{source.title} {source.heading or ''}".strip())
        if check.verdict != "supported" or (best is not None and check.support <= best.support):
            continue
        quote = quote_at(source, check.start, check.end)
        if (quote.source_key, quote.start, quote.end) not in cited and not is_instruction(quote.text):
            best = Repair(quote, check.support)
    return best


def narrowed(quote: Quote | None, quotes: Sequence[Quote], check: Check) -> Quote | None:
    """Of the quotes, the sentences that support the claim; the nearest quote as it is where they span several."""
    if quote is None or check.end <= check.start:
        return quote
    at = 0
    for one in quotes:
        low, high = check.start - at, check.end - at
        if low >= 0 and high <= len(one.text) and low < high:
            return Quote(one.source_key, one.content_hash, one.start + low, one.start + high, one.text[low:high])
        at += len(one.text) + len(BETWEEN)
    return quote
