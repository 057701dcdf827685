"""Backups and restores of a small data folder: what is in them, what is not, and what is never overwritten."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import tomllib
import zipfile
from pathlib import Path

import pytest

from citewell import BackupReport, BadInput, Citewell, NotFound, RunResult, Settings
from citewell.errors import StoreUnusable
from conftest import SteadyClock, Write, add, sqlite_corpus
from runner.scripted_runs import plans
from support.model_server import ScriptedModelServer

NOTES: dict[str, str | bytes] = {
    "Lamp.md": "# Lamp\n\nThe lamp was lit in 1859. See [[Oil]].\n",
    "Oil.md": "# Oil\n\nThe oil came from Leith.\n",
}
SETTINGS = """# my key was sk-comment-77 once
model = "ollama:qwen3:8b"
model_api_key = "sk-secret-42"
searxng_url = "https://ada:hunter2@search.example/"
prices = "openai:x=sk-secret-42"
trace_keep = 7
trace_keep_all = true
max_cost_usd = 0.5
"""


def research(engine: Citewell, question: str) -> RunResult:
    async def last() -> RunResult:
        found = None
        async for event in engine.stream(question):
            found = event
        assert isinstance(found, RunResult)
        return found

    return asyncio.run(last())


def fresh(data: Path) -> Citewell:
    return Citewell(Settings(data_dir=data), SteadyClock())


@pytest.fixture
def run(corpus: Citewell) -> RunResult:
    """A finished run over the notes, beside a transcript and settings with secrets."""
    data = corpus.settings.data_dir
    result = research(corpus, "When was the lamp lit?")
    (data / "citewell.toml").write_text(SETTINGS, "utf-8")
    (data / "chat-transcripts" / "2026").mkdir(parents=True)
    (data / "chat-transcripts" / "2026" / "käse.md").write_text("Who kept it?", "utf-8")
    return result


def test_a_restored_folder_gives_the_same_answers_and_replays_the_same_run(
    corpus: Citewell, run: RunResult, tmp_path: Path
) -> None:
    report = corpus.corpus.backup(tmp_path / "all.zip")
    assert (report.documents, report.runs, report.traces, report.transcripts, report.settings) == (2, 1, 1, 1, True)
    other = fresh(tmp_path / "elsewhere" / "data")
    restored = other.corpus.restore(tmp_path / "all.zip")
    assert (restored.documents, restored.runs, restored.traces, restored.kept_aside) == (2, 1, 1, None)
    assert other.search("lamp").results == corpus.search("lamp").results
    assert other.runs.replay(run.run_id) == corpus.runs.replay(run.run_id)
    assert other.runs.replay(run.run_id).identical
    assert other.store.check_integrity() == []
    transcript = other.settings.data_dir / "chat-transcripts" / "2026" / "käse.md"
    assert transcript.read_text("utf-8") == "Who kept it?"
    cited = run.citations[0]
    (document,) = other.corpus.get(f"{cited.source_key}@{cited.span.content_hash}", content_mode="full").documents
    assert document.text[cited.span.start : cited.span.end] == cited.quote
    other.close()


def test_the_reply_of_a_planning_model_is_restored_with_its_trace(corpus: Citewell, tmp_path: Path) -> None:
    with ScriptedModelServer(plans("no plan")) as server:
        settings = Settings(corpus.settings.data_dir, planner_model="openai:m", model_base_url=server.base_url)
        planning = Citewell(settings, SteadyClock())
        result = planning.runs.wait(planning.start("When was the lamp lit?"))
        planning.corpus.backup(tmp_path / "all.zip")
        planning.close()
    other = fresh(tmp_path / "other")
    assert other.corpus.restore(tmp_path / "all.zip").traces == 1
    assert (tmp_path / "other" / str(result.trace_path) / "planner-output.txt").read_text("utf-8") == "no plan"


@pytest.mark.attack("X1")
def test_secrets_of_the_settings_are_left_out_and_named(corpus: Citewell, run: RunResult, tmp_path: Path) -> None:
    report = corpus.corpus.backup(tmp_path / "all.zip")
    assert report.secrets_left_out == ("model_api_key", "prices", "searxng_url")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        everything = b"".join(archive.read(name) for name in archive.namelist())
        kept = tomllib.loads(archive.read("citewell.toml").decode("utf-8"))
    for secret in (b"sk-secret-42", b"hunter2", b"sk-comment-77"):
        assert secret not in everything
    assert kept == {"model": "ollama:qwen3:8b", "trace_keep": 7, "trace_keep_all": True, "max_cost_usd": 0.5}


def test_settings_survive_any_text(corpus: Citewell, tmp_path: Path) -> None:
    value = 'quotes " and \\ and \x7f, 🗼 and\ttabs'
    path = corpus.settings.data_dir / "citewell.toml"
    written = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    path.write_text(f"model = {written}\n", "utf-8")
    corpus.corpus.backup(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        assert tomllib.loads(archive.read("citewell.toml").decode("utf-8")) == {"model": value}


@pytest.mark.attack("X3")
def test_a_backup_is_for_its_owner_alone_and_leaves_nothing_beside_it(corpus: Citewell, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    corpus.corpus.backup(tmp_path / "out" / "all.zip")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["all.zip"]
    assert stat.S_IMODE((tmp_path / "out" / "all.zip").stat().st_mode) == 0o600


def test_a_backup_replaces_nothing_unless_it_is_told_to(corpus: Citewell, tmp_path: Path) -> None:
    target = tmp_path / "all.zip"
    target.write_text("mine")
    with pytest.raises(BadInput, match="there already"):
        corpus.corpus.backup(target)
    assert target.read_text() == "mine"
    report = corpus.corpus.backup(target, force=True)
    assert (report.bytes, zipfile.is_zipfile(target)) == (target.stat().st_size, True)


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [(".", BadInput, "is a folder"), ("no/such/folder/all.zip", NotFound, "no folder")],
)
def test_a_target_that_cannot_be_written_is_refused(
    corpus: Citewell, tmp_path: Path, name: str, error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        corpus.corpus.backup(tmp_path / name)


def test_there_must_be_something_to_back_up(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="nothing to back up"):
        fresh(tmp_path / "none").corpus.backup(tmp_path / "all.zip")
    assert not (tmp_path / "all.zip").exists()


def test_a_damaged_trace_is_left_out_and_named(corpus: Citewell, run: RunResult, tmp_path: Path) -> None:
    folder = corpus.settings.data_dir / "research-runs" / run.run_id
    os.chmod(folder / "run.md", 0o600)
    (folder / "run.md").write_text("forged", "utf-8")
    report = corpus.corpus.backup(tmp_path / "all.zip")
    assert (report.traces, [problem.path for problem in report.left_out]) == (0, [f"research-runs/{run.run_id}"])
    assert report.runs == 1


def test_a_damaged_database_is_refused_and_nothing_is_left(corpus: Citewell, tmp_path: Path) -> None:
    path = sqlite_corpus(corpus).database.path
    corpus.close()
    content = bytearray(path.read_bytes())
    content[8192:20480] = b"\xff" * 12288
    path.write_bytes(content)
    (tmp_path / "out").mkdir()
    with pytest.raises(StoreUnusable, match="damaged"):
        corpus.corpus.backup(tmp_path / "out" / "all.zip")
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_with_a_corpus_is_refused_and_with_force_kept_aside(corpus: Citewell, tmp_path: Path) -> None:
    made = corpus.corpus.backup(tmp_path / "all.zip")
    corpus.corpus.remove("note:vault/lamp")
    with pytest.raises(BadInput, match="already holds"):
        corpus.corpus.restore(tmp_path / "all.zip")
    assert corpus.corpus.status().documents == 1
    report = corpus.corpus.restore(tmp_path / "all.zip", force=True)
    assert (corpus.corpus.status().documents, report.created_at) == (2, made.created_at)
    assert report.kept_aside is not None
    assert ".before-restore-20260101T" in report.kept_aside
    before = fresh(Path(report.kept_aside))
    assert before.corpus.status().documents == 1
    before.close()
    again = corpus.corpus.restore(tmp_path / "all.zip", force=True)
    assert again.kept_aside not in (None, report.kept_aside)
    assert hidden(tmp_path) == []


def hidden(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.name.startswith(".") and path.name != ".complete"]


def test_settings_that_are_there_stay_when_nothing_was_to_be_replaced(
    corpus: Citewell, run: RunResult, tmp_path: Path
) -> None:
    corpus.corpus.backup(tmp_path / "all.zip")
    other = fresh(tmp_path / "other")
    other.settings.data_dir.mkdir()
    (other.settings.data_dir / "citewell.toml").write_text('model_api_key = "sk-new"\n', "utf-8")
    report = other.corpus.restore(tmp_path / "all.zip")
    kept = other.settings.data_dir / "citewell.toml"
    assert (report.settings, kept.read_text("utf-8")) == ("kept", 'model_api_key = "sk-new"\n')
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert other.corpus.status().documents == 2
    assert other.corpus.restore(tmp_path / "all.zip", force=True).settings == "restored"
    other.close()


def test_an_archive_says_what_it_holds(corpus: Citewell, run: RunResult, tmp_path: Path) -> None:
    report: BackupReport = corpus.corpus.backup(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as archive:
        manifest = json.loads(archive.read("manifest.json"))
        names = set(archive.namelist())
    assert (manifest["format"], manifest["created_at"]) == ("citewell-backup.v1", report.created_at)
    assert manifest["schemas"].keys() == {"corpus", "runs"}
    assert {member["name"] for member in manifest["members"]} == names - {"manifest.json"}


def test_adding_goes_on_where_the_backup_was_made(corpus: Citewell, vault: Write, tmp_path: Path) -> None:
    """A restored corpus is a corpus: unchanged files are unchanged, new ones are added."""
    corpus.corpus.backup(tmp_path / "all.zip")
    other = fresh(tmp_path / "other")
    other.corpus.restore(tmp_path / "all.zip")
    report = add(other, vault({"New.md": "# New\n\nA new note.\n"}))
    assert (report.indexed, report.unchanged) == (1, 2)
    other.close()
