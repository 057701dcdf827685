"""A trace is there whole or not at all, tells the whole run, and shows when a byte of it was changed."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from citewell import BadInput, NotFound, StoreFull, Unavailable, WorkFailed
from citewell.runs.events import Entry, verify_chain
from citewell.runs.folder import read_trace, trace_folder, write_trace
from citewell.runs.run import Failure
from citewell.runs.trace import FILES, MARKER, TRACE_SCHEMA
from recording.builders import (
    REJECTED,
    RUN_ID,
    SYNTHESIS_INPUT,
    events,
    listing,
    plan,
    rejected,
    result,
    run_id,
    write,
)


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    made = result()
    folder = write_trace(tmp_path, made, events(made), SYNTHESIS_INPUT, plan())
    trace = read_trace(folder)
    assert folder == tmp_path / "research-runs" / RUN_ID
    assert (trace.run_id, sorted(trace.files)) == (RUN_ID, [MARKER, *FILES])
    assert SYNTHESIS_INPUT in trace.files["synthesis-input.md"].decode()
    assert trace.events == tuple(events(made))
    assert (trace.schema_version, trace.surface, trace.question) == (TRACE_SCHEMA, "cli", made.question)
    whole = json.loads(trace.files["run.json"])
    assert (trace.pack, whole["failure"]) == (made.pack, None)
    assert msgspec.convert(whole["flow"], type(made.flow)) == made.flow
    assert (whole["started_at"], whole["completed_at"]) == ("2026-01-01T12:00:00.000Z", "2026-01-01T12:00:00.250Z")
    assert (trace.synthesis.answer, trace.synthesis.citations) == (made.answer, made.citations)
    assert trace.chat_continuity["pinned_evidence_keys"] == ["note:vault/tides"]
    assert whole["metrics"]["artifact_bytes"] == sum(artifact["bytes"] for artifact in whole["artifacts"])


def test_the_marker_names_the_hash_and_the_size_of_every_other_file(tmp_path: Path) -> None:
    folder = write(tmp_path)
    manifest = json.loads((folder / MARKER).read_bytes())
    contents = {name: (folder / name).read_bytes() for name in FILES}
    assert {path.name for path in folder.iterdir()} == {MARKER, *FILES}
    assert manifest["files"] == [
        {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in contents.items()
    ]
    assert (manifest["run_id"], manifest["schema"]) == (RUN_ID, TRACE_SCHEMA)
    assert manifest["log_digest"] == events(result())[-1].digest


def test_the_log_can_be_taken_from_the_trace_line_by_line(tmp_path: Path) -> None:
    """A trace carries the whole log, so that a run can be replayed on another machine."""
    lines = (write(tmp_path) / "log.jsonl").read_bytes().splitlines()
    read = [msgspec.json.decode(line, type=type(events(result())[0])) for line in lines]
    verify_chain(read)
    assert read == events(result())


@pytest.mark.attack("X3")
def test_only_the_owner_can_read_a_trace(tmp_path: Path) -> None:
    """X3, whatever the umask says."""
    before = os.umask(0)
    try:
        folder = write(tmp_path / "data")
    finally:
        os.umask(before)
    folders = (tmp_path / "data", folder.parent, folder)
    assert {stat.S_IMODE(path.stat().st_mode) for path in folders} == {0o700}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = write(tmp_path / "a"), write(tmp_path / "b")
    for name in (*FILES, MARKER):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_writing_the_same_trace_again_changes_nothing(tmp_path: Path) -> None:
    """A run that was killed just after its trace was written writes it again when it is resumed."""
    before = {path.name: path.stat().st_ino for path in write(tmp_path).iterdir()}
    assert {path.name: path.stat().st_ino for path in write(tmp_path).iterdir()} == before
    assert listing(tmp_path) == [RUN_ID]


def test_a_run_that_went_on_gets_its_longer_trace(tmp_path: Path) -> None:
    made = result()
    whole = events(made)
    write_trace(tmp_path, replace(made, status="interrupted"), whole[:4], "", None)
    folder = write_trace(tmp_path, made, whole, SYNTHESIS_INPUT, plan())
    assert read_trace(folder).events == tuple(whole)
    assert listing(tmp_path) == [RUN_ID]


def test_a_trace_of_another_record_is_not_overwritten(tmp_path: Path) -> None:
    folder = write(tmp_path)
    before = (folder / "run.json").read_bytes()
    other = result(question="What else?")
    with pytest.raises(WorkFailed, match="another trace"):
        write_trace(tmp_path, other, events(other), "", None)
    assert (folder / "run.json").read_bytes() == before
    assert listing(tmp_path) == [RUN_ID]


def test_a_folder_that_is_not_ours_is_not_overwritten(tmp_path: Path) -> None:
    place = trace_folder(tmp_path, RUN_ID)
    place.mkdir(parents=True)
    (place / "mine.md").write_text("mine")
    with pytest.raises(WorkFailed, match="not a trace that this run wrote"):
        write(tmp_path)
    assert [path.name for path in place.iterdir()] == ["mine.md"]
    assert listing(tmp_path) == [RUN_ID]


def test_a_file_somebody_put_into_a_trace_is_not_lost_to_a_longer_one(tmp_path: Path) -> None:
    made = result()
    folder = write_trace(tmp_path, made, events(made)[:4], "", None)
    (folder / "mine.md").write_text("mine")
    with pytest.raises(WorkFailed, match=r"mine\.md"):
        write(tmp_path)
    assert read_trace(folder).events == tuple(events(made)[:4])
    assert listing(tmp_path) == [RUN_ID]


def test_failed_and_cancelled_runs_leave_a_valid_partial_trace(tmp_path: Path) -> None:
    """T2: no plan, no pack, no synthesis, and still a trace."""
    made = replace(
        result(),
        status="failed",
        answer_status="error",
        answer="",
        citations=(),
        sentences=(),
        stop_reason="timeout_exceeded",
        failure=Failure("retrieve", "unavailable", "The corpus is locked."),
        pack=None,
    )
    trace = read_trace(write_trace(tmp_path, made, events(made), "", None))
    assert trace.pack is None
    assert json.loads(trace.files["run.json"])["failure"] == msgspec.to_builtins(made.failure)
    assert b"The corpus is locked." in trace.files["run.md"]


def test_a_rejected_answer_is_in_the_trace_only_as_rejected(tmp_path: Path) -> None:
    """V4."""
    made = rejected()
    trace = read_trace(write_trace(tmp_path, made, events(made), "", plan(), draft=REJECTED))
    synthesis = trace.synthesis
    assert (synthesis.answer, synthesis.is_rejected) == ("", True)
    assert synthesis.rejected_answer == "Tides are made of <b>cheese</b>."
    markdown = trace.files["run.md"].decode()
    assert "## Answer" not in markdown
    assert "## Rejected answer\n\n**Rejected by verification" in markdown
    assert "`quotes_exact` (sentence 1)" in markdown


def test_a_rejected_answer_that_a_model_wrote_is_taken_from_the_record(tmp_path: Path) -> None:
    made = rejected()
    observation = {"type": "Drafted", "value": {"draft": msgspec.to_builtins(REJECTED)}}
    drafted = Entry("observation_recorded", {"answers": "d2", "kind": "io", "elapsed": 1, "observation": observation})
    trace = read_trace(write_trace(tmp_path, made, events(made, more=(drafted,)), "", plan()))
    assert trace.synthesis.rejected_answer == "Tides are made of <b>cheese</b>."


@pytest.mark.attack("V3")
@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        f"{RUN_ID}/..",
        f"{RUN_ID}\n",
        f" {RUN_ID}",
        RUN_ID.upper(),
        "20260101T120000-0badc0dé",
    ],
)
def test_nothing_but_a_run_id_becomes_part_of_a_path(tmp_path: Path, name: str) -> None:
    """V3."""
    with pytest.raises(BadInput, match="not the id of a run"):
        trace_folder(tmp_path, name)
    made = result(name)
    with pytest.raises(BadInput):
        write_trace(tmp_path, made, events(made), "", None)
    assert listing(tmp_path) == []


@pytest.mark.attack("T6")
def test_a_record_that_was_changed_is_not_written(tmp_path: Path) -> None:
    made = result()
    log = events(made)
    log[2] = replace(log[2], body={**log[2].body, "action": "Other"})
    with pytest.raises(WorkFailed, match="changed at entry 2"):
        write_trace(tmp_path, made, log, "", None)
    with pytest.raises(WorkFailed, match="does not begin"):
        write_trace(tmp_path, result(run_id(7)), events(made), "", None)
    assert listing(tmp_path) == []


# Tampering


@pytest.mark.attack("T6")
@pytest.mark.parametrize("name", [*FILES, MARKER])
def test_a_changed_byte_is_refused_wherever_it_is(tmp_path: Path, name: str) -> None:
    """T6: every file, at many places in it."""
    folder = write(tmp_path)
    content = (folder / name).read_bytes()
    step = 1 if name == MARKER else max(1, len(content) // 60)
    for offset in {*range(0, len(content), step), len(content) - 1}:
        for bit in (0x01, 0x20):
            changed = bytearray(content)
            changed[offset] ^= bit
            (folder / name).write_bytes(changed)
            with pytest.raises(WorkFailed):
                read_trace(folder)
    (folder / name).write_bytes(content)
    assert read_trace(folder).run_id == RUN_ID


@pytest.mark.parametrize("name", [*FILES, MARKER])
def test_a_missing_longer_or_shorter_file_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path)
    content = (folder / name).read_bytes()
    for changed in (content + b"\n", content[:-1], b""):
        (folder / name).write_bytes(changed)
        with pytest.raises(WorkFailed, match=name.replace(".", r"\.")):
            read_trace(folder)
    (folder / name).unlink()
    with pytest.raises(WorkFailed, match=f"{name.replace('.', r'.')} is missing"):
        read_trace(folder)


def test_a_file_replaced_by_a_link_a_pipe_or_a_folder_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path)
    content = (folder / "run.md").read_bytes()
    (tmp_path / "same.md").write_bytes(content)
    (folder / "run.md").unlink()
    (folder / "run.md").symlink_to(tmp_path / "same.md")
    with pytest.raises(WorkFailed, match="symbolic link"):
        read_trace(folder)
    (folder / "run.md").unlink()
    os.mkfifo(folder / "run.md")
    with pytest.raises(WorkFailed, match="not a regular file"):
        read_trace(folder)


def test_a_folder_under_the_name_of_another_run_is_refused(tmp_path: Path) -> None:
    folder = write(tmp_path)
    other = folder.rename(folder.with_name(run_id(7)))
    with pytest.raises(WorkFailed, match=f"{run_id(7)} holds run {RUN_ID}"):
        read_trace(other)


def test_a_trace_of_a_newer_citewell_says_what_to_do(tmp_path: Path) -> None:
    """T7."""
    folder = write(tmp_path)
    marker = (folder / MARKER).read_text().replace(TRACE_SCHEMA, "research_trace.v12")
    (folder / MARKER).write_text(marker)
    with pytest.raises(
        WorkFailed, match=r"newer Citewell \(research_trace\.v12; this one reads research_trace\.v1\)"
    ) as told:
        read_trace(folder)
    assert told.value.fix.startswith("Upgrade")


def test_a_run_without_a_trace_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        read_trace(trace_folder(tmp_path, RUN_ID))
    (tmp_path / "research-runs").mkdir()
    (tmp_path / "research-runs" / RUN_ID).symlink_to(write(tmp_path / "elsewhere"))
    with pytest.raises(NotFound):
        read_trace(trace_folder(tmp_path, RUN_ID))


# No room


@pytest.mark.attack("D4")
@pytest.mark.parametrize("limit", [0, 1, 500, 3_000, 10_000])
def test_a_full_disk_leaves_nothing_behind_and_the_next_write_works(tmp_path: Path, limit: int) -> None:
    """With a real limit on the size of files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        with pytest.raises(StoreFull, match="Nothing of it was left behind"):
            write(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert listing(tmp_path) == []
    assert read_trace(write(tmp_path)).run_id == RUN_ID


def test_a_folder_of_traces_that_is_a_link_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "research-runs").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable):
        write(tmp_path)
    assert list((tmp_path / "elsewhere").iterdir()) == []
    (tmp_path / "research-runs").unlink()
    (tmp_path / "research-runs").write_text("a file")
    with pytest.raises(Unavailable):
        write(tmp_path)


# The same everywhere

DIGEST = """
import hashlib
from recording.builders import SYNTHESIS_INPUT, events, plan, result
from citewell.runs.trace import trace_files
files = trace_files(result(), events(result()), SYNTHESIS_INPUT, plan())
print(hashlib.sha256(b"".join(files[name] for name in sorted(files))).hexdigest())
"""


@pytest.mark.attack("T5")
@pytest.mark.slow
def test_a_trace_has_the_same_bytes_under_another_time_zone_locale_and_hash_seed(tmp_path: Path) -> None:
    """T5."""
    surroundings = (
        {"TZ": "UTC", "LC_ALL": "C", "PYTHONHASHSEED": "0"},
        {"TZ": "Asia/Kathmandu", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"},
        {"TZ": "America/St_Johns", "LC_ALL": "de_DE.UTF-8", "PYTHONHASHSEED": "4711"},
    )
    tests = str(Path(__file__).parents[1])
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**surrounding, "PYTHONPATH": tests, "PATH": ""},
            cwd=tmp_path,
            check=True,
            capture_output=True,
        ).stdout
        for surrounding in surroundings
    }
    assert len(digests) == 1
