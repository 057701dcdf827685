"""What Citewell itself wrote into a note, known again by the signature below it: never evidence.

    ### Harbour dues                                             <- written
    - Dues rose to 12 crowns in 1893 ([[Harbour ledger]]).       <- written
    I doubt this: see the minutes of 1894.                       <- the user's: no line of the signature
    <!-- citewell:research run=… date=2026-11-16 pad=2 lines=…hashes of every written line… -->

A line is known by two hashes: of exactly what was written, for anyone who replaces it (`notes/section.py`), and of its
words alone, for the index: a formatter that changes bullets or spaces does not turn our text into the user's. A line
of which the user changed a word is the user's. A section copied without its signature is not recognised.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

TITLE = "Research"
HEADING = f"## {TITLE}"
MARK = "<!-- citewell:research "
# Above the user's own lines that stood among ours: they are moved below, never dropped.
KEPT_HEADING = "### Kept from your notes"
NEWLINE = re.compile(r"\r\n?|\n")

_SIGNATURE = re.compile(
    r"[ \t]*<!-- citewell:research run=(?P<run>[\w.-]{1,80}) date=(?P<date>\d{4}-\d\d-\d\d)"
    r" pad=(?P<pad>[0-2]) lines=(?P<lines>[A-Za-z0-9+/=]*) -->[ \t]*"
)
_WORDS = re.compile(r"\w+")
_HASH_BYTES = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a text: `end` is where its newline starts, `stop` where the next line does."""

    start: int
    end: int
    stop: int


def lines_of(text: str) -> list[Line]:
    """The lines of a text as Markdown counts them: they end at `\\n`, `\\r\\n` or `\\r`, and at nothing else."""
    found: list[Line] = []
    start = 0
    for newline in NEWLINE.finditer(text):
        found.append(Line(start, newline.start(), newline.end()))
        start = newline.end()
    if start < len(text):
        found.append(Line(start, len(text), len(text)))
    return found


@dataclass(frozen=True, slots=True)
class Signature:
    """Which run wrote a section, when, and the hashes of its lines; `pad` newlines were put before its heading."""

    run_id: str
    date: str
    pad: int
    exact: tuple[bytes, ...]
    loose: tuple[bytes, ...]

    def wrote(self, line: str) -> bool:
        """Whether this is exactly a line it stands for."""
        return exact_hash(line) in self.exact


def signature_line(lines: Iterable[str], run_id: str, date: str, pad: int) -> str:
    """The comment that stands below what was written."""
    hashes = b"".join(exact_hash(line) + _loose_hash(line) for line in lines if line.strip())
    return f"{MARK}run={run_id} date={date} pad={pad} lines={base64.b64encode(hashes).decode()} -->"


def read_signature(line: str) -> Signature | None:
    """The signature on this line, if it is one."""
    found = _SIGNATURE.fullmatch(line)
    if found is None:
        return None
    try:
        hashes = base64.b64decode(found["lines"], validate=True)
    except binascii.Error:
        return None
    size = 2 * _HASH_BYTES
    if len(hashes) % size:
        return None
    pairs = [hashes[at : at + size] for at in range(0, len(hashes), size)]
    exact, loose = tuple(pair[:_HASH_BYTES] for pair in pairs), tuple(pair[_HASH_BYTES:] for pair in pairs)
    return Signature(found["run"], found["date"], int(found["pad"]), exact, loose)


def exact_hash(line: str) -> bytes:
    """A line as it was written, but for white space at its end."""
    return hashlib.sha256(line.rstrip().encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]


def _loose_hash(line: str) -> bytes:
    words = " ".join(_WORDS.findall(line.casefold()))
    return hashlib.sha256(b"words:" + words.encode("utf-8", "surrogatepass")).digest()[:_HASH_BYTES]


def without_written(text: str) -> str:
    """The text without what the program wrote in it; a note whose section is untouched is what it was before."""
    if MARK not in text:
        return text
    lines = lines_of(text)
    gone: set[int] = set()
    pad = 0
    for at, line in enumerate(lines):
        signature = read_signature(text[line.start : line.end])
        if signature is not None:
            gone |= {at, *_written_lines(text, lines, at, signature, gone)}
            pad = signature.pad
    if not gone:
        return text
    first = min(gone)
    gone |= {at for at, line in enumerate(lines) if at > first and text[line.start : line.end].rstrip() == KEPT_HEADING}
    return _spared(text, lines, gone, pad)


def _written_lines(text: str, lines: Sequence[Line], at: int, signature: Signature, known: set[int]) -> set[int]:
    """The lines a signature stands for: nearest above it first, then further off, as often as each was written."""
    left = Counter(signature.loose)
    taken: set[int] = set()
    for number in (*range(at - 1, -1, -1), *range(at + 1, len(lines))):
        line = text[lines[number].start : lines[number].end]
        if number in known or not line.strip():
            continue
        name = _loose_hash(line)
        if left[name] > 0:
            left[name] -= 1
            taken.add(number)
    return taken


def _spared(text: str, lines: Sequence[Line], gone: set[int], pad: int) -> str:
    """The user's lines, and the blank ones that follow them."""
    parts: list[str] = []
    is_ours = False
    for number, line in enumerate(lines):
        if text[line.start : line.end].strip():
            is_ours = number in gone
        if not is_ours:
            parts.append(text[line.start : line.stop])
    rest = "".join(parts)
    # Where nothing of the user's comes after it, the newlines that set our heading off are ours as well.
    return _without_last_newlines(rest, pad) if is_ours and text.startswith(rest) else rest


def _without_last_newlines(text: str, count: int) -> str:
    for _ in range(count):
        newline = next((one for one in ("\r\n", "\n", "\r") if text.endswith(one)), "")
        text = text.removesuffix(newline)
    return text
