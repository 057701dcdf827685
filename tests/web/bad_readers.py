"""Readers that hang or crash, in a module that a process of their own can import by its name."""

from __future__ import annotations

import os

from citewell.readers.pages import PageBytes, PageDocument, read_page
from citewell.readers.process_pool import Allowance


def short(page: PageBytes, held: int | None) -> Allowance:
    return Allowance(0.5 if page.data == b"hang" else 20.0)


def misbehave(page: PageBytes) -> PageDocument:
    while page.data == b"hang":
        pass
    if page.data == b"crash":
        os.abort()
    return read_page(page)
