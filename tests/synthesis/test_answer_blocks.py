"""An answer without a model quotes whole blocks, shows what of them decides, and is as sure as it says."""

from __future__ import annotations

from dataclasses import replace

from citewell.answer.evidence import PreparedSource
from citewell.check.verdict import Verification
from citewell.search.rows import LIKELY, Context
from synthesis.evidence import answer, check, lines, source


def quoted(question: str, *sources: PreparedSource) -> Verification:
    """The checked answer, which must pass."""
    checked = check(question, answer(question, *sources), *sources)
    assert checked.passed
    return checked


def highlighted(checked: Verification, number: int = 0) -> str:
    citation = checked.citations[number]
    assert citation.highlight is not None
    low = citation.highlight.start - citation.span.start
    return citation.quote[low : citation.highlight.end - citation.span.start]


PORT = source(
    "# Kill everything on a port\n\nYou can kill everything running on a port with this command:\n\n"
    "```bash\nsudo kill `sudo lsof -t -i:3000`\n```\n\nThe weather was fine.\n",
    "Kill everything on a port",
)


def test_code_is_shown_under_its_sentence_and_quoted_with_it() -> None:
    checked = quoted("How do I kill everything running on a port?", PORT)
    assert checked.sentences[0].text.endswith("with this command:\nsudo kill `sudo lsof -t -i:3000`")
    assert checked.citations[0].quote.startswith("You can kill")
    assert checked.citations[0].quote.endswith("```")


STEPS = source(
    "# Starter\n\nTo make the starter:\n\n1. Mix 80 g of water and 50 g of flour.\n2. Feed it on day two.\n"
    "3. Use it on day four.\n\nIt keeps for a year.\n",
    "Starter",
)


def test_a_how_to_is_the_whole_list_in_its_order_with_the_line_that_leads_into_it() -> None:
    checked = quoted("How do I make the starter?", STEPS)
    assert checked.sentences[0].text == (
        "To make the starter:\n1. Mix 80 g of water and 50 g of flour.\n2. Feed it on day two.\n3. Use it on day four."
    )
    assert checked.citations[0].quote == STEPS.text[STEPS.text.index("To make") : STEPS.text.index("\n\nIt keeps")]


def test_a_row_of_a_table_is_read_under_the_header_of_the_table_and_quoted_with_it() -> None:
    table = "| Card | Level |\n| --- | --- |\n| J | 1 |\n| Q | 2 |\n| K | 3 |"
    checked = quoted("In Regicide, which level does a Q have?", source(f"The enemies:\n\n{table}\n", "Regicide"))
    assert checked.sentences[0].text == "Card: Q; Level: 2"
    assert table in checked.citations[0].quote
    assert highlighted(checked) == "| Q | 2 |"


def test_a_row_whose_header_stands_above_the_window_is_read_under_it_and_the_header_is_its_context() -> None:
    cut = source("| J | 1 |\n| Q | 2 |\n| K | 3 |\n", "Regicide", start=400)
    header = Context("table_header", "| Card | Level |", replace(cut.span, chunk_id="above", start=360, end=376))
    checked = quoted("In Regicide, which level does a Q have?", replace(cut, context=(header,)))
    assert checked.sentences[0].text == "Card: Q; Level: 2"
    assert checked.sentences[0].verdict == "supported"
    assert [(one.kind, one.text) for one in checked.citations[0].context] == [("table_header", "| Card | Level |")]
    assert (checked.citations[0].context[0].span.start, checked.citations[0].context[0].span.end) == (360, 376)


def test_a_header_that_the_evidence_does_not_hold_is_no_quote() -> None:
    cut = source("| J | 1 |\n| Q | 2 |\n", "Regicide", start=400)
    header = Context("table_header", "| Card | Level |", replace(cut.span, chunk_id="above", start=360, end=376))
    draft = answer("In Regicide, which level does a Q have?", replace(cut, context=(header,)))
    checked = check("In Regicide, which level does a Q have?", draft, cut)
    assert not checked.passed


def test_a_check_box_keeps_its_state() -> None:
    note = source("Things to pack for the trip:\n\n- [x] tent\n- [ ] stove\n", "Trip")
    assert lines("What are the things to pack for the trip?", note) == [
        "Things to pack for the trip:\n- [x] tent\n- [ ] stove"
    ]


