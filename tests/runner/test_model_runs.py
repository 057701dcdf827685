"""Runs with a model, over a real HTTP server that misbehaves as its script says.

Whatever the model does, the status is true, the evidence stays, nothing unsupported is shown as supported, and the run
is recorded and replayed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from citewell import Citewell, CitewellError
from conftest import sqlite_runs
from runner.scripted_runs import (
    FALSE,
    GOOD,
    QUESTION,
    VERBATIM,
    Bench,
    assert_evidence_stays,
    decisions,
    displayed,
    mark,
    writes,
)
from support.model_script import (
    ModelRequest,
    Reply,
    cuts,
    endless,
    fails,
    says,
    says_error,
    silent,
    stalls,
)
from support.model_server import ScriptedModelServer, refused_url

pytestmark = pytest.mark.slow


def test_a_models_sentence_is_bound_to_the_exact_passage(bench: Bench) -> None:
    events, result, requests = bench.run(writes(GOOD))
    assert (result.answer_status, result.stop_reason, result.status) == ("ok", "enough_evidence", "done")
    assert (result.provider, result.model, result.tool) == ("openai", "test", "model")
    (sentence,) = result.sentences
    assert (sentence.check.kind, sentence.citations) == ("none", (1,))
    assert result.answer == "Josiah Pell lit the lamp on 14 November 1859. [1]"
    assert result.citations[0].quote.endswith("The lamp was lit by Josiah Pell on 14 November 1859.")
    assert "extractive" not in result.answer_warnings
    assert len(requests) == 1
    assert displayed(events) == (["Josiah Pell lit the lamp on 14 November 1859."], [])
    assert result.flow.holds
    assert (result.metrics.model_calls, result.metrics.tokens, result.metrics.cost_usd) == (1, 18, 0.0)


def test_a_contradicted_sentence_is_sent_back_once_and_the_repair_is_taken(bench: Bench) -> None:
    events, result, requests = bench.run(writes(f"{VERBATIM} {FALSE}", VERBATIM))
    assert [(one.verdict, one.check.kind) for one in result.sentences] == [("supported", "exact")]
    assert result.metrics.contradicted_rate == 0.0
    assert len(requests) == 2
    assert "not lit" in str(decisions(events, "repair_asked"))
    assert "not lit" in requests[1].prompt


def test_what_a_model_insists_on_against_its_source_is_removed_and_never_shown_while_it_is_written(
    bench: Bench,
) -> None:
    events, result, _ = bench.run(writes(f"{VERBATIM} {FALSE}"))
    assert [(one.verdict, one.check.kind) for one in result.sentences] == [
        ("supported", "exact"),
        ("contradicted", "exact"),
    ]
    assert "contradicted_claims" in result.answer_warnings
    removed = (
        "~~The lamp was not lit by Josiah Pell on 14 November 1859.~~ [1] (removed: the passage does not deny this)"
    )
    assert removed in result.answer.splitlines()
    shown, _ = displayed(events)
    assert not [text for text in shown if "not lit" in text]


def test_what_nobody_judged_is_shown_without_remark_and_costs_no_repair(bench: Bench) -> None:
    events, result, requests = bench.run(writes(f"{VERBATIM} The oil cost 900 pounds {{oil}}."))
    assert [(one.verdict, one.check.kind) for one in result.sentences] == [
        ("supported", "exact"),
        ("unsupported", "none"),
    ]
    assert result.answer_warnings == ()
    assert result.answer.endswith("The oil cost 900 pounds. [2]")
    assert len(requests) == 1
    assert "The oil cost 900 pounds." in displayed(events)[0]


@pytest.mark.attack("M6")
@pytest.mark.parametrize("marks", ["[0]", "[99]", "[99.3]"])
def test_a_citation_out_of_range_is_repaired_or_fails_verification(bench: Bench, marks: str) -> None:
    wrong = f"Josiah Pell lit the lamp {marks}."
    _, repaired, _ = bench.run(writes(wrong, GOOD))
    assert (repaired.answer_status, repaired.stop_reason) == ("ok", "enough_evidence")
    events, result, _ = bench.run(writes(wrong))
    assert (result.status, result.answer_status, result.stop_reason) == ("failed", "error", "verification_failed")
    assert (result.answer, result.citations) == ("", ())
    assert next(gate.name for gate in result.gates if not gate.passed) == "marks_in_evidence"
    assert displayed(events)[0] == []


@pytest.mark.attack("M6")
def test_a_citation_of_the_wrong_source_is_set_right_where_another_says_it(bench: Bench) -> None:
    _, result, requests = bench.run(writes(VERBATIM.replace("{lit}", "{oil}")))
    (sentence,) = result.sentences
    assert (sentence.verdict, sentence.check.kind, len(requests)) == ("supported", "exact", 1)
    assert [one.source_key.endswith("lamp") for one in result.citations] == [True]
    assert "another source does" in sentence.reason
    assert "citations_repaired" in result.answer_warnings
    assert result.flow.holds


@pytest.mark.attack("M6")
def test_a_passage_cited_twice_is_one_citation(bench: Bench) -> None:
    twice = "Josiah Pell lit the lamp on 14 November 1859 {lit}{lit} {lit}. The lamp was lit by Josiah Pell {lit}."
    _, result, _ = bench.run(writes(twice))
    assert (result.answer_status, len(result.citations)) == ("ok", 1)
    assert {sentence.citations for sentence in result.sentences} == {(1,)}
    assert result.flow.holds


@pytest.mark.attack("T6")
def test_a_changed_record_of_a_model_run_is_refused_and_no_model_is_asked(bench: Bench) -> None:
    """Changed in the log, and in the trace: exactly or tolerantly replayed, resumed, exported or compared."""
    with ScriptedModelServer(writes(GOOD)) as server:
        engine = Citewell(bench.data_dir, model="openai:test", model_base_url=server.base_url, judge="off")
        run_id = engine.start(QUESTION)
        engine.runs.wait(run_id)
        asked = len(server.requests)
        with sqlite_runs(engine).database.write() as connection:
            connection.execute("DROP TRIGGER events_are_append_only")
            changed = "UPDATE events SET body = replace(body, 'Josiah', 'Jonas') WHERE run_id = ? AND kind = ?"
            connection.execute(changed, (run_id, "observation_recorded"))
        acts: tuple[Callable[[], object], ...] = (
            lambda: engine.runs.replay(run_id),
            lambda: engine.runs.replay(run_id, tolerant=True),
            lambda: engine.runs.export(run_id, bench.data_dir / "out.zip"),
            lambda: engine.runs.diff(run_id, run_id),
            lambda: engine.runs.resume(run_id),
        )
        for act in acts:
            with pytest.raises(CitewellError):
                act()
        engine.close()
        assert len(server.requests) == asked > 0
    assert not (bench.data_dir / "out.zip").exists()


@pytest.mark.attack("M8")
def test_a_small_model_that_never_cites_is_cited_by_the_engine_where_a_passage_says_it(bench: Bench) -> None:
    lit = VERBATIM.replace(" {lit}", "")
    events, result, requests = bench.run(says(f"{lit} The keeper was called Erik the Red."))
    assert [sentence.verdict for sentence in result.sentences] == ["supported", "unsupported"]
    assert result.sentences[1].check.kind == "none"
    assert result.sentences[0].citations == (1,)
    assert "without a citation" in result.sentences[0].reason
    assert {"citations_repaired", "uncited_claims"} <= set(result.answer_warnings)
    assert len(requests) == 2, "it is asked for marks once"
    assert lit in displayed(events)[0]


def test_an_answer_that_nothing_says_and_nothing_marks_is_not_shown(bench: Bench) -> None:
    _, result, _ = bench.run(says("The keeper was called Erik the Red."))
    assert (result.stop_reason, result.answer) == ("verification_failed", "")


def test_a_fact_cited_to_a_source_that_lacks_it_is_not_approved(bench: Bench) -> None:
    _, result, _ = bench.run(writes(f"The keeper drowned in 1871 {{lit}}. {VERBATIM}"))
    assert [(one.verdict, one.check.kind) for one in result.sentences] == [
        ("unsupported", "none"),
        ("supported", "exact"),
    ]


def test_an_answer_that_its_sources_contradict_throughout_is_not_shown_and_the_passages_are(bench: Bench) -> None:
    _, result, _ = bench.run(writes(FALSE))
    assert (result.stop_reason, result.answer) == ("verification_failed", "")
    assert next(gate.name for gate in result.gates if not gate.passed) == "some_claim_stands"
    assert any("lit by Josiah Pell" in one.quote for one in result.nearest)


UNAVAILABLE = [
    (fails(401, "bad key", code="invalid_api_key"), "unauthorized"),
    (fails(404, "no such model", code="model_not_found"), "unknown_model"),
    (fails(429, "slow down", headers={"retry-after": "3600"}), "rate_limited"),
]


@pytest.mark.parametrize(("reply", "code"), UNAVAILABLE, ids=[code for _, code in UNAVAILABLE])
def test_a_model_that_is_not_there_leaves_the_evidence_and_says_so(bench: Bench, reply: Reply, code: str) -> None:
    _, result, _ = bench.run(reply)
    assert (result.answer_status, result.stop_reason) == ("unavailable", "synthesis_unavailable")
    assert {"model_unavailable", "extractive"} <= set(result.answer_warnings)
    assert result.failure is not None
    assert result.failure.code == code
    assert "Josiah Pell" in result.answer, "what was found is quoted instead"
    assert result.tool == "extractive"


def test_a_refused_connection_leaves_the_evidence_and_says_what_to_do(bench: Bench) -> None:
    _, result, _ = bench.run((), url=refused_url())
    assert (result.answer_status, result.stop_reason) == ("unavailable", "synthesis_unavailable")
    assert result.failure is not None
    assert result.failure.fix
    assert "Josiah Pell" in result.answer


BROKEN = [
    ("5xx", fails(500, "oops")),
    ("error inside a 200", says_error("overloaded")),
    ("error inside the stream", says_error("overloaded", after="Josiah Pell lit")),
    ("cut stream", cuts("Josiah Pell lit the lamp [1.1]. And th")),
    ("refusal", says("I'm sorry, I can't help with that.")),
    ("refusal by its provider", says("", refusal="not allowed")),
    ("filtered", says("", finish="content_filter")),
    ("empty", says("")),
    ("endless", endless()),
]


@pytest.mark.parametrize(("reply"), [reply for _, reply in BROKEN], ids=[name for name, _ in BROKEN])
def test_a_model_that_breaks_down_is_never_a_success(bench: Bench, reply: Reply) -> None:
    events, result, _ = bench.run(reply, max_output_tokens=40)
    assert (result.status, result.answer_status, result.stop_reason) == ("failed", "error", "synthesis_failed")
    assert "model_error" in result.answer_warnings
    assert_evidence_stays(result)
    shown, gone = displayed(events)
    assert len(gone) == len(shown), "what was shown of it is taken back"


@pytest.mark.parametrize(
    "reply", [silent(), stalls("Josiah Pell lit the lamp [1.1]. And th")], ids=["silent", "stalls"]
)
def test_a_model_that_hangs_leaves_an_answer_from_what_is_there_marked_incomplete(bench: Bench, reply: Reply) -> None:
    _, result, _ = bench.run(reply, deadline=4.0)
    assert (result.stop_reason, result.answer_status, result.tool) == ("timeout_exceeded", "ok", "extractive")
    assert {"incomplete", "extractive", "model_error"} <= set(result.answer_warnings)
    assert "Josiah Pell" in result.answer
    assert {sentence.verdict for sentence in result.sentences} == {"supported"}


@pytest.mark.attack("M7")
def test_an_answer_cut_off_by_its_limit_is_shown_as_such(bench: Bench) -> None:
    def reply(request: ModelRequest) -> Reply:
        return says(f"Josiah Pell lit the lamp {mark(request, 'lit by')}. The oil for the", finish="length")

    _, result, _ = bench.run(reply)
    assert result.answer_status == "ok"
    assert "incomplete" in result.answer_warnings
    assert [sentence.text for sentence in result.sentences] == ["Josiah Pell lit the lamp."]


def test_a_model_that_finds_nothing_ends_without_an_answer(bench: Bench) -> None:
    _, result, _ = bench.run(says("The evidence does not say who lit the lamp."))
    assert (result.answer_status, result.stop_reason, result.citations) == ("no_evidence", "no_evidence", ())


def test_without_evidence_no_model_is_called(bench: Bench) -> None:
    _, result, requests = bench.run(says("Anything."), "What does zirconium cost in Antwerp?")
    assert (result.answer_status, requests) == ("no_evidence", [])
