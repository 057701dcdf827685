"""The `local` profile: the test answers what the run asks of the world, and sees what it asks next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from citewell import TopicBrief
from citewell.answer.evidence import Likeness, PreparedSynthesis, Quote, Readings
from citewell.check.verdict import Draft, DraftSentence
from citewell.flows.local import first_plan, inspect, judged, search
from citewell.flows.outside import Outside
from citewell.flows.play import PROFILES, Flow
from citewell.flows.state import Findings
from citewell.flows.write import WritingForm, answer, answer_form
from citewell.runs.journal import FINISH_GRACE_SECONDS, Run
from citewell.runs.run import ModelUse
from citewell.search.inspect import PROMPT_CHARS
from runner.plays import HASH, Playing, found, pack, request, row, verification

FOUND = found(row("note:a", "lamp", "lit"), row("note:b", "lamp"))
# Rows that do not mention what was lit are worth another search; words spread over several, a look around the first.
WEAK = found(row("note:a", "lamp"), missing=("lit",))
SPREAD = found(row("note:a", "lamp"), row("note:b", "lit"))


def play(models: ModelUse | None = None, flow: Flow | None = None) -> Playing:
    return Playing(replace(request(), models=models or ModelUse()), flow)


def inspected(models: ModelUse | None = None, flow: Flow | None = None) -> Playing:
    """A run that found enough and has looked at it."""
    return play(models, flow).gives("retrieve", FOUND).gives("inspect", ())


def test_a_run_with_enough_evidence_goes_straight_through() -> None:
    playing = inspected().gives("keep_texts", ())
    assert playing.asked == ["retrieve", "inspect", "keep_texts"]
    assert (playing.run.stop_reason, playing.result.answer_status) == ("enough_evidence", "ok")


def test_the_first_retrieval_never_includes_related_rows() -> None:
    plan = play().call("retrieve").arguments["plan"]
    assert plan.limits.include_related is False


def test_every_row_is_inspected_within_what_a_prompt_has_room_for() -> None:
    playing = play().gives("retrieve", found(*(row(f"note:{n}", "lamp") for n in range(8))))
    asked = playing.call("inspect").arguments
    assert (len(asked["rows"]), asked["max_chars"]) == (8, 24_000 - PROMPT_CHARS)


def test_weak_evidence_gets_one_focused_retry_and_then_an_answer() -> None:
    playing = play().gives("retrieve", WEAK).gives("inspect", ())
    again = playing.call("retrieve").arguments
    assert (again["attempt"], again["plan"].query_variants[0].query) == (2, "lit")
    playing.gives("retrieve", found(row("note:c", "lamp"))).gives("keep_texts", ())
    assert playing.asked == ["retrieve", "inspect", "retrieve", "keep_texts"]
    assert playing.run.stop_reason == "weak_evidence_budget_exhausted"
    assert [one["retry_action"] for one in playing.decided("judged")] == ["focused_retry", "none"]


def test_a_retry_adds_rows_and_never_replaces_them() -> None:
    playing = play().gives("retrieve", WEAK).gives("inspect", ())
    playing.gives("retrieve", found(row("note:c", "lit"), row("note:x")))
    (merged,) = playing.decided("retried")
    assert (merged["preserved"], merged["accepted"], merged["rejected"]) == (("note:a",), ("note:c",), ("note:x",))
    assert keys(playing) == ["note:a", "note:c"]
    assert playing.found.rejected == {"note:x": "neither an anchor nor a missing concept"}


def test_an_expansion_follows_the_judges_lookup_and_comes_last() -> None:
    playing = play().gives("retrieve", SPREAD).gives("inspect", ())
    assert playing.call("expand").arguments["lookup"] == "note:a"
    playing.gives("expand", (row("note:z", related_to="note:a"),))
    assert keys(playing) == ["note:a", "note:b", "note:z"]
    assert playing.gives("keep_texts", ()).run.is_over


def keys(playing: Playing) -> list[str]:
    assert playing.found.pack is not None
    return [found.source_key for found in playing.found.pack.evidence]


def test_no_evidence_is_judged_without_inspection_searched_once_more_and_refused() -> None:
    playing = play().gives("retrieve", found()).gives("retrieve", found())
    assert playing.asked == ["retrieve", "retrieve"]
    assert (playing.run.stop_reason, playing.result.answer_status) == ("no_evidence", "no_evidence")


async def checked_by_ones_own(run: Run, found: Findings) -> None:
    """The flow with a verifier of the user's own, so that a test can say what it says."""
    await search(run, found, first_plan(run))
    await inspect(run, found)
    await judged(run, found, may_go_on=False)
    await answer(run, found, replace(answer_form(run, found), verifier="own"))


def test_a_failed_gate_ends_the_run_without_an_answer() -> None:
    playing = inspected(flow=checked_by_ones_own).gives("verify", verification(passes=False))
    assert playing.run.stop_reason == "verification_failed"
    assert (playing.result.answer_status, playing.result.answer) == ("error", "")
    assert "keep_texts" not in playing.asked


