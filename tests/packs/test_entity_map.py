"""Entity maps over small real corpora: a name resolved through its aliases, with exact places, never guessed."""

from __future__ import annotations

import pytest

from citewell import BadInput, Citewell, EntityMap, Filters, NotFound
from conftest import AddPath, Write

NOTES: dict[str, str | bytes] = {
    "People/Maëlle Kervadec.md": "---\ntags: person\naliases: [Mae, '@mkerv', the treasurer]\n---\nKeeps the books.",
    "People/Ewan Ross (slater).md": "---\ntags: person\n---\nSlates.",
    "People/Ewan Ross (Dunmarrow).md": "---\ntags: person\n---\nTides.",
    "Co-op.md": "The Skelday Community Energy (SCE) meeting was chaired by MAELLE KERVADEC. Later @mkerv wrote up SCE.",
    "Diary.md": "Met Ewan Ross. Tea with [[Maëlle Kervadec|our bookkeeper]] and Mae, in Kirkhaven. The treasurer of the"
    " golf club was there too.",
    "Letter.md": "From Kirkhaven: the lamp of the tower is out. Femi Oyelaran wrote from Kirkhaven again.",
    "Other.md": "The Society of Chess Experts (SOCE) and the Sea Care Exchange (SCX) met. Ask Femi Oyelaran.",
    "人/李明.md": "---\ntags: [人物]\naliases: [小李]\n---\n工程师。",
    "日记.md": "昨天小李来了，和李明的同事谈话。他在北京大学（北大）工作，北大很大。",
    "Люди/Анна.md": "---\ntags: [люди]\n---\n# Анна Петрова\nИнженер из Казани.",
    "Письмо.md": "Вчера приходила Анна Петрова с письмом.",
}


def counts(found: EntityMap) -> dict[str, int]:
    return {document.source_key: document.count for document in found.documents}


@pytest.mark.parametrize(
    "name", ["Maëlle Kervadec", "maelle kervadec", "MAE", "@mkerv", "mkerv", "our bookkeeper", "Kervadec"]
)
def test_every_name_of_a_person_leads_to_the_same_map(corpus: Citewell, name: str) -> None:
    found = corpus.corpus.entity_map(name)
    assert (found.status, found.name, found.kind) == ("found", "Maëlle Kervadec", "person")
    assert counts(found) == {
        "note:vault/people/maëlle-kervadec": 2,  # its aliases are text of the note
        "note:vault/co-op": 2,
        "note:vault/diary": 2,
    }


def test_aliases_say_where_they_come_from(corpus: Citewell) -> None:
    found = corpus.corpus.entity_map("Maëlle Kervadec")
    owner = "note:vault/people/maëlle-kervadec"
    assert {(alias.name, alias.origin, alias.source_key) for alias in found.aliases} >= {
        ("Mae", "front_matter", owner),
        ("@mkerv", "front_matter", owner),
        ("the treasurer", "front_matter", owner),
    }


def test_the_first_mention_is_an_exact_span(corpus: Citewell) -> None:
    found = corpus.corpus.entity_map("mkerv")
    for document in found.documents:
        if document.first is None:
            assert document.count == 0
            continue
        lookup = f"{document.source_key}@{document.first.content_hash}"
        (view,) = corpus.corpus.get(lookup, content_mode="full").documents
        assert view.text[document.first.start : document.first.end] == document.written
    (co_op,) = [document for document in found.documents if document.source_key == "note:vault/co-op"]
    assert co_op.written == "MAELLE KERVADEC"


def test_a_name_that_means_two_people_lists_both_and_chooses_neither(corpus: Citewell) -> None:
    for name in ("Ewan Ross", "ewan", "Ross"):
        found = corpus.corpus.entity_map(name)
        assert (found.status, found.documents) == ("ambiguous", ())
        assert [(one.name, one.kind) for one in found.candidates] == [
            ("Ewan Ross (Dunmarrow)", "person"),
            ("Ewan Ross (slater)", "person"),
        ]
    chosen = corpus.corpus.entity_map("Ewan Ross (slater)")
    assert (chosen.status, chosen.name) == ("found", "Ewan Ross (slater)")
    by_key = corpus.corpus.entity_map(found.candidates[0].source_key)
    assert (by_key.status, by_key.name) == ("found", "Ewan Ross (Dunmarrow)")
    assert "note:vault/diary" not in counts(by_key)  # which of the two was met, nobody can tell


def test_an_abbreviation_stands_for_its_long_form(corpus: Citewell) -> None:
    found = corpus.corpus.entity_map("sce")
    assert (found.name, counts(found)) == ("Skelday Community Energy", {"note:vault/co-op": 3})
    assert [(alias.name, alias.origin) for alias in found.aliases] == [("SCE", "abbreviation")]


