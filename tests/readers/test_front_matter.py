"""What notes say about themselves, and what hostile ones try."""

from __future__ import annotations

import time

import pytest

from citewell.readers.markdown import FrontMatter, read_front_matter


def front(block: str) -> FrontMatter:
    return read_front_matter(f"---\n{block}\n---\nbody")


USUAL = """title: A title
aliases: [One, Two]
tags: '#x, y z'
authors:
  - Ann Lee
  - '[[Bo Chen]]'
source: https://x.org/a
date: 2024-01-31
date modified: 2024-02-01 10:30
description: >
  Folded
  text
rating: 5
publish: true
cssclasses: [wide]"""


def test_the_usual_keys() -> None:
    assert front(USUAL) == FrontMatter(
        body_start=len(USUAL) + 9,
        start=4,
        end=len(USUAL) + 4,
        title="A title",
        aliases=("One", "Two"),
        tags=("x", "y", "z"),
        author="Ann Lee, Bo Chen",
        url="https://x.org/a",
        created="2024-01-31",
        modified="2024-02-01T10:30:00",
    )


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: [a, B/c, '#d']", ("a", "B/c", "d")),
        ("tags:\n  - machine learning\n  - x", ("machine learning", "x")),
        ("tag: a b", ("a", "b")),
        ("keywords: a, b", ("a", "b")),
        ("tags: ''", ()),
        ("tags: [2024, ~]", ("2024",)),
    ],
)
def test_tags_are_a_list_or_a_string(block: str, tags: tuple[str, ...]) -> None:
    assert front(block).tags == tags


def test_values_stay_as_written() -> None:
    """No types: a version is not a number and `no` is not false."""
    assert front("title: 1.10").title == "1.10"
    assert front("title: no").title == "no"
    assert front("title: !!python/object/apply:os.system [ls]").title == "ls"


@pytest.mark.parametrize(
    "text", ["", "---", "---\ntitle: x\n", "\n---\ntitle: x\n---\n", "--- \ntext", "----\na: b\n---\n"]
)
def test_a_note_without_a_closed_block_at_its_start_has_no_front_matter(text: str) -> None:
    assert read_front_matter(text) == FrontMatter()


@pytest.mark.parametrize("block", ["Some prose between rules.", "- a\n- list", "# A heading"])
def test_prose_between_two_rules_stays_in_the_body(block: str) -> None:
    assert front(block) == FrontMatter()


def test_an_empty_block_and_one_closed_by_dots_are_front_matter() -> None:
    assert read_front_matter("---\n---\nbody") == FrontMatter(body_start=8)
    assert read_front_matter("---\ntitle: x\n...\nbody").title == "x"


def test_what_yaml_refuses_is_read_line_by_line_with_a_warning() -> None:
    found = front("title: Notes: part two\ntags: [a, b]\nauthor: Ann")
    assert (found.title, found.tags, found.author) == ("Notes: part two", ("a", "b"), "Ann")
    assert found.warnings == ("front matter not understood: mapping values are not allowed in this context",)
    assert (found.start, found.end) == (4, 4 + len("title: Notes: part two\ntags: [a, b]\nauthor: Ann"))


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "block",
    [
        BOMB,
        "a: " + "[" * 60_000,
        "a: " + "{a: " * 15_000,
        "a:\n " + "- " * 30_000,
        "? " * 30_000,
        "a: {{title}}",
        "a: *x",
    ],
)
def test_hostile_blocks_are_refused_at_once(block: str) -> None:
    """Aliases are not expanded and nesting does not reach the C stack (attack B6)."""
    started = time.process_time()
    found = front(block)
    assert time.process_time() - started < 5
    assert found.warnings
    assert found.warnings[0].startswith("front matter not understood")


def test_an_endless_block_is_body() -> None:
    found = front("a: b\n" * 20_000)
    assert (found.body_start, found.warnings) == (0, ("front matter not understood: longer than 64 KB",))


@pytest.mark.parametrize(
    "block",
    [
        *(
            "ai_generated: true",
            "AI-generated: yes",
            "source: chatgpt",
            "source: ChatGPT conversation",
            "author: Claude",
        ),
        *("author: Claude 3.5 Sonnet", "model: gpt-4o", "generated_by: Gemini Pro", "generator: citewell 0.1"),
        *("source: https://chatgpt.com/share/1", "source: https://www.perplexity.ai/search/x", "author: [AI]"),
        "title: a: b\nsource: chatgpt",
    ],
)
def test_a_saved_ai_answer_is_not_evidence(block: str) -> None:
    reason = front(block).not_evidence
    assert reason is not None
    assert reason.startswith("saved AI answer (front matter ")
    assert reason.endswith("): never used as evidence")


@pytest.mark.parametrize(
    "block",
    [
        *("ai_generated: false", "author: Claude Shannon", "author: Ai Weiwei", "source: https://openai.com/blog"),
        *(
            "source: https://example.ai/post",
            "source: The Gemini Observatory",
            "title: ChatGPT",
            "source: maintained by hand",
        ),
    ],
)
def test_people_and_pages_with_similar_names_are_evidence(block: str) -> None:
    assert front(block).not_evidence is None
