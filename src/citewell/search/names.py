"""Mentions: names as running text shows them, without any list of names. Pure, and linear in the text.

In scripts with capitals: runs of capitalised words, guarded at the start of sentences. In every script: @handles,
owner/repository, and names the corpus knows by a title, an alias or a link (those are looked for by `search/names.py`).
A weak mention (in a heading, at the start of a sentence, any noun of a German text) counts only for a name that
something else vouches for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from citewell.text.canonical import fold, folded_text
from citewell.text.languages import is_stop_word, stemmer_for
from citewell.text.words import english_stems

EntityKind = Literal["person", "project", "product", "handle", "place", "organisation", "name"]


# What kind of thing a name names, by what the corpus says of it: tags, folders, and the words around it. Pure.
#
# Nothing is guessed from lists of first names or towns: where nothing tells, a name is just a name.


# Words of tags and folders that say what the documents below them are about.
_KIND_WORDS: dict[EntityKind, frozenset[str]] = {
    "person": frozenset(
        """person people persons contact contacts author authors personen leute kontakte personne personnes gens persona
        personas gente contactos pessoas persone люди человек 人 人物 人名 사람 인물""".split()
    ),
    "place": frozenset(
        """place places location locations city cities ort orte lieu lieux lugar lugares luoghi место места 場所 地名
        地点 장소""".split()
    ),
    "organisation": frozenset(
        """organisation organisations organization organizations org orgs company companies firma firmen entreprise
        entreprises empresa empresas организация 組織 公司 会社 회사""".split()
    ),
    "project": frozenset("project projects projekt projekte projet projets proyecto proyectos 项目 проект".split()),
    "product": frozenset("product products tool tools produkt produkte produit produits producto productos".split()),
}
_TAG_PART = re.compile(r"[/_-]")
PLACE_WORDS = frozenset(
    """bay bridge castle city cliff county fjord forest glen harbour harbor head hill island islands isle lake loch
    mount mountain point port quay river road sound square street valley village voe platz strasse straße
    gasse insel rue avenue boulevard ile plaza calle isla""".split()
)
ORGANISATION_WORDS = frozenset(
    """ab ag association bank bureau committee company corp corporation council department foundation gmbh group inc
    institute limited llc ltd ministry oy plc society son sons trust union universität université universidad university
    verein""".split()
)
HONORIFICS = frozenset("dr prof professor mr mrs ms sir dame rev captain capt herr frau mme madame don doña".split())
SPEAKS_AFTER = re.compile(
    r"['’]?\s(?:said|says|wrote|writes|told|tells|asked|asks|thinks|thought|replied|emailed|sagt|sagte|schrieb|dit"
    r"|écrit|dijo|escribió)\b"
)
# Not "in": that is said of programs, departments and languages as well.
LOCATED_BEFORE = re.compile(
    r"(?<!\w)(?:near|towards|outside|(?:lives?|lived|living|born|stayed|arrived|landed) in"
    r"|(?:moved|sailed|flew|travelled|trip) to|nahe|près de|cerca de)\s$",
    re.IGNORECASE,
)


def kind_of_document(tags: Iterable[str], note_path: str | None, source_type: str) -> EntityKind | None:
    """What a document is about, where its tags, its folder or its source says so."""
    for tag in tags:
        kind = _kind_of_words(_TAG_PART.split(folded_text(tag)))
        if kind:
            return kind
    # Folders of tools and products hold manuals and advice as well.
    folders = [
        folder for folder in folded_text(note_path or "").split("/")[:-1] if folder not in _KIND_WORDS["product"]
    ]
    return _kind_of_words(reversed(folders)) or ("project" if source_type == "github" else None)


def _kind_of_words(words: Iterable[str]) -> EntityKind | None:
    for word in words:
        for kind, telling in _KIND_WORDS.items():
            if word in telling:
                return kind
    return None


def kind_of_spelling(words: list[str]) -> EntityKind | None:
    """What the name itself says by its last word: Burra Hill, Skelday Energy Ltd."""
    last = folded_text(words[-1])
    if len(words) > 1 and last in PLACE_WORDS:
        return "place"
    if len(words) > 1 and last in ORGANISATION_WORDS:
        return "organisation"
    return None


def is_camel(word: str) -> bool:
    """`PostgreSQL`, `iPhone`; not `MacLeod` and not `NASA`."""
    if len(word) < 4 or not any(left.islower() and right.isupper() for left, right in pairwise(word)):
        return False
    return not word.startswith(("Mc", "Mac", "O’", "O'", "De", "Di", "La", "Le", "Van", "Fitz"))


# Names: how they are compared, and where they stand in a text. Pure.
#
# Case, accents, white space, a leading `@` and a possessive do not matter. A single capitalised word is found only
# where it is written with a capital, so that the name May is not every verb.


MAX_NAME_CHARS = 80
_EDGES = " \t\n\"'“”‘’«»*_`.,;:!?…"
_QUALIFIER = re.compile(r"\s*[(（][^()（）]{1,80}[)）]$")
# Beside figures a month is a date; alone it may be a person: April, May.
_DATE_LIKE = re.compile(
    r"[\s./:_-]*$|(?=\D*\d)(?:[\d\s.,/:_-]|(?:january|february|march|april|may|june|july|august|september|october|november"
    r"|december|week)\b)*$"
)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place where a name stands; `key` says which of the names looked for it is."""

    key: str
    start: int
    end: int


