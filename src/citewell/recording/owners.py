"""Who executes a run: a process, named so that another one can tell whether it is still alive.

On another machine that shares the data folder this cannot be told; such an owner is taken to be alive.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path


def this_process() -> str:
    """The name of this process: host, process id, and when it started, since ids are used again."""
    pid = os.getpid()
    return f"{socket.gethostname()}:{pid}:{_started(pid)}"


def is_alive(owner: str) -> bool:
    """Whether the process with this name still runs."""
    host, pid, started = owner.rsplit(":", 2)
    if host != socket.gethostname():
        return True
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
