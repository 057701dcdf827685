"""`citewell add --watch` follows a folder for real: what changes on disk is searchable without being asked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from citewell import Citewell, Settings


@pytest.mark.slow
def test_a_watched_folder_is_followed_until_ctrl_c(tmp_path: Path) -> None:
    """What appears is searchable, and encoded before the next change is told."""
    vault, data = tmp_path / "vault", tmp_path / "data"
    vault.mkdir()
    (vault / "a.md").write_text("The first kettle.", "utf-8")
    command = [sys.executable, "-m", "citewell", "--data-dir", str(data), "add", str(vault), "--watch"]
    env = {**os.environ, "CITEWELL_EMBEDDINGS": "on"}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, env=env)
    assert process.stderr is not None
    try:
        assert "1 new" in process.stderr.readline()
        (vault / "b.md").write_text("The second kettle.", "utf-8")
        assert "1 new" in next(line for line in process.stderr if " 0 new, 0 updated" not in line)
        (vault / "a.md").unlink()
        with Citewell(data) as cw:
            (collection,) = cw.corpus.collections().collections
        assert collection.watched == (str(vault),)
        listed = subprocess.run([*command[:5], "collections"], capture_output=True, text=True, check=True).stdout
        assert "watched" in listed.splitlines()[0]
        assert "yes" in listed
        assert "1 deleted" in next(line for line in process.stderr if "deleted" in line and "0 deleted" not in line)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    engine = Citewell(Settings(data_dir=data))
    assert [row.source_key for row in engine.search("kettle").results] == ["note:vault/b"]
    assert engine.store.vectors.coverage().encoded == 1
    engine.close()
