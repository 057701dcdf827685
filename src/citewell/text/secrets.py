"""Secrets in a text: keys, tokens and passwords, told by their shape. It names the kind and never the value.

A shape is a hint, not a proof: an example key in a manual looks like a real one, and a password in plain words is not
seen. Documents that hold one are flagged so that a person decides before anything is sent elsewhere.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from citewell.text.canonical import UNSEEN

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


# Masking: the values of known secrets and of credential headers, each code point replaced by one `•`. Pure.
#
#     Authorization: Bearer a1b2c3d4   ->   Authorization: Bearer ••••••••
#
# Lengths stay, so that every span of the text still points at what it pointed at; masking twice changes nothing more.
# For content: notes, questions, replies. A secret is found in any case, in the spellings that addresses and messages
# give it, and with unseen characters strewn in; not when it is cut in two or written with other signs between. Headers
# are told by their shape (`Cookie: name=value`), so that prose about cookies stays; a header whose name was cut away
# is not recognised.


MASK = "•"
MIN_SECRET_CHARS = 6
# Less than this of a secret at the edge of a window is no secret any more; windows are not shorter than the other.
_LEAST_EDGE_CHARS = 12
_LEAST_WINDOW_CHARS = 50

_SCHEMES = "bearer|basic|negotiate|ntlm|token|api-?key"
_LISTING_SCHEMES = r"digest|hmac[\w-]{0,20}|aws4-hmac-sha256|oauth|signature"
_QUOTE = "[\"'`]"
_NAMED_SECRET = rf"(?<![\w-])(?:proxy-)?authorization{_QUOTE}?[ \t]{{0,3}}[:=][ \t]{{0,3}}{_QUOTE}?"
_TOKEN = r"[^\s\"'`<>•]+"
_COOKIE_PAIR = r"[\w!#$%&*+.^|~-]{1,80}=(?:\"[^\"\r\n]*\"|[^\s;,\"'`]*)"
_COOKIE_PART = rf"(?:{_COOKIE_PAIR}|(?:httponly|secure|partitioned)\b)"
_COOKIE = (
    rf"(?<![\w-])(?:set-)?cookie{_QUOTE}?[ \t]{{0,3}}:[ \t]{{0,3}}{_QUOTE}?"
    rf"(?P<value>{_COOKIE_PAIR}(?:;[ \t]{{0,3}}{_COOKIE_PART})*)"
)
_LISTED = rf"{_NAMED_SECRET}(?:{_LISTING_SCHEMES})[ \t]+(?P<value>\w+=[^\r\n]*)"
# A header ends with its credential; `Authorization: Bearer tokens are sent` is a sentence.
_WHOLE = rf"{_NAMED_SECRET}(?:{_SCHEMES})[ \t]+(?P<value>{_TOKEN})(?=[ \t]*(?:\Z|[\r\n\"'`]))"
# Elsewhere the value must look like a credential.
_SHAPED = rf"{_NAMED_SECRET}(?:(?:{_SCHEMES})[ \t]+)?(?P<value>{_TOKEN})"
_BEARER = r"(?<![\w-])bearer[ \t]+(?P<value>[\w.~+/=:-]{8,})"
_CLOSING = ".,;:!?)]}"
_LOOK_BACK_CHARS = 2_000
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))

Value = TypeVar("Value")
OnMasked = Callable[[str, str, str], None]


class Masker:
    """Masks the values of these secrets, and of credential headers, in texts and in nested values."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = tuple(dict.fromkeys(secret.strip() for secret in secrets))
        forms = {form for secret in known for form in secret_forms(secret) if len(form) >= MIN_SECRET_CHARS}
        # The longest first, so that no secret leaves the end of a longer one behind.
        ordered = sorted(forms, key=lambda form: (-len(form), form))
        # Each as it is looked for quickly, and as it is written.
        self._forms = tuple((_folded(form), form) for form in ordered)
        self._whole = tuple(one for one in known if len(one) > _LEAST_EDGE_CHARS and not re.search(r"\s", one))
        self._begun = tuple(re.sub(r"\s", " ", form) for form in ordered)
        self._longest = max(map(len, ordered), default=1)

    def mask(self, text: str) -> str:
        """The text with every secret in it masked, as long as it was."""
        if self._forms:
            folded = _folded(text)
            for looked_for, form in self._forms:
                if looked_for in folded:
                    text = _pattern(form).sub(_masked, text)
        return mask_headers(text)

    def mask_value(self, value: Value, on_masked: OnMasked | None = None) -> Value:
        """A nested value with every text in it masked, itself where nothing is; words of a closed list stay.

        `on_masked` is told the name of the field, what stood there and what stands there now.
        """
        masked: Value = _MaskWalk(self, on_masked).value(value, "")
        return masked

    def mask_window(self, text: str) -> str:
        """A slice of a larger text, at whose ends a secret may be cut in two."""
        masked = self.mask(text)
        if len(masked) < _LEAST_WINDOW_CHARS:
            return masked
        for secret in self._whole:
            masked = _without_cut(masked, secret)
        return masked

    def settled(self, text: str) -> int:
        """How much of a text that still grows can be masked now: what may become a secret has to wait."""
        at = len(text.rstrip(_VISIBLE))
        flat = re.sub(r"\s", " ", text[-self._longest :])
        for form in self._begun:
            longest = min(len(form) - 1, len(flat))
            cut = next((size for size in range(longest, 0, -1) if flat.endswith(form[:size])), 0)
            at = min(at, len(text) - cut)
        return at


