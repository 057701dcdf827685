"""Members of an untrusted zip container (Office, EPUB), read in memory and never written anywhere.

Sizes are counted while unpacking, because what the directory claims proves nothing. Links, absolute names and names
that climb out are as if they were not there.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from lzma import LZMAError

from citewell.domain.errors import Unreadable

MAX_MEMBERS = 50_000
MAX_MEMBER_BYTES = 64 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024
# XML of spreadsheets shrinks to a fiftieth; a bomb to a thousandth.
MAX_RATIO = 250
_ALWAYS_FINE = 1024 * 1024

_DIRECTORY_ENTRY = b"PK\x01\x02"
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_IS_ENCRYPTED = 0x1
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    LZMAError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)


class Archive:
    """The readable members of a zip file, by name."""

    def __init__(self, data: bytes, what: str) -> None:
        if data.startswith(_OLD_OFFICE):
            raise Unreadable(f"{what} is encrypted or in an old format", fix="Save an unlocked copy in today's format.")
        if data.count(_DIRECTORY_ENTRY) > MAX_MEMBERS:
            raise Unreadable(f"{what} has more than {MAX_MEMBERS} members")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN as error:
            raise Unreadable(f"{what} is broken or cut off") from error
        self._what = what
        self._unpacked = 0
        self._members = {info.filename: info for info in self._zip.infolist() if _is_inside(info)}

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """A member's bytes; raises Unreadable when it is missing, locked, broken or too large."""
        info = self._members.get(name)
        if info is None:
            raise Unreadable(f"{self._what} is incomplete: {name[:100]} is missing")
        if info.flag_bits & _IS_ENCRYPTED:
            raise Unreadable(f"{self._what} is encrypted", fix="Save an unlocked copy.")
        limit = self._limit(info)
        try:
            with self._zip.open(info) as member:
                data = member.read(limit + 1)
        except _BROKEN as error:
            raise Unreadable(f"{self._what} is broken: {name[:100]} cannot be unpacked") from error
        self._unpacked += len(data)
        if len(data) > limit:
            raise Unreadable(f"{self._what} unpacks to more than is sensible: {name[:100]}")
        return data

    def find(self, name: str) -> bytes | None:
        """A member's bytes, or None when there is no such member."""
        return self.read(name) if name in self._members else None

    def _limit(self, info: zipfile.ZipInfo) -> int:
        by_ratio = max(_ALWAYS_FINE, MAX_RATIO * info.compress_size)
        return max(0, min(MAX_MEMBER_BYTES, by_ratio, MAX_TOTAL_BYTES - self._unpacked))


def _is_inside(info: zipfile.ZipInfo) -> bool:
    name = info.filename
    climbs = ".." in name.replace("\\", "/").split("/")
    return not (climbs or name.startswith(("/", "\\")) or info.is_dir() or stat.S_ISLNK(info.external_attr >> 16))
