"""What stands in a Markdown text, Obsidian's flavour: headings, links and tags, at their exact offsets.

One regular expression finds the next character that may mean something; the rest is skipped at C speed. Every
pattern is linear: what cannot match fails at the next character of its own kind, and a closing marker that was
once not found is never looked for again. Lines end at `\n` only.

Not a CommonMark parser: HTML blocks do not hide headings, indented code is ordinary text, and reference links
(`[text][id]`) are known by their definitions only.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

from citewell.text.canonical import canonicalize
from citewell.text.documents import Link, Role, Section

# Headings of a Markdown text and the sections they open.


# A heading is repeated in the path of every chunk below it, so a hostile one must not be megabytes long.
HEADING_CHARS = 200
_RAW_CHARS = 300

_MARKUP = re.compile(r"[#^%<!\[*~=`_\\]")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_BLOCK_ID = re.compile(r"[ \t]\^[A-Za-z0-9-]+[ \t]*$")
_COMMENT = re.compile(r"%%.*?%%|<!--.*?-->")
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_HEADING_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(\*{1,3}|~~|==|`+)(?=\S)(.+?)(?<=\S)\1")
_UNDERSCORES = re.compile(r"(?<!\w)(_{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading line: its level, its plain text and where it starts."""

    level: int
    text: str
    start: int


def plain_heading(raw: str) -> str:
    """The words of a heading without its markup."""
    text = raw[:_RAW_CHARS]
    if _MARKUP.search(text):
        text = _without_markup(text, is_whole=len(raw) == len(text))
    text = " ".join(text.split())
    return text if len(text) <= HEADING_CHARS else text[: HEADING_CHARS - 1] + "…"


def _without_markup(text: str, *, is_whole: bool) -> str:
    if is_whole:
        text = _BLOCK_ID.sub("", _CLOSING_HASHES.sub("", text))
    text = _HEADING_LINK.sub(r"\1", _WIKILINK.sub(r"\1", _COMMENT.sub("", text)))
    text = _UNDERSCORES.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    return _ESCAPE.sub(r"\1", text)


def sections_under(text: str, headings: Iterable[Heading], *, start: int, role: Role) -> tuple[Section, ...]:
    """Sections from `start` to the end of the text, one per heading; those of white space only are left out."""
    return tuple(
        section for section in _tiles(text, headings, start, role) if text[section.start : section.end].strip()
    )


def _tiles(text: str, headings: Iterable[Heading], start: int, role: Role) -> Iterator[Section]:
    enclosing: list[Heading] = []
    opened = start
    for heading in headings:
        yield _section(role, opened, heading.start, enclosing)
        while enclosing and enclosing[-1].level >= heading.level:
            enclosing.pop()
        enclosing.append(heading)
        opened = heading.start
    yield _section(role, opened, len(text), enclosing)


def _section(role: Role, start: int, end: int, enclosing: list[Heading]) -> Section:
    path = tuple(heading.text for heading in enclosing)
    return Section(role=role, start=start, end=end, heading=path[-1] if path else None, heading_path=path)


# References as people write them: URLs, wikilinks and Markdown destinations, each as a `Link` with exact offsets.


