"""Names: how they are compared, and where they stand in a text. Pure.

Case, accents, white space, a leading `@` and a possessive do not matter. A single capitalised word is found only where
it is written with a capital, so that the name May is not every verb.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from citewell.text.folding import fold, folded_text

MAX_NAME_CHARS = 80
_EDGES = " \t\n\"'“”‘’«»*_`.,;:!?…"
_QUALIFIER = re.compile(r"\s*[(（][^()（）]{1,80}[)）]$")
# Beside figures a month is a date; alone it may be a person: April, May.
_DATE_LIKE = re.compile(
    r"[\s./:_-]*$|(?=\D*\d)(?:[\d\s.,/:_-]|(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|week)\b)*$"
)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place where a name stands; `key` says which of the names looked for it is."""

    key: str
    start: int
    end: int


def name_key(name: str) -> str:
    """The form under which a name is compared."""
    folded = " ".join(folded_text(name).split()).strip(_EDGES)
    return folded.removeprefix("@").removesuffix("'s").strip(_EDGES)


def base_name(name: str) -> str:
    """A name without what tells it from others of the same name: `Ewan Ross (slater)` is Ewan Ross."""
    return _QUALIFIER.sub("", name[: 2 * MAX_NAME_CHARS]).strip() or name


def is_name_like(name: str) -> bool:
    """Whether a title can name something: neither a date, nor a question, nor a sentence, nor a single character."""
    key = name_key(name)
    if name.rstrip().endswith(("?", "？")):
        return False
    short = 2 <= len(key) <= MAX_NAME_CHARS and len(key.split()) <= 6
    return short and _DATE_LIKE.match(key) is None


def reads_as_name(title: str) -> bool:
    """Whether a title is spelled like a name: `Big Maggie`, `昆布`; not `Snag list`, nor `Budget`, any noun."""
    parts = [part for part in base_name(title).split() if not part.islower() or len(part) > 3]
    if not has_case(title):
        return is_name_like(title)
    return len(parts) > 1 and is_name_like(title) and all(not part[0].islower() for part in parts)


def has_case(name: str) -> bool:
    """Whether a name is written in a script with capital letters."""
    return name.lower() != name.upper()


def occurrences(text: str, names: Iterable[str]) -> Iterator[Occurrence]:
    """Where any of these names stands in a text, in order, the longest where several begin."""
    written = {name_key(name): name for name in names if name_key(name)}
    if not written:
        return
    folded = fold(text)
    for match in _pattern(written).finditer(folded.text):
        start, end = folded.source_span(match.start(), match.end())
        key = name_key(match.group())
        name = written.get(key, "")
        if _needs_capital(name) and not (text[start] == "@" or text[start].isupper()):
            continue
        yield Occurrence(key, start, end)


def _pattern(keys: Iterable[str]) -> re.Pattern[str]:
    alternatives = sorted(keys, key=lambda key: (-len(key), key))
    return re.compile("|".join(_alternative(key) for key in alternatives))


def _alternative(key: str) -> str:
    spelled = r"\s{1,3}".join(re.escape(part) for part in key.split())
    if not has_case(key) and not key.isdigit():
        return spelled  # scripts without case are mostly written without spaces too: a name has no edges there
    return rf"(?<![\w@])@?{spelled}(?!\w)"


def _needs_capital(name: str) -> bool:
    return " " not in name.strip() and name[:1].isupper()
