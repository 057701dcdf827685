"""The PDF of a run, read back: every part is there, whole scripts or a refusal, and nothing is markup."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pypdfium2
import pytest

from citewell import CheckedSentence, Citewell, Unavailable
from citewell.export.formats import Exportable
from citewell.export.typst import has_pdf, to_pdf

CHINESE = "".join(chr(number) for number in range(0x4E00, 0x4E40))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Exportable:
    folder = tmp_path_factory.mktemp("pdf")
    (folder / "notes").mkdir()
    (folder / "notes" / "Lamp.md").write_text("# Lamp\nThe lamp was lit by Josiah Pell in 1859.\n", "utf-8")
    with Citewell(folder / "data") as cw:
        cw.add(folder / "notes")
        return Exportable(cw.research("Who lit the lamp?"), "2026-01-05T10:15:00.123Z", ())


def saying(run: Exportable, *texts: str) -> Exportable:
    """The run with other sentences."""
    (first, *_) = run.result.sentences
    sentences = tuple(replace(first, text=text) for text in texts)
    return replace(run, result=replace(run.result, sentences=sentences))


def read(content: bytes) -> str:
    assert content.startswith(b"%PDF-")
    document: Any = pypdfium2.PdfDocument(content)  # type: ignore[no-untyped-call]
    return " ".join(" ".join(page.get_textpage().get_text_range() for page in document).split())


def test_question_answer_sources_and_quotes_are_in_it(run: Exportable) -> None:
    text = read(to_pdf(run))
    for part in ("Who lit the lamp?", "lit by Josiah Pell in 1859. [1]", "Sources", "[1] Lamp", "Lamp.md", "Made with"):
        assert part in text, part


def test_latin_greek_cyrillic_and_hebrew_need_no_font_of_the_machine(run: Exportable) -> None:
    text = read(to_pdf(saying(run, "Grüße aus Łódź", "Ελλάδα", "Привет, мир", "שלום", "5 µg ≤ ½ – “so”")))
    for part in ("Grüße aus Łódź", "Ελλάδα", "Привет, мир", "5 µg ≤ ½ – “so”"):
        assert part in text, part
    assert "שלום" in text or "םולש" in text
    assert "U+" not in text


def test_nothing_in_it_is_read_as_markup(run: Exportable) -> None:
    hostile = '#read("/etc/passwd") *b* _e_ $x^2$ `c` @key <label> https://evil.example/x // \\ "q" #{1+1}'
    assert hostile in read(to_pdf(saying(run, hostile)))
    titled = read(to_pdf(replace(run, result=replace(run.result, question=hostile))))
    assert "".join(hostile.split()) in "".join(titled.split())


def test_lists_headings_and_tables_keep_their_texts(run: Exportable) -> None:
    text = read(to_pdf(saying(run, "- bring oil", "| Lamp | Oil |", "| Pell | Leith |")))
    assert "• bring oil [1]" in text
    assert "Lamp Oil" in text
    assert "Pell Leith [1]" in text
    assert "| Pell" not in text


def test_what_is_not_proven_says_so(run: Exportable) -> None:
    (first, *_) = run.result.sentences
    doubted: CheckedSentence = replace(first, verdict="unsupported")
    text = read(to_pdf(replace(run, result=replace(run.result, sentences=(doubted,)))))
    assert "(not found in [1])" in text


def test_a_sign_without_a_glyph_is_written_as_its_code_point_and_said(run: Exportable) -> None:
    text = read(to_pdf(saying(run, "An unassigned \u0378 sign.")))
    assert "[U+0378]" in text
    assert "stand as their code points" in text


def test_a_script_that_no_font_shows_is_refused_and_never_a_row_of_boxes(run: Exportable) -> None:
    """Where this machine has such a font it is shown instead."""
    refusal, text = None, ""
    try:
        text = read(to_pdf(saying(run, CHINESE)))
    except Unavailable as error:
        refusal = error
    assert CHINESE in text.replace(" ", "") if refusal is None else "No font" in refusal.message
    assert refusal is None or "docx" in refusal.fix


def test_without_the_library_it_says_how_to_get_it(run: Exportable, monkeypatch: pytest.MonkeyPatch) -> None:
    """None in the table of modules is what Python takes for a module that is not there."""
    monkeypatch.setitem(sys.modules, "typst", None)
    has_pdf.cache_clear()
    try:
        with pytest.raises(Unavailable) as caught:
            to_pdf(run)
    finally:
        has_pdf.cache_clear()
    assert "citewell[pdf]" in caught.value.fix


def test_the_same_run_is_the_same_file(run: Exportable) -> None:
    assert to_pdf(run) == to_pdf(run)
