"""What must always hold of the project itself."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_path_of_the_where_is_table_exists() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("## Where is…?")[1]
    paths = re.findall(r"`([\w./-]+)`", table)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_map_of_the_house_stays_short() -> None:
    assert (ROOT / "ARCHITECTURE.md").stat().st_size <= 12_000


def test_no_class_has_the_name_of_another_and_few_files_do() -> None:
    """A name is one thing: what is called twice cannot be found from a listing."""
    classes: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in (ROOT / "src").rglob("*.py"):
        if "sample_corpus" in path.parts:
            continue
        files[path.name] += path.name != "__init__.py"
        classes.update(
            node.name for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ClassDef)
        )
    assert [name for name, count in classes.items() if count > 1] == []
    assert len([name for name, count in files.items() if count > 1]) <= 10


def test_every_package_and_module_opens_with_its_contract() -> None:
    modules = [path for path in (ROOT / "src").rglob("*.py") if "sample_corpus" not in path.parts]
    assert [path.name for path in modules if not path.read_text("utf-8").startswith('"""')] == []


def test_the_locks_of_npm_name_every_package_of_every_platform_and_no_addresses() -> None:
    """A lock that was written where some could not be had is refused by `npm ci` on a new machine."""
    for lock in (ROOT / "ui/package-lock.json", ROOT / "tests/surfaces/mcp/node/package-lock.json"):
        packages = json.loads(lock.read_text("utf-8"))["packages"]
        asked = {name for package in packages.values() for name in package.get("optionalDependencies", {})}
        assert {name for name in asked if not any(key.endswith(f"node_modules/{name}") for key in packages)} == set(), (
            lock
        )
        assert not any("resolved" in package for package in packages.values()), lock


def test_the_locks_hold_hashes_and_no_addresses() -> None:
    for lock in (ROOT / "requirements").glob("*.lock"):
        text = lock.read_text("utf-8")
        assert "://" not in text
        pinned = [line for line in text.splitlines() if re.match(r"[a-z0-9]", line)]
        assert pinned
        assert all("==" in line and line.endswith("\\") for line in pinned), lock


def test_what_the_program_needs_is_what_make_demo_installs() -> None:
    """A configured model works right after it: its clients are no further install."""
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    names = {re.split(r"[<>=]", requirement)[0].lower().replace("_", "-") for requirement in needed}
    assert {"openai", "anthropic", "genai-prices"} <= names
    for lock in ("runtime.lock", "dev.lock"):
        locked = set(re.findall(r"^([a-z0-9.-]+)==", (ROOT / "requirements" / lock).read_text("utf-8"), re.MULTILINE))
        assert names - locked == set(), lock


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]
    dead = [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))
        if not (page.parent / target).exists()
    ]
    assert dead == []


def test_every_page_of_the_docs_has_its_place_in_the_site_or_is_left_out_by_name() -> None:
    """And every place has its page: without the packages of `make site` nothing else would say so."""
    docs = ROOT / "docs"
    placed = set(re.findall(r"[ /]([\w-][\w./-]*\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    assert placed == {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}


@pytest.mark.slow
def test_the_wheel_holds_everything_the_program_needs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    tracked = {
        f"citewell/{path.relative_to(ROOT / 'src' / 'citewell').as_posix()}"
        for path in (ROOT / "src" / "citewell").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert tracked - names == set()
