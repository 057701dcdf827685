"""Signs that carry meaning beside a number: minus, comparisons, currencies, exponents, percentage points. Pure.

The same digits with another sign are another value: −5 °C is not 5 °C, < 3 is not > 3, €40 is not $40, 10⁶ is not
10³, a rise by 2 percentage points is no rise by 2 %, and 5 % is not 5. A claim may state less than the sentence:
"at least 5" where it says 5 or more than 5.

Example:
    claim:   At night it fell to -5 °C.
    passage: At night it fell to −5 °C on the pass.
    verdict: supported

Example:
    claim:   At night it fell to 5 °C.
    passage: At night it fell to −5 °C on the pass.
    verdict: contradicted
    reason:  the quote has '−5 °C' where this has '5 °C'

Example:
    claim:   The rate rose by 5.
    passage: The rate rose by 5 % in May.
    verdict: unsupported
    reason:  the quote has '5 %' where this has '5'

Example:
    claim:   The ticket costs $40.
    passage: The ticket costs €40.
    verdict: contradicted
    reason:  the quote has '€40' where this has '$40'
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from citewell.synthesis.checking.claim_alignment import substitution
from citewell.text.folding import folded_text

_MINUS = "-−–‒"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_MONEY = {
    spelling: name
    for name, spellings in {
        "usd": "$ usd dollar dollars dollar us$",
        "eur": "€ eur euro euros",
        "gbp": "£ gbp pound pounds",
        "jpy": "¥ jpy yen",
        "chf": "chf francs franken",
        "inr": "₹ inr rupees rupee",
    }.items()
    for spelling in spellings.split()
}
_NUMBER = re.compile(
    r"(?P<bound><=|>=|=<|=>|≤|≥|⩽|⩾|<|>|≠|~|≈|±)?\s?"
    rf"(?P<sign>(?<![\w)\]%])[{_MINUS}](?=[$€£¥₹]?[\d.]))?"
    r"(?P<before>us\$|[$€£¥₹]|\b(?:usd|eur|gbp|chf|jpy) )?\s?"
    rf"(?P<sign2>(?<=[$€£¥₹])[{_MINUS}])?"
    r"(?P<digits>(?<![\w.])\d{1,3}(?:[,'’\u202f ]\d{3})+(?:\.\d+)?|(?<![\w.])\d+(?:[.,]\d+)?|(?<![\w.])\.\d+)"
    r"(?P<power>(?:\s?[x×·*]\s?10)?(?:\^-?\d+|[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+|e[+-]?\d+))?"
    r"(?P<after>\s?(?:%|€|\$|£|¥|percentage points?|percent points?|prozentpunkte?|points? de pourcentage|°\s?[cf]\b"
    r"|[ap]\.?m\b\.?|uhr\b|(?:million|billion|trillion|thousand|milliarden?|millionen|k|m|bn|mio|mrd)?\s?(?:dollars?|euros?|pounds?|yen|usd|eur|gbp|chf)\b)?)?",
)
_MORE = re.compile(
    r"\b(?:more than|greater than|over|above|exceed(?:s|ed|ing)?|beyond|mehr als|über|plus de|au-dessus de)\W*$"
)
_AT_LEAST = re.compile(
    r"\b(?:at least|no (?:fewer|less) than|minimum(?: of)?|not less than|mindestens|au moins|from)\W*$"
)
_LESS = re.compile(r"\b(?:(?<!no )(?<!not )less than|(?<!no )fewer than|under|below|weniger als|unter|moins de)\W*$")
_AT_MOST = re.compile(
    r"\b(?:at most|up to|no more than|not more than|maximum(?: of)?|not exceed(?:ing)?|höchstens|bis zu|au plus"
    r"|jusqu'à)\W*$"
)
_ROUGHLY = re.compile(
    r"\b(?:about|around|approximately|roughly|circa|ca\.?|some|almost|nearly|close to|etwa|rund|ungefähr|fast|beinahe"
    r"|environ|presque|près de)\W*$"
)
_OR_MORE = re.compile(
    r"^\s?(?:\w+ )?(?:\+|or (?:more|above|higher|over|older|later)|and (?:more|above|up|over)|oder mehr|ou plus)"
)
_OR_LESS = re.compile(
    r"^\s?(?:\w+ )?or (?:less|fewer|below|lower|under|younger|earlier)|^\s?(?:\w+ )?oder weniger|^\s?ou moins"
)
_BOUNDS = {"<": "<", ">": ">", "≤": "≤", "≥": "≥", "<=": "≤", ">=": "≥", "=<": "≤", "=>": "≥", "⩽": "≤", "⩾": "≥"}
# What a claim may say of a number (second) where the sentence has the first.
_PROVES = frozenset(
    {("=", "="), ("=", "≥"), ("=", "≤"), ("=", "~"), (">", ">"), (">", "≥"), ("<", "<"), ("<", "≤"), ("≥", "≥")}
    | {("≤", "≤"), ("~", "~")}
)
_OPPOSED = frozenset([(">", "<"), ("<", ">"), ("≥", "≤"), ("≤", "≥"), (">", "≤"), ("≤", ">"), ("<", "≥"), ("≥", "<")])
_REACH = 28
_MOST = 400
# `5 %`, `5 percent`, and the first number of `5 to 10 %`.
_PERCENT = re.compile(
    r"(?:\s?(?:-|–|to|and|or|bis|und|oder|à|et|ou)\s?\d+(?:[.,]\d+)?)?[\s-]?(?:%|per ?cent|prozent|pour ?cent)"
)
# A header or a label says that the numbers below it are shares.
_SHARES = re.compile(r"(?<![\d\s])\s?%|\bper ?cent(?:age)?s?\b|\bprozent|\bpourcent")
_HALF_DAY = re.compile(r"(?::\d\d)?\s?([ap])\.?m\b")


@dataclass(frozen=True, slots=True)
class Signed:
    """A number with its signs, and how it is written."""

    digits: str
    negative: bool
    bound: str
    money: str
    power: str
    points: bool
    percent: bool
    half_day: str
    written: str
    start: int


@lru_cache(maxsize=1024)
def signed_numbers(text: str) -> tuple[Signed, ...]:
    """The numbers of a text with their signs."""
    folded = text.lower()
    if len(folded) != len(text):
        return ()
    found: list[Signed] = []
    for match in islice(_NUMBER.finditer(folded), _MOST):
        digits = re.sub(r"[,'’\u202f ](?=\d{3}(?!\d))", "", match["digits"]).replace(",", ".")
        digits = digits.rstrip("0").rstrip(".") if "." in digits else digits
        after = (match["after"] or "").strip()
        money = _MONEY.get((match["before"] or "").strip(), "") or next(
            (name for spelling, name in _MONEY.items() if after.split()[-1:] == [spelling]), ""
        )
        power = (match["power"] or "").translate(_SUPERSCRIPTS).replace(" ", "").lstrip("^x×·*")
        start = (
            match.start("sign")
            if match["sign"]
            else match.start("before")
            if match["before"]
            else match.start("digits")
        )
        found.append(
            Signed(
                digits=digits.lstrip("0") or "0",
                negative=bool(match["sign"] or match["sign2"]) or _is_minus(folded, match.start("digits")),
                bound=_bound(folded, match),
                money=money,
                power=power,
                points="point" in after or "punkt" in after,
                percent=_PERCENT.match(folded, match.end("digits")) is not None,
                half_day=_half_of_day(folded, match.end("digits")),
                written=text[start : match.end()].strip(),
                start=start,
            )
        )
    return tuple(found)


def _half_of_day(folded: str, at: int) -> str:
    match = _HALF_DAY.match(folded, at)
    return match[1] if match else ""


def _is_minus(folded: str, at: int) -> bool:
    return bool(re.search(r"\b(?:minus|negative)\s$", folded[max(0, at - 10) : at]))


def _bound(folded: str, match: re.Match[str]) -> str:
    if match["bound"] in ("~", "≈", "±"):
        return "~"
    if match["bound"] in _BOUNDS:
        return _BOUNDS[match["bound"]]
    start = min(match.start(name) for name in ("sign", "before", "digits") if match[name])
    before = folded[max(0, start - _REACH) : start].rstrip("$€£¥₹ ") + " "
    after = folded[match.end() : match.end() + _REACH]
    for pattern, bound in ((_AT_LEAST, "≥"), (_AT_MOST, "≤"), (_MORE, ">"), (_LESS, "<"), (_ROUGHLY, "~")):
        if pattern.search(before):
            return bound
    if _OR_MORE.search(after):
        return "≥"
    return "≤" if _OR_LESS.search(after) else "="


@dataclass(frozen=True, slots=True)
class SignDifference:
    """What the claim writes, what the quote writes, and whether the one excludes the other."""

    reason: str
    opposed: bool


def other_sign(said: str, quoted: str) -> SignDifference | None:
    """The first number of the claim that the quote has only with other signs."""
    told = signed_numbers(quoted)
    shares = any(_SHARES.search(text.lower()) for text in (said, quoted))
    for one in signed_numbers(said):
        same = [other for other in told if other.digits == one.digits]
        if not same or any(
            _agrees(other if not shares else replace(other, percent=one.percent), one) for other in same
        ):
            continue
        nearest = min(same, key=lambda other: (_differences(other, one), other.start))
        opposed = (
            nearest.negative != one.negative
            or (nearest.money != one.money and bool(nearest.money and one.money))
            or (nearest.bound, one.bound) in _OPPOSED
            or nearest.power != one.power
            or nearest.points != one.points
            or _is_other_half(nearest, one)
        )
        return SignDifference(substitution(_shown(nearest), _shown(one)), opposed)
    return None


def _agrees(told: Signed, said: Signed) -> bool:
    return (
        told.negative == said.negative
        and (told.bound, said.bound) in _PROVES
        and (told.money == said.money or not (told.money and said.money))
        and told.power == said.power
        and told.points == said.points
        and told.percent == said.percent
        and not _is_other_half(told, said)
    )


def _is_other_half(told: Signed, said: Signed) -> bool:
    return bool(told.half_day and said.half_day) and told.half_day != said.half_day


def _differences(told: Signed, said: Signed) -> int:
    return sum(
        (told.negative != said.negative, told.bound != said.bound, told.money != said.money, told.power != said.power)
    )


def _shown(one: Signed) -> str:
    words = {">": "more than ", "<": "less than ", "≥": "at least ", "≤": "at most ", "~": "about "}
    return f"{words.get(one.bound, '')}{one.written.lstrip('<>≤≥~≈= ')}"


def spoken_signs(text: str) -> str:
    """The signs of a text that no word carries, for comparing two texts to the letter."""
    folded = folded_text(text)
    kept = re.findall(r"[<>≤≥≠=±→⇒←×^°%€$£¥₹]|(?<![\w)\]])[-−–](?=[\d.])", folded)
    return "".join("-" if one in _MINUS else one for one in kept)
