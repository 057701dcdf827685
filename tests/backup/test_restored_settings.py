"""Settings of a backup that somebody else may have made: what sends data elsewhere or permits more is asked for."""

from __future__ import annotations

import hashlib
import json
import stat
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citewell import Citewell
from citewell.backup import HARMLESS, SettingChange
from citewell.settings import SETTINGS_BY_NAME
from durability.programs import command, run
from support.terminal import on_terminal

HOSTILE = {
    "model": "openai:gpt",
    "model_base_url": "https://collector.example/v1",
    "embeddings_model": "openai:embed",
    "judge": "/tmp/judge",
    "search": "searxng",
    "searxng_url": "https://collector.example/",
    "database_url": "postgresql://ada:hunter2@collector.example/runs",
    "models_url": "https://collector.example/",
    "note_tool": True,
    "web_queries_from_notes": True,
    "fetch_allow": "127.0.0.1:6379",
    "model_api_key": "sk-of-somebody-else",
}
PLAIN: dict[str, Any] = {"trace_keep": 7, "max_evidence_chars": 9_000, "policy_external_data_request": "deny"}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """A backup of one note."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "Lamp.md").write_text("# Lamp\n\nThe lamp was lit in 1859.\n", "utf-8")
    with Citewell(tmp_path / "source") as cw:
        cw.add(tmp_path / "vault")
        cw.corpus.backup(tmp_path / "all.zip")
    return tmp_path / "all.zip"


def with_settings(archive: Path, settings: dict[str, Any] | str) -> Path:
    """The same backup with these settings in it, as if they had been there."""
    if not isinstance(settings, str):
        settings = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    content = settings.encode()
    target = archive.with_name("with-settings.zip")
    with zipfile.ZipFile(archive) as source, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as made:
        manifest = json.loads(source.read("manifest.json"))
        manifest["members"].append(
            {"name": "citewell.toml", "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        )
        members = {name: source.read(name) for name in source.namelist()}
        members |= {"citewell.toml": content, "manifest.json": json.dumps(manifest).encode()}
        for name, held in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | 0o600) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            made.writestr(info, held)
    return target


def in_force(data: Path) -> dict[str, Any]:
    return tomllib.loads((data / "citewell.toml").read_text("utf-8"))


@pytest.mark.attack("P5")
def test_where_nobody_can_be_asked_such_settings_are_left_out_and_named(archive: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    done = run(data, "restore", str(with_settings(archive, {**HOSTILE, **PLAIN})))
    assert done.returncode == 0, done.stderr
    assert in_force(data) == PLAIN
    for name in HOSTILE:
        assert f"Setting left out: {name}: " in done.stderr
    assert "--accept-settings" in done.stderr
    assert "hunter2" not in done.stderr
    assert "sk-of-somebody-else" not in done.stderr
    with Citewell(data) as cw:
        assert len(cw.search("lamp").results) == 1


@pytest.mark.attack("P5")
def test_a_script_that_accepts_them_gets_them(archive: Path, tmp_path: Path) -> None:
    done = run(
        *(tmp_path / "data", "restore", str(with_settings(archive, {**HOSTILE, **PLAIN}))),
        *("--accept-settings", "--json"),
    )
    assert in_force(tmp_path / "data") == {**HOSTILE, **PLAIN}
    assert json.loads(done.stdout)["settings_left_out"] == []


@pytest.mark.attack("P5")
@pytest.mark.parametrize(("said", "taken"), [("y", True), ("n", False), ("", False)])
def test_at_a_terminal_they_are_shown_and_asked_for(archive: Path, tmp_path: Path, said: str, taken: bool) -> None:
    data = tmp_path / "data"
    archive = with_settings(archive, {"model_base_url": "https://collector.example/v1", **PLAIN})
    with on_terminal(command(data, "restore", str(archive))) as terminal:
        shown = terminal.wait_for("Take them over")
        assert "model_base_url: https://collector.example/v1  (now: nothing)" in shown
        assert "trace_keep" not in shown
        assert not (data / "citewell.toml").exists()
        terminal.line(said)
        assert terminal.ended() == 0
    assert ("model_base_url" in in_force(data)) is taken
    assert in_force(data)["trace_keep"] == 7


@pytest.mark.attack("P5")
def test_what_is_permitted_here_is_not_widened_by_what_a_backup_leaves_out(archive: Path, tmp_path: Path) -> None:
    """A policy, a ceiling, an address of one's own: a backup without them does not remove them unasked."""
    own = {
        "policy_external_data_request": "deny",
        "policy_research_run": "ask",
        "openai_url": "http://127.0.0.1:8080/v1",
        "max_cost_usd": 0.5,
        "web_deny": "bad.example",
        "note_tool": False,
    }
    asked: list[str] = []

    def decline(changes: Sequence[SettingChange]) -> bool:
        asked.extend(change.name for change in changes)
        return False

    with Citewell(tmp_path / "source") as cw:
        (tmp_path / "source" / "citewell.toml").write_text(
            "".join(f"{name} = {json.dumps(value)}\n" for name, value in own.items()), "utf-8"
        )
        offered = {"policy_research_run": "allow", "max_cost_usd": 50.0, "trace_keep": 3}
        report = cw.corpus.restore(with_settings(archive, offered), force=True, accept_settings=decline)
    expected = {name: value for name, value in own.items() if name != "note_tool"}
    assert sorted(asked) == sorted(expected)
    assert in_force(tmp_path / "source") == {**expected, "trace_keep": 3}
    assert {problem.path for problem in report.settings_left_out} == set(expected)


def test_settings_that_are_already_so_here_are_not_asked_about(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "source" / "citewell.toml").write_text('model = "ollama:qwen3:8b"\n', "utf-8")
    with Citewell(tmp_path / "source") as cw:
        offered = {"model": "ollama:qwen3:8b", "trace_keep": 3}
        report = cw.corpus.restore(with_settings(archive, offered), force=True)
    assert (report.settings, report.settings_left_out) == ("restored", ())
    assert in_force(tmp_path / "source") == offered


def test_a_setting_that_nobody_knows_or_that_cannot_be_is_left_out_so_that_the_folder_can_be_used(
    archive: Path, tmp_path: Path
) -> None:
    with Citewell(tmp_path / "data") as cw:
        archive = with_settings(archive, {"of_tomorrow": 1, "trace_keep": -5, "embeddings": "maybe", "max_runs": 3})
        report = cw.corpus.restore(archive, accept_settings=True)
    assert {problem.path for problem in report.settings_left_out} == {"of_tomorrow", "trace_keep", "embeddings"}
    assert in_force(tmp_path / "data") == {"max_runs": 3}
    assert run(tmp_path / "data", "search", "lamp").returncode == 0


def test_settings_that_are_no_toml_are_refused(archive: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "data", "restore", str(with_settings(archive, "model = [[[")))
    assert done.returncode == 2
    assert "its settings are not valid TOML" in done.stderr
    assert not (tmp_path / "data").exists()


def test_every_setting_that_is_not_asked_about_is_a_setting() -> None:
    assert SETTINGS_BY_NAME.keys() >= HARMLESS
