"""Images by OCR: lines of text, top to bottom, as the recogniser found them. What it misread is not corrected.

Needs `citewell[ocr]`: rapidocr, whose models come with the package and run on this machine. They know Latin letters,
Chinese and Japanese. The size of an image is checked before its pixels are unpacked; beyond that a hostile file meets
Pillow's own decoders. Of an animation or a document of many pages only the first is read.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from citewell.errors import NoText, Unreadable
from citewell.readers.compose import TextBlock, compose
from citewell.text.documents import ReadDocument

INSTALL = "pip install 'citewell[ocr]'"
MAX_PIXELS = 50_000_000
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF")
_LEAST_SCORE = 0.5
_RECOGNISER = threading.Lock()
# One thread, because there is a reader process for each core. Text is looked for in a picture of at most so many pixels
# a side: with rapidocr's own settings a screenshot takes 4 s instead of 0.2 and more memory than a reader may use.
_PARAMETERS = {
    "Global.log_level": "critical",
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
    "Det.limit_type": "max",
    "Det.limit_side_len": 1_280,
    "Cls.cls_batch_num": 1,
    "Rec.rec_batch_num": 1,
}

Recognise = Callable[[bytes], Sequence[str]]


def has_ocr() -> bool:
    """Whether images can be read on this machine."""
    return all(find_spec(package) is not None for package in ("rapidocr", "onnxruntime"))


def read_image(data: bytes, recognise: Recognise | None = None) -> ReadDocument:
    """The text in this image; raises NoText when there is none, Unreadable when nothing can recognise it."""
    lines = (recognise or _recognised)(data)
    composed = compose([TextBlock("\n".join(line.strip() for line in lines if line.strip()), "ocr")])
    if not composed.text:
        raise NoText("no text found in this image")
    return ReadDocument(text=composed.text, title=None, sections=composed.sections, links=composed.links)


def _recognised(data: bytes) -> list[str]:
    if not has_ocr():
        raise Unreadable("reading images needs OCR", fix=f"Install it with: {INSTALL}")
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
    upright = importlib.import_module("PIL.ImageOps").exif_transpose
    too_large = Unreadable(f"the image has more than {MAX_PIXELS // 1_000_000} million pixels")
    try:
        with images.open(io.BytesIO(data), formats=_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                raise too_large
            return arrays.asarray(upright(image).convert("RGB"))
    except (images.DecompressionBombError, images.DecompressionBombWarning):
        raise too_large from None
    except (OSError, ValueError, SyntaxError, EOFError) as error:
        raise Unreadable("not a readable image: broken, cut off or something else") from error


@cache
def _engine() -> Any:
    import importlib

    # onnxruntime reports its use to its makers, over the network, unless the process says no before it is loaded.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    return importlib.import_module("rapidocr").RapidOCR(params=_PARAMETERS)