def test_an_abbreviation_of_two_things_is_ambiguous(engine: Citewell, vault: Write, add_path: AddPath) -> None:
    add_path(vault({"a.md": "Skelday Community Energy (SCE) met.", "b.md": "A Sea Care Exchange (SCE) opened."}))
    found = engine.corpus.entity_map("SCE")
    assert (found.status, [one.name for one in found.candidates]) == (
        *("ambiguous", ["Sea Care Exchange", "Skelday Community Energy"]),
    )


def test_a_name_without_a_document_of_its_own_is_found_in_the_texts(corpus: Citewell) -> None:
    found = corpus.corpus.entity_map("Kirkhaven")
    assert (found.name, found.aliases) == ("Kirkhaven", ())
    assert counts(found) == {"note:vault/letter": 2, "note:vault/diary": 1}
    assert ("Femi Oyelaran", "person", 1) in {(one.name, one.kind, one.documents) for one in found.cooccurring}


def test_names_in_other_scripts_are_resolved_counted_and_placed(corpus: Citewell) -> None:
    person = corpus.corpus.entity_map("小李")
    assert (person.name, person.kind, counts(person)) == (
        *("李明", "person", {"note:vault/人/李明": 1, "note:vault/日记": 2}),
    )
    assert corpus.corpus.entity_map("анна петрова").kind == "person"
    assert counts(corpus.corpus.entity_map("Анна Петрова")) == {"note:vault/люди/анна": 1, "note:vault/письмо": 1}


def test_the_name_of_a_file_is_a_name_too(engine: Citewell, vault: Write, add_path: AddPath) -> None:
    add_path(vault({"tw.md": "# Tidewick\nAn open gauge.", "b.md": "We built Tidewick in May."}))
    found = engine.corpus.entity_map("tw")
    assert (found.name, [alias.name for alias in found.aliases]) == ("Tidewick", ["tw"])
    assert counts(found) == {"note:vault/tw": 1, "note:vault/b": 1}


def test_filters_and_limits_hold(corpus: Citewell) -> None:
    only = corpus.corpus.entity_map("Kirkhaven", filters=Filters(only=("Letter.md",)))
    assert list(counts(only)) == ["note:vault/letter"]
    assert len(corpus.corpus.entity_map("Kirkhaven", limit=1).documents) == 1
    with pytest.raises(BadInput):
        corpus.corpus.entity_map("Kirkhaven", limit=0)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Kervadek", "Maëlle Kervadec"),
        ("Maele Kervadec", "Maëlle Kervadec"),
        ("Femmi Oyelarran", "femi oyelaran"),
    ],
)
def test_an_unknown_name_is_not_found_and_near_ones_are_named(corpus: Citewell, name: str, hint: str) -> None:
    with pytest.raises(NotFound) as caught:
        corpus.corpus.entity_map(name)
    assert hint in caught.value.fix


def test_a_word_that_names_nothing_is_not_made_into_an_entity(corpus: Citewell) -> None:
    with pytest.raises(NotFound, match="occurs in the corpus, but nothing there shows that it is a name"):
        corpus.corpus.entity_map("lamp")
    with pytest.raises(NotFound):
        corpus.corpus.entity_map("zirconium")
    for empty in ("", "  ", "@", "…", "Ab " * 500):
        with pytest.raises(BadInput):
            corpus.corpus.entity_map(empty)


def test_an_empty_corpus_knows_no_name(engine: Citewell) -> None:
    with pytest.raises(NotFound):
        engine.corpus.entity_map("Kirkhaven")


def test_words_that_only_another_language_stems_alike_hide_no_mention(
    engine: Citewell, vault: Write, add_path: AddPath
) -> None:
    """A French note makes "git" a stem of Gitea; the notes on git must not crowd out those that name Gitea."""
    notes: dict[str, str | bytes] = {f"git {n}.md": "git git git. We use git for it, and git again." for n in range(30)}
    french = (
        "La maison est au nord de l'île, et le phare se voit depuis la plage quand il n'y a pas de brume sur la mer."
    )
    filler = "The tide gauge at the quay was read by hand every morning before the mail boat came in. " * 10
    notes |= {
        "Phare.md": french,
        "Hosting.md": f"{filler}Our code lives on Gitea, by choice.",
        "Ops.md": f"{filler}A move to Gitea is due.",
    }
    add_path(vault(notes))
    found = engine.corpus.entity_map("Gitea")
    assert counts(found) == {"note:vault/hosting": 1, "note:vault/ops": 1}
    assert found.matching_documents == 2
