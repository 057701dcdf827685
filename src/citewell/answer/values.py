"""Values in a text: quantities with their units, dates, and where a text denies something. Pure.

Two spellings of one value compare equal: `1,850` and `1850`, `fifty` and `50`, `14 November 1859` and `1859-11-14`,
`72 per cent` and `72 %`. English words and the usual symbols only; other languages are compared by their digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from citewell.text.canonical import fold, folded_text
from citewell.text.languages import is_stop_word

_SMALL = {
    word: number
    for number, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen""".split()
    )
}
_TENS = {
    word: 10 * number
    for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "trillion": 10**12}
_MONTHS = {
    name: number
    for number, names in enumerate(
        """january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct
        |november nov|december dec""".split("|"),
        start=1,
    )
    for name in names.split()
}
MONTH_NAMES = ("", *(name for name in _MONTHS if len(name) > 4 or name in ("may", "june", "july")))
NUMBER_WORDS = {str(number): word for word, number in {**_SMALL, **_TENS}.items()}
# Every spelling of a unit, by the name under which it is compared and by what it measures.
UNITS: dict[str, tuple[str, str]] = {
    spelling: (name, measure)
    for measure, groups in {
        "length": "m metre metres meter meters|km kilometre kilometres kilometer kilometers|cm centimetre centimetres "
        "centimeter centimeters|mm millimetre millimetres millimeter millimeters"
        "|µm μm micrometre micrometres micron microns"
        "|nm nanometre nanometres|mile miles mi|foot feet ft|inch inches"
        "|yard yards",
        "weight": "kg kilogram kilograms kilo kilos|g gram grams|t tonne tonnes ton tons|lb lbs pound-weight|mg",
        "temperature": "°c ºc c celsius degrees degree|°f fahrenheit|kelvin",
        "duration": "s second seconds sec secs|minute minutes min mins|hour hours h hr hrs|day days|week weeks|month "
        "months|year years|decade decades|century centuries|ms millisecond milliseconds"
        "|µs μs microsecond microseconds|ns nanosecond nanoseconds",
        "money": "£ gbp pound pounds|$ usd dollar dollars|€ eur euro euros|p pence penny|¥ yen|cent cents",
        "percentage": "% percent percentage|per-cent",
        "energy": "kwh|mwh|gwh|kw kilowatt kilowatts|mw megawatt megawatts|gw gigawatt gigawatts|w watt watts"
        "|wh|kj|kcal",
        "area": "hectare hectares ha|acre acres|km2|m2",
        "volume": "litre litres liter liters l|gallon gallons|ml",
        "data": "kb|mb|gb|tb|byte bytes|bit bits|kib|mib|gib",
        "speed": "m/s|km/h|mph|knot knots",
    }.items()
    for group in groups.split("|")
    for name in [group.split()[0]]
    for spelling in group.split()
}
_TWO_WORD_UNITS = {
    ("per", "cent"): "%",
    ("kilowatt", "hours"): "kwh",
    ("kilowatt", "hour"): "kwh",
    ("megawatt", "hours"): "mwh",
    ("megawatt", "hour"): "mwh",
    ("degrees", "celsius"): "°c",
}
_NUMBER_WORDS = "|".join((*_SMALL, *_TENS, "hundred", "thousand", "million", "billion", "trillion"))
_MONTH_NAMES = "|".join(_MONTHS)
_ISO = re.compile(r"(?<![\d-])(\d{4})-(\d{2})(?:-(\d{2}))?(?![\d-])")
_ISO_BASIC = re.compile(r"(?<![\w.,-])((?:19|20)\d{2})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?![\w-])")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_MONTH_NAMES})\b\.?(?:,? (\d{{4}})\b)?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH_NAMES})\b\.? (?:(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (\d{{4}})\b)?|(\d{{4}})\b)")
_YEAR = re.compile(r"(?<![\w.,£$€-])(1\d{3}|20\d{2})(?:s\b)?(?![\d%])(?![.,]\d)")
_MONTH_ALONE = re.compile(
    r"\b(january|february|march|april|june|july|august|september|october|november|december|in may|early may|late may)\b"
)
_DIGITS = re.compile(r"(?<![\w.])([£$€¥])?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)")
# "Two hundred and five" is one number, "six and twelve" are two.
_SPELLED = re.compile(
    rf"\b(?:{_NUMBER_WORDS})(?:(?:[ -]|(?<=hundred) and |(?<=thousand) and |(?<=million) and )(?:{_NUMBER_WORDS}))*\b"
)
_AFTER_NUMBER = re.compile(r"[ \u00a0-]?(°[cf]|%|[^\W\d_]+(?:/[hs])?)(?: ([^\W\d_]+))?")
_SCALE_AFTER = re.compile(r" ?(hundred|thousand|million|billion|trillion|bn|mn)\b")
_DIGIT_BEFORE = re.compile(r"\d $")
_DENIAL = re.compile(
    r"\b(?:not|never|no longer|cannot|no|none|nobody|nothing|neither|nor|without|\w+n't|failed to|denied|refused)\b"
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number, the same however it is written; `unit` is its unit's name or the noun it counts."""

    value: str
    unit: str
    start: int
    end: int

    @property
    def measure(self) -> str | None:
        known = UNITS.get(self.unit)
        return known[1] if known else None


@dataclass(frozen=True, slots=True)
class Date:
    """A date as far as it is stated; 0 stands for a part left open."""

    year: int
    month: int
    day: int
    start: int
    end: int

    @property
    def stated(self) -> str:
        parts = [f"{self.year:04d}" if self.year else "", f"{self.month:02d}" if self.month else ""]
        return "-".join([*parts, f"{self.day:02d}" if self.day else ""]).strip("-")

    def agrees_with(self, other: Date) -> bool:
        """Whether both can be the same day: every part that both state is equal, and they share one."""
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        shared = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
        return bool(shared) and all(ours == theirs for ours, theirs in shared)

    def is_stated_by(self, other: Date) -> bool:
        """Whether the other date says at least as much as this one, and the same."""
        pairs = ((self.year, other.year), (self.month, other.month), (self.day, other.day))
        return all(ours in (0, theirs) for ours, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Denial:
    """A word that denies, and the stretch it denies: up to the next pause."""

    word: str
    start: int
    end: int


def dates_in(text: str) -> list[Date]:
    """The dates of a text in order, the most specific reading of each."""
    folded = fold(text)
    found: list[Date] = []
    taken = bytearray(len(text))
    for pattern, read in _DATE_READERS:
        for match in pattern.finditer(folded.text):
            start, end = folded.source_span(match.start(), match.end())
            year, month, day = read(match)
            if month <= 12 and day <= 31 and 1 not in taken[start:end]:
                found.append(Date(year, month, day, start, end))
                taken[start:end] = b"\1" * (end - start)
    return sorted(found, key=lambda date: date.start)


def _read_iso(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match[1]), int(match[2]), int(match[3] or 0)


def _read_day_first(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match[3] or 0), _MONTHS[match[2]], int(match[1])


def _read_month_first(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match[3] or match[4] or 0), _MONTHS[match[1]], int(match[2] or 0)


def _read_year(match: re.Match[str]) -> tuple[int, int, int]:
    return int(match[1]), 0, 0


def _read_month(match: re.Match[str]) -> tuple[int, int, int]:
    return 0, _MONTHS[match[1].split()[-1]], 0


_DATE_READERS = (
    (_ISO, _read_iso),
    (_ISO_BASIC, _read_iso),
    (_DAY_FIRST, _read_day_first),
    (_MONTH_FIRST, _read_month_first),
    (_YEAR, _read_year),
    (_MONTH_ALONE, _read_month),
)


def quantities_in(text: str) -> list[Quantity]:
    """The numbers of a text that are no part of a date, in order."""
    taken = bytearray(len(text))
    for date in dates_in(text):
        taken[date.start : date.end] = b"\1" * (date.end - date.start)
    folded = fold(text)
    found: list[Quantity] = []
    for match in _DIGITS.finditer(folded.text):
        start, end = folded.source_span(match.start(), match.end())
        if 1 not in taken[start:end]:
            found.append(_quantity(folded.text, match, start, end))
    for match in _SPELLED.finditer(folded.text):
        start, end = folded.source_span(match.start(), match.end())
        if 1 not in taken[start:end] and not _DIGIT_BEFORE.search(
            folded.text[max(0, match.start() - 2) : match.start()]
        ):
            unit = _unit_after(folded.text, match.end())
            found.append(Quantity(str(_spelled_value(match.group())), unit, start, end))
    return sorted(found, key=lambda quantity: (quantity.start, quantity.end))


def _quantity(folded: str, match: re.Match[str], start: int, end: int) -> Quantity:
    value = match[2].replace(",", "")
    scale = _SCALE_AFTER.match(folded, match.end())
    if scale and len(value) <= 12:
        value = _scaled(value, _SCALES.get(scale[1], 1_000_000 if scale[1] == "mn" else 1_000_000_000))
    unit = _unit_after(folded, scale.end() if scale else match.end())
    return Quantity(_canonical(value), UNITS[match[1]][0] if match[1] else unit, start, end)


def _canonical(value: str) -> str:
    """Without leading zeros, and without trailing ones after the point."""
    whole, _, fraction = value.partition(".")
    fraction = fraction.rstrip("0")
    whole = whole.lstrip("0") or "0"
    return f"{whole}.{fraction}" if fraction else whole


def _scaled(value: str, scale: int) -> str:
    whole, _, fraction = value.partition(".")
    digits = len(str(scale)) - 1
    moved = whole + fraction[:digits].ljust(digits, "0")
    return f"{moved}.{fraction[digits:]}" if fraction[digits:] else moved


def _unit_after(folded: str, at: int) -> str:
    """The unit or noun that follows a number, by its compared name."""
    match = _AFTER_NUMBER.match(folded, at)
    if match is None:
        return ""
    first, second = match[1], match[2] or ""
    if (first, second) in _TWO_WORD_UNITS:
        return _TWO_WORD_UNITS[first, second]
    return UNITS.get(first, (first, ""))[0]


def _spelled_value(words: str) -> int:
    """`two hundred and fifty` is 250; scales multiply what stands before them."""
    total, current = 0, 0
    for word in re.split(r"[ -]", words):
        if word in _SMALL or word in _TENS:
            current += _SMALL.get(word, 0) + _TENS.get(word, 0)
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in _SCALES:
            total += max(current, 1) * _SCALES[word]
            current = 0
    return total + current


def denials_in(text: str) -> list[Denial]:
    """Where a text denies something, each with the stretch up to the next pause."""
    folded = fold(text)
    found: list[Denial] = []
    for match in _DENIAL.finditer(folded.text):
        pause = _PAUSE.search(folded.text, match.end(), match.end() + _DENIED_REACH)
        last = pause.start() if pause else min(len(folded.text), match.end() + _DENIED_REACH)
        start, end = folded.source_span(match.start(), max(last, match.end()))
        found.append(Denial(match.group(), start, end))
    return found


_DENIED_REACH = 120
_PAUSE = re.compile(r"[,;:.!?—–](?=\s|$|[\"'*])|\b(?:but|although|because|which)\b")


# Names in a text: people, places, organisations, products, as far as spelling shows them. Pure.
#
# A word is a name where it is capitalised inside a sentence. The first word of a sentence is capitalised anyway; it is
# taken for a name only where the evidence spells it so elsewhere and never in lower case. Scripts without capitals have
# no names here.


_WORD = re.compile(r"[^\W\d_][\w'’&-]*")
_NO_NAMES = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday mr mrs ms dr""".split()
)
_STARTS = re.compile(r"(?:^|[.!?:;…|]\s+[\"'“‘(*]?|\n\W*|^[\"'“‘(*]+)$")


@dataclass(frozen=True, slots=True)
class WordCase:
    """How a text spells its words: in lower case, and with a capital inside a sentence."""

    lower: frozenset[str]
    upper: frozenset[str]

    @classmethod
    def of(cls, text: str, titles: str = "") -> WordCase:
        lower: set[str] = set()
        upper = set(_WORD.findall(titles))
        for match in _WORD.finditer(text):
            word = match.group()
            if word[0].islower():
                lower.add(word)
            elif word not in upper and not _is_first(text, match.start()):
                upper.add(word)
        return cls(frozenset(map(_folded, lower)), frozenset(map(_folded, upper)))


def names_in(text: str, spelling: WordCase) -> list[str]:
    """The folded words of a text that name something, in order."""
    found: list[str] = []
    for match in _WORD.finditer(text):
        folded = _folded(match.group())
        if not match.group()[0].isupper() or is_stop_word(folded) or folded in _NO_NAMES or len(folded) < 2:
            continue
        if _is_first(text, match.start()) and (folded in spelling.lower or folded not in spelling.upper):
            continue
        found.append(folded)
    return found


def _is_first(text: str, at: int) -> bool:
    return _STARTS.search(text[max(0, at - 4) : at]) is not None if at >= 4 else not text[:at].strip("\"'“‘(* ")


def _folded(word: str) -> str:
    return folded_text(word).removesuffix("'s")
