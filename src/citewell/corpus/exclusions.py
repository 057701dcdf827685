"""Excluding by tag: `--exclude tag:private` keeps documents out of the corpus by what they say of themselves.

A tag is known once a file was read, so these rules apply between reading and indexing; globs apply in the walk.
"""

from __future__ import annotations

from collections.abc import Sequence

from citewell.corpus.tags import fold_tag
from citewell.domain.prepared import PreparedDocument

_TAG = "tag:"


def excluded_tags(excludes: Sequence[str]) -> dict[str, str]:
    """The folded tags that rules name, each with its rule as the user wrote it."""
    return {fold_tag(rule.removeprefix(_TAG)): rule for rule in excludes if rule.startswith(_TAG)}


def path_rules(excludes: Sequence[str]) -> tuple[str, ...]:
    """The rules that are about names of files and folders."""
    return tuple(rule for rule in excludes if not rule.startswith(_TAG))


def rule_against(document: PreparedDocument, tags: dict[str, str]) -> str | None:
    """The rule that keeps a document out: it carries the tag, or one nested in it."""
    for _, folded in document.tags:
        names = folded.split("/")
        for depth in range(1, len(names) + 1):
            if rule := tags.get("/".join(names[:depth])):
                return f"--exclude {rule}"
    return None
