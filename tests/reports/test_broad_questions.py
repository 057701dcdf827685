"""Broad questions without a model: the corpus itself says what to go into, and each section speaks for itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell import Citewell, Settings
from citewell.reports import ResearchBrief, ResearchRun
from citewell.reports.subqueries import topics_of
from reports.test_report_runs import resolves
from web.loopback_internet import Internet, loopback_internet

ALLOTMENT = {
    "Compost.md": """# Compost

## Which compost heap to build

A compost heap of one cubic metre keeps its heat through the winter. It needs a lid.

A compost heap takes:

- Grass in thin layers
- Torn cardboard
- Coffee grounds

## Turning the compost

Turn the compost every three weeks from April to September. This keeps it from going sour. See the calendar for details.

## Resources

- [Compost for beginners](https://example.org/compost)
- The compost society has a library of leaflets that members may borrow for two weeks at a time.
""",
    "Worm compost.md": """# Worm compost

Worm compost is made by some four hundred tiger worms in a box of two trays. They live on kitchen scraps.
""",
    "Seeds.md": """# Seeds

Broad beans are sown in November under fleece. The leeks follow in March, in trays on the window sill.
""",
    "Leaf mould.md": """# Leaf mould

Leaves go into a wire cage of their own, since they rot by fungi and need two years. Leaf mould feeds [[Compost]] heaps
as dry matter, and a compost heap that smells is cured by two forks of it.
""",
    "2024-05-02.md": "---\ntags: [compost]\n---\n# 2024-05-02\n\nMarta came by with three jars of honey and a rake.\n",
}
BROAD = "What should a new member know about compost?"


@pytest.fixture
def allotment(tmp_path: Path) -> Path:
    return added(tmp_path, ALLOTMENT)


def added(tmp_path: Path, notes: dict[str, str]) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in notes.items():
        (folder / name).write_text(text, "utf-8")
    with Citewell(tmp_path / "data", embeddings="off") as cw:
        cw.add(folder)
    return tmp_path / "data"


def reported(data: Path, question: str | ResearchBrief) -> ResearchRun:
    with Citewell(data, embeddings="off") as cw:
        run = cw.report(question)
        assert cw.runs.replay(run.run_id).identical
        if run.report is not None:
            resolves(cw, run)
    return run


def planned(run: ResearchRun) -> list[str]:
    assert run.plan is not None
    return [one.query for one in run.plan.sub_queries]


def claims(run: ResearchRun) -> list[str]:
    assert run.report is not None
    return [claim.text for claim in run.report.claims]


def test_a_broad_question_goes_into_what_the_documents_named_after_its_topic_have_headings_for(allotment: Path) -> None:
    run = reported(allotment, BROAD)
    assert planned(run)[0] == BROAD
    assert set(planned(run)[1:]) >= {"Which compost heap to build", "Turning the compost", "Worm compost"}
    assert "A compost heap of one cubic metre keeps its heat through the winter." in claims(run)
    assert "Turn the compost every three weeks from April to September." in claims(run)
    assert "Worm compost is made by some four hundred tiger worms in a box of two trays." in claims(run)
    assert run.plan is not None
    assert [one.why for one in run.plan.sub_queries if one.query == "Worm compost"] == ["in Worm compost"]


def test_sections_of_one_document_stand_together_in_its_order(allotment: Path) -> None:
    found = planned(reported(allotment, BROAD))
    assert found.index("Turning the compost") == found.index("Which compost heap to build") + 1


def test_a_list_is_one_claim_with_the_line_that_leads_into_it(allotment: Path) -> None:
    run = reported(allotment, BROAD)
    assert run.report is not None
    (listed,) = [one for one in run.report.claims if one.text.startswith("A compost heap takes:")]
    assert listed.text == "A compost heap takes: Grass in thin layers; Torn cardboard; Coffee grounds."
    assert listed.verdict == "supported"
    assert listed.citations[0].quote == (
        "A compost heap takes:\n\n- Grass in thin layers\n- Torn cardboard\n- Coffee grounds"
    )


def test_nothing_is_quoted_that_leans_on_another_sentence_points_elsewhere_or_is_off_the_topic(allotment: Path) -> None:
    told = " ".join(claims(reported(allotment, BROAD)))
    for stray in ("It needs a lid", "This keeps it", "See the calendar", "leaflets", "honey", "Broad beans"):
        assert stray not in told


def test_what_a_document_of_the_topic_links_to_counts_where_it_speaks_of_it(allotment: Path) -> None:
    assert "Leaf mould" in planned(reported(allotment, BROAD))


def test_the_sections_named_are_never_told_as_missing(tmp_path: Path) -> None:
    notes = {"Bees.md": "# Bees\n\n## Bees in winter\n\nBees cluster around their queen and shiver to keep her warm.\n"}
    notes["Bee pointers.md"] = "# Bee pointers\n\nIt is all in there: see the leaflet about the bees, then this page.\n"
    run = reported(added(tmp_path, notes), "What do my notes say about bees?")
    assert run.report is not None
    assert run.report.gaps == ()


def test_what_a_newer_note_says_to_be_wrong_is_not_quoted(tmp_path: Path) -> None:
    notes = {
        "Well.md": "---\ncreated: 2020-01-01\n---\n# Well\n\nThe well of the allotment is 9 m deep and never dry.\n",
        "Well measured.md": "---\ncreated: 2023-01-01\n---\n# Well measured\n\nCorrection to Well: the well of the "
        "allotment is 14 m deep, not 9 m.\n",
    }
    told = claims(reported(added(tmp_path, notes), "What do we know about the well?"))
    assert any("14 m deep" in one for one in told)
    assert not any("is 9 m deep" in one for one in told)


def test_of_a_note_that_is_about_something_else_only_what_speaks_of_the_topic_is_told(tmp_path: Path) -> None:
    notes = {
        "Sleep.md": "# Sleep\n\nEight hours of sleep keep me well through the week.\n",
        "Happiness.md": "# Happiness\n\nHappiness comes and goes with the weather here. A late walk brings better "
        "[[Sleep]] than any tea. Poor sleep makes every small thing look bad.\n",
    }
    told = claims(reported(added(tmp_path, notes), "What do I know about sleep?"))
    assert "Poor sleep makes every small thing look bad." in told
    assert not any("weather" in one for one in told)


def test_statements_in_the_language_of_the_question_come_before_others(tmp_path: Path) -> None:
    notes = {
        "Lens.md": "# Lens\n\nLa grande lentille du phare fut fabriquée dans les ateliers de la ville du Havre.\n\n"
        "The lens of the lighthouse was made in the workshops of Le Havre.\n"
    }
    told = claims(reported(added(tmp_path, notes), "What do I know about the lens?"))
    assert told == ["The lens of the lighthouse was made in the workshops of Le Havre."]


@pytest.mark.parametrize(
    ("question", "topics"),
    [
        ("What should a new employee know about leave and time off?", ("leave", "time off")),
        ("What do my notes say about habits?", ("habits",)),
        ("How do I start and keep alive an open source project?", ("start keep alive open source project",)),
        ("How should I manage my time and plan my work?", ("manage time", "plan work")),
        (
            "How do caching and replication work in distributed systems, and what are the trade-offs?",
            ("caching", "replication"),
        ),
        ("When was the lamp lit?", ()),
        ("How deep is the well?", ()),
        ("Is the well deep?", ()),
    ],
)
def test_a_question_names_topics_unless_it_asks_for_one_value(question: str, topics: tuple[str, ...]) -> None:
    assert topics_of(question) == topics


def test_beside_sections_stands_only_what_can_be_read_alone_and_is_about_its_subject(tmp_path: Path) -> None:
    notes = {
        "Caching.md": "# Caching\n\n## What a cache is\n\nA cache keeps answers that are asked for again and again.\n\n"
        "## Where it stands\n\nThe cache stands between the application and the slow store of the house.\n",
        "Tries.md": "# Tries\n\nThe trade-off is that it takes much more space than an old trie.\n",
        "Edges.md": "# Edges\n\nThere is a trade-off though, caching at more edges reduces how often a cache is hit.\n",
    }
    text = " ".join(claims(reported(added(tmp_path, notes), "How does caching work, and what are the trade-offs?")))
    assert "The cache stands between the application" in text
    assert "trie" not in text
    assert "There is a trade-off though" not in text


def test_one_word_of_several_is_another_topic(tmp_path: Path) -> None:
    notes = {
        "Garden plan.md": "# Garden plan\n\nThe garden plan has four beds, and the beans move on by one every year.\n",
        "Savings plan.md": "# Savings plan\n\nThe savings plan takes forty pounds a month and pays out in ten years.\n",
    }
    run = reported(added(tmp_path, notes), "What do my notes say about the garden plan?")
    assert planned(run)[1:] == ["Garden plan"]
    assert not any("savings" in one.casefold() for one in claims(run))


def test_listed_sub_questions_are_looked_into_and_nothing_else(allotment: Path) -> None:
    brief = ResearchBrief(question=BROAD, sub_questions=("How often is compost turned?",))
    assert planned(reported(allotment, brief)) == [BROAD, "How often is compost turned?"]


def test_a_topic_the_corpus_does_not_know_is_not_surveyed_into_something_else(allotment: Path) -> None:
    run = reported(allotment, "What do my notes say about quantum gravity?")
    assert run.report is None
    assert len(planned(run)) == 1


def test_no_more_is_gone_into_than_the_brief_allows(allotment: Path) -> None:
    brief = ResearchBrief.model_validate({"question": BROAD, "limits": {"max_sub_queries": 3}})
    assert len(planned(reported(allotment, brief))) == 3


@pytest.fixture
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        yield net


def test_headings_of_the_users_documents_are_never_sent_to_a_search_provider(
    tmp_path: Path, internet: Internet
) -> None:
    data = added(tmp_path, ALLOTMENT)
    engine = Citewell(
        Settings(data_dir=data, judge="off", embeddings="off", **internet.settings), resolve=internet.names
    )
    try:
        service = engine.reports()
        run = service.wait(service.start(ResearchBrief(question=BROAD)))
        assert engine.runs.replay(run.run_id).identical
    finally:
        engine.close()
    assert "Turning the compost" in planned(run)
    assert set(internet.searched) == {BROAD}
