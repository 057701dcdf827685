"""One real file of every kind a person saves, each with words that stand nowhere else and what its row must show."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from citewell.readers.image import has_ocr
from importers.test_bookmarks import HEAD
from readers.pdf_bytes import pdf_bytes
from readers.test_epub import book
from readers.test_image import drawn
from readers.zip_bytes import paragraph, shape, sheets_bytes, slides_bytes, word_bytes, zip_bytes

VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"


@dataclass(frozen=True, slots=True)
class Saved:
    """A file, a query that only it answers, and the row that must come back."""

    path: str
    data: bytes
    query: str
    source_type: str
    kind: str
    role: str
    heading: str | None = None
    page: int | None = None
    tags: tuple[str, ...] = ()
    url: str | None = None


def everything() -> Iterator[Saved]:
    yield from _notes()
    yield from _pages_and_papers()
    yield from _office()
    yield from _speech()
    yield from _marks_and_posts()
    yield from _lists_and_feeds()
    if has_ocr():
        yield Saved("img/plan.png", drawn("Cottage floor plan"), "cottage floor", "image", "source", "ocr")


def _notes() -> Iterator[Saved]:
    note = "---\ntags: [cottage/walls]\n---\n# Walls\n## Mortar\nPointing with putty and quartzite. #lime\n"
    yield Saved(
        *("vault/Walls.md", note.encode(), "quartzite pointing", "vault_note", "item", "user_note"),
        heading="Mortar",
        tags=("cottage/walls", "lime"),
    )
    yield Saved("minutes.txt", b"Resolved to buy a windlass.", "windlass", "text", "item", "user_note")
    apple = "Anodes\nReplace the sacrificial zinc in spring. #cathodic"
    yield Saved(
        *("Apple Notes/Boat/Anodes.txt", apple.encode(), "sacrificial zinc", "apple_note", "item", "user_note"),
        tags=("Boat", "cathodic"),
    )


def _pages_and_papers() -> Iterator[Saved]:
    page = (
        "<html><head><title>Iodine</title><link rel='canonical' href='https://iodine.example/blanch'></head><body>"
        "<nav>Home About</nav><article><h1>Iodine</h1><h2>Blanching</h2><p>"
        + "Blanching removes most of the iodine from kombu within two minutes of boiling. " * 5
        + "</p></article></body></html>"
    )
    yield Saved(
        *("pages/iodine.html", page.encode(), "blanching kombu", "web", "source", "raw_source"),
        heading="Blanching",
        url="https://iodine.example/blanch",
    )
    paper = pdf_bytes([["A first page about nothing."], ["The piezometer drifted by four millimetres."]])
    yield Saved("papers/drift.pdf", paper, "piezometer drifted", "pdf", "source", "raw_source", page=2)
    yield Saved(
        "books/tides.epub", zip_bytes(book()), "moon ébbs", "text", "source", "raw_source", "One", tags=("Sea",)
    )
    table = b"berth,vessel\nQ7,Marigold ketch\nQ9,Plover sloop\n"
    yield Saved("tables/berths.csv", table, "Plover sloop", "text", "item", "raw_source")


def _office() -> Iterator[Saved]:
    """By hand, and with the libraries that write what the programs write where those are installed."""
    word = word_bytes(paragraph("Estimate", "berschrift1") + paragraph("Slating the outhouse in Ballachulish."))
    yield Saved("office/e.docx", word, "Ballachulish slating", "office", "source", "raw_source", heading="Estimate")
    slides = slides_bytes([shape("Opening", kind="title"), shape("Davits", kind="title") + shape("Two radial davits")])
    yield Saved("office/s.pptx", slides, "radial davits", "office", "source", "raw_source", "Davits", 2)
    cells = '<row r="1"><c r="A1" t="inlineStr"><is><t>thimble</t></is></c><c r="B1"><v>12</v></c></row>'
    yield Saved(
        "office/t.xlsx", sheets_bytes({"Stock": cells}), "thimble", "office", "source", "raw_source", "Stock", 1
    )
    if find_spec("docx"):
        yield Saved("office/real.docx", _word(), "gudgeon pintle", "office", "source", "raw_source", heading="Rudder")
    if find_spec("pptx"):
        yield Saved("office/real.pptx", _slides(), "baggywrinkle", "office", "source", "raw_source", "Chafe", 2)
    if find_spec("openpyxl"):
        yield Saved("office/real.xlsx", _sheets(), "turnbuckle", "office", "source", "raw_source", "Rigging", 2)


def _word() -> bytes:
    import docx

    document = docx.Document()
    document.add_heading("Refit", 1)
    document.add_heading("Rudder", 2)
    document.add_paragraph("Each gudgeon takes one pintle.")
    return _written(document)


def _slides() -> bytes:
    import pptx

    deck = pptx.Presentation()
    for title, body in (("Hello", "Welcome aboard"), ("Chafe", "Baggywrinkle on every stay")):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
    return _written(deck)


def _sheets() -> bytes:
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.active.append(["nothing", 1])
    rigging = workbook.create_sheet("Rigging")
    rigging.append(["part", "count"])
    rigging.append(["turnbuckle", 8])
    return _written(workbook)


def _written(document: Any) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def _speech() -> Iterator[Saved]:
    cues = "".join(
        f"00:{minute:02d}:00.000 --> 00:{minute:02d}:09.000\n{words}\n\n"
        for minute, words in enumerate(
            ["We begin. " * 200, "Now the tombstones. " * 100, "A quorum decides. " + "So it went. " * 99]
        )
    )
    vtt = f"WEBVTT\n\n{cues}".encode()
    yield Saved("talks/merge.vtt", vtt, "quorum decides", "transcript", "source", "transcript", heading="00:02:00")
    srt = b"1\n00:00:05,000 --> 00:00:08,000\nThe capstan needs grease.\n"
    yield Saved("talks/deck.srt", srt, "capstan grease", "transcript", "source", "transcript", heading="00:00:05")
    turns = ("Ann: Shall we begin?", "Bo: The hawser parted.", "Ann: Again.", "Bo: Yes, again.")
    spoken = "".join(f"[00:00:{second}] {turn}\n" for second, turn in enumerate(turns, start=10))
    yield Saved(
        *("talks/call.txt", spoken.encode(), "hawser parted", "transcript", "source", "transcript"), heading="00:00:10"
    )
    captions = b"WEBVTT\n\n00:01:01.000 --> 00:01:02.000\nPerigee makes the king tide.\n"
    yield Saved(
        *("yt/Tides [dQw4w9WgXcQ].en.vtt", captions, "perigee king", "youtube", "source", "transcript"),
        heading="00:01:01",
        url=VIDEO,
    )


def _marks_and_posts() -> Iterator[Saved]:
    marks = (
        f'{HEAD}<DL><p><DT><H3>Sails</H3><DL><p><DT><A HREF="https://loft.example/">Sailcloth</A>'
        "<DD>Ask about cringles."
    )
    yield Saved(
        *("bookmarks.html", marks.encode(), "cringles", "bookmark", "item", "user_note"),
        tags=("Sails",),
        url="https://loft.example/",
    )
    star = {"full_name": "ann/knots", "html_url": "https://git.example/ann/knots", "description": "Sheepshank solver"}
    stars = json.dumps([{**star, "owner": {"login": "ann"}, "topics": ["rope"], "stargazers_count": 1}])
    yield Saved(
        *("stars.json", stars.encode(), "sheepshank", "github", "item", "raw_source"),
        tags=("rope",),
        url="https://git.example/ann/knots",
    )
    media = [{"url": "https://t.co/m", "type": "photo", "ocr_text": "FATHOMS SEVENTEEN"}]
    post = {
        "id_str": "42",
        "created_at": "Wed Oct 10 20:19:24 +0000 2018",
        "full_text": "Echosounder day https://t.co/m",
        "extended_entities": {"media": media},
    }
    posts = f"window.YTD.tweets.part0 = {json.dumps([{'tweet': post}])}"
    yield Saved(
        *("x/data/tweets.js", posts.encode(), "fathoms seventeen", "x", "item", "ocr"),
        heading="Media 1",
        url="https://x.com/i/web/status/42",
    )


def _lists_and_feeds() -> Iterator[Saved]:
    watched = {"header": "YouTube", "title": "Watched Splicing dyneema", "titleUrl": VIDEO, "time": "2024-03-01T10:00Z"}
    yield Saved(
        *("Takeout/watch-history.json", json.dumps([watched]).encode(), "splicing dyneema"),
        *("youtube", "item", "raw_source"),
        url=VIDEO,
    )
    later = b"Video ID,Playlist Video Creation Timestamp\naaaaaaaaaaa,2023-01-05T10:11:12+00:00\n"
    yield Saved(
        *("Takeout/Watch later-videos.csv", later, "aaaaaaaaaaa", "youtube", "item", "raw_source"),
        tags=("Watch later",),
        url="https://www.youtube.com/watch?v=aaaaaaaaaaa",
    )
    opml = (
        '<opml version="2.0"><body><outline text="Boats"><outline type="rss" text="Bilge gazette"'
        ' xmlUrl="https://bilge.example/feed" htmlUrl="https://bilge.example/"/></outline></body></opml>'
    )
    yield Saved(
        *("feeds/mine.opml", opml.encode(), "bilge gazette", "feed", "item", "raw_source"),
        tags=("Boats",),
        url="https://bilge.example/",
    )
    rss = (
        '<rss version="2.0"><channel><title>News</title><item><title>Gale</title><link>https://gale.example/1</link>'
        "<description>Beaufort nine off Viking.</description><category>storm</category></item></channel></rss>"
    )
    yield Saved(
        *("feeds/news.rss", rss.encode(), "beaufort viking", "feed", "item", "raw_source"),
        tags=("storm",),
        url="https://gale.example/1",
    )
    lines = json.dumps({"_id": "q1", "title": "Log", "text": "Chronometer lost nine seconds.", "tags": ["navigation"]})
    yield Saved(
        *("data/log.jsonl", lines.encode(), "chronometer lost", "text", "item", "raw_source"), tags=("navigation",)
    )
