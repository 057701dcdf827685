"""The same truth in other words: changes that leave what a sentence says as it is.

    "In 1926, Universal opened a studio."  ->  "Universal opened a studio in 1926."
    "The lake is not deep."                ->  "The lake isn't deep."
    "About 1,200 people live there."       ->  "About 1200 people live there."

Every change is a function from a sentence to another one, or to nothing where it does not apply.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from claim_pairs.lexicon import LEXICON
from claim_pairs.values import reformatted

Change = Callable[[Random, str], "str | None"]

FUNCTION_WORDS = frozenset(
    """
    the a an in on at by it he she they we you this that these those his her its their our your
    there here during after before when while as some many most several few all both each every no
    for from with since until under over between among although though if because however also then
    today only about around approximately two three four five six seven eight nine ten one another
    other such more less people men women children scientists researchers
    """.split()
)
_WORD = re.compile(r"[A-Za-z][\w-]*")
_CONTRACTIONS = [
    (f"{verb} not", short)
    for verb, short in (
        ("is", "isn't"),
        ("are", "aren't"),
        ("was", "wasn't"),
        ("were", "weren't"),
        ("does", "doesn't"),
        ("do", "don't"),
        ("did", "didn't"),
        ("has", "hasn't"),
        ("have", "haven't"),
        ("had", "hadn't"),
        ("could", "couldn't"),
        ("would", "wouldn't"),
        ("should", "shouldn't"),
    )
] + [("cannot", "can't"), ("will not", "won't")]
_ABBREVIATIONS = [
    ("the United States", "the US"),
    ("the United Kingdom", "the UK"),
    ("the European Union", "the EU"),
    ("the United Nations", "the UN"),
    ("the Soviet Union", "the USSR"),
    ("World War II", "the Second World War"),
    ("World War I", "the First World War"),
    ("for example", "for instance"),
    ("in order to", "to"),
    ("because of", "due to"),
    ("a number of", "several"),
    ("as well as", "and also"),
    ("was born in", "came into the world in"),
    ("took place", "was held"),
    ("prior to", "before"),
    ("at the moment", "now"),
    ("known as", "called"),
    ("more than", "over"),
    ("at least", "no fewer than"),
    ("consists of", "is made up of"),
    ("is located in", "lies in"),
    ("is able to", "can"),
    ("are able to", "can"),
    ("has to", "must"),
    ("have to", "must"),
]
_TRUE_FRAMES = (
    "It is true that {s}.",
    "As the notes say, {s}.",
    "According to the text, {s}.",
    "We read that {s}.",
    "{S}, as the source states.",
    "It is a fact that {s}.",
    "The passage says that {s}.",
    "Indeed, {s}.",
)


def lowered(text: str) -> str:
    """With a small first letter, unless the first word may be a name."""
    first = text.split(" ", 1)[0].rstrip(",")
    return text[0].lower() + text[1:] if first.lower() in FUNCTION_WORDS else text


def raised(text: str) -> str:
    return text[0].upper() + text[1:]


_OPENING = re.compile(
    r"(?:However|Moreover|Furthermore|Additionally|Nevertheless|Thus|Therefore|For example|For instance|Finally), "
)


def clause(text: str) -> str:
    """A sentence as part of another one: no full stop, no "however", small first letter."""
    return lowered(_OPENING.sub("", text.rstrip(".").strip(), count=1))


def framed(frame: str, text: str) -> str:
    return raised(frame.format(s=clause(text), S=text.rstrip(".")))


def synonym(random: Random, text: str) -> str | None:
    hits = [match for match in _WORD.finditer(text) if match[0] in LEXICON.synonyms]
    if not hits:
        return None
    hit = random.choice(hits)
    other = random.choice(LEXICON.synonyms[hit[0]])
    before = text[: hit.start()]
    if before.endswith((" a ", " an ", "A ", "An ")):  # the article follows the new word
        before = re.sub(r"([Aa])n? $", r"\1n " if other[0] in "aeiou" else r"\1 ", before)
    return before + other + text[hit.end() :]


def moved(random: Random, text: str) -> str | None:
    """A leading phrase goes to the end, or a final one to the beginning."""
    if match := re.match(r"((?:In|On|During|By|At|Since|Until) [^,]{3,35}), ([^,;:]+)\.$", text):
        return f"{raised(match[2])} {lowered(match[1])}."
    if match := re.match(r"([^,;:]+?) ((?:in|since|until) (?:\w+ )?\d{4})\.$", text):
        return f"{raised(match[2])}, {lowered(match[1])}."
    return None


def contracted(random: Random, text: str) -> str | None:
    for long, short in _CONTRACTIONS:
        for old, new in ((long, short), (short, long)):
            if re.search(rf"\b{old}\b", text):
                return re.sub(rf"\b{old}\b", new, text, count=1)
    return None


def abbreviated(random: Random, text: str) -> str | None:
    for long, short in random.sample(_ABBREVIATIONS, len(_ABBREVIATIONS)):
        if long in text:
            return text.replace(long, short, 1)
    return None


def owner_named(random: Random, text: str) -> str | None:
    """Germany's capital -> the capital of Germany."""
    match = re.search(r"(?<![A-Za-z] )\b([A-Z][a-z]+)'s ([a-z]+)\b(?= (?:is|was|are|were|in|has|had|and)\b|\.)", text)
    if not match:
        return None
    return raised(f"{text[: match.start()]}the {match[2]} of {match[1]}{text[match.end() :]}")


def conjuncts_turned(random: Random, text: str) -> str | None:
    """France and Germany -> Germany and France."""
    match = re.search(r"(?<![A-Za-z,] )(?<=[a-z] )([A-Z][a-z]+) (and|or) ([A-Z][a-z]+)(?= [a-z]|\.)", text)
    if not match:
        return None
    return f"{text[: match.start()]}{match[3]} {match[2]} {match[1]}{text[match.end() :]}"


def unbracketed(random: Random, text: str) -> str | None:
    short = re.sub(r" \([^()]*\)", "", text)
    return short if short != text and len(short.split()) >= 5 else None


def introduced(random: Random, text: str) -> str | None:
    return framed(random.choice(_TRUE_FRAMES), text)


def split_verb(random: Random, text: str) -> str | None:
    """What was done by someone -> who did it: "was built by Anna" -> "Anna built it" needs no name twice."""
    match = re.match(
        r"((?:The|A|An) [a-z ]{3,40}|[A-Z][a-z]+(?: [A-Z][a-z]+)*) (was|were) (\w+ed) by ([^,;]{3,50})\.$", text
    )
    if (
        not match
        or " by " in match[4]
        or " and " in match[1] + match[4]
        or re.search(r"\b(in|on|at|for|to|from)\b", match[4])
    ):
        return None
    return raised(f"{match[4]} {match[3]} {lowered(match[1])}.")


LIGHT: tuple[Change, ...] = (
    synonym,
    synonym,
    moved,
    contracted,
    abbreviated,
    owner_named,
    conjuncts_turned,
    reformatted,
)
HEAVY: tuple[Change, ...] = (split_verb, unbracketed, moved, introduced)


def reworded(random: Random, text: str) -> str | None:
    """One or two changes that keep the truth; nothing where none applies."""
    changed = text
    changes = random.sample(LIGHT, len(LIGHT)) + random.sample(HEAVY, len(HEAVY))
    wanted = random.choice((1, 1, 2))
    for change in changes:
        other = change(random, changed)
        if other and other != changed and (change is not introduced or (wanted == 1 and changed == text)):
            changed, wanted = other, wanted - 1
        if not wanted:
            break
    return changed if changed != text else None
