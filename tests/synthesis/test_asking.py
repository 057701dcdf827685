"""What a question asks for."""

from __future__ import annotations

import pytest

from citewell.answer.question import asked


@pytest.mark.parametrize(
    ("question", "kind", "value", "attributes"),
    [
        ("When was it built?", "when", "date", ()),
        ("What time of year do we sow?", "when", "date", ("time",)),
        ("Who wrote the letter?", "who", "name", ()),
        ("Where is the key?", "where", "place", ()),
        ("Why did it fail?", "why", "reason", ()),
        ("What caused the leak?", "why", "reason", ()),
        ("How many households does it supply?", "how_many", "number", ("households",)),
        ("How much did the roof cost?", "how_many", "money", ()),
        ("What did I pay for the cottage?", "how_many", "money", ()),
        ("What did the fund pay for in 2024?", "what", None, ()),
        ("How deep is the well?", "how_many", "length", ()),
        ("How often is it wound?", "how_many", "frequency", ()),
        ("What colour is the door?", "what", "colour", ("colour",)),
        ("What licence is it released under?", "what", None, ("licence",)),
        ("What is the hub height of the turbine?", "what", "length", ("hub", "height")),
        ("What is the name of the captain of the ship?", "what", "name", ("captain",)),
        ("Is there a ferry on Sunday?", "yes_no", None, ()),
        ("I had it as 3 m. Is that still right?", "yes_no", None, ()),
        ("Compare the two pumps.", "compare", None, ()),
        ("List the gauges on the island.", "list", None, ()),
        ("How do I bleed the radiator?", "how", None, ()),
        ("Am I allowed to keep bees?", "yes_no", None, ()),
        ("How far ahead should I give notice?", "how_many", "duration", ()),
        ("leave out notes with a certain word when searching", "what", None, ()),
        ("steps to make two whisky sours", "how", None, ()),
        ("Wohin fährt die Fähre?", "what", None, ()),
    ],
)
def test_the_kind_of_answer_follows_from_the_question(
    question: str, kind: str, value: str | None, attributes: tuple[str, ...]
) -> None:
    (one,) = asked(question)
    assert (one.kind, one.value, one.attributes) == (kind, value, attributes)


def test_a_question_may_ask_two_things() -> None:
    kinds = [one.kind for one in asked("What is its capacity, and why is it so low?")]
    assert kinds == ["what", "why"]
