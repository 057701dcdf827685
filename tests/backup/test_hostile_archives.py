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

import apsw
import pytest

from citewell import BadInput, Citewell, CitewellError, NotFound, Settings, StoreFull
from citewell.errors import StoreUnusable
from citewell.store.sqlite import connect
from conftest import SteadyClock, Write, add

NOTES: dict[str, str | bytes] = {"Lamp.md": "# Lamp\n\nThe lamp was lit in 1859.\n"}
Members = dict[str, bytes]
Change = Callable[[Members, dict[str, Any]], None]


@pytest.fixture
def archive(corpus: Citewell, tmp_path: Path) -> Path:
    path = tmp_path / "all.zip"
    corpus.corpus.backup(path)
    return path


def forged(path: Path, change: Change, mode: int = stat.S_IFREG | 0o600, packing: int = zipfile.ZIP_DEFLATED) -> Path:
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
            info.compress_type = packing
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
        engine = Citewell(Settings(data_dir=tmp_path / "new" / "data"), SteadyClock())
        with pytest.raises(error, match=says):
            engine.corpus.restore(archive, force=force)
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
    engine = Citewell(Settings(data_dir=tmp_path / "data"), SteadyClock())
    with pytest.raises(BadInput, match="not a regular file"):
        engine.corpus.restore(tmp_path / "pipe")
    with pytest.raises(NotFound, match="no file"):
        engine.corpus.restore(tmp_path / "nowhere.zip")
    with pytest.raises(CitewellError):
        engine.corpus.restore(tmp_path)


FOREIGN = {
    "a trigger": "CREATE TRIGGER evil AFTER INSERT ON tags BEGIN DELETE FROM documents; END",
    "a view": "CREATE VIEW evil AS SELECT * FROM documents",
    "a table": "CREATE TABLE evil(x)",
    "an index": "CREATE INDEX evil ON documents(source_type, title)",
    "a virtual table": "CREATE VIRTUAL TABLE evil USING fts5(x)",
    "a column": "ALTER TABLE documents ADD COLUMN evil TEXT DEFAULT 1",
}


def with_statement(content: bytes, folder: Path, statement: str) -> bytes:
    """A database after somebody has changed its schema."""
    path = folder / "changed.db"
    path.write_bytes(content)
    connection = connect(path)
    connection.execute(statement)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.execute("PRAGMA journal_mode = DELETE").fetchall()
    connection.close()
    changed = path.read_bytes()
    path.unlink()
    return changed


@pytest.mark.attack("D5")
@pytest.mark.parametrize("statement", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_database_with_a_schema_that_is_not_ours_is_refused(tmp_path: Path, archive: Path, statement: str) -> None:
    def change(members: Members, manifest: dict[str, Any]) -> None:
        with_member("corpus.db", with_statement(members["corpus.db"], tmp_path, statement))(members, manifest)

    refuse(tmp_path, forged(archive, change), StoreUnusable, "what Citewell does not make")


@pytest.mark.attack("D5")
def test_a_trigger_of_ours_that_does_something_else_is_refused(tmp_path: Path, corpus: Citewell) -> None:
    assert len(corpus.runs.latest(1).runs) == 0
    corpus.corpus.backup(tmp_path / "all.zip")

    def change(members: Members, manifest: dict[str, Any]) -> None:
        dropped = with_statement(members["runs.db"], tmp_path, "DROP TRIGGER events_are_append_only")
        evil = "CREATE TRIGGER events_are_append_only AFTER INSERT ON events BEGIN DELETE FROM runs; END"
        with_member("runs.db", with_statement(dropped, tmp_path, evil))(members, manifest)

    refuse(tmp_path, forged(tmp_path / "all.zip", change), StoreUnusable, "trigger events_are_append_only")


@pytest.mark.attack("D5")
def test_a_folder_that_was_passed_on_with_a_foreign_trigger_is_not_used(corpus: Citewell) -> None:
    """The same check where nothing was restored: a data folder that somebody put in place by hand."""
    data = corpus.settings.data_dir
    corpus.close()
    connection = connect(data / "corpus.db")
    connection.execute(FOREIGN["a trigger"])
    connection.close()
    with pytest.raises(StoreUnusable, match="trigger evil"):
        corpus.search("lamp")
    assert {check.name: check.state for check in corpus.doctor().checks}["corpus"] == "error"


@pytest.mark.attack("D5")
def test_every_connection_trusts_no_schema_and_protects_its_own_tables(corpus: Citewell) -> None:
    connection = connect(corpus.settings.corpus_path)
    try:
        assert connection.pragma("trusted_schema") == 0
        connection.execute("PRAGMA writable_schema = ON")
        with pytest.raises(apsw.SQLError, match="may not be modified"):
            connection.execute("UPDATE sqlite_schema SET sql = 'x'")
        with pytest.raises(apsw.SQLError, match="may not be modified"):
            connection.execute("DELETE FROM chunk_terms_data")
    finally:
        connection.close()


@pytest.mark.attack("B7")
def test_a_bomb_that_says_how_large_it_is_is_refused_before_anything_is_unpacked(tmp_path: Path, archive: Path) -> None:
    """A member of a kind that is never large, and an archive of two gigabytes in a few kilobytes."""
    large = with_member("chat-transcripts/bomb.md", b"\0" * 210_000_000)
    refuse(tmp_path, forged(archive, large), BadInput, "at most 209,715,200 are taken")
    settings = with_member("citewell.toml", b"#" * 1_000_001)
    refuse(tmp_path, forged(archive, settings), BadInput, "at most 1,000,000 are taken")

    def huge(members: Members, manifest: dict[str, Any]) -> None:
        for number in range(20):
            with_member(f"chat-transcripts/{number}.md", b"\0" * 60_000_000)(members, manifest)

    refuse(tmp_path, forged(archive, huge), BadInput, "made to fill a disk")


@pytest.mark.attack("B7")
def test_a_member_packed_in_another_way_or_listed_twice_is_refused(tmp_path: Path, archive: Path) -> None:
    for packing in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refuse(tmp_path, forged(archive, lambda *_: None, packing=packing), BadInput, "not as its manifest says")
    with zipfile.ZipFile(archive, "a") as twice, pytest.warns(UserWarning, match="Duplicate"):
        twice.writestr("corpus.db", b"another")
    refuse(tmp_path, archive, BadInput, "twice")


def test_an_emptied_corpus_is_backed_up_without_what_was_removed_and_can_be_restored(
    corpus: Citewell, vault: Write, tmp_path: Path
) -> None:
    add(corpus, vault({f"{number}.md": f"# {number}\n\n{'Oil and lamp. ' * 4_000}" for number in range(30)}))
    corpus.corpus.remove(str(tmp_path / "vault"))
    corpus.corpus.backup(tmp_path / "emptied.zip")
    with zipfile.ZipFile(tmp_path / "emptied.zip") as made:
        assert made.getinfo("corpus.db").file_size < corpus.settings.corpus_path.stat().st_size / 2
    other = Citewell(Settings(data_dir=tmp_path / "other"), SteadyClock())
    assert other.corpus.restore(tmp_path / "emptied.zip").documents == 0
    assert other.store.check_integrity() == []
    other.close()
