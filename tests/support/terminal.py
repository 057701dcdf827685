"""A program on a terminal of its own: typed to, and read from as it goes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

CTRL_C, CTRL_D = "\x03", "\x04"


class Terminal:
    """What a person has: keys, and what was written so far."""

    def __init__(self, program: subprocess.Popen[bytes], ours: int) -> None:
        self.program = program
        self.said = ""
        self._ours = ours
        self._seen = 0

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def line(self, text: str) -> None:
        self.type(f"{text}\r")

    def press_until(self, key: str, pattern: str, seconds: float = 60.0) -> str:
        """Press a key, again where nothing comes of it: input() misses a signal that comes just before it waits."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.type(key)
            waited = time.monotonic() + 2
            while time.monotonic() < waited and not re.compile(pattern).search(self.plain, self._seen):
                self._read(0.1)
            if re.compile(pattern).search(self.plain, self._seen):
                break
        return self.wait_for(pattern, 0.1)

    def wait_for(self, pattern: str, seconds: float = 60.0) -> str:
        """What was written since the last time, up to this."""
        end = time.monotonic() + seconds
        while not (found := re.compile(pattern).search(self.plain, self._seen)):
            assert time.monotonic() < end, f"{pattern!r} did not come:\n{self.plain[self._seen :]}"
            assert self._read(0.1) or self.program.poll() is None, f"it ended before {pattern!r}:\n{self.plain}"
        before, self._seen = self._seen, found.end()
        return self.plain[before : self._seen]

    def ended(self, seconds: float = 30.0) -> int:
        """Its exit code, once it has gone."""
        end = time.monotonic() + seconds
        while self.program.poll() is None:
            assert time.monotonic() < end, self.plain
            self._read(0.1)
        while self._read(0.0):
            pass
        return self.program.returncode

    @property
    def plain(self) -> str:
        """Without styles and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.said)

    def _read(self, seconds: float) -> bool:
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        try:
            part = os.read(self._ours, 65_536)
        except OSError:  # the other side is closed
            return False
        self.said += part.decode("utf-8", "replace")
        return bool(part)


@contextmanager
def on_terminal(
    command: Sequence[str], environment: Mapping[str, str] | None = None, size: tuple[int, int] = (40, 100)
) -> Iterator[Terminal]:
    """The program, with a terminal for everything; it never outlives the test."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    env = {**inherited, "TERM": "xterm-256color", **(environment or {})}

    def take_the_terminal() -> None:
        """Ctrl-C reaches only the program whose terminal it is."""
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    program = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=env, preexec_fn=take_the_terminal
    )
    os.close(theirs)
    try:
        yield Terminal(program, ours)
    finally:
        program.kill()
        program.wait()
        os.close(ours)
