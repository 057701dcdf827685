"""A reader from a folder: where an answer stands, in code points, and how likely there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from citewell import BadInput, Unavailable
from citewell.models.entailment import MAX_PASSAGES, OnnxSpanReader
from support.toy_models import write_judge, write_reader

pytest.importorskip("onnxruntime")

# Answers begin with Josiah and end with Pell.
WEIGHTS = {"josiah": (4.0, 0.0), "pell": (0.0, 4.0), "keeper": (2.0, 2.0)}


def answers(folder: Path, *passages: str, question: str = "who?") -> list[tuple[list[str], float]]:
    readings = OnnxSpanReader(folder).read(question, list(passages))
    return [
        ([passage[span.start : span.end] for span in reading.spans], reading.no_answer)
        for passage, reading in zip(passages, readings, strict=True)
    ]


@pytest.mark.parametrize("outputs", ["logits", "span"])
def test_the_best_span_is_an_exact_slice_of_its_passage(tmp_path: Path, outputs: str) -> None:
    folder = write_reader(tmp_path / "reader", WEIGHTS, outputs=outputs)
    (spans, no_answer), (other, unlikely), (nothing, none) = answers(
        folder, "🕯️ Frühling: Josiah Pell lit it, the keeper.", "Nobody knows.", ""
    )
    assert spans[0] == "Josiah Pell"
    assert "keeper" in spans
    assert no_answer < 0.01
    assert unlikely > 0.99
    assert other  # it still says which words come nearest
    assert (nothing, none) == ([], 1.0)


def test_what_is_likelier_than_any_span_is_no_answer(tmp_path: Path) -> None:
    passage = "Josiah Pell lit it."
    sure = write_reader(tmp_path / "a", WEIGHTS, null=0.0)
    unsure = write_reader(tmp_path / "b", WEIGHTS, null=4.0)
    doubting = write_reader(tmp_path / "c", WEIGHTS, null=10.0)
    found = [answers(folder, passage)[0][1] for folder in (sure, unsure, doubting)]
    assert found[0] < 0.01
    assert found[1] == 0.5
    assert found[2] > 0.99


def test_a_head_that_says_whether_there_is_an_answer_is_heard(tmp_path: Path) -> None:
    folder = write_reader(tmp_path / "reader", WEIGHTS, null=4.0, answerable={"lit": 5.0, "sold": -5.0})
    (_, lit), (_, sold) = answers(folder, "Josiah Pell lit it.", "Josiah Pell sold it.")
    assert lit < 0.01
    assert sold > 0.99
    assert "whether there is one" in OnnxSpanReader(folder).open()


def test_an_answer_at_the_end_of_a_long_passage_is_found_in_its_place(tmp_path: Path) -> None:
    folder = write_reader(tmp_path / "reader", WEIGHTS)
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 32}', "utf-8")
    passage = "It was a dark night on the rock. " * 40 + "Then Josiah Pell came."
    ((spans, no_answer),) = answers(folder, passage, question="who came?")
    assert spans[0] == "Josiah Pell"
    assert no_answer < 0.01


def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    judge = write_judge(tmp_path / "judge", {"yes": (1.0, 0.0)}, None)
    for folder, why in ((judge, "start_logits"), (tmp_path / "none", "has no model.onnx")):
        with pytest.raises(Unavailable, match=why) as error:
            OnnxSpanReader(folder).read("who?", ["a"])
        assert "CITEWELL_READER" in error.value.fix
    with pytest.raises(BadInput):
        OnnxSpanReader(judge).read("who?", ["a"] * (MAX_PASSAGES + 1))
    assert OnnxSpanReader(judge).read("who?", []) == []