def name_key(name: str) -> str:
    """The form under which a name is compared."""
    folded = " ".join(folded_text(name).split()).strip(_EDGES)
    return folded.removeprefix("@").removesuffix("'s").strip(_EDGES)


def base_name(name: str) -> str:
    """A name without what tells it from others of the same name: `Ewan Ross (slater)` is Ewan Ross."""
    return _QUALIFIER.sub("", name[: 2 * MAX_NAME_CHARS]).strip() or name


def is_name_like(name: str) -> bool:
    """Whether a title can name something: neither a date, nor a question, nor a sentence, nor a single character."""
    key = name_key(name)
    if name.rstrip().endswith(("?", "？")):
        return False
    short = 2 <= len(key) <= MAX_NAME_CHARS and len(key.split()) <= 6
    return short and _DATE_LIKE.match(key) is None


def reads_as_name(title: str) -> bool:
    """Whether a title is spelled like a name: `Big Maggie`, `昆布`; not `Snag list`, nor `Budget`, any noun."""
    parts = [part for part in base_name(title).split() if not part.islower() or len(part) > 3]
    if not has_case(title):
        return is_name_like(title)
    return len(parts) > 1 and is_name_like(title) and all(not part[0].islower() for part in parts)


def has_case(name: str) -> bool:
    """Whether a name is written in a script with capital letters."""
    return name.lower() != name.upper()


def occurrences(text: str, names: Iterable[str]) -> Iterator[Occurrence]:
    """Where any of these names stands in a text, in order, the longest where several begin."""
    written = {name_key(name): name for name in names if name_key(name)}
    if not written:
        return
    folded = fold(text)
    for match in _pattern(written).finditer(folded.text):
        start, end = folded.source_span(match.start(), match.end())
        key = name_key(match.group())
        name = written.get(key, "")
        if _needs_capital(name) and not (text[start] == "@" or text[start].isupper()):
            continue
        yield Occurrence(key, start, end)


def _pattern(keys: Iterable[str]) -> re.Pattern[str]:
    alternatives = sorted(keys, key=lambda key: (-len(key), key))
    return re.compile("|".join(_alternative(key) for key in alternatives))


def _alternative(key: str) -> str:
    spelled = r"\s{1,3}".join(re.escape(part) for part in key.split())
    if not has_case(key) and not key.isdigit():
        return spelled  # scripts without case are mostly written without spaces too: a name has no edges there
    return rf"(?<![\w@])@?{spelled}(?!\w)"


