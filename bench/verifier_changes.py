"""Changes that make a true claim untrue, and rewordings that keep it true, each by rule and by chance.

A change is applied to a claim together with its passage, so that it never makes the claim true in another way: a new
number or a new name does not stand in the passage, unless the change is to take one that does.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_NAME = re.compile(r"(?<=[\w,;)] )(?:[A-Z][\w'’-]+)(?: (?:of |the |de |van )?[A-Z][\w'’-]+){0,3}")
_NO_NAME = frozenset(
    """it he she they we the this in no i us monday tuesday wednesday thursday friday saturday sunday january february
    march april may june july august september october november december""".split()
)
_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,-])\d+(?:\.\d+)?(?![\w,.-]*\w)")
_MONTHS = "January February March April May June July August September October November December".split()
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTHS)})\b(?= \d)|(?<=\d )(?:{'|'.join(_MONTHS)})\b")
_YEAR = re.compile(r"(?<![\w.,-])(?:1[1-9]\d\d|20[0-2]\d)(?![\w-])")
_SPELLED = (
    "two three four five six seven eight nine ten eleven twelve thirteen fifteen twenty thirty forty fifty".split()
)
_DIGITS = dict(zip(_SPELLED, (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 20, 30, 40, 50), strict=True))
_AUXILIARY = re.compile(r"\b(is|was|are|were|has|had|have|can|could|will|would|should|must|may|does|did|do)\b(?! not)")
_PAST = re.compile(
    r"(?<=\w )(?!(?:used|based|called|named|united|related|limited)\b)([a-z]{3,}ed)\b"
    r"(?= (?:the|a|an|in|to|his|her|its|their|that|by|with|for)\b)"
)
_OPPOSITE = """increase decrease|increased decreased|increases decreases|higher lower|high low|before after|more less
larger smaller|large small|early late|earlier later|first last|positive negative|north south|northern southern|east west
eastern western|older younger|old new|major minor|began ended|begins ends|won lost|above below|inside outside
strong weak|success failure|successful unsuccessful|possible impossible|public private|common rare|best worst
better worse|rise fall|rose fell
accepted rejected|allowed forbade|internal external|male female|upper lower|born died|open closed
longer shorter|long short|majority minority|support oppose|supported opposed|legal illegal|rich poor|direct indirect
gained lost|victory defeat|active inactive|agreed refused|over under|top bottom|ancient modern|urban rural""".replace(
    "\n", "|"
)
_PAIRS = {one: other for pair in _OPPOSITE.split("|") for one, other in (pair.split(), pair.split()[::-1])}
_QUANTIFIERS = {"all": "none of", "most": "few", "many": "few", "some": "no", "always": "never", "every": "no"}
_QUANTIFIERS |= {"both": "neither", "often": "rarely", "usually": "rarely", "at least": "at most"}
_UNITS = {"km": "miles", "kilometres": "miles", "kilometers": "miles", "miles": "kilometers", "metres": "kilometres"}
_UNITS |= {"meters": "feet", "feet": "meters", "kg": "tonnes", "years": "months", "days": "weeks", "hours": "minutes"}
_UNITS |= {"million": "billion", "billion": "million", "minutes": "hours", "months": "weeks", "weeks": "months"}
_UNITS |= {"m": "km", "mm": "cm", "cm": "mm", "seconds": "minutes", "acres": "hectares", "inches": "feet"}
_LIKE = """started began|large big|purchased bought|because since|about around|such as like|in order to to
show demonstrate|shows demonstrates
showed demonstrated|located situated|often frequently|several various|however though|begin start
near close to|helped assisted|also additionally|many numerous|main principal|entire whole|use employ|used employed
built constructed|received got|made created|important significant|wrote authored|usually generally|movie film
obtain get|approximately about|children kids|United States US|began started|died passed away""".replace("\n", "|")

_SUBJECT = re.compile(
    r"(?!(?:It|He|She|They|We|The|This|In|A)\b)(?:[A-Z][\w'’-]+)(?: [A-Z][\w'’-]+)*"
    r"(?= (?:was|is|were|had|[a-z]+ed|won|became|defeated|beat) )"
)

Change = Callable[[str, str, random.Random, Sequence[str]], "str | None"]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, its passage, and where they come from; `way` is how the claim was worded."""

    text: str
    passage: str
    document: str
    way: str


