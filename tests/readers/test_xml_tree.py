"""XML: entities are never declared, expanded or fetched; damage is named."""

from __future__ import annotations

import time

import pytest

from citewell.errors import Unreadable
from citewell.readers.containers import local_name, xml_elements, xml_tree

LAUGHS = "<!DOCTYPE l [" + "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))


@pytest.mark.attack("B6")
@pytest.mark.parametrize(
    "markup",
    [
        LAUGHS + "]><l>&l9;</l>",
        '<?xml version="1.0"?>\n<!-- <a> --><!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]><d>&x;</d>',
        '<!DOCTYPE d SYSTEM "http://evil.example/d.dtd" []><d/>',
        '<!DOCTYPE d [<!ATTLIST d a CDATA "x">]><d/>',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("is_lenient", [False, True])
def test_a_document_type_with_declarations_is_refused(markup: str, encoding: str, is_lenient: bool) -> None:
    with pytest.raises(Unreadable, match="declares entities"):
        xml_tree(markup.encode(encoding), "the file", is_lenient=is_lenient)


def test_a_plain_document_type_is_harmless() -> None:
    root = xml_tree(b'<!DOCTYPE opml PUBLIC "-//x" "http://x.example/x.dtd"><opml/>', "the file")
    assert local_name(root) == "opml"


def test_the_declared_encoding_is_used_and_control_characters_do_no_harm() -> None:
    data = '<?xml version="1.0" encoding="iso-8859-1"?><a>Caf\xe9\x01</a>'.encode("latin-1")
    assert xml_tree(data, "the file").text == "Café"


@pytest.mark.parametrize("markup", [b"", b"<a>", b"no xml", b"<a>" * 400 + b"</a>" * 400, b"<a>&nbsp;</a>"])
def test_damage_is_named(markup: bytes) -> None:
    with pytest.raises(Unreadable, match="the file is not well-formed XML"):
        xml_tree(markup, "the file")


def test_elements_come_one_by_one() -> None:
    data = b"<t><r><c>1</c></r><x/><r><c>2</c></r></t>"
    assert [row.findtext("c") for row in xml_elements(data, "r", "the file")] == ["1", "2"]


@pytest.mark.parametrize("char", ["<", "<!--", "<?", "&", "a", " ", "<a "])
def test_endless_repetition_takes_no_time(char: str) -> None:
    started = time.process_time()
    with pytest.raises(Unreadable):
        xml_tree((char * 100_000).encode(), "the file")
    assert time.process_time() - started < 5
