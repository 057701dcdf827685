"""A note is replaced whole or not at all, whatever fails on the way, and what was there before can be had back."""

from __future__ import annotations

import errno
import os
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell import BadInput, CitewellError, Conflict, NotFound, WorkFailed
from citewell.notes.file import BACKUPS_KEPT, Disk, NotePlace, NoteRewriter, read_note
from citewell.wiring import SystemClock

HERE = Path(__file__).parent
OLD = "# Halvard\n\nShe sailed in 1893.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "ships").mkdir(parents=True)
    (folder / "ships" / "halvard.md").write_text(OLD, "utf-8")
    return folder


@pytest.fixture
def place(vault: Path) -> NotePlace:
    return NotePlace(str(vault), "ships/halvard.md")


@pytest.fixture
def rewriter(tmp_path: Path) -> NoteRewriter:
    return NoteRewriter(tmp_path / "data", SystemClock())


def add(line: str) -> Callable[[str], str]:
    return lambda text: f"{text}{line}\n"


def names_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_rewritten_note_has_a_backup_outside_of_the_vault(
    rewriter: NoteRewriter, place: NotePlace, vault: Path
) -> None:
    result = rewriter.rewrite(place, add("new"))
    assert Path(place.whole).read_text("utf-8") == OLD + "new\n"
    assert result.backup is not None
    assert Path(result.backup).read_text("utf-8") == OLD
    assert not Path(result.backup).is_relative_to(vault)
    assert stat.S_IMODE(os.stat(result.backup).st_mode) == 0o600
    assert names_in(vault) == ["ships", "ships/halvard.md"]


def test_nothing_is_touched_where_nothing_changes(rewriter: NoteRewriter, place: NotePlace) -> None:
    before = os.stat(place.whole)
    assert rewriter.rewrite(place, lambda text: text).backup is None
    after = os.stat(place.whole)
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_undo_goes_back_step_by_step(rewriter: NoteRewriter, place: NotePlace) -> None:
    rewriter.rewrite(place, add("one"))
    rewriter.rewrite(place, add("two"))
    assert rewriter.undo(place).after == OLD + "one\n"
    assert rewriter.undo(place).after == OLD
    assert Path(place.whole).read_text("utf-8") == OLD
    with pytest.raises(Conflict):
        rewriter.undo(place)


def test_undo_never_goes_over_an_edit_of_the_users(rewriter: NoteRewriter, place: NotePlace) -> None:
    rewriter.rewrite(place, add("one"))
    edited = OLD + "one\nmine\n"
    Path(place.whole).write_text(edited, "utf-8")
    with pytest.raises(Conflict):
        rewriter.undo(place)
    assert Path(place.whole).read_text("utf-8") == edited


def test_a_note_nothing_was_written_into_has_nothing_to_undo(rewriter: NoteRewriter, place: NotePlace) -> None:
    with pytest.raises(NotFound):
        rewriter.undo(place)


def test_the_latest_backups_are_kept(tmp_path: Path, rewriter: NoteRewriter, place: NotePlace) -> None:
    for number in range(BACKUPS_KEPT + 5):
        rewriter.rewrite(place, add(str(number)))
    (folder,) = (tmp_path / "data" / "note-backups").iterdir()
    kept = sorted(folder.iterdir())
    assert len(kept) == BACKUPS_KEPT
    assert kept[-1].read_text("utf-8").endswith(f"{BACKUPS_KEPT + 3}\n")


@pytest.mark.attack("V14")
def test_a_backup_whose_name_is_taken_gets_another(tmp_path: Path, place: NotePlace) -> None:
    class StoppedClock(SystemClock):
        def now(self) -> str:
            return "2026-11-16T12:00:00.000Z"

    rewriter = NoteRewriter(tmp_path / "data", StoppedClock())
    first = rewriter.rewrite(place, add("one"))
    rewriter.undo(place)
    second = rewriter.rewrite(place, add("one"))
    assert first.backup != second.backup
    assert Path(str(first.backup)).read_text("utf-8") == Path(str(second.backup)).read_text("utf-8") == OLD


