"""Misspelled words: what nothing has is searched for as what something has, said openly, and satisfies nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from citewell import Citewell
from citewell.cli.main import cli
from citewell.search.query import doubtful_words, put_right
from citewell.search.spelling import beginning_distance, distance, nearest, nearest_beginnings, respell
from citewell.store.corpus import SqliteCorpus
from citewell.store.port import LexicalQuery, Term
from conftest import Write, add

NOTES: dict[str, str | bytes] = {
    "Kelp.md": "# Kelp farm\nThe longlines were laid in May. Ask @kelpwife about version 1.4.2.",
    "Boat.md": "# Boat\nThe engine of the boat needs a new impeller before the autumn survey.",
    "Café.md": "# Straße\nDas Gemüse kommt vom Bauernhof hinter dem Dorf und ist jeden Freitag frisch zu haben.",
    "лодка.md": "# Лодка\nЛодка стоит в гавани, и каждое утро рыбаки выходят в море за треской.",
    "海带.md": "# 海带\n海带养殖在五月开始，需要很多绳子。",
}


@pytest.mark.parametrize(
    ("first", "second", "slips"),
    [
        ("lamp", "lamp", 0),
        ("lamp", "lmap", 1),
        ("lamp", "lam", 1),
        ("lamp", "clamp", 1),
        ("lamp", "lump", 1),
        ("longlnies", "longlines", 1),
        ("impelar", "impeller", 2),
        ("kelp", "boat", 3),
    ],
)
def test_slips_are_counted_up_to_a_limit(first: str, second: str, slips: int) -> None:
    assert distance(first, second, 2) == distance(second, first, 2) == slips


def test_a_short_word_with_another_letter_is_another_word() -> None:
    known = [("wife", 3), ("long", 5), ("lamp", 1)]
    assert [one.form for one in nearest(["wifi"], known)] == []
    assert [one.form for one in nearest_beginnings("wifi", known)] == []
    assert [one.form for one in nearest(["lnog"], known)] == ["long"]
    assert [one.form for one in nearest(["lamb", "lampp"], known)] == ["lamp"]


@given(st.text("abcд", max_size=9), st.text("abcд", max_size=9))
def test_the_band_leaves_out_nothing_that_counts(first: str, second: str) -> None:
    assert distance(first, second, 2) == min(3, _all_cells(first, second))


def _all_cells(first: str, second: str) -> int:
    rows = [[i + j if 0 in (i, j) else 0 for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            swapped = i > 1 and j > 1 and first[i - 1] == second[j - 2] and first[i - 2] == second[j - 1]
            rows[i][j] = min(
                rows[i - 1][j] + 1,
                rows[i][j - 1] + 1,
                rows[i - 1][j - 1] + (first[i - 1] != second[j - 1]),
                rows[i - 2][j - 2] + 1 if swapped else 99,
            )
    return rows[-1][-1]


def test_nearest_first_then_the_same_first_letter_then_the_commonest() -> None:
    known = [("clamps", 90), ("lumps", 2), ("limps", 7), ("lampst", 1), ("tower", 50)]
    assert [near.form for near in nearest(["lamps"], known)] == ["limps", "lumps", "lampst", "clamps"]
    assert nearest(["mention"], [("mannion", 9)]) == []


@given(st.text("abcд", min_size=5, max_size=10), st.lists(st.text("abcд", min_size=3, max_size=11), max_size=6))
def test_no_word_within_reach_is_passed_over(form: str, words: list[str]) -> None:
    reach = {word: min(2 if len(word) > 7 else 1, 2 if len(form) > 7 else 1) for word in words}
    expected = {word for word, most in reach.items() if 0 < _all_cells(form, word) <= most}
    assert {near.form for near in nearest([form], [(word, 1) for word in words])} == expected


def test_what_is_written_exactly_is_never_doubted() -> None:
    text = 'the longlnies of @kelpwfie #frm 1.4.3 gmüse "the impelr" bay 海带養 where v2'
    assert doubtful_words(text, ["the impelr"]) == ("longlnies", "gmuse")
    assert put_right("Longlnies, of the farm?", {"longlnies": "longlines"}) == "longlines, of the farm?"


def test_a_word_nothing_has_is_searched_as_the_nearest_that_something_has(corpus: Citewell) -> None:
    found = corpus.search("longlnies")
    assert [row.source_key for row in found.results] == ["note:vault/kelp"]
    assert found.warnings == ("Nothing has 'longlnies'; searched 'longlines' too.",)
    row = found.results[0]
    assert (row.matched_terms, row.missing_terms) == (("longlines",), ("longlnies",))
    assert [signal.detail for signal in row.signals if signal.name == "spelling"] == [
        "has 'longlines'; nothing has 'longlnies'"
    ]


@pytest.mark.parametrize(
    ("query", "meant"), [("Gemuese", None), ("Gmüse", "gemuse"), ("гаваин", "гавани"), ("mipeller", "impeller")]
)
def test_any_script_with_letters_is_put_right(corpus: Citewell, query: str, meant: str | None) -> None:
    warnings = corpus.search(query).warnings
    assert (f"'{meant}'" in "".join(warnings)) if meant else all("gemuse" in warning for warning in warnings)


@pytest.mark.parametrize("query", ["@kelpwfie", "1.4.3", '"longlnies"', "#kepl", "海帯", "bota", "zirconium"])
def test_protected_short_and_unlike_words_stay_as_they_are(corpus: Citewell, query: str) -> None:
    spelled = [warning for warning in corpus.search(query).warnings if "searched" in warning]
    assert spelled == (["Nothing has 'bota'; searched 'boat' too."] if query == "bota" else [])


class Watched(SqliteCorpus):
    """The real store, which remembers whether its vocabulary was looked at."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.looked_at: list[str] = []

    def words_beginning(self, start: str, shortest: int, longest: int) -> list[tuple[str, int]]:
        self.looked_at.append(start)
        return super().words_beginning(start, shortest, longest)


