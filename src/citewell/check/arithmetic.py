"""Simple reckoning with quoted numbers: sum, difference, ratio, share, change, age, duration. Pure.

A claim says which of them it means (`together`, `longer than`, `three times`, `of`, `rose by`, `aged`, `for 12 years`);
the numbers have to be those of the things it names. What comes out right is proven if all else the claim says is in the
quote; what comes out wrong is contradicted where no other numbers can be meant. Anything less clear is left alone.
Rounding is accepted to the figures given, and more only where the claim says "about".

Example:
    claim:   Rent and heating come to 790 euros together.
    passage: Rent is 700 euros, heating 90 euros.
    verdict: supported
    reason:  700 euros + 90 euros = 790 euros

Example:
    claim:   Rent and heating come to 820 euros together.
    passage: Rent is 700 euros, heating 90 euros.
    verdict: contradicted
    reason:  700 euros + 90 euros is not 820 euros

Example:
    claim:   Pell kept the lamp for twelve years.
    passage: Pell kept the lamp from 1859 until 1871.
    verdict: supported
    reason:  1871 − 1859 = twelve years
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from citewell.answer.values import Date, Quantity, dates_in, quantities_in
from citewell.check.lexicon import word_groups, word_list
from citewell.check.numbers import FACTORS, ROUNDED, missing_values
from citewell.check.tokens import content_stems
from citewell.text.canonical import folded_text

# Which quoted numbers a claim reckons with: each in its clause, with the words that say what it is of. Pure.
#
# A clause ends at a comma, a semicolon, a line, or `and` before the next number. A number belongs to a word of the
# claim where that word stands in its clause and in no other clause with such a number.
#
# Example:
#     claim:   The Ada and the Bell carry 70 tonnes together.
#     passage: The Ada carries 40 tonnes, the Bell 30 tonnes and the Cora 20 tonnes.
#     verdict: supported
#     reason:  40 tonnes + 30 tonnes = 70 tonnes
#
# Example:
#     claim:   The Ada and the Bell carry 90 tonnes together.
#     passage: The Ada carries 40 tonnes, the Bell 30 tonnes and the Cora 20 tonnes.
#     verdict: contradicted
#     reason:  40 tonnes + 30 tonnes is not 90 tonnes


_CLAUSE_END = re.compile(r"[;\n|]|,(?!\d)|[.!?](?=\s|$)|\s(?:and|plus|but|while|whereas|und|sowie|et)\s|\s[–—]\s")
_LONGEST = 15
_MOST = 60


@dataclass(frozen=True, slots=True)
class Operand:
    """A number of the quote: its amount in the smallest unit of its kind, how it is written, what its clause names."""

    amount: Fraction
    kind: str
    written: str
    stems: frozenset[str]
    start: int
    end: int


@lru_cache(maxsize=256)
def operands_in(text: str) -> tuple[Operand, ...]:
    """The numbers of a text that can be reckoned with, in order."""
    bounds = [0, *(match.end() for match in _CLAUSE_END.finditer(text)), len(text)]
    found: list[Operand] = []
    for one in quantities_in(text)[:_MOST]:
        if len(one.value) > _LONGEST:
            continue
        start = max(at for at in bounds if at <= one.start)
        end = min((at for at in bounds if at >= one.end), default=len(text))
        amount, kind = measured(one)
        stems = content_stems(text[start:end])
        found.append(Operand(amount, kind, written(text, one), stems, one.start, one.end))
    return tuple(found)


def measured(one: Quantity) -> tuple[Fraction, str]:
    """A number in the smallest unit of its kind, and that kind; what is counted is a kind too."""
    factor = FACTORS.get(one.unit)
    if factor is None:
        return Fraction(one.value), one.unit if one.measure else ""
    system = "months" if one.unit in ("month", "year", "decade", "century") else ""
    return Fraction(one.value) * Fraction(str(factor)), f"{one.measure}{system}"


def written(text: str, one: Quantity) -> str:
    """A number as it stands, with its unit where that is one."""
    rest = text[one.end : one.end + 12]
    unit = re.match(r"\s?(?:%|°?[^\W\d_]+)", rest) if one.measure else None
    return text[one.start : one.end] + (unit.group() if unit else "")


def bound_to(operands: Sequence[Operand], words: frozenset[str]) -> list[Operand]:
    """The numbers whose clause has one of these words that no other clause with such a number has."""
    shared = [one.stems & words for one in operands]
    return [
        one
        for at, one in enumerate(operands)
        if shared[at] - frozenset[str]().union(*(other for n, other in enumerate(shared) if n != at))
    ]


def joined_with(text: str, operands: Sequence[Operand]) -> bool:
    """Whether the numbers are one list: each follows `and`, `plus` or a comma at once."""
    return all(
        re.search(r"(?:,|\b(?:and|plus|und|sowie|et))\s*(?:the |a |an |another |[$€£¥])?$", text[: one.start])
        for one in operands[1:]
    )


@dataclass(frozen=True, slots=True)
class Stretch:
    """Two dates with what lies between them."""

    first: Date
    last: Date


_BETWEEN = re.compile(r"\s*(?:to|until|till|and|through|bis|und|à|et|[-–—])\s*(?:the )?$")
_BEFORE = re.compile(r"\b(?:from|between|since|von|zwischen|de|entre)\s+(?:the )?$|\(\s*$|[:,]\s*$|\s$", re.I)


def stretches_in(text: str) -> list[Stretch]:
    """`from 1859 until 1871`, `between 3 and 17 May 1871`, `1859–1871`."""
    dates = dates_in(text)[:_MOST]
    found: list[Stretch] = []
    for one, other in pairwise(dates):
        between = text[one.end : other.start]
        if len(between) <= _LONGEST and _BETWEEN.fullmatch(between) and _BEFORE.search(text[: one.start] or " "):
            found.append(Stretch(one, other))
    return found


_TOGETHER = re.compile(
    r"\b(?:together|altogether|in total|total(?:s|ling|ing)?|combined|in all|in sum|sum of|adds? up to|comes? to"
    r"|came to|zusammen|insgesamt|en tout|au total)\b"
)
_THAN = re.compile(r"\b(?:than|als)\b")
_TIMES = re.compile(
    r"\b(\d+(?:\.\d+)?|two|three|four|five|six|seven|eight|nine|ten) times (?:as |the |more)"
    r"|\b(twice|double|half) (?:as|the)\b"
)
_TIMES_WORDS = dict(
    zip("two three four five six seven eight nine ten twice double".split(), (*range(2, 11), 2, 2), strict=True)
)
_BY = re.compile(r"\b(?:by|um|de)\s(?:about |around |roughly |nearly |almost |some )?$")
_FROM_TO = re.compile(r"\b(?:from|von|de)\b(.{1,40}?)\b(?:to|auf|à)\b")
_OUT_OF = re.compile(r"\b(?:of|out of)\s(?:the |its |their |all |our )?$")
_AGED = re.compile(r"\b(?:aged|at the age of|age of|at)\s(?:about |around )?$")
_YEARS_OLD = re.compile(r"^\s?(?:years? old|jahre alt|ans)\b")
_LASTING = re.compile(
    r"\b(?:for|lasted|lasting|over|took|after|within|während|lang|pendant|durant)\s"
    r"(?:about |around |nearly |almost |roughly )?$"
)
_ABOUT = Fraction(6, 100)
# A sentence with more numbers is a table or an attack: nobody reckons in it.
_MOST_NUMBERS = 40
_DAYS = {"day": 1, "week": 7}


@dataclass(frozen=True, slots=True)
class Calculation:
    """What a number of the claim comes to from quoted ones: right or wrong, and the sum in words."""

    holds: bool
    reason: str
    value: str
    # Words of the claim that name the operation and need not stand in the quote.
    words: frozenset[str]


def reckoned(said: str, quoted: str) -> Calculation | None:
    """What a number that a claim reckons comes to; None where it reckons nothing, or it is not clear with what."""
    numbers = quantities_in(said)
    if len(numbers) > _MOST_NUMBERS:
        return None
    told = operands_in(quoted)
    missing = missing_values(said, quoted)
    for one in numbers:
        if len(one.value) > 12:
            continue
        # A total may be given wrongly by one of its parts; any other number that the quote gives needs no reckoning.
        is_given = said[one.start : one.end] not in missing
        for way in (_sum,) if is_given else (_sum, _difference, _change, _share, _age, _duration):
            if (found := way(one, said, quoted, told)) is not None:
                return found
    return None if _TIMES.search(folded_text(quoted)) else _ratio(said, told)


def _like(one: Quantity, told: Sequence[Operand]) -> list[Operand]:
    """The quoted numbers of the same kind; a kind that one side leaves open is the other's."""
    _, kind = measured(one)
    same = [other for other in told if other.kind == kind]
    return same if same or kind else [other for other in told if not other.kind]


