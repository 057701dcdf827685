"""A folder with an ONNX model that reads two texts together: its graph, its tokenizer, and what its files say of both.

The graph is `model*.onnx`, here or in `onnx/` (of several, the 8-bit one), else the only `.onnx` file there is; the
tokenizer is `tokenizer.json`, here or one folder below, or another that is named. `config.json` and
`tokenizer_config.json` may name classes, length and padding. Inputs are those the graph has, in the length it fixes, if
it fixes one. Nothing is downloaded, and nothing in the folder is executed. A folder is opened when first needed, once a
process; what is wrong with it is remembered.
"""

from __future__ import annotations

import importlib
import json
import mmap
import os
import re
import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citewell.errors import Unavailable
from citewell.text.sentences import sentences

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

# Longer inputs cost much and say little more: evidence beyond it is read in windows.
MOST_TOKENS = 512
BATCH = 8
# A piece of a text may have a token more on its own than it had in its text.
SPARE_TOKENS = 2
_PACKAGES = ("onnxruntime", "tokenizers", "numpy")
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_MOST_JSON_BYTES = 50_000_000
# Models that count positions from behind the padding: two of them are never free.
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "xlm-roberta-xl")
# In 8 bits with ranges taken as it runs, the neighbours of a text in a batch change its result.
_DYNAMIC = b"DynamicQuantizeLinear"


@dataclass(frozen=True, slots=True)
class _Parts:
    session: Any
    tokenizer: Any


# Opened folders of this process: several that ask for the same one share it.
_opened: dict[tuple[str, str, int, int], _Parts] = {}
_opening = threading.Lock()


class OnnxFolder:
    """One folder, opened when first needed."""

    def __init__(self, folder: Path, what: str, fix: str, words: Path | None = None, threads: int = 2) -> None:
        self.folder = folder.expanduser()
        self._what = what
        self._fix = fix
        self._words = words
        self._threads = threads
        self._problem: Unavailable | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    def unusable(self, why: str) -> Unavailable:
        return Unavailable(f"The {self._what} {self.folder} {why}.", fix=self._fix)

    def open(self) -> None:
        """Read everything there is to read; what was wrong the first time stays wrong until the program starts anew."""
        if self._problem is not None:
            raise self._problem
        try:
            _ = (self._parts, self.max_tokens, self.inputs)
        except Unavailable as error:
            self._problem = error
            raise
        except Exception as error:
            self._problem = self.unusable(f"cannot be opened: {type(error).__name__}: {str(error)[:300]}")
            raise self._problem from error

    @cached_property
    def config(self) -> Mapping[str, Any]:
        return self._json("config.json")

    @cached_property
    def max_tokens(self) -> int:
        """How many tokens both texts may have together, with what goes around them."""
        limits = [MOST_TOKENS, self.fixed_length or MOST_TOKENS]
        named = self._json("tokenizer_config.json").get("model_max_length")
        positions = self.config.get("max_position_embeddings")
        if isinstance(positions, int) and self.config.get("model_type") in _OFFSET_POSITIONS:
            positions -= 2
        limits += [value for value in (named, positions) if isinstance(value, int) and value > 0]
        if min(limits) < 16:
            raise self.unusable(f"reads {min(limits)} tokens, which is too few")
        return min(limits)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        found = tuple(entry.name for entry in self._parts.session.get_inputs())
        unknown = [name for name in found if name not in _INPUTS]
        if unknown or "input_ids" not in found:
            raise self.unusable(f"asks for {', '.join(unknown or found)}, where a model of texts asks for input_ids")
        return found

    @cached_property
    def fixed_length(self) -> int | None:
        """The one length a graph was made for, where it was made for one."""
        return self._fixed(1)

    def _fixed(self, axis: int) -> int | None:
        entry = next(entry for entry in self._parts.session.get_inputs() if entry.name == "input_ids")
        size = entry.shape[axis] if len(entry.shape) > axis else None
        return size if isinstance(size, int) and size > 0 else None

    @cached_property
    def batch(self) -> int:
        """How many inputs are run together."""
        return 1 if self._fixed(0) == 1 or _has_bytes(self._graph(), _DYNAMIC) else BATCH

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self._parts.session.get_outputs())

    @property
    def tokenizer(self) -> Any:
        return self._parts.tokenizer

    def room_beside(self, text: str) -> int:
        """How many tokens are left for the other text."""
        taken = len(self.tokenizer.encode(text, add_special_tokens=False).ids)
        return self.max_tokens - taken - int(self.tokenizer.num_special_tokens_to_add(True))

    def run(self, inputs: Sequence[Any], names: Sequence[str]) -> list[list[Any]]:
        """The named outputs for each of the encoded inputs, in the order given; like lengths are run together."""
        order = sorted(range(len(inputs)), key=lambda at: len(inputs[at].ids))
        found: list[list[Any]] = [[] for _ in inputs]
        for first in range(0, len(order), self.batch):
            places = order[first : first + self.batch]
            outputs = self._parts.session.run(list(names), self._columns([inputs[at] for at in places]))
            for row, at in enumerate(places):
                found[at] = [output[row] for output in outputs]
        return found

    def _columns(self, batch: Sequence[Any]) -> dict[str, Any]:
        import numpy as np

        length = self.fixed_length or max(len(one.ids) for one in batch)
        filled = {"input_ids": self._padding, "attention_mask": 0, "token_type_ids": 0}
        columns: dict[str, Any] = {}
        for name in self.inputs:
            table = np.full((len(batch), length), filled[name], np.int64)
            for row, one in enumerate(batch):
                values = {"input_ids": one.ids, "attention_mask": one.attention_mask, "token_type_ids": one.type_ids}
                table[row, : len(one.ids)] = values[name][:length]
            columns[name] = table
        return columns

    @cached_property
    def _padding(self) -> int:
        named = self.config.get("pad_token_id")
        if isinstance(named, int) and named >= 0:
            return named
        ids = (self.tokenizer.token_to_id(token) for token in ("[PAD]", "<pad>"))
        return next((int(one) for one in ids if one is not None), 0)

    @cached_property
    def _parts(self) -> _Parts:
        missing = [package for package in _PACKAGES if find_spec(package) is None]
        if missing:
            raise Unavailable(f"The {self._what} needs {', '.join(missing)}.", fix="Install citewell again.")
        graph, words = self._graph(), self._tokenizer_file()
        facts = graph.stat()
        key = (str(graph.resolve()), str(words.resolve()), facts.st_mtime_ns, facts.st_size)
        with _opening:
            if key not in _opened:
                _opened[key] = _Parts(_session(graph, self._threads), _tokenizer(words))
            return _opened[key]

    def _graph(self) -> Path:
        places = (self.folder, self.folder / "onnx")
        named = [path for place in places for path in sorted(place.glob("model*.onnx")) if path.is_file()]
        if named:
            return min(named, key=_preference)
        others = [path for place in places for path in sorted(place.glob("*.onnx")) if path.is_file()]
        if len(others) == 1:
            return others[0]
        raise self.unusable("has no model.onnx" if not others else "has several .onnx files and none is model.onnx")

    def _tokenizer_file(self) -> Path:
        found = [self.folder / "tokenizer.json", *sorted(self.folder.glob("*/tokenizer.json"))]
        found += [self._words] if self._words is not None else []
        found = [path for path in found if path.is_file()]
        if not found:
            raise self.unusable("has no tokenizer.json")
        return found[0]

    def _json(self, name: str) -> Mapping[str, Any]:
        path = self.folder / name
        if not path.is_file():
            path = self._tokenizer_file().parent / name
        if not path.is_file():
            return {}
        if path.stat().st_size > _MOST_JSON_BYTES:
            raise self.unusable(f"has a {name} larger than any")
        try:
            found = json.loads(path.read_text("utf-8"))
        except (ValueError, RecursionError):
            raise self.unusable(f"has a {name} that is not JSON") from None
        return found if isinstance(found, dict) else {}