def test_a_failed_verifier_degrades_to_a_warning() -> None:
    playing = inspected(flow=checked_by_ones_own).fails("verify", "bug", "oops")
    assert "verifier_failed" in playing.run.warnings
    assert playing.run.is_over
    failure = playing.result.failure
    assert failure is not None
    assert (failure.stage, failure.code, failure.message) == ("verify", "bug", "oops")


@pytest.mark.attack("C3")
def test_cancelling_ends_the_run_wherever_it_is() -> None:
    answers = (("retrieve", FOUND), ("inspect", ()), ("keep_texts", ()))
    for length in range(len(answers)):
        playing = play()
        for name, value in answers[:length]:
            playing.gives(name, value)
        playing.control("cancel")
        assert (playing.run.stop_reason, playing.open) == ("cancelled", [])
        assert playing.result.status == "cancelled"


def test_finish_now_answers_with_what_is_there() -> None:
    playing = play().gives("retrieve", WEAK).gives("inspect", ()).control("finish").gives("keep_texts", ())
    assert playing.asked == ["retrieve", "inspect", "retrieve", "keep_texts"]
    assert "incomplete" in playing.run.warnings
    assert playing.result.answer_status == "ok"


def test_finish_now_gives_a_search_a_moment_to_end_and_answers_with_what_it_finds() -> None:
    playing = play().control("finish")
    assert playing.open == ["retrieve"]
    assert playing.run.deadlines["gathering"] == playing.run.elapsed + FINISH_GRACE_SECONDS
    playing.gives("retrieve", WEAK).gives("inspect", ())
    assert playing.open == ["keep_texts"], "nothing is searched for again"
    assert playing.gives("keep_texts", ()).result.answer_status == "ok"


def test_finish_now_before_anything_was_found_says_so() -> None:
    playing = play().control("finish").control("gathering")
    assert playing.run.stop_reason == "no_evidence"
    assert "incomplete" in playing.run.warnings


def test_finish_now_lets_go_of_a_model_that_writes_and_quotes_instead() -> None:
    playing = inspected(ModelUse("openai:x"))
    assert playing.open == ["ask"]
    playing.control("finish")
    assert playing.open == ["keep_texts"]
    assert "incomplete" in playing.run.warnings
    assert playing.run.finishing is None
    assert [call.problem for call in playing.found.calls] == ["given_up"]
    assert playing.gives("keep_texts", ()).result.tool == "extractive"


def test_a_stage_that_takes_too_long_loses_what_is_under_way_in_it() -> None:
    looking = play().gives("retrieve", FOUND).control("inspection")
    assert looking.open == ["keep_texts"]
    assert "inspection_failed" in looking.run.warnings
    assert "inspection" in looking.run.over
    writing = inspected(ModelUse("openai:x")).control("synthesis")
    assert writing.open == ["keep_texts"]
    assert "incomplete" in writing.run.warnings
    assert writing.gives("keep_texts", ()).result.tool == "extractive"


def test_what_is_cited_without_having_been_found_fails_the_run() -> None:
    async def stray(run: Run, found: Findings) -> None:
        found.plan = first_plan(run)
        found.pack = pack(row("note:elsewhere", "lamp", "lit"))
        await answer(run, found)

    result = play(flow=stray).gives("keep_texts", ()).result
    assert result.stop_reason == "verification_failed"
    assert result.failure is not None
    assert (result.failure.code, "note:elsewhere" in result.failure.message) == ("evidence_flow", True)


def test_a_deadline_while_gathering_still_gives_an_answer_marked_incomplete() -> None:
    playing = play().gives("retrieve", FOUND).control("gathering").gives("keep_texts", ())
    assert playing.run.stop_reason == "timeout_exceeded"
    assert "incomplete" in playing.run.warnings
    assert playing.result.answer_status == "ok"


@pytest.mark.parametrize("hosted", [True, False])
def test_secrets_are_withheld_from_a_hosted_model_only_and_that_is_said(hosted: bool) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    holds_it = row("note:s", "lamp", "lit", text=f"The lamp was lit by Pell. token: {secret}")
    playing = play(ModelUse("openai:x", is_hosted=hosted))
    playing.gives("retrieve", found(row("note:a", "lamp", "lit"), holds_it)).gives("inspect", ())
    sent = str(playing.call("ask").arguments["request"])
    assert (secret in sent) is not hosted
    assert ("secrets_withheld" in playing.run.warnings) is hosted


def test_the_third_deadline_ends_the_run() -> None:
    """The first ends gathering, the second lets go of a model that still writes, the third ends everything."""
    playing = inspected(ModelUse("openai:x")).control("gathering")
    assert playing.open == ["ask"]
    assert playing.control("writing").open == ["keep_texts"]
    playing.control("everything")
    assert (playing.run.stop_reason, playing.open) == ("timeout_exceeded", [])


def test_a_failed_inspection_is_only_a_loss() -> None:
    playing = play().gives("retrieve", FOUND).fails("inspect")
    assert playing.open == ["keep_texts"]
    assert "inspection_failed" in playing.run.warnings