class MaskedStream:
    """Passes on a text that comes in pieces, masked."""

    def __init__(self, masker: Masker, tell: Callable[[str], None]) -> None:
        self._masker = masker
        self._tell = tell
        self._text = ""
        self._told = 0

    def feed(self, piece: str) -> None:
        self._text += piece
        self._pass_on(self._masker.settled(self._text))

    def close(self) -> None:
        """The text has ended: nothing has to wait any more."""
        self._pass_on(len(self._text))

    def _pass_on(self, until: int) -> None:
        if until <= self._told:
            return
        self._tell(self._masker.mask(self._text)[self._told : until])
        # No header goes on in the next line, so a line that was told is not looked at again, nor all of a long one.
        done = max(self._text.rfind("\n", 0, until) + 1, until - _LOOK_BACK_CHARS)
        self._text, self._told = self._text[done:], until - done


def mask_headers(text: str) -> str:
    """The text with the values of `Authorization`, `Bearer` and `Cookie` headers masked."""
    lowered = text.lower()
    if "cookie" in lowered:
        text = _compiled(_COOKIE).sub(_masked, text)
    if "authorization" in lowered:
        text = _compiled(_LISTED).sub(_masked, text)
        text = _compiled(_WHOLE).sub(_masked, text)
        text = _compiled(_SHAPED).sub(_masked_credential, text)
    if "bearer" in lowered:
        text = _compiled(_BEARER).sub(_masked_credential, text)
    return text


def secret_forms(secret: str) -> Iterator[str]:
    """A secret in every spelling that an address, a header, a file name or a quoted message gives it."""
    encoded = secret.encode("utf-8", "surrogatepass")
    yield from (secret, repr(secret)[1:-1])
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield from (quote(encoded, safe=""), quote(encoded), quote_plus(encoded))
    yield base64.b64encode(encoded).decode().rstrip("=")
    yield base64.urlsafe_b64encode(encoded).decode().rstrip("=")
    yield re.sub(r"[^\w./~+-]+", "-", secret).strip("-.")
    if "://" in secret:
        yield from passwords_in(secret)


def passwords_in(address: str) -> Iterator[str]:
    """The passwords of an address, as they stand there and as they are."""
    try:
        parts = urlsplit(address)
        asked = [value for name, value in parse_qsl(parts.query) if name in ("password", "sslpassword")]
    except ValueError:
        return
    if parts.password:
        yield from (parts.password, unquote(parts.password))
    yield from asked


def masked_part(match: re.Match[str], start: int, end: int) -> str:
    """What a pattern matched, with the part from start to end masked."""
    begin = match.start()
    return match[0][: start - begin] + MASK * (end - start) + match[0][end - begin :]


