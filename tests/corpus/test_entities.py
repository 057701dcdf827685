"""Entities of a handful of documents: one thing under all its names, two things under one name kept apart."""

from __future__ import annotations

import hashlib

import pytest

from citewell import Document
from citewell.search.entities import Entity, NamedDocument, entities_of
from citewell.search.names import is_name_like
from citewell.store.port import WrittenLink


def document(
    title: str,
    text: str,
    *,
    tags: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    links: tuple[WrittenLink, ...] = (),
    author: str | None = None,
    language: str | None = "en",
) -> NamedDocument:
    key = f"note:{title.lower().replace(' ', '-')}"
    digest = hashlib.sha256(text.encode()).hexdigest()
    made = Document(
        *(key, "item", "vault_note", "vault", title, digest, len(text), f"{title}.md"),
        author=author,
        language=language,
        user_tags=tags,
        aliases=aliases,
    )
    return NamedDocument(made, text, 0, links)


def named(entities: list[Entity], name: str) -> Entity:
    (found,) = [entity for entity in entities if entity.name == name]
    return found


def test_a_person_has_one_entity_under_title_alias_and_part_of_the_name() -> None:
    found = entities_of(
        [
            document("Solveig Haraldsen", "A skipper.", tags=("person",), aliases=("kelpwife",)),
            document("Log", "We saw Solveig twice. Later @kelpwife wrote. And Solveig Haraldsen left."),
        ]
    )
    person = named(found, "Solveig Haraldsen")
    assert (person.kind, person.total, dict(person.mentions)) == ("person", 3, {"note:log": 3})
    assert {(alias.name, alias.origin) for alias in person.aliases} == {
        ("kelpwife", "front_matter"),
        ("Solveig", "short_form"),
    }
    assert person.about == ("note:solveig-haraldsen",)
    assert "Solveig" not in [entity.name for entity in found]


def test_a_name_that_two_documents_claim_belongs_to_neither() -> None:
    found = entities_of(
        [
            document("Ewan Ross (slater)", "Roofs.", tags=("person",)),
            document("Ewan Ross (Dunmarrow)", "Tides.", tags=("person",)),
            document("Log", "We met Ewan Ross at the pier."),
        ]
    )
    assert dict(named(found, "Ewan Ross").mentions) == {"note:log": 1}
    assert [entity.name for entity in found] == ["Ewan Ross"]


def test_an_abbreviation_and_the_text_of_a_link_are_aliases_with_their_place() -> None:
    link = WrittenLink("wikilink", "Big Maggie", "Old Mags", 0, 5, "note:big-maggie", "Big Maggie")
    found = entities_of(
        [
            document("Big Maggie", "Our turbine."),
            document("Log", "The Skelday Community Energy (SCE) group met. Then SCE voted.", links=(link,)),
        ]
    )
    energy = named(found, "Skelday Community Energy")
    assert [(alias.name, alias.origin, alias.source_key) for alias in energy.aliases] == [
        ("SCE", "abbreviation", "note:log")
    ]
    assert energy.total == 1  # what is shouted counts only where something else vouches for it
    maggie = named(found, "Big Maggie")
    assert [(alias.name, alias.origin) for alias in maggie.aliases] == [("Old Mags", "link")]


def test_names_without_capitals_are_found_where_a_title_or_an_alias_makes_them_known() -> None:
    found = entities_of(
        [
            document("沢田恵美", "研究者。", tags=("人物",), language="ja"),
            document("日記", "今日は沢田恵美さんと昆布を採った。", language="ja"),
            document("محمد علي", "كاتب", aliases=("أبو علي",), language="ar"),
            document("Log ar", "قابلت محمد علي أمس ثم أبو علي مرة أخرى", language="ar"),
        ]
    )
    assert (named(found, "沢田恵美").kind, dict(named(found, "沢田恵美").mentions)) == ("person", {"note:日記": 1})
    assert dict(named(found, "محمد علي").mentions) == {"note:log-ar": 2}