# Text in scripts without spaces runs straight into an address, and out of it at its own punctuation.
# A pattern that begins with a literal letter is searched for at C speed, so the rest of a URL stands apart from it.
AFTER_H = (
    r"[tT][tT][pP](?<![0-9A-Za-z_]....)[sS]?://"
    r"[^\s<>\"`|\\\[\]\u3001\u3002\u300a-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f\u2018-\u201d\u00ab\u00bb]++"
)
_URL = re.compile(rf"[hH]{AFTER_H}")
_WEB = re.compile(r"https?://[^\s/?#.]", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:", re.IGNORECASE)
_TRAILING = ".,;:!?'*_~"
_SIZE = re.compile(r"\d+(?:x\d+)?")
_BAR = re.compile(r"\\?\|")
_PROPERTY_LINK = re.compile(r"\[\[([^\[\]\n]++)\]\]")


def is_web_address(text: str) -> bool:
    """Whether this is an http(s) address with a host, and nothing else."""
    return _WEB.match(text) is not None and len(text.split(maxsplit=1)) == 1 and not text[-1].isspace()


def trim_url(url: str) -> str:
    """A URL found in prose, without the punctuation of the sentence around it."""
    end = len(url)
    unopened = url.count(")") - url.count("(")
    while end:
        if url[end - 1] == ")" and unopened > 0:
            unopened -= 1
        elif url[end - 1] not in _TRAILING:
            break
        end -= 1
    return url[:end]


def url_link(written: str, start: int) -> Link | None:
    """The link of a bare URL that starts at this offset."""
    url = trim_url(written)
    return Link("url", url, start, start + len(url)) if is_web_address(url) else None


def url_links(text: str, start: int = 0, end: int | None = None) -> tuple[Link, ...]:
    """Every bare URL in this stretch of the text."""
    found = (
        url_link(match[0], match.start()) for match in _URL.finditer(text, start, len(text) if end is None else end)
    )
    return tuple(link for link in found if link is not None)


def property_links(text: str, end: int) -> tuple[Link, ...]:
    """The wikilinks before this offset, where front matter holds them: `related: "[[Other note]]"`."""
    found = (
        wikilink(match[1], start=match.start(), end=match.end(), is_embed=False)
        for match in _PROPERTY_LINK.finditer(text, 0, end)
    )
    return tuple(link for link in found if link is not None)


def wikilink(inner: str, *, start: int, end: int, is_embed: bool) -> Link | None:
    """The link of `[[inner]]`; None when it names nothing."""
    target, *rest = _BAR.split(inner, maxsplit=1)
    alias = rest[0].strip() if rest else ""
    if is_embed and _SIZE.fullmatch(alias):
        alias = ""
    return _internal(target, alias, start, end, is_embed)


def markdown_link(label: str, destination: str, *, start: int, end: int, is_image: bool) -> Link | None:
    """The link of `[label](destination)`; None for addresses that are neither web nor notes, such as `mailto:`."""
    destination = _ESCAPE.sub(r"\1", destination.strip())
    alias = " ".join(label.split())
    if is_image:
        alias = _without_size(alias)
    if is_web_address(destination):
        return Link("url", destination, start, end, alias=alias or None)
    if _SCHEME.match(destination):
        return None
    return _internal(canonicalize(unquote(destination)), alias, start, end, is_image)


def _without_size(alt: str) -> str:
    name, bar, size = alt.rpartition("|")
    return name.strip() if bar and _SIZE.fullmatch(size.strip()) else alt


def _internal(written: str, alias: str, start: int, end: int, is_embed: bool) -> Link | None:
    """A link within the vault: `target`, `target#Heading`, `target#Heading#Sub`, `target#^block`."""
    target, _, anchor = written.partition("#")
    target, anchor = target.strip(), anchor.strip()
    if not target and not anchor:
        return None
    is_block = anchor.startswith("^")
    return Link(
        kind="embed" if is_embed else "wikilink",
        target=target,
        start=start,
        end=end,
        alias=alias or None,
        heading=None if is_block else anchor or None,
        block=anchor[1:] or None if is_block else None,
    )


_LIST_MARKER = r"(?:[-*+]|\d{1,9}[.)])[ \t]"
_LINE_END = r"(?=\n|\Z)"

# What a line may open with.
_OPENING = (
    rf"(?P<fence>(?P<indent>[ \t>]*+(?:{_LIST_MARKER}[ \t]*+)?)(?P<marks>`{{3,}}+(?=[^`\n]*{_LINE_END})|~{{3,}}+))"
    r"|(?P<atx>[ ]{0,3}(?P<hashes>#{1,6})(?=[ \t\n]|\Z))"
    rf"|(?P<setext>[ ]{{0,3}}(?P<underline>=++|-++)[ \t]*+{_LINE_END})"
    r"|(?P<definition>[ ]{0,3}(?P<named>\[[^\[\]^\n][^\[\]\n]*+\]:[ \t]*+<?(?P<defined>[hH][tT][tT][pP][sS]?://[^\s<>]++)>?))"
)

_WIKI = r"\[\[(?P<inner>[^\[\]|\n]*+(?:\|(?:[^\[\]\n]++|\](?!\])|\[(?!\[))*+)?)(?P<wiki>\]\])"
# A label may run over the end of its line, but not into the next block; it may hold one level of brackets.
_LABEL = (
    r"(?:[^\[\]\n\\]++|\\[^\n]|\n(?![ \t]*+(?:[\n#>~`*+-]|\d{1,9}[.)]))"
    r"|!?\[[^\[\]\n]*+\](?:\([^()\s]*+\))?)*+"
)
_DESTINATION = (
    r"\([ \t]*+(?:<(?P<angled>[^<>\n]*+)>|(?P<bare>(?:[^\s()\\]++|\\\S|\((?:[^\s()]++|\([^\s()]*+\))*+\))*+))"
    r"(?:[ \t\n]++(?:\"[^\"\n]*+\"|'[^'\n]*+'|\([^()\n]*+\)))?[ \t]*+"
)
_LINK = rf"\[(?P<label>{_LABEL})\]{_DESTINATION}(?P<link>\))"

# Obsidian's own list of what ends a tag, plus CJK punctuation; joiners stay, for emoji and Persian.
_TAG = (
    r"#(?<!\S#)(?P<tag>[^\s\u2000-\u200b\u200e-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\"
    r"\u3001\u3002\u300a-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]++)"
)

# Every alternative begins with a literal character, not with a group: only then does `re` skip to candidates at C
# speed (ten times faster). So a group's name stands at the end of its alternative.
_TOKEN = re.compile(
    rf"\n(?:{_OPENING})"
    r"|\\(?P<escape>[!-/:-@\[-`{-~])"
    r"|`(?P<code>`*+)"
    r"|%(?P<comment>%)"
    r"|<(?P<html_comment>!--)"
    r"|\$(?P<math>\$?+)"
    rf"|{_WIKI}"
    rf"|{_LINK}"
    r"|<(?P<address>[hH][tT][tT][pP][sS]?://[^\s<>]++)(?P<autolink>>)"
    r"|<(?P<element>/?[a-zA-Z][\w-]*+(?:\s[^<>]*+)?/?>)"
    rf"|h(?P<url>{AFTER_H})"
    rf"|H(?P<shouted_url>{AFTER_H})"
    rf"|{_TAG}"
)
_FIRST_LINE = re.compile(_OPENING)
_IMAGE = re.compile(rf"!\[(?P<label>[^\[\]\n]*+)\]{_DESTINATION}\)")
_INLINE_MATH = re.compile(r"\$(?!\s)[^$\n]++(?<!\s)\$(?!\d)")
_BACKTICKS = re.compile(r"`++")
_PARAGRAPH_END = re.compile(rf"\n(?:[ \t>]*+(?:\n|\Z|```|~~~)| {{0,3}}#{{1,6}}[ \t]|[ \t]*+(?:\||{_LIST_MARKER}))")
_NO_PARAGRAPH = re.compile(rf"[ \t]*+(?:[>|]|{_LIST_MARKER})|(?: {{0,3}}\t|    )")

_Container = Literal["page", "quote", "list"]


@dataclass(frozen=True, slots=True)
class Markup:
    """What a scan found, in the order of the text."""

    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]


