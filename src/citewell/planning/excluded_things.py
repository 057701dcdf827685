"""The things a question leaves out: what stands behind "except" or "not", as concepts. Pure.

Only questions that have such a lead need this (`planning/exclusions.py`): the others do not wait for its patterns.
"""

# ruff: noqa: E501  (one alternative a line reads better than a wrapped pattern)

from __future__ import annotations

import re

from citewell.domain.queries import Concept, ProtectedKind
from citewell.planning.normalizer import QUOTED, SOURCE_KEY, is_function_word, is_intent
from citewell.text.folding import folded_text
from citewell.text.words import query_tokens

MAX_EXCLUDED = 8
_MAX_WORDS = 4

_COMMANDS = re.compile(
    r"\b(?:flags?|options?|switch|arguments?|parameters?|command|cli|run|git|ls|grep|install)\b", re.I
)

# "Which X other than Y do Z": what follows the first plain word goes on with the question.
_INSIDE = re.compile(r"^(?:other\s+than|apart\s+from|aside\s+from|besides|außer|ausser)$", re.IGNORECASE)
_ASKING = re.compile(r"^(?:which|what|who|how|when|where|why|welche\w*|wer|was|wie)\b", re.IGNORECASE)
# After "but not" and ", not" a verb or an adverb goes on with what is asked: "but not written down".
_ONLY_THINGS = re.compile(r"(?:but|and|aber|mais|pero)\s+(?:not|nicht|pas|no)$|^[,(–—]", re.IGNORECASE)
_NO_THING = re.compile(
    r"\w+(?:ed|ing|ly|wn|ten)$|(?:here|there|now|known|seen|found|done|possible|true|right)$", re.IGNORECASE
)
_ADVERB = re.compile(r"here$|there$|now$|\w+ly$", re.IGNORECASE)
_PLURAL = re.compile(r"\w{3,}[^s\W]s$", re.IGNORECASE)
_IDIOMS = re.compile(
    r"(?:in\s+person|in\s+time|on\s+time|at\s+once|at\s+all|for\s+long|in\s+use|in\s+general)\b", re.IGNORECASE
)

