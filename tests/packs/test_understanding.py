"""What a question says beyond its words, as packs show it: exclusions, pinned keys, titles, sides."""

from __future__ import annotations

import pytest

from citewell import BadInput, Citewell, Filters, ResearchPack
from conftest import AddPath, Write

NOTES: dict[str, str | bytes] = {
    "Ferry.md": "# Ferry\nThe ferry leaves Kirkhaven at eight. The harbour timetable hangs on the pier.",
    "Bus.md": "# Bus\nThe bus leaves Kirkhaven at nine. The harbour timetable is in the shelter.",
    "Draft.md": "---\ntags: [draft]\n---\n# Timetable ideas\nA harbour timetable for Kirkhaven that nobody agreed to.",
    "Rules.md": "# Harbour rules\nSwimming is not allowed in the harbour. Tell @portmaster about oil.",
    "Kelp.md": "# Kelp\nKelp grows at 1.8 metres.",
    "Timetable.md": "# Timetable\nSee the board.",
}


def keys(pack: ResearchPack) -> list[str]:
    return [row.source_key.removeprefix("note:vault/") for row in pack.evidence]


def test_a_row_about_what_is_left_out_comes_later_and_says_so(corpus: Citewell) -> None:
    found = corpus.pack("harbour timetable Kirkhaven, not the ferry")
    assert keys(found).index("bus") < keys(found).index("ferry")
    ferry = next(row for row in found.evidence if row.source_key.endswith("ferry"))
    assert [signal.value < 0 for signal in ferry.signals if signal.name == "excluded:ferry"] == [True]
    assert abs(sum(signal.value for signal in ferry.signals) - ferry.score) < 1e-6


@pytest.mark.parametrize("question", ["harbour timetable not #draft", "harbour timetable -#draft"])
def test_a_tag_that_is_ruled_out_is_nowhere(corpus: Citewell, question: str) -> None:
    assert "draft" in keys(corpus.pack("harbour timetable"))
    found = corpus.pack(question)
    assert "draft" not in keys(found)
    assert not [row for row in found.exact_tag_evidence if "draft" in row.user_tags]


def test_not_as_part_of_the_question_is_searched_for(corpus: Citewell) -> None:
    found = corpus.pack("what is not allowed in the harbour?")
    assert (keys(found)[0], found.query_plan.excluded) == ("rules", ())


def test_a_correction_asks_the_earlier_question_again(corpus: Citewell) -> None:
    found = corpus.pack(
        "Current question: not the ferry, the bus\nRecent user questions:\n- When does the ferry leave Kirkhaven?"
    )
    assert (found.query_plan.family, keys(found)[0]) == ("corrective", "bus")


def test_pinned_documents_stay_in_the_evidence_within_its_limit(corpus: Citewell) -> None:
    prompt = "Current question: harbour timetable\nPinned evidence keys: note:vault/kelp, note:vault/gone"
    found = corpus.pack(prompt, limit=2)
    assert (len(found.evidence), keys(found)[-1]) == (2, "kelp")
    assert found.evidence[-1].lanes == ("pinned",)
    assert found.evidence[-1].text in NOTES["Kelp.md"]
    elsewhere = corpus.pack(prompt, filters=Filters(exclude_paths=("Kelp.md",)))
    assert "kelp" not in keys(elsewhere)


def test_a_document_is_found_by_its_exact_title(corpus: Citewell) -> None:
    found = corpus.pack("the note called Timetable")
    assert keys(found)[0] == "timetable"
    assert "exact_title" in {signal.name for signal in found.evidence[0].signals}


def test_a_protected_anchor_is_not_met_by_its_parts(corpus: Citewell) -> None:
    assert corpus.pack("what about @port").coverage.missing_concepts == ("@port",)
    assert corpus.pack('"timetable harbour"').coverage.missing_concepts == ("timetable harbour",)
    assert corpus.pack("note:vault/kelp metres").coverage.missing_concepts == ()


def test_both_sides_of_a_comparison_are_shown(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    many: dict[str, str | bytes] = {f"Ferry {n}.md": f"Ferry fares and ferry cost number {n}." for n in range(12)}
    add_path(vault({**many, "Bus.md": "A long page about the bus. " + "Roads and hedges. " * 80 + "It costs little."}))
    found = engine.pack("Compare the cost of the ferry and the bus", limit=3)
    assert len(found.evidence) == 3
    assert "bus" in keys(found)


ODD = (
    "a",
    "C",
    "AND OR NOT",
    '"',
    "()",
    "* ^ : -",
    "-#",
    "🙂",
    "🙂🚀",
    "ما هو الميناء؟",
    "港 harbour גן",
    "\u202eharbour",
)


@pytest.mark.parametrize("question", ODD)
def test_odd_questions_give_a_result_with_a_way_on(corpus: Citewell, question: str) -> None:
    pack = corpus.pack(question)
    assert pack.coverage.recall_note
    assert pack.next_steps
    assert corpus.search(question).query == question


@pytest.mark.parametrize("question", ["", " \n", "harbour " * 13_000])
def test_empty_and_enormous_questions_are_refused_with_a_fix(corpus: Citewell, question: str) -> None:
    for ask in (corpus.search, corpus.pack, corpus.start):
        with pytest.raises(BadInput) as refused:
            ask(question)
        assert refused.value.fix


def test_a_prompt_without_a_question_is_refused(corpus: Citewell) -> None:
    for ask in (corpus.pack, corpus.start):
        with pytest.raises(BadInput, match="empty"):
            ask("Recent user questions:\n- When?\nPrior evidence titles:\n- Harbour rules")


def test_mixed_scripts_find_what_either_part_names(corpus: Citewell) -> None:
    assert keys(corpus.pack("港 harbour גן"))
    assert corpus.search("🙂").warnings == ("The query has no letters or digits to search for.",)


def test_filters_that_exclude_everything_say_so(corpus: Citewell) -> None:
    nowhere = Filters(exclude_paths=tuple(NOTES))
    assert "filters leave none" in corpus.pack("harbour", filters=nowhere).coverage.recall_note
    assert corpus.search("harbour", filters=nowhere).warnings == ("The filters leave no document to search.",)


def test_a_corpus_of_one_document_answers(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    add_path(vault({"Only.md": "The only note is about marmots."}))
    assert keys(engine.pack("marmots")) == ["only"]
    assert keys(engine.pack("marmots not #draft")) == ["only"]
    assert [row.source_key for row in engine.search("marmots").results] == ["note:vault/only"]
