"""Checking one claim against the passages it cites: words, values, names, denial, direction, order. Pure."""

from __future__ import annotations