def _preference(path: Path) -> tuple[int, int, str]:
    """The 8-bit graph before the whole one, before any other; what stands higher first."""
    small = ("int8", "quantized", "qint8", "uint8")
    kind = 0 if any(word in path.stem for word in small) else 1 if path.stem == "model" else 2
    return kind, len(path.parts), path.name


def _has_bytes(path: Path, wanted: bytes) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        return whole.find(wanted) >= 0


def _session(graph: Path, threads: int) -> Any:
    # onnxruntime reports its use to its makers, over the network, unless the process says no before it is loaded.
    os.putenv("ORT_DISABLE_TELEMETRY", "1")
    runtime = importlib.import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = min(threads, os.cpu_count() or 1)
    options.inter_op_num_threads = 1
    # A thread that waits must not keep a core busy that something else could use.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return runtime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Any:
    tokenizer = importlib.import_module("tokenizers").Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


# Windows: a long text in pieces a model can read, of whole sentences; the last of a piece begins the next if it fits.
#
# A sentence longer than the room there is, is itself cut at tokens, half of it again in the next piece. Pure.
#
# Example:
#     sentences of 40, 50, 30 and 60 tokens, room for 100
#     windows: 1–2, 2–3, 3–4


# Where a token or a window stands in a text.
Place = tuple[int, int]
_WORDS = re.compile(r"\w+")


def windows(text: str, tokens: Sequence[Place], room: int) -> list[Place]:
    """The spans of the windows of a text whose tokens stand at these places."""
    if not text.strip():
        return []
    if len(tokens) <= room:
        return [(0, len(text))]
    pieces = [piece for span in sentences(text) for piece in _pieces(span, tokens, room)]
    found: list[Place] = []
    first = 0
    while first < len(pieces):
        last = first
        while last + 1 < len(pieces) and _count(tokens, pieces[first][0], pieces[last + 1][1]) <= room:
            last += 1
        if not found or pieces[last][1] > found[-1][1]:
            found.append((pieces[first][0], pieces[last][1]))
        if last + 1 >= len(pieces):
            break
        first = last if last > first else first + 1
    return found


def _count(tokens: Sequence[Place], start: int, end: int) -> int:
    return bisect_left(tokens, (end,)) - bisect_left(tokens, (start,))


def _pieces(span: Place, tokens: Sequence[Place], room: int) -> list[Place]:
    """A sentence, or overlapping pieces of one that has no room."""
    start, end = span
    if _count(tokens, start, end) <= room:
        return [span]
    low, high = bisect_left(tokens, (start,)), bisect_left(tokens, (end,))
    firsts = [*range(low, high - room, max(1, room // 2)), high - room]
    return [(tokens[at][0], tokens[at + room - 1][1]) for at in dict.fromkeys(firsts)]


def likeliest(wanted: str, text: str, spans: Sequence[Place], most: int) -> list[Place]:
    """Of many windows those that share most words with what is looked for, in their order."""
    words = set(_WORDS.findall(wanted.casefold()))
    shared = {span: len(words & set(_WORDS.findall(text[span[0] : span[1]].casefold()))) for span in spans}
    return sorted(sorted(spans, key=lambda span: -shared[span])[:most])
