"""The published JSON Schema of events is that of what is recorded: today, and by earlier versions."""

from __future__ import annotations

import tarfile
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from citewell import AddReport, Citewell, RunEvent, Settings, json_schema
from citewell.runs.events import EVENT_KINDS
from recording.test_earlier_versions import GOLDEN
from runner.scripted_runs import GOOD, plans
from runner.test_runs import NOTES, ask
from support.model_script import says
from support.model_server import ScriptedModelServer
from surfaces.test_cli import closed

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]
__all__ = ["NOTES"]


@cache
def validator(is_closed: bool) -> Any:
    schema = json_schema("run_event")
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(closed(schema) if is_closed else schema)


def assert_fits(event: RunEvent, *, is_closed: bool) -> None:
    """Exactly one form fits; where it is closed, it also names every field."""
    document = asdict(event)
    errors = [error for one in validator(is_closed).iter_errors(document) for error in (one, *(one.context or ()))]
    same_kind = [e.message[:300] for e in errors if e.schema.get("title") == event.kind or "kind" not in e.path]
    assert not errors, f"{event.sequence} {event.kind}: {same_kind[:5]}"


def test_it_has_a_form_for_every_kind_of_event() -> None:
    forms = {form["title"]: form for form in json_schema("run_event")["oneOf"]}
    assert set(forms) == set(EVENT_KINDS)
    assert all(form["properties"]["kind"] == {"const": kind} for kind, form in forms.items())


def test_every_event_of_a_run_fits_it_exactly(corpus: Citewell) -> None:
    events, _ = ask(corpus)
    assert {"run_started", "action_intended", "observation_recorded", "decision_made", "run_finished"} <= {
        event.kind for event in events
    }
    for event in events:
        assert_fits(event, is_closed=True)


def test_every_event_of_a_run_with_models_fits_it_exactly(corpus: Citewell) -> None:
    with ScriptedModelServer(
        plans(says("nothing that could be read"), f"{GOOD} The moon is made of oil {{oil}}.")
    ) as server:
        settings = Settings(data_dir=corpus.settings.data_dir, model_base_url=server.base_url)
        engine = Citewell(settings)
        choice = {"model": "openai:test", "planner_model": "openai:test"}
        events, _ = ask(engine, "How did they come to keep the lamp lit, and with which oil?", **choice)
        engine.close()
    assert {"sentence_shown"} <= {event.kind for event in events}
    for event in events:
        assert_fits(event, is_closed=True)


def test_events_of_0_1_0_fit_it(tmp_path: Path) -> None:
    with tarfile.open(GOLDEN / "runs-0.1.0.tar.xz") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    engine = Citewell(Settings(data_dir=tmp_path / "data"))
    try:
        runs = engine.runs.latest(10).runs
        events = [event for run in runs for event in engine.run_store.checked_events(run.run_id)]
    finally:
        engine.close()
    assert "display_updated" in {event.kind for event in events}
    for event in events:
        assert_fits(event, is_closed=False)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("stage_entered", {"stage": "nowhere"}),
        ("stage_entered", {}),
        ("decision_made", {"name": "stopped", "data": "tired"}),
        ("made_up", {}),
    ],
)
def test_what_is_no_event_does_not_fit(kind: Any, body: dict[str, Any]) -> None:
    event = RunEvent("run", 1, "2026-01-01T00:00:00.000Z", kind, body, "0" * 64)
    with pytest.raises(AssertionError):
        assert_fits(event, is_closed=False)
