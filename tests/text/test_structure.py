"""The blocks of a text: what stands where, under which heading, and what leads into it."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from citewell.text.blocks import blocks_of, headings_above
from citewell.text.sentences import properties_of, sentences

NOTE = """---
title: Leave
author:
  - Ann Lee
---
# Leave

Intro, which
wraps.

## Who may

You need:

- a badge
- a form
  signed twice

Run this:

```
$ leave --ask

# no heading
```

| who | days |
|---|---|
| Ann | 12 |
"""


def kinds(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end].split("\n")[0]) for block in blocks_of(text)]


def test_every_kind_of_block_is_told() -> None:
    assert kinds(NOTE) == [
        ("properties", "title: Leave"),
        ("heading", "# Leave"),
        ("paragraph", "Intro, which"),
        ("heading", "## Who may"),
        ("paragraph", "You need:"),
        ("item", "- a badge"),
        ("item", "- a form"),
        ("paragraph", "Run this:"),
        ("code", "```"),
        ("table", "| who | days |"),
    ]


def test_a_block_knows_its_headings_and_what_leads_into_it() -> None:
    blocks = blocks_of(NOTE)
    assert headings_above(blocks)[6] == (1, 3)
    assert [blocks[number].lead for number in (5, 6, 8)] == [4, 4, 7]


@given(st.text(st.sampled_from("ab .:\n#-|`>*1)"), max_size=300))
def test_blocks_are_in_order_apart_and_cover_every_word(text: str) -> None:
    blocks = blocks_of(text)
    assert all(block.start < block.end <= len(text) for block in blocks)
    assert all(left.end <= right.start for left, right in pairwise(blocks))
    covered = {at for block in blocks for at in range(block.start, block.end)}
    assert {at for at, character in enumerate(text) if character.isalpha()} <= covered


def test_each_property_is_a_statement_of_its_own_with_its_list() -> None:
    said = [NOTE[start:end] for start, end in sentences(NOTE)]
    assert said[:6] == ["---", "title: Leave", "author:\n  - Ann Lee", "---", "# Leave", "Intro, which\nwraps."]


def test_prose_that_begins_with_a_colon_has_no_properties() -> None:
    assert properties_of("Note: this is prose\nthat goes on.") == ([], 0)
    assert properties_of("Just text.") == ([], 0)