@pytest.mark.attack("V3")
def test_only_files_with_the_name_of_a_backup_are_backups(
    tmp_path: Path, rewriter: NoteRewriter, place: NotePlace
) -> None:
    """Whatever else lies beside them is neither given back nor put away."""
    rewriter.rewrite(place, add("one"))
    (folder,) = (tmp_path / "data" / "note-backups").iterdir()
    strangers = ["zzz.md", "99991231T000000000Z-000-x-y.md", "20990101T000000000Z-000-0000000000000000-..%2f.md"]
    for name in strangers:
        (folder / name).write_text("not ours\n", "utf-8")
    assert rewriter.undo(place).after == OLD
    for number in range(BACKUPS_KEPT + 2):
        rewriter.rewrite(place, add(str(number)))
    assert [name for name in strangers if not (folder / name).exists()] == []


@pytest.mark.attack("V11")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_stays(rewriter: NoteRewriter, place: NotePlace, mode: int) -> None:
    os.chmod(place.whole, mode)
    rewriter.rewrite(place, add("new"))
    assert stat.S_IMODE(os.stat(place.whole).st_mode) == mode


@pytest.mark.attack("V11")
def test_attributes_and_the_access_control_list_stay(rewriter: NoteRewriter, place: NotePlace, vault: Path) -> None:
    if not hasattr(os, "setxattr"):
        pytest.skip("this system has no extended attributes in Python")
    os.chmod(place.whole, 0o640)
    kept = {"user.colour": b"red", "system.posix_acl_access": _acl(reader=12_345)}
    try:
        for name, value in kept.items():
            os.setxattr(place.whole, name, value)
        # What a new file in this folder would get by itself.
        os.setxattr(vault / "ships", "system.posix_acl_default", _acl(reader=54_321))
    except OSError as error:
        if error.errno != errno.ENOTSUP:
            raise
        pytest.skip("this file system has no extended attributes")
    mode = os.stat(place.whole).st_mode

    def attributes() -> dict[str, bytes]:
        return {name: os.getxattr(place.whole, name) for name in os.listxattr(place.whole) if name[:9] != "security."}

    rewriter.rewrite(place, add("new"))
    assert (attributes(), os.stat(place.whole).st_mode) == (kept, mode)
    rewriter.undo(place)
    assert (attributes(), os.stat(place.whole).st_mode) == (kept, mode)
    os.removexattr(place.whole, "system.posix_acl_access")
    rewriter.rewrite(place, add("without a list"))
    assert attributes() == {"user.colour": b"red"}


def _acl(reader: int) -> bytes:
    """A list by which this user may read too, as the kernel has it: version, then tag, permissions and id of each."""
    nobody = 0xFFFFFFFF
    entries = ((1, 6, nobody), (2, 4, reader), (4, 4, nobody), (16, 4, nobody), (32, 0, nobody))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.mark.parametrize(
    "name", [f"{'a' * 252}.md", f"{'船' * 84}.md", f"{'🛳' * 63}.md"], ids=["one byte", "three bytes", "four bytes"]
)
def test_a_note_whose_name_is_as_long_as_a_name_can_be_is_written(
    rewriter: NoteRewriter, vault: Path, name: str
) -> None:
    (vault / name).write_text(OLD, "utf-8")
    place = NotePlace(str(vault), name)
    rewriter.rewrite(place, add("new"))
    assert (vault / name).read_text("utf-8") == OLD + "new\n"
    rewriter.undo(place)
    assert (vault / name).read_text("utf-8") == OLD
    assert names_in(vault) == sorted([name, "ships", "ships/halvard.md"])


@pytest.mark.attack("V10")
def test_a_read_only_note_is_refused(rewriter: NoteRewriter, place: NotePlace) -> None:
    os.chmod(place.whole, 0o444)
    with pytest.raises(BadInput, match="read-only"):
        rewriter.rewrite(place, add("new"))
    assert Path(place.whole).read_text("utf-8") == OLD


