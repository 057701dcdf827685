"""Which questions want an overview, and of what."""

from __future__ import annotations

import time

import pytest

from citewell import Filters
from citewell.search.conversation import ChatPrompt
from citewell.search.plan import plan_question
from citewell.search.query import Limits, overview_topic

LIMITS = Limits(8, 700, False, 2)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What do I know about heat pumps?", "heat pumps"),
        ("what have we saved on @kelpwife", "@kelpwife"),
        ("Tell me everything about Big Maggie in my notes, please.", "Big Maggie"),
        ("Tell me about the co-op", "the co-op"),
        ("Can you give me an overview of the Kirkhaven gauge?", "the Kirkhaven gauge"),
        ("Summarise what I know about 昆布", "昆布"),
        ("Was weiß ich über Wärmepumpen?", "Wärmepumpen"),
        ("Что я знаю о приливах?", "приливах"),
        ("Who lit the lamp?", None),
        ("What is the price of kelp?", None),
        ("What do I know about when the lamp was lit?", None),
        ("Tell me about how one two three four five six seven eight nine ten", None),
        ("", None),
    ],
)
def test_an_overview_is_told_by_how_it_is_asked_for(question: str, topic: str | None) -> None:
    assert overview_topic(question) == topic


def test_a_brief_is_planned_when_named_inferred_or_asked_for() -> None:
    def plan(question: str, topic: str | None = None, wanted: bool | None = None) -> tuple[bool, str | None]:
        made = plan_question(ChatPrompt(question), Filters(), LIMITS, topic=topic, include_topic_brief=wanted)
        return made.include_topic_brief, made.topic

    assert plan("Who lit the lamp?") == (False, None)
    assert plan("What do I know about the lamp?") == (True, "the lamp")
    assert plan("What do I know about the lamp?", wanted=False) == (False, None)
    assert plan("Who lit the lamp?", topic="Orrin Head") == (True, "Orrin Head")
    assert plan("Who lit the lamp?", topic="Orrin Head", wanted=False) == (False, "Orrin Head")
    assert plan("Who lit the lamp?", wanted=True) == (True, "lit lamp")


def test_a_long_hostile_question_stays_fast() -> None:
    started = time.process_time()
    for part in ("what do i ", "tell me everything you know ", "so ", "summary of ", " "):
        overview_topic(part * 2_000)
    assert time.process_time() - started < 5
