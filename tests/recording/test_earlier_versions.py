"""Runs that an earlier version recorded stay readable: listed, shown, exported, compared."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from citewell import BadInput, Citewell, Settings
from citewell.runs.events import RunStarted, SentenceShown

GOLDEN = Path(__file__).parent / "golden"
ANSWERED = "20260105T101500-8466eb85"
REFUSED = "20260105T101500-ef8ddcb2"
WRITTEN_BY_A_MODEL = "20260105T101500-ba062753"
INTERRUPTED = "20260105T101500-66c83114"


@pytest.fixture
def yesterday(tmp_path: Path) -> Iterator[Citewell]:
    """An engine over a data folder that 0.1.0 wrote."""
    with tarfile.open(GOLDEN / "runs-0.1.0.tar.xz") as archive:
        archive.extractall(tmp_path / "data", filter="data")
    engine = Citewell(Settings(data_dir=tmp_path / "data"))
    yield engine
    engine.close()


def test_they_are_listed(yesterday: Citewell) -> None:
    found = {run.run_id: (run.status, run.tool_version) for run in yesterday.runs.latest(10).runs}
    assert found == {
        ANSWERED: ("done", "0.1.0"),
        REFUSED: ("done", "0.1.0"),
        WRITTEN_BY_A_MODEL: ("done", "0.1.0"),
        INTERRUPTED: ("interrupted", "0.1.0"),
    }


def test_they_are_shown_with_answer_evidence_and_what_became_of_their_sources(yesterday: Citewell) -> None:
    view = yesterday.runs.show(ANSWERED, with_events=True)
    assert view.result is not None
    assert view.result.answer == "The lamp was lit by Josiah Pell on 14 November 1859. [1]"
    assert view.result.trace_path == f"research-runs/{ANSWERED}"
    assert view.result.pack is not None
    assert view.result.pack.evidence[0].source_key == view.result.citations[0].source_key
    assert [source.state for source in view.sources] == ["removed"]
    assert isinstance(view.events[0].event, RunStarted)
    refused = yesterday.runs.show(REFUSED).result
    assert refused is not None
    assert refused.answer_status == "no_evidence"


def test_every_entry_of_their_logs_is_one_of_todays_events(yesterday: Citewell) -> None:
    events = [
        event
        for run_id in (ANSWERED, REFUSED, WRITTEN_BY_A_MODEL, INTERRUPTED)
        for event in yesterday.run_store.checked_events(run_id)
    ]
    assert all(event.event for event in events)
    assert any(isinstance(event.event, SentenceShown) for event in events)


def test_without_its_trace_a_run_still_shows_what_it_retrieved(yesterday: Citewell) -> None:
    folder = yesterday.settings.data_dir / "research-runs" / ANSWERED
    folder.rename(folder.with_name("elsewhere"))
    result = yesterday.runs.show(ANSWERED).result
    assert result is not None
    assert result.pack is not None
    assert result.pack.evidence


def test_they_are_exported_and_what_was_exported_is_read(yesterday: Citewell, tmp_path: Path) -> None:
    target = tmp_path / "again.zip"
    yesterday.runs.export(WRITTEN_BY_A_MODEL, target)
    assert yesterday.runs.result(str(target)).answer == yesterday.runs.result(WRITTEN_BY_A_MODEL).answer
    exported = GOLDEN / "run-0.1.0.zip"
    assert yesterday.runs.result(str(exported)).run_id == WRITTEN_BY_A_MODEL


def test_they_are_compared_with_each_other_and_with_today(yesterday: Citewell) -> None:
    assert not yesterday.runs.diff(ANSWERED, REFUSED).same
    same = yesterday.runs.diff(ANSWERED, ANSWERED)
    assert (same.same, same.evidence.removed) == (True, ())
    today = yesterday.runs.diff(ANSWERED, None)
    assert today.evidence.removed  # the notes are not there any more


@pytest.mark.parametrize("run_id", [ANSWERED, REFUSED, WRITTEN_BY_A_MODEL])
@pytest.mark.parametrize("tolerant", [False, True], ids=["exact", "tolerant"])
def test_they_are_not_played_back_and_it_is_said_why_and_what_to_do(
    yesterday: Citewell, run_id: str, tolerant: bool
) -> None:
    with pytest.raises(BadInput, match=r"earlier Citewell \(0\.1\.0\), which recorded runs in another form") as refused:
        yesterday.runs.replay(run_id, tolerant=tolerant)
    assert f"runs diff {run_id}" in refused.value.fix


def test_an_unfinished_one_says_why_it_cannot_go_on_and_can_be_cancelled(yesterday: Citewell) -> None:
    with pytest.raises(BadInput, match=r"begun by an earlier Citewell \(0\.1\.0\)"):
        yesterday.runs.resume(INTERRUPTED)
    assert yesterday.runs.control(INTERRUPTED, "cancel").status == "cancelled"
    result = yesterday.runs.show(INTERRUPTED).result
    assert result is not None
    assert (result.status, result.answer) == ("cancelled", "")
