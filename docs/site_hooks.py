"""What `make site` does to a page before MkDocs renders it: no comments, and no links to files outside of docs/.

Pages link to code and data of the repository, which the site does not hold: such a link becomes its text. A link that
leads nowhere is left as it is, so that MkDocs refuses it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s#]+)[^)\s]*\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page as the site shows it."""
    folder = (DOCS / page.file.src_uri).parent
    return LINK.sub(lambda link: _for_the_site(link, folder), re.sub(r"<!--.*?-->\n?", "", markdown, flags=re.DOTALL))


def _for_the_site(link: re.Match[str], folder: Path) -> str:
    target = (folder / link[2]).resolve()
    if target.is_dir() or (target.exists() and not target.is_relative_to(DOCS)):
        return link[1]
    return link[0]
