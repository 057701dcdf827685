"""Numbers, dates and units inside a sentence: written otherwise, or changed.

reformatted: "12 km" -> "twelve kilometres", "March 3, 1999" -> "3 March 1999"     the same value
renumbered:  "12 km" -> "21 km"                                                     another value
"""

from __future__ import annotations

import re
from random import Random

ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()
TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
MONTHS = "January February March April May June July August September October November December".split()
UNITS = {
    "km": "kilometres",
    "kg": "kilograms",
    "cm": "centimetres",
    "mm": "millimetres",
    "°C": "degrees Celsius",
    "°F": "degrees Fahrenheit",
    "MB": "megabytes",
    "GB": "gigabytes",
    "kWh": "kilowatt hours",
    "mph": "miles per hour",
    "km/h": "kilometres per hour",
    "ms": "milliseconds",
}
NUMBER = re.compile(r"(?<![\w.,/:–-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w/:–-]|[.,]\d)")
_MONTH = "|".join(MONTHS)
_SHORT_MONTH = "|".join(month[:3] for month in MONTHS)
_AMERICAN = re.compile(rf"\b({_MONTH}) (\d{{1,2}}), (\d{{4}})\b")
_EUROPEAN = re.compile(rf"\b(\d{{1,2}}) ({_MONTH}) (\d{{4}})\b")


