"""A small judge of this machine in a run: asked of what is not word for word, on record, never waited for too long."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell, RunEvent, Settings, Unavailable
from citewell.answer.evidence import Likeness, PreparedSynthesis, Quote, Readings
from citewell.check.judge import pairs_of, sentences_to_judge
from citewell.check.verdict import Draft, DraftSentence
from citewell.flows.local import first_plan, search
from citewell.flows.outside import Outside
from citewell.flows.state import Findings
from citewell.flows.write import answer, answer_form
from citewell.models.entailment import ClaimPair, Entailment, Entails, OnnxEntailment
from citewell.runs.journal import Run
from runner.plays import HASH, Playing, draft, found, prepared, request, row
from runner.scripted_runs import FALSE, GOOD, VERBATIM, Bench, decisions, writes
from runner.test_runs import ask
from support.foreign_judge import write_folder
from support.toy_models import write_judge

PAIR = ClaimPair("Pell lit the lamp.", "note:a\n\nThe lamp was lit by Pell.")
WEIGHTS = {"pell": (3.0, 0.0, 0.0), "lamp": (1.0, 0.0, 0.0), "never": (0.0, 0.0, 9.0)}


def of_kind(events: list[RunEvent], action: str) -> list[dict[str, Any]]:
    return [event.body for event in events if event.kind == "action_intended" and event.body["action"] == action]


@pytest.mark.slow
def test_what_the_judge_says_is_on_record_and_replay_needs_no_judge(bench: Bench, tmp_path: Path) -> None:
    folder = write_judge(tmp_path / "toy", WEIGHTS)
    events, result, _ = bench.run(writes(GOOD), judge=str(folder))
    (asked,) = of_kind(events, "judge_claims")
    assert asked["body"]["judge"] == "toy"
    (pair,) = asked["body"]["pairs"]
    assert pair["claim"] == "Josiah Pell lit the lamp on 14 November 1859."
    assert pair["evidence"].endswith("The lamp was lit by Josiah Pell on 14 November 1859. See Oil.")
    (seen,) = [event.body["observation"]["value"] for event in events if event.body.get("answers") == asked["digest"]]
    (score,) = seen
    assert score == {name: round(value, 4) for name, value in score.items()}
    assert score["entails"] > 0.9
    assert decisions(events, "claims_judged") == [{"judge": "toy"}]
    (sentence,) = result.sentences
    assert (sentence.verdict, sentence.check.kind, sentence.check.judge) == ("supported", "judged", "toy")
    assert sentence.check.words == "The lamp was lit by Josiah Pell on 14 November 1859."
    assert result.answer == "Josiah Pell lit the lamp on 14 November 1859. [1]"
    assert "toy judged 1: 1 said by their source" in result.provenance
    shutil.rmtree(folder)
    elsewhere = Citewell(Settings(data_dir=bench.data_dir, judge="off"))
    assert elsewhere.runs.replay(result.run_id).identical
    elsewhere.close()


@pytest.mark.slow
def test_a_judge_made_elsewhere_is_asked_and_replay_needs_it_no_more(bench: Bench, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "foreign")
    OnnxEntailment(folder).open()  # loaded before its time is measured
    events, result, _ = bench.run(writes(GOOD), judge=str(folder))
    assert result.warnings == ()
    assert [one["body"]["judge"] for one in of_kind(events, "judge_claims")] == ["foreign"]
    shutil.rmtree(folder)
    elsewhere = Citewell(Settings(data_dir=bench.data_dir, judge="off"))
    assert elsewhere.runs.replay(result.run_id).identical
    elsewhere.close()


@pytest.mark.slow
def test_a_judge_that_cannot_be_used_leaves_sentences_unchecked_and_a_warning(bench: Bench, tmp_path: Path) -> None:
    events, result, _ = bench.run(writes(f"{GOOD} {VERBATIM}"), judge=str(tmp_path / "nowhere"))
    assert "judge_unavailable" in result.warnings
    assert [(one.verdict, one.check.kind) for one in result.sentences] == [
        ("unsupported", "none"),
        ("supported", "exact"),
    ]
    assert "has no model.onnx" in str(decisions(events, "judge_failed"))
    _, without, _ = bench.run(writes(f"{GOOD} {VERBATIM}"), judge="off")
    assert without.sentences == result.sentences
    assert without.warnings == ()


@pytest.mark.slow
def test_a_sentence_that_stands_in_the_repair_too_is_not_judged_again(bench: Bench, tmp_path: Path) -> None:
    folder = write_judge(tmp_path / "toy", WEIGHTS)
    drafts = (f"{GOOD} {FALSE}", f"{GOOD} Leith sent the oil {{oil}}.")
    events, result, _ = bench.run(writes(*drafts), judge=str(folder))
    first, second = of_kind(events, "judge_claims")
    assert [pair["claim"] for pair in first["body"]["pairs"]] == ["Josiah Pell lit the lamp on 14 November 1859."]
    assert [pair["claim"] for pair in second["body"]["pairs"]] == ["Leith sent the oil."]
    assert [one.check.kind for one in result.sentences] == ["judged", "none"]


@pytest.mark.slow
def test_what_is_word_for_word_or_quoted_is_not_asked_of_the_judge(bench: Bench, tmp_path: Path) -> None:
    events, result, _ = bench.run(writes(VERBATIM), judge=str(tmp_path / "nowhere"))
    assert of_kind(events, "judge_claims") == []
    assert result.warnings == ()
    engine = Citewell(Settings(data_dir=bench.data_dir, judge=str(tmp_path / "nowhere")))
    events, result = ask(engine)
    engine.close()
    assert result.tool == "extractive"
    assert of_kind(events, "judge_claims") == []


def written(*texts: str) -> Draft:
    quote = Quote("note:a", HASH, 0, 25, "The lamp was lit by Pell.")
    return Draft(tuple(DraftSentence(text, "claim", (quote,)) for text in texts), refused=False, written_by="model")


def asked_of(draft: Draft) -> tuple[ClaimPair, ...]:
    return pairs_of(sentences_to_judge(draft, prepared()))


def test_a_sentence_is_asked_of_once_with_its_source_and_without_markup() -> None:
    pairs = asked_of(written("Pell lit the **lamp**.", "Pell lit the lamp.", "The lamp was lit."))
    assert pairs == (PAIR, ClaimPair("The lamp was lit.", PAIR.evidence))
    assert asked_of(written("The lamp was lit by Pell.")) == ()
    assert asked_of(draft()) == ()
    stray = Quote("note:zzz", HASH, 0, 5, "stray")
    assert asked_of(Draft((DraftSentence("X is so.", "claim", (stray,)),), False, written_by="model")) == ()


async def written_from(run: Run, found: Findings) -> None:
    """A run whose draft is in words of its own, so that a judge could be asked of it."""

    async def quote(prepared: PreparedSynthesis, likeness: Likeness, readings: Readings) -> Draft:
        return written("Pell lit the lamp.")

    await search(run, found, first_plan(run))
    await answer(run, found, replace(answer_form(run, found), quote=quote))


def play(judge: str = "toy") -> Playing:
    """A run as far as its draft."""
    playing = Playing(replace(request(), judge=judge), written_from)
    return playing.gives("retrieve", found(row("note:a", "lamp", "lit")))


def test_the_judge_is_asked_before_verification_for_a_bounded_time() -> None:
    playing = play()
    assert playing.open == ["judge_claims"]
    assert playing.call("judge_claims").arguments == {"judge": "toy", "pairs": (PAIR,), "seconds": 12.0}
    assert playing.decided("verified") == []
    assert play(judge="").open == ["keep_texts"]


@pytest.mark.parametrize(
    ("score", "verdict", "kind"),
    [
        (Entails(0.98, 0.02, 0.0), "supported", "judged"),
        (Entails(0.0, 0.02, 0.98), "contradicted", "judged"),
        (Entails(0.02, 0.98, 0.0), "unsupported", "judged"),
        (Entails(0.6, 0.3, 0.1), "unsupported", "none"),
    ],
    ids=["entails", "contradicts", "neutral", "unsure"],
)
def test_verification_gets_what_the_judge_said_where_it_is_sure(score: Entails, verdict: str, kind: str) -> None:
    playing = play().gives("judge_claims", (score,))
    assert playing.decided("claims_judged") == ([{"judge": "toy"}] if kind == "judged" else [])
    assert playing.found.verification is not None
    (sentence,) = playing.found.verification.sentences
    assert (sentence.verdict, sentence.check.kind) == (verdict, kind)


@pytest.mark.parametrize("happens", ["fails", "finish", "writing", "verification"])
def test_without_the_judges_answer_sentences_stay_unchecked(happens: Any) -> None:
    playing = play()
    playing.fails("judge_claims") if happens == "fails" else playing.control(happens)
    assert playing.found.verdicts == {}
    assert "judge_unavailable" in playing.run.warnings
    assert playing.found.verification == play(judge="").found.verification


def test_the_time_for_gathering_does_not_end_the_judging() -> None:
    assert play().control("gathering").open == ["judge_claims"]


class Hanging:
    """A judge that never comes to an end of its own."""

    name = "hanging"

    def __init__(self) -> None:
        self.let_go = threading.Event()
        self.asked = 0

    def judge(self, pairs: Sequence[ClaimPair]) -> list[Entails]:
        self.asked += 1
        self.let_go.wait(60)
        return [Entails(1.0, 0.0, 0.0) for _ in pairs]


class Thirds:
    """A judge whose answers have more digits than are kept."""

    name = "thirds"

    def judge(self, pairs: Sequence[ClaimPair]) -> list[Entails]:
        return [Entails(1 / 3, 1 / 3, 1 / 3) for _ in pairs]


def outside(judge: Entailment | None) -> Outside:
    """What is outside of a run, with this judge and nothing else that is asked for."""
    nothing: Any = None
    return Outside(nothing, nothing, nothing, nothing, nothing, open_judge=lambda: judge)


def test_a_judge_that_takes_too_long_is_not_waited_for() -> None:
    judge = Hanging()
    many = tuple(ClaimPair(str(n), "x") for n in range(40))

    async def late() -> None:
        try:
            with pytest.raises(Unavailable, match=r"longer than 0\.05 s"):
                await outside(judge).judge_claims("hanging", many, 0.05)
        finally:
            judge.let_go.set()

    asyncio.run(late())
    assert judge.asked <= 1  # what is under way ends; nothing further is begun


def test_scores_are_rounded_before_anything_sees_them() -> None:
    pairs = tuple(ClaimPair(str(n), "x") for n in range(9))
    seen = asyncio.run(outside(Thirds()).judge_claims("thirds", pairs, 5.0))
    assert seen == (Entails(0.3333, 0.3333, 0.3333),) * 9
    with pytest.raises(Unavailable):
        asyncio.run(outside(None).judge_claims("gone", pairs, 5.0))
