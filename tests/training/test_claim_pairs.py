"""The pair builder: what keeps the truth keeps it, what changes it changes it, and wording alone tells neither."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest

from claim_pairs import asked, balance, build, edits, frames, layouts, natural, shortcuts, small_worlds, values, wording
from claim_pairs.pair import LABELS, Pair, is_short
from claim_pairs.passages import Asked, Sentence, is_statement, sentences_of

TRAINING = Path(__file__).parents[2] / "training"
SENTENCES = (
    "In 1926, Universal opened a studio in Germany.",
    "Prices in the northern region rose by 12 percent in May 1999.",
    "The lake is not deep in summer and is 40 km long.",
    "The bridge was repaired on March 3, 1999 by Austrian engineers.",
    "Maria Weber defeated Carl Jonson in the final of 2004.",
    "Most metals are solid at room temperature.",
    "A man in a blue shirt is playing a guitar.",
    "The bank may raise its rates because demand is strong.",
)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "zero"),
        (12, "twelve"),
        (40, "forty"),
        (99, "ninety-nine"),
        (105, "one hundred and five"),
        (21_300, "twenty-one thousand three hundred"),
    ],
)
def test_numbers_are_written_in_words(number: int, words: str) -> None:
    assert values.in_words(number) == words


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("It closed on March 3, 1999.", {f"It closed on {form}." for form in values.date_forms(3, 3, 1999)}),
        ("About 1,200 people came.", {"About 1200 people came."}),
        ("She has twelve cows.", {"She has 12 cows."}),
        ("It grew by 7% again.", {"It grew by 7 percent again."}),
        ("The town has 1.5 million people.", {"The town has 1,500,000 people."}),
    ],
)
def test_a_value_in_another_form_stays_the_same_value(text: str, same: set[str]) -> None:
    found = {values.reformatted(Random(seed), text) for seed in range(30)} - {None}
    assert found
    assert found <= same


def test_a_changed_number_is_another_number_and_no_list_mark_is_lost() -> None:
    for seed in range(200):
        changed = values.renumbered(Random(seed), "In 1960, the flag had 1,250 stars and 2.5 stripes.")
        assert changed
        assert changed != "In 1960, the flag had 1,250 stars and 2.5 stripes."
        assert changed.startswith("In ")
        assert ", the flag had " in changed


def test_one_edit_changes_one_thing() -> None:
    random = Random(1)
    assert edits.contrary(random, "Prices rose quickly.") in ("Prices fell quickly.", "Prices rose slowly.")
    assert edits.negated(random, "The bridge was repaired.") in (
        "The bridge was not repaired.",
        "The bridge was never repaired.",
    )
    assert edits.affirmed(random, "The lake is not deep.") == "The lake is deep."
    assert edits.swapped(random, SENTENCES[4]) == "Carl Jonson defeated Maria Weber in the final of 2004."
    assert edits.sibling(random, "The flag is red, white and blue.") is None, (
        "a list of its own kind is not changed by one of them"
    )


def test_fixed_phrases_are_left_alone() -> None:
    for text in ("It is no longer there.", "At least ten came.", "The most famous one stayed."):
        assert edits.contrary(Random(1), text) is None


def test_a_part_of_a_superlative_is_not_dropped() -> None:
    assert edits.shortened(Random(1), "It is the deepest lake in Europe.") is None


def test_clauses_keep_names_and_lose_connectives() -> None:
    assert wording.framed("It is true that {s}.", "However, the pump works.") == "It is true that the pump works."
    assert wording.framed("It is true that {s}.", "Zürich lies on a lake.") == "It is true that Zürich lies on a lake."


def test_what_is_no_statement_is_not_built_on() -> None:
    assert not is_statement("Is this a statement about something?")
    assert not is_statement("This sentence ends in e.g.")
    first, second = sentences_of("Dr. Brown keeps bees in town. He sells honey on Sunday mornings.")
    assert (first.text, first.after) == ("Dr. Brown keeps bees in town.", second.text)


def test_a_frame_around_the_neighbour_leaves_the_sentence_standing() -> None:
    sentence = Sentence("The pump is loud at night.", after="The fan was repaired by Anna.")
    found = [
        pair for seed in range(60) for pair in frames.framing(Random(seed), sentence) if pair.kind == "framed neighbour"
    ]
    assert {pair.label for pair in found if pair.claim == sentence.text} == {"supported"}
    assert {pair.label for pair in found if pair.claim == sentence.after} == set(LABELS)


def test_a_question_and_its_answer_make_a_statement() -> None:
    asking = Asked(
        "Who wrote Emma?", "Emma was written by Jane Austen while Walter Scott wrote Waverley.", "Jane Austen"
    )
    assert asked.statement(asking.question, asking.answer) == "Jane Austen wrote Emma."
    assert asked.rival(Random(1), asking) == "Walter Scott"


def test_every_template_fills_and_says_different_things_under_different_labels() -> None:
    for template in small_worlds.read_templates():
        random = Random(4)
        labels: dict[tuple[str, str], set[str]] = defaultdict(set)
        for _ in range(60):
            for pair in small_worlds.small_world(random, template):
                assert "{" not in pair.claim + pair.passage
                labels[pair.claim, pair.passage].add(pair.label)
        assert all(len(found) == 1 for found in labels.values()), template


def test_a_claim_of_a_small_world_is_not_known_by_its_words() -> None:
    """What is refuted in one pair is supported in another."""
    template = next(template for template in small_worlds.read_templates() if template.kind == "from to")
    random = Random(2)
    labels: dict[str, set[str]] = defaultdict(set)
    for _ in range(400):
        for pair in small_worlds.small_world(random, template):
            said = pair.claim
            for name in (str(value) for sort in ("person", "place") for value in small_worlds.choices(sort)):
                said = said.replace(name, "_")
            labels[said].add(pair.label)
    assert sum(len(found) > 1 for found in labels.values()) > len(labels) / 2


def test_a_table_supports_its_own_cells_only() -> None:
    random = Random(3)
    for _ in range(100):
        for pair in layouts.table(random):
            number = [
                word for word in pair.claim.replace("€", " ").replace(".", " ").split() if word.lstrip("-").isdigit()
            ]
            if pair.label == "supported" and number:
                assert number[0] in pair.passage


def drafts(seed: int) -> list[Pair]:
    random = Random(seed)
    made: list[Pair] = []
    for text in SENTENCES:
        for maker in natural.NATURAL:
            made += maker(random, Sentence(text, after="The results were published in 2011 by Helen Moore."))
    for template in small_worlds.read_templates():
        for _ in range(12):
            made += small_worlds.small_world(random, template)
    return made


def test_the_same_seed_makes_the_same_pairs() -> None:
    assert drafts(5) == drafts(5)
    assert drafts(5) != drafts(6)


def test_half_of_each_kind_is_supported_at_every_degree_of_wording() -> None:
    pairs = balance.evened(
        Random(1), balance.without_doubles(pair for pair in drafts(7) if is_short(pair)), per_kind=200
    )
    counts = Counter((pair.kind, pair.label == "supported") for pair in pairs)
    assert len(pairs) > 1000
    for kind in {pair.kind for pair in pairs}:
        assert counts[kind, True] == counts[kind, False]


def test_wording_and_length_alone_do_not_tell_true_from_false() -> None:
    pairs = balance.evened(
        Random(1), balance.without_doubles(pair for pair in drafts(8) if is_short(pair)), per_kind=200
    )
    by_wording, _ = shortcuts.measured(pairs)
    assert 0.4 < by_wording < 0.6
    given_away = [
        Pair("k", "a b c", "a b c" if yes else "d e f", "supported" if yes else "refuted")
        for yes in (True, True, False, False) * 25
    ]
    assert shortcuts.measured(given_away)[0] > 0.95, "the measure itself must see a shortcut where there is one"


def test_the_builder_runs_as_a_command_without_torch(tmp_path: Path) -> None:
    rows = [{"source": "made", "claim": "x", "label": "supported", "passage": " ".join(SENTENCES)}]
    with gzip.open(tmp_path / "claims.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    out = tmp_path / "pairs.jsonl.gz"
    blocked = "import sys; sys.modules['torch'] = None; from claim_pairs.build import main; main()"
    command = [
        sys.executable,
        "-c",
        blocked,
        "--data",
        str(tmp_path / "claims.jsonl.gz"),
        "--out",
        str(out),
        "--pairs",
        "600",
    ]
    subprocess.run(command, cwd=TRAINING, check=True, capture_output=True)
    with gzip.open(out, "rt", encoding="utf-8") as lines:
        written = [json.loads(line) for line in lines]
    assert 300 < len(written) <= 600
    assert {tuple(row) for row in written} == {("source", "kind", "claim", "passage", "label")}
    assert {row["source"] for row in written} == {build.SOURCE}