def test_what_follows_and_reverses_a_statement_is_shown_and_quoted() -> None:
    note = source(
        "Swimming after a meal gives you cramp. However, that is more a myth than a fact. The pool opens at nine.\n",
        "Swimming",
    )
    checked = quoted("Does swimming after a meal give you cramp?", note)
    assert "However, that is more a myth than a fact." in [one.text for one in checked.sentences]
    assert checked.citations[0].quote == note.text.strip()


def test_the_quote_is_the_paragraph_and_the_highlight_the_sentence_that_decides() -> None:
    note = source("Tickets are sold at the pier. A ticket costs 12 pounds. Tickets are not refundable.\n", "Ferry")
    checked = quoted("How much does a ticket cost?", note)
    assert checked.citations[0].quote == note.text.strip()
    assert "A ticket costs 12 pounds." in highlighted(checked)


def test_a_property_is_read_out_after_the_title_of_its_note() -> None:
    note = source('genre:\n  - "[[Sci-fi]]"\ndirector:\n  - "[[Ridley Scott]]"\nyear: 1982\n---\n', "Blade Runner")
    checked = quoted("Who is the director of Blade Runner?", note)
    assert checked.sentences[0].text == "In “Blade Runner”: director: Ridley Scott"
    assert checked.sentences[0].verdict == "supported"


def test_a_title_in_front_that_is_not_the_notes_own_is_unsupported() -> None:
    note = source("director: Ridley Scott\nyear: 1982\n---\n", "Blade Runner")
    draft = answer("Who is the director of Blade Runner?", note)
    checked = check("Who is the director of Blade Runner?", draft, replace(note, title="Alien"))
    assert checked.sentences[0].verdict == "unsupported"


def test_a_refusal_names_the_passages_that_come_nearest() -> None:
    note = source("The band counts steps. The band shows the time.\n", "Band")
    draft = answer("How much did the band cost?", note)
    assert draft.refused
    assert [one.title for one in draft.nearest] == ["Band"]
    (nearest,) = draft.nearest
    assert note.text[nearest.span.start : nearest.span.end] == nearest.quote == note.text.strip()


def test_what_is_answered_is_likely_and_what_is_refused_is_not() -> None:
    note = source("The band counts steps. I bought the band for 30 pounds in 2021.\n", "Band")
    for question in ("When did I buy the band?", "Who sold the wristwatch in Paris?", "What colour is the band?"):
        draft = answer(question, note)
        assert draft.answerability is not None
        assert draft.refused == (draft.answerability.probability < LIKELY)
        assert draft.refused != (" likely" in draft.answerability.spoken)


def test_a_question_about_the_writer_is_not_answered_by_advice_to_everyone() -> None:
    note = source("Each visit to the dentist is expensive. Brush twice a day before you go to the dentist.\n", "Teeth")
    assert answer("Which dentist do I go to?", note).refused


def test_an_answer_stays_short_however_long_the_list() -> None:
    items = "".join(f"- thing number {n} of the many things that are listed here\n" for n in range(60))
    shown = lines("What are the many things that are listed?", source(f"The many things listed:\n\n{items}", "Things"))
    assert sum(map(len, shown)) <= 1_200
    assert all(len(text) <= 400 for text in shown)


def test_up_to_three_blocks_are_quoted_and_passages_of_one_block_count_once() -> None:
    note = source(
        "The winch is oiled in May, by Ole and his sons. The winch is oiled in June, where the boat is dry.\n\n"
        "The winch is oiled in August, before the races begin.\n\nAt the yard the winch is oiled in October.\n\n"
        "The winch is oiled in December, when nobody sails.\n",
        "Winch",
    )
    checked = quoted("When is the winch oiled?", note)
    assert len({one.span.start for one in checked.citations}) == 3


def test_steps_that_are_explained_are_shown_from_the_first_one() -> None:
    steps = source(
        "## Directions\n\n1. Day 1: mix water and flour. Store it warm.\n2. Day 2: the starter should bubble. Feed it."
        " If it has no bubbles yet, wait.\n3. Day 3: repeat the feeding. Be patient.\n4. Bake with the starter.\n",
        "Sourdough starter",
    )
    checked = quoted("How do I make a sourdough starter?", steps)
    assert checked.sentences[0].text.startswith("1. Day 1: mix water and flour.")
    assert checked.sentences[-1].text.endswith("4. Bake with the starter.")


