"""Who executes a run: a process, named so that another one can tell whether it is still alive.

On this machine that is asked of the system; of a process on another machine only its lease tells.
"""

from __future__ import annotations

import os
import secrets
import socket
from datetime import datetime, timedelta
from pathlib import Path

LEASE_SECONDS = 20.0
RENEW_SECONDS = 5.0


def this_process() -> str:
    """The name of this process: host, process id, and when it started, since ids are used again."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_started(pid)}"


def new_token() -> str:
    """The name of this process with something nobody else has: what a lease is held under."""
    return f"{this_process()}#{secrets.token_hex(8)}"


def is_here(owner: str) -> bool:
    """Whether the process with this name is one of this machine."""
    return owner.partition("#")[0].rsplit(":", 2)[0] == socket.gethostname()


def is_alive(owner: str) -> bool:
    """Whether the process with this name still runs, as far as this machine can tell."""
    if not is_here(owner):
        return True
    _, pid, started = owner.partition("#")[0].rsplit(":", 2)
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is there, it is only not ours
    return _started(int(pid)) == started


def _started(pid: int) -> str:
    """When a process started, in the kernel's clock; empty where the system does not say."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return ""
    # State Z: the process is dead and only waits for its parent to notice.
    return "" if fields[0] == "Z" else fields[19]


def lease_from(now: str) -> str:
    """Until when a lease that is taken or renewed now holds."""
    return moved(now, LEASE_SECONDS)


def moved(moment: str, seconds: float) -> str:
    """The moment so many seconds later."""
    later = datetime.fromisoformat(moment) + timedelta(seconds=seconds)
    return later.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_between(moment: str, later: str) -> float:
    """How long it is from one moment to the other."""
    return (datetime.fromisoformat(later) - datetime.fromisoformat(moment)).total_seconds()
