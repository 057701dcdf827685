"""From evidence to an answer: packing, extracting, verifying. Pure."""

from __future__ import annotations
