"""What differs from run to run made the same: ids, times, addresses, places. Everything else is compared as it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from doors.cases import Case
from doors.world import World

# Values that are measured, or name this version or the door.
_MEASURED = frozenset({"seconds", "elapsed", "took_ms", "bytes_sent", "tool_version", "created_by"})
_RUN_ID = re.compile(r"\b\d{8}T\d{6}-[0-9a-f]{8}\b")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|\+00:00)")
_DURATION = re.compile(r"\bafter \d+(\.\d+)? s\b")
# What a note's section says of itself: the day, and hashes of its lines, which may hold an address.
_SECTION = re.compile(r"\bdate=\d{4}-\d\d-\d\d pad=(\d) lines=\S+")
_BACKUP = re.compile(r"PLACE/data/[^\s\"]*backup[^\s\"]*")
# Listed as they came, and what is gathered at the same time comes in any order.
_AS_THEY_CAME = frozenset({"pages", "credibility", "retrieved", "queries_tried", "warnings"})
# Stages that are passed over where everything of theirs has come before.
_PASSED_OVER = frozenset({"search", "read"})


def normalised(value: Any, world: World, case: Case) -> Any:
    """A document, or the events of a stream, without what differs from run to run."""
    return _Normaliser(_names(world), _MEASURED.union(case.either_way), case.gathers_at_once).plain(value)


def gathered_at_once(events: list[tuple[str, Any]], case: Case) -> list[Any]:
    """The events of a stream with what is gathered at the same time, and comes in any order, as one step."""
    # A model says what it thinks of the search while pages are read.
    phases = ("searching", "reading", *(("evaluating",) if case.pages and case.script else ()))
    steps: list[Any] = []
    for name, data in events:
        is_gathering = bool(steps) and steps[-1][0] == "gathering"
        if name == "warning" and is_gathering:
            steps[-1][1]["warnings"] = sorted([*steps[-1][1]["warnings"], data["code"]])
        elif name == "progress" and data["phase"] in phases:
            if not is_gathering:
                steps.append(["gathering", {"details": [], "warnings": []}])
            counted = {key: data[key] for key in ("loop", "maxLoops", "sourcesConsidered", "sourcesRead")}
            details = steps[-1][1]["details"] + ([data["detail"]] if data["detail"] else [])
            steps[-1][1] |= {**counted, "details": sorted(details)}
        else:
            steps.append([name, data])
    return steps


def _names(world: World) -> list[tuple[str, str]]:
    """What to call the places of a world."""
    found = [(str(world.folder), "PLACE")]
    servers = [(world.model.origin, "MODEL")] if world.model is not None else []
    servers += [(origin.url, f"SITE{at}") for at, origin in enumerate(world.sites.origins)] if world.sites else []
    for url, name in servers:
        port = url.rpartition(":")[2]
        found += [(f"127.0.0.1:{port}", name), (f"127.0.0.1-{port}", name)]
    return found


@dataclass(frozen=True)
class _Normaliser:
    names: list[tuple[str, str]]
    measured: frozenset[str]
    at_once: bool

    def plain(self, value: Any, key: str = "") -> Any:
        match value:
            case dict() if key == "stage_seconds":
                return sorted(value.keys() - _PASSED_OVER if self.at_once else value)
            case dict():
                return {self._text(name): self.plain(one, name) for name, one in value.items()}
            case list() | tuple():
                listed = [self.plain(one) for one in value]
                return sorted(listed, key=str) if self.at_once and key in _AS_THEY_CAME else listed
            case str():
                return "" if key in self.measured else self._text(value)
            case int() | float() if key in self.measured:
                return 0
            case _:
                return value

    def _text(self, text: str) -> str:
        for found, name in self.names:
            text = text.replace(found, name)
        text = _SECTION.sub(r"date=DAY pad=\1 lines=LINES", _BACKUP.sub("BACKUP", text))
        text = _DURATION.sub("after SECONDS", text)
        return _RUN_ID.sub("RUN", _MOMENT.sub("TIME", text))