def changed_number(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    """Another number in the place of one, in the same way of writing."""
    found = [match for match in _NUMBER.finditer(text) if not _YEAR.fullmatch(match.group())]
    spelt = list(re.finditer(rf"\b(?:{'|'.join(_SPELLED)})\b", text))
    if not found and not spelt:
        return None
    match = chance.choice(found or spelt)
    old = match.group()
    if old in _DIGITS:
        new = chance.choice([word for word in _SPELLED if word != old])
        return None if re.search(rf"\b(?:{new}|{_DIGITS[new]})\b", passage) else _put(text, match, new)
    value = float(old.replace(",", ""))
    whole = int(value + chance.choice((1, 2, 3, 7, 10, -1, 20)) * (1 if value < 50 else 1 + int(value // 20)))
    new = f"{whole:,}" if "," in old else str(max(whole, 1)) + (old[old.index(".") :] if "." in old else "")
    return None if new == old or new in passage else _put(text, match, new)


def changed_date(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    """Another year, or another month."""
    months, years = list(_MONTH.finditer(text)), list(_YEAR.finditer(text))
    if months and (not years or chance.random() < 0.5):
        match = chance.choice(months)
        new = chance.choice([month for month in _MONTHS if month != match.group()])
        return None if new in passage else _put(text, match, new)
    if not years:
        return None
    match = chance.choice(years)
    new = str(int(match.group()) + chance.choice((1, -1, 2, -3, 10, -10, 27)))
    return None if new in passage else _put(text, match, new)


def changed_name(text: str, passage: str, chance: random.Random, names: Sequence[str]) -> str | None:
    """A name of another document."""
    found = names_of(text)
    if not found:
        return None
    match = chance.choice(found)
    spoken = set(re.findall(r"\w+", passage.lower()))
    for _ in range(30):
        new = chance.choice(names)
        if len(new.split()) == len(match.group().split()) and not set(re.findall(r"\w+", new.lower())) & spoken:
            return _put(text, match, new)
    return None


def name_of_passage(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    """Another name of the same passage, which the claim does not have."""
    found = names_of(text)
    said = set(re.findall(r"\w+", text.lower()))
    others = sorted({m.group() for m in names_of(passage) if not set(re.findall(r"\w+", m.group().lower())) & said})
    if not found or not others:
        return None
    match = chance.choice(found)
    return _put(text, match, chance.choice(others))


def swapped_names(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    """Two names of the claim in each other's place, unless they merely stand in a list."""
    found = names_of(text) or []
    head = _SUBJECT.match(text)
    pairs = [(one, other) for one, other in zip([*([head] if head else []), *found], found, strict=False)]
    for one, other in pairs:
        between = text[one.end() : other.start()]
        if len(between.split()) >= 2 and not re.search(
            r"\b(?:and|or|is|was|are|were|between|with)\b|^,|,\s*$", between
        ):
            return text[: one.start()] + other.group() + between + one.group() + text[other.end() :]
    return None


def negated(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    """A denial where there is none: not, never, no longer, failed to."""
    if re.search(r"\b(?:not|never|no|nor|without|neither)\b|n't\b", text):
        return None
    match = _AUXILIARY.search(text)
    if match:
        word = chance.choice(("not", "not", "never", "no longer"))
        word = "not" if match.group() in ("does", "did", "do") else word
        return text[: match.end()] + f" {word}" + text[match.end() :]
    match = _PAST.search(text)
    if match:
        return text[: match.start()] + "never " + text[match.start() :]
    return None


def denial_removed(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    match = re.search(r" (?:not|never|no longer)(?= \w)(?! only)", text)
    return text[: match.start()] + text[match.end() :] if match else None


def opposite(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    found = [match for match in re.finditer(r"[a-z]+", text) if match.group() in _PAIRS]
    found = [match for match in found if not re.search(rf"\b{_PAIRS[match.group()]}\b", passage)]
    if not found:
        return None
    match = chance.choice(found)
    return _put(text, match, _PAIRS[match.group()])


def quantifier(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    match = re.search(rf"\b(?:{'|'.join(_QUANTIFIERS)})\b", text)
    return _put(text, match, _QUANTIFIERS[match.group()]) if match else None


def changed_unit(text: str, passage: str, chance: random.Random, _: Sequence[str]) -> str | None:
    match = re.search(rf"(?<=\d )(?:{'|'.join(_UNITS)})\b|(?<=\d-)(?:{'|'.join(_UNITS)})\b", text)
    return _put(text, match, _UNITS[match.group()]) if match else None


CHANGES: dict[str, Change] = {
    "changed number": changed_number,
    "changed date": changed_date,
    "changed name": changed_name,
    "another name of the passage": name_of_passage,
    "two names swapped": swapped_names,
    "denial inserted": negated,
    "denial removed": denial_removed,
    "opposite word": opposite,
    "quantifier": quantifier,
    "changed unit": changed_unit,
}


def names_of(text: str) -> list[re.Match[str]]:
    return [match for match in _NAME.finditer(text) if match.group().split()[0].lower() not in _NO_NAME]


def _put(text: str, match: re.Match[str], new: str) -> str:
    return text[: match.start()] + new + text[match.end() :]


def without_brackets(text: str, _: random.Random) -> str | None:
    new = re.sub(r" \([^()]*\)", "", text)
    return new if new != text else None


def without_last_clause(text: str, _: random.Random) -> str | None:
    match = re.search(r", (?:which|who|where|while|with|including|although|whereas|making|leading) [^,]*\.$", text)
    return text[: match.start()] + "." if match and match.start() > 40 else None


def time_at_the_end(text: str, _: random.Random) -> str | None:
    match = re.match(r"((?:In|On|During|After|By|Since|At) [^,]{3,40}), ((?:[Tt]he|[A-Z])[^.]*)\.$", text)
    if not match or "," in match[2]:
        return None
    return match[2][0].upper() + match[2][1:] + " " + match[1][0].lower() + match[1][1:] + "."


def like_words(text: str, _: random.Random) -> str | None:
    new = text
    for pair in _LIKE.split("|"):
        words = pair.split()
        one, other = (" ".join(words[:-1]), words[-1]) if len(words) != 2 else (words[0], words[1])
        new = re.sub(rf"\b{one}\b", other, new, count=1)
        if sum(a != b for a, b in zip(text.split(), new.split(), strict=False)) > 2:
            break
    return new if new != text else None


def numbers_otherwise(text: str, _: random.Random) -> str | None:
    new = re.sub(r"(?<=\d)%| percent\b| per cent\b", lambda m: " percent" if m.group() == "%" else "%", text)
    new = re.sub(r"(?<![.\d])(\d+) million\b", lambda m: f"{int(m[1]):,},000,000", new)
    new = re.sub(r"(?<![\d,])(\d{1,3}),(\d{3})\b(?!,)", r"\1\2", new)
    new = re.sub(
        rf"(?<!-)\b({'|'.join(_SPELLED)})\b(?!-| (?:hundred|thousand|million))", lambda m: str(_DIGITS[m[1]]), new
    )
    new = re.sub(rf"\b(\d{{1,2}}) ({'|'.join(_MONTHS)}) (\d{{4}})\b", r"\2 \1, \3", new)
    return new if new != text else None


def active(text: str, _: random.Random) -> str | None:
    match = re.fullmatch(
        r"((?:The |A )?(?:[\w'’-]+ ){1,5})(?:was|were) ([a-z]+ed) by ((?:the |a )?[\w'’ -]{3,50}?)\.", text
    )
    if not match:
        return None
    acted, verb, actor = match[1].strip(), match[2], match[3]
    acted = acted[0].lower() + acted[1:] if acted.startswith(("The ", "A ")) else acted
    return f"{actor[0].upper()}{actor[1:]} {verb} {acted}."


REWORDINGS: dict[str, Callable[[str, random.Random], str | None]] = {
    "brackets dropped": without_brackets,
    "last clause dropped": without_last_clause,
    "time moved to the end": time_at_the_end,
    "like words": like_words,
    "numbers written otherwise": numbers_otherwise,
    "active for passive": active,
}
