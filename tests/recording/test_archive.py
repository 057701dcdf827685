"""An exported run is one file that any machine can check whole, and that cannot do harm."""

from __future__ import annotations

import io
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citewell import BadInput, CitewellError, NotFound, WorkFailed
from citewell.runs import transfer as archives
from citewell.runs.folder import read_trace, write_trace
from citewell.runs.trace import MARKER
from citewell.runs.transfer import export_run, import_run
from recording.builders import REJECTED, RUN_ID, events, plan, rejected, run_id, write


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    export_run(write(tmp_path), tmp_path / "run.zip")
    return tmp_path / "run.zip"


def rebuilt(source: Path, change: Callable[[zipfile.ZipInfo, bytes], tuple[zipfile.ZipInfo, bytes] | None]) -> bytes:
    """An archive with every member put through a change; None leaves it out."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(buffer, "w") as new:
        for member in old.infolist():
            if changed := change(member, old.read(member)):
                new.writestr(*changed)
    return buffer.getvalue()


def with_member(source: Path, name: str, content: bytes = b"x", mode: int = stat.S_IFREG | 0o600) -> bytes:
    buffer = io.BytesIO(source.read_bytes())
    with zipfile.ZipFile(buffer, "a") as archive:
        member = zipfile.ZipInfo(name)
        member.create_system, member.external_attr = 3, mode << 16
        archive.writestr(member, content)
    return buffer.getvalue()


def refuse(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "bad.zip").write_bytes(content)
    with pytest.raises(WorkFailed, match=reason):
        import_run(tmp_path / "bad.zip")


def test_a_run_comes_back_from_its_export_as_it_was(tmp_path: Path, exported: Path) -> None:
    assert import_run(exported) == read_trace(tmp_path / "research-runs" / RUN_ID)


def test_a_run_can_be_read_from_a_folder_of_any_name(tmp_path: Path, exported: Path) -> None:
    with zipfile.ZipFile(exported) as archive:
        archive.extractall(tmp_path / "there")
    folder = (tmp_path / "there" / RUN_ID).rename(tmp_path / "there" / "from a friend")
    (tmp_path / "link").symlink_to(folder)
    assert import_run(folder) == import_run(tmp_path / "link") == import_run(exported)


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    first = export_run(write(tmp_path / "a"), tmp_path / "a.zip")
    os.utime(tmp_path / "a" / "research-runs" / RUN_ID / "run.md", (0, 0))
    second = export_run(write(tmp_path / "b"), tmp_path / "b.zip")
    assert first == second == (tmp_path / "a.zip").read_bytes()
    assert stat.S_IMODE((tmp_path / "a.zip").stat().st_mode) == 0o600
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert {member.date_time for member in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_importing_writes_nothing(tmp_path: Path, exported: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    import_run(exported)
    assert sorted(tmp_path.rglob("*")) == before


def test_an_export_never_overwrites_another_file(tmp_path: Path, exported: Path) -> None:
    folder = tmp_path / "research-runs" / RUN_ID
    assert export_run(folder, exported) == exported.read_bytes()  # the same bytes: nothing to do
    (tmp_path / "mine.zip").write_text("mine")
    (tmp_path / "link.zip").symlink_to(tmp_path / "missing.zip")
    for name in ("mine.zip", "link.zip"):
        with pytest.raises(BadInput, match="is there already"):
            export_run(folder, tmp_path / name)
    assert (tmp_path / "mine.zip").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.zip", "mine.zip", "research-runs", "run.zip"]


def test_a_rejected_answer_is_not_exported(tmp_path: Path) -> None:
    """V4."""
    folder = write_trace(tmp_path, rejected(), events(rejected()), "", plan(), draft=REJECTED)
    with pytest.raises(BadInput, match="rejected by verification"):
        export_run(folder, tmp_path / "run.zip")
    assert not (tmp_path / "run.zip").exists()


def test_a_changed_trace_is_not_exported(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "run.md").write_text("changed")
    with pytest.raises(WorkFailed, match=r"run\.md"):
        export_run(folder, tmp_path / "run.zip")


@pytest.mark.parametrize(
    "name",
    [
        "../evil.md",
        f"{RUN_ID}/../../evil.md",
        f"{RUN_ID}/sub/run.md",
        "/etc/passwd",
        f"{RUN_ID}\\run.md",
        "run.md",
        f"{RUN_ID}/evil.md",
        "..",
    ],
)
def test_a_member_that_no_export_writes_is_refused(tmp_path: Path, exported: Path, name: str) -> None:
    refuse(tmp_path, with_member(exported, name), "not a file of a run")
    assert not (tmp_path.parent / "evil.md").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_members_that_are_links_come_twice_or_belong_to_two_runs_are_refused(tmp_path: Path, exported: Path) -> None:
    link = with_member(exported, f"{RUN_ID}/run.md", b"/etc/passwd", stat.S_IFLNK | 0o777)
    refuse(tmp_path, link, "not a regular file")
    refuse(tmp_path, with_member(exported, f"{RUN_ID}/run.md"), "twice")

    def moved(member: zipfile.ZipInfo, content: bytes) -> tuple[zipfile.ZipInfo, bytes]:
        name = member.filename.partition("/")[2]
        return zipfile.ZipInfo(f"{run_id(1) if name == 'run.md' else RUN_ID}/{name}"), content

    refuse(tmp_path, rebuilt(exported, moved), "more than one run")


@pytest.mark.slow
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, exported: Path) -> None:
    """B7: 300 MB of zeroes in 300 KB, and a list of 20,000 members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(f"{RUN_ID}/run.md", "w") as file:
        for _ in range(300):
            file.write(bytes(1024 * 1024))
    refuse(tmp_path, buffer.getvalue(), "unpacks to more than")
    many = io.BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(20_000):
            archive.writestr(zipfile.ZipInfo(f"{number}"), b"")
    refuse(tmp_path, many.getvalue(), "more files than a run has")


