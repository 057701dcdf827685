"""Finished runs in the forms people keep and pass on: Markdown, Word, PDF, bibliographies, a page to share. Pure."""

from __future__ import annotations