def _told_by(one: Quantity, said: str, exact: Fraction, sum_of: str, cue: str) -> Calculation:
    amount, _ = measured(one)
    holds = _is_close(amount, exact, one, said)
    value = written(said, one)
    reason = f"{sum_of} = {value}" if holds else f"{sum_of} is not {value}"
    return Calculation(holds, reason, said[one.start : one.end], content_stems(cue) | word_list("reckoning"))


def _is_close(amount: Fraction, exact: Fraction, one: Quantity, said: str) -> bool:
    if amount == exact:
        return True
    if ROUNDED.search(folded_text(said[max(0, one.start - 24) : one.start])):
        return abs(amount - exact) <= _ABOUT * abs(exact)
    figures = len(one.value.partition(".")[2])
    return exact.denominator != 1 and abs(Fraction(one.value) - exact) <= Fraction(1, 2 * 10**figures)


def _sum(one: Quantity, said: str, quoted: str, told: Sequence[Operand]) -> Calculation | None:
    cue = _TOGETHER.search(folded_text(said))
    if cue is None or _TOGETHER.search(folded_text(quoted)):
        return None
    like = _like(one, told)
    words = content_stems(said)
    parts = bound_to(like, words)
    if len(parts) < 2 or any(part.stems - words - content_stems(part.written) for part in parts):
        parts = like if joined_with(quoted, like) else []
    if len(parts) < 2:
        return None
    total = sum((part.amount for part in parts), Fraction(0))
    return _told_by(one, said, total, " + ".join(part.written for part in parts), cue.group())