def _masked(match: re.Match[str]) -> str:
    return masked_part(match, *match.span("value" if "value" in match.re.groupindex else 0))


def _masked_credential(match: re.Match[str]) -> str:
    """`Bearer a1b2c3d4` holds a credential; `Bearer authentication` does not."""
    value = match["value"].rstrip(_CLOSING)
    if not _is_credential(value):
        return match[0]
    start = match.start("value")
    return masked_part(match, start, start + len(value))


def _is_credential(value: str) -> bool:
    """Whether a word looks made by a machine: letters with digits, mixed cases, several separators."""
    if len(value) < 8:
        return False
    has_letter, has_digit = re.search("[A-Za-z]", value), re.search(r"\d", value)
    if (has_letter and has_digit) or value.endswith("="):
        return True
    if len(value) >= 20 and re.search("[a-z]", value) and re.search("[A-Z]", value):
        return True
    return len(value) >= 12 and "/" not in value and len(re.findall(r"\w[_.~+-]+(?=\w)", value)) >= 2


def _folded(text: str) -> str:
    """A text as secrets are looked for in it: one case, no unseen characters, one kind of space."""
    return " ".join(UNSEEN.sub("", text).casefold().split())


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Patterns are compiled when they are first needed: most programs never need them."""
    return re.compile(pattern, re.IGNORECASE)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    unseen = f"(?:{UNSEEN.pattern})*"
    parts = (r"\s+" if part.isspace() else unseen.join(map(re.escape, part)) for part in re.split(r"(\s+)", form))
    return re.compile("".join(part for part in parts if part), re.IGNORECASE)


def _without_cut(text: str, secret: str) -> str:
    """The text with a long enough end or beginning of the secret masked at its own beginning or end."""
    for size in range(min(len(secret) - 1, len(text)), _LEAST_EDGE_CHARS - 1, -1):
        if text.startswith(secret[-size:]):
            text = MASK * size + text[size:]
        if text.endswith(secret[:size]):
            text = text[:-size] + MASK * size
    return text


class _MaskWalk:
    """One pass over a nested value."""

    def __init__(self, masker: Masker, on_masked: OnMasked | None) -> None:
        self._masker = masker
        self._on_masked = on_masked

    def value(self, value: Any, name: str) -> Any:
        match value:
            case str():
                return self._text(value, name)
            case tuple() | list():
                return self._sequence(value, name)
            case Mapping():
                return self._mapping(value, name)
            case _ if is_dataclass(value) and not isinstance(value, type):
                return self._fields(value)
            case _:
                return value

    def _text(self, text: str, name: str) -> str:
        masked = self._masker.mask_window(text)
        if masked == text:
            return text
        if self._on_masked is not None:
            self._on_masked(name, text, masked)
        return masked

    def _sequence(self, values: Any, name: str) -> Any:
        masked = [self.value(one, name) for one in values]
        changed = any(after is not before for before, after in zip(values, masked, strict=True))
        return type(values)(masked) if changed else values

    def _mapping(self, entries: Mapping[Any, Any], name: str) -> Any:
        masked = {self.value(key, name): self.value(one, name) for key, one in entries.items()}
        return entries if masked == entries else masked

    def _fields(self, value: Any) -> Any:
        changed: dict[str, Any] = {}
        for name in _open_fields(value.__class__):
            before = getattr(value, name)
            after = self.value(before, name)
            if after is not before:
                changed[name] = after
        return replace(value, **changed) if changed else value


@cache
def _open_fields(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a dataclass that may hold free text, themselves or further down."""
    hints = get_type_hints(kind)
    return tuple(entry.name for entry in fields(kind) if _is_open(hints[entry.name]))


def _is_open(hint: Any) -> bool:
    if hint in (int, float, bool, type(None)) or get_origin(hint) is Literal:
        return False
    if get_origin(hint) in (Union, UnionType, tuple, list):
        return any(_is_open(inner) for inner in get_args(hint) if inner is not Ellipsis)
    return True
