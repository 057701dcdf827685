"""Which folders are followed: seen by every process for as long as the one that follows lives, and not longer."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from citewell.ingest.watch import WATCHING, announced, watched_by_root, watched_paths

_FOLLOWING = """
import sys, time
from pathlib import Path
from citewell.ingest.watch import announced
with announced(Path(sys.argv[1]), Path(sys.argv[2])):
    print("there", flush=True)
    time.sleep(60)
"""


def test_a_path_is_followed_until_its_watch_ends(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    assert watched_paths(tmp_path) == ()
    with announced(tmp_path, vault), announced(tmp_path, vault), announced(tmp_path, tmp_path / "über 日本"):
        assert watched_paths(tmp_path) == (str(tmp_path / "vault"), str(tmp_path / "über 日本"))
        (kept, *_) = (tmp_path / WATCHING).iterdir()
        assert kept.stat().st_mode & 0o777 == 0o600
        assert (tmp_path / WATCHING).stat().st_mode & 0o777 == 0o700
    assert watched_paths(tmp_path) == ()
    assert list((tmp_path / WATCHING).iterdir()) == []


def test_a_process_that_is_killed_follows_nothing_and_its_file_is_swept(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _FOLLOWING, str(tmp_path), "/notes"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "there\n"
        assert watched_paths(tmp_path) == ("/notes",)
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        assert watched_paths(tmp_path) == ()
        assert len(list((tmp_path / WATCHING).iterdir())) == 1
        with announced(tmp_path, Path("/other")):
            assert watched_paths(tmp_path) == ("/other",)
            assert len(list((tmp_path / WATCHING).iterdir())) == 1
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_what_cannot_be_announced_is_followed_all_the_same(tmp_path: Path) -> None:
    (tmp_path / WATCHING).write_text("a file where the folder would be", "utf-8")
    with announced(tmp_path, tmp_path / "vault"):
        assert watched_paths(tmp_path) == ()


def test_links_and_other_files_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / WATCHING).mkdir()
    (tmp_path / "diary.md").write_text("mine", "utf-8")
    (tmp_path / WATCHING / ("a" * 16 + ".path")).symlink_to(tmp_path / "diary.md")
    (tmp_path / WATCHING / "notes.txt").write_text("mine too", "utf-8")
    with announced(tmp_path, tmp_path / "vault"):
        assert watched_paths(tmp_path) == (str(tmp_path / "vault"),)
    assert (tmp_path / "diary.md").read_text("utf-8") == "mine"
    assert (tmp_path / WATCHING / "notes.txt").exists()


def test_a_followed_path_belongs_to_the_nearest_root_above_it() -> None:
    roots = ["/notes", "/notes/job", "/not"]
    watched = watched_by_root(roots, ["/notes", "/notes/job/plans", "/nothing", "/notes/a.md"])
    assert watched == {"/notes": ("/notes", "/notes/a.md"), "/notes/job": ("/notes/job/plans",)}
