"""Images: the lines a recogniser finds are OCR text; without one they are skipped with the reason."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from citewell import AddReport, Citewell
from citewell.errors import NoText, Unreadable
from citewell.readers import image
from citewell.readers.image import has_ocr, read_image
from citewell.readers.kinds import Skip, detect
from citewell.text.documents import ReadDocument, Section

pytestmark = pytest.mark.slow

Write = Callable[[dict[str, str | bytes]], Path]
AddPath = Callable[..., AddReport]

needs_ocr = pytest.mark.skipif(not has_ocr(), reason="rapidocr is not installed: make test installs it")


def test_recognised_lines_are_ocr_text() -> None:
    text = "LOWER KEEPER'S COTTAGE\nScale 1:50"
    assert read_image(b"", recognise=lambda _: [" LOWER KEEPER'S COTTAGE", "", "Scale 1:50"]) == ReadDocument(
        text=text, title=None, sections=(Section("ocr", 0, len(text)),)
    )


def test_an_image_without_text_has_nothing_to_read() -> None:
    with pytest.raises(NoText, match="no text found"):
        read_image(b"", recognise=lambda _: [])


def test_without_ocr_an_image_is_skipped_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image, "find_spec", lambda _: None)
    assert detect("plan.PNG", b"") == Skip("images (.png): reading them needs OCR (pip install 'citewell[ocr]')")
    with pytest.raises(Unreadable, match="needs OCR"):
        read_image(b"\x89PNG")


def drawn(*lines: str, turned: int = 0, format: str = "PNG", **options: Any) -> bytes:
    """A picture of these lines in Latin letters, turned by so many degrees."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", (900, 60 + 80 * len(lines)), "white")
    for number, line in enumerate(lines):
        ImageDraw.Draw(picture).text((30, 30 + 80 * number), line, font=ImageFont.load_default(44), fill="black")
    return saved(picture.rotate(turned, expand=True, fillcolor="white"), format, **options)


def drawn_chinese() -> bytes:
    """The characters 中上土田, stroke by stroke: no font of this machine needs to have them."""
    from PIL import Image, ImageDraw

    strokes = {
        0: [(15, 60, 105, 60), (15, 110, 105, 110), (15, 60, 15, 110), (105, 60, 105, 110), (60, 30, 60, 150)],
        130: [(60, 35, 60, 145), (60, 80, 100, 80), (10, 145, 110, 145)],
        260: [(25, 75, 95, 75), (60, 35, 60, 145), (10, 145, 110, 145)],
        390: [
            *((15, y, 105, y) for y in (40, 90, 140)),
            *((x, 40, x, 140) for x in (15, 60, 105)),
        ],
    }
    picture = Image.new("RGB", (560, 190), "white")
    for left, lines in strokes.items():
        for x, y, to_x, to_y in lines:
            ImageDraw.Draw(picture).line((x + left + 20, y, to_x + left + 20, to_y), fill="black", width=9)
    return saved(picture, "PNG")


def saved(picture: Any, format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format, **options)
    return buffer.getvalue()


def png_of_size(width: int, height: int) -> bytes:
    """A picture that says it is this large, in a few bytes."""

    def part(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", zlib.compress(b"\0" * 64)) + part(b"IEND", b"")


@needs_ocr
@pytest.mark.parametrize("turned", [0, 6, 90, 180])
def test_the_real_recogniser_reads_a_picture_however_it_lies(turned: int) -> None:
    assert read_image(drawn("Limewash needs three coats", turned=turned)).text == "Limewash needs three coats"


@needs_ocr
@pytest.mark.parametrize(("format", "options"), [("JPEG", {}), ("WEBP", {"lossless": True}), ("GIF", {}), ("TIFF", {})])
def test_the_real_recogniser_reads_every_usual_format(format: str, options: dict[str, Any]) -> None:
    assert read_image(drawn("Scale one to fifty", format=format, **options)).text == "Scale one to fifty"


@needs_ocr
def test_a_photograph_taken_sideways_is_turned_upright() -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6  # the camera lay on its side
    turned = drawn("Keeper of the light", "Orrin Head", turned=90, format="JPEG", exif=exif)
    assert read_image(turned).text == "Keeper of the light\nOrrin Head"


@needs_ocr
def test_the_real_recogniser_reads_a_second_script() -> None:
    assert read_image(drawn_chinese()).text == "中上土田"


@needs_ocr
def test_an_empty_picture_has_nothing_to_read() -> None:
    with pytest.raises(NoText, match="no text found"):
        read_image(drawn(" "))


@needs_ocr
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x89PNG\r\n\x1a\nrest", "not a readable image"),
        (b"", "not a readable image"),
        (png_of_size(300, 300), "not a readable image"),
        (png_of_size(8_000, 8_000), "more than 50 million pixels"),
        (png_of_size(10_000, 10_000), "more than 50 million pixels"),
        (png_of_size(20_000, 20_000), "more than 50 million pixels"),
    ],
    ids=["corrupt", "empty file", "no pixels", "64 million", "100 million", "bomb"],
)
def test_broken_and_huge_images_are_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read_image(data)


@needs_ocr
def test_the_recogniser_tells_nobody_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """The library behind it keeps a device number and a queue of reports in the home folder, unless told not to."""
    (tmp_path / "plan.png").write_bytes(drawn("Scale one to fifty"))
    home = tmp_path / "home"
    program = (
        "import sys, pathlib; from citewell.readers.image import read_image;"
        "print(read_image(pathlib.Path(sys.argv[1]).read_bytes()).text)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "plan.png")],
        env={"HOME": str(home), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr, home.exists()) == ("Scale one to fifty\n", "", False)


@needs_ocr
def test_words_in_a_picture_are_found_in_the_corpus(vault: Write, add_path: AddPath, engine: Citewell) -> None:
    files: dict[str, str | bytes] = {
        "img/label.png": drawn("Natural hydraulic lime", "NHL 3.5 from Skelday"),
        "img/blank.png": drawn(" "),
        "img/broken.png": b"\x89PNG\r\n\x1a\nrest",
        "img/bomb.png": png_of_size(20_000, 20_000),
        "Note.md": "The bag: ![[label.png]] and ![[blank.png]]",
    }
    report = add_path(vault(files))
    assert (report.indexed, report.skipped, report.failed) == (2, 1, 2)
    (row,) = engine.search("hydraulic lime").results
    assert (row.source_key, row.source_type, row.kind, row.role) == ("image:vault/img/label", "image", "source", "ocr")
    assert [section.role for section in row.sections] == ["ocr"]
    related = engine.corpus.related("note:vault/note")
    assert [(found.source_key, found.role) for found in related.related] == [("image:vault/img/label", "attachment")]
    assert [(file.path, file.reason) for file in related.attachments if not file.source_key] == [
        ("img/blank.png", "no text found in this image")
    ]
