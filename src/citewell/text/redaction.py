"""Redaction: what the program's own words (errors, logs, settings) may say once they are put on record.

Known secrets, credentials by their look or by the name of their field are masked, and absolute paths outside the
workspace are taken out; relative paths, source keys and addresses stay. Where in doubt it takes out too much, so it is
never used on content: text from a note, a question or a model goes through `text/secrets.py`. It cannot know a secret
that nobody told it and that looks like an ordinary word, nor where an unquoted path with spaces ends.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from citewell.text.secrets import KEY_SHAPES, MASK, Masker, masked_part

PATH = "[path]"
# What stands for a hidden value that is no text.
HIDDEN = MASK * 8

_CREDENTIAL = (
    r"(?:api|access|private|subscription)[_-]?key|token|secret|password|passwd|pwd|cookie|authorization|credentials?"
)
_USERINFO = re.compile(r"(?i)\b[a-z][a-z0-9+.-]{0,20}://(?P<value>[^\s/?#\"'<>]+)@")
_HEADER = re.compile(
    r"(?i)(?<![\w-])(?:(?:proxy-)?authorization|x-[\w-]{0,40}(?:key|token|secret)|api-key|(?:set-)?cookie|password|secret)"
    r"\s{0,3}:\s{0,3}(?P<value>(?![\s\"'])[^\r\n]+)"
)
_ASSIGNED = re.compile(
    rf"(?i)(?<![\w-])[\w-]{{0,40}}(?:{_CREDENTIAL})[\"']?\s{{0,3}}(?:=\s{{0,3}}|:\s{{0,3}}(?=[\"']))"
    r"(?P<value>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|[^\s,;&\"'})]+)"
)
_QUERY = re.compile(
    rf"(?i)[?&;](?:[\w.-]{{0,40}}(?:{_CREDENTIAL}|key|sig|signature|auth|session|sid|jwt)|code)="
    r"(?P<value>[^&;\s#\"'<>]+)"
)
_SCHEME = re.compile(r"(?i)\b(?:bearer|basic|digest|negotiate|token)\s{1,3}(?P<value>[\w.~+/=:-]{6,})")
_ORDINARY = re.compile(r"[A-Z]?[a-z]{1,18}[.:]?")
_SHAPES = re.compile(rf"(?<![\w-])(?P<value>{'|'.join(KEY_SHAPES.values())})")

# An absolute path stands at the beginning or behind one of these; behind a letter it is the rest of a relative one.
_BEFORE_PATH = r"(?<![^\s\"'`(\[{<>=:,;|@!“‘«（：])"
_IN_NAME = r"[^\s/\"'`<>|:;,]"
_UNQUOTED = rf"(?:file:/+|~\w*/+|(?<!:)/+|/)(?={_IN_NAME})(?:{_IN_NAME}|/)+"
_WINDOWS = r"(?:[A-Za-z]:\\|[A-Z]:/|\\\\(?=\w))[^\s\"'`<>|;,]+"
_QUOTED = "|".join(rf"(?<={mark})(?:file:|~)?(?:/|[A-Za-z]:\\)[^{mark}\n]+(?={mark})" for mark in "\"'`")
_CLOSING = ".!?)]}"

_FIELD = re.compile(
    r"(?:.*_)?(?:(?:api|access|private|subscription)_?key|authorization|token|secret|password|passwd|pwd|cookies?"
    r"|credentials?)"
)


class Redactor:
    """Takes out what must not be put on record."""

    def __init__(self, masker: Masker, *workspace: str) -> None:
        self._masker = masker
        # By each name it goes by, absolute.
        self._roots = tuple(dict.fromkeys(workspace))
        # The workspace first: its own name may have spaces in it.
        inside = "|".join(rf"{re.escape(root)}(?!{_IN_NAME})(?:{_IN_NAME}|/)*" for root in self._roots)
        self._paths = re.compile(f"{_QUOTED}|{_BEFORE_PATH}(?:{inside}|{_UNQUOTED}|{_WINDOWS})")

    def redact(self, text: str) -> str:
        """The text without secrets, credentials and paths outside the workspace."""
        text = self._masker.mask(text)
        for pattern in (_USERINFO, _HEADER, _ASSIGNED, _QUERY):
            text = pattern.sub(_masked, text)
        text = _SCHEME.sub(_without_credential, text)
        text = _SHAPES.sub(_masked, text)
        return self._paths.sub(lambda match: self._shown(match[0]), text)

    def redact_value(self, value: Any) -> Any:
        """A nested value without the fields that hold credentials, and with every text in it redacted."""
        match value:
            case str():
                return self.redact(value)
            case Mapping():
                return self._redact_fields(value)
            case list() | tuple() if _is_named_credential(value):
                return type(value)((value[0], _hidden(value[1])))
            case list():
                return [self.redact_value(entry) for entry in value]
            case tuple():
                return tuple(self.redact_value(entry) for entry in value)
            case _:
                return value

    def _redact_fields(self, fields: Mapping[Any, Any]) -> dict[Any, Any]:
        shown: dict[Any, Any] = {}
        for name, value in fields.items():
            label = self.redact(name) if isinstance(name, str) else name
            while label in shown:  # two paths that look alike now are still two fields
                label = f"{label} (again)"
            is_hidden = isinstance(name, str) and is_credential(name) and not _is_empty(value)
            shown[label] = _hidden(value) if is_hidden else self.redact_value(value)
        return shown

    def _shown(self, path: str) -> str:
        """A path relative to the workspace, or only that there was one."""
        bare = path.rstrip(_CLOSING)
        tail = path[len(bare) :]
        plain = unquote(bare.removeprefix("file:")) if bare.startswith("file:") else bare
        # POSIX leaves two slashes at the beginning as they are.
        normal = posixpath.normpath(re.sub("^/+", "/", plain))
        for root in self._roots:
            if normal == root:
                return f".{tail}" if tail[:1] not in (".", "/") else f"./{tail}"
            if normal.startswith(root.rstrip("/") + "/"):
                return normal[len(root.rstrip("/")) + 1 :] + tail
        return PATH + tail


def is_credential(name: str) -> bool:
    """Whether a field of this name holds something nobody should read: `apiKey`, `X-Auth-Token`, not `tokens`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return _FIELD.fullmatch(re.sub(r"[^a-z0-9]+", "_", words.lower()).strip("_")) is not None


def _is_named_credential(value: list[Any] | tuple[Any, ...]) -> bool:
    """A header as a pair."""
    return len(value) == 2 and isinstance(value[0], str) and is_credential(value[0]) and not _is_empty(value[1])


def _is_empty(value: object) -> bool:
    return value is None or value == "" or isinstance(value, bool)


def _hidden(value: object) -> str:
    return MASK * len(value) if isinstance(value, str) else HIDDEN


def _masked(match: re.Match[str]) -> str:
    """The match with its value masked; the quotation marks around it stay."""
    start, end = match.span("value")
    if match["value"][0] in "\"'" and len(match["value"]) > 1:
        start, end = start + 1, end - 1
    return masked_part(match, start, end)


def _without_credential(match: re.Match[str]) -> str:
    """`Basic dXNlcjpwdw==` is one; `basic understanding` is not."""
    return match[0] if _ORDINARY.fullmatch(match["value"]) else _masked(match)
