"""Takes the README's screenshot: what `citewell demo` shows on a terminal, as an SVG."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 100
TARGET = Path(__file__).parent / "images" / "demo.svg"


def on_a_terminal(command: list[str]) -> str:
    """What a command writes when its output is a real terminal."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(command, stdout=follower, stderr=subprocess.DEVNULL, env=environment)
    os.close(follower)
    parts: list[bytes] = []
    try:
        while part := os.read(leader, 65_536):
            parts.append(part)
    except OSError:
        pass  # the terminal is gone once the program has ended
    process.wait()
    os.close(leader)
    return b"".join(parts).decode("utf-8").replace("\r\n", "\n")


def main() -> None:
    shown = on_a_terminal([sys.executable, "-m", "citewell", "demo"])
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi("$ citewell demo\n" + shown))
    TARGET.parent.mkdir(exist_ok=True)
    svg = console.export_svg(title="citewell demo", unique_id="demo")
    # A page that shows the picture must not load a font from elsewhere.
    TARGET.write_text(re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL), "utf-8")


if __name__ == "__main__":
    main()
