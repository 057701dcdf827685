"""Fusion and rerank are sums of named signals."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from citewell import Document
from citewell.search.lanes import Results, fuse
from citewell.search.pack import weigh
from citewell.search.query import Concept, Variant
from citewell.store.port import Candidate
from citewell.text.documents import Chunk


def found(key: str, score: float, ordinal: int = 0) -> Candidate:
    document = Document(key, "item", "vault_note", "v", key, "0" * 64, 10)
    return Candidate(Chunk(f"{key}-{ordinal}", ordinal, 0, 1, "user_note"), document, score)


ORIGINAL, CONTENT = Variant("original", "q", 1.0), Variant("content", "c", 0.5)


def test_each_document_appears_once_with_its_best_chunk_and_every_variant_that_found_it() -> None:
    asked = Results(ORIGINAL, [found("a", 10), found("a", 9, 1), found("b", 5)], 10)
    fused = fuse([asked, Results(CONTENT, [found("b", 8)], 8)])
    assert [(row.candidate.document.source_key, row.base, row.variants) for row in fused] == [
        ("a", 1.0, ("original",)),
        ("b", 0.5, ("original", "content")),
    ]


def test_a_variant_of_one_word_pushes_nothing_out_that_the_question_found() -> None:
    """Its best row is not as good as the question's best row: its words reach less far."""
    word = Variant("side", "c", 1.0)
    asked = Results(ORIGINAL, [found("a", 10), found("b", 5)], 10)
    assert [row.candidate.document.source_key for row in fuse([asked, Results(word, [found("c", 3)], 3)])] == list(
        "abc"
    )


def test_a_variant_that_says_less_than_the_question_comes_behind_all_it_found() -> None:
    asked = Results(ORIGINAL, [found("a", 10), found("b", 1)], 10)
    fused = fuse([asked, Results(CONTENT, [found("b", 9), found("c", 9)], 9)])
    assert [(row.candidate.document.source_key, round(row.base, 3)) for row in fused] == [
        ("a", 1),
        ("b", 0.1),
        ("c", 0.1),
    ]


def test_a_phrase_reaches_no_farther_than_the_question_it_is_part_of() -> None:
    """Words that stand together score more than words do: that is no reason to count the question's own rows less."""
    name = Variant("phrase", "president of egypt", 0.8)
    asked = Results(ORIGINAL, [found("a", 10), found("b", 5)], 10)
    fused = fuse([asked, Results(name, [found("b", 16)], 16)])
    assert [(row.candidate.document.source_key, row.base) for row in fused] == [("a", 1.0), ("b", 0.8)]


def test_a_title_that_has_words_of_the_question_only_decides_between_equals() -> None:
    """Its words are in the base already, and count twice there."""
    wanted = (Concept("lamp", "content", True, ("lamp",)),)
    titled = weigh(0.5, ["original"], wanted, frozenset({"lamp"}), frozenset({"lamp"}))
    better = weigh(0.51, ["original"], wanted, frozenset({"lamp"}), frozenset())
    equal = weigh(0.5, ["original"], wanted, frozenset({"lamp"}), frozenset())
    assert better.score > titled.score > equal.score


def test_a_row_with_everything_required_beats_one_with_a_higher_base() -> None:
    wanted = (Concept("lamp", "content", True, ("lamp",)), Concept("Pell", "anchor", True, ("pell",), "phrase"))
    complete = weigh(0.8, ["original"], wanted, frozenset({"lamp", "Pell"}), frozenset())
    partial = weigh(1.0, ["original"], wanted, frozenset({"lamp"}), frozenset())
    assert complete.score > partial.score
    assert (complete.missing, partial.missing) == ((), ("Pell",))


@given(
    st.floats(0, 1),
    st.lists(st.sampled_from(["anchor", "content", "intent"]), max_size=5),
    st.sets(st.integers(0, 4)),
)
def test_the_score_is_the_sum_of_the_signals_shown(base: float, roles: list[str], met: set[int]) -> None:
    concepts = [Concept(f"c{n}", role, role != "intent", (f"c{n}",)) for n, role in enumerate(roles)]  # type: ignore[arg-type]
    weighed = weigh(base, ["original", "content"], concepts, frozenset(f"c{n}" for n in met), frozenset())
    assert abs(sum(signal.value for signal in weighed.signals) - weighed.score) < 1e-6
