"""Archives that somebody else made: whatever they hold, nothing in the data folder or outside it is touched."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell.app import Engine
from citewell.domain.errors import BadInput, CitewellError, NotFound, StoreFull, StoreUnusable
from citewell.settings import Settings
from conftest import SteadyClock

NOTES: dict[str, str | bytes] = {"Lamp.md": "# Lamp\n\nThe lamp was lit in 1859.\n"}
Members = dict[str, bytes]
Change = Callable[[Members, dict[str, Any]], None]


@pytest.fixture
def archive(corpus: Engine, tmp_path: Path) -> Path:
    path = tmp_path / "all.zip"
    corpus.backup(path)
    return path


def forged(path: Path, change: Change, mode: int = stat.S_IFREG | 0o600) -> Path:
    """The archive with something changed; sizes and hashes agree unless the change says otherwise."""
    with zipfile.ZipFile(path) as source:
        members = {name: source.read(name) for name in source.namelist()}
    manifest = json.loads(members.pop("manifest.json"))
    change(members, manifest)
    declared = {entry["name"]: entry for entry in manifest["members"]}
    target = path.with_name("forged.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
        archive.writestr("manifest.json", json.dumps({**manifest, "members": list(declared.values())}))
    return target


def with_member(name: str, content: bytes = b"x") -> Change:
    def change(members: Members, manifest: dict[str, Any]) -> None:
        members[name] = content
        declared = {"name": name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        manifest["members"] = [one for one in manifest["members"] if one["name"] != name] + [declared]

    return change


def refuse(tmp_path: Path, archive: Path, error: type[CitewellError], says: str) -> None:
    """The archive is refused, and beside it nothing is there that was not there before."""
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for force in (False, True):
        engine = Engine(Settings(data_dir=tmp_path / "new" / "data"), SteadyClock())
        with pytest.raises(error, match=says):
            engine.restore(archive, force=force)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert not (tmp_path / "new" / "data").exists()


@pytest.mark.parametrize(
    "name",
    [
        "../evil.txt",
        "/etc/evil",
        "research-runs/../../evil",
        "chat-transcripts/../evil",
        "chat-transcripts/..\\evil",
        "chat-transcripts/.hidden",
        "chat-transcripts/a//b",
        "chat-transcripts/C:evil",
        "chat-transcripts/",
        "corpus.db-wal",
        "notes.txt",
        "research-runs/20260101T000000-00000000/evil.sh",
        "research-runs/evil/run.md",
    ],
)
def test_a_name_that_no_backup_has_is_refused(tmp_path: Path, archive: Path, name: str) -> None:
    refuse(tmp_path, forged(archive, with_member(name)), BadInput, "no backup that can be restored")


def test_a_link_in_an_archive_is_refused(tmp_path: Path, archive: Path) -> None:
    refuse(
        tmp_path,
        forged(archive, lambda members, manifest: None, stat.S_IFLNK | 0o777),
        BadInput,
        "no file of a backup",
    )


def _declare(name: str, **changed: Any) -> Change:
    def change(members: Members, manifest: dict[str, Any]) -> None:
        for entry in manifest["members"]:
            if entry["name"] == name:
                entry.update(changed)

    return change


def _manifest(**changed: Any) -> Change:
    return lambda members, manifest: manifest.update(changed)


def _without_corpus(members: Members, manifest: dict[str, Any]) -> None:
    del members["corpus.db"]


def _emptied(members: Members, manifest: dict[str, Any]) -> None:
    members.clear()
    manifest["members"] = []


CHANGES: dict[str, tuple[Change, type[CitewellError], str]] = {
    "another hash": (_declare("corpus.db", sha256="0" * 64), BadInput, "corpus.db is damaged"),
    "another size": (_declare("corpus.db", bytes=5), BadInput, "not as its manifest says"),
    "a member missing": (_without_corpus, BadInput, "its manifest and its files differ"),
    "nothing in it": (_emptied, BadInput, "no corpus and no runs"),
    "a newer corpus": (_manifest(schemas={"corpus": 999}), StoreUnusable, "newer Citewell"),
    "another format": (_manifest(format="citewell-backup.v9"), StoreUnusable, "this Citewell knows"),
    "no database": (with_member("corpus.db", b"SQLite format 3\0 but not really"), StoreUnusable, "another program"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_not_as_it_says_is_refused(tmp_path: Path, archive: Path, name: str) -> None:
    change, error, says = CHANGES[name]
    refuse(tmp_path, forged(archive, change), error, says)


@pytest.mark.parametrize("manifest", ["[]", "{}", "no JSON", '{"format": "citewell-backup.v1", "members": "all"}'])
def test_a_manifest_of_another_kind_is_refused(tmp_path: Path, manifest: str) -> None:
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as made:
        made.writestr("manifest.json", manifest)
    refuse(tmp_path, tmp_path / "some.zip", BadInput, "its manifest cannot be read")


def test_a_newer_database_is_refused_whatever_the_manifest_says(tmp_path: Path, archive: Path) -> None:
    def newer(members: Members, manifest: dict[str, Any]) -> None:
        content = bytearray(members["corpus.db"])
        content[60:64] = (999).to_bytes(4, "big")
        with_member("corpus.db", bytes(content))(members, manifest)

    refuse(tmp_path, forged(archive, newer), StoreUnusable, "newer Citewell")


def test_a_bomb_is_refused_by_the_size_it_must_declare(tmp_path: Path, archive: Path) -> None:
    """It says less than it unpacks to: unpacking stops there. It says all: the disk is asked first."""
    bomb = with_member("chat-transcripts/bomb.md", b"\0" * 30_000_000)

    def modest(members: Members, manifest: dict[str, Any]) -> None:
        bomb(members, manifest)
        _declare("chat-transcripts/bomb.md", bytes=10)(members, manifest)

    target = forged(archive, modest)
    refuse(tmp_path, target, BadInput, "not as its manifest says")
    # Now the list of the zip itself says so too.
    content = target.read_bytes()
    target.write_bytes(content.replace((30_000_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
    refuse(tmp_path, target, BadInput, "no backup that can be restored")

    def boundless(members: Members, manifest: dict[str, Any]) -> None:
        bomb(members, manifest)
        _declare("chat-transcripts/bomb.md", bytes=4_000_000_000)(members, manifest)

    huge = forged(archive, boundless)
    content = huge.read_bytes()
    huge.write_bytes(content.replace((30_000_000).to_bytes(4, "little"), (4_000_000_000).to_bytes(4, "little")))
    free = os.statvfs(tmp_path)
    if free.f_bavail * free.f_frsize < 4_000_000_000:
        refuse(tmp_path, huge, StoreFull, "MB are free")
    else:
        refuse(tmp_path, huge, BadInput, "no backup that can be restored")


def test_a_list_of_millions_is_refused_before_it_is_read(tmp_path: Path, archive: Path) -> None:
    content = bytearray(archive.read_bytes())
    content[-10:-6] = (0xFFFFFFF0).to_bytes(4, "little")
    target = archive.with_name("forged.zip")
    target.write_bytes(content)
    refuse(tmp_path, target, BadInput, "more files than a backup has")


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all" * 100, b"PK\x05\x06" + b"\0" * 18])
def test_what_is_no_archive_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "some.zip").write_bytes(content)
    refuse(tmp_path, tmp_path / "some.zip", BadInput, "no backup that can be restored")


def test_any_byte_cut_off_or_turned_is_refused(tmp_path: Path, archive: Path) -> None:
    content = archive.read_bytes()
    target = archive.with_name("forged.zip")
    for length in (len(content) // 2, len(content) - 1):
        target.write_bytes(content[:length])
        refuse(tmp_path, target, BadInput, "no backup that can be restored")
    for place in range(100, len(content) // 2, len(content) // 16):
        turned = bytearray(content)
        turned[place] ^= 0xFF
        target.write_bytes(turned)
        refuse(tmp_path, target, BadInput, "damaged")


def test_what_is_no_file_is_refused_and_nobody_waits(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    engine = Engine(Settings(data_dir=tmp_path / "data"), SteadyClock())
    with pytest.raises(BadInput, match="not a regular file"):
        engine.restore(tmp_path / "pipe")
    with pytest.raises(NotFound, match="no file"):
        engine.restore(tmp_path / "nowhere.zip")
    with pytest.raises(CitewellError):
        engine.restore(tmp_path)
