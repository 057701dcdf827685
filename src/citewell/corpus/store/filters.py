"""Filters as SQL conditions on `documents d`; they narrow what is ranked, they never trim what was."""

from __future__ import annotations

from citewell.corpus.tags import fold_tag
from citewell.domain.queries import Filters
from citewell.domain.values import dataclass
from citewell.text.urls import canonical_url

Binding = str | int


@dataclass(frozen=True, slots=True)
class Condition:
    """A conjunction to put behind WHERE, with its bindings."""

    sql: str
    bindings: tuple[Binding, ...]


def condition(filters: Filters) -> Condition:
    """The condition a document has to meet; always true where nothing is filtered."""
    parts: list[Condition] = []
    if filters.source_types:
        parts.append(_any_of("d.source_type", filters.source_types))
    if filters.collections:
        inner = _any_of("name", filters.collections)
        sql = f"d.collection_id IN (SELECT id FROM collections WHERE {inner.sql})"
        parts.append(Condition(sql, inner.bindings))
    for tag in filters.tags:
        parts.append(_tagged(tag))
    if filters.only:
        options = [_under(path) for path in filters.only]
        parts.append(Condition(_either(options), _bindings(options)))
    for path in filters.exclude_paths:
        under = _under(path)
        parts.append(Condition(f"NOT {under.sql}", under.bindings))
    for domain in filters.exclude_domains:
        parts.append(_not_from(domain))
    if filters.since:
        parts.append(Condition("d.dated >= ?", (filters.since,)))
    if filters.until:
        # A day means its whole day: compare as many characters as were given.
        parts.append(Condition("substr(d.dated, 1, ?) <= ?", (len(filters.until), filters.until)))
    return Condition(" AND ".join(part.sql for part in parts) or "1", _bindings(parts))


def _any_of(column: str, values: tuple[str, ...]) -> Condition:
    return Condition(f"{column} IN ({','.join('?' * len(values))})", tuple(values))


def _tagged(tag: str) -> Condition:
    folded = fold_tag(tag)
    sql = "d.id IN (SELECT document_id FROM tags WHERE folded = ? OR (folded > ? AND folded < ?))"
    return Condition(sql, (folded, folded + "/", folded + "0"))  # "0" follows "/": everything nested below


def _under(path: str) -> Condition:
    clean = path.strip().strip("/")
    sql = "(coalesce(d.note_path, '') = ? OR substr(coalesce(d.note_path, ''), 1, ?) = ?)"
    return Condition(sql, (clean, len(clean) + 1, clean + "/"))


def _not_from(domain: str) -> Condition:
    name = (canonical_url(domain if "//" in domain else f"https://{domain}") or "").removeprefix("https://")
    sql = "NOT (coalesce(d.canonical_url, '') || '/' LIKE ? OR coalesce(d.canonical_url, '') || '/' LIKE ?)"
    return Condition(sql, (f"https://{name}/%", f"https://%.{name}/%"))


def _either(parts: list[Condition]) -> str:
    return "(" + " OR ".join(part.sql for part in parts) + ")"


def _bindings(parts: list[Condition]) -> tuple[Binding, ...]:
    return tuple(binding for part in parts for binding in part.bindings)