def _needs_capital(name: str) -> bool:
    return " " not in name.strip() and name[:1].isupper()


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
class CaseCounts:
    """How often texts write a word in lower case, and how often with a capital inside a sentence."""

    lower: Counter[str]
    upper: Counter[str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> CaseCounts:
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


def mentions_in(text: str, language: str | None, spelling: CaseCounts) -> list[Mention]:
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


def _from_run(text: str, run: Sequence[re.Match[str]], language: str | None, spelling: CaseCounts) -> Iterator[Mention]:
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


def _is_ordinary(word: str, spelling: CaseCounts) -> bool:
    """Whether a word at the start of a sentence is capitalised only because it stands there."""
    key = _key(word)
    if is_camel(word):
        return False
    return key in _OPENERS or spelling.is_ordinary(key)


def _is_weak(
    text: str,
    words: Sequence[re.Match[str]],
    language: str | None,
    spelling: CaseCounts,
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


# Other names that a text itself introduces: "Skelday Energy (SE)", "北京大学（北大）", "posts as @kelpwife". Pure.
#
# A pair in brackets counts only where the short form is spelled from the long one, so "Agnes (Kirkhaven)" is none.


_SHORT_FIRST = re.compile(r"(?<!\w)([^\W\d_][\w&-]{1,11})\s?[(（]([^\W\d_][^()（）\n]{3,80})[)）]")
_BRACKETED = re.compile(r"[(（]([^\W\d_][\w&-]{0,11})[)）]")
_WORDS = re.compile(r"[^\W_][\w'’-]*")
_BREAKS = re.compile(r"[.!?;:,\n\"“”\[\]|*()（）]")
_LITTLE = frozenset("of the and for de la le du des der die das und van von den y e da do dos del al".split())

INTRODUCED = re.compile(
    r"""\b(?:(?:better[ ]|also[ ]|formerly[ ])?known[ ]as|a\.?k\.?a\.?|alias(?:es)?|handle|nickname|nicknamed|formerly
      |goes[ ]by|answers[ ]to|(?:posts|commits|signs|writes|publishes|trades|trading)[ ](?:\w+[ ])?as|renamed|called)
      [:]?[ ]["'“‘*_`]{0,3}(@?[\w][\w.-]*)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Pair:
    """A long name and the short one a text gives for it."""

    name: str
    short: str


def introduced_names(text: str) -> Iterator[str]:
    """Names a text introduces for its subject by a turn of phrase."""
    for match in INTRODUCED.finditer(text):
        yield match[1]


def abbreviations(text: str) -> Iterator[Pair]:
    """Every "Name (SHORT)" and "SHORT (Name)" of a text."""
    for match in _BRACKETED.finditer(text):
        before = text[max(0, match.start() - MAX_NAME_CHARS) : match.start()].rstrip(" ")
        name = _long_form(before, match[1])
        if name:
            yield Pair(name, match[1])
    for match in _SHORT_FIRST.finditer(text):
        if match[1].isupper() and _long_form(match[2], match[1]) == match[2]:
            yield Pair(match[2], match[1])


def _long_form(before: str, short: str) -> str | None:
    """The words at the end of `before` that the short form is made of."""
    clause = _BREAKS.split(before)[-1].strip()
    if not has_case(short):
        return _spelled_without_spaces(clause, short)
    words = list(_WORDS.finditer(clause))
    letters = [character for character in folded_text(short) if character.isalnum()]
    for first in range(len(words) - 1, -1, -1):
        name = clause[words[first].start() :]
        if words[first].group()[0].isupper() and _is_made_of(letters, [word.group() for word in words[first:]], short):
            return name
    return None


def _is_made_of(letters: list[str], words: list[str], short: str) -> bool:
    """An initialism of all the words that matter, or the beginning of the first of them (Sol, Solveig Haraldsen)."""
    if short.isupper() and len(letters) > 1:
        initials = [folded_text(word)[:1] for word in words]
        telling = [folded_text(word)[:1] for word in words if folded_text(word) not in _LITTLE]
        return len(words) > 1 and letters in (initials, telling)
    first = folded_text(words[0])
    return len(letters) > 2 and first.startswith("".join(letters)) and len(first) > len(letters)


def _spelled_without_spaces(clause: str, short: str) -> str | None:
    """The shortest ending of the clause that begins as the short form does and holds its characters in order."""
    at = clause.rfind(short[0])
    while at != -1:
        name = clause[at:]
        rest = iter(name)
        if len(name) > len(short) and all(character in rest for character in short):
            return name
        at = clause.rfind(short[0], 0, at)
    return None