def _difference(one: Quantity, said: str, quoted: str, told: Sequence[Operand]) -> Calculation | None:
    folded = folded_text(said)
    than = _THAN.search(folded)
    if than is None or one.start > than.start() or one.unit == "%" or _TIMES.search(folded):
        return None
    words = set(re.findall(r"\w+", folded[: than.start()]))
    sign = bool(words & word_list("upwards")) - bool(words & word_list("downwards"))
    left, right = content_stems(said[: than.start()]), content_stems(said[than.end() :])
    like = _like(one, told)
    ours, theirs = bound_to(like, left - right), bound_to(like, right - left)
    if not sign or len(ours) != 1 or len(theirs) != 1 or ours == theirs or not _is_measured(words, quoted):
        return None
    return _told_by(
        one,
        said,
        sign * (ours[0].amount - theirs[0].amount),
        f"{ours[0].written} − {theirs[0].written}",
        " ".join(words),
    )


def _is_measured(words: set[str], quoted: str) -> bool:
    """Whether the quote speaks of what is compared: of width where the claim has `wider`."""
    told = set(re.findall(r"\w+", folded_text(quoted)))
    return all(group & told for group in word_groups("dimensions") if group & words)


def _change(one: Quantity, said: str, quoted: str, told: Sequence[Operand]) -> Calculation | None:
    folded = folded_text(said)
    if not _BY.search(folded[: one.start]):
        return None
    words = set(re.findall(r"\w+", folded[: one.start]))
    sign = bool(words & word_list("rising")) - bool(words & word_list("falling"))
    spans = list(_FROM_TO.finditer(folded_text(quoted)))
    if not sign or len(spans) != 1:
        return None
    start = spans[0].start()
    pair = [other for other in told if other.start >= start][:2]
    kinds = {other.kind for other in pair if other.kind}
    if len(pair) < 2 or len(kinds) > 1 or pair[0].start > spans[0].end() or not pair[0].amount:
        return None
    first, last = (other.amount for other in pair)
    cue = " ".join(words & (word_list("rising") | word_list("falling")))
    sum_of = f"{pair[1].written} − {pair[0].written}"
    if (
        one.unit == "%"
        and "%" not in kinds
        and not re.match(r"\s?(?:%|per ?cent)?\s?(?:percentage )?points", folded[one.end :])
    ):
        return _told_by(one, said, sign * (last - first) * 100 / first, f"({sum_of}) / {pair[0].written}", cue)
    _, kind = measured(one)
    return _told_by(one, said, sign * (last - first), sum_of, cue) if not kinds or not kind or kind in kinds else None


def _share(one: Quantity, said: str, quoted: str, told: Sequence[Operand]) -> Calculation | None:
    """`40% of the eggs hatched` where 12 of 30 did."""
    if one.unit != "%" or not re.match(r"\s?(?:%|per ?cent) of\b", folded_text(said[one.end :])):
        return None
    counts = [other for other in told if not other.kind]
    pairs = [(part, whole) for part, whole in pairwise(counts) if _OUT_OF.search(quoted[part.end : whole.start])]
    if len(counts) != 2 or len(pairs) != 1 or not pairs[0][1].amount:
        return None
    part, whole = pairs[0]
    return _told_by(one, said, 100 * part.amount / whole.amount, f"{part.written} / {whole.written}", "")