@pytest.mark.attack("V1")
@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "ships/../../outside.md",
        "./ships/halvard.md",
        "/etc/x.md",
        "ships//halvard.md",
        "a\0.md",
        "",
        "..",
        "ships/halvard.md/",
    ],
)
def test_a_path_that_is_none_below_the_folder_is_refused(rewriter: NoteRewriter, vault: Path, path: str) -> None:
    (vault.parent / "outside.md").write_text("outside", "utf-8")
    with pytest.raises(BadInput):
        rewriter.rewrite(NotePlace(str(vault), path), add("new"))
    assert (vault.parent / "outside.md").read_text("utf-8") == "outside"


@pytest.mark.attack("V2")
def test_links_pipes_and_second_names_are_refused(rewriter: NoteRewriter, vault: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("outside", "utf-8")
    (vault / "link.md").symlink_to(outside)
    (vault / "inner.md").symlink_to(vault / "ships" / "halvard.md")
    (vault / "folder").symlink_to(tmp_path)
    os.link(outside, vault / "second.md")
    os.mkfifo(vault / "pipe.md")
    (vault / "directory.md").mkdir()
    for path in ("link.md", "inner.md", "folder/outside.md", "second.md", "pipe.md", "directory.md"):
        with pytest.raises(BadInput):
            rewriter.rewrite(NotePlace(str(vault), path), add("new"))
    assert outside.read_text("utf-8") == "outside"


@pytest.mark.attack("V2")
def test_a_device_or_a_socket_is_refused_and_nobody_waits(rewriter: NoteRewriter, vault: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(vault / "socket.md"))
        with pytest.raises(BadInput):
            rewriter.rewrite(NotePlace(str(vault), "socket.md"), add("new"))
    try:
        os.mknod(vault / "device.md", stat.S_IFCHR | 0o600, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("only root makes devices")
    with pytest.raises(BadInput):
        rewriter.rewrite(NotePlace(str(vault), "device.md"), add("new"))


@pytest.mark.attack("V2")
@pytest.mark.parametrize("swap", ["link", "folder", "hard"])
def test_a_link_that_takes_the_notes_place_meanwhile_leads_nowhere(
    rewriter: NoteRewriter, place: NotePlace, vault: Path, tmp_path: Path, swap: str
) -> None:
    outside = tmp_path / "elsewhere" / "halvard.md"
    outside.parent.mkdir()
    outside.write_text(OLD, "utf-8")

    def change(text: str) -> str:
        if swap == "folder":
            (vault / "ships").rename(vault / "moved")
            (vault / "ships").symlink_to(outside.parent)
        else:
            os.unlink(place.whole)
            (os.symlink if swap == "link" else os.link)(outside, place.whole)
        return text + "new\n"

    with pytest.raises(CitewellError):
        rewriter.rewrite(place, change)
    assert outside.read_text("utf-8") == OLD
    assert not [name for name in names_in(tmp_path) if name.endswith(".tmp")]


@pytest.mark.attack("V12")
@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"caf\xe9", "UTF-8"), (b"\xff\xfea\0", "UTF-8"), (b"a\0b", "NUL"), (b"a" * 50_000_000, "larger")],
)
def test_what_is_no_note_is_refused(vault: Path, content: bytes, problem: str) -> None:
    (vault / "odd.md").write_bytes(content)
    with pytest.raises(BadInput, match=problem):
        read_note(NotePlace(str(vault), "odd.md"))


@pytest.mark.attack("V12")
def test_a_missing_note_is_not_found(vault: Path) -> None:
    with pytest.raises(NotFound):
        read_note(NotePlace(str(vault), "missing.md"))
    with pytest.raises(BadInput, match="no note"):
        read_note(NotePlace(str(vault), "picture.png"))


class LosingDisk(Disk):
    """Somebody else saves the note while ours is being written."""

    def __init__(self, note: Path) -> None:
        self._note = note

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        self._note.write_text("saved by an editor\n", "utf-8")


@pytest.mark.attack("V7")
def test_a_note_changed_between_reading_and_writing_keeps_both_texts(
    tmp_path: Path, place: NotePlace, vault: Path
) -> None:
    rewriter = NoteRewriter(tmp_path / "data", SystemClock(), LosingDisk(Path(place.whole)))
    with pytest.raises(Conflict) as refused:
        rewriter.rewrite(place, add("new"))
    assert Path(place.whole).read_text("utf-8") == "saved by an editor\n"
    texts = [path.read_text("utf-8") for path in (tmp_path / "data" / "note-backups").rglob("*.md")]
    assert sorted(texts) == sorted([OLD, OLD + "new\n"])
    assert "What would have been written is in" in refused.value.fix
    assert names_in(vault) == ["ships", "ships/halvard.md"]


