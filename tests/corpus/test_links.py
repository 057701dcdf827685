"""A link means the document Obsidian would open."""

from __future__ import annotations

import pytest

from citewell.store.links import LinkTarget, choose_target, lookup_name, names_of
from citewell.text.documents import Link

NOTES = [
    "Home.md",
    "Projects/Budget.md",
    "Co-op/Budget.md",
    "Co-op/2024/Budget.md",
    "People/Ewan Ross.md",
    "a/b/Deep.md",
]


def resolve(target: str, source: str = "Home.md", aliases: dict[str, str] | None = None) -> str | None:
    candidates = []
    wanted = lookup_name(Link("wikilink", target, 0, 0))
    for number, path in enumerate(NOTES):
        for name, is_alias in names_of(path, [a for a, p in (aliases or {}).items() if p == path]):
            if name == wanted:
                candidates.append(LinkTarget(number, path, is_alias))
    chosen = choose_target(target, source, candidates)
    return None if chosen is None else chosen.path


@pytest.mark.parametrize(
    ("target", "source", "meant"),
    [
        ("Ewan Ross", "Home.md", "People/Ewan Ross.md"),
        ("ewan ross", "Home.md", "People/Ewan Ross.md"),
        ("Ewan Ross.md", "Home.md", "People/Ewan Ross.md"),
        ("Budget", "Home.md", "Co-op/Budget.md"),
        ("Budget", "Projects/Plan.md", "Projects/Budget.md"),
        ("Projects/Budget", "Co-op/Plan.md", "Projects/Budget.md"),
        ("2024/Budget", "Home.md", "Co-op/2024/Budget.md"),
        ("b/Deep", "Home.md", "a/b/Deep.md"),
        ("../Projects/Budget", "Co-op/Plan.md", "Projects/Budget.md"),
        ("./Budget", "Co-op/Plan.md", "Co-op/Budget.md"),
        ("/Projects/Budget", "Home.md", "Projects/Budget.md"),
        ("Nobody", "Home.md", None),
        ("Elsewhere/Budget", "Home.md", None),
    ],
)
def test_a_link_resolves_by_name_path_folder_and_length(target: str, source: str, meant: str | None) -> None:
    assert resolve(target, source) == meant


def test_an_alias_counts_only_where_no_file_has_the_name() -> None:
    aliases = {"Slater": "People/Ewan Ross.md", "Home": "a/b/Deep.md"}
    assert resolve("Slater", aliases=aliases) == "People/Ewan Ross.md"
    assert resolve("Home", aliases=aliases) == "Home.md"


def test_unicode_form_and_case_do_not_matter() -> None:
    composed, decomposed = "Jos\u00e9", "jose\u0301"
    assert lookup_name(Link("wikilink", decomposed, 0, 0)) == names_of(f"{composed}.md", ())[1][0]
