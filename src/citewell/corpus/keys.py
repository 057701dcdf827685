"""Source keys: the stable name of a document, `prefix:identifier`, readable and kept through renames."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable
from pathlib import PurePosixPath

from citewell.domain.documents import KEY_PREFIXES, SourceType

_NOT_KEY = re.compile(r"[^\w./~+-]+")
_HYPHENS = re.compile(r"-{2,}")
_VERSION = re.compile(r"^(?P<key>.+)@(?P<hash>[0-9a-f]{64})$")
_MAX_IDENTIFIER = 160


def mint_key(source_type: SourceType, collection: str, path: str, part: str, is_taken: Callable[[str], bool]) -> str:
    """A new key for a document first seen at this path, or in this part of the file there."""
    identifier = slug(f"{PurePosixPath(collection) / PurePosixPath(path).with_suffix('')}/{part}")
    if len(identifier) > _MAX_IDENTIFIER:
        digest = hashlib.sha256(f"{path}#{part}".encode()).hexdigest()[:8]
        identifier = f"{identifier[: _MAX_IDENTIFIER - 9]}~{digest}"
    key = f"{KEY_PREFIXES[source_type]}:{identifier}"
    number = 2
    candidate = key
    while is_taken(candidate):
        candidate = f"{key}~{number}"
        number += 1
    return candidate


def slug(name: str) -> str:
    """A name as part of a key: letters and digits of any script, `-` for the rest, lower case."""
    joined = _HYPHENS.sub("-", _NOT_KEY.sub("-", unicodedata.normalize("NFC", name).lower()))
    parts = (part.strip("-.") for part in joined.split("/"))
    return "/".join(part for part in parts if part) or "unnamed"


def split_version(lookup: str) -> tuple[str, str | None]:
    """`KEY@CONTENT_HASH` names an earlier text of a document; a plain key names the current one."""
    match = _VERSION.match(lookup)
    return (match["key"], match["hash"]) if match else (lookup, None)
