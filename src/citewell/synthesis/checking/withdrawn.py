"""What a text shows and does not state: struck out, unticked, commented out, asked, or taken back right after. Pure.

Example:
    claim:   The boiler was replaced.
    passage: ~~The boiler was replaced.~~
    verdict: unsupported
    reason:  the quote has it struck out

Example:
    claim:   Call the plumber about the boiler.
    passage: - [ ] Call the plumber about the boiler
    verdict: supported

Example:
    claim:   The plumber was called about the boiler.
    passage: - [ ] Call the plumber about the boiler
    verdict: unsupported
    reason:  the quote has it as something still to do

Example:
    claim:   The boiler is under warranty.
    passage: Is the boiler under warranty?
    verdict: unsupported
    reason:  the quote asks this
"""

from __future__ import annotations

import re

from citewell.synthesis.checking.tokens import Sentence
from citewell.text.folding import folded_text

_STRUCK = re.compile(r"~~(?=\S)(.{1,2000}?)~~|<(?:del|s|strike)>(.{1,2000}?)</(?:del|s|strike)>", re.S)
_COMMENT = re.compile(r"%%(.{1,2000}?)%%|<!--(.{1,2000}?)-->", re.S)
_OPEN_BOX = re.compile(r"^[ \t>]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[ \][ \t]+(.+)$", re.M)
_TAKEN_BACK = re.compile(
    r"\s*(?:\(?(?:edit|update|correction|corrected|erratum|nachtrag|korrektur|correction)\b\s*[:–-]"
    r"|(?:actually|no[,:—-]|wrong|false|not true|scratch that|that(?:'s| is| was) (?:a myth|wrong|not true"
    r"|false|incorrect|no longer)"
    r"|this (?:is|was) (?:a myth|wrong|not true|false|incorrect|no longer)|(?:it )?turned out|in fact[, ]"
    r"|das stimmt nicht"
    r"|true or false|fact or fiction|wahr oder falsch|vrai ou faux|falsch|stimmt nicht|c'est faux|en fait[, ])\b)"
)
_SHOWN_AS = re.compile(
    r"\W*(?:(?:quiz|exercise|question|sample|example|beispiel|exemple|übung|myth|mythos|mythe|joke|rumou?r"
    r"|true or false|wahr oder falsch|vrai ou faux|fill in|multiple choice)\b[^:.;]{0,40}[:–]"
    r"|(?:false|falsch|wrong|fiction|hypothetical(?:ly)?)\s*[:–-])"
)
_DONE = re.compile(
    r"\b(?:was|were|has been|have been|had|did|is done|done|wurde|wurden|hat|ist|a été|ont été|est fait)\b|\w{3,}ed\b"
)


def withdrawal(said: str, quoted: str, sentence: Sentence | None) -> str:
    """In words, why the sentence that comes nearest states nothing of the claim; empty where it states it."""
    if sentence is None:
        return ""
    start, end = sentence.start, sentence.end
    if _is_within(_STRUCK, quoted, start, end):
        return "the quote has it struck out"
    if _is_within(_COMMENT, quoted, start, end) and not _is_within(_COMMENT, said, 0, len(said)):
        return "the quote has it commented out"
    if _is_open(quoted, start, end) and _DONE.search(folded_text(said)):
        return "the quote has it as something still to do"
    if sentence.text.rstrip(' *_)"”’').endswith("?") and not said.rstrip().endswith("?"):
        return "the quote asks this"
    if _SHOWN_AS.match(folded_text(sentence.text)) and not _SHOWN_AS.match(folded_text(said)):
        return "the quote does not state this"
    after = folded_text(quoted[end : end + 80])
    if _TAKEN_BACK.match(after):
        return "the quote takes it back right after"
    return ""


def _is_within(pattern: re.Pattern[str], text: str, start: int, end: int) -> bool:
    middle = (start + end) // 2
    return any(match.start() <= middle < match.end() for match in pattern.finditer(text))


def _is_open(text: str, start: int, end: int) -> bool:
    middle = (start + end) // 2
    return any(match.start() <= middle < match.end() for match in _OPEN_BOX.finditer(text))
