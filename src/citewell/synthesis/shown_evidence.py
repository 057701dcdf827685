"""Evidence as a model is shown it: sources numbered by the engine, each sentence with a mark, all of it inert. Pure.

Every line begins with the engine's own mark. A stored text cannot begin a line, forge a mark, a role or a template
token: line breaks are folded, bracketed numbers and template tokens are rewritten, what no reader sees is left out.
"""

from __future__ import annotations

import re

from citewell.domain.answers import PreparedSource
from citewell.text.secrets import kinds_of_secrets
from citewell.text.sentences import sentences
from citewell.text.unseen import UNSEEN

_FORGED_MARK = re.compile(r"[\[【](\s*\d{1,4}(?:[.,;\s–-]{1,3}\d{1,4}){0,8}\s*)[\]】]")
_DEFUSED = str.maketrans("<[]|", "‹()¦")
_TEMPLATE = re.compile(
    r"<\|[^|<>\n]{0,60}\|>|<\|"
    r"|</?s>|<</?SYS>>|\[/?INST\]|</?(?:start|end)_of_turn>|</?(?:system|assistant|user|tool|think|evidence)[^<>\n]{0,40}>",
    re.IGNORECASE,
)


def inert(text: str) -> str:
    """A stored text as data on one line."""
    seen = UNSEEN.sub("", text.replace("\r", "\n"))
    seen = _TEMPLATE.sub(lambda match: match[0].translate(_DEFUSED), seen)
    seen = _FORGED_MARK.sub(r"(\1)", seen)
    return " ".join(seen.split())


def render_source(source: PreparedSource, *, withhold_secrets: bool = False) -> str:
    """A source as text: its number, what it is and where it stands, then its sentences with their marks.

    With `withhold_secrets` a passage in which a key, a token or a password seems to stand is named and not shown.
    """
    where = inert(source.note_path or source.url or "")
    details = ", ".join(part for part in (source.role, source.source_type, (source.dated or "")[:10]) if part)
    lines = [f"[{source.n}] {inert(source.title)} ({details}) {inert(source.source_key)} {where}".rstrip()]
    for m, (start, end) in enumerate(passages(source), start=1):
        kinds = secrets_in(source, start, end) if withhold_secrets else ()
        shown = f"(withheld: {', '.join(kinds)})" if kinds else inert(source.text[start:end])
        lines.append(f"[{source.n}.{m}] {shown}")
    return "\n".join(lines) + "\n\n"


def secrets_in(source: PreparedSource, start: int = 0, end: int | None = None) -> tuple[str, ...]:
    """The kinds of secrets in a passage; a private key goes on over many passages, so it counts for all of them."""
    kinds = kinds_of_secrets(source.text[start:end])
    return kinds or tuple(kind for kind in kinds_of_secrets(source.text) if kind == "private key")


def passages(source: PreparedSource) -> list[tuple[int, int]]:
    """The spans in the source's window that a model can point at, in the order of their marks."""
    return list(sentences(source.text))
