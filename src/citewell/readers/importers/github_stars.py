"""Starred repositories as the GitHub API lists them, with the time of the star or without."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from citewell.readers.compose import TextBlock, compose
from citewell.readers.importers.entries import (
    ImportedDocument,
    address,
    distinct,
    export_text,
    fields_of,
    json_entries,
    line,
    moment,
    noting_left_out,
    prose,
    tags_of,
)
from citewell.readers.kinds import suffix_of
from citewell.text.documents import ReadDocument

_SUFFIXES = (".json", ".jsonl", ".ndjson")
_FULL_NAME = re.compile(rb"\"full_name\"\s*:\s*\"")
_REPOSITORY = re.compile(rb"\"(?:starred_at|html_url|stargazers_count)\"\s*:")


class GithubStars:
    """What `GET /user/starred` answers, as one list, as pages of lists or as lines."""

    name = "github_stars"

    def matches(self, path: str, head: bytes) -> bool:
        is_json = suffix_of(path) in _SUFFIXES
        return is_json and _FULL_NAME.search(head) is not None and _REPOSITORY.search(head) is not None

    def documents(self, data: bytes, path: str) -> Iterable[ImportedDocument]:
        entries = json_entries(export_text(data, path))
        return noting_left_out((_document(fields_of(entry)) for entry in entries), "starred repositories")


def _document(entry: Mapping[str, object]) -> ImportedDocument | None:
    repository = fields_of(entry.get("repo")) or entry
    name = line(repository.get("full_name"))
    if not name:
        return None
    url = address(repository.get("html_url"))
    composed = compose(
        [TextBlock(name), TextBlock(prose(repository.get("description"))), TextBlock(_facts(repository, url))]
    )
    read = ReadDocument(
        text=composed.text,
        title=name,
        sections=composed.sections,
        links=composed.links,
        tags=tags_of(repository.get("topics")),
        author=line(fields_of(repository.get("owner")).get("login")) or None,
        url=url,
        created=moment(repository.get("created_at")),
        modified=moment(repository.get("pushed_at")),
    )
    return ImportedDocument(read, "github", part=name, kind="item", saved=moment(entry.get("starred_at")))


def _facts(repository: Mapping[str, object], url: str | None) -> str:
    """What else there is to find it by. No counts: they change by the hour, and each would be a new text."""
    topics = ", ".join(tags_of(repository.get("topics")))
    licence = line(fields_of(repository.get("license")).get("name"))
    named = {
        "Language": line(repository.get("language")),
        "Topics": topics,
        "License": licence,
        "Homepage": address(repository.get("homepage")) or "",
    }
    return "\n".join(distinct((*(f"{key}: {value}" for key, value in named.items() if value), url or "")))