def test_a_failed_retrieval_ends_the_run_and_says_where() -> None:
    result = play().fails("retrieve", "store_unusable", "corrupt").result
    assert result.failure is not None
    assert (result.failure.stage, result.failure.code) == ("retrieve", "store_unusable")
    assert result.status == "failed"


def test_a_failed_retry_and_a_failed_expansion_are_only_losses() -> None:
    retried = play().gives("retrieve", WEAK).gives("inspect", ()).fails("retrieve")
    assert (retried.open, retried.run.warnings) == (["keep_texts"], ["retry_failed"])
    expanded = play().gives("retrieve", SPREAD).gives("inspect", ())
    assert expanded.fails("expand").run.warnings == ["expansion_failed"]


def test_a_run_cannot_go_on_for_ever() -> None:
    async def for_ever(run: Run, found: Findings) -> None:
        while True:
            await run.io(Outside.keep_texts, ())

    playing = play(flow=for_ever)
    for _ in range(PROFILES["local"].steps + 1):
        playing.gives("keep_texts", ())
    assert playing.run.stop_reason == "max_steps_reached"


def test_nothing_changes_a_run_that_is_over() -> None:
    playing = play()
    searching = playing.call("retrieve")
    before = playing.control("cancel").result
    entries = list(playing.entries)
    playing.run.observe(searching, {"value": None})
    playing.control("finish").control("everything")
    assert (playing.result, playing.entries) == (before, entries)


# Drafts that a model writes


def test_a_draft_is_quoted_from_where_no_model_is_asked() -> None:
    """The words of a form of its own are what is checked and shown."""
    quoted: list[PreparedSynthesis] = []

    async def in_ones_own_words(run: Run, found: Findings) -> None:
        async def quote(prepared: PreparedSynthesis, likeness: Likeness, readings: Readings) -> Draft:
            quoted.append(prepared)
            exact = Quote("note:a", HASH, 0, 25, "The lamp was lit by Pell.")
            return Draft((DraftSentence(exact.text, "claim", (exact,)),), refused=False)

        await search(run, found, first_plan(run))
        form: WritingForm = replace(answer_form(run, found), quote=quote)
        await answer(run, found, form)

    playing = play(flow=in_ones_own_words).gives("retrieve", FOUND).gives("keep_texts", ())
    assert [source.source_key for source in quoted[0].sources] == ["note:a", "note:b"]
    assert playing.result.answer == "The lamp was lit by Pell. [1]"


# Topic briefs

OVERVIEW = "What do I know about the lamp?"
BRIEF = TopicBrief("the lamp", ("vault_note",), 12, 8, "Derived from 1 document, …", (), (), (), ())
SEEN = found(row("note:a", "lamp"), question=OVERVIEW)


def overview() -> Playing:
    return Playing(request(OVERVIEW))


def test_a_wanted_brief_is_gathered_beside_the_first_evidence_and_goes_into_the_pack() -> None:
    playing = overview()
    assert playing.open == ["retrieve", "brief_topic"]
    playing.gives("retrieve", SEEN).gives("brief_topic", BRIEF).gives("inspect", ()).gives("keep_texts", ())
    assert playing.asked == ["retrieve", "brief_topic", "inspect", "keep_texts"]
    gathered = playing.result.pack
    assert gathered is not None
    assert (gathered.topic_brief, gathered.mode) == (BRIEF, "topic_brief_and_evidence")
    assert [found.source_key for found in gathered.evidence] == ["note:a"]


def test_a_brief_that_comes_before_the_evidence_waits_for_it() -> None:
    playing = overview().gives("brief_topic", BRIEF)
    assert playing.open == ["retrieve"]
    playing.gives("retrieve", SEEN)
    assert playing.found.pack is not None
    assert playing.found.pack.topic_brief == BRIEF
    assert playing.open == ["inspect"]


def test_a_brief_that_fails_is_a_warning_and_the_run_goes_on() -> None:
    playing = overview().gives("retrieve", SEEN).fails("brief_topic").gives("inspect", ()).gives("keep_texts", ())
    assert playing.run.warnings == ["topic_brief_failed"]
    assert playing.run.stop_reason == "enough_evidence"


def test_a_brief_under_way_is_let_go_of_when_the_run_is_to_finish() -> None:
    playing = overview().gives("retrieve", SEEN).control("finish")
    assert "brief_topic" not in playing.open
    assert playing.found.pack is not None
    assert playing.found.pack.topic_brief is None


def test_a_retry_does_not_gather_the_brief_again() -> None:
    question = "What do I know about the lamp and the oil?"
    playing = Playing(request(question)).gives("retrieve", found(row("note:a", "lamp"), question=question))
    playing.gives("brief_topic", BRIEF).gives("inspect", ())
    playing.gives("retrieve", found(row("note:c", "oil"), question=question)).gives("keep_texts", ())
    assert playing.asked == ["retrieve", "brief_topic", "inspect", "retrieve", "keep_texts"]
    assert playing.found.pack is not None
    assert playing.found.pack.topic_brief == BRIEF
