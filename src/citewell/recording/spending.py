"""What calls of models cost on a day, in a table that every run and every process of a store shares.

A call is reserved in full before it is made, and put right when it is over. What is reserved by a process that is gone
counts for its day, and for no other. Amounts are whole billionths of a USD: no sum of them is rounded.
"""

from __future__ import annotations

from citewell.database.sessions import Session, Sessions, one

# Calls of the days before are of no use to anybody.
_FORGET = "DELETE FROM model_spending WHERE day < ?"
_SUM = "SELECT coalesce(sum(nano_usd), 0) FROM model_spending WHERE day = ?"
_PUT = "INSERT INTO model_spending(day, call_id, nano_usd) VALUES (?,?,?) ON CONFLICT (day, call_id) DO NOTHING"
_SETTLE = "UPDATE model_spending SET nano_usd = ? WHERE day = ? AND call_id = ?"


class DaySpending:
    """The table, over a database of runs."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    def reserve(self, day: str, call_id: str, nano_usd: int, most: int) -> int | None:
        """Reserve what a call may cost; where that is more than the day has left, what is taken of it already."""

        def work(session: Session) -> int | None:
            # One reservation at a time: a row of the day that everybody locks first.
            session.execute(_PUT, (day, "", 0))
            session.rows(
                f"SELECT 1 FROM model_spending WHERE day = ? AND call_id = ''{self._sessions.dialect.for_update}",
                (day,),
            )
            known = one(session, "SELECT 1 FROM model_spending WHERE day = ? AND call_id = ?", (day, call_id))
            if known is not None:  # done before, and the word of it was lost
                return None
            taken = _sum(session, day)
            if taken + nano_usd > most:
                return taken
            session.execute(_PUT, (day, call_id, nano_usd))
            session.execute(_FORGET, (day,))
            return None

        return self._sessions.write(work)

    def settle(self, day: str, call_id: str, nano_usd: int) -> None:
        """Put what a call did cost in the place of what was reserved for it."""
        self._sessions.write(lambda session: session.execute(_SETTLE, (nano_usd, day, call_id)))

    def spent(self, day: str) -> int:
        """What is spent and reserved on a day."""
        return self._sessions.read(lambda session: _sum(session, day))


def _sum(session: Session, day: str) -> int:
    row = one(session, _SUM, (day,))
    assert row is not None
    return int(row[0])
