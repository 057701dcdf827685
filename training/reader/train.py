"""Trains the reader within a budget of hours and goes on where it stopped.

    python -m reader.train CHECKPOINT --hours 8 --minilm FOLDER --data FILE.jsonl.gz … [--freeze 4]

The learning rate falls over the hours given, counted over all runs of the same checkpoint from `--from-seconds` on. The
state is saved every few minutes and when the process is asked to end.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections import deque
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch.nn import functional

from reader import examples
from reader.examples import Example
from reader.model import Reader, load, pretrained

WARM_UP, LOWEST_RATE, LONGEST_STEP = 40, 0.02, 60.0
TELL_SECONDS, SAVE_SECONDS = 60.0, 300.0


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--hours", type=float, required=True, help="over which the learning rate falls")
    parser.add_argument(
        "--from-seconds", type=float, default=0.0, help="training time of the checkpoint at which these hours began"
    )
    parser.add_argument("--minilm", type=Path, required=True, help="folder with model.safetensors and tokenizer.json")
    parser.add_argument("--data", type=Path, nargs="+", required=True)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--length", type=int, default=160)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--freeze", type=int, default=4, help="lowest layers that are left as they are")
    parser.add_argument("--bfloat16", action="store_true", help="twice as fast where the processor has it")
    parser.add_argument("--held-out", type=float, default=0.02, help="share of the rows that is never trained on")
    return parser.parse_args()


class Training:
    """A network, its optimiser and how far they are."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.net = pretrained(given.minilm)
        self.net.freeze(given.freeze)
        free = [parameter for parameter in self.net.parameters() if parameter.requires_grad]
        decayed = [parameter for parameter in free if parameter.ndim > 1]
        others = [parameter for parameter in free if parameter.ndim == 1]
        groups = [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=given.rate)
        with torch.no_grad():  # relevance runs from -11 to 9: as a chance it would be far too sure
            self.net.ans.weight *= 0.25
            self.net.ans.bias *= 0.25
        self.state: dict[str, float] = {"seconds": 0.0, "examples": 0, "step": 0}
        self._warm_from = 0.0
        if given.checkpoint.exists():
            self._resume(load(self.net, given.checkpoint))

    def _resume(self, checkpoint: dict[str, Any]) -> None:
        self.state = dict(checkpoint["st"])
        self._warm_from = self.state["step"]
        kept = checkpoint.get("opt")
        sizes = [len(group["params"]) for group in self.optimiser.param_groups]
        if kept and [len(group["params"]) for group in kept["param_groups"]] == sizes:
            self.optimiser.load_state_dict(kept)
            self._warm_from = 0.0

    def save(self) -> None:
        path: Path = self.given.checkpoint
        half = path.with_name(path.name + ".tmp")
        torch.save({"net": self.net.state_dict(), "opt": self.optimiser.state_dict(), "st": self.state}, half)
        os.replace(half, path)

    @property
    def done(self) -> float:
        """The share of the hours that is used."""
        return float((self.state["seconds"] - self.given.from_seconds) / (3600 * self.given.hours))

    def step(self, batch: list[Example]) -> float:
        warm = min(1.0, (self.state["step"] - self._warm_from + 1) / WARM_UP)
        for group in self.optimiser.param_groups:
            group["lr"] = self.given.rate * warm * max(LOWEST_RATE, 1 - max(0.0, self.done))
        with torch.autocast("cpu", torch.bfloat16, enabled=self.given.bfloat16):
            loss = loss_of(self.net, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for p in self.net.parameters() if p.requires_grad], 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self.state["examples"] += len(batch)
        self.state["step"] += 1
        return float(loss.detach())


def tensors(batch: list[Example]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, segments and mask, padded to the longest."""
    length = max(len(example.ids) for example in batch)
    ids, types, attended = (torch.zeros(len(batch), length, dtype=torch.long) for _ in range(3))
    for row, example in enumerate(batch):
        size = len(example.ids)
        ids[row, :size] = torch.tensor(example.ids)
        types[row, :size] = torch.tensor(example.types)
        attended[row, :size] = 1
    return ids, types, attended


def loss_of(net: Reader, batch: list[Example]) -> torch.Tensor:
    ids, types, attended = tensors(batch)
    span, answerable = (head.float() for head in net(ids, types, attended))
    allowed = (types * attended).bool()
    allowed[:, 0] = True
    span = span.masked_fill(~allowed[..., None], -1e4)
    loss = functional.binary_cross_entropy_with_logits(
        answerable, torch.tensor([example.answerable for example in batch])
    )
    for side, places in enumerate(([e.start for e in batch], [e.end for e in batch])):
        if max(places) >= 0:
            loss = loss + functional.cross_entropy(span[..., side], torch.tensor(places), ignore_index=-100) / 2
    return loss


def main() -> None:
    given = options()
    torch.set_num_threads(given.threads)
    torch.manual_seed(given.seed)
    rows, held = examples.read(given.data, given.held_out)
    training = Training(given)
    random = Random(given.seed * 1_000_003 + int(training.state["step"]))
    encoder = examples.Encoder(given.minilm / "tokenizer.json", given.length)
    print(
        json.dumps({"rows": {source: len(found) for source, found in rows.items()}, "held out": len(held)}), flush=True
    )
    ending: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: ending.append(number))
    training.net.train()
    recent: deque[float] = deque(maxlen=200)
    last = told = saved = time.monotonic()
    for batch in examples.batches(rows, encoder, random, given.batch):
        if ending or training.done >= 1:
            break
        recent.append(training.step(batch))
        now = time.monotonic()
        training.state["seconds"] += min(now - last, LONGEST_STEP)
        if now - told > TELL_SECONDS:
            told = now
            print(json.dumps({**training.state, "loss": round(sum(recent) / len(recent), 4)}), flush=True)
        if now - saved > SAVE_SECONDS:
            training.save()
            saved = time.monotonic()
        last = time.monotonic()
    training.save()
    print("ended" if ending else "done", json.dumps(training.state), flush=True)


if __name__ == "__main__":
    main()
