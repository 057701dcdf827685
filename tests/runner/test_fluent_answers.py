"""Without a judge, an answer in words of its own is shown whole, without approval, be it true or false."""

from __future__ import annotations

import pytest

from runner.scripted_runs import AddPath, Bench, Write
from support.model_script import says

pytestmark = pytest.mark.slow

NOTES: dict[str, str | bytes] = {
    "Greenhouse.md": "The greenhouse heater switches on below 4 °C and runs on the night tariff. Anja repaired its fan "
    "in March because the bearing had seized. Seedlings must not stand within 30 cm of it.\n",
    "Choir trip.md": "The choir trip to Bergen costs €310 a person, including the ferry but not the meals. At least 20 "
    "singers have to sign up by 2 June, otherwise it is cancelled. Tomas books the hostel.\n",
    "Backup policy.md": "Backups run every night at 2:30 am and are kept for 35 days. Restores are tested on the first "
    "Monday of each quarter. Laptops may be excluded if the owner asks in writing.\n",
    "Sourdough.md": "- Feed the starter 12 hours before baking.\n- Mix 500 g flour with 350 g water and rest it for "
    "40 minutes.\n- Bake at 240 °C for 20 minutes with the lid on, then 25 minutes without.\n",
    "Ferry survey.md": "Of the 400 passengers asked, 260 preferred the early ferry to the late one. Nearly half would "
    "pay more for a cabin. The harbour office refused to publish the costs.\n",
}
TRUE = [
    ("When does the greenhouse heater switch on?", "Once it gets colder than 4 °C, the heating starts by itself."),
    ("Why did Anja repair the greenhouse fan?", "A stuck bearing was the reason; Anja dealt with it in spring."),
    ("What does the choir trip to Bergen cost?", "Each person pays 310 euros. The crossing is covered, food is extra."),
    ("When is the choir trip cancelled?", "With fewer than twenty people registered by the second of June it is off."),
    ("How long are backups kept?", "They are held for five weeks, and a new one is made in the small hours."),
    ("How often are restores of backups tested?", "Four times a year somebody tries whether a restore works."),
    ("How is the sourdough baked?", "It bakes covered for 20 minutes, after that uncovered for another 25."),
    ("How much water does the sourdough take?", "For half a kilo of flour you need 350 g of water."),
    ("What did passengers prefer in the ferry survey?", "Roughly two thirds liked the earlier crossing better."),
    ("What did the harbour office do about the costs of the ferry survey?", "It did not want the figures made public."),
]
FALSE = [
    ("When does the greenhouse heater switch on?", "The greenhouse heater switches on below -4 °C."),
    ("Why did Anja repair the greenhouse fan?", "Anja repaired its fan in March before the bearing had seized."),
    ("What does the choir trip to Bergen cost?", "The choir trip to Bergen costs $310 a person, including the meals."),
    ("When is the choir trip cancelled?", "At most 20 singers have to sign up by 2 June, otherwise it is cancelled."),
    ("How long are backups kept?", "Backups run every night at 2:30 pm and are kept for 35 days."),
    ("How often are restores of backups tested?", "Restores are tested on the first Tuesday of each quarter."),
    ("How is the sourdough baked?", "Bake at 240 °C for 20 minutes without the lid, then 25 minutes with it."),
    ("How much water does the sourdough take?", "Mix 350 g flour with 500 g water and rest it for 40 minutes."),
    ("What did passengers prefer in the ferry survey?", "260 passengers preferred the late ferry to the early one."),
    ("What did the harbour office do about the costs of the ferry survey?", "The harbour office published the costs."),
]


@pytest.fixture
def notes(vault: Write, add_path: AddPath, bench: Bench) -> Bench:
    add_path(vault(NOTES))
    return bench


def _cited(text: str) -> str:
    return text.replace(". ", " [1]. ").removesuffix(".") + " [1]."


@pytest.mark.parametrize(("question", "answer"), TRUE)
def test_a_fluent_true_answer_is_shown_whole_and_plain(notes: Bench, question: str, answer: str) -> None:
    _, result, requests = notes.run(says(_cited(answer)), question)
    assert (result.answer_status, result.stop_reason) == ("ok", "enough_evidence")
    assert " ".join(one.text for one in result.sentences) == answer
    assert {(one.verdict, one.check.kind) for one in result.sentences} == {("unsupported", "none")}
    assert "(" not in result.answer
    assert len(requests) == 1, "nothing is sent back"


@pytest.mark.parametrize(("question", "answer"), FALSE)
def test_no_part_of_a_fluent_false_answer_is_approved_without_a_judge(notes: Bench, question: str, answer: str) -> None:
    _, result, _ = notes.run(says(_cited(answer)), question)
    assert "supported" not in {one.verdict for one in result.sentences}
