"""A judge from a folder, whatever its classes are called and however long the evidence; a broken one says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, Unavailable
from citewell.models.entailment import (
    MAX_PAIRS,
    ClaimPair,
    Entails,
    Meaning,
    OnnxEntailment,
    UnknownClasses,
    combined,
    meanings_of,
)
from citewell.models.onnx import windows
from support.toy_models import write_judge

pytest.importorskip("onnxruntime")

# "yes" speaks for a statement, "no" against it; anything else is neutral.
WEIGHTS = {"yes": (6.0, 0.0, 0.0), "no": (0.0, 0.0, 6.0), "rope": (0.0, 0.0, 0.0)}
NEUTRAL = (0.0, 3.0, 0.0)


def judged(folder: Path, *evidence: str, claim: str = "rope") -> list[str]:
    """What is most likely of each piece of evidence."""
    scores = OnnxEntailment(folder).judge([ClaimPair(claim, one) for one in evidence])
    for score in scores:
        assert abs(score.entails + score.neutral + score.contradicts - 1.0) < 1e-6
    named: list[str] = []
    for score in scores:
        shares = {"entails": score.entails, "neutral": score.neutral, "contradicts": score.contradicts}
        named.append(max(shares, key=lambda name: shares[name]))
    return named


@pytest.mark.parametrize(
    ("labels", "meanings"),
    [
        (("entailment", "neutral", "contradiction"), ("entails", "neutral", "contradicts")),
        (("CONTRADICTION", "ENTAILMENT", "NEUTRAL"), ("contradicts", "entails", "neutral")),
        (("Supports", "Refutes", "Not enough info"), ("entails", "contradicts", "neutral")),
        (("refuted", "NEI", "supported"), ("contradicts", "neutral", "entails")),
        (("entailment", "not_entailment"), ("entails", "neutral")),
        (("not-entailed", "entailed"), ("neutral", "entails")),
        (("not_contradiction", "contradiction"), ("neutral", "contradicts")),
        (("LABEL_0", "LABEL_1"), ("entails", "neutral")),
        (("LABEL_0", "LABEL_1", "LABEL_2"), ("entails", "neutral", "contradicts")),
    ],
)
def test_classes_are_known_by_their_names(labels: tuple[str, ...], meanings: tuple[Meaning, ...]) -> None:
    named = {str(number): name for number, name in enumerate(labels)}
    assert meanings_of(named, len(labels)) == meanings


@pytest.mark.parametrize(
    ("labels", "count"),
    [({"0": "positive", "1": "negative"}, 2), ({"0": "entailment", "1": "supported"}, 2), (None, 1), (None, 5)],
)
def test_classes_that_say_nothing_are_refused(labels: dict[str, object] | None, count: int) -> None:
    with pytest.raises(UnknownClasses):
        meanings_of(labels, count)


def test_windows_share_what_is_there_where_one_supports_and_another_contradicts() -> None:
    both = combined([Entails(0.9, 0.1, 0.0), Entails(0.1, 0.7, 0.2)])
    assert (both.entails, both.contradicts) == (0.9 / 1.1, 0.2 / 1.1)
    apart = combined([Entails(0.6, 0.3, 0.1), Entails(0.1, 0.7, 0.2)])
    assert (apart.entails, round(apart.neutral, 6), apart.contradicts) == (0.6, 0.2, 0.2)


def test_three_classes_are_told_apart_and_without_evidence_nothing_is_said(tmp_path: Path) -> None:
    folder = write_judge(tmp_path / "judge", WEIGHTS, bias=NEUTRAL)
    assert judged(folder, "yes", "no", "rope", "") == ["entails", "contradicts", "neutral", "neutral"]


@pytest.mark.parametrize("graph", ["model_quantized.onnx", "onnx/model.onnx", "policy_int8.onnx"])
@pytest.mark.parametrize("inputs", [("input_ids", "attention_mask"), ("input_ids", "attention_mask", "token_type_ids")])
def test_graphs_of_other_names_and_inputs_stand_in(tmp_path: Path, graph: str, inputs: tuple[str, ...]) -> None:
    folder = write_judge(tmp_path / "judge", WEIGHTS, bias=NEUTRAL, graph=graph, inputs=inputs)
    assert judged(folder, "yes", "no") == ["entails", "contradicts"]


def test_two_classes_claim_nothing_they_cannot_tell(tmp_path: Path) -> None:
    weights = {"yes": (6.0, 0.0), "rope": (0.0, 2.0)}
    entailing = write_judge(tmp_path / "a", weights, ("entailment", "not_entailment"))
    (score,) = OnnxEntailment(entailing).judge([ClaimPair("rope", "yes")])
    assert score.contradicts == 0.0
    assert score.entails > 0.9
    contradicting = write_judge(tmp_path / "b", weights, ("contradiction", "not_contradiction"))
    (score,) = OnnxEntailment(contradicting).judge([ClaimPair("rope", "yes")])
    assert score.entails == 0.0
    assert score.contradicts > 0.9


def test_the_evidence_comes_first_unless_the_folder_says_otherwise(tmp_path: Path) -> None:
    """This judge sees the first text alone."""
    folder = write_judge(tmp_path / "judge", WEIGHTS, bias=NEUTRAL)
    turned = write_judge(tmp_path / "turned", WEIGHTS, bias=NEUTRAL, config={"citewell": {"first": "claim"}})
    assert judged(folder, "yes", claim="no") == ["entails"]
    assert judged(turned, "yes", claim="no") == ["contradicts"]


def test_long_evidence_is_read_to_its_end(tmp_path: Path) -> None:
    """A graph made for 32 tokens; what decides stands behind a hundred words."""
    folder = write_judge(tmp_path / "judge", WEIGHTS, bias=NEUTRAL, length=32)
    filler = "The rope is long. " * 20
    assert judged(folder, filler + "Yes it is.", filler + "No it is not.", filler) == [
        "entails",
        "contradicts",
        "neutral",
    ]
    unbroken = "rope " * 100
    assert judged(folder, f"{unbroken} yes") == ["entails"]
    assert judged(folder, "yes", claim="rope " * 200) == ["entails"]


def test_windows_are_whole_sentences_cover_everything_and_overlap() -> None:
    text = "One two three. Four five. Six seven eight nine. Ten."
    places = [(at, at + 1) for at, letter in enumerate(text) if letter == " "]  # a token a space will do
    found = windows(text, places, 5)
    assert [text[start:end] for start, end in found] == [
        "One two three. Four five.",
        "Four five. Six seven eight nine.",
        "Six seven eight nine. Ten.",
    ]
    assert windows(text, places, 100) == [(0, len(text))]
    assert windows("  ", [], 5) == []


def test_what_stands_beside_a_pair_does_not_change_its_score(tmp_path: Path) -> None:
    judge = OnnxEntailment(write_judge(tmp_path / "judge", WEIGHTS, bias=NEUTRAL))
    pairs = [ClaimPair("rope", "yes " * count) for count in range(1, 20)]
    assert judge.judge(pairs) == [one for pair in pairs for one in judge.judge([pair])]
    assert judge.judge([]) == []


def test_too_many_pairs_at_once_are_refused(tmp_path: Path) -> None:
    judge = OnnxEntailment(tmp_path / "none")
    with pytest.raises(BadInput, match="at once"):
        judge.judge([ClaimPair("a", "b")] * (MAX_PAIRS + 1))


@pytest.mark.parametrize(
    ("config", "limit"),
    [
        ({"max_position_embeddings": 40}, 40),
        ({"max_position_embeddings": 66, "model_type": "roberta"}, 64),
        ({}, 512),
    ],
)
def test_the_length_comes_from_the_folder(tmp_path: Path, config: dict[str, Any], limit: int) -> None:
    folder = write_judge(tmp_path / "judge", WEIGHTS, config=config)
    assert f"reads {limit} tokens" in OnnxEntailment(folder).open()
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 24}', "utf-8")
    assert "reads 24 tokens" in OnnxEntailment(folder).open()


def _broken(folder: Path, how: str) -> None:
    if how == "no folder":
        return
    labels = ("good", "bad", "ugly") if how == "unknown classes" else None
    inputs = ("input_ids", "attention_mask", *(["pixels"] if how == "pixels" else []))
    weights = {"yes": (1.0,) * 5} if how == "five classes" else WEIGHTS
    write_judge(folder, weights, labels, inputs=inputs)
    if how == "no graph":
        (folder / "model.onnx").unlink()
    elif how == "two graphs":
        (folder / "model.onnx").rename(folder / "a.onnx")
        (folder / "b.onnx").write_bytes((folder / "a.onnx").read_bytes())
    elif how == "damaged graph":
        (folder / "model.onnx").write_bytes(b"not a graph")
    elif how == "no tokenizer":
        (folder / "tokenizer.json").unlink()
    elif how == "damaged tokenizer":
        (folder / "tokenizer.json").write_text("{", "utf-8")
    elif how == "damaged config":
        (folder / "config.json").write_text("{", "utf-8")
    elif how == "short":
        (folder / "config.json").write_text(json.dumps({"max_position_embeddings": 4}), "utf-8")
    elif how == "not finite":
        write_judge(folder, {"yes": (float("nan"), 0.0, 0.0)})


HOW = [
    *("no folder", "no graph", "two graphs", "damaged graph", "no tokenizer", "damaged tokenizer", "damaged config"),
    *("short", "unknown classes", "five classes", "pixels", "not finite"),
]


@pytest.mark.parametrize("how", HOW)
def test_a_folder_that_cannot_be_used_says_so_once_and_for_all(tmp_path: Path, how: str) -> None:
    _broken(tmp_path / "judge", how)
    judge = OnnxEntailment(tmp_path / "judge")
    with pytest.raises(Unavailable) as error:
        judge.judge([ClaimPair("rope", "yes")])
    assert str(tmp_path / "judge") in error.value.message
    assert "CITEWELL_JUDGE" in error.value.fix
