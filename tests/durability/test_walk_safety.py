"""A vault is untrusted: nothing in it makes `add` hang, crash, or read what lies outside."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from citewell import BadInput, Citewell, NotFound, SyncProgress, WorkFailed
from citewell.errors import Unreadable
from citewell.ingest.walk import read_bytes
from durability.programs import add, assert_sound, keys, opened, run, texts, write

pytestmark = pytest.mark.slow

SECRET = "# Secret\n\nThe xylophone of the neighbour.\n"
NOTE = "# Note\n\nKelp grows by the pier.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault with one note, and a secret beside it that no `add` of the vault may read."""
    write(tmp_path / "vault" / "note.md", NOTE)
    write(tmp_path / "outside" / "secret.md", SECRET)
    write(tmp_path / "vault-private" / "secret.md", SECRET)
    return tmp_path / "vault"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Citewell]:
    with opened(tmp_path / "data") as engine:
        yield engine


def statuses(engine: Citewell) -> dict[str, tuple[str, str]]:
    return {file.path: (file.status, file.reason) for file in engine.corpus.status().files}


@pytest.mark.attack("V2")
def test_links_pipes_sockets_and_devices_are_named_and_left_alone(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """V2: in a process with a deadline, because opening one of them would wait for ever."""
    links = {
        "to-note.md": "note.md",
        "to-secret.md": "../outside/secret.md",
        "to-folder": "../outside",
        "to-itself": "to-itself",
        "to-parent": "..",
        "to-nothing.md": "missing.md",
        "to-zero.md": "/dev/zero",
        "to-stdin.md": "/dev/stdin",
    }
    for name, target in links.items():
        (vault / name).symlink_to(target)
    os.mkfifo(vault / "pipe.md")
    monkeypatch.chdir(vault)  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket.md")
        ended = run(tmp_path / "data", "add", str(vault), "--json")
    report = json.loads(ended.stdout)
    reasons = {problem["path"]: problem["reason"] for problem in report["problems"]}
    assert (ended.returncode, report["indexed"], report["skipped"]) == (0, 1, len(links) + 2)
    assert {reasons.pop(name) for name in links} == {"symbolic link: not followed (add the folder it points to)"}
    assert reasons == {"pipe.md": "not a regular file", "socket.md": "not a regular file"}
    with opened(tmp_path / "data") as engine:
        assert texts(engine) == {"note.md": NOTE}
        assert engine.search("xylophone").results == ()


@pytest.mark.attack("V2")
def test_a_device_in_the_vault_is_left_alone(vault: Path, engine: Citewell) -> None:
    """V2: reading /dev/zero would never end."""
    try:
        os.mknod(vault / "zero.md", 0o20644, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("making a device needs root")
    add(engine, vault)
    assert statuses(engine)["zero.md"] == ("skipped", "not a regular file")


@pytest.mark.attack("V1")
def test_a_folder_whose_name_begins_like_the_root_is_not_part_of_it(vault: Path, engine: Citewell) -> None:
    """V1: `vault-private` is not below `vault`, neither on disk nor for `remove`."""
    add(engine, vault)
    add(engine, vault.with_name("vault-private"))
    assert set(engine.corpus.remove(str(vault)).removed) == {"note:vault/note"}
    assert keys(engine) == {"secret.md": "note:vault-private/secret"}


@pytest.mark.parametrize(
    "path",
    ["../outside/secret.md", "sub/../../outside/secret.md", "..", "/etc/passwd", "link/secret.md", "link", "", "\0"],
)
def test_reading_never_leaves_the_root(vault: Path, path: str) -> None:
    """V1: paths come from the walk; whatever else is asked for is refused even so."""
    (vault / "sub").mkdir()
    (vault / "link").symlink_to("../outside")
    with pytest.raises((OSError, Unreadable, ValueError)):
        read_bytes(vault, path)


@pytest.mark.parametrize("spelling", ["vault/sub/..", "vault/./", "outside/../vault", "./vault//", "link"])
def test_every_spelling_of_a_folder_is_the_same_collection(vault: Path, engine: Citewell, spelling: str) -> None:
    """V1: also by a link that the user names; then it is the user who follows it."""
    (vault / "sub").mkdir()
    vault.with_name("link").symlink_to(vault)
    add(engine, vault)
    report = add(engine, Path(f"{vault.parent}/{spelling}"))
    assert (report.unchanged, report.indexed, report.collections) == (1, 0, ("vault",))


def test_a_path_with_a_nul_in_it_is_bad_input(engine: Citewell, tmp_path: Path) -> None:
    """V1: the system's own error would name no fix."""
    with pytest.raises(BadInput) as refusal:
        add(engine, tmp_path / "va\0ult")
    assert refusal.value.fix


NAMES = {
    "new\nline.md": "note:vault/new-line",
    "quote'\"`.md": "note:vault/quote",
    "emoji 🐙.md": "note:vault/emoji",
    "rtl \u202eאב.md": "note:vault/rtl-אב",
    "semi;colon --flag.md": "note:vault/semi-colon-flag",
    "  spaces  .md": "note:vault/spaces",
    "%s{0}\\n.md": "note:vault/s-0-n",
    "combining e\u0301.md": "note:vault/combining-é",
    "-rf.md": "note:vault/rf",
    "*.md": "note:vault",
}


def test_file_names_with_anything_in_them_are_stored_and_found_under_that_name(
    tmp_path: Path, engine: Citewell
) -> None:
    """Names are data: for the shell, for SQL, for the terminal."""
    vault = tmp_path / "vault"
    for number, name in enumerate(NAMES):
        write(vault / name, f"# Note\n\nKelp number{number}.\n")
    assert add(engine, vault).indexed == len(NAMES)
    assert keys(engine) == NAMES
    assert texts(engine) == {name: f"# Note\n\nKelp number{number}.\n" for number, name in enumerate(NAMES)}
    assert [engine.search(f"number{n}").results[0].note_path for n in range(len(NAMES))] == list(NAMES)
    assert add(engine, vault).unchanged == len(NAMES)


def test_names_that_are_not_unicode_are_reported_in_escapes_and_break_no_output(vault: Path, tmp_path: Path) -> None:
    """Files, folders and hidden ones, in the report as JSON."""
    root = os.fsencode(vault)
    for name in (b"bad\xff.md", b".hidden\xff.md"):
        (Path(os.fsdecode(root)) / os.fsdecode(name)).write_text(NOTE)
    for name in (b"folder\xfe", b".folder\xfe"):
        write(Path(os.fsdecode(root + b"/" + name + b"/inside.md")), NOTE)
    ended = run(tmp_path / "data", "add", str(vault), "--json", "-v")
    report = json.loads(ended.stdout)
    assert (ended.returncode, report["indexed"], report["skipped"]) == (0, 1, 2)
    assert {problem["path"] for problem in report["problems"]} == {"bad\\xff.md", "folder\\xfe/inside.md"}
    assert set(report["excluded"]) == {".hidden\\xff.md (hidden)", ".folder\\xfe/ (hidden)"}


def test_a_root_whose_name_is_not_unicode_is_refused_with_what_to_do(tmp_path: Path, engine: Citewell) -> None:
    """No database could hold where it is."""
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/root\xff"))
    write(root / "note.md", NOTE)
    with pytest.raises(BadInput, match="not valid Unicode") as refusal:
        add(engine, root)
    assert "Rename" in refusal.value.fix


def test_folders_nested_deeper_than_python_can_call_are_walked(tmp_path: Path, engine: Citewell) -> None:
    """As deep as the system lets a path be; what is deeper is reported, not a crash."""
    top = Path(tempfile.mkdtemp(prefix="deep"))
    try:
        write(top / "note.md", NOTE)
        place = os.open(top, os.O_RDONLY)
        for level in range(2_500):
            os.mkdir("d", dir_fd=place)
            below = os.open("d", os.O_RDONLY, dir_fd=place)
            os.close(place)
            place = below
            if level == 1_500:
                with open(os.open("deep.md", os.O_WRONLY | os.O_CREAT, dir_fd=place), "w") as file:
                    file.write(NOTE)
        os.close(place)
        report = add(engine, top)
        assert (report.indexed, report.skipped) == (2, 1)
        assert "File name too long" in report.problems[0].reason
    finally:
        subprocess.run(["rm", "-rf", str(top)], check=True)


Change = Callable[[Path], None]


def replace_by_link(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.parent.parent.parent / "outside" / "secret.md")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def replace_folder_by_link(path: Path) -> None:
    path.parent.rename(path.parent.with_name("away"))
    path.parent.symlink_to(path.parent.parent.parent / "outside")


@pytest.mark.attack("V2")
@pytest.mark.parametrize("was_known", [False, True])
@pytest.mark.parametrize(
    "change",
    [Path.unlink, replace_by_link, replace_by_pipe, replace_by_folder, replace_folder_by_link],
)
def test_a_file_swapped_between_the_walk_and_the_read_leads_nowhere(
    vault: Path, engine: Citewell, change: Change, was_known: bool
) -> None:
    """V2: the first event comes after the walk and before any file is opened."""
    swapped = vault / "sub" / "secret.md"
    write(swapped, "# Mine\n\nA mandolin.\n")
    if was_known:
        add(engine, vault)
        write(swapped, "# Mine\n\nA mandolin and a lute.\n")
    events = engine.corpus.sync(vault)
    assert isinstance(next(events), SyncProgress)
    change(swapped)
    list(events)
    assert engine.search("xylophone").results == ()
    assert "note.md" in texts(engine)
    assert statuses(engine)["sub/secret.md"][0] in ("failed", "skipped")
    assert_sound(engine)


def test_a_file_that_is_replaced_after_the_walk_is_stored_as_it_is_when_read(vault: Path, engine: Citewell) -> None:
    """And the next add sees that nothing has changed since."""
    events = engine.corpus.sync(vault)
    next(events)
    write(vault / "note.md", "# Note\n\nWritten anew, and longer than it was.\n")
    list(events)
    assert texts(engine) == {"note.md": "# Note\n\nWritten anew, and longer than it was.\n"}
    assert add(engine, vault).unchanged == 1


def test_a_file_that_was_away_while_it_was_to_be_read_keeps_its_text_and_key(vault: Path, engine: Citewell) -> None:
    """Some editors save by deleting and writing again: what cites the note must not break over that."""
    add(engine, vault)
    write(vault / "note.md", NOTE + "More.\n")
    events = engine.corpus.sync(vault)
    next(events)
    (vault / "note.md").unlink()
    list(events)
    assert texts(engine) == {"note.md": NOTE}
    assert statuses(engine)["note.md"] == ("failed", "cannot be read: No such file or directory")
    write(vault / "note.md", NOTE + "Saved.\n")
    assert add(engine, vault).updated == 1
    assert (keys(engine), texts(engine)) == ({"note.md": "note:vault/note"}, {"note.md": NOTE + "Saved.\n"})


@contextmanager
def unprivileged() -> Iterator[None]:
    """Permissions bind inside, even for root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_what_cannot_be_opened_is_reported_and_what_it_held_is_kept(engine: Citewell) -> None:
    """A file or a folder without permission may come back: its documents keep their texts and keys."""
    top = Path(tempfile.mkdtemp(prefix="closed"))
    try:
        top.chmod(0o755)
        for name in ("open.md", "closed.md", "folder/inside.md"):
            write(top / name, NOTE)
        add(engine, top)
        before = keys(engine)
        write(top / "closed.md", NOTE + "More.\n")
        for name in ("closed.md", "folder"):
            (top / name).chmod(0)
        with unprivileged():
            report = add(engine, top)
        assert (report.unchanged, report.failed, report.skipped, report.deleted) == (1, 1, 1, 0)
        assert {problem.path: problem.reason for problem in report.problems} == {
            "closed.md": "cannot be read: Permission denied",
            "folder": "folder cannot be read: Permission denied",
        }
        assert keys(engine) == before
        for name in ("closed.md", "folder"):
            (top / name).chmod(0o755)
        assert add(engine, top).updated == 1
        assert keys(engine) == before
    finally:
        shutil.rmtree(top)


def test_a_missing_folder_is_not_found_and_nothing_is_forgotten(vault: Path, engine: Citewell) -> None:
    """An unmounted disk must not empty the corpus."""
    add(engine, vault)
    shutil.rmtree(vault)
    with pytest.raises(NotFound, match="no file or folder") as refusal:
        add(engine, vault)
    assert "mounted" in refusal.value.fix
    assert texts(engine) == {"note.md": NOTE}


@pytest.mark.parametrize("left", [(), ("hidden/.keep",), (".obsidian/app.md",), ("link.md",)])
def test_a_folder_that_is_suddenly_empty_is_an_error_and_nothing_is_forgotten(
    vault: Path, engine: Citewell, left: tuple[str, ...]
) -> None:
    """Neither is one in which only hidden files and links are left: the mount point of a disk that is away."""
    add(engine, vault)
    shutil.rmtree(vault)
    vault.mkdir()
    for name in left:
        (vault / name).parent.mkdir(exist_ok=True)
        (vault / name).symlink_to("nowhere")
    with pytest.raises(WorkFailed, match="1 documents were added from it: nothing was deleted") as refusal:
        add(engine, vault)
    assert "citewell remove" in refusal.value.fix
    assert texts(engine) == {"note.md": NOTE}
    assert_sound(engine)


def test_a_folder_replaced_by_a_file_is_an_error_and_nothing_is_forgotten(vault: Path, engine: Citewell) -> None:
    """It is not the folder that was added."""
    add(engine, vault)
    shutil.rmtree(vault)
    vault.write_text("not a folder any more")
    with pytest.raises(WorkFailed, match="nothing was deleted"):
        add(engine, vault)
    assert texts(engine) == {"note.md": NOTE}


def test_the_program_exits_with_3_for_a_missing_folder_and_1_for_an_emptied_one(vault: Path, tmp_path: Path) -> None:
    """With the fix on stderr."""
    run(tmp_path / "data", "add", str(vault))
    (vault / "note.md").unlink()
    emptied = run(tmp_path / "data", "add", str(vault))
    vault.rmdir()
    missing = run(tmp_path / "data", "add", str(vault))
    assert (emptied.returncode, missing.returncode) == (1, 3)
    for ended in (emptied, missing):
        assert ended.stdout == ""
        assert ended.stderr.splitlines()[1].startswith("  → ")