def test_where_every_word_occurs_the_vocabulary_is_not_looked_at(corpus: Citewell) -> None:
    store = Watched(corpus.settings.corpus_path)
    known = LexicalQuery((Term("boat", ("boat",)), Term("survey", ("survey",))))
    assert respell(store, known, ("boat", "survey")).query is known
    assert store.looked_at == []
    unknown = LexicalQuery((Term("survye", ("survy", "survye")),))
    assert _meant(store, unknown) == ["survey"]
    assert store.looked_at == ["sur"]
    store.close()


def _meant(store: SqliteCorpus, query: LexicalQuery) -> Sequence[str]:
    return [one.used.text for one in respell(store, query, [term.text for term in query.terms]).spellings]


def test_a_word_whose_last_document_is_gone_is_not_suggested(corpus: Citewell) -> None:
    corpus.corpus.remove("note:vault/kelp")
    assert corpus.search("longlnies").warnings == ()


def test_in_a_pack_the_other_spelling_finds_rows_and_satisfies_no_concept(corpus: Citewell) -> None:
    pack = corpus.pack("When were the longlnies laid?")
    first = pack.evidence[0]
    assert first.source_key == "note:vault/kelp"
    assert pack.coverage.missing_concepts == ("longlnies",)
    assert "concept:longlnies" not in {signal.name for signal in first.signals}
    assert "spelling" in {signal.name for signal in first.signals}
    assert pack.coverage.recall_note.endswith("Nothing has 'longlnies'; searched 'longlines' too.")
    assert pack.next_steps[-1].params.suggestions == ("When were the longlines laid?",)
    assert [(v.kind, v.query) for v in pack.query_plan.query_variants][-1] == (
        "spelling",
        "When were the longlines laid?",
    )


def test_the_program_says_what_it_searched_for_instead(corpus: Citewell) -> None:
    data = str(corpus.settings.data_dir)
    shown = CliRunner().invoke(cli, ["--data-dir", data, "search", "longlnies", "--explain"])
    assert shown.exit_code == 0
    assert "Nothing has 'longlnies'; searched 'longlines' too." in shown.stderr
    assert "why: found by longlines; has 'longlines'; nothing has 'longlnies'" in shown.stdout


@pytest.mark.parametrize(
    ("written", "meant"),
    [("comunity", "community"), ("welcomign", "welcoming"), ("btsiness", "business"), ("soltions", "solutions")],
)
def test_an_ending_that_is_not_stemmed_alike_does_not_hide_the_word(
    engine: Citewell, vault: Write, written: str, meant: str
) -> None:
    """The index has stems: "commun", "welcom", "busi", "solut". None is near to what such a word is stemmed to."""
    add(engine, vault({"Guide.md": "A welcoming community finds solutions. That is its business, and so we commute."}))
    assert engine.search(written).warnings == (f"Nothing has '{written}'; searched '{meant}' too.",)


def test_the_beginning_of_a_word_is_compared_with_a_stem() -> None:
    assert [beginning_distance("commun", word, 1) for word in ("comunity", "community", "kommunal", "count")] == [
        1,
        0,
        1,
        2,
    ]
    known = [("commun", 9), ("commut", 4), ("com", 3), ("communication", 2)]
    assert next(near.form for near in nearest_beginnings("comunity", known)) == "commun"
    assert "com" not in {near.form for near in nearest_beginnings("comunity", known)}


def test_a_wider_view_reads_a_misspelled_word_as_the_pack_did(engine: Citewell, vault: Write) -> None:
    filler = "The harbour was quiet and the tide was low. " * 60
    add(engine, vault({"Guide.md": f"# Guide\n\n{filler}\n\nA welcoming tone helps.\n\n{filler}"}))
    (document,) = engine.corpus.get("note:vault/guide", query="welcomign guide", max_chars=400).documents
    assert "A welcoming tone helps." in document.text


@pytest.mark.parametrize("written", ["foor", "bouth", "whiich"])
def test_nobody_is_taken_to_mean_a_function_word(engine: Citewell, vault: Write, written: str) -> None:
    add(engine, vault({"Kettle.md": "The kettle is for both houses, which share a stove.", "Bath.md": "A bath."}))
    for found in (engine.search(written).warnings, engine.search(f"{written} kettle").warnings):
        assert not any(word in "".join(found) for word in ("'for'", "'both'", "'which'"))


def test_a_word_of_a_title_or_an_alias_is_no_slip(engine: Citewell, vault: Write) -> None:
    notes: dict[str, str | bytes] = {
        "Bouth.md": "A village.",
        "Ann.md": "---\naliases: [Kettel]\n---\nShe makes stoves.",
        "Kettle.md": "The kettle is on for both.",
    }
    add(engine, vault(notes))
    assert engine.search("bouth").warnings == engine.search("kettel").warnings == ()


def test_a_word_that_is_spelled_right_is_not_put_right(engine: Citewell, vault: Write) -> None:
    add(engine, vault({"Work.md": "She is leaving the office in the deep of the night."}))
    assert engine.search("deep learning").warnings == ()
    assert "'office'" in "".join(engine.search("offcie").warnings)
