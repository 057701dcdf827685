"""Whatever names an address, the same guard stands before it: notes, links of PDFs, agents, records from elsewhere."""

from __future__ import annotations

import asyncio
import json
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from citewell import Citewell, CitewellError, Settings
from citewell.flows.outside import PageRead, WebSearched
from citewell.runs.journal import Call, Failed
from citewell.runs.run import Stage
from citewell.web.search import SiteRules
from readers.pdf_bytes import assemble, content, stream
from support.mcp_client import talk
from support.origin import Origin, Page
from web.loopback_internet import Internet, loopback_internet
from web.test_surfaces import LIT, environment, sites

__all__ = ["sites"]

# The start of every address that leads inwards, as texts spell it.
INWARD = ("http://127.0.0.1:{port}/", "http://localhost:{port}/", "http://[::1]:{port}/", "http://2130706433:{port}/")


@pytest.fixture
def internet() -> Iterator[Internet]:
    with loopback_internet() as net:
        yield net


def opened(net: Internet, data: Path) -> Citewell:
    return Citewell(Settings(data_dir=data / "data", judge="off", **net.settings), resolve=net.names)


@pytest.mark.attack("S10")
@pytest.mark.parametrize("profile", ["local", "chat", "deep"])
def test_addresses_in_saved_documents_are_not_fetched(profile: str, internet: Internet, tmp_path: Path) -> None:
    """A note, a page, a feed and a list of feeds that name addresses inside; that pages are read is the control."""
    urls = [url.format(port=internet.canary.port) for url in INWARD]
    links = "\n".join(f"![[{url}]] ![x]({url}) [read this]({url}) <{url}>" for url in urls)
    (tmp_path / "own.md").write_text(f"---\nurl: {urls[0]}\nsource: {urls[1]}\n---\n# Halvard light\n\n{links}\n")
    (tmp_path / "saved.html").write_text(f"<link rel=canonical href='{urls[0]}'><p>Halvard light <img src={urls[0]}>")
    items = "".join(
        f"<item><title>Halvard light</title><link>{url}</link><enclosure url='{url}'/></item>" for url in urls
    )
    feed = f"<rss version='2.0'><channel><title>Halvard</title><link>{urls[0]}</link>{items}</channel></rss>"
    outline = "".join(f"<outline text='Halvard light' type='rss' xmlUrl='{url}' htmlUrl='{url}'/>" for url in urls)
    (tmp_path / "feed.xml").write_text(feed)
    (tmp_path / "feeds.opml").write_text(f"<opml version='2.0'><body>{outline}</body></opml>")
    engine = opened(internet, tmp_path)
    for name in ("own.md", "saved.html", "feed.xml", "feeds.opml"):
        list(engine.corpus.sync(tmp_path / name))
    engine.runs.wait(engine.start(LIT, profile=profile))
    engine.close()
    assert internet.canary.asked == []
    assert bool(internet.read_pages()) == (profile != "local")


@pytest.mark.attack("S10")
def test_links_of_a_pdf_are_not_followed(internet: Internet, tmp_path: Path) -> None:
    inward = INWARD[0].format(port=internet.canary.port).encode()
    outside = internet.url("collector.example", "/from-a-pdf").encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R /OpenAction << /S /URI /URI (" + inward + b") >> >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R /Annots [6 0 R 7 0 R]"
        b" /Resources << /Font << /F1 3 0 R >> >> >>",
        stream(content(["The mean tide range at Halvard is 4.2 metres.", "See " + inward.decode()])),
        b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /URI /URI (" + inward + b") >> >>",
        b"<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] /A << /S /GoToR /F (" + outside + b") >> >>",
    ]
    page = Page(assemble(objects, b"/Root 1 0 R"), "application/pdf")
    internet.add("survey.example", "/tide.pdf", "Tide range at Halvard", "tide range Halvard metres", page=page)
    internet.pages.insert(0, internet.pages.pop())
    engine = opened(internet, tmp_path)
    result = engine.runs.wait(engine.start("What is the tide range at Halvard in metres?", profile="deep"))
    engine.close()
    assert "survey.example/tide.pdf" in internet.read_pages()  # the control
    assert "4.2" in result.answer
    assert internet.canary.asked == []
    assert internet.origin.paths("collector.example") == []


