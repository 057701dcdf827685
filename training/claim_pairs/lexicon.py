"""The word lists of `lexicon.toml`, looked up by word.

LEXICON.contraries["rose"]  ->  ("fell",)        LEXICON.siblings("silver")  ->  ("gold", "copper", …)
"""

from __future__ import annotations

import tomllib
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

_FILE = Path(__file__).with_name("lexicon.toml")


@dataclass(frozen=True)
class Lexicon:
    source: dict[str, Any]

    @cached_property
    def contraries(self) -> dict[str, tuple[str, ...]]:
        return _both_ways(self.source["contraries"])

    @cached_property
    def synonyms(self) -> dict[str, tuple[str, ...]]:
        return _both_ways(self.source["synonyms"])

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        return {name: tuple(words.split()) for name, words in self.source["groups"].items()}

    @cached_property
    def group_of(self) -> dict[str, str]:
        return {word: name for name, words in self.groups.items() for word in words}

    @cached_property
    def kinds_of(self) -> dict[str, str]:
        return dict(self.source["kinds_of"])

    def siblings(self, word: str) -> tuple[str, ...]:
        """The others of its group; nothing where the word is in none."""
        name = self.group_of.get(word)
        return tuple(other for other in self.groups[name] if other != word) if name else ()


def _both_ways(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = defaultdict(list)
    for entry in text.split():
        left, right = entry.split("/")
        found[left].append(right)
        found[right].append(left)
    return {word: tuple(dict.fromkeys(others)) for word, others in found.items()}


LEXICON = Lexicon(tomllib.loads(_FILE.read_text("utf-8")))
