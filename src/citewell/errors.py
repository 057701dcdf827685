"""What can go wrong, addressed to the person who can act on it.

CitewellError              every error a user may see; `fix` says what to do next
├── BadInput               the request itself cannot be served (exit 2)
│   ├── Conflict           not in the state things are in: the run has ended, or has not (exit 2)
│   └── NotPermitted       a policy forbids it (`policy.py`; exit 2, HTTP 403)
├── NotFound               no such key, path, run or collection (exit 3)
├── Unavailable            something outside is missing: model, provider, database (exit 4)
│   ├── StoreUnusable      a database file that must not be touched: corrupt, foreign, newer
│   ├── Held               another process executes the run
│   └── Busy               too much is under way already; it is worth trying again soon
├── StoreFull              the disk or the database has no room; what was saved before is safe (exit 1)
└── WorkFailed             the work was started and failed (exit 1)
    ├── Interrupted        the person stopped it; it can be resumed (exit 130)
    └── LeaseLost          another process has taken the run over; this one must stop writing to it

A stopped run is a stop reason, not an exception. Surfaces map the class to an exit code or status in one place.
"""

from __future__ import annotations


class CitewellError(Exception):
    """A sentence for the user and the next step."""

    code = "error"

    def __init__(self, message: str, *, fix: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix


class BadInput(CitewellError):
    code = "bad_input"


class Conflict(BadInput):
    code = "conflict"


class NotFound(CitewellError):
    code = "not_found"


class Unavailable(CitewellError):
    code = "unavailable"


class StoreUnusable(Unavailable):
    code = "store_unusable"


class Held(Unavailable):
    code = "held"


class Busy(Unavailable):
    """`retry_after` is how many seconds to wait before asking again."""

    code = "busy"
    retry_after = 2


class StoreFull(CitewellError):
    code = "store_full"


class WorkFailed(CitewellError):
    code = "failed"


class Interrupted(WorkFailed):
    code = "interrupted"

    def __init__(self, message: str, *, fix: str = "", run_id: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.run_id = run_id


class LeaseLost(WorkFailed):
    code = "lease_lost"

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"Run {run_id} was taken over by another process.", fix=f"Follow it with 'citewell runs show {run_id}'."
        )


class Unreadable(CitewellError):
    """A file that no reader could make text of; recorded against the file, never fatal."""

    code = "unreadable"


class NoText(Unreadable):
    """A sound file in which there is nothing to read: left out, not failed."""
