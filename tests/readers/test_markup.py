"""What the scanner finds in Markdown, and what it must not find."""

from __future__ import annotations

import time

import pytest

from citewell.readers.markup import HEADING_CHARS, Heading, scan
from citewell.text.documents import Link


def headings(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in scan(text).headings]


def written(text: str) -> list[str]:
    return [text[link.start : link.end] for link in scan(text).links]


def only_link(text: str) -> Link:
    (link,) = scan(text).links
    return link


class TestHeadings:
    def test_atx_headings_have_one_to_six_hashes_and_at_most_three_spaces_before(self) -> None:
        text = "# a\n## b\n   ### c\n    # code\n####### seven\n#tag\n###### f"
        assert headings(text) == [(1, "a"), (2, "b"), (3, "c"), (6, "f")]

    def test_closing_hashes_and_markup_are_not_part_of_the_words(self) -> None:
        text = "# A *b* `c` [[Note|d]] [e](f.md) ##\n## snake_case _kept_ #\n# C# \n# x ^block-id"
        assert headings(text) == [(1, "A b c d e"), (2, "snake_case kept"), (1, "C#"), (1, "x")]

    def test_setext_headings_start_with_their_paragraph(self) -> None:
        text = "intro\n\nTwo\nlines\n===\nbody\n\nSub\n---\n"
        assert scan(text).headings == (Heading(1, "Two lines", 7), Heading(2, "Sub", 27))

    @pytest.mark.parametrize(
        "text", ["\n---\n", "- item\n---\n", "> quote\n---\n", "| a |\n---\n", "a\n\n===", "    x\n---"]
    )
    def test_a_rule_below_anything_but_a_paragraph_is_no_heading(self, text: str) -> None:
        assert headings(text) == []

    @pytest.mark.parametrize(
        "text",
        [
            "```\n# no\n```\n# yes",
            "~~~ py\n# no\n```\n~~~\n# yes",
            "````\n```\n# no\n````\n# yes",
            "```\n# no\n``` not closed\n```\n# yes",
            "- ```\n  # no\n  ```\n# yes",
            "> ```\n> # no\n\n# yes",
            "1. item\n   ```\n   # no\n\n# yes",
            "<!-- \n# no\n-->\n# yes",
            "%%\n# no\n%%\n# yes",
            "`` `\n\n# yes",
            "```inline```\n# yes",
            "never closed <!-- here\n# yes",
            "100%% sure\n# yes",
        ],
    )
    def test_headings_in_code_and_comments_do_not_count(self, text: str) -> None:
        assert headings(text) == [(1, "yes")]

    def test_an_open_fence_runs_to_the_end(self) -> None:
        assert headings("# a\n```\n# b\n") == [(1, "a")]

    def test_only_a_line_feed_ends_a_line(self) -> None:
        assert headings("a\u2028# no\x0b# no\x0c# no\x85# no\n# yes") == [(1, "yes")]

    def test_a_hostile_heading_is_cut(self) -> None:
        ((_, text),) = headings("# " + "x" * 1_000_000)
        assert len(text) == HEADING_CHARS


class TestWikilinks:
    def test_the_parts_of_a_wikilink(self) -> None:
        assert only_link("[[Note]]") == Link("wikilink", "Note", 0, 8)
        assert only_link("a [[N#H]]") == Link("wikilink", "N", 2, 9, heading="H")
        assert only_link("[[N#H#Sub|x y]]") == Link("wikilink", "N", 0, 15, alias="x y", heading="H#Sub")
        assert only_link("[[N#^b1]]") == Link("wikilink", "N", 0, 9, block="b1")
        assert only_link("[[#H]]") == Link("wikilink", "", 0, 6, heading="H")
        assert only_link(r"| [[N\|x]] |") == Link("wikilink", "N", 2, 10, alias="x")
        assert only_link("[[N|a [b] c]]") == Link("wikilink", "N", 0, 13, alias="a [b] c")

    def test_an_embed_may_have_a_size_which_is_no_alias(self) -> None:
        assert only_link("![[i.png|300]]") == Link("embed", "i.png", 0, 14)
        assert only_link("![[i.png|300x200]]") == Link("embed", "i.png", 0, 18)
        assert only_link("![[N#H]]") == Link("embed", "N", 0, 8, heading="H")

    def test_an_escaped_exclamation_mark_makes_no_embed(self) -> None:
        assert only_link(r"\![[N]]") == Link("wikilink", "N", 2, 7)

    @pytest.mark.parametrize(
        "text", ["[[]]", "[[|x]]", "[[a\nb]]", r"\[[a]]", "`[[a]]`", "```\n[[a]]\n```", "%% [[a]] %%"]
    )
    def test_what_is_no_wikilink(self, text: str) -> None:
        assert written(text) == []


