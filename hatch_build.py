"""Builds the embedding model into the wheel: the graph in 8 bits and its tokenizer, from the installed weights.

Without the weights (or what builds the graph) the wheel has no model: search is then by words, and `doctor` says so.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ModelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Writes `citewell/models/minilm_int8` before the files of a wheel are gathered."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, str(Path(self.root) / "src"))
        try:
            from citewell.domain.errors import CitewellError
            from citewell.models.minilm import has_bundled, write_bundle

            if not has_bundled():
                try:
                    write_bundle()
                except CitewellError as error:
                    self.app.display_warning(f"No model in this wheel: {error.message}")
        except ImportError as error:
            self.app.display_warning(f"No model in this wheel: {error}")
        finally:
            sys.path.pop(0)