def test_an_archive_that_lies_about_a_size_is_refused(tmp_path: Path, exported: Path) -> None:
    """The size in the list of members made smaller than what the member unpacks to."""
    content = bytearray(exported.read_bytes())
    entry = content.index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = (10).to_bytes(4, "little")
    refuse(tmp_path, bytes(content), "refused|trusted")


def test_a_larger_file_than_any_run_is_not_read(
    tmp_path: Path, exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "MAX_TRACE_BYTES", 1_000)
    with pytest.raises(WorkFailed, match="more than 1000 bytes"):
        import_run(exported)


def test_a_run_that_was_packed_anew_by_another_program_is_read(tmp_path: Path, exported: Path) -> None:
    """Another order, other times, no compression, and the folder listed too: the hashes are what counts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(exported) as old, zipfile.ZipFile(buffer, "w") as new:
        new.mkdir(RUN_ID)
        for name in reversed(old.namelist()):
            new.writestr(name, old.read(name))
    (tmp_path / "anew.zip").write_bytes(buffer.getvalue())
    assert import_run(tmp_path / "anew.zip") == import_run(exported)


def test_a_missing_member_is_named(tmp_path: Path, exported: Path) -> None:
    def without(name: str) -> Callable[[zipfile.ZipInfo, bytes], tuple[zipfile.ZipInfo, bytes] | None]:
        return lambda member, content: None if member.filename.endswith(f"/{name}") else (member, content)

    refuse(tmp_path, rebuilt(exported, without("run.md")), r"run\.md is missing")
    refuse(tmp_path, rebuilt(exported, without(MARKER)), r"\.complete is missing")


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"PK", b"not a zip file at all, but long enough to be one", bytes(1_000)):
        refuse(tmp_path, content, "not a zip file")
    with pytest.raises(NotFound):
        import_run(tmp_path / "missing.zip")
    os.mkfifo(tmp_path / "pipe.zip")
    with pytest.raises(WorkFailed, match="not a regular file"):
        import_run(tmp_path / "pipe.zip")
    with pytest.raises(WorkFailed, match="is missing"):
        import_run(tmp_path)


@pytest.fixture(scope="module")
def archive_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    root = tmp_path_factory.mktemp("archive")
    return export_run(write(root), root / "run.zip")


@given(data=st.data())
def test_a_damaged_archive_is_refused_or_still_holds_the_same_run(
    archive_bytes: bytes, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Some bytes of a zip mean nothing; whatever is changed, nothing else than the run ever comes out."""
    path = tmp_path_factory.getbasetemp() / "damaged.zip"
    content = bytearray(archive_bytes)
    for _ in range(data.draw(st.integers(1, 4))):
        # Half of the changes go to the list of members at the end, where the structure is.
        low = data.draw(st.sampled_from((0, len(content) - 700)))
        content[data.draw(st.integers(low, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    try:
        trace = import_run(path)
    except CitewellError:
        return
    path.write_bytes(archive_bytes)
    assert trace == import_run(path)
