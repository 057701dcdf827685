"""How much of what a saved page shows is lost when it is read: `python bench/pages.py FOLDER`.

Counted without the reader's own code: the words of the body outside scripts, forms, hidden elements, `nav`, and the
header and footer of the page. A page may lose a tenth of them, more only when `status --problems` says so.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lxml import html

from citewell.errors import Unreadable
from citewell.readers.html import read_html

ALLOWED = 0.1
_WORD = re.compile(r"\w+")
_NOT_SHOWN = (
    "//script|//style|//noscript|//template|//svg|//select|//textarea|//iframe|//head|//nav|//button|//*[@hidden]"
    "|//*[@aria-hidden='true']|//*[@role='navigation']|//*[@role='banner']|//*[@role='contentinfo']"
    "|//*[@role='menu']|//*[@role='search']"
    "|//*[contains(@style,'display:none')]|//*[contains(@style,'display: none')]"
    "|//header[not(ancestor::article) and not(ancestor::main)]|//footer[not(ancestor::article) and not(ancestor::main)]"
)
_INLINE = frozenset(
    "a abbr b bdi bdo cite code dfn em i kbd mark q s samp small span strong sub sup time u var".split()
)


@dataclass(frozen=True, slots=True)
class Loss:
    """One page: its visible words, the share of them that its text lacks, and what the reader says of it."""

    path: Path
    words: int
    share: float
    said: tuple[str, ...]


def visible_words(data: bytes) -> Counter[str]:
    """The words a reader of the page sees outside of navigation."""
    tree: Any = html.document_fromstring(data.decode("utf-8", "replace") or "<html></html>")  # type: ignore[no-untyped-call]
    for element in tree.xpath(_NOT_SHOWN):
        if element.getparent() is not None:
            element.drop_tree()
    for element in tree.iter():
        element.tail = f"{element.tail or ''} " if element.tag not in _INLINE else element.tail
    return Counter(_WORD.findall(tree.text_content().lower()))


def loss(path: Path) -> Loss | None:
    """What reading this page loses; None for one that shows nothing."""
    data = path.read_bytes()
    seen = visible_words(data)
    if not seen:
        return None
    try:
        page = read_html(data)
    except Unreadable as error:
        return Loss(path, seen.total(), 1.0, (str(error),))
    missing = seen - Counter(_WORD.findall(page.text.lower()))
    return Loss(path, seen.total(), missing.total() / seen.total(), page.warnings)


def main(folder: str) -> None:
    """Print the loss of every page that loses more than it may, and the figures of all."""
    paths = sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() in {".html", ".htm", ".xhtml"})
    losses = [found for path in paths if (found := loss(path)) is not None]
    for one in sorted(losses, key=lambda one: -one.share):
        if one.share > ALLOWED:
            print(f"{one.share:6.1%} of {one.words:5} words  {one.path.name}  {'; '.join(one.said) or 'nothing said'}")
    words = sum(one.words for one in losses)
    silent = sum(one.share > ALLOWED and not one.said for one in losses)
    print(f"{len(losses)} pages, {words} visible words outside navigation")
    print(f"lost of all words: {sum(one.share * one.words for one in losses) / max(1, words):.2%}")
    mean, worst = statistics.mean(one.share for one in losses), max(one.share for one in losses)
    print(f"lost of a page: mean {mean:.2%}, worst {worst:.2%}")
    print(f"pages that lose more than {ALLOWED:.0%}: {sum(one.share > ALLOWED for one in losses)}, unsaid: {silent}")


if __name__ == "__main__":
    main(sys.argv[1])
