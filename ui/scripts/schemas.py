"""Writes what the page's types are made from: the API as OpenAPI, and the events of a run's log as JSON Schema."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from citewell.api.app import OPERATIONS
from citewell.api.openapi import openapi_document
from citewell.schemas import run_event_schema


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "openapi.json").write_text(json.dumps(openapi_document(OPERATIONS)), "utf-8")
    (folder / "run_event.json").write_text(json.dumps(run_event_schema()), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