def test_kinds_come_from_what_documents_say_and_from_the_words_around() -> None:
    found = entities_of(
        [
            document("Log", "He arrived in Kirkhaven. She lives in Kirkhaven. We sailed past Burra Hill."),
            document("Trip", "We went with Clara Lund."),
            document("Mail", "Femi Oyelaran wrote to Fjordside Institute on Postgres 16.2.", author="Nadia Okafor"),
            document(
                "Talk", "A chat with Nadia Okafor, then Clara Lund on Postgres 15.4. Much in Slack with Clara Lund."
            ),
        ]
    )
    kinds = {entity.name: entity.kind for entity in found}
    assert kinds == {
        "Kirkhaven": "place",
        "Burra Hill": "place",
        "Femi Oyelaran": "person",
        "Fjordside Institute": "organisation",
        "Postgres": "product",
        "Nadia Okafor": "person",
        "Clara Lund": "name",
    }


def test_a_name_of_running_text_alone_needs_two_documents_three_mentions_or_a_kind() -> None:
    found = entities_of(
        [
            document("Log", "We asked Clara Lund. Then came Orla Finn, and Orla Finn, and again Orla Finn."),
            document("Talk", "A call with Tove Berg."),
            document("Mail", "A letter for Tove Berg, and Dr Ines Roth was there."),
        ]
    )
    assert {entity.name for entity in found} == {"Tove Berg", "Orla Finn", "Ines Roth"}
    assert "Clara Lund" in {
        entity.name for entity in entities_of([document("Log", "We asked Clara Lund.")], "Clara Lund")
    }


def test_two_words_that_also_stand_alone_are_no_person_for_that() -> None:
    """Nothing says that Syncthing Android speaks, is called Mr, or is tagged as a person."""
    text = (
        "We run Syncthing Android on it. On the laptop it is Syncthing, and the phone is Android, never Android Auto."
    )
    found = entities_of([document("Phone", text), document("Laptop", text)])
    assert {entity.name: entity.kind for entity in found}["Syncthing Android"] == "name"
    assert not [entity.name for entity in found if entity.kind == "person"]


def test_labels_and_function_words_are_no_names() -> None:
    text = """I'm glad, and I've said that I'd go. Note: see below. [Learn more](x) or press **Update** then Save.

    | Purpose | Display Name |

    It was fine.) However, the Linux-based ones were True, and the Hiring Manager was told by the hiring manager."""
    assert entities_of([document("One", text), document("Two", text), document("Three", text)]) == []


@pytest.mark.parametrize("title", ["2018 April", "Week 12", "2024-05-01", "What is RSS?"])
def test_dates_and_questions_name_nothing(title: str) -> None:
    assert not is_name_like(title)


def test_linked_notes_come_before_names_of_running_text() -> None:
    link = WrittenLink("wikilink", "Big Maggie", None, 0, 5, "note:big-maggie", "Big Maggie")
    found = entities_of(
        [
            document("Big Maggie", "Our turbine."),
            document("One", "A talk with Tove Berg.", links=(link,)),
            document("Two", "A talk with Tove Berg."),
        ]
    )
    assert [(entity.name, len(entity.mentions)) for entity in found] == [("Big Maggie", 1), ("Tove Berg", 2)]


def test_the_text_of_a_link_takes_no_mentions_from_what_texts_call_so() -> None:
    link = WrittenLink("markdown", "tools/etiquette", "Slack", 0, 5, "note:slack-etiquette", "Chat Etiquette")
    found = entities_of(
        [
            document("Chat Etiquette", "Be kind."),
            document("One", "We talk in Slack, and Slack is slow.", links=(link,)),
            document("Two", "We moved from Slack."),
        ]
    )
    assert {entity.name: dict(entity.mentions) for entity in found} == {
        "Chat Etiquette": {"note:one": 1},
        "Slack": {"note:one": 2, "note:two": 1},
    }


def test_notes_that_are_no_names_do_not_become_entities_by_being_linked() -> None:
    link = WrittenLink("wikilink", "Snag list", None, 0, 5, "note:snag-list", "Snag list")
    assert entities_of([document("Snag list", "Gutters."), document("Home", "Start here.", links=(link,))]) == []
