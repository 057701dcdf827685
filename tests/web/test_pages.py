"""Pages over a real socket, made text of in a real process: bombs cost themselves only, lies are found out."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Iterator
from typing import Any

import pytest

from citewell.readers.pages import PageBytes, PageDocument, page_allowance
from citewell.readers.process_pool import ReaderLost, WarmReaders, Work
from citewell.web.facts import FetchProblem
from citewell.web.fetch import PageReader, ReadPage, page_readers
from citewell.web.guard import FetchFailed, Guard
from corpus.hostile_files import BILLION, OUTSIDE, REPEATED, double_flate, kids_cycle, many_pages, nested_forms
from readers.pdf_bytes import pdf_bytes
from support.origin import Names, Origin, Page
from web.bad_readers import misbehave, short


@pytest.fixture(scope="module")
def readers() -> Iterator[WarmReaders[PageBytes, PageDocument]]:
    opened = page_readers(1)
    yield opened
    opened.close()


@pytest.fixture
def site() -> Iterator[Origin]:
    with Origin() as origin:
        yield origin


def read(site: Origin, readers: Any, page: Page, max_bytes: int = 1_500_000) -> ReadPage:
    site.pages["/page"] = page
    guard = Guard([f"site.test:{site.port}"], Names({"site.test": "127.0.0.1"}))
    return asyncio.run(PageReader(guard, readers, 10.0, max_bytes).read(f"http://site.test:{site.port}/page"))


def problem(site: Origin, readers: Any, page: Page, max_bytes: int = 1_500_000) -> FetchProblem:
    with pytest.raises(FetchFailed) as failed:
        read(site, readers, page, max_bytes)
    return failed.value.problem


def outcome(site: Origin, readers: Any, page: Page) -> str:
    try:
        read(site, readers, page)
    except FetchFailed as failed:
        return failed.problem
    return "read"


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (Page("<html><body><article><p>A page of words about kelp.</p></article></body></html>"), "about kelp"),
        (Page("Plain words.", "text/plain"), "Plain words."),
        (Page("# Heading\n\nWords below.", "text/markdown"), "Words below."),
        (Page('{"kelp": "dried"}', "application/json"), '{"kelp": "dried"}'),
        (Page("site,depth\nKirkhaven,4.2\n", "text/csv"), "Kirkhaven"),
        (Page(pdf_bytes([["Words on a page."]]), "application/pdf"), "Words on a page."),
        (Page(pdf_bytes([["Words on a page."]]), "text/html"), "Words on a page."),  # it lies about its type
        (Page("<!doctype html><p>Said to be plain.</p>", "text/plain"), "Said to be plain."),
    ],
)
def test_every_type_is_read(page: Page, expected: str, site: Origin, readers: Any) -> None:
    made = read(site, readers, page)
    assert expected in made.read.text
    assert {section.role for section in made.read.sections} == {"raw_source"}
    assert made.read.url == f"http://site.test:{site.port}/page"


def test_failures_have_their_class(site: Origin, readers: Any) -> None:
    assert problem(site, readers, Page("", "text/plain")) == "empty_content"
    assert problem(site, readers, Page("<html><body></body></html>")) == "empty_content"
    assert problem(site, readers, Page(b"PK\x03\x04" + b"\x00" * 100, "text/html")) == "parse_error"
    assert problem(site, readers, Page(b"x", "application/zip")) == "unsupported_content_type"
    assert problem(site, readers, Page("x" * 5_000, "text/plain"), max_bytes=1_000) == "too_large"
    assert problem(site, readers, Page("gone", status=410)) == "http_status"


@pytest.mark.slow
@pytest.mark.attack("B4")
@pytest.mark.parametrize("make", [double_flate, nested_forms, kids_cycle, many_pages])
def test_a_pdf_that_is_a_bomb_costs_itself_only(make: Any, site: Origin, readers: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = make()
    if len(data) <= 1_500_000:
        assert outcome(site, readers, Page(data, "application/pdf")) in ("read", "parse_error", "empty_content")
    else:
        assert problem(site, readers, Page(data, "application/pdf")) == "too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000
    assert "still" in read(site, readers, Page("still here", "text/plain")).read.text


@pytest.mark.attack("B4")
@pytest.mark.parametrize("cut", [b"/Encrypt << /Filter /Standard >>", b""])
def test_a_pdf_that_is_locked_or_cut_is_said_to_be(cut: bytes, site: Origin, readers: Any) -> None:
    data = pdf_bytes([["Secret words."]], extra_trailer=cut) if cut else pdf_bytes([["Some words."]] * 40)[:3_000]
    assert problem(site, readers, Page(data, "application/pdf")) in ("parse_error", "empty_content")


@pytest.mark.slow
@pytest.mark.attack("B5")
@pytest.mark.parametrize(
    "body",
    [
        "<p " + " ".join(f'a{n}="1"' for n in range(120_000)) + ">Words of it.</p>",
        "<div>" * 200_000 + "Words of it.",
        "<p>" + "word " * 250_000,
    ],
    ids=["attributes", "nesting", "line"],
)
def test_a_page_that_is_a_bomb_ends_within_its_time(body: str, site: Origin, readers: Any) -> None:
    assert outcome(site, readers, Page(body[:1_400_000])) in ("read", "parse_error", "empty_content")
    assert "still" in read(site, readers, Page("still here", "text/plain")).read.text


@pytest.mark.attack("B6")
@pytest.mark.parametrize("entities", [BILLION + "<html>&l9;</html>", OUTSIDE + "<html><p>&e; words</p></html>"])
def test_entities_are_neither_multiplied_nor_fetched(entities: str, site: Origin, readers: Any) -> None:
    for kind in ("text/html", "text/plain"):
        try:
            text = read(site, readers, Page(entities, kind)).read.text
        except FetchFailed:
            continue
        assert "root:" not in text
        assert len(text) < 100_000


@pytest.mark.attack("B7")
@pytest.mark.parametrize("kind", ["application/epub+zip", "application/zip", "text/html"])
def test_archives_are_not_opened(kind: str, site: Origin, readers: Any) -> None:
    assert problem(site, readers, Page(b"PK\x03\x04" + b"\x00" * 1000, kind)) in (
        "unsupported_content_type",
        "parse_error",
    )


@pytest.mark.attack("B8")
@pytest.mark.parametrize(
    ("body", "kind", "expected"),
    [
        ("Grüße aus Köln, sagte er.".encode("utf-16"), "text/plain", "Grüße aus Köln"),
        (b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", "text/plain", "Grüße"),
        ("<p>Grüße aus Köln</p>".encode("cp1252"), "text/html; charset=windows-1252", "Grüße aus Köln"),
        (b"before\x00after and more words", "text/plain", "before"),
        (b"+ADw-script+AD4- stays as it is", "text/html; charset=utf-7", "+ADw-script+AD4-"),
    ],
)
def test_encodings_that_mislead(body: bytes, kind: str, expected: str, site: Origin, readers: Any) -> None:
    text = read(site, readers, Page(body, kind)).read.text
    assert expected in text
    assert "\x00" not in text


@pytest.mark.attack("B9")
@pytest.mark.parametrize("kind", ["text/html", "text/markdown", "text/plain"])
def test_100_kb_of_one_sign_is_read_in_time(kind: str, site: Origin, readers: Any) -> None:
    for sign in REPEATED:
        body = sign * (100_000 // len(sign))
        assert outcome(site, readers, Page(body, kind)) in ("read", "empty_content", "parse_error"), sign


def test_a_reader_that_hangs_or_crashes_is_replaced() -> None:
    warm = WarmReaders(Work(misbehave, PageDocument, short), 1)
    try:
        for bad in (b"hang", b"crash"):
            with pytest.raises(ReaderLost):
                warm.read(PageBytes(bad, "text/plain", "http://site.test/"))
            good = warm.read(PageBytes(b"good words", "text/plain", "http://site.test/"))
            assert good.read is not None
            assert good.read.text == "good words"
    finally:
        warm.close()


def test_the_limits_of_a_pdf_are_those_of_its_bytes_and_not_of_its_name() -> None:
    pdf = PageBytes(b"%PDF-1.7", "text/html", "http://site.test/")
    assert page_allowance(pdf, 100_000_000).memory == 400_000_000
