"""Types that many threads decode at once are learned before: msgspec crashes on one that is half learned."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import sys, threading
import msgspec
from citewell.runs.events import EVENT_TYPES
from citewell.runs.run import RunResult
from citewell.wire import learn_types

sys.setswitchinterval(1e-6)
forms = (*EVENT_TYPES.values(), RunResult)
barrier = threading.Barrier(8)

def decode():
    barrier.wait()
    learn_types(forms)
    for form in forms:
        try:
            msgspec.convert({"result": {"pack": {"evidence": [{}]}}, "request": {}}, form)
        except msgspec.ValidationError:
            pass

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print("alive")
"""


@pytest.mark.slow
def test_many_threads_may_decode_a_type_for_the_first_time() -> None:
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr
