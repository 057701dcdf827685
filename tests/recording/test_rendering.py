"""`run.md` tells a run to a person, and nothing in a document can make it say or do anything else."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from citewell import RunResult
from citewell.check.verdict import Contradiction
from citewell.runs.events import Entry, chained
from citewell.runs.run import Failure
from citewell.runs.timeline import render_markdown
from citewell.text.untrusted import escape, fence, wikilink
from recording.builders import events, result

HEADINGS = {
    "Question",
    "Answer",
    "Rejected answer",
    "Sources",
    "Disagreements",
    "Key evidence",
    "Warnings",
    "Why it stopped",
    "Notes",
    "Timeline",
}
HOSTILE = (
    "## Research",
    "# Heading",
    "a\n# b",
    "a\r\n\r\n## b",
    "a\u2028# b",
    "a\x0b# b",
    "text\n===",
    "text\n---",
    "---\ntitle: x\n---",
    "![x](https://evil.example/a.png)",
    "![x][1]\n\n[1]: https://evil.example/a.png",
    "[1]: https://evil.example",
    "[click](javascript:alert(1))",
    "(https://evil.example)",
    "![[secret]]",
    "[[other note]]",
    "<img src=https://evil.example/a.png onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<!-- hidden",
    "<https://evil.example>",
    "https://evil.example/?q=x",
    "www.evil.example",
    "&lt;script&gt;",
    "&#60;b&#62;",
    "`code` ``` ~~~",
    "```\ncode",
    "    indented",
    "- item",
    "1. item",
    "1) item",
    "+ item",
    "* item",
    "> quote",
    "| a | b |\n|---|---|",
    "%%hidden%%",
    "==mark== ~~gone~~ $x$ $$y$$",
    "#tag ^block [^1] ^[note]",
    "`= dv.x` `$= dv.y`",
    "<% tp.x %> {{date}}",
    "\\",
    "ends with \\",
    "\u202egnp.exe\u202c \u200b\u2066\U000e0041",
    "\x00\x1b[2J\x7f",
    "*a* _b_ **c** __d__",
    "a  \nb\\\nc",
)
PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
ALLOWED = {
    "heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "softbreak", "code_inline",
    "bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close", "blockquote_open", "blockquote_close",
    "em_open", "em_close", "strong_open", "strong_close", "text_special",
}  # fmt: skip


def flat(tokens: list[Token]) -> list[Token]:
    return [part for token in tokens for part in (token, *(token.children or []))]


def assert_inert(text: str) -> None:
    """A CommonMark parser finds only what we put there: our headings, lists and quotes; no link, image or HTML."""
    # What stands in a wikilink is a name to Obsidian; to others it is text, where `_a_` may be slanted.
    tokens = flat(PARSER.parse(re.sub(r"(?<!\\)\[\[[^\[\]\n]*\]\]", "(link)", text)))
    assert {token.type for token in tokens} <= ALLOWED
    titles = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
    assert set(titles[1:]) <= HEADINGS
    assert re.fullmatch(r"Research run [0-9T]+-[0-9a-f]+", titles[0])
    assert len(titles) == len(set(titles))
    emphasis = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type in ("em_open", "strong_open")]
    assert set(emphasis) <= {
        "(not supported by its source)",
        "Rejected by verification: this was never shown as an answer.",
    }
    assert "<" not in text
    assert not re.search(r"(?<!\\)!\[|(?<!\\)\]\(|%%|==|(?<![\\\w`])#\w", text)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)


def hostile_run(text: str) -> RunResult:
    """A run in which every text that comes from outside is this one."""
    made = result(question=text, title=text, quote=text, note_path=text or None)
    return replace(
        made,
        answer_warnings=(text,),
        warnings=(text,),
        failure=Failure("retrieve", text, text),
        contradictions=(Contradiction(text, (text, text), (1,), text),),
        citations=tuple(replace(citation, source_key=text, url=text) for citation in made.citations),
        model=text,
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text(text: str) -> None:
    """P4, P10."""
    made = hostile_run(text)
    assert_inert(render_markdown(made, events(made)))
    unquoted = replace(made, sentences=(), answer=text)
    assert_inert(render_markdown(unquoted, events(unquoted)))
    refused = replace(unquoted, stop_reason="verification_failed")
    assert_inert(render_markdown(refused, events(refused)))


@given(
    text=st.text()
    | st.lists(st.sampled_from(HOSTILE), min_size=1, max_size=4).map(" ".join)
    | st.text("#![]()<>`*_-=\\\n|~&:/w.1 ")
)
def test_any_text_stays_text(text: str) -> None:
    made = hostile_run(text)
    try:
        log = events(made)
    except UnicodeEncodeError:
        log = []  # a record cannot hold a lone surrogate
    assert_inert(render_markdown(made, log))


@given(text=st.text())
def test_an_escaped_text_is_read_as_it_was_written(text: str) -> None:
    """But for white space, and for what nobody sees."""
    shown = "".join(token.content for token in flat(PARSER.parse(f"> {escape(text)}")) if token.type.startswith("text"))
    plain = "".join(character for character in text if character.isspace() or escape(character))
    assert shown == " ".join(plain.split())


@given(text=st.text() | st.text("`~\n \r"))
def test_a_fenced_text_cannot_leave_its_fence(text: str) -> None:
    tokens = PARSER.parse(f"# Title\n\n{fence(text)}")
    assert [token.type for token in tokens] == ["heading_open", "inline", "heading_close", "fence"]


def test_a_note_is_linked_by_its_path(tmp_path: Path) -> None:
    assert wikilink("Sea/Tides.md") == "[[Sea/Tides]]"
    assert wikilink("Méditerranée/昆布 2.markdown") == "[[Méditerranée/昆布 2]]"
    assert wikilink("paper.pdf") == "[[paper.pdf]]"
    assert wikilink("a]] ![[b.md") == r"a\]\] \!\[\[b.md"
    assert wikilink("a|b.md") == r"a\|b.md"
    assert wikilink("a#b.md") == r"a\#b.md"


def test_a_run_is_told_from_question_to_timeline() -> None:
    made = result()
    assert (
        render_markdown(made, events(made))
        == """\
