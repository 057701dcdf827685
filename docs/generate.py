"""Writes every part of the documentation that comes from code; with --check, says what is out of date instead.

Markdown files carry cog blocks: Python between `[[[cog` and `]]]` prints the lines that follow. The JSON Schemas in
docs/schemas and the skill for agents are written whole.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from cogapp import Cog

from citewell.mcp.guidance import skill
from citewell.schemas import SCHEMA_NAMES, json_schema
from citewell.settings import setting_fields

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "ARCHITECTURE.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")))


def schema_files() -> dict[Path, str]:
    """What docs/schemas holds."""
    folder = ROOT / "docs" / "schemas"
    return {folder / f"{name}.json": json.dumps(json_schema(name), indent=1) + "\n" for name in SCHEMA_NAMES}


def stale_skill(*, rewrite: bool) -> list[str]:
    """The skill, where it differs from the guidance that agents are given."""
    path = ROOT / "skills" / "citewell" / "SKILL.md"
    if path.exists() and path.read_text("utf-8") == skill():
        return []
    if rewrite:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(skill(), "utf-8")
    return [str(path.relative_to(ROOT))]


def example_settings() -> str:
    """`.env.example`: every setting with what it means, none of them set."""
    lines = [
        "# Settings of Citewell, all with their defaults: copy to .env, and take the mark off what you want to change.",
        "# `set -a; . ./.env; set +a` puts them into the environment of a shell. Keys belong in no repository.",
        "",
        "# where the corpus and the runs live",
        "#CITEWELL_DATA_DIR=",
    ]
    for entry in setting_fields():
        about = entry.metadata
        value = "" if about["secret"] or entry.default == "" else str(entry.default)
        shown = value.lower() if isinstance(entry.default, bool) else value
        unused = "" if about["used"] else " (not used yet)"
        lines += ["", f"# {about['doc']}{unused}", f"#{about['env']}={shown}"]
    return "\n".join(lines) + "\n"


def stale_pages(*, rewrite: bool) -> list[str]:
    """Pages whose generated parts differ from the code; rewritten where asked."""
    stale: list[str] = []
    for page in PAGES:
        path = ROOT / page
        before = path.read_text("utf-8")
        cog = Cog()
        cog.options.replace = True
        after = cog.process_string(before, page)
        if after != before:
            stale.append(page)
            if rewrite:
                path.write_text(after, "utf-8")
    return stale


def stale_schemas(*, rewrite: bool) -> list[str]:
    stale: list[str] = []
    wanted = {**schema_files(), ROOT / ".env.example": example_settings()}
    for path, text in wanted.items():
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(str(path.relative_to(ROOT)))
            if rewrite:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
    for extra in set((ROOT / "docs" / "schemas").glob("*.json")) - wanted.keys():
        stale.append(str(extra.relative_to(ROOT)))
        if rewrite:
            extra.unlink()
    return stale


def main() -> int:
    check = "--check" in sys.argv
    sys.path.insert(0, str(ROOT / "docs"))
    stale = stale_pages(rewrite=not check) + stale_schemas(rewrite=not check) + stale_skill(rewrite=not check)
    if not check:
        print(f"rewritten: {', '.join(stale) or 'nothing, all up to date'}")
        return 0
    if stale:
        print(f"Generated docs are out of date (run 'make docs'): {', '.join(stale)}")
        return 1
    print("generated docs are up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
