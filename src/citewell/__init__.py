"""Citewell: answers from what you have saved, every sentence bound to the passage that supports it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from citewell.version import __version__

if TYPE_CHECKING:
    from citewell.engine import Citewell
    from citewell.errors import CitewellError

__all__ = ["Citewell", "CitewellError", "__version__"]


def __getattr__(name: str) -> Any:
    """The public names, imported when they are first used: a search from a cold shell needs none of them."""
    if name == "Citewell":
        from citewell.engine import Citewell

        return Citewell
    if name == "CitewellError":
        from citewell.errors import CitewellError

        return CitewellError
    raise AttributeError(f"module 'citewell' has no attribute {name!r}")