_NEVER = frozenset(
    """only just yet even to all every always necessarily really sure so too much many least enough that if when because
    being having been able until nur auch immer mehr seulement toujours encore solo siempre""".split()
)
_CARRIERS = re.compile(
    r"\s*(?:(?:about|from|in|on|at|by|for|of|with|those|ones|any|anything|the|an?|my|our|your|this|that|these|der|die|das|den|dem|des|"
    r"von|le|la|les|du|de|el|los|las|ein|eine|un|une|una)\s+|l['’])",
    re.IGNORECASE,
)
_ENDS = frozenset(
    """are is was were am be do does did has have had can could will would should may might must on in at from with for to
    that which who whose when where why how what and or but about into over under since until before after during
    ist sind war waren hat haben est sont était es son fue""".split()
)
_ALSO = re.compile(r"\s*(?:,\s*(?:and|or)?|\band\b|\bor\b|\bund\b|\boder\b|\bet\b|\bou\b|\by\b)\s*", re.IGNORECASE)
_YES_NO = re.compile(r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b", re.IGNORECASE)
_ANCHOR = re.compile(rf"#[^\s,;?!]+|@[\w.-]+|{QUOTED.pattern}|{SOURCE_KEY.pattern}")
_WORD = re.compile(r"[^\s,;.?!:()\[\]\"“”–—]+(?:[.:][^\s,;.?!:()\[\]\"“”–—]+)*")


def is_set_apart(lead: str, objects: list[Concept], text: str) -> bool:
    """Whether a lead really excludes: a yes-or-no question that says ", not X" asks which of the two is true."""
    if lead.strip() == "-" and objects[0].protected is None:
        return not _COMMANDS.search(text)
    return not (lead.lstrip()[:1] in ",(–—" and _YES_NO.match(text))


def things_in(text: str) -> tuple[Concept, ...]:
    """What a text names, as things to leave out."""
    return tuple(objects_behind(text, 0, "except", listed=True)[0])


def objects_behind(text: str, at: int, lead: str, *, listed: bool) -> tuple[list[Concept], int]:
    """What stands behind a lead, and where it ends."""
    found: list[Concept] = []
    end = at
    while len(found) < MAX_EXCLUDED:
        concept, after, is_name = _object(text, end, lead)
        if concept is None:
            break
        found.append(concept)
        end = after
        more = _ALSO.match(text, end) if listed else None
        if more is None or not (is_name or concept.protected):
            break
        following, _, next_is_name = _object(text, more.end(), lead)
        if following is None or not (next_is_name or following.protected):
            break
        end = more.end()
    return found, end


def _object(text: str, at: int, lead: str) -> tuple[Concept | None, int, bool]:
    """One thing: an anchor, a name, or a few plain words; with where it ends and whether it is a name."""
    while at < len(text) and text[at].isspace():
        at += 1
    start = at
    for _ in range(3):
        if carrier := _CARRIERS.match(text, at):
            at = carrier.end()
    if anchor := _ANCHOR.match(text, at):
        return _protected(anchor.group()), anchor.end(), False
    words = _run(text, at)[:_MAX_WORDS]
    if not words or words[0].group().casefold() in _NEVER or _IDIOMS.match(text, start):
        return None, at, False
    is_name = _is_part_of_name(words[0].group())
    if is_name:
        words = words[: next((n for n, word in enumerate(words) if not _is_part_of_name(word.group())), len(words))]
    elif at == start and _ONLY_THINGS.search(lead) and _NO_THING.match(words[0].group()):
        return None, at, False
    elif _INSIDE.match(lead) and _ASKING.match(text):
        words = _before_verb(text, words)
    return _plain(" ".join(word.group() for word in words)), words[-1].end(), is_name


def _before_verb(text: str, words: list[re.Match[str]]) -> list[re.Match[str]]:
    """The thing in front of what goes on with the question: "tide gauges" are used, "puffins" nest here."""
    following = _WORD.match(text, _past_spaces(text, words[-1].end()))
    if following is not None and following.group().casefold() in _ENDS:
        return words
    # Without an auxiliary the thing ends with its plural, before a verb, or before the last two words.
    plural = next((n for n, word in enumerate(words) if _PLURAL.search(word.group())), None)
    if plural is not None:
        return words[: plural + 1]
    verb = next((n for n, word in enumerate(words) if n and _NO_THING.match(word.group())), None)
    if verb is not None:
        is_adverb = _ADVERB.match(words[verb].group()) and verb > 1
        return words[: verb - 1 if is_adverb else verb]
    return words if following is None and len(words) < 3 else words[: max(1, len(words) - 2)]


def _past_spaces(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _run(text: str, at: int) -> list[re.Match[str]]:
    """Words up to the next stop, or to a word that goes on with the sentence."""
    found: list[re.Match[str]] = []
    while match := _WORD.match(text, at):
        if match.group().casefold() in _ENDS:
            break
        found.append(match)
        at = match.end()
        while at < len(text) and text[at].isspace():
            at += 1
    return found


def _is_part_of_name(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit()


def _plain(text: str) -> Concept | None:
    tokens = [token for token in query_tokens(text) if not is_function_word(token) and not is_intent(token)]
    if not tokens:
        return None
    terms = tuple(dict.fromkeys(token.folded for token in tokens))
    return Concept(" ".join(token.text for token in tokens), "content", False, terms)


def _protected(anchor: str) -> Concept:
    kind: ProtectedKind
    if anchor[0] == "#":
        kind, name, term = "tag", anchor.rstrip(".:"), folded_text(anchor[1:].rstrip(".:"))
    elif anchor[0] == "@":
        kind, name, term = "handle", anchor, folded_text(anchor.rstrip("."))
    elif QUOTED.match(anchor):
        kind, name, term = "phrase", anchor[1:-1].strip(), anchor[1:-1].strip()
    else:
        kind, name, term = "source_key", anchor, anchor
    return Concept(name, "anchor", False, (term,), kind)