@pytest.mark.attack("S10")
def test_addresses_in_the_arguments_of_an_agent_meet_the_guard(sites: list[Origin], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with Origin({"/": "secret"}) as canary:
        urls = [url.format(port=canary.port) for url in INWARD]

        async def conversation(client: Client) -> list[str]:
            told = []
            for arguments in (
                {"question": f"What do {urls[0]} and {urls[1]} and {urls[2]} say?", "profile": "chat"},
                {"question": LIT, "profile": "chat", "pinned": urls},
                {"question": LIT, "profile": "chat", "history": urls},
            ):
                result = await client.call_tool("research_run", arguments)
                told.append(json.dumps(result.structured_content) + str(result.content))
            for lookup in urls:
                told.append(str((await client.call_tool("get", {"lookup": lookup})).content))
            return told

        told = talk(tmp_path / "data", conversation, **environment(sites))  # type: ignore[arg-type]
        assert canary.asked == []
        assert "secret" not in " ".join(told)
        assert "1871" in told[1]  # the control: the run does read pages


@pytest.mark.attack("S10")
@pytest.mark.attack("S16")
def test_a_record_from_elsewhere_that_names_an_address_inside_opens_nothing(internet: Internet, tmp_path: Path) -> None:
    """Imported, replayed and resumed: a changed record is refused, and nothing it names is asked for."""
    engine = opened(internet, tmp_path / "one")
    run_id = engine.start(LIT, profile="chat")
    engine.runs.wait(run_id)
    engine.runs.export(run_id, tmp_path / "run.zip")
    engine.close()
    asked = len(internet.origin.asked)
    outside, inside = internet.url("museum.example", "").encode(), internet.canary.url.encode()
    changed = BytesIO()
    with zipfile.ZipFile(tmp_path / "run.zip") as old, zipfile.ZipFile(changed, "w") as new:
        members = {member: old.read(member) for member in old.infolist()}
        assert any(outside in data for data in members.values())
        for member, data in members.items():
            new.writestr(member, data.replace(outside, inside))
    other = opened(internet, tmp_path / "two")
    with pytest.raises(CitewellError):
        other.runs.replay(other.runs.import_archive(changed.getvalue()).run_id)
    with pytest.raises(CitewellError):
        other.runs.resume(run_id)
    kept = other.runs.import_archive((tmp_path / "run.zip").read_bytes())  # the control
    assert other.runs.replay(kept.run_id).identical
    other.close()
    assert internet.canary.asked == []
    assert len(internet.origin.asked) == asked


@pytest.mark.attack("S10")
@pytest.mark.parametrize(
    "url", [*INWARD, "http://169.254.169.254/latest/", "file:///etc/passwd", "http://a@127.0.0.1/"]
)
def test_a_call_of_a_resumed_run_meets_the_guard_too(url: str, internet: Internet, tmp_path: Path) -> None:
    """Whoever wrote a record well enough to be believed: the call itself is performed under the guard."""
    engine = opened(internet, tmp_path)
    perform = engine.effects("20260101T000000-00000001")

    def performed(name: str, stage: Stage, form: type, **arguments: Any) -> Any:
        call = Call(name, arguments, stage, "gathering", "key", form)
        return asyncio.run(perform(call, lambda text: None))  # type: ignore[arg-type]

    address = url.format(port=internet.canary.port)
    with pytest.raises(Failed) as refused:
        performed("read_page", "read", PageRead, url=address, seconds=2.0, max_bytes=10_000, sites=SiteRules())
    assert "127.0.0.1" not in refused.value.message
    control = performed(
        "search_web",
        "search",
        WebSearched,
        provider="searxng",
        query="Halvard light",
        limit=5,
        seconds=5.0,
        sites=SiteRules(),
    )
    assert control.hits
    engine.close()
    assert internet.canary.asked == []
