"""Other names of what a question names: they find more rows, weigh little, and satisfy nothing."""

from __future__ import annotations

from citewell import Citewell, ResearchPack
from citewell.search.aliases import MOST

NOTES: dict[str, str | bytes] = {
    "People/Solveig Haraldsen.md": "---\naliases: [kelpwife, Sol]\ntags: [person]\n---\nRuns the kelp farm.",
    "Harvest.md": "Solveig Haraldsen cut four tonnes in May.",
    "Thread.md": "On the forum @kelpwife wrote that the ropes were too thin.",
    "Utility.md": "Skelday Energy (SE) built the turbine. The price is fixed.",
    "Outage.md": "An outage at Skelday Energy darkened the island for a night.",
    "Notice.md": "SE announced a new price for the winter.",
    "Mara/Index.md": "---\naliases: [Plan B]\n---\nOne meaning.",
    "Nils/Index.md": "---\naliases: [Plan B]\n---\nAnother meaning.",
    "Ada Byron.md": "---\ntags: [person]\n---\nShe posts as @enchantress about engines.",
    "Engine.md": "@enchantress explained the engine to everyone.",
    "Sundry.md": "---\naliases: [First Name, Second Name, Third Name, Fourth Name]\n---\nA thing of many names.",
}


def _others(pack: ResearchPack) -> list[str]:
    return [variant.query for variant in pack.query_plan.query_variants if variant.kind == "alias"]


def _keys(pack: ResearchPack) -> list[str]:
    return [row.source_key for row in pack.evidence]


def test_a_person_is_also_found_by_their_handle_and_the_other_way_round(corpus: Citewell) -> None:
    by_name = corpus.pack("what did Solveig Haraldsen write about the ropes")
    assert "kelpwife" in _others(by_name)[0]
    assert "note:vault/thread" in _keys(by_name)
    by_handle = corpus.pack("how many tonnes did @kelpwife cut")
    assert "Solveig Haraldsen" in _others(by_handle)[0]
    assert "note:vault/harvest" in _keys(by_handle)


def test_abbreviations_and_handles_that_a_text_introduces_count_too(corpus: Citewell) -> None:
    assert "note:vault/outage" in _keys(corpus.pack("SE blackout"))
    assert "SE" in _others(corpus.pack("Skelday Energy price"))[0].split()
    assert "note:vault/engine" in _keys(corpus.pack("Ada Byron lectures"))


def test_another_name_never_satisfies_what_was_named(corpus: Citewell) -> None:
    pack = corpus.pack("tonnes cut by @kelpwife")
    row = next(row for row in pack.evidence if row.source_key == "note:vault/harvest")
    names = {signal.name for signal in row.signals}
    assert "concept:@kelpwife" not in names
    assert "missing:@kelpwife" in names


def test_a_row_says_by_which_name_it_was_found(corpus: Citewell) -> None:
    pack = corpus.pack("@kelpwife")
    row = next(row for row in pack.evidence if row.source_key == "note:vault/harvest")
    assert "found as 'Solveig Haraldsen', which note:vault/people/solveig-haraldsen gives for '@kelpwife'" in [
        signal.detail for signal in row.signals if signal.name == "alias"
    ]
    assert _keys(pack)[0] == "note:vault/thread"


def test_a_name_of_several_things_has_no_other_name(corpus: Citewell) -> None:
    assert _others(corpus.pack("what is Plan B about")) == []


def test_names_that_the_question_leaves_out_are_not_searched_for(corpus: Citewell) -> None:
    others = _others(corpus.pack('what did Solveig Haraldsen cut, but not "kelpwife"'))
    assert all("kelpwife" not in other for other in others)


def test_no_more_than_three_other_names_are_used(corpus: Citewell) -> None:
    (query,) = _others(corpus.pack("Sundry"))
    assert sum(name in query for name in ("First", "Second", "Third", "Fourth")) == MOST


def test_a_question_that_names_nothing_known_is_searched_as_it_is(corpus: Citewell) -> None:
    assert _others(corpus.pack("how thick must a rope be")) == []
