"""What a question says it is not about: "except", "other than", "but not", "not #draft". Pure.

The clause is taken out of the search text, since searching for what is not wanted would find it. "Not" and "without" are
mostly part of what is asked ("what is not allowed", "merging without a server", "price excluding VAT"): they exclude only
where what follows is plainly set apart, and where something is left to search for.
"""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

import re

from citewell.domain.queries import Concept
from citewell.domain.values import dataclass
from citewell.planning.normalizer import QUOTED, SOURCE_KEY, is_function_word, is_intent, normalize

_MAX_CHARS = 1_000

# A part of every lead below. Most questions have none, and do not wait until the leads are compiled.
_HINTS = re.compile(
    r"except|exclu|excep|leaving|not\b|without|other|apart|aside|besid|but|minus|no\b|ni\b|nicht|ohne|kein|sans|pas\b|sin\b"
    r"|au(?:ß|ss)er|ausgen|abgesehen|sauf|hormis|(?<!\S)-",
    re.IGNORECASE,
)
# Leads after which anything is set apart.
_STRONG = r"""(?ix)(?:
      (?<![\w/'’-])(?:
        (?<!try\s)(?<!try:\s)(?<!try\sand\s)except(?:ing)?(?:\s+for)?(?!\s+(?:clause|block|statement|keyword|handler|that|when|if)\b)
      | excluding (?!\s+(?:vat|tax|taxes|gst|mwst|tva|iva|shipping|delivery|postage|fees|interest|inflation)\b)
      | leaving\s+out | (?:not|without)\s+(?:counting|including|mentioning|discussing|considering|covering|(?:talking|speaking|anything)\s+about)
      | other\s+than | apart\s+from | aside\s+from | besides | every(?:thing|one|where)\s+but
      | (?<!last\s)but\s+not | and\s+not (?=\s+(?:the|any|in|on|from|about|[A-Z\#@"“]))
      | außer | ausser | ausgenommen | abgesehen\s+von | aber\s+nicht
      | sauf | hormis | excepté | mais\s+pas | excepto | pero\s+no | a\s+excepción\s+de
      )\b
    | [,(–—]\s*(?:not|nicht|pas)\s(?=\s*\S)
    )"""
# Leads that only set apart a tag, a handle, a quoted phrase or a source key.
_BEFORE_ANCHOR = (
    r"(?i)(?:(?<![\w'’-])(?:not|without|minus|no|nicht|ohne|kein|sans|pas|sin|ni)\s+(?:tagged\s+|from\s+|by\s+|in\s+|with\s+)?"
    rf"|(?<!\S)-)(?=[#@\"“„«「]|{SOURCE_KEY.pattern})"
)
# A word with a minus before it, as people write it to search engines.
_MINUS = r"(?<=\S\s)-(?=[^\W\d_]{3,})"


@dataclass(frozen=True, slots=True)
class Excluded:
    """A question without what it excludes, and what that is."""

    text: str
    concepts: tuple[Concept, ...] = ()


def take_exclusions(question: str) -> Excluded:
    """The question without its exclusions; unchanged where it has none or nothing else would be left."""
    if len(question) > _MAX_CHARS or not _HINTS.search(question):
        return Excluded(question)
    from citewell.planning.excluded_things import MAX_EXCLUDED, is_set_apart, objects_behind

    text, found = question, list[Concept]()
    for lead in map(re.compile, (_BEFORE_ANCHOR, _STRONG, _MINUS)):
        at = 0
        while len(found) < MAX_EXCLUDED and (match := _next(lead, text, at)):
            objects, end = objects_behind(text, match.end(), match.group().strip(), listed=lead.pattern == _STRONG)
            rest = _tidy(text[: match.start()], text[end:])
            if objects and is_set_apart(match.group(), objects, text) and _says_something(rest):
                found += objects
                text, at = rest, 0
            else:
                at = match.end()
    return Excluded(text, tuple(dict.fromkeys(found))[:MAX_EXCLUDED]) if found else Excluded(question)


def _next(lead: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """The next lead that is not part of a quotation."""
    quoted = [match.span() for match in QUOTED.finditer(text)]
    found = (match for match in lead.finditer(text, at) if match.end() > match.start())
    return next((one for one in found if not any(low <= one.start() < high for low, high in quoted)), None)


def _says_something(text: str) -> bool:
    found = normalize(text)
    return bool(found.source_keys) or any(
        not is_function_word(token) and not is_intent(token) for token in found.tokens
    )


def _tidy(before: str, after: str) -> str:
    joined = f"{before.rstrip()} {after.lstrip(' )') if before.count('(') == before.count(')') else after.lstrip()}"
    joined = re.sub(r"\s+([?!.,;:])", r"\1", " ".join(joined.split()))
    return re.sub(r"^[\s,;:]+|,(?=[?!.]|$)", "", joined).strip()
