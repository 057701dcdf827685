"""Pairs over tables, lists and records: the right cell, the wrong row, the wrong column, a cell that is not there.

| item | weight | price |        "The pump costs 40 €."   supported
| pump | 12 kg  | 40 €  |        "The pump costs 12 €."   refuted
| fan  | 3 kg   | 25 €  |        "The fan costs 40 €."    refuted
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from claim_pairs.pair import Pair
from claim_pairs.small_worlds import choices
from claim_pairs.wording import raised


@dataclass(frozen=True, slots=True)
class Column:
    """A property of the rows: its heading, how its values look, and how they are said."""

    heading: str
    unit: str
    low: int
    high: int
    sayings: tuple[str, ...]


_ITEM_COLUMNS = (
    Column(
        "price",
        " €",
        20,
        900,
        ("The {row} costs {value} euros.", "The price of the {row} is €{value}.", "You pay {value} € for the {row}."),
    ),
    Column("weight", " kg", 2, 90, ("The {row} weighs {value} kg.", "The weight of the {row} is {value} kilograms.")),
    Column("stock", "", 0, 60, ("There are {value} of the {row} in stock.", "The stock of the {row} is {value}.")),
    Column("year", "", 1980, 2024, ("The {row} is from {value}.", "The {row} was bought in {value}.")),
    Column("power", " W", 10, 2000, ("The {row} has {value} watts.", "The power of the {row} is {value} W.")),
)
_PERSON_COLUMNS = (
    Column("age", "", 18, 80, ("{row} is {value} years old.", "The age of {row} is {value}.")),
    Column("points", "", 1, 99, ("{row} has {value} points.", "{row} scored {value}.")),
    Column("desk", "", 1, 60, ("{row} sits at desk {value}.", "Desk {value} is {row}'s.")),
    Column("hours", " h", 2, 45, ("{row} worked {value} hours.", "{value} hours were worked by {row}.")),
    Column("room", "", 100, 499, ("{row} is in room {value}.", "The room of {row} is {value}.")),
)
_PLACE_COLUMNS = (
    Column(
        "temperature", " °C", -20, 38, ("It is {value} °C in {row}.", "The temperature in {row} is {value} degrees.")
    ),
    Column("rain", " mm", 1, 99, ("{row} had {value} mm of rain.", "In {row} {value} millimetres of rain fell.")),
    Column("distance", " km", 5, 800, ("{row} is {value} km away.", "It is {value} kilometres to {row}.")),
    Column("altitude", " m", 2, 2900, ("{row} lies at {value} m.", "The altitude of {row} is {value} metres.")),
)
_SUBJECTS = (("item", "thing", _ITEM_COLUMNS), ("name", "person", _PERSON_COLUMNS), ("town", "place", _PLACE_COLUMNS))
Cells = dict[tuple[str, str], int]


def table(random: Random) -> Iterator[Pair]:
    """A table of two to four rows and two or three columns, and claims about single cells."""
    title, sort, columns = random.choice(_SUBJECTS)
    rows = [str(row) for row in random.sample(choices(sort), random.randint(2, 4))]
    chosen = random.sample(columns, random.randint(2, 3))
    cells: Cells = {}
    for column in chosen:
        numbers = random.sample(range(column.low, column.high + 1), len(rows))
        cells.update({(row, column.heading): number for row, number in zip(rows, numbers, strict=True)})
    kind, passage = random.choice((_markdown, _tabs, _records, _lines))(random, title, rows, chosen, cells)
    row, other_row = random.sample(rows, 2)
    column, other_column = random.sample(chosen, 2)
    value = cells[row, column.heading]
    saying = random.choice(column.sayings)
    yield Pair(kind, _said(saying, row, value), passage, "supported")
    wrong = random.choice(
        (cells[other_row, column.heading], cells[row, other_column.heading], value + random.choice((1, 2, 10)))
    )
    if wrong != value:
        yield Pair(kind, _said(saying, row, wrong), passage, "refuted")
    yield from _compared(random, kind, passage, column, (row, other_row), cells)
    absent = random.choice([entry for entry in columns if entry not in chosen] or [None])
    if absent and random.random() < 0.6:
        yield Pair(kind, _said(random.choice(absent.sayings), row, value), passage, "unsupported")
    elif random.random() < 0.5:
        stranger = random.choice([str(entry) for entry in choices(sort) if str(entry) not in rows])
        yield Pair(kind, _said(saying, stranger, value), passage, "unsupported")


def _compared(
    random: Random, kind: str, passage: str, column: Column, rows: tuple[str, str], cells: Cells
) -> Iterator[Pair]:
    left, right = rows
    if random.random() < 0.5 or cells[left, column.heading] == cells[right, column.heading]:
        return
    more = cells[left, column.heading] > cells[right, column.heading]
    words = ("higher", "lower")
    claim = f"The {column.heading} of {left} is {random.choice(words)} than that of {right}."
    yield Pair(kind, claim, passage, "supported" if ("higher" in claim) == more else "refuted")


def _said(saying: str, row: str, value: int) -> str:
    return raised(saying.format(row=row, value=value))


def _markdown(random: Random, title: str, rows: list[str], columns: list[Column], cells: Cells) -> tuple[str, str]:
    lines = [
        f"| {title} | " + " | ".join(column.heading for column in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for row in rows:
        lines.append(f"| {row} | " + " | ".join(_cell(column, cells[row, column.heading]) for column in columns) + " |")
    return "table", "\n".join(lines if random.random() < 0.5 else lines[:1] + lines[2:])


def _tabs(random: Random, title: str, rows: list[str], columns: list[Column], cells: Cells) -> tuple[str, str]:
    mark = random.choice(("\t", ", ", "; "))
    lines = [mark.join([title, *(column.heading for column in columns)])]
    lines += [mark.join([row, *(_cell(column, cells[row, column.heading]) for column in columns)]) for row in rows]
    return "table", "\n".join(lines)


def _records(random: Random, title: str, rows: list[str], columns: list[Column], cells: Cells) -> tuple[str, str]:
    blocks = [
        "\n".join(
            [
                f"## {raised(row)}",
                *(f"- {column.heading}: {_cell(column, cells[row, column.heading])}" for column in columns),
            ]
        )
        for row in rows
    ]
    return "list", "\n".join(blocks)


def _lines(random: Random, title: str, rows: list[str], columns: list[Column], cells: Cells) -> tuple[str, str]:
    mark = random.choice(("- ", "* ", "", "• "))
    return "list", "\n".join(
        f"{mark}{raised(row)}: "
        + ", ".join(f"{column.heading} {_cell(column, cells[row, column.heading])}" for column in columns)
        for row in rows
    )


def _cell(column: Column, value: int) -> str:
    return f"{value}{column.unit}"


def enumeration(random: Random) -> Iterator[Pair]:
    """A list under the line that leads into it: what is on it, what is not, what is on the other one."""
    sort, verb, subject = random.choice(
        (
            ("food", "buy", "Shopping list"),
            ("thing", "take along", "Packing list"),
            ("topic", "discuss", "Agenda"),
            ("place", "visit", "Places to see"),
            ("language", "learn", "Languages for next year"),
        )
    )
    words = [str(word) for word in random.sample(choices(sort), 7)]
    wanted, unwanted, stranger = words[:3], words[3:6], words[6]
    left, right = random.choice(
        ((f"To {verb}", f"Not to {verb}"), (subject, f"Do not {verb}"), (f"What we {verb}", f"What we do not {verb}"))
    )
    mark = random.choice(("- ", "* ", "1. "))
    lists = [
        f"{left}:\n" + "\n".join(mark + word for word in wanted),
        f"{right}:\n" + "\n".join(mark + word for word in unwanted),
    ]
    passage = (
        "\n".join(lists if random.random() < 0.5 else lists[::-1])
        if random.random() < 0.8
        else f"{left}: {', '.join(wanted)}. {right}: {', '.join(unwanted)}."
    )
    the = "the " if sort in ("thing", "topic") else ""
    yes, no = random.choice(wanted), random.choice(unwanted)
    says = random.choice(
        (
            "We are to {verb} {the}{word}.",
            "{The}{word} is on the list of what to {verb}.",
            "The plan is to {verb} {the}{word}.",
        )
    )
    denies = random.choice(
        (
            "We are not to {verb} {the}{word}.",
            "{The}{word} is not to be on the list of what to {verb}.",
            "The plan is not to {verb} {the}{word}.",
        )
    )

    def put(saying: str, word: str) -> str:
        return raised(saying.format(verb=verb, the=the, The=raised(the) if the else "", word=word))

    yield Pair("list", put(says, yes), passage, "supported")
    yield Pair("list", put(says, no), passage, "refuted")
    yield Pair("list", put(denies, no), passage, "supported")
    yield Pair("list", put(denies, yes), passage, "refuted")
    yield Pair("list", put(says, stranger), passage, "unsupported")
