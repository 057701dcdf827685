"""Thinking aloud: the block some models begin their reply with is no part of the answer. Pure.

Only a block that opens the reply is taken out; a tag further on is text somebody wrote. A block that never ends is
all the reply there was.
"""

from __future__ import annotations

from typing import Literal

_BLOCKS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>"))


class ThinkFilter:
    """Takes a reply in pieces and gives back what may be shown, as early as that is certain."""

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._at: Literal["start", "inside", "gap", "answer"] = "start"

    def feed(self, piece: str) -> str:
        """What of the reply so far can be shown in addition."""
        self._held += piece
        if self._at == "start":
            self._look_for_opening()
        if self._at == "inside":
            self._look_for_closing()
        if self._at == "gap":
            # White space between the block and the answer belongs to neither.
            self._held = self._held.lstrip()
            self._at = "answer" if self._held else "gap"
        if self._at != "answer":
            return ""
        shown, self._held = self._held, ""
        return shown

    def finish(self) -> str:
        """What was held back in case it opened a block; nothing if one is still open."""
        shown, self._held = self._held if self._at == "start" else "", ""
        return shown

    def _look_for_opening(self) -> None:
        start = self._held.lstrip().lower()
        for opening, closing in _BLOCKS:
            if start.startswith(opening):
                self._at, self._closing = "inside", closing
                self._held = self._held.lstrip()[len(opening) :]
                return
        if not any(opening.startswith(start) for opening, _ in _BLOCKS):
            self._at = "answer"

    def _look_for_closing(self) -> None:
        at = self._held.lower().find(self._closing)
        if at >= 0:
            self._at = "gap"
            self._held = self._held[at + len(self._closing) :]
        else:
            # Only the tail can be the beginning of the closing tag.
            self._held = self._held[-len(self._closing) :]
