"""An answer while it is written: the sentences that passed their check, and under them what is being done.

The region is repainted as sentences come or are retracted, shows their last lines where the screen is too low for all,
and is gone when the answer itself is printed. Nothing but a terminal is given it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from citewell.domain.events import RunEvent, SentenceRetracted, SentenceShown
from citewell.surfaces.cli.console import one_line, page_width, paragraph_lines
from citewell.surfaces.cli.layout import Piece, plain
from citewell.surfaces.cli.progress import progress_line
from citewell.surfaces.cli.quotes import shown_text

if TYPE_CHECKING:
    from rich.text import Text

_ROOM = 3  # lines of the screen that are left for the prompt and the progress


class LiveAnswer:
    """A run on a terminal."""

    def __init__(self) -> None:
        # Not imported above: only a conversation on a terminal needs it.
        from rich.console import Console
        from rich.live import Live

        self._console = Console(highlight=False)
        self._live = Live(
            console=self._console, transient=True, auto_refresh=False, redirect_stdout=False, redirect_stderr=False
        )
        self._standing: dict[int, str] = {}
        self._doing = ""

    def show_event(self, event: RunEvent) -> None:
        match event.event:
            case SentenceShown(index=index, text=text):
                self._standing[index] = text
            case SentenceRetracted(indexes=indexes):
                for index in indexes:
                    self._standing.pop(index, None)
            case _:
                line = progress_line(event)
                if line is None:
                    return
                self._doing = one_line(line, page_width() - 1)
        if not self._live.is_started:
            self._live.start()
        self._live.update(self._painted(), refresh=True)

    def clear(self) -> None:
        if self._live.is_started:
            self._live.stop()

    def _painted(self) -> Text:
        from rich.text import Text

        width = min(page_width(), self._console.width)
        texts = [shown_text(self._standing[index]).strip() for index in sorted(self._standing)]
        lines = [plain(line) for text in texts for line in paragraph_lines([Piece(text.replace("\n", " "))], width)]
        shown = Text("\n".join(lines[-max(1, self._console.height - _ROOM) :]))
        if lines:
            shown.append("\n")
        return shown.append(self._doing, style="dim")
