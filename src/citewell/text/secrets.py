"""Secrets in a text: keys, tokens and passwords, told by their shape. It names the kind and never the value.

A shape is a hint, not a proof: an example key in a manual looks like a real one, and a password in plain words is not
seen. Documents that hold one are flagged so that a person decides before anything is sent elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Each shape begins where no word goes on; the kinds are what a person calls them.
KEY_SHAPES: dict[str, str] = {
    "API key": r"sk-[\w-]{12,}|tvly-[\w-]{8,}|AIza[\w-]{20,}|hf_\w{16,}",
    "GitHub or GitLab token": "|".join(rf"gh{letter}_\w{{16,}}" for letter in "pousr")
    + r"|github_pat_\w{16,}|glpat-[\w-]{12,}",
    "Slack token": r"xox[abprs]-[\w-]{8,}",
    "AWS access key": r"AKIA[A-Z0-9]{12,}",
    "signed token (JWT)": r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?",
}
_PRIVATE_KEY = r"-----BEGIN (?:[A-Z]{2,10} ){0,3}PRIVATE KEY-----"
# Long enough, and with both letters and digits: `password: see the safe` names no password.
_VALUE = r"(?=[^\s\"'`<>]{0,80}\d)(?=[^\s\"'`<>]{0,80}[A-Za-z])[^\s\"'`<>]{8,80}"
_ASSIGNED = (
    r"(?i:pass(?:word|wd|phrase)|pwd|secret(?:[_ -]?key)?|api[_ -]?key|access[_ -]?token|auth[_ -]?token)"
    rf"[*_`\"' \t]{{0,5}}[:=][*_`\"' \t]{{0,5}}{_VALUE}"
)
_LOGIN = r"://[^\s/:@\"'<>]{1,64}:[^\s/@\"'<>]{3,64}@[\w.-]"
_NAMED = ("password", "passwd", "passphrase", "pwd", "secret", "api_key", "api key", "api-key", "apikey", "token")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of secret; a text without any of the hints is not looked through for it, which is ten times faster."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


_KINDS = (
    *(
        _Kind(name, tuple(re.findall(r"(?:^|\|)([A-Za-z]{2,}[-_]?)", shape)), re.compile(rf"(?<![\w-])(?:{shape})"))
        for name, shape in KEY_SHAPES.items()
    ),
    _Kind("private key", ("PRIVATE KEY",), re.compile(_PRIVATE_KEY)),
    _Kind("password", _NAMED, re.compile(rf"(?<![\w-]){_ASSIGNED}")),
    _Kind("address with a password", ("://",), re.compile(_LOGIN)),
)
# No secret looked for is longer than this, so a text may be looked through piece by piece with so much overlap.
LONGEST = 200


def kinds_of_secrets(text: str) -> tuple[str, ...]:
    """The kinds of secrets that seem to stand in a text, each once."""
    lowered = text.lower()
    return tuple(kind.name for kind in _KINDS if _is_hinted(kind, text, lowered) and kind.pattern.search(text))


def _is_hinted(kind: _Kind, text: str, lowered: str) -> bool:
    return any(hint in (lowered if hint.islower() else text) for hint in kind.hints)
