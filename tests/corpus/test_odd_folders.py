"""Folders as disks really have them: odd names, links, pipes, files that change or vanish, disks that are read-only."""

from __future__ import annotations

import os
import socket
import subprocess
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from citewell import AddReport, Citewell, SyncProgress
from citewell.ingest.sync import extract_file
from citewell.ingest.walk import WalkedFile

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]

NAMES = (
    "Skelday.md",
    "海藻ノート.md",
    "ملاحظات البحر.md",
    "הערות.md",
    "समुद्र.md",
    "สาหร่าย.md",
    "🌊 waves 👩‍👩‍👧‍👦.md",
    "e\u0301te\u0301 d\u00e9compose\u0301.md",
    "\u202edm.txt.md",
    "trailing dot..md",
    "trailing space .md",
    "new\nline.md",
    "tab\tand \"quotes\" and 'more'.md",
    "back\\slash.md",
    "--exclude.md",
    "100% #1 [draft] (x) {y}; $(id) `id` & | < > ?*.md",
    "x" * 252 + ".md",
    "界" * 84 + ".md",
    "CON.md",
)


def test_names_in_any_script_are_added_found_and_read_again_by_key(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault({name: f"Unmistakable words number{number}" for number, name in enumerate(NAMES)})
    report = add_path(root)
    assert (report.indexed, report.problems) == (len(NAMES), ())
    keys = set()
    for number, name in enumerate(NAMES):
        (row,) = engine.search(f"number{number}").results
        (document,) = engine.corpus.get(row.source_key, content_mode="full").documents
        assert (document.note_path, document.text) == (name, f"Unmistakable words number{number}")
        keys.add(row.source_key)
    assert len(keys) == len(NAMES)
    assert add_path(root).unchanged == len(NAMES)


def test_what_is_no_regular_file_is_neither_followed_nor_waited_for(
    vault: Write, add_path: AddPath, engine: Citewell, tmp_path: Path
) -> None:
    """V2: links in and out of the root, loops, a pipe nobody writes to, a socket."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text("A secret outside.", "utf-8")
    root = vault({"in/a.md": "Words inside."})
    (root / "out-folder").symlink_to(tmp_path / "outside")
    (root / "out-file.md").symlink_to(tmp_path / "outside/secret.md")
    (root / "climbing.md").symlink_to("../outside/secret.md")
    (root / "loop").symlink_to(root)
    (root / "in/self.md").symlink_to("self.md")
    (root / "dangling.md").symlink_to("nowhere.md")
    (root / "device.md").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(root)
        server.bind("socket.md")  # by a short name: the path of a socket may have 100 characters
        os.chdir(here)
        report = add_path(root)
    reasons = {problem.path: problem.reason.split(":")[0] for problem in report.problems}
    links = ("out-folder", "out-file.md", "climbing.md", "loop", "in/self.md", "dangling.md", "device.md")
    others = ("pipe.md", "socket.md")
    assert reasons == {**dict.fromkeys(links, "symbolic link"), **dict.fromkeys(others, "not a regular file")}
    assert (report.indexed, engine.search("secret").results) == (1, ())


@pytest.mark.parametrize("path", ["../outside.md", "a/../../outside.md", "sub/../../vault-2/x.md", "folder/x.md"])
def test_a_file_is_read_below_the_root_or_not_at_all(path: str, tmp_path: Path) -> None:
    """V1: also where a folder became a link after the walk."""
    root = tmp_path / "vault"
    root.mkdir()
    (tmp_path / "vault-2").mkdir()
    for outside in ("outside.md", "vault-2/x.md"):
        (tmp_path / outside).write_text("Outside.", "utf-8")
    (root / "folder").symlink_to(tmp_path / "vault-2")
    extracted = extract_file(root, WalkedFile(path, 8, 1), None, None)
    assert (extracted.status in ("skipped", "failed"), extracted.documents) == (True, ())


def test_files_that_vanish_or_change_between_walk_and_read_cost_themselves_only(vault: Write, engine: Citewell) -> None:
    root = vault({f"{number:02d}.md": f"Words of note {number}." for number in range(5)})
    events = engine.corpus.sync(root)
    assert isinstance(next(events), SyncProgress)  # the walk is done, nothing is read yet
    (root / "01.md").unlink()
    (root / "02.md").write_text("Quite other words, and more of them.", "utf-8")
    (root / "03.md").unlink()
    (root / "03.md").mkdir()
    *_, report = events
    assert isinstance(report, AddReport)
    assert {problem.path for problem in report.problems} == {"01.md", "03.md"}
    assert engine.search("quite other").results[0].note_path == "02.md"
    *_, again = engine.corpus.sync(root)
    assert isinstance(again, AddReport)
    assert (again.failed, again.unchanged, again.deleted) == (0, 3, 2)


def mounted_read_only(root: Path) -> bool:
    mount = subprocess.run(["mount", "--bind", str(root), str(root)], capture_output=True)
    if mount.returncode != 0:
        return False
    subprocess.run(["mount", "-o", "remount,ro,bind", str(root)], capture_output=True, check=True)
    return True


@pytest.fixture
def read_only_vault(vault: Write) -> Iterator[Path]:
    """A vault nobody can write to: mounted so where the user may mount, else by its permissions."""
    root = vault({"sub/a.md": "Kelp on the slip. ![[b.pdf]]", "b.pdf": b"%PDF-1.4 broken"})
    is_mounted = mounted_read_only(root)
    if not is_mounted:
        for path in (root / "sub", root):
            path.chmod(0o555)
    yield root
    if is_mounted:
        subprocess.run(["umount", str(root)], check=True)
    else:
        for path in (root, root / "sub"):
            path.chmod(0o755)


def test_a_vault_on_a_read_only_disk_is_indexed_and_left_as_it_is(
    read_only_vault: Path, add_path: AddPath, engine: Citewell
) -> None:
    before = {path: path.stat() for path in read_only_vault.rglob("*")}
    report = add_path(read_only_vault)
    assert (report.indexed, report.failed) == (1, 1)
    assert engine.search("kelp").results[0].note_path == "sub/a.md"
    after = {path: path.stat() for path in read_only_vault.rglob("*")}
    assert {p: (s.st_mtime_ns, s.st_size, s.st_ino) for p, s in after.items()} == {
        p: (s.st_mtime_ns, s.st_size, s.st_ino) for p, s in before.items()
    }


def test_a_file_above_the_limit_is_left_out_with_the_limit_and_read_once_it_is_raised(
    vault: Write, add_path: AddPath, engine: Citewell
) -> None:
    root = vault({"long.txt": "Kelp drifts ashore.\n" * 60_000, "film.mp4": b"\0" * 1_200_000, "a.md": "Short."})
    engine.settings = replace(engine.settings, max_file_mb=1)
    reasons = {problem.path: problem.reason for problem in add_path(root).problems}
    assert reasons == {
        "long.txt": "larger than 1 MB (CITEWELL_MAX_FILE_MB sets the limit)",
        "film.mp4": "video (.mp4): this kind is not imported yet",
    }
    engine.settings = replace(engine.settings, max_file_mb=2)
    assert (add_path(root).indexed, engine.search("kelp ashore").results[0].note_path) == (1, "long.txt")


@pytest.mark.slow
def test_ten_thousand_files_in_one_folder_are_added_and_then_cost_next_to_nothing(
    tmp_path: Path, add_path: AddPath, engine: Citewell
) -> None:
    (tmp_path / "vault-0").mkdir()
    for number in range(10_000):
        (tmp_path / "vault-0" / f"note {number}.md").write_text(f"Note number{number}, see [[note {number - 1}]].")
    report = add_path(tmp_path / "vault-0")
    assert (report.indexed, report.documents) == (10_000, 10_000)
    assert engine.corpus.stats().resolved_links == 9_999
    again = add_path(tmp_path / "vault-0")
    assert (again.unchanged, again.bytes) == (10_000, 0)


def test_reading_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Small.", "utf-8")
    tracemalloc.start()
    extract_file(tmp_path, WalkedFile("a.md", 6, 1), None, None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000
