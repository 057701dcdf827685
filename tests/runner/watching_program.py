"""A process with several watchers of one run: says when all of them have seen so far, takes more in, and one may leave.

    python -m runner.watching_program DATA RUN WATCHERS SEEN LEAVES

Every line on stdin lets one more join, from the beginning. At the end of stdin it waits for the run's end and prints
what each watcher saw, as pairs of sequence number and digest.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from citewell import Citewell

Seen = list[tuple[int, str]]


class Watching:
    """The watchers of this process."""

    def __init__(self, engine: Citewell, run_id: str) -> None:
        self._engine = engine
        self._run_id = run_id
        self._changed = asyncio.Condition()
        self.seen: list[Seen] = []

    async def watch(self, leaves_behind: int | None = None) -> None:
        mine: Seen = []
        self.seen.append(mine)
        async for event in self._engine.runs.follow(self._run_id):
            mine.append((event.sequence, event.digest))
            async with self._changed:
                self._changed.notify_all()
            if event.sequence == leaves_behind:
                return

    async def until_all_have_seen(self, sequence: int, watchers: int) -> None:
        async with self._changed:
            await self._changed.wait_for(
                lambda: len(self.seen) == watchers and all(mine and mine[-1][0] >= sequence for mine in self.seen)
            )


async def main(data: Path, run_id: str, watchers: int, sequence: int, leaves: bool) -> None:
    engine = Citewell(data)
    watching = Watching(engine, run_id)
    async with asyncio.TaskGroup() as group:
        for number in range(watchers):
            group.create_task(watching.watch(sequence if leaves and number == 0 else None))
        await watching.until_all_have_seen(sequence, watchers)
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            group.create_task(watching.watch())
            watchers += 1
            await watching.until_all_have_seen(sequence, watchers)
            print("joined", flush=True)
    print(json.dumps(watching.seen), flush=True)
    await asyncio.to_thread(engine.close)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "leaves"))
