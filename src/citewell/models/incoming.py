"""An incoming reply: pieces become text as they come, without the model's thinking and never more than asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from citewell.domain.chat import FinishReason, Usage
from citewell.models.thinking import ThinkFilter

# A token is rarely longer than eight characters; the slack is for replies that are only a little over.
CHARS_A_TOKEN = 8
SLACK_CHARS = 2_000
# A streamed token is wrapped in a few hundred bytes.
_BYTES_A_TOKEN = 2_000
_SLACK_BYTES = 1_000_000


def max_bytes(output_tokens: int) -> int:
    """How many bytes a reply of so many tokens can take."""
    return _SLACK_BYTES + _BYTES_A_TOKEN * output_tokens


class Endless(Exception):
    """The model goes on far beyond the limit it was given."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What one event of a reply says, whoever the provider is."""

    text: str = ""
    thought: str = ""
    finish: FinishReason | None = None
    usage: Usage | None = None


class Incoming:
    """One reply on its way. `on_text` gets what belongs to the answer, once and in order."""

    def __init__(self, output_tokens: int, on_text: Callable[[str], None] | None) -> None:
        self._left = output_tokens * CHARS_A_TOKEN + SLACK_CHARS
        self._on_text = on_text
        self._thinking = ThinkFilter()
        self._shown: list[str] = []
        self.finish: FinishReason | None = None
        self.usage: Usage | None = None
        self._written: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._shown)

    @property
    def has_begun(self) -> bool:
        return bool(self._written)

    @property
    def output(self) -> str:
        """All the model wrote, its thinking included."""
        return "".join(self._written)

    def take(self, piece: Piece) -> None:
        """Add one piece; raises Endless."""
        new = piece.thought + piece.text
        if new:
            self._written.append(new)
            self._left -= len(new)
        if piece.text:
            self._show(self._thinking.feed(piece.text))
        if piece.finish is not None:
            # A refusal stays one, whatever is said afterwards.
            self.finish = "refusal" if self.finish == "refusal" else piece.finish
        self.usage = piece.usage or self.usage
        if self._left < 0:
            raise Endless

    def end(self) -> None:
        """No more comes."""
        self._show(self._thinking.finish())

    def _show(self, text: str) -> None:
        if text:
            self._shown.append(text)
            if self._on_text is not None:
                self._on_text(text)
