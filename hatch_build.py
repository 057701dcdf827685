"""Builds into the wheel what is not kept in the repository: the embedding model, and the web page.

Neither is needed to build a wheel. Without the weights (or what builds the graph) search is by words, and `doctor` says
so; without npm the server says how to build the page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SECONDS = 600


class CitewellBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes `models/minilm_int8` and `surfaces/web/static` before the files of a wheel are gathered."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        for missing in (_build_model(Path(self.root)), _build_page(Path(self.root))):
            if missing:
                self.app.display_warning(missing)


def _build_model(root: Path) -> str:
    """The graph in 8 bits and its tokenizer, from the installed weights; what is missing, where something is."""
    sys.path.insert(0, str(root / "src"))
    try:
        from citewell.errors import CitewellError
        from citewell.models.minilm import has_bundled, write_bundle

        if not has_bundled():
            try:
                write_bundle()
            except CitewellError as error:
                return f"No model in this wheel: {error.message}"
    except ImportError as error:
        return f"No model in this wheel: {error}"
    finally:
        sys.path.pop(0)
    return ""


def _build_page(root: Path) -> str:
    """The page, by npm; what is missing, where something is."""
    built, ui = root / "src/citewell/page/static/index.html", root / "ui"
    sources = [path for path in (*ui.glob("*"), *ui.glob("src/**/*")) if path.is_file()]
    if built.exists() and all(path.stat().st_mtime <= built.stat().st_mtime for path in sources):
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "No page in this wheel: npm is not installed." if not built.exists() else ""
    try:
        for command in (("ci", "--silent"), ("run", "--silent", "build")):
            subprocess.run([npm, *command], cwd=ui, check=True, capture_output=True, text=True, timeout=_SECONDS)
    except subprocess.CalledProcessError as error:
        return f"No page in this wheel: npm {' '.join(error.cmd[1:])} failed: {error.stderr.strip()[-300:]}"
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"No page in this wheel: {error}"
    return ""
