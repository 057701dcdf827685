"""Corrections: "no, I meant the 2019 one", "not the ferry, the bus". The question before is asked again, put right. Pure.

Only earlier questions lend their words; the evidence shown for them never does.
"""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

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
# A name in the middle of a question.
_NAME = re.compile(r"(?<=\s)[A-ZÀ-ÖØ-Þ][\w.'’-]*(?:\s+[A-ZÀ-ÖØ-Þ0-9][\w.'’-]*)*(?<![.'’])")
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
        meant, wrong = _bare(match["meant"]), _bare(match["wrong"] if "wrong" in pattern.groupindex else "")
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
        return earlier[: place[0]] + meant + earlier[place[1] :]
    # "The night ferry" for "the ferry": what is put right names its thing once more.
    if len(new) > 1 and (place := _place_of(new[-1], earlier)) and new[0].casefold() not in earlier.casefold():
        return earlier[: place[0]] + meant + earlier[place[1] :]
    if name := _name_replaced(new, earlier):
        return earlier[: name.start()] + meant + earlier[name.end() :]
    if len(new) == 1 and _YEAR.fullmatch(new[0]) and (old := _YEAR.search(earlier)):
        return earlier[: old.start()] + new[0] + earlier[old.end() :]
    at = len(earlier.rstrip(" ?.!"))
    known = {token.folded for token in query_tokens(earlier)}
    added = [word for word in new if word.casefold() not in known]
    return f"{' '.join((earlier[:at], *added))}{earlier[at:].strip()}" if added else earlier


def _name_replaced(new: Sequence[str], earlier: str) -> re.Match[str] | None:
    """The one name of the earlier question, where another name was meant that has no word of it."""
    names = list(_NAME.finditer(earlier))
    known = {token.folded for token in query_tokens(earlier)}
    another = all(word[:1].isupper() and word.casefold() not in known for word in new)
    return names[0] if another and len(names) == 1 else None


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


def _bare(text: str | None) -> str:
    """What is named, without its article and the words that only point to it."""
    named = re.sub(rf"^{_ARTICLE}\s+", "", (text or "").strip(" ,;:–—-?.!"), flags=re.IGNORECASE)
    return re.sub(r"\s+(?:one|ones|instead|please)$", "", named, flags=re.IGNORECASE).strip()


def _content(text: str) -> list[str]:
    return [
        token.text for token in normalize(text).tokens if not is_function_word(token) and token.folded not in _EMPTY
    ]
