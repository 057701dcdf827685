"""Zip containers: bombs, locked members and names that climb out are refused or not seen."""

from __future__ import annotations

import io
import stat
import zipfile

import pytest

from citewell.errors import Unreadable
from citewell.readers import containers
from citewell.readers.containers import Archive
from readers.zip_bytes import zip_bytes


def test_a_member_is_read_by_its_name() -> None:
    opened = Archive(zip_bytes({"a/b.xml": "text"}), "the file")
    assert ("a/b.xml" in opened, opened.read("a/b.xml"), opened.find("c")) == (True, b"text", None)


@pytest.mark.attack("B7")
@pytest.mark.parametrize("name", ["../up.xml", "a/../../up.xml", "/root.xml", "folder/", "..\\up.xml"])
def test_names_that_lead_elsewhere_are_not_there(name: str) -> None:
    assert name not in Archive(zip_bytes({name: "x"}), "the file")


@pytest.mark.attack("B7")
def test_symbolic_links_are_not_there() -> None:
    buffer = io.BytesIO()
    link = zipfile.ZipInfo("link.xml")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(buffer, "w") as written:
        written.writestr(link, "/etc/passwd")
    assert "link.xml" not in Archive(buffer.getvalue(), "the file")


@pytest.mark.attack("B7")
def test_a_bomb_is_refused_while_it_unpacks() -> None:
    bomb = zip_bytes({"a.xml": bytes(40_000_000)})
    with pytest.raises(Unreadable, match=r"the file unpacks to more than is sensible: a\.xml"):
        Archive(bomb, "the file").read("a.xml")


def test_many_members_may_not_unpack_to_more_than_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MAX_TOTAL_BYTES", 1_500_000)
    opened = Archive(zip_bytes({f"{n}.xml": bytes(1_000_000) for n in range(3)}), "the file")
    opened.read("0.xml")
    with pytest.raises(Unreadable, match="more than is sensible"):
        opened.read("1.xml")


def test_a_size_that_lies_does_not_help() -> None:
    bomb = bytearray(zip_bytes({"a.xml": bytes(40_000_000)}))
    directory = bomb.rindex(b"PK\x01\x02")
    bomb[directory + 24 : directory + 28] = (10).to_bytes(4, "little")
    opened = Archive(bytes(bomb), "the file")
    with pytest.raises(Unreadable):
        opened.read("a.xml")


def test_a_locked_member_says_so() -> None:
    data = bytearray(zip_bytes({"a.xml": "x"}))
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(Unreadable, match="the file is encrypted"):
        Archive(bytes(data), "the file").read("a.xml")


def test_too_many_members_are_refused_before_they_are_listed() -> None:
    with pytest.raises(Unreadable, match="members"):
        Archive(b"PK\x01\x02" * (containers.MAX_MEMBERS + 1), "the file")


def test_a_file_cut_anywhere_is_unreadable_and_nothing_else() -> None:
    data = zip_bytes({"a.xml": "some text " * 50, "b.xml": "more"})
    for end in range(0, len(data), 3):
        with pytest.raises(Unreadable):
            Archive(data[:end], "the file").read("a.xml")


def test_flipped_bytes_are_unreadable_and_nothing_else() -> None:
    data = zip_bytes({"a.xml": "some text " * 50})
    for position in range(len(data)):
        damaged = bytearray(data)
        damaged[position] ^= 0xFF
        try:
            found = Archive(bytes(damaged), "the file").find("a.xml")
        except Unreadable:
            continue
        assert found in (None, ("some text " * 50).encode())
