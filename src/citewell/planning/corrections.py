"""Corrections: "no, I meant the 2019 one", "not the ferry, the bus". The question before is asked again, put right. Pure.

Only earlier questions lend their words; the evidence shown for them never does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from citewell.planning.normalizer import is_function_word, normalize
from citewell.text.words import QueryToken, query_tokens

_MAX_CHARS = 300
_NO = r"(?:no|nope|sorry|wrong|hm+|oh|ah|wait|nein|non|pardon|perdón)\b[\s,.!:–—-]*"
_MEANT = (
    r"(?:i\s+(?:meant|mean|was\s+asking\s+about|was\s+talking\s+about|want(?:ed)?)|i['’]m\s+asking\s+about|what\s+i\s+meant\s+(?:was|is)|"
    r"ich\s+mein(?:t)?e|je\s+voulais\s+dire|je\s+parle\s+de|quería\s+decir|quise\s+decir|me\s+refiero\s+a)"
)
_ARTICLE = r"(?:the|an?|my|our|der|die|das|den|dem|le|la|les|el|los|las)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # I meant X, not Y
        rf"^(?:{_NO})*(?:actually\W+)?{_MEANT}\s+(?P<meant>.+?)(?:\s*,\s*|\s+and\s+|\s+)(?:not|nicht|pas)\s+(?P<wrong>.+?)[\s?.!]*$",
        # no, I meant X
        rf"^(?:{_NO})*(?:actually\W+)?{_MEANT}\s+(?P<meant>.+?)[\s?.!]*$",
        # not Y, (but) X
        rf"^(?:{_NO})*(?:not|nicht|pas)\s+(?:about\s+)?(?P<wrong>{_ARTICLE}\s+[^,–—;.]+?|(?-i:[A-Z0-9#@])[^,–—;.]*?)\s*[,–—;.]\s*"
        rf"(?:but\s+|rather\s+|sondern\s+|mais\s+|sino\s+|i\s+mean(?:t)?\s+)?(?:about\s+)?(?P<meant>(?!is\b|are\b).+?)[\s?.!]*$",
        # not Y but X
        rf"^(?:{_NO})*(?:not|nicht|pas)\s+(?P<wrong>[^,?]+?)\s+(?:but|sondern|mais|sino)\s+(?P<meant>.+?)[\s?.!]*$",
        # no, the X / no, X instead
        r"^(?:no|nope|wrong|nein|non)\s*[,.:–—!-]+\s*(?P<meant>.+?)(?:\s+instead|\s+rather)?[\s?.!]*$",
        r"^(?:(?:sorry|actually|oops|wait)\s*[,.:–—!-]*\s+)(?P<meant>.+?)\s+(?:instead|rather)[\s?.!]*$",
        # the other one, the 2019 one
        rf"^(?:{_ARTICLE})\s+(?P<meant>(?:[\w.-]+\s+){{1,3}})ones?(?:,?\s+(?:please|instead))?[\s?.!]*$",
    )
)
_YEAR = re.compile(r"(?<!\w)(?:1[5-9]|20|21)\d\d(?!\w)")
_EMPTY = frozenset("one ones other another instead please that this it".split())


@dataclass(frozen=True, slots=True)
class Correction:
    """What was meant, what was not, and the whole question as it should have been."""

    meant: str
    wrong: str
    question: str


def correction_of(current: str, recent: Sequence[str]) -> Correction | None:
    """The correction a follow-up makes; without an earlier question only what plainly corrects counts."""
    text = " ".join(current.split())
    if len(text) > _MAX_CHARS:
        return None
    for number, pattern in enumerate(_PATTERNS):
        match = pattern.match(text)
        if match is None or (number >= _NEEDS_EARLIER and not recent):
            continue
        parts = match.groupdict()
        meant, wrong = _bare(parts["meant"]), _bare(parts.get("wrong") or "")
        if _content(meant):
            return Correction(meant, wrong, _put_right(meant, wrong, recent[-1] if recent else ""))
    return None


# "No, …", "… instead" and "the … one" stand alone in many ordinary questions.
_NEEDS_EARLIER = 4


def _put_right(meant: str, wrong: str, earlier: str) -> str:
    """The earlier question with what was meant in the place of what was not."""
    if not earlier:
        return meant
    new = _content(meant)
    if place := _place_of(wrong, earlier):
        return earlier[: place[0]] + _bare_words(meant) + earlier[place[1] :]
    years = _YEAR.findall(" ".join(new))
    if years and len(new) == 1 and (old := _YEAR.search(earlier)):
        return earlier[: old.start()] + years[0] + earlier[old.end() :]
    ending = re.search(r"[\s?.!]*$", earlier)
    at = ending.start() if ending else len(earlier)
    known = {token.folded for token in query_tokens(earlier)}
    added = [word for word in new if word.casefold() not in known]
    # Without a place to put it, what was meant comes first: it is what the question is about now.
    return " ".join([earlier[:at], *added]) + earlier[at:].strip(" ") if added else earlier


def _place_of(wrong: str, earlier: str) -> tuple[int, int] | None:
    """Where the earlier question names what was not meant."""
    words = [token.folded for token in query_tokens(wrong) if not is_function_word(token)]
    tokens = [token for token in query_tokens(earlier) if not is_function_word(token)]
    for start in range(len(tokens) - len(words) + 1) if words else ():
        run = tokens[start : start + len(words)]
        if all(_same(token, word) for token, word in zip(run, words, strict=True)):
            return run[0].start, run[-1].end
    return None


def _same(token: QueryToken, word: str) -> bool:
    return token.folded == word or token.folded.removesuffix("'s").rstrip("s") == word.removesuffix("'s").rstrip("s")


def _bare(text: str) -> str:
    text = text.strip(" ,;:–—-?.!")
    return re.sub(r"\s+(?:one|ones|instead|please)$", "", text, flags=re.IGNORECASE).strip()


def _bare_words(text: str) -> str:
    return re.sub(rf"^{_ARTICLE}\s+", "", text, flags=re.IGNORECASE)


def _content(text: str) -> list[str]:
    return [
        token.text
        for token in normalize(text).tokens
        if not is_function_word(token) and token.folded not in _EMPTY
    ]
