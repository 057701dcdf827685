"""What the engine's doors ask of it: packs planned with a model, answers from a given pack, explanations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from citewell import Citewell, Settings, Span
from runner.scripted_runs import GOOD, AddPath, Write, plans, writes
from support.model_script import ModelRequest, Reply, says
from support.model_server import ScriptedModelServer

NOTES: dict[str, str | bytes] = {
    "Lamp.md": "# Lamp\nThe lamp was lit by Josiah Pell on 14 November 1859. See [[Oil]].",
    "Oil.md": "# Oil\nThe oil for the lamp came from Leith in forty barrels.",
    "Light.md": "# Orrin Head Light\nThe Orrin Head Light was kept by Magnus Tulloch from 1901 to 1930.",
    "Bees.md": "# Bees\nThe hives were kept by Ada Flett behind the shed.",
}
QUESTION = "Who lit the lamp?"


def test_a_follow_up_searches_for_what_the_question_before_named(corpus: Citewell) -> None:
    before = [{"id": "turn-7", "question": "When was the Orrin Head Light built?"}]
    result = corpus.runs.wait(corpus.start("Who kept it?", history=before))
    assert "Magnus Tulloch" in result.sentences[0].text
    assert result.pack is not None
    assert result.pack.evidence[0].source_key == "note:vault/light"
    trace = json.loads((corpus.settings.data_dir / str(result.trace_path) / "run.json").read_text("utf-8"))
    assert trace["chat_continuity"] == {
        "original_question": "Who kept it?",
        "retrieval_question": "Orrin Head Light: Who kept it?",
        "prior_question_ids": ["turn-7"],
        "pinned_evidence_keys": [],
        "merged_prior_evidence": [],
    }


def test_headings_in_a_prompt_become_values_and_are_kept_as_typed(corpus: Citewell) -> None:
    typed = (
        "Current question: Who kept it?\nRecent user questions:\n- When was the Orrin Head Light built?\n"
        "Pinned evidence keys: note:vault/oil"
    )
    result = corpus.runs.wait(corpus.start(typed))
    assert result.question == "Who kept it?"
    trace = json.loads((corpus.settings.data_dir / str(result.trace_path) / "run.json").read_text("utf-8"))
    told = trace["chat_continuity"]
    assert (told["original_question"], told["prior_question_ids"]) == (typed, ["q1"])
    assert told["pinned_evidence_keys"] == told["merged_prior_evidence"] == ["note:vault/oil"]
    assert corpus.runs.replay(result.run_id).identical


def test_an_answer_is_made_from_the_rows_of_a_given_pack(corpus: Citewell) -> None:
    pack = corpus.pack(QUESTION)
    result = corpus.synthesize(QUESTION, pack)
    assert (result.answer_status, "Josiah Pell" in result.answer, result.trace_path) == ("ok", True, None)
    assert result.citations[0].source_key == "note:vault/lamp"
    assert corpus.runs.latest(10).runs == ()


def test_a_forged_row_never_becomes_evidence(corpus: Citewell) -> None:
    """Only the place of a row counts: text, title and role come from the store, and a place that is none is refused."""
    pack = corpus.pack(QUESTION)
    row = next(row for row in pack.evidence if row.source_key == "note:vault/lamp")
    lie = replace(row, text="The lamp was lit by Napoleon.", title="Napoleon's diary", role="user_note")
    moved = replace(row, span=Span("x", 0, 10_000_000, row.span.content_hash))
    invented = replace(row, span=Span("x", 0, 20, "f" * 64))
    elsewhere = replace(row, source_key="note:vault/nowhere")
    forged = replace(pack, evidence=(lie, moved, invented, elsewhere), exact_tag_evidence=())
    result = corpus.synthesize("Who lit the lamp?", forged)
    assert "Napoleon" not in json.dumps(result.answer) + str(result.pack)
    assert "Josiah Pell" in result.answer
    assert result.pack is not None
    assert [one.source_key for one in result.pack.evidence] == ["note:vault/lamp"]
    assert "evidence_refused" in result.warnings
    assert set(result.explored.rejected) == {"note:vault/lamp", "note:vault/nowhere"}


def test_a_pack_without_evidence_gives_no_answer_and_asks_no_model(corpus: Citewell) -> None:
    empty = replace(corpus.pack(QUESTION), evidence=(), exact_tag_evidence=())
    with ScriptedModelServer(says("I know anyway.")) as server:
        engine = Citewell(
            Settings(corpus.settings.data_dir, model="openai:test", model_base_url=server.base_url), corpus.clock
        )
        result = engine.synthesize(QUESTION, empty)
        engine.close()
    assert (result.answer_status, server.requests) == ("no_evidence", [])


def test_a_result_is_explained_without_a_model_also_where_nothing_was_found(corpus: Citewell) -> None:
    found = corpus.explain(corpus.pack(QUESTION))
    assert (found.answer_status, found.summary.split(".")[0][-5:]) == ("ok", "found")
    assert any("lamp" in reason for reason in found.reasons)
    nothing = corpus.explain(corpus.pack("What does zirconium cost in Antwerp?"))
    assert nothing.answer_status == "no_evidence"
    assert "zirconium" in " ".join(nothing.reasons)
    assert nothing.queries_tried
    assert nothing.suggestions


@pytest.mark.slow
def test_a_model_helps_to_plan_a_pack_where_the_profile_or_the_caller_wants_it(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    add_path(vault(NOTES))
    reply = json.dumps({"variants": ["hives behind the shed"], "concepts": []})
    with ScriptedModelServer(plans(reply)) as server:
        settings = Settings(engine.settings.data_dir, model="openai:test", model_base_url=server.base_url)
        planning = Citewell(settings)
        web = planning.pack(QUESTION, option_profile="web")
        assert (web.query_plan.planner_status, len(server.requests)) == ("used", 1)
        assert "hives behind the shed" in {variant.query for variant in web.query_plan.query_variants}
        assert web.query_plan.limits.include_related
        plain = planning.pack(QUESTION)
        assert (plain.query_plan.planner_status, len(server.requests)) == ("off", 1)
        asked = planning.pack(QUESTION, use_model_planner=True)
        assert (asked.query_plan.planner_status, len(server.requests)) == ("used", 2)
        planning.close()
    assert not (engine.settings.data_dir / "research-runs").exists()
    assert engine.pack(QUESTION, option_profile="web").query_plan.planner_status == "off"


@pytest.mark.slow
def test_the_trace_holds_what_the_models_received_and_what_the_planner_replied(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    add_path(vault(NOTES))
    malformed = "here are my thoughts { not json"

    def script(request: ModelRequest) -> Reply:
        return plans(malformed)(request)

    with ScriptedModelServer(script) as server:
        settings = Settings(
            engine.settings.data_dir, model="openai:test", planner_model="openai:test", model_base_url=server.base_url
        )
        planning = Citewell(settings)
        result = planning.runs.wait(planning.start(QUESTION))
        planning.close()
    folder: Path = engine.settings.data_dir / str(result.trace_path)
    assert (folder / "planner-output.txt").read_text("utf-8") == malformed
    sent = next(one for one in server.requests if "You do not answer the question" not in one.prompt)
    received = (folder / "synthesis-input.md").read_text("utf-8")
    assert all(message["content"] in received for message in sent.body["messages"])
    assert GOOD.partition("{")[0].strip() in result.answer


@pytest.mark.slow
def test_without_a_planning_model_there_is_no_planner_output(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    add_path(vault(NOTES))
    with ScriptedModelServer(writes(GOOD)) as server:
        written = Citewell(Settings(engine.settings.data_dir, model="openai:test", model_base_url=server.base_url))
        result = written.runs.wait(written.start(QUESTION))
        written.close()
    folder = engine.settings.data_dir / str(result.trace_path)
    assert not list(folder.glob("planner-output*"))


def test_what_was_found_and_not_shown_is_told_with_its_score_and_the_reason(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    add_path(vault({f"Lamp {number}.md": f"The lamp of tower {number} was lit." for number in range(40)}))
    result = engine.runs.wait(engine.start("Which lamp was lit?"))
    reasons = {one.reason for one in result.explored.dropped}
    assert reasons == {"beyond the rows to show"}
    assert all(one.score > 0 for one in result.explored.dropped)
    assert not {one.source_key for one in result.explored.dropped} & set(result.flow.admitted)
    without = engine.runs.wait(engine.start("Which lamp was lit, but not @kelpwife?"))
    assert engine.runs.replay(without.run_id).identical


def test_other_names_that_were_known_and_not_searched_for_are_told(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    aliases = ", ".join(["Kelpie", "Weedwife", "Tangle Queen", "Mistress of Ware", "Laminaria"])
    add_path(vault({"Ada Flett.md": f"---\naliases: [{aliases}]\n---\nAda Flett cuts kelp at Selwick."}))
    result = engine.runs.wait(engine.start("Where does Ada Flett cut kelp?"))
    assert result.explored.aliases_untried
    assert all(told.startswith("Ada Flett: ") for told in result.explored.aliases_untried)