def _ratio(said: str, told: Sequence[Operand]) -> Calculation | None:
    """`three times as long as`, `twice the price of`."""
    folded = folded_text(said)
    match = _TIMES.search(folded)
    if match is None:
        return None
    word = match[1] or match[2]
    factor = Fraction(1, 2) if word == "half" else Fraction(_TIMES_WORDS.get(word) or word)
    join = re.search(r"\b(?:as|than|of)\b", folded[match.end() + 2 :])
    middle = match.end() + 2 + join.start() if join else match.end()
    left, right = content_stems(said[: match.start()]), content_stems(said[middle:])
    for kind in dict.fromkeys(one.kind for one in told):
        like = [one for one in told if one.kind == kind]
        ours, theirs = bound_to(like, left - right), bound_to(like, right - left)
        if len(ours) == len(theirs) == 1 and ours != theirs and theirs[0].amount:
            exact = ours[0].amount / theirs[0].amount
            before = folded[max(0, match.start() - 24) : match.start()]
            about = ROUNDED.search(before)
            if re.search(r"\b(?:than|least|most|to)\W*$", before):
                return None  # a bound, which is not reckoned
            holds = exact == factor or bool(about and abs(exact - factor) <= _ABOUT * factor)
            sum_of = f"{ours[0].written} / {theirs[0].written}"
            reason = f"{sum_of} = {_shown(exact)}" if holds else f"{sum_of} is {_shown(exact)}, not {_shown(factor)}"
            return Calculation(holds, reason, word, content_stems(match.group()) | word_list("reckoning"))
    return None


def _shown(number: Fraction) -> str:
    return str(number.numerator) if number.denominator == 1 else f"{float(number):.4g}"


def _age(one: Quantity, said: str, quoted: str, told: Sequence[Operand]) -> Calculation | None:
    """`died aged 68`: from the year of birth and the year of what is told."""
    folded = folded_text(said)
    after = folded[one.end :]
    aged = _AGED.search(folded[: one.start]) and (one.unit in ("", "year") or not one.measure)
    if not (aged or _YEARS_OLD.match(after)) or "." in one.value:
        return None
    born = [
        one
        for one in dates_in(quoted)
        if one.year and re.search(r"\b(?:born|geboren|née?)\b[^.;]{0,40}$", quoted[: one.start], re.I)
    ]
    others = [one for one in dates_in(quoted) if one.year and one not in born]
    if len(born) != 1 or len(others) != 1:
        return None
    exact = _years_between(born[0], others[0])
    sum_of = f"{others[0].stated} − {born[0].stated}"
    words = content_stems("aged age years old") | word_list("reckoning")
    if int(one.value) == exact[0] == exact[-1] or (int(one.value) in exact and ROUNDED.search(folded[: one.start])):
        return Calculation(True, f"{sum_of} = {one.value} years", said[one.start : one.end], words)
    wrong = int(one.value) not in exact
    return Calculation(False, f"{sum_of} is not {one.value} years", said[one.start : one.end], words) if wrong else None


def _years_between(first: Date, last: Date) -> tuple[int, ...]:
    """The full years between two dates; two candidates where only the years are known."""
    years = last.year - first.year
    if not (first.month and last.month):
        return years - 1, years
    before = (last.month, last.day or 1) < (first.month, first.day or 1)
    return (years - before,)


def _duration(one: Quantity, said: str, quoted: str, told: Sequence[Operand]) -> Calculation | None:
    """`for twelve years` where it went on from 1859 until 1871."""
    folded = folded_text(said)
    stretches = stretches_in(quoted)
    if not _LASTING.search(folded[: one.start]) or len(stretches) != 1 or not one.value.isdigit():
        return None
    first, last = stretches[0].first, stretches[0].last
    sum_of = f"{quoted[last.start : last.end].rstrip('.')} − {quoted[first.start : first.end].rstrip('.')}"
    if one.unit == "year" and first.year and last.year:
        # Anyone who counts the years at both ends has one more.
        usual, also = last.year - first.year, last.year - first.year + 1
    elif one.unit in _DAYS and (days := _days_between(first, last)) is not None and days % _DAYS[one.unit] == 0:
        usual, also = days // _DAYS[one.unit], days // _DAYS[one.unit] + 1
    else:
        return None
    amount, shown = int(one.value), written(said, one)
    words = content_stems("lasted lasting took for") | word_list("reckoning") | {"until", "bis"}
    if amount == usual:
        return Calculation(True, f"{sum_of} = {shown}", said[one.start : one.end], words)
    is_open = amount == also or ROUNDED.search(folded[: one.start])
    return None if is_open else Calculation(False, f"{sum_of} is not {shown}", said[one.start : one.end], words)


def _days_between(first: Date, last: Date) -> int | None:
    year = last.year or first.year or 2001
    try:
        return (date(last.year or year, last.month, last.day) - date(first.year or year, first.month, first.day)).days
    except ValueError:
        return None
