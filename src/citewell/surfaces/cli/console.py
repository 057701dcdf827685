"""Writing to the terminal: results on stdout, everything else on stderr; no document can move the cursor."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from citewell.surfaces.wire import to_json

if TYPE_CHECKING:
    from rich.console import Console

# Escape sequences in a saved page must not reach the terminal as commands; bidi controls must not reorder a line.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f‪-‮⁦-⁩]")

_STYLES = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "cyan": "36", "red": "31"}
_OURS = re.compile(rf"(\x1b\[(?:0|{'|'.join(_STYLES.values())})m)")


def safe(text: str) -> str:
    """Text that shows as itself."""
    return _CONTROL.sub("�", text)


def one_line(text: str, width: int = 160) -> str:
    """Text on one line, shortened to a width."""
    flat = " ".join(safe(text).split())
    return flat if len(flat) <= width else flat[: width - 1].rstrip() + "…"


def is_terminal() -> bool:
    return sys.stdout.isatty()


def print_json(value: object) -> None:
    """Exactly one JSON document on stdout, UTF-8 whatever the locale says."""
    sys.stdout.flush()
    sys.stdout.buffer.write(to_json(value) + b"\n")
    sys.stdout.buffer.flush()


def print_text(text: str = "") -> None:
    """A line of the result; of what could steer a terminal, only our own colours pass."""
    if not is_terminal():
        print(safe(text))
        return
    print("".join(part if _OURS.fullmatch(part) else safe(part) for part in _OURS.split(text)))


def note(text: str) -> None:
    """A line for the person watching; never part of the result."""
    print(safe(text), file=sys.stderr, flush=True)


def rich_console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table on a terminal; tab-separated lines with a header when piped."""
    cells = [[one_line(cell, 200) for cell in row] for row in rows]
    if not is_terminal():
        print("\t".join(columns))
        for row in cells:
            print("\t".join(row))
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title) if title else None, title_justify="left", header_style="bold", show_lines=False)
    for number, column in enumerate(columns):
        # What comes first is what a person copies: it stays on one line.
        table.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in cells:
        table.add_row(*(escape(cell) for cell in row))
    rich_console().print(table)


def print_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Names and values, aligned."""
    listed = [(name, safe(value)) for name, value in pairs]
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        print(f"{name.ljust(width)}  {value}")


def style(text: str, how: str) -> str:
    """Text in a colour on a terminal, plain elsewhere."""
    return f"\x1b[{_STYLES[how]}m{safe(text)}\x1b[0m" if is_terminal() else safe(text)
