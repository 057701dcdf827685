"""Pairs from `templates.toml`: small worlds, a passage in several wordings, claims that it decides or leaves open.

    passage "{a} moved from {x} to {y}."   refuted "{a} moved from {y} to {x}."   supported "{a} left {x}."

Often a second world of the same make stands beside the first, so that a claim must be read with its own subject.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from claim_pairs.pair import LABELS, Label, Pair
from claim_pairs.values import MONTHS, in_words, ordinal
from claim_pairs.wording import raised

_SOURCE = tomllib.loads(Path(__file__).with_name("templates.toml").read_text("utf-8"))
_ORDINAL_WORDS = "_ first second third fourth fifth sixth seventh eighth ninth tenth".split()
_SPEC = re.compile(r"((?:[*/+-](?:\d+|[a-z]))*)(.*)$")
_SECOND_WORLD = 0.3


@dataclass(frozen=True, slots=True)
class Person:
    name: str
    female: bool

    def __str__(self) -> str:
        return self.name

    @property
    def he(self) -> str:
        return "she" if self.female else "he"

    @property
    def his(self) -> str:
        return "her" if self.female else "his"

    @property
    def him(self) -> str:
        return "her" if self.female else "him"


@dataclass(frozen=True, slots=True)
class Act:
    base: str
    past: str
    done: str
    ing: str
    thing: str

    @property
    def Thing(self) -> str:  # noqa: N802 - as the templates write it
        return raised(self.thing)


@dataclass(frozen=True, slots=True)
class Deed:
    past: str
    done: str
    turned: str


@dataclass(frozen=True, slots=True)
class Comparison:
    more: str
    less: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Template:
    kind: str
    slots: tuple[tuple[tuple[str, ...], str], ...]
    passages: tuple[str, ...]
    claims: Mapping[Label, tuple[str, ...]]
    alike: bool


class _Filler(string.Formatter):
    """Fills a template: numbers know arithmetic, and a word may begin with a capital (`{a:cap}`)."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def fill(self, text: str) -> str:
        done = self.vformat(text, (), self._values)
        return done if re.match(r"\w+(?:\.\w|:)", done) else raised(done)  # a file name stays as it is

    def format_field(self, value: Any, format_spec: str) -> str:
        if not isinstance(value, int):
            return raised(str(value)) if format_spec == "cap" else str(value)
        match = _SPEC.match(format_spec)
        assert match is not None
        for sign, operand in re.findall(r"([*/+-])(\d+|[a-z])", match[1]):
            number = int(operand) if operand.isdigit() else int(self._values[operand])
            value = {"*": value * number, "+": value + number, "-": value - number, "/": value // number}[sign]
        return _written(value, match[2])


def _written(value: int, form: str) -> str:
    match form:
        case "w":
            return in_words(value)
        case "o":
            return ordinal(value)
        case "ow":
            return _ORDINAL_WORDS[value]
        case "month":
            return MONTHS[value - 1]
        case "mon":
            return MONTHS[value - 1][:3]
        case "month_de" | "month_fr":
            return str(choices(form)[value - 1])
        case _:
            return format(value, form)


_CHOICES: dict[str, tuple[Any, ...]] = {}


def choices(name: str) -> tuple[Any, ...]:
    """What a slot of this name can hold."""
    if name not in _CHOICES:
        _CHOICES[name] = tuple(_read_choices(name))
    return _CHOICES[name]


def _read_choices(name: str) -> Sequence[Any]:
    slots = _SOURCE["slots"]
    if name in ("person", "female", "male"):
        people = [
            Person(found[1].strip(), found[2] == "f") for found in re.finditer(r"([^/]+)/([fm])", slots["person"])
        ]
        return [person for person in people if name == "person" or person.female == (name == "female")]
    text = str(slots[name])
    rows = [line.split("|") for line in text.strip().splitlines() if "|" in line]
    if name == "act":
        return [Act(*row) for row in rows]
    if name == "deed":
        return [Deed(*row) for row in rows]
    if name == "compare":
        return rows
    return text.split("/") if "/" in text else text.split()


def read_templates() -> list[Template]:
    found = []
    for entry in _SOURCE["template"]:
        slots = tuple((tuple(part.split(":")[0].split("<")), part.split(":")[1]) for part in entry["slots"].split())
        claims = {label: tuple(entry[label]) for label in LABELS if label in entry}
        found.append(Template(entry["kind"], slots, tuple(entry["passage"]), claims, entry.get("alike", True)))
    return found


def filled(random: Random, template: Template, taken: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Values for the slots, all different from each other and from those that are taken."""
    values: dict[str, Any] = {}
    used = set(taken)
    for names, sort in template.slots:
        if found := re.fullmatch(r"(\d+)-(\d+)", sort):
            free = [number for number in range(int(found[1]), int(found[2]) + 1) if number not in values.values()]
            values.update(zip(names, sorted(random.sample(free, len(names))), strict=True))
        elif sort == "compare":
            values[names[0]] = _comparison(random, used)
        else:
            value = random.choice([value for value in choices(sort) if str(value) not in used])
            values[names[0]] = value
        used.update(str(value) for value in values.values())
    return values


def _comparison(random: Random, used: set[str]) -> Comparison:
    more, less, sort = random.choice(choices("compare"))
    left, right = random.sample([str(value) for value in choices(sort) if str(value) not in used], 2)
    if sort in ("thing", "event"):
        left, right = f"the {left}", f"the {right}"
    return Comparison(more, less, left, right)


def small_world(random: Random, template: Template) -> Iterator[Pair]:
    """One claim for each label that the template knows, and the same claims where they have another label."""
    values = filled(random, template)
    world = _World(random, template, values)
    for label, claims in template.claims.items():
        yield from world.pair(random.choice(claims), random.choice(template.passages), label)
    yield from _turned(random, template, world)


def _turned(random: Random, template: Template, world: _World) -> Iterator[Pair]:
    """No claim may be known by its words to be true or false: each also stands where its label is another.

    What is refuted by a passage refutes that passage; what a passage says supports itself; what is said of others
    supports nothing.
    """
    one, other = random.choice(template.passages), random.choice(template.passages)
    if one != other and template.alike:
        yield from world.pair(one, other, "supported")
    for label in ("refuted", "unsupported"):
        for claim in random.sample(template.claims.get(label, ()), min(1, len(template.claims.get(label, ())))):
            yield from world.pair(claim, claim, "supported")
            if label == "refuted":
                yield from world.pair(one, claim, "refuted")
    claims = template.claims.get("supported", ()) + template.passages
    if not isinstance(world.values.get("c"), Comparison) and random.random() < 0.4:
        yield Pair(template.kind, world.say(random.choice(claims)), world.elsewhere(), "unsupported")


class _World:
    """A template with its slots filled."""

    def __init__(self, random: Random, template: Template, values: dict[str, Any]) -> None:
        self.values = values
        self._random = random
        self._template = template
        self._filler = _Filler(values)

    def say(self, text: str) -> str:
        return self._filler.fill(text)

    def elsewhere(self) -> str:
        """A passage about others of the same sort."""
        taken = frozenset(str(value) for value in self.values.values())
        other = _Filler(filled(self._random, self._template, taken))
        return other.fill(self._random.choice(self._template.passages))

    def pair(self, claim: str, passage: str, label: Label) -> Iterator[Pair]:
        said, text = self.say(claim), self.say(passage)
        if "\n" in said or said.startswith(("-", "✓", "☐", "#", "|")):  # a claim is a sentence
            return
        beside = _SECOND_WORLD if said != text else 2 * _SECOND_WORLD
        if self._random.random() < beside and not isinstance(self.values.get("c"), Comparison):
            other = self.elsewhere()
            text = ("\n" if "\n" in text + other else " ").join(self._random.sample((text, other), 2))
        yield Pair(self._template.kind, said, text, label)
