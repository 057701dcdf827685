"""Pairs from real sentences: each kind shows the same change where it matters and a like one where it does not.

    number   "…in 1926."  with claim "…in 1962."   refuted        "In 1926, …"   supported
    framed   "It is unclear whether …"             unsupported    "Nobody doubts that …"   supported

Which of two variants is the passage and which the claim is chosen by chance, so that no word gives the label away.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random

from claim_pairs import edits, frames, values
from claim_pairs.pair import Label, Pair
from claim_pairs.passages import Sentence
from claim_pairs.wording import FUNCTION_WORDS, introduced, raised, reworded

# A false claim is reworded nearly as often as a true one: else a second change would speak for the truth.
_ALSO_REWORDED = 0.7
NaturalMaker = Callable[[Random, Sentence], Iterator[Pair]]


def around(random: Random, text: str, sentence: Sentence) -> str:
    """The passage: the sentence alone, or with a neighbour."""
    place = random.random()
    if place < 0.2 and sentence.before:
        return f"{sentence.before} {text}"
    if place < 0.4 and sentence.after:
        return f"{text} {sentence.after}"
    return text


def twins(random: Random, kind: str, sentence: Sentence, other: str | None, label: Label = "refuted") -> Iterator[Pair]:
    """Two sentences that exclude each other: a false pair, and a true one about either of them."""
    if not other or other == sentence.text:
        return
    passage, claim = random.sample((sentence.text, other), 2)
    if random.random() < _ALSO_REWORDED:
        claim = reworded(random, claim) or claim
    yield Pair(kind, claim, around(random, passage, sentence), label)
    same = random.choice((sentence.text, other))
    yield Pair(kind, reworded(random, same) or same, around(random, same, sentence), "supported")


def number(random: Random, sentence: Sentence) -> Iterator[Pair]:
    yield from twins(
        random, "number", sentence, values.renumbered(random, sentence.text, f"{sentence.before} {sentence.after}")
    )


def date(random: Random, sentence: Sentence) -> Iterator[Pair]:
    yield from twins(random, "date", sentence, values.redated(random, sentence.text))


def number_word(random: Random, sentence: Sentence) -> Iterator[Pair]:
    other = values.reworded_number(random, sentence.text)
    if other:
        yield Pair("number word", other, around(random, sentence.text, sentence), "refuted")
        same = values.reformatted(random, sentence.text)
        if same:
            claim, passage = random.sample((same, sentence.text), 2)
            yield Pair("number word", claim, around(random, passage, sentence), "supported")


def contrary(random: Random, sentence: Sentence) -> Iterator[Pair]:
    yield from twins(random, "contrary", sentence, edits.contrary(random, sentence.text))


def sibling(random: Random, sentence: Sentence) -> Iterator[Pair]:
    yield from twins(random, "sibling", sentence, edits.sibling(random, sentence.text))


def negation(random: Random, sentence: Sentence) -> Iterator[Pair]:
    text = sentence.text
    yield from twins(random, "negation", sentence, edits.negated(random, text) or edits.affirmed(random, text))


def roles(random: Random, sentence: Sentence) -> Iterator[Pair]:
    yield from twins(random, "roles", sentence, edits.swapped(random, sentence.text))


def modality(random: Random, sentence: Sentence) -> Iterator[Pair]:
    if found := edits.modal(random, sentence.text):
        weak, strong = found
        yield Pair("modality", strong, around(random, weak, sentence), "unsupported")
        either = random.choice(found)
        yield Pair(
            "modality",
            edits.same_modal(random, either) or reworded(random, either) or either,
            around(random, either, sentence),
            "supported",
        )


def quantity(random: Random, sentence: Sentence) -> Iterator[Pair]:
    if found := edits.quantity(random, sentence.text):
        said, unsaid, excluded = found
        yield Pair("quantity", unsaid, around(random, said, sentence), "refuted" if excluded else "unsupported")
        if excluded and random.random() < 0.5:
            yield Pair("quantity", said, around(random, unsaid, sentence), "refuted")
        same = random.choice((said, unsaid))
        other = same
        for left, right in (
            ("all ", "every one of the "),
            ("All ", "Every one of the "),
            ("most ", "the majority of "),
            ("many ", "numerous "),
            ("several ", "a number of "),
            ("Most ", "The majority of "),
            ("Many ", "A lot of "),
            ("a few ", "a small number of "),
            ("some ", "a number of "),
        ):
            if left in other:
                other = other.replace(left, right, 1)
                break
        yield Pair("quantity", other, around(random, same, sentence), "supported")


def hedged(random: Random, sentence: Sentence) -> Iterator[Pair]:
    loose, firm = edits.loosened(random, sentence.text), edits.emphasised(random, sentence.text)
    if loose and firm:
        label: Label = (
            "refuted"
            if re.search(r"\b(almost|nearly) ", loose)
            and loose.count("almost") + loose.count("nearly")
            > sentence.text.count("almost") + sentence.text.count("nearly")
            else "unsupported"
        )
        yield Pair("hedged", sentence.text, around(random, loose, sentence), label)
        yield Pair("hedged", sentence.text, around(random, firm, sentence), "supported")
        if random.random() < 0.4:
            yield Pair("hedged", loose, around(random, loose, sentence), "supported")


def added(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """A detail nobody gave, and a passage that gives it."""
    if other := edits.detailed(random, sentence.text):
        yield Pair("added", other, around(random, sentence.text, sentence), "unsupported")
        claim = reworded(random, random.choice((sentence.text, other, other))) or other
        yield Pair("added", claim, around(random, other, sentence), "supported")


def compressed(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """Less than was said is true; more than was said is not proven; the shorter with a change is false."""
    short = edits.shortened(random, sentence.text)
    if not short:
        return
    yield Pair("compressed", short, around(random, sentence.text, sentence), "supported")
    yield Pair(
        "compressed",
        reworded(random, sentence.text) or sentence.text,
        around(random, sentence.text, sentence),
        "supported",
    )
    if random.random() < 0.7 and "(" not in sentence.text:
        yield Pair("compressed", reworded(random, sentence.text) or sentence.text, short, "unsupported")
    change = random.choice((edits.contrary, edits.sibling, edits.negated, edits.swapped, values.renumbered))
    if other := change(random, short):
        if random.random() < _ALSO_REWORDED:
            other = reworded(random, other) or other
        yield Pair("compressed", other, around(random, sentence.text, sentence), "refuted")


def generalised(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """A violin is a musical instrument; a musical instrument need not be a violin."""
    if broad := edits.broader(random, sentence.text):
        yield Pair("generalised", broad, around(random, sentence.text, sentence), "supported")
        yield Pair("generalised", sentence.text, broad, "unsupported")
        if other := edits.sibling(random, sentence.text):
            yield Pair("generalised", other, sentence.text, "refuted")


def neighbour(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """What stands next to a sentence is not what it says."""
    text, before, after = sentence.text, sentence.before, sentence.after
    if (
        not before
        or not after
        or after.split()[0].lower() in ("he", "she", "it", "they", "this", "these", "his", "her", "however,")
    ):
        return
    yield Pair("neighbour", after, f"{before} {text}", "unsupported")
    yield Pair("neighbour", reworded(random, after) or after, f"{text} {after}", "supported")


def crossed(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """The subject of one sentence with what is said of another: only the right join is true."""
    left, right = _parts(sentence.text), _parts(sentence.after)
    if not left or not right or left[0] in right[0] or right[0] in left[0] or left[1] != right[1]:
        return
    passage = f"{sentence.text} {sentence.after}"
    yield Pair("crossed", f"{left[0]} {left[1]} {right[2]}", passage, "unsupported")
    yield Pair("crossed", reworded(random, sentence.text) or sentence.text, passage, "supported")


def _parts(text: str) -> tuple[str, str, str] | None:
    match = re.match(r"([A-Z][\w' ]{2,40}?) (is|was|are|were) ((?!not)[^,;]{8,})$", text)
    return (match[1], match[2], match[3]) if match and match[1].split()[0].lower() not in FUNCTION_WORDS else None


def reversed_cause(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """Because, before and after: their two sides do not change places."""
    match = re.match(r"([^,;]{10,80}?),? (because|before|after|until) ([^,;]{10,80})\.$", sentence.text)
    if not match or match[3].startswith(("of ", "being ", "having ", "then ", "they ", "it ")):
        return
    left, word, right = match[1], match[2], match[3]
    if not re.search(r"\b(is|are|was|were|has|have|had|can|could|will|would)\b", right):
        return
    turned = f"{raised(right)} {word} {_low(left)}."
    yield Pair(
        "reversed", turned, around(random, sentence.text, sentence), "unsupported" if word == "because" else "refuted"
    )
    first = "Because" if word == "because" else word.capitalize()
    yield Pair("reversed", f"{first} {right}, {_low(left)}.", around(random, sentence.text, sentence), "supported")


def _low(text: str) -> str:
    return text[0].lower() + text[1:] if text.split()[0].lower() in FUNCTION_WORDS else text


def framing(random: Random, sentence: Sentence) -> Iterator[Pair]:
    yield from frames.framing(random, sentence)


def correction(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """A sentence and what replaces it later in the same note."""
    change = random.choice((edits.sibling, values.renumbered, values.redated, edits.contrary))
    if other := change(random, sentence.text):
        yield from frames.corrected(random, sentence.text, other)


def untouched(random: Random, sentence: Sentence) -> Iterator[Pair]:
    """True restatements and short falsehoods of every sort, mixed: the everyday case."""
    change = random.choice(
        (edits.contrary, edits.sibling, edits.negated, edits.swapped, values.renumbered, edits.affirmed)
    )
    other = change(random, sentence.text)
    same = reworded(random, sentence.text)
    if other and same:
        again = reworded(random, same) or same
        yield Pair("mixed", again, around(random, sentence.text, sentence), "supported")
        yield Pair(
            "mixed",
            reworded(random, other) or introduced(random, other) or other,
            around(random, sentence.text, sentence),
            "refuted",
        )


NATURAL: tuple[NaturalMaker, ...] = (
    number, date, number_word, contrary, sibling, negation, roles, modality, quantity, hedged, added, compressed,
    generalised, neighbour, crossed, reversed_cause, framing, correction, untouched,
)  # fmt: skip
