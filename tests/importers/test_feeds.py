"""Feeds: each subscription and each entry is a document, without its markup."""

from __future__ import annotations

import pytest

from citewell.errors import Unreadable
from citewell.readers.importers.entries import ImportedDocument
from citewell.readers.importers.registry import documents_in
from citewell.text.documents import Link, ReadDocument, Section

OPML = """<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Mine</title></head><body>
<outline text="Sea" title="Sea"><outline text="Boats/rope">
<outline type="rss" text="Kelp &amp; co" xmlUrl="https://kelp.example/feed.xml"
 htmlUrl="https://kelp.example/" category="x,y"/>
</outline></outline>
<outline text="Bare" xmlUrl="http://bare.example/rss"/>
<outline text="Broken" xmlUrl="feed:nowhere"/>
</body></opml>"""

RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Tide news</title><link>https://tide.example</link>
<item><title>Spring &amp;amp; neap</title><link>https://tide.example/1</link><guid isPermaLink="false">tag:1</guid>
<pubDate>Fri, 05 Jan 2024 10:00:00 GMT</pubDate><dc:creator>Ann Lee</dc:creator><category>sea</category>
<description>Short.</description><media:content url="https://tide.example/x.png"/>
<content:encoded><![CDATA[<p>First <b>paragraph</b>.</p><script>evil()</script><p>Second.</p>]]></content:encoded>
</item>
<item><link>https://tide.example/2</link></item>
<item><description>Only words, a &lt; b.</description></item>
</channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title>
<entry><id>urn:1</id><title type="html">A &lt;i&gt;title&lt;/i&gt;</title><link rel="self" href="https://l.example/self"/>
<link href="https://l.example/1"/><published>2024-01-05T10:00:00Z</published><updated>2024-02-01T00:00:00+01:00</updated>
<author><name>Bo</name></author><category term="log"/>
<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>Kept</p> and <p>whole</p>.</div></content>
</entry></feed>"""


def test_a_list_of_feeds_becomes_items_under_their_groups() -> None:
    first, second = documents_in(OPML.encode(), "subs.opml")
    text = "Kelp & co\n\nhttps://kelp.example/\nhttps://kelp.example/feed.xml"
    assert first == ImportedDocument(
        ReadDocument(
            text=text,
            title="Kelp & co",
            sections=(Section("raw_source", 0, len(text)),),
            links=(Link("url", "https://kelp.example/", 11, 32), Link("url", "https://kelp.example/feed.xml", 33, 62)),
            tags=("Sea/Boats-rope", "x", "y"),
            url="https://kelp.example/",
        ),
        "feed",
        part="https://kelp.example/feed.xml",
        kind="item",
    )
    assert (second.read.title, second.read.url, second.part) == (
        "Bare",
        "http://bare.example/rss",
        "https://bare.example/rss",
    )
    assert second.read.warnings == ("entries left out, without text or damaged: 1",)


def test_rss_entries_become_documents() -> None:
    first, second = documents_in(RSS.encode(), "feed.xml")
    text = "Spring & neap\n\nFirst paragraph.\n\nSecond.\n\nhttps://tide.example/1"
    assert first == ImportedDocument(
        ReadDocument(
            text=text,
            title="Spring & neap",
            sections=(Section("raw_source", 0, len(text)),),
            links=(Link("url", "https://tide.example/1", 42, len(text)),),
            tags=("sea",),
            author="Ann Lee",
            url="https://tide.example/1",
            created="2024-01-05T10:00:00+00:00",
            meta_text="Tide news",
        ),
        "feed",
        part="tag:1",
    )
    assert (second.read.text, second.read.title) == ("Only words, a < b.", "Only words, a < b.")
    assert second.read.warnings == ("entries left out, without text or damaged: 1",)


def test_atom_entries_become_documents() -> None:
    (found,) = documents_in(ATOM.encode(), "log.atom")
    assert found.read.text == "A title\n\nKept\n\nand\n\nwhole\n\n.\n\nhttps://l.example/1"
    assert (found.part, found.read.author, found.read.tags) == ("urn:1", "Bo", ("log",))
    assert (found.read.created, found.read.modified) == ("2024-01-05T10:00:00+00:00", "2024-02-01T00:00:00+01:00")


def test_a_damaged_feed_is_read_as_far_as_it_goes() -> None:
    cut = RSS[: RSS.index("<item><link>")].replace("Short.", "Short&nbsp;&copy; & sweet.")
    (found,) = documents_in(cut.encode(), "feed.xml")
    assert found.part == "tag:1"
    assert found.read.warnings == ("the feed is damaged: read as far as it goes",)


@pytest.mark.parametrize("path", ["f.rss", "f.opml"])
def test_entities_are_refused(path: str) -> None:
    root = "opml" if path.endswith("opml") else "rss"
    bomb = f'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><{root} ><item><title>&b;</title></item></{root}>'
    with pytest.raises(Unreadable, match="declares entities"):
        list(documents_in(bomb.encode(), path))