def test_a_sentence_that_names_nothing_is_shown_with_the_title_or_heading_that_does() -> None:
    editors = source("My favorite editor that I use to write code in.\n", "VS Code")
    assert lines("What editor do I use to write code?", editors)[0] == (
        "In “VS Code”: My favorite editor that I use to write code in."
    )
    under = source("# Books\n\n## Treatise on Efficacy\n\nMy favourite book of the year, without a doubt.\n", "Books")
    checked = quoted("Which book was my favourite of the year?", under)
    assert checked.sentences[0].text.startswith("In “Treatise on Efficacy”: My favourite book")
    assert checked.sentences[0].verdict == "supported"


def test_a_property_that_only_says_the_question_again_is_no_answer() -> None:
    kyoto = source("---\ncategories: Places\n---\n", "Kyoto")
    shrine = source("---\nloc: Kyoto\ncategories: Places\n---\n", "Fushimi Inari")
    shown = lines("Which places in Kyoto did I save?", kyoto, shrine)
    assert shown[0] == "In “Fushimi Inari”: loc: Kyoto"


BOATS = "| Name | Length | Owner |\n| --- | --- | --- |\n" + "".join(
    f"| skiff {n} | {3 * n} m | {'Ana Ruiz' if n == 61 else 'Ole Moe'} |\n" for n in range(1, 81)
)


def test_no_row_is_taken_for_the_header_of_a_table_that_a_window_begins_in() -> None:
    start = BOATS.index("| skiff 40 |")
    cut = source(BOATS[start:], "Boats", start=start)
    header = Context("table_header", "| Name | Length | Owner |", replace(cut.span, start=0, end=25))
    for given, shown in ((cut, "skiff 61; 183 m; Ana Ruiz"), (replace(cut, context=(header,)), "Name: skiff 61")):
        line = lines("Who is the owner of skiff 61?", given)[0]
        assert shown in line
        assert "skiff 40" not in line
        assert "skiff 41" not in line


def test_nearest_to_an_answer_is_the_row_and_not_its_table() -> None:
    found = answer("When was skiff 61 painted?", source(BOATS, "Boats"))
    assert found.refused
    assert found.nearest[0].quote == "| skiff 61 | 183 m | Ana Ruiz |"


def test_sentences_of_one_block_are_shown_in_their_order() -> None:
    note = source("# Is coffee healthy?\n\nYes. Two cups a day are fine for most people.\n", "Coffee")
    shown = " ".join(lines("Is coffee healthy?", note))
    assert shown.index("Yes.") < shown.index("Two cups")


def test_notes_whose_properties_have_what_is_asked_are_listed_by_their_titles() -> None:
    films = {"Ran": "watched", "Stalker": "watched", "Heat": "wanted"}
    notes = [source(f"---\ncategories: Movies\nstatus: {how}\n---\n", name) for name, how in films.items()]
    template = replace(source("---\ncategories: Movies\nstatus: watched\n---\n", "Film"), note_path="Templates/Film.md")
    shown = lines("Which movies have I watched?", template, *notes)
    assert shown == ["In “Ran”: status: watched", "In “Stalker”: status: watched"]
    rated = [source(f"---\ncategories: Movies\nrating: {n}\n---\n", name) for name, n in (("Ran", 7), ("Heat", 6))]
    assert lines("Which movies did I rate 7?", *rated) == ["In “Ran”: rating: 7"]


def test_a_sentence_before_the_line_that_leads_into_a_list_brings_the_list() -> None:
    note = source(
        "It is important to understand what causes maintainers to burn out. Here are a few common themes:\n\n"
        "* Lack of positive feedback. It can be discouraging.\n* Not saying no. It takes practice.\n* Working alone\n",
        "Balance",
    )
    shown = " ".join(lines("What causes maintainers to burn out?", note))
    assert "Lack of positive feedback" in shown
    assert "Working alone" in shown


def test_the_property_that_is_asked_for_is_the_answer() -> None:
    note = source("---\ntags: italian, pasta, quick\n---\n\nThis carbonara recipe assumes medium eggs.\n", "Carbonara")
    assert lines("What tags does the carbonara recipe have?", note)[0] == (
        "In “Carbonara”: tags: italian, pasta, quick"
    )


def test_a_hard_wrapped_block_quote_is_read_as_whole_sentences() -> None:
    note = source(
        "> The keeper of the light at Fara was paid in coal and\n> candles until the year in which the new\n"
        "> lamp was lit.\n",
        "Fara",
    )
    shown = " ".join(lines("How was the keeper of the light at Fara paid?", note)[0].split())
    assert shown == (
        "The keeper of the light at Fara was paid in coal and candles until the year in which the new lamp was lit."
    )