# Research run 20260101T120000-0badc0de

- Status: done, `enough_evidence`
- Profile: local, asked through `cli`
- Started 2026-01-01T12:00:00.000Z, took 0.250 s
- Made by extractive with extractive, Citewell 0.1.0

## Question

> When is the neap tide?

## Answer

Neap tides follow the half moon. [1]

## Sources

- [1] Tides · `note:vault/tides` · [[Sea/Tides]]
  > Neap tides follow the half moon.

## Key evidence

- Tides · `note:vault/tides` · user_note, score 4.250
  - has: neap, tide
  - lacks: moon
  - title\\_match +0.500 (neap)

## Warnings

- extractive

## Why it stopped

There was enough evidence for an answer. (`enough_evidence`)

## Notes

- [[Sea/Tides]]

## Timeline

- 2026-01-01T12:00:00.000Z (+0.000 s): the run began, Citewell 0.1.0
- 2026-01-01T12:00:00.000Z (+0.000 s): stage `plan`
- 2026-01-01T12:00:00.010Z (+0.010 s): `retrieve` begins
- 2026-01-01T12:00:00.210Z (+0.210 s): `retrieve` is done after 0.200 s
- 2026-01-01T12:00:00.220Z (+0.220 s): 1 row found. 1 of 3 matching documents shown.
- 2026-01-01T12:00:00.230Z (+0.230 s): enough\\_evidence: every concept is met
- 2026-01-01T12:00:00.250Z (+0.250 s): the run ended: `done`, `enough_evidence`
"""
    )


@pytest.mark.parametrize(
    ("kind", "observation", "words"),
    [
        (
            "io",
            {"failed": {"code": "locked", "message": "It is locked."}},
            "`retrieve` failed (`locked`) after 0.200 s",
        ),
        ("control", {"control": "finish"}, "asked to `finish`"),
        ("io", {"type": "ActionFailed", "value": {}}, "`retrieve` gave `ActionFailed` after 0.200 s"),
        ("control", {"type": "CancelRequested", "value": {}}, "asked to `CancelRequested`"),
    ],
    ids=["failure", "control", "failure of an earlier version", "control of an earlier version"],
)
def test_the_timeline_says_what_came_of_a_call(kind: str, observation: dict[str, Any], words: str) -> None:
    made = result()
    seen = {"kind": kind, "observation": observation, "answers": "d1" if kind == "io" else None}
    log = [
        replace(event, body={**event.body, **seen}) if event.kind == "observation_recorded" else event
        for event in events(made)
    ]
    assert f"(+0.210 s): {words}\n" in render_markdown(made, log)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"name": "read", "data": {"url": "x"}, "text": "read *a* <b>"}, "read \\*a\\* &lt;b&gt;"),
        ({"name": "something_old", "data": {"b": 1, "a": "<x>"}}, "decided something\\_old a: &lt;x&gt;, b: 1"),
    ],
    ids=["its sentence", "an earlier version's, that has none"],
)
def test_a_decision_is_told_by_its_sentence(body: dict[str, Any], words: str) -> None:
    made = result()
    log = [replace(events(made)[0], sequence=1, kind="decision_made", body=body)]
    assert f": {words}\n" in render_markdown(made, [events(made)[0], *log])


def test_a_body_of_any_shape_is_told_somehow() -> None:
    """A record of another version must not keep a run from being shown."""
    made = result()
    shapes: list[Entry] = [
        Entry("decision_made", {}),
        Entry("decision_made", {"name": "judged", "data": {"missing_concepts": "x", "verdict": 3}}),
        Entry("decision_made", {"name": "planned", "data": None}),
        Entry("observation_recorded", {"observation": 7}),
        Entry("action_intended", {}),
        Entry("display_updated", {"text": "# a"}),
        Entry("warning_raised", {"message": "<b>"}),
        Entry("run_interrupted", {}),
        Entry("run_resumed", {}),
    ]
    log = [*events(made), *chained(made.run_id, events(made)[-1], shapes, "some day")]
    assert_inert(render_markdown(made, log))
