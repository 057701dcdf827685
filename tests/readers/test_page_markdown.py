"""Pages as Markdown: nothing is lost, nothing changes sides, and every link knows its words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citewell.errors import Unreadable
from citewell.readers.page_markdown import page_text, page_tree


def markdown(page: str) -> str:
    return page_text(page_tree(page)).text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<ul><li>Never use the <code>foo</code> option</li></ul>", "- Never use the `foo` option"),
        ("<p>an <b>important</b> word, <i></i>an<b>ti</b>dote</p>", "an **important** word, antidote"),
        ("<ul><li>a<ul><li>b</li><li>c</li></ul></li><li>d</li></ul>", "- a\n  - b\n  - c\n- d"),
        ("<ol start=3><li>c</li><li></li><li>d</li></ol>", "3. c\n5. d"),
        ("<ul><li><p>a</p><p>b</p></li></ul>", "- a\n\n  b"),
        ("<p>Run:</p><pre>\nif x:\n    go()\n\n\nend\n</pre>", "Run:\n\n```\nif x:\n    go()\n\n\nend\n```"),
        ("<pre><b>a</b>```b</pre>", "````\na```b\n````"),
        ("<ul><li>do<pre>x\ny</pre></li></ul>", "- do\n\n  ```\n  x\n  y\n  ```"),
        ("<dl><dt>Neap</dt><dd>the <i>weak</i> tide</dd></dl>", "- **Neap**: the *weak* tide"),
        ("<dl><dt>A</dt><dt>B:</dt><dd><p>both</p></dd><dd>more</dd></dl>", "- **A**, **B:** both\n\n  more"),
        ("<dl><div><dt>A</dt><dd>a</dd></div><div><dt>B</dt><dd>b</dd></div></dl>", "- **A**: a\n- **B**: b"),
        ("<blockquote><p>one<br>two</p><p>three</p></blockquote><p>x</p>", "> one\n> two\n>\n> three\n\nx"),
        (
            "<table><tr><th>Wood</th><th>Days</th></tr><tr><td>ash</td><td>3</td></tr></table>",
            "| Wood | Days |\n| --- | --- |\n| ash | 3 |",
        ),
        ("<table><tr><td><h2>Kelp</h2></td></tr><tr><td>dries</td></tr></table>", "## Kelp\n\ndries"),
        ("<h2>Racks <a href='#racks'>¶</a></h2>text", "## Racks\n\ntext"),
        ("<h2></h2><p>10<sup>6</sup> kg<sup><a href='#n'>2</a></sup>, the 1<sup>st</sup></p>", "10^6 kg[2], the 1st"),
        ("<ul><li><input type=checkbox checked> done</li></ul>", "- [x] done"),
        ("<div>a<div>b</div>c</div>", "a\n\nb\n\nc"),
        ("<h3><button>How long?</button></h3><p>Long.<button>Copy</button></p>", "### How long?\n\nLong."),
    ],
)
def test_a_page_reads_as_a_person_sees_it(page: str, text: str) -> None:
    assert markdown(f"<html><body>{page}</body></html>") == text


def test_links_cover_their_words() -> None:
    page = "<p>See <b><a href='/a'>the <i>study</i></a></b> or <a href='mailto:x@y.z'>write</a>.</p>"
    found = page_text(page_tree(page), "https://hub.example/x/")
    assert found.text == "See **the *study*** or write."
    assert [(link.target, found.text[link.start : link.end]) for link in found.links] == [
        ("https://hub.example/a", "the *study*")
    ]


def test_deeply_nested_lists_do_not_grow_with_the_square_of_their_depth() -> None:
    found = markdown("<ul><li>x" * 700)
    assert found.count("x") == 700
    assert len(found) < 100_000


_TAGS = st.sampled_from("p div ul ol li dl dt dd pre code b i a table tr td th h2 blockquote span sup br".split())
_PIECES = st.one_of(
    _TAGS.map(lambda tag: f"<{tag} href='https://x.org/'>"),
    _TAGS.map(lambda tag: f"</{tag}>"),
    st.integers(100, 999).map(lambda number: f" w{number} "),
)


@settings(deadline=None)
@given(st.lists(_PIECES, max_size=40).map("".join))
def test_every_word_of_any_page_is_kept_in_order(page: str) -> None:
    try:
        tree = page_tree(page)
    except Unreadable:
        return
    found = page_text(tree)
    assert re.findall(r"w\d{3}", found.text) == re.findall(r"w\d{3}", "".join(tree.itertext()))
    for link in found.links:
        assert re.search(r"w\d{3}|\[", found.text[link.start : link.end])
