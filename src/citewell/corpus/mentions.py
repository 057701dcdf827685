"""Mentions: names as running text shows them, without any list of names. Pure, and linear in the text.

In scripts with capitals: runs of capitalised words, guarded at the start of sentences. In every script: @handles,
owner/repository, and names the corpus knows by a title, an alias or a link (those are looked for by `corpus/names.py`).
A weak mention (in a heading, at the start of a sentence, any noun of a German text) counts only for a name that
something else vouches for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from citewell.corpus.entity_kinds import (
    HONORIFICS,
    LOCATED_BEFORE,
    SPEAKS_AFTER,
    is_camel,
    kind_of_spelling,
)
from citewell.corpus.names import MAX_NAME_CHARS
from citewell.domain.topics import EntityKind
from citewell.text.english_stems import english_stems
from citewell.text.folding import folded_text
from citewell.text.language import is_stop_word, stemmer_for

# A number may open a name: 18F, 3M. Initials are one word: U.S.
_WORD = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,4}(?=\s)|(?:(?<![\w.,])\d{1,4}(?=[^\W\d_]))?[^\W\d_][\w'’-]*+")
_HANDLE = re.compile(r"(?<![\w@./])@(?=[\w.-]{0,30}[^\W\d_])(\w[\w.-]{0,38}\w|\w)")
# In an address what follows the name belongs to it no more; in running text a path is no repository.
_REPOSITORY = re.compile(
    r"(?<![\w/@.:-])(?P<site>https?://github\.com/)?(?P<name>[a-zA-Z0-9][\w-]{1,38}/[a-zA-Z0-9][\w.-]{1,60}[\w-])"
    r"(?![\w-])(?(site)|(?!/))"
)
_HIDDEN = re.compile(
    r"https?://\S+|\[\[[^\[\]\n]{1,300}\]\]|\]\([^()\n]{0,500}\)|`[^`\n]{1,300}`|<[^<>\n]{1,300}>", re.IGNORECASE
)
# After these a capital says nothing: the start of a sentence, line or cell, of the text of a link or of bold print.
_STARTS = re.compile(
    r"(?:^|[.!?:;…|。！？][\"'”’)\]*_\0]*\s*[\"'“‘(*_\[]*|\n[\W\d]*|\n\W*\[.\]\s|[\[>]|\*\*|__|[\"“‘«]|\s[–—-]\s)$"
)
# A name that has become a describing word: Linux-based, TTS-wide.
_DESCRIBES = re.compile(r"[-‑](?:based|like|wide|only|specific|related|style|compatible|driven|free|ready|level|side)$")
_VERSION = re.compile(r"\sv?\d+(?:\.\d+)+(?!\w)")
_PARTICLES = frozenset("of the de da di do dos du del della des der den van von la le el al bin ibn y".split())
_ARTICLES = frozenset("the la le el den".split())  # inside a name only after another particle: `Isle of the Dead`
# Words that often open a sentence before a name and are no part of it; function words are known by language.
_OPENERS = frozenset(
    """according ask asked bought call called dear email emailed even ever every everyone found hello hi last later
    maybe
    meanwhile meet met monday my next note notes nothing now old one only our owns paid perhaps read see seen sent
    since some sometimes soon still talk talked thank thanks then there today tomorrow tonight two unless until usually
    via visit visited when where while whose why with without yes yesterday yet""".split()
)
_NO_NAMES = frozenset(
    """january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday jan feb mar apr jun jul aug sep sept oct nov dec spring summer autumn winter
    christmas easter januar februar marz mai juni juli oktober dezember montag dienstag mittwoch donnerstag freitag
    samstag sonntag table figure fig section chapter page appendix am pm
    true false none null nil todo fixme note notes tip tips warning warnings caution important example examples faq ok
    admin back cancel click close copy create delete disable download edit enable enter exit help home login logout menu
    next open password previous remove save search select settings sign submit update upload user username""".split()
)
# Languages that capitalise every noun.
_ALL_NOUNS = frozenset({"de"})
_WRAPPED_LINE = 50
_SELDOM = 2
_UNITS = frozenset("kw kwh mw mwh gw gwh hz khz mhz ghz kb mb gb tb ml km mm ph".split())


@dataclass(frozen=True, slots=True)
class Mention:
    """One place where a text names something.

    `rest` is where the name begins if the first word, at the start of a sentence, turns out to be no part of it.
    """

    name: str
    kind: EntityKind | None
    start: int
    end: int
    is_weak: bool = False
    rest: int | None = None


@dataclass(frozen=True, slots=True)
class Spelling:
    """How often texts write a word in lower case, and how often with a capital inside a sentence."""

    lower: Counter[str]
    upper: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Spelling:
        lower: Counter[str] = Counter()
        upper: Counter[str] = Counter()
        for text in texts:
            for match in _WORD.finditer(text):
                word = match.group()
                if len(word) > MAX_NAME_CHARS:
                    continue
                if word[0].islower():
                    lower[_key(word)] += 1
                elif _is_capital(word) and not _is_first(text, match.start()):
                    upper[_key(word)] += 1
        return cls(lower, upper)

    def is_common(self, key: str) -> bool:
        """Whether a word is one of the language: written small more often than by chance."""
        return self.lower[key] > 1 and self.is_ordinary(key)

    def is_ordinary(self, key: str) -> bool:
        """Whether a word is no name of its own: a name is now and then typed in lower case, a noun mostly is."""
        return _SELDOM * self.lower[key] > self.upper[key]


def mentions_in(text: str, language: str | None, spelling: Spelling) -> list[Mention]:
    """The names a text mentions, in order of where they stand."""
    found = list(_repositories(text))
    shown = hidden(text)
    found += (Mention(match.group(), "handle", *match.span()) for match in _HANDLE.finditer(shown))
    for run in _runs(shown):
        found += _from_run(shown, run, language, spelling)
    return sorted(found, key=lambda mention: (mention.start, mention.end))


def hidden(text: str) -> str:
    """The text with code, addresses and link targets blanked out, at the same offsets."""
    return _HIDDEN.sub(lambda match: "\0" * len(match.group()), _without_fences(text))


def _without_fences(text: str) -> str:
    if "```" not in text:
        return text
    lines = text.split("\n")
    inside = False
    for number, line in enumerate(lines):
        fence = line.lstrip().startswith("```")
        if inside or fence:
            lines[number] = "\0" * len(line)
        inside ^= fence
    return "\n".join(lines)


def _repositories(text: str) -> Iterator[Mention]:
    for match in _REPOSITORY.finditer(text):
        owner, _, name = match["name"].partition("/")
        linked = match["site"] is not None
        if linked or (_is_made_up(owner) or _is_made_up(name)):
            shown = match["name"].removesuffix(".git")
            yield Mention(shown, "project", *match.span("name"), is_weak=not linked)


def _is_made_up(part: str) -> bool:
    """Not a word of a language: `tidewick-core`, `node_modules`, `PyTorch`; `and/or` and `24/7` are no repositories."""
    return len(part) > 2 and not part.isdigit() and ("-" in part or "_" in part or is_camel(part))


def _runs(text: str) -> Iterator[list[re.Match[str]]]:
    """Capitalised words that stand together, with the particles between them."""
    run: list[re.Match[str]] = []
    particles: list[re.Match[str]] = []
    for word in _WORD.finditer(text):
        last = particles[-1] if particles else run[-1] if run else None
        joined = last is not None and _is_joined(text, last, word)
        if word.end() - word.start() > MAX_NAME_CHARS:
            joined, capital = False, False
        else:
            capital = _is_capital(word.group()) or is_camel(word.group())
        if capital and joined:
            run += [*particles, word]
            particles = []
            continue
        if run and joined and _continues(word.group(), particles):
            particles.append(word)
            continue
        if run:
            yield run
        run, particles = ([word] if capital else []), []
    if run:
        yield run


def _continues(word: str, particles: Sequence[re.Match[str]]) -> bool:
    return word in _PARTICLES and len(particles) < 2 and (bool(particles) or word not in _ARTICLES)


def _is_joined(text: str, left: re.Match[str], right: re.Match[str]) -> bool:
    gap = text[left.end() : right.start()] if right.start() - left.end() <= 3 else ""
    if gap in (" ", "\u00a0", " & "):
        return True
    if gap == ". ":
        return len(left.group()) == 1 or folded_text(left.group()) in HONORIFICS
    if gap != "\n":
        return False
    return left.end() - (text.rfind("\n", max(0, left.end() - 400), left.end()) + 1) >= _WRAPPED_LINE


def _from_run(text: str, run: Sequence[re.Match[str]], language: str | None, spelling: Spelling) -> Iterator[Mention]:
    for words in _without_fillers(run, language):
        first_in_sentence = _is_first(text, words[0].start())
        titled = folded_text(words[0].group()) in HONORIFICS
        names = words[1:] if titled else words
        is_opened = first_in_sentence and not titled and _is_ordinary(names[0].group(), spelling)
        if is_opened and (len(names) < 2 or _key(names[0].group()) in _OPENERS):
            names = _from_capital(names[1:])
            first_in_sentence = is_opened = False
        if not names or len(names) > 7:
            continue
        start, end = names[0].start(), _end(names[-1])
        name = text[start:end].replace("\n", " ")
        if end - start > MAX_NAME_CHARS or len(name) < 2:
            continue
        weak = _is_weak(text, names, language, spelling, first_in_sentence=first_in_sentence) and not titled
        kind = "person" if titled else _kind(text, names, start, end)
        # "Digital Analytics Program" opening a sentence: other places tell whether its first word belongs to it.
        doubtful = is_opened or (first_in_sentence and len(names) > 1 and _key(names[0].group()) not in spelling.upper)
        rest = _from_capital(names[1:]) if doubtful else []
        yield Mention(name, kind, start, end, weak or is_opened, rest[0].start() if rest else None)


def _without_fillers(run: Sequence[re.Match[str]], language: str | None) -> Iterator[list[re.Match[str]]]:
    """A run split at words that are no part of a name: `The`, `I`, months, days."""
    languages = (language or "en", "en")
    part: list[re.Match[str]] = []
    for word in run:
        folded = _key(word.group())
        if folded in _PARTICLES and word.group()[0].islower():
            part.append(word)
            continue
        alone = len(word.group()) == 1 and len(run) == 1
        filler = (
            folded in _NO_NAMES
            or folded in _UNITS
            or _is_shortened(folded, languages)
            or _DESCRIBES.search(word.group()) is not None
            or (is_stop_word(folded, languages) and len(folded) > 1)
            or folded == "i"
            or alone
        )
        if not filler:
            part.append(word)
        elif part:
            yield _trimmed(part)
            part = []
    if part:
        yield _trimmed(part)


def _trimmed(words: list[re.Match[str]]) -> list[re.Match[str]]:
    while len(words) > 1 and (words[-1].group() in _PARTICLES or _key(words[-1].group()) in _OPENERS):
        words = words[:-1]
    return _from_capital(words) or words


def _from_capital(words: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    first = next((n for n, word in enumerate(words) if word.group() not in _PARTICLES), len(words))
    return list(words[first:])


def _is_ordinary(word: str, spelling: Spelling) -> bool:
    """Whether a word at the start of a sentence is capitalised only because it stands there."""
    key = _key(word)
    if is_camel(word):
        return False
    return key in _OPENERS or spelling.is_ordinary(key)


def _is_weak(
    text: str,
    words: Sequence[re.Match[str]],
    language: str | None,
    spelling: Spelling,
    *,
    first_in_sentence: bool,
) -> bool:
    shouted = all(_is_shouted(word.group()) for word in words)
    if shouted or _is_heading(text, words[0].start()):
        return True
    if is_camel(words[0].group()):
        return False
    keys = [_key(word.group()) for word in words if word.group() not in _PARTICLES]
    if len(words) > 1:  # "Hiring Manager": words that are mostly written small are a label and no name
        is_label = len(keys) == 2 and all(_is_common(key, language) for key in keys)
        return is_label or all(spelling.is_common(key) for key in keys)
    key = keys[0] if keys else ""
    is_usual = spelling.is_ordinary(key) or _is_common(key, language) or len(key) < 3
    return first_in_sentence or language in _ALL_NOUNS or is_usual


def _kind(text: str, words: Sequence[re.Match[str]], start: int, end: int) -> EntityKind | None:
    spelled = kind_of_spelling([word.group() for word in words])
    if spelled:
        return spelled
    if SPEAKS_AFTER.match(text, end):
        return "person"
    if _VERSION.match(text, end):
        return "product"
    return "place" if LOCATED_BEFORE.search(text[max(0, start - 16) : start]) else None


def _is_common(key: str, language: str | None) -> bool:
    """Whether English writes this word small as a rule, whatever these few texts do."""
    return (language or "en") == "en" and english_stems().is_word(stemmer_for("en")(key))


def _is_capital(word: str) -> bool:
    return word.lstrip("0123456789")[:1].isupper()


def _is_shouted(word: str) -> bool:
    """`OPM`, `SSDs`."""
    return len(word) > 1 and (word.isupper() or (word[:-1].isupper() and word.endswith("s") and len(word) > 2))


def _is_shortened(folded: str, languages: tuple[str, ...]) -> bool:
    """`I've`, `don't`, `that's`: a function word with something cut off."""
    head, mark, _ = folded.partition("'")
    return bool(mark) and (head == "i" or is_stop_word(head, languages) or folded.endswith("n't"))


def _is_first(text: str, at: int) -> bool:
    return _STARTS.search(text[max(0, at - 10) : at]) is not None if at else True


def _is_heading(text: str, at: int) -> bool:
    line = text.rfind("\n", max(0, at - 300), at) + 1
    return text.startswith(("#", "|"), line)


def _end(word: re.Match[str]) -> int:
    """Where a word ends without its possessive or a dangling hyphen."""
    written = word.group().rstrip("'’-")
    for possessive in ("'s", "’s"):
        written = written.removesuffix(possessive)
    return word.start() + len(written)


def _key(word: str) -> str:
    return folded_text(word).rstrip("'-").removesuffix("'s")
