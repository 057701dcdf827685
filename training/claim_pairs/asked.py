"""Questions with their answers become statements, with the right answer and with another one of the same type.

"Who wrote Emma?"  "Jane Austen"  ->  "Jane Austen wrote Emma."  supported      "Walter Scott wrote Emma."  refuted
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from claim_pairs.pair import Pair, overlap
from claim_pairs.passages import Asked
from claim_pairs.values import NUMBER, other_number
from claim_pairs.wording import lowered, raised, reworded

# The rest of the claim must be in the sentence and not only in the question.
_SHARED = 0.7
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")


_FINITE = r"(?:is|was|were|are|has|had|can|will) .+|(?:[a-z]+ed|won|wrote|led|made|became) .+"
_SUBJECT = re.compile(rf"(?:Who|What|Which [a-z]+) ({_FINITE})$")
_DANGLING = re.compile(r"(?:is|was|were|are) .*\b(?:by|in|of|for|on|to|from|at|called|known as|named)$")
_INVERTED = re.compile(r"(is|was|were|are) ((?:the|a|an) .+|[A-Z].+)$")
_YEAR = re.compile(r"(?:In what year|In which year|What year|When) was ((?:the |[A-Z]).+?) (\w+(?:ed|en|n|t|de|ld))$")
_PLACE = re.compile(
    r"(?:Where|In (?:what|which) (?:city|country)) (is|was|were) (.+?) (\w+ed|born|built|held|found|made)$"
)
_AMOUNT = re.compile(r"How many ([\w -]+?) (is|was|were|are|has|had|have|can|will|could) (there ?)?(.*)$")
_PRONOUNS = ("the ", "he ", "she ", "it ", "they ")


def statement(question: str, answer: str) -> str | None:
    """The statement that a question and an answer make, where the form of the question allows it."""
    asked, answer = question.strip().rstrip("?").strip(), answer.strip().rstrip(".")
    if match := _SUBJECT.match(asked):
        if _DANGLING.match(match[1]):
            return None
        if inverted := _INVERTED.match(match[1]):
            named = not asked.startswith("Which")
            return raised(f"{inverted[2]} {inverted[1]} {lowered(answer)}.") if named else None
        return raised(f"{answer} {match[1]}.")
    if (match := _YEAR.match(asked)) and re.fullmatch(r"(?:in )?\d{4}", answer):
        return raised(f"{match[1]} was {match[2]} in {answer.removeprefix('in ')}.")
    if match := _PLACE.match(asked):
        place = answer if re.match(r"(?:in|at|on|near|from) ", answer) else f"in {answer}"
        return raised(f"{match[2]} {match[1]} {match[3]} {place}.")
    if (match := _AMOUNT.match(asked)) and re.fullmatch(r"[\w,.-]+", answer) and not match[4].startswith(_PRONOUNS):
        parts = ("there", match[2], answer, match[1], match[4]) if match[3] else (answer, match[1], match[2], match[4])
        return raised(" ".join(parts).strip() + ".")
    return None


def rival(random: Random, asked: Asked) -> str | None:
    """Another name or number of the sentence that could have been the answer, or a number of our own."""
    answer = asked.answer.strip()
    if NUMBER.fullmatch(answer):
        others = [
            match[0] for match in NUMBER.finditer(asked.sentence) if match[0] != answer and len(match[0]) == len(answer)
        ]
        return random.choice(others) if others else other_number(random, answer)
    if _NAME.fullmatch(answer):
        others = [
            match[0]
            for match in _NAME.finditer(asked.sentence)
            if match.start() and match[0] not in answer and answer not in match[0] and match[0] not in asked.question
        ]
        return random.choice(others) if others else None
    return None


def answered(random: Random, asked: Asked) -> Iterator[Pair]:
    right = statement(asked.question, asked.answer)
    other = rival(random, asked)
    wrong = statement(asked.question, other) if other else None
    if right and wrong and len(right.split()) >= 4 and overlap(Pair("", right, asked.sentence, "supported")) >= _SHARED:
        yield Pair(
            "answered",
            right if random.random() < 0.7 else reworded(random, right) or right,
            asked.sentence,
            "supported",
        )
        yield Pair("answered", wrong, asked.sentence, "refuted")