class TestMarkdownLinks:
    def test_a_destination_is_decoded_and_split_at_its_heading(self) -> None:
        assert only_link("[t](n.md#H%C3%A9 'x')") == Link("wikilink", "n.md", 0, 21, alias="t", heading="Hé")
        assert only_link("[t](a%20b.md#H)") == Link("wikilink", "a b.md", 0, 15, alias="t", heading="H")
        assert only_link('[t](<a b.md> "title")') == Link("wikilink", "a b.md", 0, 21, alias="t")
        assert only_link("[t](https://x.org/a_(b))") == Link("url", "https://x.org/a_(b)", 0, 24, alias="t")
        assert only_link("![alt|100](i.png)") == Link("embed", "i.png", 0, 17, alias="alt")
        assert only_link("![alt](https://x.org/i.png)") == Link("url", "https://x.org/i.png", 0, 27, alias="alt")

    def test_a_percent_encoded_nul_does_not_reach_the_store(self) -> None:
        assert only_link("[t](a%00b)").target == "a�b"

    def test_a_label_may_run_over_a_line_end_but_not_into_the_next_block(self) -> None:
        assert written("[two\nlines](a.md)") == ["[two\nlines](a.md)"]
        assert written("[two\n\nblocks](a.md)") == []
        assert headings("[two\n# h\n](a.md)") == [(1, "h")]

    def test_a_linked_image_is_both(self) -> None:
        text = "[![alt](i.png)](https://x.org)"
        assert scan(text).links == (
            Link("url", "https://x.org", 0, 30, alias="alt"),
            Link("embed", "i.png", 1, 14, alias="alt"),
        )

    def test_addresses_that_are_neither_web_nor_notes_are_left_out(self) -> None:
        assert written("[a](mailto:x@y.z) [b](javascript:alert(1)) [c](obsidian://open) [d](file:///etc/passwd)") == []

    def test_a_definition_counts_and_a_footnote_does_not(self) -> None:
        text = '[id]: https://x.org/a "t"\n[^1]: no link'
        assert scan(text).links == (Link("url", "https://x.org/a", 0, 21),)


class TestUrls:
    @pytest.mark.parametrize(
        ("text", "url"),
        [
            ("see https://x.org/a.", "https://x.org/a"),
            ("(https://x.org/a)", "https://x.org/a"),
            ("https://x.org/a_(b), c", "https://x.org/a_(b)"),
            ("**https://x.org**", "https://x.org"),
            ("请看https://x.org/页。好", "https://x.org/页"),
            ("| https://x.org | y |", "https://x.org"),
            ("HTTPS://X.org/", "HTTPS://X.org/"),
            ('<a href="https://x.org/q">', "https://x.org/q"),
        ],
    )
    def test_a_bare_url_ends_where_the_sentence_goes_on(self, text: str, url: str) -> None:
        link = only_link(text)
        assert (link.kind, link.target, text[link.start : link.end]) == ("url", url, url)

    def test_an_autolink_covers_its_brackets(self) -> None:
        assert only_link("<https://x.org/a>") == Link("url", "https://x.org/a", 0, 17)

    @pytest.mark.parametrize(
        "text", ["https://", "xhttps://a.b", "`https://x.org`", "https:// x.org", "<!-- https://x.org -->"]
    )
    def test_what_is_no_url(self, text: str) -> None:
        assert written(text) == []


class TestTags:
    @pytest.mark.parametrize(
        ("text", "tags"),
        [
            ("#a b #c/d-e_f", ("a", "c/d-e_f")),
            ("#日本語 #été #🎉party", ("日本語", "été", "🎉party")),
            ("#👩‍💻", ("👩‍💻",)),
            ("#tag, #other. #last", ("tag", "other", "last")),
            ("## heading #tag", ("tag",)),
            ("#2024-01 #y2024", ("2024-01", "y2024")),
            ("- #list\n> #quote\n| #cell |", ("list", "quote", "cell")),
            ("#a#b", ("a",)),
            ("#a/", ("a",)),
        ],
    )
    def test_tags(self, text: str, tags: tuple[str, ...]) -> None:
        assert scan(text).tags == tags

    @pytest.mark.parametrize(
        "text",
        [
            *("#123", "# heading", "a#b", "`#code`", "```\n#code\n```", "$x #y$", "$$\n#y\n$$", "%% #c %%"),
            *("<!-- #c -->", "https://x.org/#frag", "[t](#frag)", "[[N#H]]", r"\#no", "&#39;", "#-", "(#x)"),
            '<p style="color: #fff">',
        ],
    )
    def test_what_is_no_tag(self, text: str) -> None:
        assert scan(text).tags == ()

    def test_prices_are_not_mathematics(self) -> None:
        assert scan("$5 and #tag for $6").tags == ("tag",)


HOSTILE = [
    *("a", "[", "#", "(", "!", "`", "<", "*", "$", "%", "-", "=", "\n", ">", " ", "\\", "|", "_", "~", "]", "\t"),
    *("[[", "![", "[a](", "[[a|", "<!--", "%%", "$$", "$a", "\n#", "\n- ", "\n=\n", "`a", "``a`", "<a ", "https://"),
    *(
        "http://a)",
        "\n```",
        "\n> ```\n",
        "\n  ~~~",
        "- a\n===\n",
        "a\n===\n",
        '[x](y "',
        "[ [x] ",
        "[![x](y)",
        "[x](((",
    ),
    *("\n# *a *a *a", "[a\n", "\n[a]:", "# _a _a", "x `` "),
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_no_input_takes_more_than_linear_time(unit: str) -> None:
    """A hundred kilobytes of anything are read at once (attack B9)."""
    started = time.process_time()
    scan(unit * (100_000 // len(unit)))
    assert time.process_time() - started < 5


def test_backtick_runs_of_every_length_are_read_at_once() -> None:
    started = time.process_time()
    scan(" ".join("`" * length for length in range(1, 2_000)))
    assert time.process_time() - started < 5
