"""Images: the lines a recogniser finds are OCR text; without one they are skipped with the reason."""

from __future__ import annotations

import pytest

from citewell.domain.documents import ReadDocument, Section
from citewell.domain.errors import Unreadable
from citewell.readers import image
from citewell.readers.image import has_ocr, read_image
from citewell.readers.kinds import Skip, detect


def test_recognised_lines_are_ocr_text() -> None:
    text = "LOWER KEEPER'S COTTAGE\nScale 1:50"
    assert read_image(b"", recognise=lambda _: [" LOWER KEEPER'S COTTAGE", "", "Scale 1:50"]) == ReadDocument(
        text=text, title=None, sections=(Section("ocr", 0, len(text)),)
    )


def test_an_image_without_text_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="no text found"):
        read_image(b"", recognise=lambda _: [])


def test_without_ocr_an_image_is_skipped_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "find_spec", lambda _: None)
    assert detect("plan.PNG", b"") == Skip("images (.png): reading them needs OCR (pip install rapidocr onnxruntime)")
    with pytest.raises(Unreadable, match="needs OCR"):
        read_image(b"\x89PNG")


@pytest.mark.skipif(not has_ocr(), reason="rapidocr is not installed")
def test_a_broken_image_is_unreadable() -> None:
    with pytest.raises(Unreadable, match="not a readable image"):
        read_image(b"\x89PNG\r\n\x1a\nrest")
