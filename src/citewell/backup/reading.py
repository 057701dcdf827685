"""Reading a backup without trusting a byte of it: what it may hold, how large it may grow, and what it must hash to.

An archive comes from anywhere. Its members have names from a fixed list, their sizes are declared in the manifest and
no byte beyond is unpacked, and each must have the hash it is declared with. That makes it whole, not true: the hashes
do not say who wrote it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

from citewell.backup.contents import CORPUS, DATABASES, MANIFEST, RUNS, is_member, most_bytes
from citewell.domain.backups import BACKUP_FORMAT, BackupManifest, BackupMember
from citewell.domain.errors import BadInput, NotFound, StoreUnusable, Unavailable

MAX_MANIFEST_BYTES = 64_000_000
MAX_DIRECTORY_BYTES = 128_000_000
# What is packed tighter than this, and is large, is made to fill a disk: text and indexes pack to a third or a tenth.
MAX_RATIO = 200
_ANY_RATIO_BYTES = 1_000_000_000
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_END_BYTES, _LOCATOR_BYTES, _END64_BYTES = 22, 20, 56
_BLOCK = 1 << 20
_ENCRYPTED = 0x1
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError)


class Backup:
    """An archive whose manifest has been checked against its list of members."""

    def __init__(self, archive: zipfile.ZipFile, manifest: BackupManifest) -> None:
        self._archive = archive
        self.manifest = manifest

    def unpack(self, member: BackupMember, target: BinaryIO) -> None:
        """Write one member out; refused as soon as it is longer, shorter or another than it was declared."""
        digest, left = hashlib.sha256(), member.bytes
        with damage_refused(), self._archive.open(member.name) as source:
            while block := source.read(_BLOCK):
                left -= len(block)
                if left < 0:
                    raise refused(f"{member.name} is longer than it says")
                digest.update(block)
                target.write(block)
        if left or digest.hexdigest() != member.sha256:
            raise refused(f"{member.name} is damaged")


@contextmanager
def open_backup(path: Path) -> Iterator[Backup]:
    """A backup, open for reading, its manifest checked and known to this version."""
    with _open_regular(path) as file:
        _check_directory(file)
        with damage_refused():
            archive = zipfile.ZipFile(file)
            manifest = _read_manifest(archive)
        _check_manifest(manifest)
        _check_members(archive, manifest)
        _check_growth(manifest, os.fstat(file.fileno()).st_size)
        yield Backup(archive, manifest)


@contextmanager
def damage_refused() -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise refused(f"it is damaged ({error})") from None


def refused(why: str) -> BadInput:
    return BadInput(f"This is no backup that can be restored: {why}.", fix="Use a file that 'citewell backup' wrote.")


def _open_regular(path: Path) -> BinaryIO:
    try:
        # Without waiting, because opening a pipe would otherwise wait for a writer.
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except FileNotFoundError:
        raise NotFound(f"There is no file {path}.", fix="Check the path.") from None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.", fix="Check its permissions.") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise refused("it is not a regular file")
    return file


def _check_directory(file: BinaryIO) -> None:
    """Refuse a long list of members before anything reads it: a list of millions would fill the memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _LOCATOR_BYTES - _END64_BYTES))
    tail = file.read()
    end = tail[-_END_BYTES:]
    if len(end) < _END_BYTES or not end.startswith(b"PK\x05\x06") or end[-2:] != b"\0\0":
        raise refused("it is not a zip file as Citewell writes it")
    length = int.from_bytes(end[12:16], "little")
    if tail[-_END_BYTES - _LOCATOR_BYTES : -_END_BYTES].startswith(b"PK\x06\x07"):
        end64 = tail[: -_END_BYTES - _LOCATOR_BYTES]
        length = int.from_bytes(end64[40:48], "little") if end64.startswith(b"PK\x06\x06") else size
    if length > MAX_DIRECTORY_BYTES:
        raise refused("it lists more files than a backup has")
    file.seek(0)


def _read_manifest(archive: zipfile.ZipFile) -> BackupManifest:
    try:
        info = archive.getinfo(MANIFEST)
    except KeyError:
        raise refused("it has no manifest") from None
    if info.file_size > MAX_MANIFEST_BYTES:
        raise refused("its manifest is too large")
    with archive.open(info) as source:
        content = source.read(MAX_MANIFEST_BYTES + 1)
    if len(content) > MAX_MANIFEST_BYTES:
        raise refused("its manifest is too large")
    try:
        return msgspec.json.decode(content, type=BackupManifest)
    except msgspec.MsgspecError as error:
        raise refused(f"its manifest cannot be read ({error})") from None


def _check_manifest(manifest: BackupManifest) -> None:
    if manifest.format != BACKUP_FORMAT:
        raise StoreUnusable(
            f"This backup has the format {manifest.format[:40]!r}; this Citewell knows {BACKUP_FORMAT}.",
            fix="Upgrade Citewell, then restore it.",
        )
    for database in DATABASES:
        known, stored = database.schema().version, manifest.schemas.get(database.name, 0)
        if stored > known:
            raise StoreUnusable(
                f"This backup was made by a newer Citewell ({manifest.version[:40]}: its {database.name} have schema"
                f" {stored}, this one knows {known}).",
                fix="Upgrade Citewell, then restore it.",
            )


def _check_members(archive: zipfile.ZipFile, manifest: BackupManifest) -> None:
    """What the archive lists and what the manifest declares are the same, and nothing else than a backup holds."""
    listed: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        if info.filename in listed:
            raise refused(f"it holds {info.filename[:80]!r} twice")
        listed[info.filename] = info
    declared = {member.name: member for member in manifest.members}
    if len(declared) != len(manifest.members) or listed.keys() != {*declared, MANIFEST}:
        raise refused("its manifest and its files differ")
    for name, member in declared.items():
        info = listed[name]
        if not is_member(name) or info.is_dir() or not stat.S_ISREG(info.external_attr >> 16):
            raise refused(f"{name[:80]!r} is no file of a backup")
        if info.file_size != member.bytes or info.flag_bits & _ENCRYPTED or info.compress_type not in _PACKINGS:
            raise refused(f"{name[:80]} is not as its manifest says")
        most = most_bytes(name)
        if most is not None and member.bytes > most:
            raise refused(f"{name[:80]} has {member.bytes:,} bytes, and at most {most:,} are taken")
    if not declared.keys() & {CORPUS.file, RUNS.file}:
        raise refused("it holds no corpus and no runs")


def _check_growth(manifest: BackupManifest, size: int) -> None:
    unpacked = sum(member.bytes for member in manifest.members)
    if unpacked > _ANY_RATIO_BYTES and unpacked > MAX_RATIO * size:
        raise refused(f"{size:,} bytes would become {unpacked:,}, as of an archive that is made to fill a disk")