def in_words(number: int) -> str:
    """12 -> twelve, up to 999,999."""
    if number < 20:
        return ONES[number]
    if number < 100:
        return TENS[number // 10] + (f"-{ONES[number % 10]}" if number % 10 else "")
    if number < 1000:
        rest = f" and {in_words(number % 100)}" if number % 100 else ""
        return f"{ONES[number // 100]} hundred{rest}"
    rest = f" {in_words(number % 1000)}" if number % 1000 else ""
    return f"{in_words(number // 1000)} thousand{rest}"


WORD_NUMBERS = {in_words(number): number for number in range(2, 100)}
_WORDED = re.compile(r"\b(" + "|".join(sorted(WORD_NUMBERS, key=len, reverse=True)) + r")\b(?!-)")


def date_forms(day: int, month: int, year: int) -> tuple[str, ...]:
    name = MONTHS[month - 1]
    return (
        f"{day} {name} {year}",
        f"{name} {day}, {year}",
        f"{year}-{month:02}-{day:02}",
        f"{day:02}.{month:02}.{year}",
        f"{day} {name[:3]} {year}",
        f"the {ordinal(day)} of {name} {year}",
    )


def ordinal(number: int) -> str:
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def reformatted(random: Random, text: str) -> str | None:
    """One value written in another way."""
    for change in random.sample((_date, _number, _unit, _percent, _magnitude), 5):
        if other := change(random, text):
            return other
    return None


def _date(random: Random, text: str) -> str | None:
    if match := _AMERICAN.search(text):
        day, month, year = int(match[2]), MONTHS.index(match[1]) + 1, int(match[3])
    elif match := _EUROPEAN.search(text):
        day, month, year = int(match[1]), MONTHS.index(match[2]) + 1, int(match[3])
    else:
        return None
    if not 1 <= day <= 31:
        return None
    others = [form for form in date_forms(day, month, year) if form != match[0]]
    return text[: match.start()] + random.choice(others) + text[match.end() :]


def _number(random: Random, text: str) -> str | None:
    if match := _WORDED.search(text):
        digits = str(WORD_NUMBERS[match[0]])
        if not re.match(r"(?:-| (?:hundred|thousand|million|billion|and a half))", text[match.end() :]):
            return text[: match.start()] + digits + text[match.end() :]
    for match in NUMBER.finditer(text):
        value = match[0]
        if "," in value and "." not in value:
            return text[: match.start()] + value.replace(",", "") + text[match.end() :]
        if value.isdigit() and 2 <= int(value) < 100 and not _is_date_part(text, match):
            return text[: match.start()] + in_words(int(value)) + text[match.end() :]
        if value.isdigit() and int(value) >= 10_000:
            return text[: match.start()] + f"{int(value):,}" + text[match.end() :]
    return None


def _is_date_part(text: str, match: re.Match[str]) -> bool:
    around = text[max(0, match.start() - 12) : match.end() + 12]
    return bool(re.search(rf"{_MONTH}|\b(?:{_SHORT_MONTH})\b|[$€£%°]|\b(?:BC|AD|No)\b", around))


def _unit(random: Random, text: str) -> str | None:
    for short, long in random.sample(sorted(UNITS.items()), len(UNITS)):
        if match := re.search(rf"(?<=\d) {re.escape(short)}(?![\w/])", text):
            return f"{text[: match.start()]} {long}{text[match.end() :]}"
        if match := re.search(rf"(?<=\d) {long}\b", text):
            return f"{text[: match.start()]} {short}{text[match.end() :]}"
    return None


def _percent(random: Random, text: str) -> str | None:
    if match := re.search(r"(?<=\d)(?: ?%| percent\b| per cent\b)(?! point)", text):
        new = "%" if "%" not in match[0] else " percent"
        return text[: match.start()] + new + text[match.end() :]
    return None


def _magnitude(random: Random, text: str) -> str | None:
    if match := re.search(r"\b(\d+)(?:\.(\d))? (million|billion)\b", text):
        tenths = int(match[1]) * 10 + int(match[2] or 0)
        return (
            text[: match.start()]
            + f"{tenths * (100_000 if match[3] == 'million' else 100_000_000):,}"
            + text[match.end() :]
        )
    if match := re.search(r"\b(\d{1,3}),([05]00),000\b", text):
        return text[: match.start()] + f"{match[1]}{'.5' if match[2][0] == '5' else ''} million" + text[match.end() :]
    return None


def other_number(random: Random, value: str, near: tuple[str, ...] = ()) -> str | None:
    """Another value of the same form: a neighbour's, a shifted, a scaled or a turned one."""
    plain = value.replace(",", "")
    if "." in plain:
        whole, tail = plain.split(".")
        choices = [
            f"{whole}{tail[0]}.{tail[1:] or '0'}",
            f"{int(whole) + random.choice((1, 2, 5))}.{tail}",
            f"{whole}.{(int(tail) + random.randint(1, 8)) % 10 ** len(tail):0{len(tail)}}",
        ]
        if whole != "0":
            choices.append(f"{int(whole) // 10}.{int(whole) % 10}{tail}")
    else:
        number = int(plain)
        if 1000 <= number <= 2100 and "," not in value:
            choices = [
                str(number + random.choice((-30, -20, -10, -7, -3, -2, -1, 1, 2, 3, 5, 9, 10, 20, 40)))
                for _ in range(2)
            ]
        else:
            step = max(1, number // 5)
            choices = [
                str(number + random.randint(1, step + 2)),
                str(max(0, number - random.randint(1, step))),
                str(number * 10),
                plain[::-1],
            ]
        if "," in value:
            choices = [f"{int(choice):,}" for choice in choices]
    choices += [other for other in near if ("." in other) == ("." in value) and len(other) == len(value)] * 2
    wanted = [
        choice
        for choice in choices
        if choice != value and not (len(choice) > 1 and choice[0] == "0" and choice[1] != ".")
    ]
    return random.choice(wanted) if wanted else None


def renumbered(random: Random, text: str, near: str = "") -> str | None:
    """One number of a sentence replaced by another one, rather by one that stands nearby."""
    found = list(NUMBER.finditer(text))
    if not found:
        return None
    match = random.choice(found)
    others = tuple(other[0] for other in NUMBER.finditer(f"{near} {text}") if other[0] != match[0])
    new = other_number(random, match[0], others)
    return text[: match.start()] + new + text[match.end() :] if new else None


def redated(random: Random, text: str) -> str | None:
    """One full date moved by a day, a month or a year."""
    match = _AMERICAN.search(text) or _EUROPEAN.search(text)
    if not match:
        return None
    name, day = (match[1], int(match[2])) if match.re is _AMERICAN else (match[2], int(match[1]))
    month, year = MONTHS.index(name) + 1, int(match[3])
    part = random.randrange(3)
    if part == 0:
        day = random.choice([other for other in range(1, 29) if other != day])
    elif part == 1:
        month = random.choice([other for other in range(1, 13) if other != month])
    else:
        year += random.choice((-10, -2, -1, 1, 2, 10))
    new = random.choice(
        date_forms(min(day, 28 if part else 31), month, year)[:2]
        if random.random() < 0.6
        else date_forms(min(day, 28 if part else 31), month, year)
    )
    return text[: match.start()] + new + text[match.end() :]


def reworded_number(random: Random, text: str) -> str | None:
    """A number word replaced by another number, as a word or in digits."""
    match = _WORDED.search(text)
    if not match or re.match(r"(?:-| (?:hundred|thousand|million|billion))", text[match.end() :]):
        return None
    value = WORD_NUMBERS[match[0]]
    other = random.choice([number for number in range(max(2, value - 4), value + 6) if number != value])
    return text[: match.start()] + random.choice((str(other), in_words(other))) + text[match.end() :]