def scan(text: str, start: int = 0) -> Markup:
    """Headings, links and tags of a canonical text from this offset on, which must be the start of a line."""
    scanner = _Scanner(text, start)
    scanner.run(start)
    return Markup(tuple(scanner.headings), tuple(scanner.links), tuple(scanner.tags))


class _Scanner:
    """One pass over one text; every handler says where to go on."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.headings: list[Heading] = []
        self.links: list[Link] = []
        self.tags: list[str] = []
        self._resumed = start
        self._block_end = start
        self._absent: set[str] = set()
        self._code_runs: dict[int, list[int]] = {}
        self._code_runs_end = 0
        self._handlers: dict[str, Callable[[re.Match[str]], int]] = {
            "fence": self._fence,
            "atx": self._atx,
            "setext": self._setext,
            "definition": self._definition,
            "code": self._code,
            "comment": self._comment,
            "html_comment": self._comment,
            "math": self._math,
            "wiki": self._wiki,
            "link": self._link,
            "autolink": self._autolink,
            "element": self._element,
            "url": self._url,
            "shouted_url": self._url,
            "tag": self._tag,
        }

    def run(self, start: int) -> None:
        match = _FIRST_LINE.match(self.text, start)
        if match is not None:
            self._resumed = self._handle(match)
        while (match := _TOKEN.search(self.text, self._resumed)) is not None:
            self._resumed = self._handle(match)

    def _handle(self, match: re.Match[str]) -> int:
        handler = self._handlers.get(match.lastgroup or "")
        return match.end() if handler is None else handler(match)

    def _fence(self, match: re.Match[str]) -> int:
        marks = match["marks"]
        closed = _fence_end(marks[0], len(marks), _container(match["indent"])).search(self.text, match.end())
        self._block_end = len(self.text) if closed is None else closed.end()
        return self._block_end

    def _atx(self, match: re.Match[str]) -> int:
        line_end = self.text.find("\n", match.end())
        line_end = len(self.text) if line_end == -1 else line_end
        self._add_heading(len(match["hashes"]), match.start("atx"), match.end(), line_end)
        self._block_end = line_end
        return match.end()

    def _setext(self, match: re.Match[str]) -> int:
        paragraph = self._paragraph_before(match.start())
        if paragraph is not None:
            level = 1 if match["underline"][0] == "=" else 2
            self._add_heading(level, paragraph, paragraph, match.start())
        self._block_end = match.end()
        return match.end()

    def _add_heading(self, level: int, start: int, text_start: int, text_end: int) -> None:
        words = plain_heading(self.text[text_start:text_end])
        if words:
            self.headings.append(Heading(level, words, start))

    def _paragraph_before(self, end: int) -> int | None:
        """Where the paragraph that ends here starts; None when this is no paragraph of its own."""
        start = None
        while end > self._block_end:
            newline = self.text.rfind("\n", self._block_end, end)
            line_start = self._block_end if newline == -1 else newline + 1
            line = self.text[line_start:end]
            if not line.strip():
                break
            if _NO_PARAGRAPH.match(line):
                return None
            start = line_start
            end = newline
        return start

    def _definition(self, match: re.Match[str]) -> int:
        self.links.append(Link("url", match["defined"], match.start("named"), match.end("named")))
        return match.end()

    def _code(self, match: re.Match[str]) -> int:
        """Past the closing run of as many backticks in the same paragraph, or past the opening one."""
        if match.start() >= self._code_runs_end:
            self._collect_code_runs(match.start())
        length = match.end() - match.start()
        runs = self._code_runs.get(length, [])
        closing = bisect_right(runs, match.start())
        return match.end() if closing == len(runs) else runs[closing] + length

    def _collect_code_runs(self, start: int) -> None:
        paragraph_end = _PARAGRAPH_END.search(self.text, start)
        self._code_runs_end = len(self.text) if paragraph_end is None else paragraph_end.start()
        self._code_runs = {}
        for run in _BACKTICKS.finditer(self.text, start, self._code_runs_end):
            self._code_runs.setdefault(run.end() - run.start(), []).append(run.start())

    def _comment(self, match: re.Match[str]) -> int:
        end = self._past("%%" if match[0] == "%%" else "-->", match.end())
        if "\n" in self.text[match.end() : end]:
            self._block_end = end
        return end

    def _math(self, match: re.Match[str]) -> int:
        if match[0] == "$$":
            end = self._past("$$", match.end())
            return match.end() if "\n\n" in self.text[match.end() : end] else end
        closed = _INLINE_MATH.match(self.text, match.start())
        return match.end() if closed is None else closed.end()

    def _past(self, marker: str, start: int) -> int:
        """The end of the next such marker; `start` when there is none."""
        found = -1 if marker in self._absent else self.text.find(marker, start)
        if found == -1:
            self._absent.add(marker)
            return start
        return found + len(marker)

    def _wiki(self, match: re.Match[str]) -> int:
        start = self._link_start(match)
        self._add(wikilink(match["inner"], start=start, end=match.end(), is_embed=start < match.start()))
        return match.end()

    def _link(self, match: re.Match[str]) -> int:
        self._add(_destination_link(match, self._link_start(match)))
        if "![" in match["label"]:
            for image in _IMAGE.finditer(self.text, match.start("label"), match.end("label")):
                self._add(_destination_link(image, image.start()))
        return match.end()

    def _link_start(self, match: re.Match[str]) -> int:
        """Where the link starts: at its bracket, or at the unescaped `!` before it."""
        before = match.start() - 1
        return before if before >= self._resumed and self.text[before] == "!" else match.start()

    def _autolink(self, match: re.Match[str]) -> int:
        self.links.append(Link("url", match["address"], match.start(), match.end()))
        return match.end()

    def _element(self, match: re.Match[str]) -> int:
        self.links.extend(url_links(self.text, match.start(), match.end()))
        return match.end()

    def _url(self, match: re.Match[str]) -> int:
        link = url_link(match[0], match.start())
        self._add(link)
        return match.end() if link is None else link.end

    def _tag(self, match: re.Match[str]) -> int:
        name = match["tag"].strip("/")
        if name.strip("-_/") and not name.isdigit():
            self.tags.append(name)
        return match.end()

    def _add(self, link: Link | None) -> None:
        if link is not None:
            self.links.append(link)


def _destination_link(match: re.Match[str], start: int) -> Link | None:
    label = _IMAGE.sub(r"\g<label>", match["label"])
    destination = match["angled"] if match["angled"] is not None else match["bare"]
    is_image = match.string[start] == "!"
    return markdown_link(label, destination, start=start, end=match.end(), is_image=is_image)


def _container(indent: str) -> _Container:
    """What a fence stands in, by what stands before it on its line."""
    if ">" in indent:
        return "quote"
    return "list" if len(indent) > 1 else "page"


@lru_cache(maxsize=256)
def _fence_end(mark: str, length: int, container: _Container) -> re.Pattern[str]:
    """The closing fence, or the line with which the quote or list around the fence ends."""
    closing = rf"{mark}{{{length},}}[ \t]*{_LINE_END}"
    match container:
        case "page":
            return re.compile(rf"\n {{0,3}}{closing}")
        case "quote":
            return re.compile(rf"\n[ \t>]*+{closing}|(?=\n(?![ \t]*>))")
        case "list":
            return re.compile(rf"\n[ \t]*+{closing}|(?=\n[^ \t\n])")
