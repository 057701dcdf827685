"""The topic graph as values: what connects documents, how it is bounded, and what the summary may say."""

from __future__ import annotations

from collections.abc import Sequence

from citewell import TopicBrief
from citewell.search.entities import NamedDocument
from citewell.search.topics import MAX_EDGES, MAX_ENTITIES, MAX_NODES, MAX_SUMMARY_CHARS, TopicMaterial, brief_topic
from citewell.store.port import GraphLink, WrittenLink
from corpus.test_entities import document


def brief(
    seeds: Sequence[NamedDocument], related: Sequence[NamedDocument] = (), links: tuple[GraphLink, ...] = ()
) -> TopicBrief:
    material = TopicMaterial(
        topic="kelp",
        names=("kelp",),
        forms=frozenset({"kelp"}),
        source_types=("vault_note",),
        seed_limit=12,
        related_limit=8,
        seeds=tuple(seeds),
        related=tuple(related),
        links=links,
        tag_counts={"farm": 7},
    )
    return brief_topic(material)


def edges(made: TopicBrief) -> set[tuple[str, str, str, int]]:
    return {(edge.source, edge.target, edge.relationship, edge.weight) for edge in made.edges}


def test_links_are_named_by_who_wrote_them() -> None:
    made = brief(
        [document("Farm", "Kelp is cut here in June."), document("Rope", "Kelp grows on rope.")],
        [document("Diary", "A day.")],
        (
            GraphLink("note:farm", "note:rope", "wikilink", 2),
            GraphLink("note:farm", "note:diary", "embed", 1),
            GraphLink("note:diary", "note:farm", "wikilink", 3),
            GraphLink("note:farm", "note:elsewhere", "wikilink", 9),
        ),
    )
    assert edges(made) == {
        ("note:farm", "note:rope", "links_to", 2),
        ("note:farm", "note:diary", "embeds", 1),
        ("note:diary", "note:farm", "backlink", 3),
    }
    assert [(node.id, node.is_seed) for node in made.nodes] == [
        *(("note:farm", True), ("note:rope", True), ("note:diary", False)),
    ]
    (pivot,) = made.pivots
    assert (pivot.label, pivot.count) == ("Farm", 2)


def test_shared_tags_pages_quotations_and_names_connect_documents() -> None:
    words = "the lines hang exactly one point eight metres below the surface"
    page = WrittenLink("url", "https://kelp.example/guide?utm_source=x", None, 0, 1)
    same = WrittenLink("url", "https://kelp.example/guide", None, 0, 1)
    made = brief(
        [
            document("Farm", f"Kelp: {words}. We asked Agnes Tulloch.", tags=("Farm", "june"), links=(page,)),
            document("Letter", f"> {words}\n\nSo says Agnes Tulloch of kelp.", tags=("farm",), links=(same,)),
        ]
    )
    assert edges(made) == {
        ("note:letter", "note:farm", "quotes", 1),
        ("note:farm", "note:letter", "shared_url", 1),
        ("note:farm", "tag:farm", "shared_tag", 2),
        ("note:letter", "tag:farm", "shared_tag", 2),
        ("note:farm", "tag:june", "tagged", 1),
        ("note:farm", "entity:agnes tulloch", "mentions", 1),
        ("note:letter", "entity:agnes tulloch", "mentions", 1),
    }
    assert {(pivot.label, pivot.reason) for pivot in made.pivots} == {
        ("#Farm", "tag of 2 of these 2 documents and of 7 in the corpus"),
        ("Agnes Tulloch", "named in 2 of these 2 documents"),
    }


def test_the_summary_is_verbatim_names_its_documents_and_says_that_it_is_derived() -> None:
    farm = "# Kelp\n\n- Kelp is cut in June, by hand.\n- [ ] buy rope for kelp soon please\n\nIt dries for two days."
    made = brief([document("Farm", farm), document("Other", "Nothing of that kind is said in this one.")])
    assert made.summary == (
        "Derived from 1 document, sentences as they stand:\nKelp is cut in June, by hand. [note:farm]"
    )


def test_a_document_of_the_topics_own_name_need_not_repeat_it() -> None:
    made = brief([document("Kelp", "It grows on ropes in the cold half of the year.")])
    assert made.summary.endswith("It grows on ropes in the cold half of the year. [note:kelp]")


def test_everything_is_bounded() -> None:
    people = [f"Ann{chr(97 + n)}a Berg{chr(97 + m)}o" for n in range(9) for m in range(9)]
    seeds = [
        document(f"Note {n}", " ".join(f"Kelp was cut by {name}." for name in people), tags=(f"t{n}", "kelp", "sea"))
        for n in range(20)
    ]
    links = tuple(
        GraphLink(f"note:note-{n}", f"note:note-{m}", "wikilink", 1) for n in range(20) for m in range(20) if n != m
    )
    made = brief(seeds, links=links)
    assert (len(made.nodes), len(made.edges), len(made.entities)) == (MAX_NODES, MAX_EDGES, MAX_ENTITIES)
    assert (MAX_NODES, MAX_EDGES, MAX_ENTITIES) == (40, 80, 20)
    assert 0 < len(made.summary) <= MAX_SUMMARY_CHARS
    known = {node.id for node in made.nodes}
    assert all(edge.source in known and edge.target in known for edge in made.edges)


def test_nothing_makes_an_empty_brief() -> None:
    made = brief([])
    assert (made.summary, made.pivots, made.entities, made.nodes, made.edges) == ("", (), (), (), ())
