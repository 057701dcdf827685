"""Notes that hold something like a key are flagged by path and kind; the value is shown nowhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from citewell import AddReport, Citewell
from citewell.cli.main import run
from citewell.store.port import SecretFinding

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]

KEY = "ghp_0123456789abcdefghij0123456789abcd"
LONG = "Kelp drifts. " * 5_041  # a block of the store ends inside the key that follows


def test_documents_that_hold_a_secret_are_named_once_for_each_kind(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    files: dict[str, str | bytes] = {
        "Router.md": "Password: hunter2hunter2\nAgain: password = hunter2hunter3",
        "deep/Keys.md": f"{LONG}{KEY} and -----BEGIN RSA PRIVATE KEY-----",
        "Clean.md": "Ask Ann for the password.",
    }
    assert len(LONG) < 65_536 < len(LONG) + len(KEY)
    add_path(vault(files))
    assert engine.corpus.status(with_secrets=True).secrets == (
        SecretFinding("vault", "Router.md", "note:vault/router", "password"),
        SecretFinding("vault", "deep/Keys.md", "note:vault/deep/keys", "GitHub or GitLab token"),
        SecretFinding("vault", "deep/Keys.md", "note:vault/deep/keys", "private key"),
    )
    assert engine.corpus.status().secrets == ()


def test_the_doctor_and_the_report_name_the_note_and_never_the_value(
    vault: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = vault({"Keys.md": f"The token is {KEY}"})
    program = ["--data-dir", str(tmp_path / "data")]
    assert run([*program, "add", str(root)]) == 0
    for command in (["status", "--secrets"], ["status", "--secrets", "--json"], ["doctor"], ["doctor", "--json"]):
        capsys.readouterr()
        assert run([*program, *command]) == 0
        shown = capsys.readouterr().out
        assert ("Keys.md" in shown, "GitHub or GitLab token" in shown, KEY in shown) == (True, True, False)
