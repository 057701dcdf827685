"""Thinking aloud: the block some models begin their reply with is no part of the answer. Pure.

Only a block that opens the reply is taken out; a tag further on is text somebody wrote. A block that never ends is
all the reply there was.
"""

from __future__ import annotations

_BLOCKS = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>"))


class ThinkFilter:
    """Takes a reply in pieces and gives back what may be shown, as early as that is certain."""

    def __init__(self) -> None:
        self._held = ""
        self._closing = ""
        self._is_open = False
        self._is_past = False

    def feed(self, piece: str) -> str:
        """What of the reply so far can be shown in addition."""
        if self._is_past and not self._held:
            return piece
        self._held += piece
        if not self._is_open and not self._is_past:
            self._look_for_opening()
        if self._is_open:
            self._look_for_closing()
        if not self._is_past:
            return ""
        # White space between the block and the answer belongs to neither.
        shown, self._held = self._held.lstrip() if self._closing else self._held, ""
        if shown:
            self._closing = ""
        return shown

    def finish(self) -> str:
        """What was held back in case it opened a block; nothing if one is still open."""
        shown, self._held = "" if self._is_open else self._held, ""
        return shown

    def _look_for_opening(self) -> None:
        start = self._held.lstrip().lower()
        for opening, closing in _BLOCKS:
            if start.startswith(opening):
                self._is_open, self._closing = True, closing
                self._held = self._held.lstrip()[len(opening) :]
                return
        self._is_past = not any(opening.startswith(start) for opening, _ in _BLOCKS)

    def _look_for_closing(self) -> None:
        at = self._held.lower().find(self._closing)
        if at >= 0:
            self._is_open, self._is_past = False, True
            self._held = self._held[at + len(self._closing) :]
        else:
            # Only the tail can be the beginning of the closing tag.
            self._held = self._held[-len(self._closing) :]
