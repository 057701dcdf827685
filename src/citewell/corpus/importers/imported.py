"""What an importer makes of a file: one document or many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from citewell.domain.documents import Kind, ReadDocument, SourceType
from citewell.domain.values import dataclass


@dataclass(frozen=True, slots=True)
class Imported:
    """One document of a file. `part` names it within the file and stays the same when the file is exported again."""

    read: ReadDocument
    source_type: SourceType
    part: str = ""
    kind: Kind | None = None
    saved: str | None = None


class Importer(Protocol):
    """One kind of file. `matches` looks at the path below the root and the first bytes; `documents` may be large."""

    name: str

    def matches(self, path: str, head: bytes) -> bool: ...

    def documents(self, data: bytes, path: str) -> Iterable[Imported]: ...
