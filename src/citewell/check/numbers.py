"""Numbers, dates and units of a claim that its quotes do not give. Pure.

One value may be written in many ways: digits or words, a per cent or a fraction, `1.5 km` or `1,500 m`, `5 million` or
`5,000,000`, `3 May 1871` or `1871-05-03`, `third` or `3rd`. Those agree. A rounded number agrees where the claim says
that it is rounded ("about 5,000" for 4,987).

Example:
    claim:   The dam is 1.5 km long and holds 5 million litres.
    passage: The dam is 1,500 m long and holds 5,000,000 litres.
    verdict: supported

Example:
    claim:   The dam was opened on 4 May 1871.
    passage: The dam was opened on 1871-05-03.
    verdict: unsupported
    reason:  not in the quote: 4 May 1871
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from citewell.answer.values import Date, Quantity, dates_in, quantities_in
from citewell.check.alignment import substitution
from citewell.text.canonical import folded_text
from citewell.text.languages import is_stop_word

_ORDINALS = {
    word: str(number)
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        start=1,
    )
}
_ORDINAL = re.compile(rf"\b(?:(twenty|thirty|forty|fifty)-)?({'|'.join(_ORDINALS)})\b(?!-)")
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_FRACTIONS = {"half": 50.0, "one half": 50.0, "third": 33.3, "quarter": 25.0, "fifth": 20.0, "tenth": 10.0}
_FRACTION = re.compile(
    r"\b(?:(a|one|two|three|four)[ -])?(half|halves|thirds?|quarters?|fifths?|tenths?)(?= (?:of|the|as)\b)"
    r"|\b(one|two|three|four)[ -](thirds?|quarters?|fifths?|tenths?)\b"
)
_ONE_IN = re.compile(r"\b(\d+|one|two|three) (?:in|out of) (?:every )?(\d+|two|three|four|five|six|eight|ten)\b")
_SMALL = dict(zip("a one two three four five six eight ten".split(), (1, 1, 2, 3, 4, 5, 6, 8, 10), strict=True))
ROUNDED = re.compile(
    r"\b(?:about|around|approximately|nearly|almost|roughly|some|over|under|circa|ca|more than|less than|fewer than"
    r"|at least|no (?:fewer|less) than|up to|close to|just over|just under|an estimated|estimated)(?: the)?\W*$"
)
_MORE_THAN = re.compile(
    r"\b(?:over|above|exceeding|more than|greater than|at least|no (?:fewer|less) than|upwards of)\W*$"
)
_LESS_THAN = re.compile(r"\b(?:under|below|(?<!no )fewer than|(?<!no )less than|at most|up to|no more than)\W*$")
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})[/.](\d{1,2})[/.](\d{4})(?![\d/])")
_DECADE = re.compile(r"(?<!\d)(\d{3}0)'?s\b")
WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_WEEKDAY = re.compile(rf"\b({'|'.join(WEEKDAYS)})s?\b")
_RATIO = re.compile(r"(?<![\d:.])(\d{1,4}) ?: ?(\d{1,4})(?![\d:])")
_LONGEST_SYMBOL = 3
_ROUND_SHARE = 0.06
_PERCENT_SHARE = 1.1
_MOST = 400
# How many of the smallest unit of its kind a unit is, where people convert.
FACTORS = {
    "nm": 1e-6, "µm": 1e-3, "mm": 1.0, "cm": 10.0, "m": 1e3, "km": 1e6,
    "inch": 25.4, "foot": 304.8, "yard": 914.4, "mile": 1.609344e6,
    "mg": 1.0, "g": 1e3, "kg": 1e6, "t": 1e9, "lb": 4.5359e5,
    "ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3, "minute": 6e4, "hour": 3.6e6, "day": 8.64e7, "week": 6.048e8,
    "ml": 1.0, "litre": 1e3, "w": 1.0, "kw": 1e3, "mw": 1e6, "gw": 1e9, "kb": 1.0, "mb": 1e3, "gb": 1e6, "tb": 1e9,
    "month": 1.0, "year": 12.0, "decade": 120.0, "century": 1200.0,
}  # fmt: skip
# Conversions between systems are rounded by those who write them; within one system they are exact.
_ROUGHLY = 0.03
_IMPERIAL = frozenset(("inch", "foot", "yard", "mile", "lb"))


@dataclass(frozen=True, slots=True)
class TextValues:
    """The values of a text, read once."""

    text: str
    quantities: tuple[Quantity, ...]
    dates: tuple[Date, ...]
    ordinals: frozenset[str]
    percents: tuple[float, ...]
    weekdays: frozenset[str]
    bare: frozenset[str]
    decades: frozenset[int]


@lru_cache(maxsize=512)
def read_values(text: str) -> TextValues:
    folded = folded_text(text)
    quantities, dates = tuple(quantities_in(text)), (*dates_in(text), *_slashed(text))
    parts = {str(part) for date in dates for part in (date.year, date.day) if part}
    percents = [float(one.value) for one in quantities if one.unit == "%" and _is_short(one.value)]
    return TextValues(
        text=text,
        quantities=_distinct(quantities),
        dates=dates[:_MOST],
        ordinals=frozenset(_ordinals(folded)),
        percents=tuple([*percents, *_fractions(folded)][:_MOST]),
        weekdays=frozenset(_WEEKDAY.findall(folded)),
        bare=frozenset(one.value for one in quantities) | parts,
        decades=frozenset(int(year) for year in _DECADE.findall(folded)),
    )


def _distinct(quantities: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """Each value with each unit once, as first written."""
    first = {(one.value, one.unit): one for one in reversed(quantities)}
    return tuple(sorted(first.values(), key=lambda one: one.start))[:_MOST]


def _is_short(value: str) -> bool:
    return len(value) <= 15


def shares_in(said: str) -> list[tuple[str, float]]:
    """Shares the claim writes as words, with what they come to in per cent."""
    folded = folded_text(said)
    return [(match.group(), _fractions(f"{match.group()} of")[0]) for match in _FRACTION.finditer(folded)]


def _ordinals(folded: str) -> list[str]:
    return [
        str(_TENS.get(tens, 0) + int(_ORDINALS[word])) for tens, word in _ORDINAL.findall(_FRACTION.sub(" ", folded))
    ]


def _fractions(folded: str) -> list[float]:
    """Shares written as words, in per cent."""
    found: list[float] = []
    for first, second, third, fourth in _FRACTION.findall(folded):
        count, part = first or third, second or fourth
        whole = _FRACTIONS["half" if part.startswith("hal") else part.removesuffix("s")]
        found.append((_SMALL.get(count, 1) if count else 1) * whole)
    for part, whole in _ONE_IN.findall(folded):
        over = _SMALL.get(whole) or (float(whole) if whole.isdigit() and len(whole) < 12 else 0)
        under = _SMALL.get(part) or (float(part) if part.isdigit() and len(part) < 12 else 0)
        if over and under <= over:
            found.append(100.0 * under / over)
    return found


def _slashed(text: str) -> list[Date]:
    """`03/05/1871` in both orders: which one is meant cannot be known."""
    found: list[Date] = []
    for match in _SLASHED.finditer(text):
        first, second, year = int(match[1]), int(match[2]), int(match[3])
        for month, day in ((first, second), (second, first)):
            if 0 < month <= 12 and 0 < day <= 31:
                found.append(Date(year, month, day, match.start(), match.end()))
    return found


def missing_values(said: str, quoted: str) -> list[str]:
    """What the claim states and the quotes do not, as the claim writes it."""
    claim, given = read_values(said), read_values(quoted)
    slashed = {(date.start, date.end): date for date in _slashed(said)}
    found = [said[one.start : one.end] for one in claim.quantities if not _is_given(one, said, given, slashed)]
    found += [said[date.start : date.end] for date in claim.dates if not _is_dated(date, given, slashed, said)]
    found += [
        part for part, share in shares_in(said) if not any(abs(share - one) < _PERCENT_SHARE for one in given.percents)
    ]
    spelt = [_in_words(one) for one in sorted(claim.ordinals - given.ordinals - given.bare - {"1", "2"})]
    found += spelt
    found += _turned_ratios(said, quoted)
    found += [day.capitalize() for day in sorted(claim.weekdays - given.weekdays)]
    return list(dict.fromkeys(found))


def _turned_ratios(said: str, quoted: str) -> list[str]:
    """`2:3` where the quotes have 3:2."""
    told = {(match[1], match[2]) for match in _RATIO.finditer(quoted)}
    pairs = [(match.group(), (match[1], match[2])) for match in _RATIO.finditer(said)]
    return [text for text, pair in pairs if pair not in told and pair[::-1] in told]


def _in_words(ordinal: str) -> str:
    return next((word for word, number in _ORDINALS.items() if number == ordinal), f"{ordinal}th")


def _is_given(one: Quantity, said: str, given: TextValues, slashed: dict[tuple[int, int], Date]) -> bool:
    if any(start <= one.start < end for start, end in slashed):
        return True
    same = [other for other in given.quantities if _is_same(one, other)]
    if same:
        # The number alone, without a unit, says less than the same number with another unit.
        if all(_bound(said, one) * _bound(given.text, other) < 0 for other in same):
            return False
        exact = any(other.measure is not None or one.measure is None for other in same)
        return exact or not any(_is_of_other_unit(one, other) for other in given.quantities)
    if one.measure is None and (one.value in given.ordinals or one.value in given.bare - _values_of(given)):
        return True
    if one.unit == "%" and _is_short(one.value):
        share = _PERCENT_SHARE if "." not in one.value else 0.05
        return any(
            abs(float(one.value) - other) < share for other in given.percents if not float(other).is_integer()
        ) or (float(one.value) in given.percents)
    if _spells_share(said, one):
        return any(abs(_share_of(said, one) - other) < _PERCENT_SHARE for other in given.percents)
    if one.value == "1" and said[one.start : one.end].lower() == "one":
        return True  # "one of", "one another": a pronoun far more often than a number
    if ROUNDED.search(folded_text(said[max(0, one.start - 24) : one.start])):
        return any(_is_near(one, other) for other in given.quantities)
    return False


def _values_of(given: TextValues) -> frozenset[str]:
    return frozenset(one.value for one in given.quantities)


def _spells_share(said: str, one: Quantity) -> bool:
    """Whether a number is part of a share written in words: the `three` of `three quarters of`."""
    return _FRACTION.match(folded_text(said[one.start : one.start + 40])) is not None


def _share_of(said: str, one: Quantity) -> float:
    return next(iter(_fractions(folded_text(said[one.start : one.start + 40]))), -1.0)


def _bound(text: str, one: Quantity) -> int:
    """1 for a number that is said to be exceeded, -1 for one that is said not to be reached, 0 for any other."""
    before = folded_text(text[max(0, one.start - 16) : one.start])
    return bool(_MORE_THAN.search(before)) - bool(_LESS_THAN.search(before))


def _is_of_other_unit(one: Quantity, other: Quantity) -> bool:
    return one.value == other.value and one.measure == other.measure is not None and one.unit != other.unit


def _is_same(one: Quantity, other: Quantity) -> bool:
    """The same number and not of two known units, or the same amount in another unit of its kind."""
    if one.value == other.value and one.unit == other.unit:
        return True
    if one.value == other.value and (one.measure is None or other.measure is None):
        # `40 mm` is not said by 40 of something that is no known unit.
        return one.measure is None or not _is_symbol(other.unit)
    if one.measure is None or one.measure != other.measure or not (_is_short(one.value) and _is_short(other.value)):
        return False
    if one.unit not in FACTORS or other.unit not in FACTORS or one.unit == other.unit:
        return False
    ours, theirs = float(one.value) * FACTORS[one.unit], float(other.value) * FACTORS[other.unit]
    roughly = _ROUGHLY if (one.unit in _IMPERIAL) != (other.unit in _IMPERIAL) else 1e-9
    return _same_system(one.unit, other.unit) and abs(ours - theirs) <= roughly * max(ours, theirs)


def _is_symbol(unit: str) -> bool:
    """Whether what follows a number looks like the sign of a unit: short, and no word of grammar."""
    return 0 < len(unit) <= _LONGEST_SYMBOL and not is_stop_word(unit)


def _same_system(one: str, other: str) -> bool:
    """Months and years convert into each other, not into days."""
    long = frozenset(("month", "year", "decade", "century"))
    return (one in long) == (other in long)


def _is_near(one: Quantity, other: Quantity) -> bool:
    if not (_is_short(one.value) and _is_short(other.value)):
        return False
    if one.measure and other.measure and one.unit != other.unit:
        return False
    if _figures(one.value) >= _figures(other.value):
        return False
    ours, theirs = float(one.value), float(other.value)
    return abs(ours - theirs) <= _ROUND_SHARE * max(ours, theirs)


def _figures(value: str) -> int:
    """How many figures say something: 2 for 4,500 and for 0.045."""
    return len(value.replace(".", "").strip("0"))


def _is_dated(date: Date, given: TextValues, slashed: dict[tuple[int, int], Date], said: str) -> bool:
    place = (date.start, date.end)
    readings = [date] if place not in slashed else _slashed(said[date.start : date.end])
    if any(one.is_stated_by(other) for one in readings for other in given.dates):
        return True
    if date.month and not date.day and not date.year and said[date.start : date.end].lower().endswith("may"):
        return True
    if not date.month:
        return str(date.year) in given.bare or _in_decade(date, said, given)
    # "On 3 May", and the year in another sentence.
    parts = (Date(date.year, 0, 0, 0, 0), Date(0, date.month, date.day, 0, 0))
    return bool(date.year and date.day) and all(
        any(part.is_stated_by(other) for other in given.dates) for part in parts
    )


def _in_decade(date: Date, said: str, given: TextValues) -> bool:
    """`the 1870s` for a year of them."""
    is_decade = said[date.start : date.end].endswith("s")
    return is_decade and any(date.year <= other.year < date.year + 10 for other in given.dates)


# Signs that carry meaning beside a number: minus, comparisons, currencies, exponents, percentage points. Pure.
#
# The same digits with another sign are another value: −5 °C is not 5 °C, < 3 is not > 3, €40 is not $40, 10⁶ is not
# 10³, a rise by 2 percentage points is no rise by 2 %, and 5 % is not 5. A claim may state less than the sentence:
# "at least 5" where it says 5 or more than 5.
#
# Example:
#     claim:   At night it fell to -5 °C.
#     passage: At night it fell to −5 °C on the pass.
#     verdict: supported
#
# Example:
#     claim:   At night it fell to 5 °C.
#     passage: At night it fell to −5 °C on the pass.
#     verdict: contradicted
#     reason:  the quote has '−5 °C' where this has '5 °C'
#
# Example:
#     claim:   The rate rose by 5.
#     passage: The rate rose by 5 % in May.
#     verdict: unsupported
#     reason:  the quote has '5 %' where this has '5'
#
# Example:
#     claim:   The ticket costs $40.
#     passage: The ticket costs €40.
#     verdict: contradicted
#     reason:  the quote has '€40' where this has '$40'


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
_APPROXIMATE = re.compile(
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
# `5 %`, `5 percent`, and the first number of `5 to 10 %`.
_PERCENT = re.compile(
    r"(?:\s?(?:-|–|to|and|or|bis|und|oder|à|et|ou)\s?\d+(?:[.,]\d+)?)?[\s-]?(?:%|per ?cent|prozent|pour ?cent)"
)
# A header or a label says that the numbers below it are shares.
_SHARES = re.compile(r"(?<![\d\s])\s?%|\bper ?cent(?:age)?s?\b|\bprozent|\bpourcent")
_HALF_DAY = re.compile(r"(?::\d\d)?\s?([ap])\.?m\b")


@dataclass(frozen=True, slots=True)
class SignedNumber:
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
def signed_numbers(text: str) -> tuple[SignedNumber, ...]:
    """The numbers of a text with their signs."""
    folded = text.lower()
    if len(folded) != len(text):
        return ()
    found: list[SignedNumber] = []
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
            SignedNumber(
                digits=digits.lstrip("0") or "0",
                negative=bool(match["sign"] or match["sign2"]) or _is_minus(folded, match.start("digits")),
                bound=_limit_sign(folded, match),
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


def _limit_sign(folded: str, match: re.Match[str]) -> str:
    if match["bound"] in ("~", "≈", "±"):
        return "~"
    if match["bound"] in _BOUNDS:
        return _BOUNDS[match["bound"]]
    start = min(match.start(name) for name in ("sign", "before", "digits") if match[name])
    before = folded[max(0, start - _REACH) : start].rstrip("$€£¥₹ ") + " "
    after = folded[match.end() : match.end() + _REACH]
    for pattern, bound in ((_AT_LEAST, "≥"), (_AT_MOST, "≤"), (_MORE, ">"), (_LESS, "<"), (_APPROXIMATE, "~")):
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


def _agrees(told: SignedNumber, said: SignedNumber) -> bool:
    return (
        told.negative == said.negative
        and (told.bound, said.bound) in _PROVES
        and (told.money == said.money or not (told.money and said.money))
        and told.power == said.power
        and told.points == said.points
        and told.percent == said.percent
        and not _is_other_half(told, said)
    )


def _is_other_half(told: SignedNumber, said: SignedNumber) -> bool:
    return bool(told.half_day and said.half_day) and told.half_day != said.half_day


def _differences(told: SignedNumber, said: SignedNumber) -> int:
    return sum(
        (told.negative != said.negative, told.bound != said.bound, told.money != said.money, told.power != said.power)
    )


def _shown(one: SignedNumber) -> str:
    words = {">": "more than ", "<": "less than ", "≥": "at least ", "≤": "at most ", "~": "about "}
    return f"{words.get(one.bound, '')}{one.written.lstrip('<>≤≥~≈= ')}"


def spoken_signs(text: str) -> str:
    """The signs of a text that no word carries, for comparing two texts to the letter."""
    folded = folded_text(text)
    kept = re.findall(r"[<>≤≥≠=±→⇒←×^°%€$£¥₹]|(?<![\w)\]])[-−–](?=[\d.])", folded)
    return "".join("-" if one in _MINUS else one for one in kept)
