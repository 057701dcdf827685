"""Images by OCR: lines of text, top to bottom, as the recogniser found them. What it misread is not corrected.

Needs the optional packages `rapidocr` and `onnxruntime`, which run on this machine. The size of an image is checked
before its pixels are unpacked; beyond that a hostile file meets Pillow's own decoders.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from citewell.domain.documents import ReadDocument
from citewell.domain.errors import Unreadable
from citewell.readers.blocks import Block, compose

MAX_PIXELS = 50_000_000
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
_LEAST_SCORE = 0.5
_RECOGNISER = threading.Lock()

Recognise = Callable[[bytes], Sequence[str]]


def has_ocr() -> bool:
    """Whether images can be read on this machine."""
    return all(find_spec(package) is not None for package in ("rapidocr", "onnxruntime"))


def read_image(data: bytes, recognise: Recognise | None = None) -> ReadDocument:
    """The text in this image; raises Unreadable when there is none, or nothing to recognise it with."""
    lines = (recognise or _recognised)(data)
    composed = compose([Block("\n".join(line.strip() for line in lines if line.strip()), "ocr")])
    if not composed.text:
        raise Unreadable("no text found in this image")
    return ReadDocument(text=composed.text, title=None, sections=composed.sections, links=composed.links)


def _recognised(data: bytes) -> list[str]:
    if not has_ocr():
        raise Unreadable("reading images needs OCR", fix="Install it with: pip install rapidocr onnxruntime")
    pixels = _pixels(data)
    with _RECOGNISER:
        found = _engine()(pixels)
    texts: Sequence[str] = getattr(found, "txts", None) or ()
    scores: Sequence[float] = getattr(found, "scores", None) or ()
    return [text for text, score in zip(texts, scores, strict=False) if score >= _LEAST_SCORE]


def _pixels(data: bytes) -> Any:
    import importlib

    # Installed with rapidocr; by name, because the type checker does not know them where they are absent.
    images, arrays = importlib.import_module("PIL.Image"), importlib.import_module("numpy")
    try:
        with images.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise Unreadable(f"the image has more than {MAX_PIXELS // 1_000_000} million pixels")
            return arrays.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, images.DecompressionBombError) as error:
        raise Unreadable("not a readable image: broken, cut off or something else") from error


@cache
def _engine() -> Any:
    import importlib

    return importlib.import_module("rapidocr").RapidOCR()
