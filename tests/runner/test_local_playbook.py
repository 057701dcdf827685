"""The `local` profile as a script: these observations in, these actions out. No mocks: it is all values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from citewell.runner.actions import (
    CONTROLS,
    Action,
    ActionFailed,
    Ask,
    BriefTopic,
    CancelRequested,
    DeadlinePassed,
    Drafted,
    Expand,
    Expanded,
    Extract,
    FinishRequested,
    Inspect,
    Inspected,
    JudgeCoverage,
    Judged,
    KeepTexts,
    MakePlan,
    Observation,
    PlanMade,
    Prepare,
    Prepared,
    Retrieve,
    Retrieved,
    TextsKept,
    TopicBriefed,
    Verified,
    Verify,
)
from citewell.runner.machine import Machine, Step

from citewell.domain.runs import JudgeResult, ModelUse
from citewell.domain.topics import TopicBrief
from citewell.flows.profiles import FINISH_GRACE_SECONDS, PROFILES
from runner.plays import draft, pack, plan, prepared, request, row, source, verification

ENOUGH = JudgeResult("enough_evidence", "fine")
WEAK = JudgeResult("weak_evidence", "thin")
RETRY = JudgeResult("weak_evidence", "thin", ("lit",), (), "focused_retry", "lit lamp")
EXPAND = JudgeResult("weak_evidence", "thin", (), (), "related_expansion", None, "note:a")


def play(*observations: Observation, models: ModelUse | None = None) -> tuple[Step, list[type[Action]]]:
    """Feed observations to a new run; where it stands, and every action it asked for."""
    machine = Machine()
    taken = machine.begin(replace(request(), models=models or ModelUse()))
    asked: list[type[Action]] = [type(action) for action in taken.state.open]
    for number, observation in enumerate(observations, start=1):
        before = taken.state.open
        answered = None if isinstance(observation, CONTROLS) or not before else before[0]
        taken = machine.step(taken.state, observation, float(number), answered)
        asked += [type(action) for action in taken.state.open if not any(action is other for other in before)]
    return taken, asked


FOUND = Retrieved(pack(row("note:a", "lamp", "lit"), row("note:b", "lamp")))
GATHERED = (PlanMade(plan()), FOUND, Inspected(()))
WRITTEN = (Prepared(prepared()), Drafted(draft()), Verified(verification()))


def test_a_run_with_enough_evidence_goes_straight_through() -> None:
    taken, asked = play(*GATHERED, Judged(ENOUGH), *WRITTEN, TextsKept(()))
    assert asked == [MakePlan, Retrieve, Inspect, JudgeCoverage, Prepare, Extract, Verify, KeepTexts]
    assert taken.state.stop_reason == "enough_evidence"


def test_the_first_retrieval_never_includes_related_rows() -> None:
    taken, _ = play()
    (action,) = taken.state.open
    assert isinstance(action, MakePlan)
    assert action.limits.include_related is False


def test_at_most_five_rows_are_inspected_in_windows_of_two_thousand() -> None:
    rows = Retrieved(pack(*(row(f"note:{n}", "lamp") for n in range(8))))
    taken, _ = play(PlanMade(plan()), rows)
    (action,) = taken.state.open
    assert isinstance(action, Inspect)
    assert (len(action.lookups), action.max_chars) == (5, 2_000)


def test_weak_evidence_gets_one_focused_retry_and_then_an_answer() -> None:
    again = Retrieved(pack(row("note:c", "lit")))
    taken, asked = play(*GATHERED, Judged(RETRY), again, Judged(WEAK), *WRITTEN, TextsKept(()))
    assert asked == [
        *(MakePlan, Retrieve, Inspect, JudgeCoverage, Retrieve, JudgeCoverage, Prepare, Extract, Verify, KeepTexts),
    ]
    assert taken.state.stop_reason == "weak_evidence_budget_exhausted"


def test_after_a_retry_the_judge_is_told_that_nothing_is_left_to_try() -> None:
    taken, _ = play(*GATHERED, Judged(RETRY), Retrieved(pack(row("note:c", "lit"))))
    (action,) = taken.state.open
    assert isinstance(action, JudgeCoverage)
    assert (action.retries_left, action.expansions_left) == (0, 0)


def test_a_retry_adds_rows_and_never_replaces_them() -> None:
    again = Retrieved(pack(row("note:c", "lit"), row("note:x")))
    taken, _ = play(
        PlanMade(plan()), Retrieved(pack(row("note:a", "lamp"), missing=("lit",))), Inspected(()), Judged(RETRY), again
    )
    (record,) = taken.state.merges
    assert (record.preserved, record.accepted, record.rejected) == (("note:a",), ("note:c",), ("note:x",))
    assert taken.state.pack is not None
    assert [found.source_key for found in taken.state.pack.evidence] == ["note:a", "note:c"]
    assert taken.state.rejected == {"note:x": "neither an anchor nor a missing concept"}


def test_an_expansion_follows_the_judges_lookup_and_comes_last() -> None:
    related = Expanded((row("note:z", related_to="note:a"),))
    taken, asked = play(*GATHERED, Judged(EXPAND), related)
    assert asked[-2:] == [Expand, Prepare]
    assert taken.state.pack is not None
    assert [found.source_key for found in taken.state.pack.evidence] == ["note:a", "note:b", "note:z"]


def test_no_evidence_is_judged_without_inspection_and_refused() -> None:
    nothing = JudgeResult("no_evidence", "nothing")
    empty = Prepared(replace(prepared(), sources=()))
    refusal = (empty, Drafted(draft(refused=True)), Verified(verification(cites=False)))
    taken, asked = play(PlanMade(plan()), Retrieved(pack()), Judged(nothing), *refusal)
    assert asked == [MakePlan, Retrieve, JudgeCoverage, Prepare, Extract, Verify]
    assert taken.state.stop_reason == "no_evidence"


def test_a_failed_gate_ends_the_run_without_an_answer() -> None:
    failing = (Prepared(prepared()), Drafted(draft()), Verified(verification(passes=False)))
    taken, asked = play(*GATHERED, Judged(ENOUGH), *failing)
    assert taken.state.stop_reason == "verification_failed"
    assert KeepTexts not in asked


@pytest.mark.attack("C3")
def test_cancelling_ends_the_run_wherever_it_is() -> None:
    for length in range(len((*GATHERED, Judged(ENOUGH), *WRITTEN)) + 1):
        taken, _ = play(*(*GATHERED, Judged(ENOUGH), *WRITTEN)[:length], CancelRequested())
        assert (taken.state.stop_reason, taken.state.open) == ("cancelled", ())


def test_finish_now_answers_with_what_is_there() -> None:
    taken, asked = play(PlanMade(plan()), FOUND, FinishRequested(), *WRITTEN, TextsKept(()))
    assert asked[-4:] == [Prepare, Extract, Verify, KeepTexts]
    assert "incomplete" in taken.state.warnings


def test_finish_now_gives_a_search_a_moment_to_end_and_answers_with_what_it_finds() -> None:
    waiting, _ = play(PlanMade(plan()), FinishRequested())
    assert [type(action) for action in waiting.state.open] == [Retrieve]
    assert waiting.state.deadlines.gathering == waiting.state.elapsed + FINISH_GRACE_SECONDS
    _, asked = play(PlanMade(plan()), FinishRequested(), FOUND, Inspected(()), Judged(WEAK))
    assert asked[-1] is Prepare


def test_finish_now_before_anything_was_found_says_so() -> None:
    taken, _ = play(PlanMade(plan()), FinishRequested(), DeadlinePassed("gathering"))
    assert taken.state.stop_reason == "no_evidence"
    assert "incomplete" in taken.state.warnings


def test_finish_now_lets_go_of_a_model_that_writes_and_quotes_instead() -> None:
    use = ModelUse("openai:x")
    _, asked = play(*GATHERED, Judged(ENOUGH), Prepared(prepared()), models=use)
    assert asked[-1] is Ask
    taken, asked = play(*GATHERED, Judged(ENOUGH), Prepared(prepared()), FinishRequested(), models=use)
    assert asked[-2:] == [Ask, Extract]
    assert "incomplete" in taken.state.warnings
    assert taken.state.finishing is None
    assert [call.problem for call in taken.state.calls] == ["given_up"]


def test_a_stage_that_takes_too_long_loses_what_is_under_way_in_it() -> None:
    taken, asked = play(PlanMade(plan()), FOUND, DeadlinePassed("inspection"))
    assert asked[-1] is JudgeCoverage
    assert "inspection_failed" in taken.state.warnings
    assert taken.state.stages_over == ("inspection",)
    writing, asked = play(
        *GATHERED, Judged(ENOUGH), Prepared(prepared()), DeadlinePassed("synthesis"), models=ModelUse("openai:x")
    )
    assert asked[-2:] == [Ask, Extract]
    assert "incomplete" in writing.state.warnings


def test_what_is_cited_without_having_been_found_fails_the_run() -> None:
    elsewhere = replace(prepared(), sources=(source("note:elsewhere"),))
    taken, _ = play(*GATHERED, Judged(ENOUGH), Prepared(elsewhere), *WRITTEN[1:], TextsKept(()))
    assert taken.state.stop_reason == "verification_failed"
    assert taken.state.failure is not None
    assert (taken.state.failure.code, "note:elsewhere" in taken.state.failure.message) == ("evidence_flow", True)


def test_a_deadline_while_gathering_still_gives_an_answer_marked_incomplete() -> None:
    taken, _ = play(PlanMade(plan()), FOUND, DeadlinePassed(), *WRITTEN, TextsKept(()))
    assert taken.state.stop_reason == "timeout_exceeded"
    assert "incomplete" in taken.state.warnings


@pytest.mark.parametrize("hosted", [True, False])
def test_secrets_are_withheld_from_a_hosted_model_only_and_that_is_said(hosted: bool) -> None:
    use = ModelUse("openai:x", is_hosted=hosted)
    taken, _ = play(*GATHERED, Judged(ENOUGH), models=use)
    (asked,) = taken.state.open
    assert isinstance(asked, Prepare)
    assert asked.withhold_secrets is hosted
    ready = replace(prepared(), withheld_source_keys=("note:a",))
    told, _ = play(*GATHERED, Judged(ENOUGH), Prepared(ready), models=use)
    assert "secrets_withheld" in told.state.warnings


def test_the_third_deadline_ends_the_run() -> None:
    """The first ends gathering, the second lets go of a model that still writes, the third ends everything."""
    gathered = (PlanMade(plan()), FOUND, DeadlinePassed("gathering"))
    late, _ = play(*gathered, DeadlinePassed("writing"))
    assert [type(action) for action in late.state.open] == [Prepare]
    taken, _ = play(*gathered, DeadlinePassed("writing"), DeadlinePassed("everything"))
    assert (taken.state.stop_reason, taken.state.open) == ("timeout_exceeded", ())


def test_a_failed_inspection_is_only_a_loss() -> None:
    taken, asked = play(PlanMade(plan()), FOUND, ActionFailed("boom", "no"))
    assert asked[-1] is JudgeCoverage
    assert "inspection_failed" in taken.state.warnings


def test_a_failed_retrieval_ends_the_run_and_says_where() -> None:
    taken, _ = play(PlanMade(plan()), ActionFailed("store_unusable", "corrupt"))
    assert taken.state.failure is not None
    assert (taken.state.failure.stage, taken.state.failure.code) == ("retrieve", "store_unusable")


def test_a_failed_verifier_degrades_to_a_warning() -> None:
    taken, _ = play(*GATHERED, Judged(ENOUGH), Prepared(prepared()), Drafted(draft()), ActionFailed("bug", "oops"))
    assert "verifier_failed" in taken.state.warnings
    assert taken.state.is_over


def test_a_run_cannot_go_on_for_ever() -> None:
    taken, _ = play(*([PlanMade(plan())] * (PROFILES["local"].steps + 1)))
    assert taken.state.stop_reason == "max_steps_reached"


def test_nothing_changes_a_run_that_is_over() -> None:
    taken, _ = play(CancelRequested())
    again = Machine().step(taken.state, FOUND, 9.0, None)
    assert (again.state, again.state.open) == (taken.state, ())


# Topic briefs

OVERVIEW = "What do I know about the lamp?"
BRIEF = TopicBrief("the lamp", ("vault_note",), 12, 8, "Derived from 1 document, …", (), (), (), ())
WANTED = (PlanMade(plan(OVERVIEW)), Retrieved(pack(row("note:a", "lamp"), question=OVERVIEW)))


def test_a_wanted_brief_is_gathered_beside_the_first_evidence_and_goes_into_the_pack() -> None:
    both, _ = play(WANTED[0])
    assert [type(action) for action in both.state.open] == [Retrieve, BriefTopic]
    taken, asked = play(*WANTED, TopicBriefed(BRIEF), Inspected(()), Judged(ENOUGH), *WRITTEN, TextsKept(()))
    assert asked == [MakePlan, Retrieve, BriefTopic, Inspect, JudgeCoverage, Prepare, Extract, Verify, KeepTexts]
    assert taken.state.pack is not None
    assert (taken.state.pack.topic_brief, taken.state.pack.mode) == (BRIEF, "topic_brief_and_evidence")
    assert [found.source_key for found in taken.state.pack.evidence] == ["note:a"]


def test_a_brief_that_comes_before_the_evidence_waits_for_it() -> None:
    machine = Machine()
    taken = machine.step(machine.begin(request()).state, WANTED[0], 1.0, machine.begin(request()).state.open[0])
    searching, briefing = taken.state.open
    briefed = machine.step(taken.state, TopicBriefed(BRIEF), 2.0, briefing)
    assert briefed.state.open == (searching,)
    found = machine.step(briefed.state, WANTED[1], 3.0, searching)
    assert found.state.pack is not None
    assert found.state.pack.topic_brief == BRIEF
    assert [type(action) for action in found.state.open] == [Inspect]


def test_a_brief_that_fails_is_a_warning_and_the_run_goes_on() -> None:
    taken, asked = play(*WANTED, ActionFailed("error", "no"), Inspected(()), Judged(ENOUGH), *WRITTEN, TextsKept(()))
    assert asked[-1] is KeepTexts
    assert taken.state.warnings == ("topic_brief_failed",)
    assert taken.state.stop_reason == "enough_evidence"


def test_a_brief_under_way_is_let_go_of_when_the_run_is_to_finish() -> None:
    taken, asked = play(*WANTED, FinishRequested())
    assert asked == [MakePlan, Retrieve, BriefTopic, Prepare]
    assert taken.state.pack is not None
    assert taken.state.pack.topic_brief is None


def test_a_retry_does_not_gather_the_brief_again() -> None:
    again = Retrieved(pack(row("note:c", "lit"), question=OVERVIEW))
    taken, asked = play(*WANTED, TopicBriefed(BRIEF), Inspected(()), Judged(RETRY), again, Judged(WEAK))
    assert asked.count(BriefTopic) == 1
    assert taken.state.pack is not None
    assert taken.state.pack.topic_brief == BRIEF
