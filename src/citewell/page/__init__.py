"""The web page: a mounted app that serves what `ui/` was built into. Everything it shows comes from the REST API."""

from __future__ import annotations
