"""The builder of labelled pairs: every pair is what its label says, and the halves share no document."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from verifier_changes import CHANGES, REWORDINGS
from verifier_pairs import pairs_of, stated

TEXT = (
    "The lighthouse was built in 1871 by Robert Tait for 1,200 pounds. It never failed during the twelve winters after "
    "the fire. The keeper of Skerry Rock sold most of the oil to Captain Munro (a trader)."
)


@pytest.mark.parametrize(
    ("way", "claim", "changed"),
    [
        ("changed number", "It cost 1,200 pounds.", True),
        ("changed date", "It was built in 1871.", True),
        ("denial inserted", "It was built in 1871.", True),
        ("denial removed", "It was not built in 1871.", True),
        ("quantifier", "He sold most of the oil.", True),
        ("changed unit", "It is 40 metres tall.", True),
        ("changed number", "It has no number at all.", False),
    ],
)
def test_a_change_changes_the_claim_or_leaves_it_alone(way: str, claim: str, changed: bool) -> None:
    new = CHANGES[way](claim, TEXT, random.Random(1), ["Anna Bell"])
    assert (new is not None and new != claim) == changed


def test_a_changed_number_does_not_stand_in_the_passage() -> None:
    for seed in range(30):
        new = CHANGES["changed number"]("It cost 1,200 pounds.", TEXT, random.Random(seed), [])
        assert new is None or new.split()[2] not in TEXT


def test_rewordings_keep_what_is_said() -> None:
    chance = random.Random(1)
    assert REWORDINGS["brackets dropped"]("He sold it to Munro (a trader).", chance) == "He sold it to Munro."
    assert REWORDINGS["numbers written otherwise"]("It took twelve winters.", chance) == "It took 12 winters."
    assert REWORDINGS["active for passive"]("The lamp was repaired by Tait.", chance) == "Tait repaired the lamp."


def test_a_question_and_its_answer_become_a_statement() -> None:
    assert stated("Who designed the garden?", "Irena Bajerska") == "Irena Bajerska designed the garden."
    assert stated("When was the hall built?", "1871") == "The hall was built in 1871."
    assert stated("Why not?", "because") is None


def test_the_halves_share_no_document_and_a_seed_gives_the_same_pairs(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    documents = [
        {"_id": f"d{n}", "title": f"Light {n}", "text": TEXT.replace("1871", str(1871 + n))} for n in range(12)
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, documents)), "utf-8")
    pairs = pairs_of(folder, 20)
    assert pairs == pairs_of(folder, 20)
    halves = [{pair.document for pair in pairs if pair.half == half} for half in (0, 1)]
    assert all(halves)
    assert not halves[0] & halves[1]
    assert {pair.label for pair in pairs if pair.made.startswith("supported")} == {"supported"}
    assert all(pair.label != "supported" for pair in pairs if not pair.made.startswith("supported"))