STEPS = ("create", "create_unnamed", "name", "write", "fsync", "replace")


class FailingDisk(Disk):
    """The n-th step fails with this error; `write` leaves half of it behind first."""

    def __init__(self, step: int, code: int, *, unnamed: bool) -> None:
        self.left = step
        self._code = code
        self._unnamed = unnamed

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in STEPS:
            return method

        def step(*values: Any) -> Any:
            if name == "create_unnamed" and not self._unnamed:
                return None
            self.left -= 1
            if self.left == 0:
                if name == "write":
                    os.write(values[0], values[1][: len(values[1]) // 2])
                raise OSError(self._code, os.strerror(self._code))
            return method(*values)

        return step


@pytest.mark.attack("V9")
@pytest.mark.attack("V10")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO, errno.EFBIG, errno.EROFS])
@pytest.mark.parametrize("unnamed", [True, False])
def test_an_error_at_any_step_leaves_the_old_note_or_the_new_one(
    tmp_path: Path, place: NotePlace, vault: Path, code: int, unnamed: bool
) -> None:
    failures = 0
    for step in range(1, 50):
        Path(place.whole).write_text(OLD, "utf-8")
        disk = FailingDisk(step, code, unnamed=unnamed)
        try:
            NoteRewriter(tmp_path / "data", SystemClock(), disk).rewrite(place, add("new"))
            after = OLD + "new\n"
        except WorkFailed:
            failures += 1
            after = OLD
        assert Path(place.whole).read_text("utf-8") == after
        assert names_in(vault) == ["ships", "ships/halvard.md"]
        if disk.left > 0:
            break
    # The backup, the new file beside the note, and the renaming.
    assert failures >= 7
    assert NoteRewriter(tmp_path / "data", SystemClock()).rewrite(place, add("more")).changed


@pytest.mark.slow
@pytest.mark.attack("V9")
@pytest.mark.parametrize("temporary", ["unnamed", "named"])
@pytest.mark.parametrize("moment", ["before", "within", "after"])
def test_kill_9_at_any_step_leaves_the_old_note_or_the_new_one(
    tmp_path: Path, place: NotePlace, vault: Path, rewriter: NoteRewriter, moment: str, temporary: str
) -> None:
    killed, whole = 0, OLD + "new\n" * 10_000
    for step in range(1, 50):
        Path(place.whole).write_text(OLD, "utf-8")
        script = HERE / "killed_writer.py"
        arguments = [str(tmp_path / "data"), place.root, place.path, str(step), moment, temporary]
        ended = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, timeout=60, check=False)
        assert ended.returncode in (0, -9), ended.stderr.decode()
        assert Path(place.whole).read_text("utf-8") in (OLD, whole)
        killed += ended.returncode == -9
        # The next call of anybody, for any note, clears what was left.
        rewriter.sweep()
        assert names_in(vault) == ["ships", "ships/halvard.md"]
        if ended.returncode == 0 and moment != "within":
            break
        if step > 12:
            break
    assert killed >= (2 if moment == "within" else 7)


@pytest.mark.slow
@pytest.mark.attack("V8")
def test_twenty_processes_at_once_lose_nothing(tmp_path: Path, place: NotePlace, vault: Path) -> None:
    script = HERE / "adding_writer.py"
    lines = [f"line {number}" for number in range(20)]
    started = [
        subprocess.Popen([sys.executable, str(script), str(tmp_path / "data"), place.root, place.path, line])
        for line in lines
    ]
    assert [process.wait(timeout=120) for process in started] == [0] * 20
    text = Path(place.whole).read_text("utf-8")
    assert text.startswith(OLD)
    assert sorted(text.removeprefix(OLD).splitlines()) == sorted(lines)
    assert names_in(vault) == ["ships", "ships/halvard.md"]
