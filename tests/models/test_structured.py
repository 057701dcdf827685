"""JSON out of what models write around it, and thinking out of what they say."""

from __future__ import annotations

import json
import time
from contextlib import suppress

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell.models.messages import MAX_CHARS, NoJson, read_json
from citewell.models.reply import ThinkFilter


class Plan(msgspec.Struct):
    queries: list[str]
    score: float = 0.0


GOOD = Plan(["tide", "gauge"])


@pytest.mark.attack("M4")
@pytest.mark.parametrize(
    "text",
    [
        '{"queries":["tide","gauge"]}',
        '\ufeff  {"queries": ["tide", "gauge"]}\n',
        '```json\n{"queries":["tide","gauge"]}\n```',
        'Sure! Here is the plan:\n\n{"queries":["tide","gauge"]}\n\nLet me know {if} it helps.',
        'As [1] and {this} say:\n```\n{"queries":["tide","gauge",],}\n```',
        '{"queries":["tide","gauge"],"extra":null}',
        'She said "hm: {"queries":["tide","gauge"]}',
    ],
)
def test_json_is_found_in_what_stands_around_it(text: str) -> None:
    assert read_json(text, Plan) == GOOD


def test_commas_and_brackets_inside_of_texts_are_left_alone() -> None:
    assert read_json('{"queries":["a,]","{,}","\\",}"]}', Plan).queries == ["a,]", "{,}", '",}']


@pytest.mark.attack("M4")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("I cannot do that.", "no JSON"),
        ("{'queries':['tide']}", "cannot be read"),
        ('{"queries":["tide"],"queries":[]}', "twice"),
        ('{"queries":[],"score":NaN}', "NaN"),
        ('{"queries":[],"score":-Infinity}', "Infinity"),
        ('{"queries":[],"score":1e999}', "too large"),
        ('{"queries":"tide"}', "does not fit"),
        ('{"queries":[1]}', "does not fit"),
        ('{"score":1}', "queries"),
        ('{"queries":["tide","gau', "cut off"),
        ('{"queries":["tide"', "cut off"),
        ('{"queries":["tide"}]', "do not match"),
        ('{"queries":[],"score":' + "9" * 5_000 + "}", "cannot be read"),
    ],
)
def test_what_is_no_plan_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(NoJson) as error:
        read_json(text, Plan)
    assert reason in error.value.reason
    assert len(error.value.reason) < 400


@pytest.mark.attack("M4")
@pytest.mark.parametrize(
    "text",
    [
        "[" * 10_000,
        "[" * 10_000 + "]" * 10_000,
        "[" * MAX_CHARS,
        '{"a":' * 150_000,
        '{"queries":["' + "x" * (MAX_CHARS - 20),
        "{}" * (MAX_CHARS // 2),
        '"' * MAX_CHARS,
        '{"' * (MAX_CHARS // 2),
        "[" + "," * (MAX_CHARS - 2) + "]",
        "{" + " ," * 400_000 + "}",
        "x" * (MAX_CHARS + 1),
    ],
    ids=range(11),
)
def test_hostile_replies_are_refused_quickly(text: str) -> None:
    started = time.monotonic()
    with pytest.raises(NoJson):
        read_json(text, Plan)
    assert time.monotonic() - started < 1.0


def test_half_a_character_becomes_a_whole_one() -> None:
    (query,) = read_json('{"queries":["a\\ud800b"]}', Plan).queries
    assert query.encode("utf-8")


@given(st.recursive(st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(), st.lists, max_leaves=20))
def test_every_json_value_comes_back(value: object) -> None:
    wrapped = {"v": value}
    assert read_json(f"Here: {json.dumps(wrapped)} done", dict) == wrapped


@given(st.text(alphabet='{}[]",:\\ a1\n'))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(NoJson):
        assert isinstance(read_json(text, Plan), Plan)


# Thinking


def shown(reply: str, size: int) -> str:
    thinking = ThinkFilter()
    parts = [thinking.feed(reply[at : at + size]) for at in range(0, len(reply), size)]
    return "".join([*parts, thinking.finish()])


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("reply", "seen"),
    [
        ("<think>moon</think>\n\nTides.", "Tides."),
        ("\n <THINKING>moon < sun </think> </thinking> Tides.", "Tides."),
        ("<think>moon", ""),
        ("<think></think>", ""),
        ("Tides.", "Tides."),
        ("<thin ice", "<thin ice"),
        ("<thi", "<thi"),
        ("  Tides <think>are</think> slow. ", "  Tides <think>are</think> slow. "),
        ("", ""),
    ],
)
def test_a_block_that_opens_the_reply_is_taken_out(reply: str, seen: str, size: int) -> None:
    assert shown(reply, size) == seen
