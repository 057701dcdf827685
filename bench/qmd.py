"""qmd, the peer for ingest and for a search from a cold shell: keyword search only, no model, files where it is told.

It is installed from the npm registry by the committed lock file (bench/peers) into an ignored folder, with a Node of
its own. Without npm or a network there is no qmd, and that is said.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from processes import Usage, run_measured

HERE = Path(__file__).resolve().parent
LOCKED = HERE / "peers"
INSTALLED = HERE / ".peers"


@dataclass(frozen=True, slots=True)
class Qmd:
    """qmd over an index in a folder."""

    folder: Path

    def add(self, notes: Path) -> Usage:
        return self._run("collection", "add", str(notes), "--name", "pages")

    def update(self) -> Usage:
        return self._run("update")

    def search(self, question: str, limit: int) -> tuple[Usage, int]:
        """One search from a cold shell, and how many documents it found."""
        usage = self._run("search", question, "--json", "-n", str(limit))
        found = usage.output[usage.output.find("[") :]
        return usage, len(json.loads(found)) if found.startswith("[") and "{" in found else 0

    def _run(self, *arguments: str) -> Usage:
        # Its own Node first: the launcher takes the first one it finds.
        node = INSTALLED / "node_modules" / "node" / "bin"
        environment = {
            "PATH": f"{node}{os.pathsep}{os.environ['PATH']}",
            "INDEX_PATH": str(self.folder / "index.sqlite"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "QMD_CONFIG_DIR": str(self.folder / "config"),
            "NO_COLOR": "1",
        }
        return run_measured([INSTALLED / "node_modules" / ".bin" / "qmd", *arguments], environment)


def install_qmd() -> str | None:
    """Install what the lock file names, once; the reason why not, if so."""
    program = INSTALLED / "node_modules" / ".bin" / "qmd"
    lock = (LOCKED / "package-lock.json").read_bytes()
    stamp = INSTALLED / "package-lock.json"
    if program.exists() and stamp.exists() and stamp.read_bytes() == lock:
        return None
    if shutil.which("npm") is None:
        return "npm is not installed, so qmd was not measured."
    INSTALLED.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(LOCKED / name, INSTALLED / name)
    done = subprocess.run(
        ["npm", "ci", "--prefix", str(INSTALLED), "--no-audit", "--no-fund"], capture_output=True, text=True
    )
    if done.returncode or not program.exists():
        stamp.unlink(missing_ok=True)
        return f"qmd could not be installed, so it was not measured: {done.stderr.strip()[-400:]}"
    return None
