"""The dataclasses of values behave as those of the library, made in a third of the time."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.domain.values import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A place with everything a value can have."""

    name: str
    start: int = 0
    tags: tuple[str, ...] = ()
    more: Mapping[str, int] = dataclasses.field(default_factory=dict, compare=False)
    secret: str = dataclasses.field(default="", repr=False)

    def __post_init__(self) -> None:
        if self.start < 0:
            raise ValueError("before the beginning")

    @property
    def label(self) -> str:
        return f"{self.name}:{self.start}"


Library: Any = dataclasses.dataclass(frozen=True, slots=True)(
    type(
        "Place",
        (),
        {
            "__annotations__": {"name": str, "start": int, "tags": tuple, "more": dict, "secret": str},
            "__qualname__": "Place",
            "start": 0,
            "tags": (),
            "more": dataclasses.field(default_factory=dict, compare=False),
            "secret": dataclasses.field(default="", repr=False),
        },
    )
)


@dataclass(frozen=True, slots=True)
class Nothing:
    """A value without fields."""


@dataclass(frozen=True, slots=True)
class Alone:
    """A value with one field."""

    only: float


@dataclass(frozen=True, slots=True)
class Named(Place):
    """A value that inherits fields: the library makes it."""

    title: str = ""


@dataclass(frozen=True, slots=True)
class Spelled:
    """A value that says itself how it is shown and compared."""

    text: str

    def __repr__(self) -> str:
        return f"<{self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spelled) and self.text.lower() == other.text.lower()

    def __hash__(self) -> int:
        return hash(self.text.lower())


ARGUMENTS = st.fixed_dictionaries(
    {"name": st.text(max_size=2)},
    optional={
        "start": st.integers(0, 2),
        "tags": st.lists(st.text(max_size=1), max_size=2).map(tuple),
        "more": st.dictionaries(st.text(max_size=1), st.integers(), max_size=1),
        "secret": st.sampled_from(["", "s"]),
    },
)


@given(ARGUMENTS, ARGUMENTS)
def test_values_are_shown_compared_and_hashed_as_the_librarys(one: dict[str, Any], other: dict[str, Any]) -> None:
    ours, theirs = [Place(**one), Place(**other)], [Library(**one), Library(**other)]
    assert [repr(value) for value in ours] == [repr(value) for value in theirs]
    assert (ours[0] == ours[1]) == (theirs[0] == theirs[1])
    assert [hash(value) for value in ours] == [hash(value) for value in theirs]
    assert [dataclasses.asdict(ours[0]), dataclasses.astuple(ours[1])] == [
        dataclasses.asdict(theirs[0]),
        dataclasses.astuple(theirs[1]),
    ]
    assert msgspec.json.encode(ours[0]) == msgspec.json.encode(theirs[0])
    assert msgspec.json.decode(msgspec.json.encode(ours[0]), type=Place) == ours[0]


def test_a_value_cannot_be_changed_but_replaced_copied_and_pickled() -> None:
    place = Place("quay", 3)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'start'"):
        place.start = 4  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'new'"):
        place.new = 4  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
        del place.name
    assert dataclasses.replace(place, start=4) == Place("quay", 4)
    assert copy.copy(place) == copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place
    assert not hasattr(place, "__dict__")
    match place:
        case Place(name, start):
            assert (name, start) == ("quay", 3)


def test_what_is_missing_or_too_much_or_refused_is_an_error() -> None:
    with pytest.raises(TypeError, match=r"Place\.__init__\(\) missing 1 required positional argument: 'name'"):
        Place()  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Place("quay", end=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="before the beginning"):
        Place("quay", -1)
    assert str(inspect.signature(Place)).startswith("(name: 'str', start: 'int' = 0,")


def test_each_value_has_its_own_default() -> None:
    assert Place("a").more is not Place("a").more


def test_values_of_no_field_of_one_and_of_inherited_ones() -> None:
    nan = float("nan")
    assert (Nothing(), repr(Nothing()), hash(Nothing())) == (Nothing(), "Nothing()", hash(()))
    assert Alone(nan) == Alone(nan)
    other: object = Place("quay")
    assert Alone(1.0) != other
    assert Named("quay", title="The quay") == dataclasses.replace(Named("quay"), title="The quay") != Named("quay")
    assert Named("quay").label == "quay:0"


def test_what_a_class_says_of_itself_is_kept() -> None:
    assert (repr(Spelled("A")), Spelled("A") == Spelled("a"), len({Spelled("A"), Spelled("a")})) == ("<A>", True, 1)
